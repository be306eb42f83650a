// SPDX-License-Identifier: Apache-2.0
//! Rows of two engines in one form, and whether they are the same.
//!
//! | kind | same when |
//! |---|---|
//! | number | equal as numbers, whatever the types and the number of trailing zeros; exact |
//! | average | within 1e-9 of the value, and one unit of the last place of a decimal |
//! | text | equal texts: strings, dates, booleans |
//!
//! NULL is the same as NULL only, and an infinity as itself. An average decides nothing about the
//! order of rows.

use std::cmp::Ordering;

use nearscan::arrow::{
    array::{Array, AsArray, RecordBatch},
    datatypes::{DataType, Float32Type, Float64Type},
    util::display::{ArrayFormatter, FormatOptions},
};

/// Part of an average by which two right engines may differ.
const TOLERANCE: f64 = 1e-9;

/// How the cells of a column are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    Number,
    Average,
    Text,
}

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Cell {
    Null,
    /// A number without trailing zeros, or a text.
    Exact(String),
    Average {
        value: f64,
        /// What the last place of its type is worth; 0 for doubles.
        unit: f64,
    },
}

pub(crate) type Row = Vec<Cell>;

impl Cell {
    /// Reads what DuckDB returned.
    pub(crate) fn expected(kind: Kind, text: Option<&str>) -> Self {
        let Some(text) = text else { return Self::Null };
        match kind {
            Kind::Number => Self::Exact(normalized(text)),
            Kind::Average => Self::Average { value: text.parse().unwrap(), unit: 0.0 },
            Kind::Text => Self::Exact(text.to_owned()),
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Average { value: a, unit: one }, Self::Average { value: b, unit: another }) => {
                // Infinities have no difference that is a number.
                let is_infinite = a.is_infinite() || b.is_infinite();
                let is_close = || (a - b).abs() <= one + another + TOLERANCE * a.abs().max(b.abs());
                if is_infinite { a == b } else { is_close() }
            }
            (one, other) => one == other,
        }
    }
}

/// All rows of a result.
pub(crate) fn rows(batches: &[RecordBatch], kinds: &[Kind]) -> Vec<Row> {
    let mut rows = Vec::new();
    for batch in batches {
        assert_eq!(batch.num_columns(), kinds.len(), "another number of columns");
        let columns = batch.columns().iter().zip(kinds);
        let columns: Vec<Vec<Cell>> = columns.map(|(array, kind)| cells(array, *kind)).collect();
        let row = |row: usize| columns.iter().map(|column| column[row].clone()).collect();
        rows.extend((0..batch.num_rows()).map(row));
    }
    rows
}

fn cells(array: &dyn Array, kind: Kind) -> Vec<Cell> {
    let formatter = ArrayFormatter::try_new(array, &FormatOptions::default()).unwrap();
    let cell = |row: usize| {
        if array.is_null(row) {
            return Cell::Null;
        }
        let text = formatter.value(row).to_string();
        match (kind, array.data_type()) {
            (Kind::Average, DataType::Float64) => {
                let value = array.as_primitive::<Float64Type>().value(row);
                Cell::Average { value, unit: 0.0 }
            }
            (Kind::Average, DataType::Float32) => {
                let value = f64::from(array.as_primitive::<Float32Type>().value(row));
                Cell::Average { value, unit: 0.0 }
            }
            (Kind::Average, DataType::Decimal128(_, scale)) => {
                let unit = 10f64.powi(-i32::from(*scale));
                Cell::Average { value: text.parse().unwrap(), unit }
            }
            // A double in place of an exact number is like none.
            (Kind::Number, data_type) if !data_type.is_floating() => Cell::Exact(normalized(&text)),
            (Kind::Text, data_type) if !data_type.is_numeric() => Cell::Exact(text),
            (_, data_type) => Cell::Exact(format!("{text} as {data_type}")),
        }
    };
    (0..array.len()).map(cell).collect()
}

/// A number in the one way that equal numbers share.
fn normalized(text: &str) -> String {
    let (sign, digits) = text.strip_prefix('-').map_or(("", text), |digits| ("-", digits));
    let digits = match digits.contains('.') {
        true => digits.trim_end_matches('0').trim_end_matches('.'),
        false => digits,
    };
    match digits {
        "0" => digits.to_owned(),
        digits => format!("{sign}{digits}"),
    }
}

