// SPDX-License-Identifier: Apache-2.0
//! Formats values for expected results: one text for one value, whatever engine it is from.
//!
//! | letter | type | text |
//! |---|---|---|
//! | `B` | boolean | `true`, `false` |
//! | `I` | integer of any width | digits |
//! | `N` | decimal | all digits of its declared scale: `1.50` |
//! | `R` | floating point | 12 significant digits, see [`double`] |
//! | `D` | date | `1998-12-01` |
//! | `P` | timestamp without zone | `1998-12-01 12:30:00`, and a fraction if there is one |
//! | `C` | time of day | `12:30:00`, and a fraction if there is one |
//! | `T` | string | as it is; empty: `(empty)`; backslash and control characters: escaped |
//! | `X` | bytes | two hexadecimal digits a byte; empty: `(empty)` |
//!
//! A fraction has six digits, or nine if there are nanoseconds. NULL is `NULL` in all of them. The
//! values of a row are joined by tabs, which no value contains. Twelve digits are what two right
//! programs agree on when they add doubles in different orders; integers and decimals are exact.
//! `generate.py` has the same rules, and `slt/rendering.slt` holds both to them.

use nearscan::arrow::{
    array::{Array, AsArray, RecordBatch},
    datatypes::{DataType, Float32Type, Float64Type},
    util::display::{ArrayFormatter, FormatOptions},
};
use sqllogictest::ColumnType;

use crate::error::{Error, Result};

/// Digits of a floating-point number that count.
const SIGNIFICANT_DIGITS: usize = 12;

/// Exponents from here to [`SIGNIFICANT_DIGITS`] are written without exponent.
const EXPONENT_MIN: i32 = -5;

/// Stands between the values of a row.
const SEPARATOR: &str = "\t";

/// The type of a column, as the first line of a query names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the table of the module describes them")]
pub enum Letter {
    Boolean,
    Integer,
    Decimal,
    Double,
    Date,
    Timestamp,
    Time,
    Text,
    Bytes,
}

const LETTERS: [(char, Letter); 9] = [
    ('B', Letter::Boolean),
    ('I', Letter::Integer),
    ('N', Letter::Decimal),
    ('R', Letter::Double),
    ('D', Letter::Date),
    ('P', Letter::Timestamp),
    ('C', Letter::Time),
    ('T', Letter::Text),
    ('X', Letter::Bytes),
];

impl ColumnType for Letter {
    fn from_char(value: char) -> Option<Self> {
        LETTERS.iter().find(|(sign, _)| *sign == value).map(|(_, letter)| *letter)
    }

    fn to_char(&self) -> char {
        LETTERS.iter().find(|(_, letter)| letter == self).map_or('?', |(sign, _)| *sign)
    }
}

impl Letter {
    /// Returns the letter of an Arrow type, if there is one.
    #[must_use]
    pub fn of(data_type: &DataType) -> Option<Self> {
        Some(match data_type {
            DataType::Boolean => Self::Boolean,
            integer if integer.is_integer() => Self::Integer,
            DataType::Decimal128(..) | DataType::Decimal256(..) => Self::Decimal,
            DataType::Float32 | DataType::Float64 => Self::Double,
            DataType::Date32 => Self::Date,
            DataType::Timestamp(_, None) => Self::Timestamp,
            DataType::Time32(_) | DataType::Time64(_) => Self::Time,
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Self::Text,
            DataType::Binary
            | DataType::LargeBinary
            | DataType::BinaryView
            | DataType::FixedSizeBinary(_) => Self::Bytes,
            _ => return None,
        })
    }
}

/// Returns the letters of the columns of a result.
///
/// # Errors
/// [`Error::ColumnType`] for the first column whose type has none.
pub fn letters<'a>(types: impl IntoIterator<Item = &'a DataType>) -> Result<Vec<Letter>> {
    let letter = |(index, data_type): (usize, &DataType)| {
        Letter::of(data_type)
            .ok_or_else(|| Error::ColumnType { column: index + 1, found: data_type.to_string() })
    };
    types.into_iter().enumerate().map(letter).collect()
}

