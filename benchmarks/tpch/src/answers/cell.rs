// SPDX-License-Identifier: Apache-2.0
//! Compares single cells of results and answers.

use std::fmt;

use nearscan::arrow::{
    array::{Array, AsArray, RecordBatch},
    datatypes::{
        DataType, Decimal128Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
        UInt8Type, UInt16Type, UInt32Type, UInt64Type,
    },
    util::display::{ArrayFormatter, FormatOptions},
};

/// Part of the value by which a double may differ.
const DOUBLE_TOLERANCE: f64 = 1e-9;

/// Part of the value by which the stored double may itself be off, with a margin for the division.
const STORED_TOLERANCE: f64 = 1e-12;

/// The format of the cells of a column, which decides on the way of their comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Integer,
    Decimal,
    Text,
    QuotientDecimal { places: i8 },
    QuotientDouble,
}

/// One cell.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell {
    Null,
    /// A number written out, without sign of positive numbers and without trailing zeros.
    Exact(String),
    Text(String),
    Quotient {
        value: f64,
        tolerance: f64,
        relative_tolerance: f64,
    },
    /// A stored text that is none of what the column holds; like nothing.
    Unreadable(String),
}

impl Kind {
    /// Chooses the kind for a column of a result; none if its type can hold no answer.
    pub(super) fn of(data_type: &DataType, is_quotient: bool) -> Option<Self> {
        match (data_type, is_quotient) {
            (data_type, false) if data_type.is_integer() => Some(Self::Integer),
            (DataType::Decimal128(..), false) => Some(Self::Decimal),
            (DataType::Decimal128(_, places), true) => {
                Some(Self::QuotientDecimal { places: *places })
            }
            (DataType::Float64, true) => Some(Self::QuotientDouble),
            (
                DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Date32,
                false,
            ) => Some(Self::Text),
            _ => None,
        }
    }

    /// Reads a stored cell.
    pub(super) fn read(self, text: &str) -> Cell {
        if text.is_empty() {
            return Cell::Null;
        }
        let cell = match self {
            Self::Integer => {
                text.parse::<i128>().ok().map(|number| Cell::Exact(number.to_string()))
            }
            Self::Decimal => normalize(text).map(Cell::Exact),
            Self::Text => Some(Cell::Text(text.to_owned())),
            Self::QuotientDecimal { .. } | Self::QuotientDouble => {
                text.parse().ok().map(|value| self.quotient(value))
            }
        };
        cell.unwrap_or_else(|| Cell::Unreadable(text.to_owned()))
    }

    fn quotient(self, value: f64) -> Cell {
        let (tolerance, relative_tolerance) = match self {
            Self::QuotientDecimal { places } => (10f64.powi(-i32::from(places)), STORED_TOLERANCE),
            Self::Integer | Self::Decimal | Self::Text | Self::QuotientDouble => {
                (0.0, DOUBLE_TOLERANCE)
            }
        };
        Cell::Quotient { value, tolerance, relative_tolerance }
    }
}

impl Cell {
    /// Whether a cell of a result holds what a stored one says.
    pub(super) fn matches(&self, expected: &Self) -> bool {
        match (self, expected) {
            (
                Self::Quotient { value, tolerance, relative_tolerance },
                Self::Quotient { value: expected, .. },
            ) => {
                let difference = (value - expected).abs();
                difference <= tolerance + relative_tolerance * expected.abs()
            }
            (Self::Unreadable(_), _) | (_, Self::Unreadable(_)) => false,
            (found, expected) => found == expected,
        }
    }

    /// Text by which ties are found and sorted; quotients are no part of it.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Null | Self::Quotient { .. } => String::new(),
            Self::Exact(text) | Self::Text(text) | Self::Unreadable(text) => text.clone(),
        }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("NULL"),
            Self::Exact(text) | Self::Text(text) | Self::Unreadable(text) => f.write_str(text),
            Self::Quotient { value, .. } => value.fmt(f),
        }
    }
}

/// Reads all rows of a batch.
pub(super) fn rows(batch: &RecordBatch, kinds: &[Kind]) -> Vec<Vec<Cell>> {
    let columns: Vec<Vec<Cell>> =
        batch.columns().iter().zip(kinds).map(|(array, kind)| column(array, *kind)).collect();
    (0..batch.num_rows())
        .map(|row| columns.iter().map(|column| column[row].clone()).collect())
        .collect()
}

