// SPDX-License-Identifier: Apache-2.0
//! Compares a value of a result with the one that a file expects.
//!
//! Integers and decimals are exact. A floating-point number is compared to nine significant digits,
//! and in SQLite's files, where a column of letter `R` holds all numbers, to the digits that the
//! file shows. A boolean may be a word or a digit. A moment may have a `T`
//! or a space in its middle, and zeros behind its seconds. Everything else is its text.

use nearscan::arrow::{
    array::{Array, AsArray, RecordBatch},
    compute::cast,
    datatypes::{DataType, Float32Type, Float64Type},
    util::display::{ArrayFormatter, DurationFormat, FormatOptions},
};

use super::directive::Dialect;
use crate::error::{Error, Result};

/// NULL, in every dialect.
pub const NULL: &str = "NULL";

/// The string without signs, in every dialect.
pub const EMPTY: &str = "(empty)";

/// Floating-point numbers that differ by no more than this part of them are equal.
const RELATIVE_DIFFERENCE_MAX: f64 = 1e-9;

/// Digits behind the point of a real in SQLite's files.
const SQLITE_DIGITS: usize = 3;

/// A value of a result.
#[derive(Debug, Clone, PartialEq)]
pub struct Value {
    /// As Arrow writes it.
    pub text: String,
    /// The type, and the number of a floating-point one.
    pub kind: Kind,
}

/// The type of a value, and the number of a floating-point one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// No value.
    Null,
    /// A boolean.
    Boolean,
    /// An integer or a decimal.
    Exact,
    /// A floating-point number.
    Float(f64),
    /// A string.
    Text,
    /// A date, a moment or a time.
    Moment,
    /// Anything else: bytes, lists, structs.
    Other,
}

/// Returns the rows of a batch.
///
/// # Errors
/// [`Error::ColumnType`] if a column has a type that Arrow cannot write.
pub fn rows(batch: &RecordBatch, dialect: Dialect) -> Result<Vec<Vec<Value>>> {
    let columns = batch.columns().iter().enumerate().map(|(index, array)| {
        column(array.as_ref(), dialect).ok_or_else(|| Error::ColumnType {
            column: index + 1,
            found: array.data_type().to_string(),
        })
    });
    let columns: Vec<Vec<Value>> = columns.collect::<Result<_>>()?;
    let row = |row: usize| columns.iter().map(|column| column[row].clone()).collect();
    Ok((0..batch.num_rows()).map(row).collect())
}

fn column(array: &dyn Array, dialect: Dialect) -> Option<Vec<Value>> {
    if let DataType::Dictionary(_, values) = array.data_type() {
        return column(cast(array, values).ok()?.as_ref(), dialect);
    }
    let options = FormatOptions::new().with_null(NULL);
    let options = match dialect {
        Dialect::Datafusion => options.with_duration_format(DurationFormat::Pretty),
        Dialect::Sqlite | Dialect::Duckdb => options
            .with_timestamp_format(Some("%Y-%m-%d %H:%M:%S%.f"))
            .with_timestamp_tz_format(Some("%Y-%m-%d %H:%M:%S%.f%:z")),
    };
    let formatter = ArrayFormatter::try_new(array, &options).ok()?;
    let kind = |row: usize| match array.data_type() {
        _ if array.is_null(row) => Kind::Null,
        DataType::Boolean => Kind::Boolean,
        DataType::Decimal32(..)
        | DataType::Decimal64(..)
        | DataType::Decimal128(..)
        | DataType::Decimal256(..) => Kind::Exact,
        integer if integer.is_integer() => Kind::Exact,
        DataType::Float64 => Kind::Float(array.as_primitive::<Float64Type>().value(row)),
        DataType::Float32 => Kind::Float(f64::from(array.as_primitive::<Float32Type>().value(row))),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Kind::Text,
        DataType::Date32
        | DataType::Date64
        | DataType::Time32(_)
        | DataType::Time64(_)
        | DataType::Timestamp(..) => Kind::Moment,
        _ => Kind::Other,
    };
    let value = |row: usize| {
        let kind = kind(row);
        let text = match kind {
            Kind::Null => NULL.to_owned(),
            // A value that cannot be written, such as a date beyond the calendar, is no panic.
            _ => formatter.value(row).try_to_string().unwrap_or_else(|error| error.to_string()),
        };
        Value { text, kind }
    };
    Some((0..array.len()).map(value).collect())
}

impl Value {
    /// The text that the suite's own engine would have written, as far as it can be told: by it
    /// rows are sorted and hashed. `letter` is that of the column.
    #[must_use]
    pub fn written(&self, letter: char, dialect: Dialect) -> String {
        match (self.kind, dialect, letter) {
            (Kind::Null, ..) => NULL.to_owned(),
            (_, Dialect::Sqlite, 'I') => truncated(&self.text),
            (_, Dialect::Sqlite, 'R') => {
                format!("{:.SQLITE_DIGITS$}", self.text.parse::<f64>().unwrap_or(0.0))
            }
            (Kind::Float(value), Dialect::Duckdb | Dialect::Sqlite, _) => format!("{value:?}"),
            (Kind::Float(value), Dialect::Datafusion, _) => plain(value),
            (Kind::Exact, Dialect::Datafusion, _) => number(&self.text),
            _ if self.text.is_empty() => EMPTY.to_owned(),
            (_, Dialect::Sqlite, _) => {
                self.text.chars().map(|sign| if is_shown(sign) { sign } else { '@' }).collect()
            }
            (Kind::Text, Dialect::Duckdb, _) => self.text.replace('\0', "\\0").replace('\n', "\\n"),
            (_, Dialect::Duckdb, _) => self.text.clone(),
            (_, Dialect::Datafusion, _) => self.text.trim_end_matches('\n').replace('\0', "\\0"),
        }
    }