/// Writes the rows of a batch, one text a row.
///
/// # Errors
/// [`Error::ColumnType`] if a column has a type without text.
pub fn rows(batch: &RecordBatch) -> Result<Vec<String>> {
    let columns = batch.columns().iter().enumerate().map(|(index, array)| {
        column(array.as_ref()).ok_or_else(|| Error::ColumnType {
            column: index + 1,
            found: array.data_type().to_string(),
        })
    });
    let columns: Vec<Vec<String>> = columns.collect::<Result<_>>()?;
    let row = |row: usize| {
        columns.iter().map(|column| column[row].as_str()).collect::<Vec<_>>().join(SEPARATOR)
    };
    Ok((0..batch.num_rows()).map(row).collect())
}

/// Writes all values of a column; none if its type has no text.
fn column(array: &dyn Array) -> Option<Vec<String>> {
    let options = FormatOptions::new()
        .with_null("NULL")
        .with_timestamp_format(Some("%Y-%m-%d %H:%M:%S%.9f"))
        .with_time_format(Some("%H:%M:%S%.9f"));
    let letter = Letter::of(array.data_type())?;
    let formatter = ArrayFormatter::try_new(array, &options).ok()?;
    let value = |row: usize| match letter {
        _ if array.is_null(row) => "NULL".to_owned(),
        Letter::Double => double(float(array, row)),
        Letter::Text | Letter::Bytes => text(&formatter.value(row).to_string()),
        Letter::Timestamp | Letter::Time => moment(&formatter.value(row).to_string()).to_owned(),
        Letter::Boolean | Letter::Integer | Letter::Decimal | Letter::Date => {
            formatter.value(row).to_string()
        }
    };
    Some((0..array.len()).map(value).collect())
}

fn float(array: &dyn Array, row: usize) -> f64 {
    match array.as_primitive_opt::<Float64Type>() {
        Some(doubles) => doubles.value(row),
        None => f64::from(array.as_primitive::<Float32Type>().value(row)),
    }
}

/// Writes a floating-point number: rounded to 12 significant digits, without trailing zeros, with
/// an exponent (`1.5e-7`) only below 0.00001 and from 1e12 on. Both zeros are `0`.
#[must_use]
pub fn double(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    let scientific = format!("{:.*e}", SIGNIFICANT_DIGITS - 1, value.abs());
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let digits = digits.trim_end_matches('0');
    if digits.is_empty() {
        return "0".to_owned();
    }
    let sign = if value < 0.0 { "-" } else { "" };
    format!("{sign}{}", place_point(digits, exponent))
}

/// Puts the point into digits whose first one is worth ten to the power of `exponent`.
fn place_point(digits: &str, exponent: i32) -> String {
    let with_fraction = |whole: &str, fraction: &str| match fraction {
        "" => whole.to_owned(),
        _ => format!("{whole}.{fraction}"),
    };
    if exponent < EXPONENT_MIN || usize::try_from(exponent).is_ok_and(|e| e >= SIGNIFICANT_DIGITS) {
        return format!("{}e{exponent}", with_fraction(&digits[..1], &digits[1..]));
    }
    match usize::try_from(exponent) {
        Ok(exponent) if exponent + 1 < digits.len() => {
            with_fraction(&digits[..=exponent], &digits[exponent + 1..])
        }
        Ok(exponent) => format!("{digits:0<width$}", width = exponent + 1),
        Err(_) => {
            let zeros = usize::try_from(-exponent - 1).unwrap_or(0);
            format!("0.{:0<zeros$}{digits}", "")
        }
    }
}

/// Takes away what is zero from a fraction of nine digits: nothing stays, or six digits, or all.
fn moment(text: &str) -> &str {
    let microseconds = text.strip_suffix("000").unwrap_or(text);
    microseconds.strip_suffix(".000000").unwrap_or(microseconds)
}

