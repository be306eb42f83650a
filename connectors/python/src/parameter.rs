// SPDX-License-Identifier: Apache-2.0
//! Makes values of the engine from Python objects: parameters of statements.
//!
//! The engine casts a value to the type that the statement needs, so the type here matters only
//! where a statement needs none, as in `SELECT ?`.

use std::sync::Arc;

use chrono::{DateTime, FixedOffset, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, Timelike};
use nearscan::{
    arrow::datatypes::{DataType, IntervalMonthDayNano},
    datafusion::common::{ParamValues, ScalarValue, metadata::ScalarAndMetadata},
};
use pyo3::{
    prelude::*,
    types::{
        PyBool, PyByteArray, PyBytes, PyDate, PyDateTime, PyDelta, PyDict, PyFloat, PyInt, PyList,
        PyMapping, PyString, PyTime, PyTuple,
    },
};

use crate::error::raise;

/// Digits of the widest decimal.
const DIGITS_MAX: usize = 76;

/// Returns the parameters of a sequence, for `?` and `$1`, or of a mapping, for `$name`.
pub(crate) fn parameters(values: &Bound<'_, PyAny>) -> PyResult<ParamValues> {
    let of = |value: &Bound<'_, PyAny>| scalar(value).map(ScalarAndMetadata::from);
    if let Ok(values) = values.cast::<PyMapping>() {
        let pairs = values.items()?.into_iter().map(|pair| {
            let (name, value): (String, Bound<'_, PyAny>) = pair.extract()?;
            Ok((name.trim_start_matches('$').to_owned(), of(&value)?))
        });
        return Ok(ParamValues::Map(pairs.collect::<PyResult<_>>()?));
    }
    let values = values.try_iter()?.map(|value| of(&value?));
    Ok(ParamValues::List(values.collect::<PyResult<_>>()?))
}

/// Returns the value of an object.
fn scalar(value: &Bound<'_, PyAny>) -> PyResult<ScalarValue> {
    if value.is_none() {
        return Ok(ScalarValue::Null);
    }
    if let Ok(value) = value.cast::<PyBool>() {
        return Ok(ScalarValue::from(value.is_true()));
    }
    if value.is_instance_of::<PyInt>() {
        return integer(value);
    }
    if let Ok(value) = value.cast::<PyFloat>() {
        return Ok(ScalarValue::from(value.value()));
    }
    if let Ok(value) = value.cast::<PyString>() {
        return Ok(ScalarValue::from(value.to_cow()?.as_ref()));
    }
    if let Ok(value) = value.cast::<PyBytes>() {
        return Ok(ScalarValue::Binary(Some(value.as_bytes().to_vec())));
    }
    if let Ok(value) = value.cast::<PyByteArray>() {
        return Ok(ScalarValue::Binary(Some(value.to_vec())));
    }
    match time(value)? {
        Some(time) => Ok(time),
        None => other(value),
    }
}

fn integer(value: &Bound<'_, PyAny>) -> PyResult<ScalarValue> {
    if let Ok(value) = value.extract::<i64>() {
        return Ok(ScalarValue::Int64(Some(value)));
    }
    if let Ok(value) = value.extract::<u64>() {
        return Ok(ScalarValue::UInt64(Some(value)));
    }
    decimal(&value.str()?.to_cow()?).ok_or_else(|| unknown(value, "it has too many digits"))
}

/// Dates and times; none of another object. A `datetime` is a `date` too.
fn time(value: &Bound<'_, PyAny>) -> PyResult<Option<ScalarValue>> {
    let time = if value.is_instance_of::<PyDateTime>() {
        if let Ok(time) = value.extract::<DateTime<FixedOffset>>() {
            let zone: Arc<str> = Arc::from(time.offset().to_string());
            ScalarValue::TimestampMicrosecond(Some(time.timestamp_micros()), Some(zone))
        } else {
            let time: NaiveDateTime = value.extract()?;
            ScalarValue::TimestampMicrosecond(Some(time.and_utc().timestamp_micros()), None)
        }
    } else if value.is_instance_of::<PyDate>() {
        let days = value.extract::<NaiveDate>()?.to_epoch_days();
        ScalarValue::Date32(Some(days))
    } else if value.is_instance_of::<PyTime>() {
        let time: NaiveTime = value.extract()?;
        let us = i64::from(time.num_seconds_from_midnight()) * 1_000_000;
        ScalarValue::Time64Microsecond(Some(us + i64::from(time.nanosecond() / 1_000)))
    } else if value.is_instance_of::<PyDelta>() {
        let delta: TimeDelta = value.extract()?;
        let days = i32::try_from(delta.num_days()).map_err(|_| unknown(value, "it is too long"))?;
        let rest = delta - TimeDelta::days(i64::from(days));
        let nanoseconds = rest.num_nanoseconds().unwrap_or_default();
        let interval = IntervalMonthDayNano { months: 0, days, nanoseconds };
        ScalarValue::IntervalMonthDayNano(Some(interval))
    } else {
        return Ok(None);
    };
    Ok(Some(time))
}

/// Lists, dicts, decimals, and objects of NumPy and the like, which know their Python object.
fn other(value: &Bound<'_, PyAny>) -> PyResult<ScalarValue> {
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        return list(value);
    }
    if let Ok(fields) = value.cast::<PyDict>() {
        let mut builder = nearscan::datafusion::common::scalar::ScalarStructBuilder::new();
        for (name, value) in fields.iter() {
            builder = builder.with_name_and_scalar(&name.extract::<String>()?, scalar(&value)?);
        }
        return builder.build().map_err(|error| unknown(value, &error.to_string()));
    }
    let class = value.get_type().name()?;
    match class.to_cow()?.as_ref() {
        "Decimal" => decimal(&value.str()?.to_cow()?)
            .ok_or_else(|| unknown(value, "it has too many digits, or is no number")),
        "UUID" => Ok(ScalarValue::from(value.str()?.to_cow()?.as_ref())),
        _ => match value.getattr("item") {
            Ok(item) if item.is_callable() => scalar(&item.call0()?),
            _ => Err(unknown(value, &format!("a value of {class} has no type in SQL"))),
        },
    }
}

