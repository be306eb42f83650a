// SPDX-License-Identifier: Apache-2.0
//! Values that can be compared whatever array they come from.
//!
//! A date, a time and a decimal are the integers that stand for them; a nested value is the one
//! number that the tests put into it.

use std::cmp::Ordering;

use nearscan::arrow::{
    array::{Array, AsArray, RecordBatch},
    datatypes::{
        ArrowPrimitiveType, DataType, Date32Type, Decimal128Type, Float32Type, Float64Type,
        Int8Type, Int16Type, Int32Type, Int64Type, IntervalMonthDayNanoType, IntervalUnit,
        Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType,
        TimeUnit, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
        TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
    },
    util::display::{ArrayFormatter, FormatOptions},
};

/// A value of any type; those of one type have the order that SQL gives them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cell {
    Null,
    Boolean(bool),
    Integer(i128),
    Float(Float),
    Bytes(Vec<u8>),
}

/// A number in the total order of floating point, in which equal means the same bits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Float(pub(crate) f64);

pub(crate) type Row = Vec<Cell>;

impl Ord for Float {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Float {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Float {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Float {}

/// The rows of a result, in its order.
pub(crate) fn rows(batches: &[RecordBatch]) -> Vec<Row> {
    let mut rows = Vec::new();
    for batch in batches {
        let columns: Vec<Vec<Cell>> = batch.columns().iter().map(|array| column(array)).collect();
        let row = |at: usize| columns.iter().map(|cells| cells[at].clone()).collect();
        rows.extend((0..batch.num_rows()).map(row));
    }
    rows
}

fn column(array: &dyn Array) -> Vec<Cell> {
    match array.data_type() {
        DataType::Boolean => cells(array.as_boolean().iter(), Cell::Boolean),
        DataType::Int8 => integers::<Int8Type>(array),
        DataType::Int16 => integers::<Int16Type>(array),
        DataType::Int32 => integers::<Int32Type>(array),
        DataType::Int64 => integers::<Int64Type>(array),
        DataType::UInt8 => integers::<UInt8Type>(array),
        DataType::UInt16 => integers::<UInt16Type>(array),
        DataType::UInt32 => integers::<UInt32Type>(array),
        DataType::UInt64 => integers::<UInt64Type>(array),
        DataType::Date32 => integers::<Date32Type>(array),
        DataType::Decimal128(..) => integers::<Decimal128Type>(array),
        DataType::Time32(TimeUnit::Second) => integers::<Time32SecondType>(array),
        DataType::Time32(_) => integers::<Time32MillisecondType>(array),
        DataType::Time64(TimeUnit::Microsecond) => integers::<Time64MicrosecondType>(array),
        DataType::Time64(_) => integers::<Time64NanosecondType>(array),
        DataType::Timestamp(TimeUnit::Second, _) => integers::<TimestampSecondType>(array),
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            integers::<TimestampMillisecondType>(array)
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            integers::<TimestampMicrosecondType>(array)
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => integers::<TimestampNanosecondType>(array),
        DataType::Float32 => floats::<Float32Type>(array),
        DataType::Float64 => floats::<Float64Type>(array),
        DataType::Utf8 => bytes(array.as_string::<i32>().iter()),
        DataType::LargeUtf8 => bytes(array.as_string::<i64>().iter()),
        DataType::Utf8View => bytes(array.as_string_view().iter()),
        DataType::Binary => bytes(array.as_binary::<i32>().iter()),
        DataType::LargeBinary => bytes(array.as_binary::<i64>().iter()),
        DataType::BinaryView => bytes(array.as_binary_view().iter()),
        DataType::FixedSizeBinary(_) => bytes(array.as_fixed_size_binary().iter()),
        DataType::Struct(_) => {
            let inner = column(array.as_struct().column(0));
            let cell = |at| if array.is_null(at) { Cell::Null } else { inner[at].clone() };
            (0..array.len()).map(cell).collect()
        }
        DataType::List(_) => {
            let lists = array.as_list::<i32>().iter();
            let only = |list: Option<_>| list.map_or(Cell::Null, |it| column(&it).remove(0));
            lists.map(only).collect()
        }
        DataType::Interval(IntervalUnit::MonthDayNano) => {
            let intervals = array.as_primitive::<IntervalMonthDayNanoType>().iter();
            cells(intervals, |interval| {
                assert_eq!((interval.months, interval.days), (0, 0));
                Cell::Integer(interval.nanoseconds.into())
            })
        }
        // A type that no query is expected to return.
        _ => {
            let shown = ArrayFormatter::try_new(array, &FormatOptions::new()).unwrap();
            let text = |at| shown.value(at).to_string();
            (0..array.len()).map(|at| Cell::Bytes(text(at).into_bytes())).collect()
        }
    }
}

fn cells<T>(values: impl Iterator<Item = Option<T>>, cell: impl Fn(T) -> Cell) -> Vec<Cell> {
    values.map(|value| value.map_or(Cell::Null, &cell)).collect()
}

fn integers<T: ArrowPrimitiveType<Native: Into<i128>>>(array: &dyn Array) -> Vec<Cell> {
    cells(array.as_primitive::<T>().iter(), |value| Cell::Integer(value.into()))
}

fn floats<T: ArrowPrimitiveType<Native: Into<f64>>>(array: &dyn Array) -> Vec<Cell> {
    cells(array.as_primitive::<T>().iter(), |value| Cell::Float(Float(value.into())))
}

fn bytes<'a, T: AsRef<[u8]> + ?Sized + 'a>(
    values: impl Iterator<Item = Option<&'a T>>,
) -> Vec<Cell> {
    cells(values, |value| Cell::Bytes(value.as_ref().to_vec()))
}