    /// Whether this is what a file expects in a column with `letter`.
    #[must_use]
    pub fn is(&self, expected: &str, letter: char, dialect: Dialect) -> bool {
        if expected == self.text || expected == self.written(letter, dialect) {
            return true;
        }
        match self.kind {
            Kind::Null => expected == NULL,
            Kind::Boolean => match self.text.as_str() {
                "true" => matches!(expected, "1" | "t" | "True" | "TRUE"),
                _ => matches!(expected, "0" | "f" | "False" | "FALSE"),
            },
            Kind::Exact => {
                is_number(expected) && number(expected) == number(&self.text)
                    || letter == 'R'
                        && dialect == Dialect::Sqlite
                        && self.text.parse().is_ok_and(|value| is_float(expected, value, dialect))
            }
            Kind::Float(value) => is_float(expected, value, dialect),
            Kind::Moment => moment(expected) == moment(&self.text),
            Kind::Text | Kind::Other => false,
        }
    }
}

fn is_shown(sign: char) -> bool {
    (' '..='~').contains(&sign)
}

/// The whole number at the start of a text, as SQLite makes an integer of anything.
fn truncated(text: &str) -> String {
    if text.contains(['e', 'E'])
        && let Ok(value) = text.parse::<f64>()
    {
        return format!("{:.0}", value.trunc());
    }
    let digits = text.strip_prefix('-').unwrap_or(text);
    let digits: String = digits.chars().take_while(char::is_ascii_digit).collect();
    match (digits.is_empty(), text) {
        (_, "true") => "1".to_owned(),
        (true, _) => "0".to_owned(),
        (false, _) if text.starts_with('-') && digits != "0" => format!("-{digits}"),
        (false, _) => digits,
    }
}

/// A floating-point number in twelve digits behind the point, without zeros at its end.
fn plain(value: f64) -> String {
    if value.is_nan() {
        "NaN".to_owned()
    } else if value.is_infinite() {
        if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned()
    } else {
        number(&format!("{value:.12}"))
    }
}

fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    digits.contains(|sign: char| sign.is_ascii_digit())
        && digits.chars().all(|sign| sign.is_ascii_digit() || sign == '.')
}

/// A number in its shortest form: no zeros in front or at its end, no sign of zero.
fn number(text: &str) -> String {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
    match (whole, fraction) {
        ("", "") => "0".to_owned(),
        (whole, "") => format!("{sign}{whole}"),
        ("", fraction) => format!("{sign}0.{fraction}"),
        (whole, fraction) => format!("{sign}{whole}.{fraction}"),
    }
}

/// Whether `found` is nearly `expected`, or in SQLite's files to the digits that it shows.
fn is_float(expected: &str, found: f64, dialect: Dialect) -> bool {
    let Ok(wanted) = expected.parse::<f64>() else { return false };
    if wanted.is_nan() || found.is_nan() {
        return wanted.is_nan() && found.is_nan();
    }
    if wanted == found || wanted.is_infinite() || found.is_infinite() {
        return wanted == found;
    }
    let digits = expected.split_once('.').map_or("", |(_, fraction)| fraction);
    let is_plain = digits.chars().all(|sign| sign.is_ascii_digit());
    if dialect == Dialect::Sqlite && is_plain && !digits.is_empty() {
        let places = digits.len();
        if number(&format!("{found:.places$}")) == number(expected) {
            return true;
        }
    }
    let difference = (wanted - found).abs();
    difference <= RELATIVE_DIFFERENCE_MAX * wanted.abs().max(found.abs())
}

