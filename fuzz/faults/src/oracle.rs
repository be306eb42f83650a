// SPDX-License-Identifier: Apache-2.0
//! What a query must deliver: the rows that it delivers without a drive, and the stored answer of
//! TPC-H where there is one.

use anyhow::{Context, Result};
use nearscan::arrow::array::RecordBatch;
use nearscan::arrow::error::ArrowError;
use nearscan::arrow::util::display::{ArrayFormatter, FormatOptions};
use nearscan_tpch::answers;

use crate::bench::{Bench, Setting};
use crate::cases::{Case, RowOrder};
use crate::data::Data;

/// The rows of a case.
#[derive(Debug, Clone)]
pub struct Oracle {
    case: Case,
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
        let oracle = Self { case, rows: Vec::new(), stored };
        let oracle = Self { rows: oracle.texts(&answer.batches)?, ..oracle };
        match oracle.difference(&answer.batches) {
            None => Ok(oracle),
            Some(difference) => anyhow::bail!("{} without a drive: {difference}", case.name),
        }
    }

    /// The case.
    pub fn case(&self) -> &Case {
        &self.case
    }

    /// How many rows there are.
    pub fn row_count(&self) -> usize {
        self.rows.len()
    }

    /// How rows differ from those that are right.
    pub fn difference(&self, found: &[RecordBatch]) -> Option<String> {
        if let (Some(query), Some(stored)) = (self.case.query, self.stored)
            && let Err(difference) = answers::check(query, found, stored)
        {
            return Some(difference.to_string());
        }
        let found = match self.texts(found) {
            Ok(found) => found,
            Err(error) => return Some(error.to_string()),
        };
        if found.len() != self.rows.len() {
            return Some(format!("{} rows instead of {}", found.len(), self.rows.len()));
        }
        let mut pairs = found.iter().zip(&self.rows);
        let (found, expected) = pairs.find(|(found, expected)| found != expected)?;
        Some(format!("'{found}' instead of '{expected}'"))
    }

    /// Each row as text: in their order where all of it is fixed, else sorted.
    fn texts(&self, batches: &[RecordBatch]) -> Result<Vec<String>, ArrowError> {
        let options = FormatOptions::default().with_null("NULL");
        let mut rows = Vec::new();
        for batch in batches {
            let columns = batch.columns().iter();
            let columns = columns.map(|column| ArrayFormatter::try_new(column.as_ref(), &options));
            let columns: Vec<ArrayFormatter<'_>> = columns.collect::<Result<_, _>>()?;
            for row in 0..batch.num_rows() {
                let values = columns.iter().map(|column| column.value(row).to_string());
                rows.push(values.collect::<Vec<_>>().join(" | "));
            }
        }
        if self.case.order == RowOrder::Partial {
            rows.sort_unstable();
        }
        Ok(rows)
    }
}