fn column(array: &dyn Array, kind: Kind) -> Vec<Cell> {
    (0..array.len())
        .map(|row| if array.is_null(row) { Cell::Null } else { cell(array, row, kind) })
        .collect()
}

fn cell(array: &dyn Array, row: usize, kind: Kind) -> Cell {
    match kind {
        Kind::Integer => Cell::Exact(integer(array, row).to_string()),
        Kind::Decimal => {
            let text = array.as_primitive::<Decimal128Type>().value_as_string(row);
            normalize(&text).map_or(Cell::Unreadable(text), Cell::Exact)
        }
        Kind::Text => {
            let formatter = ArrayFormatter::try_new(array, &FormatOptions::default());
            let text = formatter.map(|it| it.value(row).to_string()).unwrap_or_default();
            Cell::Text(text)
        }
        Kind::QuotientDecimal { .. } => {
            let text = array.as_primitive::<Decimal128Type>().value_as_string(row);
            text.parse().map_or(Cell::Unreadable(text), |value| kind.quotient(value))
        }
        Kind::QuotientDouble => kind.quotient(array.as_primitive::<Float64Type>().value(row)),
    }
}

fn integer(array: &dyn Array, row: usize) -> i128 {
    match array.data_type() {
        DataType::Int8 => array.as_primitive::<Int8Type>().value(row).into(),
        DataType::Int16 => array.as_primitive::<Int16Type>().value(row).into(),
        DataType::Int32 => array.as_primitive::<Int32Type>().value(row).into(),
        DataType::UInt8 => array.as_primitive::<UInt8Type>().value(row).into(),
        DataType::UInt16 => array.as_primitive::<UInt16Type>().value(row).into(),
        DataType::UInt32 => array.as_primitive::<UInt32Type>().value(row).into(),
        DataType::UInt64 => array.as_primitive::<UInt64Type>().value(row).into(),
        _ => array.as_primitive::<Int64Type>().value(row).into(),
    }
}

/// Writes a decimal number in the one way that equal numbers share.
fn normalize(text: &str) -> Option<String> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if (whole.is_empty() && fraction.is_empty()) || !is_number(whole) || !is_number(fraction) {
        return None;
    }
    let whole = whole.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    let fraction = fraction.trim_end_matches('0');
    Some(match (whole, fraction) {
        ("0", "") => "0".to_owned(),
        (whole, "") => format!("{sign}{whole}"),
        (whole, fraction) => format!("{sign}{whole}.{fraction}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("1.50", Some("1.5"))]
    #[case("-0.00", Some("0"))]
    #[case("007", Some("7"))]
    #[case("-12.3400", Some("-12.34"))]
    #[case(".5", Some("0.5"))]
    #[case("1e3", None)]
    #[case(".", None)]
    #[case("", None)]
    fn writes_equal_numbers_alike(#[case] text: &str, #[case] expected: Option<&str>) {
        assert_eq!(normalize(text).as_deref(), expected);
    }

    #[rstest]
    // DataFusion cuts averages to six places; the stored double has all.
    #[case(Kind::QuotientDecimal { places: 6 }, "25.575154", "25.575154611454693", true)]
    #[case(Kind::QuotientDecimal { places: 6 }, "25.575155", "25.575154611454693", true)]
    #[case(Kind::QuotientDecimal { places: 6 }, "25.575153", "25.575154611454693", false)]
    #[case(Kind::QuotientDouble, "25.575154611454700", "25.575154611454693", true)]
    #[case(Kind::QuotientDouble, "25.575154", "25.575154611454693", false)]
    #[case(Kind::Decimal, "1.50", "1.5", true)]
    #[case(Kind::Decimal, "1.50", "1.51", false)]
    #[case(Kind::Integer, "7", "7.0", false)]
    #[case(Kind::Text, "a", "A", false)]
    #[case(Kind::Text, "", "", true)]
    #[case(Kind::Integer, "0", "", false)]
    fn distinguishes_equal_from_different_rows(
        #[case] kind: Kind,
        #[case] found: &str,
        #[case] expected: &str,
        #[case] is_same: bool,
    ) {
        assert_eq!(kind.read(found).matches(&kind.read(expected)), is_same);
    }

    #[test]
    fn exact_columns_are_never_floating_point() {
        assert_eq!(Kind::of(&DataType::Float64, false), None);
        assert_eq!(Kind::of(&DataType::Int64, true), None);
    }
}