/// A moment without the `T` in its middle and the zeros behind its seconds.
fn moment(text: &str) -> String {
    let text = text.replacen('T', " ", 1);
    let text = text.strip_suffix('Z').unwrap_or(&text);
    let text = text.strip_suffix("+00:00").or_else(|| text.strip_suffix("+00")).unwrap_or(text);
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => text,
    };
    text.strip_suffix(" 00:00:00").unwrap_or(text).to_owned()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use nearscan::arrow::array::{ArrayRef, DurationSecondArray, TimestampMicrosecondArray};
    use rstest::rstest;

    fn value(text: &str, kind: Kind) -> Value {
        Value { text: text.to_owned(), kind }
    }

    #[rstest]
    #[case("true", Kind::Boolean, "1", true)]
    #[case("false", Kind::Boolean, "1", false)]
    #[case("7", Kind::Exact, "7.000", true)]
    #[case("7.10", Kind::Exact, "7.1", true)]
    #[case("7.10", Kind::Exact, "7.11", false)]
    #[case("-0", Kind::Exact, "0", true)]
    #[case("0.1", Kind::Float(0.1), "0.100", true)]
    #[case("x", Kind::Float(2.0 / 3.0), "0.666666666667", true)]
    #[case("x", Kind::Float(2.0 / 3.0), "0.667", false)]
    #[case("x", Kind::Float(1.04), "1.0", false)]
    #[case("x", Kind::Float(1e20), "100000000000000000000", true)]
    #[case("x", Kind::Float(f64::NAN), "nan", true)]
    #[case("x", Kind::Float(f64::INFINITY), "inf", true)]
    #[case("x", Kind::Float(f64::INFINITY), "-inf", false)]
    #[case("x", Kind::Float(f64::INFINITY), "1e308", false)]
    #[case("x", Kind::Float(7.0), "inf", false)]
    #[case("2020-01-02 03:04:05", Kind::Moment, "2020-01-02T03:04:05", true)]
    #[case("2020-01-02 03:04:05.500", Kind::Moment, "2020-01-02 03:04:05.5", true)]
    #[case("2020-01-02", Kind::Moment, "2020-01-02 00:00:00", true)]
    #[case("2020-01-02", Kind::Moment, "2020-01-03", false)]
    #[case("", Kind::Text, "(empty)", true)]
    #[case("a", Kind::Text, "b", false)]
    #[case("1", Kind::Text, "1.0", false)]
    #[case("NULL", Kind::Null, "NULL", true)]
    #[case("NULL", Kind::Null, "0", false)]
    fn compares(#[case] text: &str, #[case] kind: Kind, #[case] expected: &str, #[case] is: bool) {
        assert_eq!(value(text, kind).is(expected, 'T', Dialect::Duckdb), is);
    }

    #[rstest]
    #[case("123456789012.0000", Kind::Exact, "123456789099.0000", Dialect::Duckdb, false)]
    #[case("123456789012.0000", Kind::Exact, "123456789099.0000", Dialect::Datafusion, false)]
    #[case("1.2345", Kind::Exact, "1.2", Dialect::Duckdb, false)]
    #[case("1.2345", Kind::Exact, "1.23450", Dialect::Duckdb, true)]
    #[case("1.2346", Kind::Exact, "1.235", Dialect::Sqlite, true)]
    #[case("x", Kind::Float(2.0 / 3.0), "0.667", Dialect::Sqlite, true)]
    #[case("x", Kind::Float(2.0 / 3.0), "0.668", Dialect::Sqlite, false)]
    #[case("x", Kind::Float(1.04), "1.0", Dialect::Datafusion, false)]
    fn only_sqlite_has_all_numbers_in_columns_of_reals(
        #[case] text: &str,
        #[case] kind: Kind,
        #[case] expected: &str,
        #[case] dialect: Dialect,
        #[case] is: bool,
    ) {
        assert_eq!(value(text, kind).is(expected, 'R', dialect), is);
    }

    #[rstest]
    #[case("2.75", Kind::Float(2.75), 'I', "2")]
    #[case("-2.75", Kind::Float(-2.75), 'I', "-2")]
    #[case("abc", Kind::Text, 'I', "0")]
    #[case("1e3", Kind::Float(1000.0), 'I', "1000")]
    #[case("12", Kind::Exact, 'R', "12.000")]
    #[case("a\tb\u{e9}", Kind::Text, 'T', "a@b@")]
    #[case("", Kind::Text, 'T', "(empty)")]
    fn writes_as_sqlite_does(
        #[case] text: &str,
        #[case] kind: Kind,
        #[case] letter: char,
        #[case] expected: &str,
    ) {
        assert_eq!(value(text, kind).written(letter, Dialect::Sqlite), expected);
    }

    #[test]
    fn moments_are_written_as_the_dialect_does() {
        let moments: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![250_000]));
        let durations: ArrayRef = Arc::new(DurationSecondArray::from(vec![61]));
        let batch = RecordBatch::try_from_iter([("p", moments), ("d", durations)]).unwrap();
        let texts = |dialect| {
            let row = rows(&batch, dialect).unwrap().remove(0);
            row.into_iter().map(|value| value.text).collect::<Vec<_>>()
        };
        let datafusion = ["1970-01-01T00:00:00.250", "0 days 0 hours 1 mins 1 secs"];
        assert_eq!(texts(Dialect::Datafusion), datafusion);
        assert_eq!(texts(Dialect::Duckdb)[0], "1970-01-01 00:00:00.250");
    }

    #[rstest]
    #[case(Kind::Float(0.5), Dialect::Datafusion, "0.5")]
    #[case(Kind::Float(1.0), Dialect::Datafusion, "1")]
    #[case(Kind::Float(1.0), Dialect::Duckdb, "1.0")]
    #[case(Kind::Float(f64::NEG_INFINITY), Dialect::Datafusion, "-Infinity")]
    fn writes_floats(#[case] kind: Kind, #[case] dialect: Dialect, #[case] expected: &str) {
        assert_eq!(value("x", kind).written('R', dialect), expected);
    }
}