/// Writes a string so that it stays on its line and within its column.
fn text(value: &str) -> String {
    if value.is_empty() {
        return "(empty)".to_owned();
    }
    let mut text = String::with_capacity(value.len());
    for sign in value.chars() {
        match sign {
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\t' => text.push_str("\\t"),
            '\r' => text.push_str("\\r"),
            sign if sign.is_control() => text.push_str(&format!("\\u{:04x}", u32::from(sign))),
            sign => text.push(sign),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use nearscan::arrow::{
        array::{
            ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float64Array,
            Int32Array, StringViewArray, Time32MillisecondArray, TimestampMicrosecondArray,
        },
        datatypes::Field,
    };
    use rstest::rstest;

    #[rstest]
    #[case(0.0, "0")]
    #[case(-0.0, "0")]
    #[case(1.0, "1")]
    #[case(-1.5, "-1.5")]
    #[case(1.0 / 3.0, "0.333333333333")]
    #[case(2.0 / 3.0, "0.666666666667")]
    #[case(100.0, "100")]
    #[case(123_456_789_012.4, "123456789012")]
    #[case(999_999_999_999.9, "1e12")]
    #[case(1.5e300, "1.5e300")]
    #[case(0.00001, "0.00001")]
    #[case(0.000_001_25, "1.25e-6")]
    #[case(-2e-300, "-2e-300")]
    #[case(0.1 + 0.2, "0.3")]
    #[case(f64::NAN, "NaN")]
    #[case(f64::INFINITY, "Infinity")]
    #[case(f64::NEG_INFINITY, "-Infinity")]
    fn writes_doubles(#[case] value: f64, #[case] expected: &str) {
        assert_eq!(double(value), expected);
    }

    #[rstest]
    #[case("", "(empty)")]
    #[case(" a b ", " a b ")]
    #[case("a\tb\nc\r", "a\\tb\\nc\\r")]
    #[case("a\\n\u{1}é", "a\\\\n\\u0001é")]
    fn writes_strings(#[case] value: &str, #[case] expected: &str) {
        assert_eq!(text(value), expected);
    }

    #[test]
    fn writes_one_line_a_row_and_null_in_every_type() {
        let decimal = Decimal128Array::from(vec![Some(-150), None]);
        let columns: Vec<ArrayRef> = vec![
            Arc::new(BooleanArray::from(vec![Some(true), None])),
            Arc::new(Int32Array::from(vec![Some(-7), None])),
            Arc::new(decimal.with_precision_and_scale(15, 2).unwrap()),
            Arc::new(Float64Array::from(vec![Some(0.25), None])),
            Arc::new(Date32Array::from(vec![Some(-1), None])),
            Arc::new(TimestampMicrosecondArray::from(vec![Some(1_000_000), None])),
            Arc::new(StringViewArray::from(vec![Some("a b"), None])),
            Arc::new(Time32MillisecondArray::from(vec![Some(1_250), None])),
            Arc::new(BinaryArray::from(vec![Some(b"\x00\xffa".as_slice()), None])),
        ];
        let types: Vec<&DataType> = columns.iter().map(|column| column.data_type()).collect();
        let letters: String = letters(types).unwrap().iter().map(ColumnType::to_char).collect();
        assert_eq!(letters, "BINRDPTCX");
        let named = columns.into_iter().enumerate().map(|(i, column)| (i.to_string(), column));
        let batch = RecordBatch::try_from_iter(named).unwrap();
        let expected = [
            "true\t-7\t-1.50\t0.25\t1969-12-31\t1970-01-01 00:00:01\ta b\t00:00:01.250000\t00ff61",
            "NULL\tNULL\tNULL\tNULL\tNULL\tNULL\tNULL\tNULL\tNULL",
        ];
        assert_eq!(rows(&batch).unwrap(), expected);
    }

    #[rstest]
    #[case("1970-01-01 00:00:00.250000000", "1970-01-01 00:00:00.250000")]
    #[case("1970-01-01 00:00:00.000000001", "1970-01-01 00:00:00.000000001")]
    #[case("1970-01-01 00:00:10.000000000", "1970-01-01 00:00:10")]
    #[case("10:00:00.000000000", "10:00:00")]
    fn shows_the_part_of_a_fraction_that_is_there(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(moment(text), expected);
    }

    #[test]
    fn shows_microseconds_only_if_there_are_some() {
        let moments: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![250_000]));
        let batch = RecordBatch::try_from_iter([("p", moments)]).unwrap();
        assert_eq!(rows(&batch).unwrap(), ["1970-01-01 00:00:00.250000"]);
    }

    #[test]
    fn type_without_a_letter_is_refused() {
        let list = DataType::List(Arc::new(Field::new("item", DataType::Int32, true)));
        let error = letters([&DataType::Int64, &list]).unwrap_err();
        assert!(error.to_string().starts_with("column 2 has type List"), "{error}");
    }

    #[test]
    fn every_letter_is_read_as_it_is_written() {
        for (sign, letter) in LETTERS {
            assert_eq!((Letter::from_char(sign), letter.to_char()), (Some(letter), sign));
        }
        assert_eq!(Letter::from_char('?'), None);
    }
}
