// SPDX-License-Identifier: Apache-2.0
//! Makes Python objects of the values of Arrow arrays, for `fetchall` and the like.
//!
//! | Arrow | Python |
//! |---|---|
//! | integers, floats, booleans, texts, bytes | `int`, `float`, `bool`, `str`, `bytes` |
//! | decimals | `decimal.Decimal` |
//! | dates, times, timestamps | `date`, `time`, `datetime`, with the time zone if there is one |
//! | durations, intervals | `timedelta`; a month has 30 days |
//! | lists, structs, maps | `list`, `dict`, `dict` |
//! | dictionaries and runs | what their values are |
//! | others, and dates that Python has not | `str` |
//!
//! Nanoseconds are cut off to microseconds, which Python's types end at. NULL is `None`.

use std::sync::Arc;

use nearscan::arrow::{
    array::{Array, ArrayRef, AsArray},
    compute::cast,
    datatypes::{
        DataType, Date32Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type,
        DurationMicrosecondType, Float16Type, Float64Type, Int64Type, IntervalDayTimeType,
        IntervalMonthDayNanoType, IntervalUnit, IntervalYearMonthType, Time64MicrosecondType,
        TimeUnit, TimestampMicrosecondType, UInt64Type,
    },
    error::ArrowError,
    util::display::{ArrayFormatter, FormatOptions},
};
use pyo3::{
    IntoPyObjectExt,
    prelude::*,
    sync::PyOnceLock,
    types::{PyBytes, PyDict, PyList, PyString},
};

use crate::error::raise;

/// Microseconds of a day.
const DAY_US: i64 = 86_400_000_000;

/// Returns the values of an array, in order.
pub(crate) fn objects(py: Python<'_>, array: &dyn Array) -> PyResult<Vec<Py<PyAny>>> {
    Values { py, array }.all()
}

struct Values<'py, 'a> {
    py: Python<'py>,
    array: &'a dyn Array,
}