/// Says where two results differ first; `None` where they are the same.
pub(crate) fn difference(
    mut expected: Vec<Row>,
    mut found: Vec<Row>,
    is_ordered: bool,
) -> Option<String> {
    if !is_ordered {
        expected.sort_by(by_exact_cells);
        found.sort_by(by_exact_cells);
    }
    let (expected_count, found_count) = (expected.len(), found.len());
    let is_same = |(one, other): (&Row, &Row)| {
        one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one.is_same(other))
    };
    for (index, pair) in expected.iter().zip(&found).enumerate() {
        if !is_same(pair) {
            let (expected, found) = pair;
            return Some(format!(
                "{found_count} rows for {expected_count}; row {index} is {found:?} \
                 instead of {expected:?}"
            ));
        }
    }
    (expected_count != found_count)
        .then(|| format!("{found_count} rows instead of {expected_count}, otherwise the same"))
}

fn by_exact_cells(one: &Row, other: &Row) -> Ordering {
    let exact = |cell: &Cell| match cell {
        Cell::Null | Cell::Average { .. } => None,
        Cell::Exact(text) => Some(text.clone()),
    };
    one.iter().map(exact).cmp(other.iter().map(exact))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use nearscan::arrow::array::{
        ArrayRef, Decimal128Array, Float32Array, Float64Array, Int32Array, StringArray,
    };
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("1.50", "1.5")]
    #[case("-0.00", "0")]
    #[case("100", "100")]
    #[case("-100.0", "-100")]
    fn equal_numbers_are_written_alike(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(normalized(text), expected);
    }

    fn found(array: ArrayRef, kind: Kind) -> Vec<Row> {
        rows(&[RecordBatch::try_from_iter([("x", array)]).unwrap()], &[kind])
    }

    fn expected(kind: Kind, texts: &[Option<&str>]) -> Vec<Row> {
        texts.iter().map(|text| vec![Cell::expected(kind, *text)]).collect()
    }

    fn integers(values: Vec<Option<i32>>) -> ArrayRef {
        Arc::new(Int32Array::from(values))
    }

    fn decimals(values: Vec<Option<i128>>) -> ArrayRef {
        Arc::new(Decimal128Array::from(values).with_precision_and_scale(9, 2).unwrap())
    }

    #[rstest]
    #[case(integers(vec![Some(3), None]), Kind::Number, &[None, Some("3.0")], true)]
    #[case(integers(vec![Some(3)]), Kind::Number, &[Some("4")], false)]
    #[case(integers(vec![Some(0)]), Kind::Number, &[None], false)]
    #[case(integers(vec![Some(3), Some(3)]), Kind::Number, &[Some("3")], false)]
    #[case(Arc::new(Float64Array::from(vec![3.0])), Kind::Number, &[Some("3")], false)]
    #[case(decimals(vec![Some(150)]), Kind::Number, &[Some("1.5")], true)]
    #[case(decimals(vec![Some(33)]), Kind::Average, &[Some("0.33333333333")], true)]
    #[case(decimals(vec![Some(31)]), Kind::Average, &[Some("0.33333333333")], false)]
    #[case(Arc::new(Float64Array::from(vec![1.0 / 3.0])), Kind::Average, &[Some("0.33333")], false)]
    #[case(Arc::new(Float64Array::from(vec![f64::INFINITY])), Kind::Average, &[Some("inf")], true)]
    #[case(Arc::new(Float64Array::from(vec![1e300])), Kind::Average, &[Some("inf")], false)]
    #[case(Arc::new(Float32Array::from(vec![0.25])), Kind::Average, &[Some("0.25")], true)]
    #[case(Arc::new(Float32Array::from(vec![0.25])), Kind::Average, &[Some("0.26")], false)]
    #[case(Arc::new(StringArray::from(vec![""])), Kind::Text, &[None], false)]
    #[case(Arc::new(StringArray::from(vec!["b", "a"])), Kind::Text, &[Some("a"), Some("b")], true)]
    fn tells_same_from_different(
        #[case] array: ArrayRef,
        #[case] kind: Kind,
        #[case] texts: &[Option<&str>],
        #[case] is_same: bool,
    ) {
        let difference = difference(expected(kind, texts), found(array, kind), false);
        assert_eq!(difference.is_none(), is_same, "{difference:?}");
    }

    #[test]
    fn order_counts_where_there_is_one() {
        let rows = || found(integers(vec![Some(2), Some(1)]), Kind::Number);
        let expected = || expected(Kind::Number, &[Some("1"), Some("2")]);
        assert_eq!(difference(expected(), rows(), false), None);
        assert!(difference(expected(), rows(), true).is_some());
    }
}
