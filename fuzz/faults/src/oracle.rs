// SPDX-License-Identifier: Apache-2.0
//! Provides the expected rows of a query: its rows without a drive, and the stored answer of TPC-H
//! if there is one.

use anyhow::{Context, Result};
use nearscan::arrow::{
    array::RecordBatch,
    datatypes::SchemaRef,
    error::ArrowError,
    util::display::{ArrayFormatter, FormatOptions},
};
use nearscan_tpch::answers;

use crate::{
    bench::{Bench, Setting},
    cases::{Case, RowOrder},
    data::Data,
};

/// NULL as text, and what is between two values: characters that no value has, so that other rows
/// are other texts.
const NULL: &str = "\u{0}";
const BETWEEN: &str = "\u{1f}";

/// The rows of a case.
#[derive(Debug, Clone)]
pub struct Oracle {
    case: Case,
    schema: SchemaRef,
    rows: Vec<String>,
    stored: Option<&'static str>,
}

impl Oracle {
    /// Runs a case without a drive.
    ///
    /// # Errors
    /// When it fails, or its rows are not the stored ones.
    pub async fn ask(data: &Data, case: Case) -> Result<Self> {
        let bench = Bench::open(data, &Setting::off()).await?;
        let answer = bench.run(&case).await.with_context(|| case.name)?;
        let stored = case.query.and_then(|query| answers::find(data.scale(), query.number));
        let oracle = Self { stored, ..Self::of(case, &answer.batches)? };
        match oracle.difference(&answer.batches) {
            None => Ok(oracle),
            Some(difference) => anyhow::bail!("{} without a drive: {difference}", case.name),
        }
    }

    /// Takes these rows for the right ones.
    ///
    /// # Errors
    /// When there is no batch, or a value has no text.
    pub fn of(case: Case, batches: &[RecordBatch]) -> Result<Self> {
        let schema = batches.first().context("an answer without a schema")?.schema();
        let rows = texts(case.order, batches)?;
        Ok(Self { case, schema, rows, stored: None })
    }

    /// The case.
    pub fn case(&self) -> &Case {
        &self.case
    }

    /// Returns the number of rows.
    pub fn row_count(&self) -> usize {
        self.rows.len()
    }

    /// Returns the difference of rows from those that are right, if there is one.
    pub fn difference(&self, found: &[RecordBatch]) -> Option<String> {
        if let (Some(query), Some(stored)) = (self.case.query, self.stored)
            && let Err(difference) = answers::check(query, found, stored)
        {
            return Some(difference.to_string());
        }
        if let Some(batch) = found.iter().find(|batch| batch.schema() != self.schema) {
            return Some(format!("the schema {:?} instead of {:?}", batch.schema(), self.schema));
        }
        let found = match texts(self.case.order, found) {
            Ok(found) => found,
            Err(error) => return Some(error.to_string()),
        };
        if found.len() != self.rows.len() {
            return Some(format!("{} rows instead of {}", found.len(), self.rows.len()));
        }
        let mut pairs = found.iter().zip(&self.rows);
        let (found, expected) = pairs.find(|(found, expected)| found != expected)?;
        Some(format!("'{}' instead of '{}'", shown(found), shown(expected)))
    }
}

/// Each row as text: in their order where all of it is fixed, else sorted.
fn texts(order: RowOrder, batches: &[RecordBatch]) -> Result<Vec<String>, ArrowError> {
    let options = FormatOptions::default().with_null(NULL);
    let mut rows = Vec::new();
    for batch in batches {
        let columns = batch.columns().iter();
        let columns = columns.map(|column| ArrayFormatter::try_new(column.as_ref(), &options));
        let columns: Vec<ArrayFormatter<'_>> = columns.collect::<Result<_, _>>()?;
        for row in 0..batch.num_rows() {
            let values = columns.iter().map(|column| column.value(row).to_string());
            rows.push(values.collect::<Vec<_>>().join(BETWEEN));
        }
    }
    if order == RowOrder::Partial {
        rows.sort_unstable();
    }
    Ok(rows)
}

/// A row for people.
fn shown(row: &str) -> String {
    row.replace(NULL, "<null>").replace(BETWEEN, " | ")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use nearscan::arrow::array::{ArrayRef, Int32Array, Int64Array, StringArray};
    use rstest::rstest;

    use super::*;
    use crate::cases::{self, MERGES};

    fn batch(texts: &[Option<&str>], numbers: ArrayRef) -> RecordBatch {
        let texts: ArrayRef = Arc::new(StringArray::from(texts.to_vec()));
        let columns = [("text", texts, true), ("number", numbers, true)];
        RecordBatch::try_from_iter_with_nullable(columns).unwrap()
    }

    fn wide(numbers: [Option<i64>; 2]) -> ArrayRef {
        Arc::new(Int64Array::from(numbers.to_vec()))
    }

    /// Two rows, of which the oracle takes these for right: `a | 1` and `<null> | 2`.
    fn right() -> RecordBatch {
        batch(&[Some("a"), None], wide([Some(1), Some(2)]))
    }

    #[rstest]
    #[case::a_value_changed(
        batch(&[Some("a"), None], wide([Some(1), Some(3)])),
        "'<null> | 3' instead of '<null> | 2'"
    )]
    #[case::a_null_changed(
        batch(&[Some("a"), Some("NULL")], wide([Some(1), Some(2)])),
        "'NULL | 2' instead of '<null> | 2'"
    )]
    #[case::a_null_for_a_value(
        batch(&[Some("a"), None], wide([None, Some(2)])),
        "'a | <null>' instead of 'a | 1'"
    )]
    #[case::a_row_too_few(right().slice(0, 1), "1 rows instead of 2")]
    #[case::a_type_changed(
        batch(&[Some("a"), None], Arc::new(Int32Array::from(vec![1, 2]))),
        "the schema "
    )]
    fn difference_is_detected_in_any_order(
        #[case] found: RecordBatch,
        #[case] expected: &str,
        #[values(MERGES[0], cases::parse_list("3").unwrap()[0])] case: Case,
    ) {
        let oracle = Oracle::of(case, &[right()]).unwrap();
        assert_eq!(oracle.difference(&[right()]), None);
        let difference = oracle.difference(&[found]).unwrap();
        assert!(difference.starts_with(expected), "{difference}");
    }

    #[test]
    fn order_of_rows_counts_where_the_query_fixes_it() {
        let swapped = [right().slice(1, 1), right().slice(0, 1)];
        let ordered = Oracle::of(MERGES[0], &[right()]).unwrap();
        assert_eq!(ordered.difference(&swapped).unwrap(), "'<null> | 2' instead of 'a | 1'");
        let query = cases::parse_list("3").unwrap()[0];
        assert_eq!(Oracle::of(query, &[right()]).unwrap().difference(&swapped), None);
    }
}
