// SPDX-License-Identifier: Apache-2.0
//! Converts rows of two engines to one form, and compares them.
//!
//! | kind | same when |
//! |---|---|
//! | number | equal as numbers, whatever the types and the number of trailing zeros; exact |
//! | average | within 1e-9 of the value, and one unit of the last place of a decimal |
//! | text | equal texts: strings, dates, booleans |
//! | bits | floats of the same bits: zeros have signs, and all NaN are alike |
//!
//! NULL is the same as NULL only, an infinity as itself, NaN as NaN. Between two runs of one engine
//! the type of a column is its kind, and nothing is close enough: floats are bits.

use std::cmp::Ordering;

use nearscan::arrow::{
    array::{Array, AsArray, RecordBatch},
    datatypes::{DataType, Float32Type, Float64Type},
    error::ArrowError,
    util::display::{ArrayFormatter, FormatOptions},
};

/// Part of an average by which two right engines may differ.
const TOLERANCE: f64 = 1e-9;

/// The way in which the cells of a column are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    Number,
    Average,
    Text,
    /// DuckDB's are never that.
    #[serde(skip)]
    Bits,
}

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Cell {
    Null,
    /// A number without trailing zeros, the shortest text that only this float has, or a text.
    Exact(String),
    Average {
        value: f64,
        /// The value of the last place of its type; 0 for doubles.
        unit: f64,
    },
}

pub(crate) type Row = Vec<Cell>;

impl Kind {
    fn of(data_type: &DataType) -> Self {
        match data_type {
            it if it.is_floating() => Self::Bits,
            it if it.is_numeric() => Self::Number,
            _ => Self::Text,
        }
    }
}

impl Cell {
    /// Reads what DuckDB returned.
    pub(crate) fn expected(kind: Kind, text: Option<&str>) -> Self {
        let Some(text) = text else { return Self::Null };
        match kind {
            Kind::Number => Self::Exact(normalized(text)),
            // A text that is no number is compared as it is.
            Kind::Average => match text.parse() {
                Ok(value) => Self::Average { value, unit: 0.0 },
                Err(_) => Self::Exact(text.to_owned()),
            },
            Kind::Text | Kind::Bits => Self::Exact(text.to_owned()),
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Average { value: a, unit: one }, Self::Average { value: b, unit: another }) => {
                // Infinities have no difference that is a number.
                let is_close = || (a - b).abs() <= one + another + TOLERANCE * a.abs().max(b.abs());
                match a.is_finite() && b.is_finite() {
                    true => is_close(),
                    false => a == b || a.is_nan() && b.is_nan(),
                }
            }
            (one, other) => one == other,
        }
    }
}

/// All rows of a result; a column without a kind has that of its type.
pub(crate) fn rows(batches: &[RecordBatch], kinds: &[Kind]) -> Result<Vec<Row>, ArrowError> {
    let mut rows = Vec::new();
    for batch in batches {
        let mut columns = Vec::with_capacity(batch.num_columns());
        for (index, array) in batch.columns().iter().enumerate() {
            let kind = kinds.get(index).copied().unwrap_or_else(|| Kind::of(array.data_type()));
            columns.push(cells(array, kind)?.into_iter());
        }
        for _ in 0..batch.num_rows() {
            rows.push(columns.iter_mut().filter_map(Iterator::next).collect());
        }
    }
    Ok(rows)
}

fn cells(array: &dyn Array, kind: Kind) -> Result<Vec<Cell>, ArrowError> {
    let formatter = ArrayFormatter::try_new(array, &FormatOptions::default())?;
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
                Cell::Average { value: text.parse().unwrap_or(f64::NAN), unit }
            }
            // Its text is read as the same bits again, but for those of NaN.
            (Kind::Bits, DataType::Float64) => {
                Cell::Exact(format!("{:?}", array.as_primitive::<Float64Type>().value(row)))
            }
            (Kind::Bits, DataType::Float32) => {
                Cell::Exact(format!("{:?}", array.as_primitive::<Float32Type>().value(row)))
            }
            // A double in place of an exact number is like none.
            (Kind::Number, data_type) if !data_type.is_floating() => Cell::Exact(normalized(&text)),
            (Kind::Text, data_type) if !data_type.is_numeric() => Cell::Exact(text),
            (_, data_type) => Cell::Exact(format!("{text} as {data_type}")),
        }
    };
    Ok((0..array.len()).map(cell).collect())
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
        expected.sort_by(by_cells);
        found.sort_by(by_cells);
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

/// Exact cells first: averages that are the same may be in another order.
fn by_cells(one: &Row, other: &Row) -> Ordering {
    let exact = |cell: &Cell| match cell {
        Cell::Null | Cell::Average { .. } => None,
        Cell::Exact(text) => Some(text.clone()),
    };
    let by_averages = || {
        let pairs = one.iter().zip(other);
        let mut orders = pairs.map(|pair| match pair {
            (Cell::Average { value: a, .. }, Cell::Average { value: b, .. }) => a.total_cmp(b),
            (Cell::Null, Cell::Average { .. }) => Ordering::Less,
            (Cell::Average { .. }, Cell::Null) => Ordering::Greater,
            _ => Ordering::Equal,
        });
        orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    };
    one.iter().map(exact).cmp(other.iter().map(exact)).then_with(by_averages)
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
        rows(&[RecordBatch::try_from_iter([("x", array)]).unwrap()], &[kind]).unwrap()
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
    fn distinguishes_equal_from_different_cells(
        #[case] array: ArrayRef,
        #[case] kind: Kind,
        #[case] texts: &[Option<&str>],
        #[case] is_same: bool,
    ) {
        let difference = difference(expected(kind, texts), found(array, kind), false);
        assert_eq!(difference.is_none(), is_same, "{difference:?}");
    }

    fn of_type(array: ArrayRef) -> Vec<Row> {
        let count = array.len();
        let batch = RecordBatch::try_from_iter([("x", array), ("n", integers(vec![None; count]))]);
        rows(&[batch.unwrap()], &[]).unwrap()
    }

    fn doubles(values: Vec<f64>) -> Vec<Row> {
        of_type(Arc::new(Float64Array::from(values)))
    }

    fn floats(values: Vec<f32>) -> Vec<Row> {
        of_type(Arc::new(Float32Array::from(values)))
    }

    #[rstest]
    #[case(doubles(vec![f64::NAN, 0.1, -1.0]), doubles(vec![-1.0, -f64::NAN, 0.1]), true)]
    #[case(doubles(vec![0.1 + 0.2]), doubles(vec![0.3]), false)]
    #[case(doubles(vec![0.0, 1.0]), doubles(vec![-0.0, 1.0]), false)]
    #[case(doubles(vec![f64::INFINITY]), doubles(vec![f64::MAX]), false)]
    #[case(doubles(vec![f64::NAN]), doubles(vec![1.0]), false)]
    #[case(floats(vec![0.1, f32::NAN]), floats(vec![f32::NAN, 0.1]), true)]
    #[case(floats(vec![16_777_216.0]), floats(vec![16_777_217.0]), true)]
    #[case(floats(vec![0.1]), floats(vec![0.100_000_01]), false)]
    #[case(floats(vec![0.0]), floats(vec![-0.0]), false)]
    fn without_kinds_floats_are_their_bits(
        #[case] one: Vec<Row>,
        #[case] other: Vec<Row>,
        #[case] is_same: bool,
    ) {
        let difference = difference(one, other, false);
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