impl<'py> Values<'py, '_> {
    fn all(&self) -> PyResult<Vec<Py<PyAny>>> {
        let array = self.array;
        let py = self.py;
        match array.data_type() {
            DataType::Null => Ok((0..array.len()).map(|_| py.None()).collect()),
            DataType::Boolean => {
                let array = array.as_boolean();
                self.each(|row| array.value(row).into_py_any(py))
            }
            DataType::Float16 => {
                let array = array.as_primitive::<Float16Type>();
                self.each(|row| array.value(row).to_f64().into_py_any(py))
            }
            kind if kind.is_integer() || kind.is_floating() => self.numbers(),
            DataType::Utf8 => {
                let array = array.as_string::<i32>();
                self.each(|row| Ok(PyString::new(py, array.value(row)).into_any().unbind()))
            }
            DataType::LargeUtf8 => {
                let array = array.as_string::<i64>();
                self.each(|row| Ok(PyString::new(py, array.value(row)).into_any().unbind()))
            }
            DataType::Utf8View => {
                let array = array.as_string_view();
                self.each(|row| Ok(PyString::new(py, array.value(row)).into_any().unbind()))
            }
            DataType::Binary | DataType::LargeBinary | DataType::FixedSizeBinary(_) => {
                self.through(&DataType::BinaryView)
            }
            DataType::BinaryView => {
                let array = array.as_binary_view();
                self.each(|row| Ok(PyBytes::new(py, array.value(row)).into_any().unbind()))
            }
            kind if kind.is_decimal() => self.decimals(),
            kind if kind.is_temporal() || matches!(kind, DataType::Interval(_)) => self.times(),
            kind if kind.is_nested() => self.nested(),
            DataType::Dictionary(_, values) => self.through(&values.as_ref().clone()),
            DataType::RunEndEncoded(_, values) => self.through(&values.data_type().clone()),
            _ => self.texts(),
        }
    }

    /// Calls a function for each row that is not NULL.
    fn each(&self, object: impl Fn(usize) -> PyResult<Py<PyAny>>) -> PyResult<Vec<Py<PyAny>>> {
        let nulls = self.array.logical_nulls();
        let rows = (0..self.array.len()).map(|row| {
            let is_null = nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
            if is_null { Ok(self.py.None()) } else { object(row) }
        });
        rows.collect()
    }

    /// The values as another type has them.
    fn through(&self, data_type: &DataType) -> PyResult<Vec<Py<PyAny>>> {
        objects(
            self.py,
            cast(self.array, data_type).map_err(|error| failed(self.py, &error))?.as_ref(),
        )
    }

    fn numbers(&self) -> PyResult<Vec<Py<PyAny>>> {
        let (array, py) = (self.array, self.py);
        match array.data_type() {
            DataType::UInt64 => {
                let array = array.as_primitive::<UInt64Type>();
                self.each(|row| array.value(row).into_py_any(py))
            }
            DataType::Int64 => {
                let array = array.as_primitive::<Int64Type>();
                self.each(|row| array.value(row).into_py_any(py))
            }
            DataType::Float64 => {
                let array = array.as_primitive::<Float64Type>();
                self.each(|row| array.value(row).into_py_any(py))
            }
            kind if kind.is_integer() => self.through(&DataType::Int64),
            _ => self.through(&DataType::Float64),
        }
    }

    fn decimals(&self) -> PyResult<Vec<Py<PyAny>>> {
        static DECIMAL: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let class = DECIMAL.get_or_try_init(self.py, || {
            self.py.import("decimal")?.getattr("Decimal").map(Bound::unbind)
        })?;
        let array = self.array;
        macro_rules! decimals {
            ($type:ty) => {{
                let array = array.as_primitive::<$type>();
                self.each(|row| class.call1(self.py, (array.value_as_string(row),)))
            }};
        }
        match array.data_type() {
            DataType::Decimal32(..) => decimals!(Decimal32Type),
            DataType::Decimal64(..) => decimals!(Decimal64Type),
            DataType::Decimal128(..) => decimals!(Decimal128Type),
            _ => decimals!(Decimal256Type),
        }
    }

    fn times(&self) -> PyResult<Vec<Py<PyAny>>> {
        let (array, py) = (self.array, self.py);
        match array.data_type() {
            DataType::Date32 => {
                let array = array.as_primitive::<Date32Type>();
                self.each(|row| self.or_text(row, array.value_as_date(row)))
            }
            DataType::Date64 => self.through(&DataType::Date32),
            DataType::Time64(TimeUnit::Microsecond) => {
                let array = array.as_primitive::<Time64MicrosecondType>();
                self.each(|row| self.or_text(row, array.value_as_time(row)))
            }
            DataType::Time32(_) | DataType::Time64(_) => {
                self.through(&DataType::Time64(TimeUnit::Microsecond))
            }
            DataType::Timestamp(TimeUnit::Microsecond, None) => {
                let array = array.as_primitive::<TimestampMicrosecondType>();
                self.each(|row| self.or_text(row, array.value_as_datetime(row)))
            }
            DataType::Timestamp(TimeUnit::Microsecond, Some(zone)) => {
                let array = array.as_primitive::<TimestampMicrosecondType>();
                let zone = time_zone(py, zone)?;
                self.each(|row| {
                    let time = array.value_as_datetime(row).map(|time| time.and_utc());
                    let time = time.and_then(|time| time.into_bound_py_any(py).ok());
                    let time = time.and_then(|it| it.call_method1("astimezone", (&zone,)).ok());
                    self.or_text(row, time)
                })
            }
            DataType::Timestamp(_, zone) => {
                self.through(&DataType::Timestamp(TimeUnit::Microsecond, zone.clone()))
            }
            DataType::Duration(TimeUnit::Microsecond) => {
                let array = array.as_primitive::<DurationMicrosecondType>();
                self.each(|row| self.or_text(row, time_delta(py, 0, array.value(row)).ok()))
            }
            DataType::Duration(_) => self.through(&DataType::Duration(TimeUnit::Microsecond)),
            DataType::Interval(unit) => self.intervals(*unit),
            _ => self.texts(),
        }
    }

    fn intervals(&self, unit: IntervalUnit) -> PyResult<Vec<Py<PyAny>>> {
        let array = self.array;
        let delta = |row, days: i64, us| self.or_text(row, time_delta(self.py, days, us).ok());
        match unit {
            IntervalUnit::YearMonth => {
                let array = array.as_primitive::<IntervalYearMonthType>();
                self.each(|row| delta(row, 30 * i64::from(array.value(row)), 0))
            }
            IntervalUnit::DayTime => {
                let array = array.as_primitive::<IntervalDayTimeType>();
                self.each(|row| {
                    let value = array.value(row);
                    delta(row, value.days.into(), 1_000 * i64::from(value.milliseconds))
                })
            }
            IntervalUnit::MonthDayNano => {
                let array = array.as_primitive::<IntervalMonthDayNanoType>();
                self.each(|row| {
                    let value = array.value(row);
                    let days = 30 * i64::from(value.months) + i64::from(value.days);
                    delta(row, days, value.nanoseconds / 1_000)
                })
            }
        }
    }

    fn nested(&self) -> PyResult<Vec<Py<PyAny>>> {
        let (array, py) = (self.array, self.py);
        match array.data_type() {
            DataType::List(_) => {
                let array = array.as_list::<i32>();
                self.each(|row| list(py, &array.value(row)))
            }
            DataType::LargeList(_) => {
                let array = array.as_list::<i64>();
                self.each(|row| list(py, &array.value(row)))
            }
            DataType::FixedSizeList(..) => {
                let array = array.as_fixed_size_list();
                self.each(|row| list(py, &array.value(row)))
            }
            DataType::ListView(field) => self.through(&DataType::List(Arc::clone(field))),
            DataType::LargeListView(field) => self.through(&DataType::LargeList(Arc::clone(field))),
            DataType::Struct(_) => {
                let array = array.as_struct();
                let columns = array.columns().iter().map(|column| objects(py, column));
                let columns: Vec<Vec<Py<PyAny>>> = columns.collect::<PyResult<_>>()?;
                self.each(|row| {
                    let object = PyDict::new(py);
                    for (name, values) in array.column_names().iter().zip(&columns) {
                        object.set_item(name, &values[row])?;
                    }
                    Ok(object.into_any().unbind())
                })
            }
            DataType::Map(..) => {
                let array = array.as_map();
                self.each(|row| {
                    let entries = array.value(row);
                    let keys = objects(py, entries.column(0))?;
                    let values = objects(py, entries.column(1))?;
                    let object = PyDict::new(py);
                    for (key, value) in keys.iter().zip(values) {
                        object.set_item(key, value)?;
                    }
                    Ok(object.into_any().unbind())
                })
            }
            _ => self.texts(),
        }
    }

    /// An object of a value, or its text if Python has no such object.
    fn or_text(&self, row: usize, value: Option<impl IntoPyObjectExt<'py>>) -> PyResult<Py<PyAny>> {
        let object = value.and_then(|value| value.into_py_any(self.py).ok());
        match object {
            Some(object) => Ok(object),
            None => {
                let options = FormatOptions::default();
                let formatter = ArrayFormatter::try_new(self.array, &options);
                let formatter = formatter.map_err(|error| failed(self.py, &error))?;
                formatter.value(row).to_string().into_py_any(self.py)
            }
        }
    }

    fn texts(&self) -> PyResult<Vec<Py<PyAny>>> {
        let options = FormatOptions::default();
        let formatter = ArrayFormatter::try_new(self.array, &options);
        let formatter = formatter.map_err(|error| failed(self.py, &error))?;
        self.each(|row| formatter.value(row).to_string().into_py_any(self.py))
    }
}

fn list(py: Python<'_>, values: &ArrayRef) -> PyResult<Py<PyAny>> {
    Ok(PyList::new(py, objects(py, values)?)?.into_any().unbind())
}

/// A `timedelta` of days and microseconds.
fn time_delta(py: Python<'_>, days: i64, us: i64) -> PyResult<Bound<'_, PyAny>> {
    static CLASS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let class = CLASS
        .get_or_try_init(py, || py.import("datetime")?.getattr("timedelta").map(Bound::unbind))?;
    class.bind(py).call1((days + us / DAY_US, 0, us % DAY_US))
}

/// The `tzinfo` of a zone's name, or of an offset such as `+02:00`.
fn time_zone<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    match py.import("zoneinfo")?.call_method1("ZoneInfo", (name,)) {
        Ok(zone) => Ok(zone),
        Err(_) => {
            let class = py.import("datetime")?.getattr("datetime")?;
            class.call_method1("strptime", (name, "%z"))?.getattr("tzinfo")
        }
    }
}

fn failed(py: Python<'_>, error: &ArrowError) -> PyErr {
    raise(py, "DataError", "a value cannot be made a Python object", Some(&error.to_string()), None)
}