fn list(value: &Bound<'_, PyAny>) -> PyResult<ScalarValue> {
    let values: Vec<ScalarValue> =
        value.try_iter()?.map(|value| scalar(&value?)).collect::<PyResult<_>>()?;
    let kind = values.iter().map(ScalarValue::data_type).find(|kind| *kind != DataType::Null);
    let kind = kind.unwrap_or(DataType::Null);
    let values = values
        .into_iter()
        .map(|it| it.cast_to(&kind).map_err(|error| unknown(value, &error.strip_backtrace())));
    let values: Vec<ScalarValue> = values.collect::<PyResult<_>>()?;
    Ok(ScalarValue::List(ScalarValue::new_list_nullable(&values, &kind)))
}

/// A decimal of its text, such as `-12.50`; none if it is no number, or too long.
fn decimal(text: &str) -> Option<ScalarValue> {
    let digits = text.trim_start_matches('-');
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let digits = (whole.len() + fraction.len()).max(1);
    if !is_plain || digits > DIGITS_MAX {
        // `1E+5` has an exponent, and infinity no digits.
        return text.parse::<f64>().ok().filter(|it| it.is_finite()).map(ScalarValue::from);
    }
    let (precision, scale) = (u8::try_from(digits).ok()?, i8::try_from(fraction.len()).ok()?);
    let kind = match precision {
        ..=38 => DataType::Decimal128(precision, scale),
        _ => DataType::Decimal256(precision, scale),
    };
    ScalarValue::from(text).cast_to(&kind).ok()
}

fn unknown(value: &Bound<'_, PyAny>, reason: &str) -> PyErr {
    let primary = "a parameter cannot be used";
    raise(value.py(), "ProgrammingError", primary, Some(reason), None)
}
