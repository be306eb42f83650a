// SPDX-License-Identifier: Apache-2.0
//! The stored types, and the values that a column of each holds.
//!
//! A column draws from twelve values that lie close together. They stay clear of the ends of their
//! type: a sum, or twice a value, overflows nowhere.

use nearscan::{
    arrow::datatypes::{DataType, TimeUnit},
    parquet::{
        basic::Type as PhysicalType,
        schema::{
            parser::parse_message_type,
            types::{SchemaDescriptor, TypePtr},
        },
    },
};

use super::cells::{Cell, Float};

/// Values of a column, of which the first is the least.
pub(crate) const VALUE_COUNT: usize = 12;

/// In the order of their bytes; some are longer than what a view of a string holds itself.
const WORDS: [&str; VALUE_COUNT] = [
    "",
    "%",
    "A",
    "a",
    "ab",
    "abc",
    "another long word",
    "b",
    "long words have no end",
    "z",
    "ß",
    "日",
];

/// A type as a file stores it.
#[derive(Debug)]
pub(crate) struct StoredType {
    /// The name in the table.
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// The column `v` in a schema of Parquet, `REP` in place of its repetition.
    parquet: &'static str,
    /// A literal of the type in SQL, `X` in place of the value.
    literal: &'static str,
    /// The type that only the Arrow schema in the footer states.
    pub(crate) arrow: Option<DataType>,
}

/// The meaning of values, which decides what SQL can do with them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Boolean,
    Signed,
    Unsigned,
    Float,
    Decimal {
        scale: u32,
    },
    /// A day or a moment, in units: the first value, and from one to the next.
    Instant {
        first: i128,
        step: i128,
    },
    /// A time of day, in units of so many nanoseconds, a value every three seconds.
    Time {
        unit_ns: i128,
    },
    Text,
    Bytes,
    FixedBytes,
    Nested,
}

const SECOND_NS: i128 = 1_000_000_000;
const SECONDS: Kind = Kind::Instant { first: 1_600_000_000, step: 3 };
const MILLISECONDS: Kind = Kind::Instant { first: 1_600_000_000_000, step: 3_000 };
const MICROSECONDS: Kind = Kind::Instant { first: 1_600_000_000_000_000, step: 3_000_000 };
const NANOSECONDS: Kind = Kind::Instant { first: 1_600_000_000_000_000_000, step: 3_000_000_000 };

const fn is(
    name: &'static str,
    kind: Kind,
    parquet: &'static str,
    literal: &'static str,
) -> StoredType {
    StoredType { name, kind, parquet, literal, arrow: None }
}

/// All of them, in the order of the table.
#[rustfmt::skip]
pub(crate) static TYPES: &[StoredType] = &[
    is("BOOLEAN", Kind::Boolean, "REP boolean v;", "X"),
    is("INT8", Kind::Signed, "REP int32 v (INTEGER(8,true));", "arrow_cast(X, 'Int8')"),
    is("INT16", Kind::Signed, "REP int32 v (INTEGER(16,true));", "arrow_cast(X, 'Int16')"),
    is("INT32", Kind::Signed, "REP int32 v;", "arrow_cast(X, 'Int32')"),
    is("INT64", Kind::Signed, "REP int64 v;", "X"),
    is("UINT8", Kind::Unsigned, "REP int32 v (INTEGER(8,false));", "arrow_cast(X, 'UInt8')"),
    is("UINT16", Kind::Unsigned, "REP int32 v (INTEGER(16,false));", "arrow_cast(X, 'UInt16')"),
    is("UINT32", Kind::Unsigned, "REP int32 v (INTEGER(32,false));", "arrow_cast(X, 'UInt32')"),
    is("UINT64", Kind::Unsigned, "REP int64 v (INTEGER(64,false));", "arrow_cast(X, 'UInt64')"),
    is("FLOAT", Kind::Float, "REP float v;", "arrow_cast(X, 'Float32')"),
    is("DOUBLE", Kind::Float, "REP double v;", "arrow_cast(X, 'Float64')"),
    is("DECIMAL(9, 2) as INT32", Kind::Decimal { scale: 2 },
        "REP int32 v (DECIMAL(9,2));", "arrow_cast('X', 'Decimal128(9, 2)')"),
    is("DECIMAL(18, 2) as INT64", Kind::Decimal { scale: 2 },
        "REP int64 v (DECIMAL(18,2));", "arrow_cast('X', 'Decimal128(18, 2)')"),
    is("DECIMAL(18, 2) as FIXED(8)", Kind::Decimal { scale: 2 },
        "REP fixed_len_byte_array(8) v (DECIMAL(18,2));", "arrow_cast('X', 'Decimal128(18, 2)')"),
    is("DECIMAL(38, 4) as FIXED(16)", Kind::Decimal { scale: 4 },
        "REP fixed_len_byte_array(16) v (DECIMAL(38,4));", "arrow_cast('X', 'Decimal128(38, 4)')"),
    is("DATE", Kind::Instant { first: 19_000, step: 3 },
        "REP int32 v (DATE);", "arrow_cast(arrow_cast(X, 'Int32'), 'Date32')"),
    StoredType {
        name: "TIMESTAMP(s)",
        kind: SECONDS,
        parquet: "REP int64 v;",
        literal: "arrow_cast(X, 'Timestamp(Second, None)')",
        arrow: Some(DataType::Timestamp(TimeUnit::Second, None)),
    },
    is("TIMESTAMP(ms)", MILLISECONDS, "REP int64 v (TIMESTAMP(MILLIS,false));",
        "arrow_cast(X, 'Timestamp(Millisecond, None)')"),
    is("TIMESTAMP(us)", MICROSECONDS, "REP int64 v (TIMESTAMP(MICROS,false));",
        "arrow_cast(X, 'Timestamp(Microsecond, None)')"),
    is("TIMESTAMP(ns)", NANOSECONDS, "REP int64 v (TIMESTAMP(NANOS,false));",
        "arrow_cast(X, 'Timestamp(Nanosecond, None)')"),
    is("TIMESTAMP(ms, UTC)", MILLISECONDS, "REP int64 v (TIMESTAMP(MILLIS,true));",
        "arrow_cast(X, 'Timestamp(Millisecond, Some(\"UTC\"))')"),
    is("TIMESTAMP(us, UTC)", MICROSECONDS, "REP int64 v (TIMESTAMP(MICROS,true));",
        "arrow_cast(X, 'Timestamp(Microsecond, Some(\"UTC\"))')"),
    is("TIMESTAMP(ns, UTC)", NANOSECONDS, "REP int64 v (TIMESTAMP(NANOS,true));",
        "arrow_cast(X, 'Timestamp(Nanosecond, Some(\"UTC\"))')"),
    is("TIMESTAMP as INT96", NANOSECONDS, "REP int96 v;",
        "arrow_cast(X, 'Timestamp(Nanosecond, None)')"),
    StoredType {
        name: "TIME(s)",
        kind: Kind::Time { unit_ns: SECOND_NS },
        parquet: "REP int32 v;",
        literal: "arrow_cast(arrow_cast(X, 'Int32'), 'Time32(Second)')",
        arrow: Some(DataType::Time32(TimeUnit::Second)),
    },
    is("TIME(ms)", Kind::Time { unit_ns: 1_000_000 }, "REP int32 v (TIME(MILLIS,false));",
        "arrow_cast(arrow_cast(X, 'Int32'), 'Time32(Millisecond)')"),
    is("TIME(us)", Kind::Time { unit_ns: 1_000 }, "REP int64 v (TIME(MICROS,false));",
        "arrow_cast(X, 'Time64(Microsecond)')"),
    is("TIME(ns)", Kind::Time { unit_ns: 1 }, "REP int64 v (TIME(NANOS,false));",
        "arrow_cast(X, 'Time64(Nanosecond)')"),
    is("STRING", Kind::Text, "REP binary v (STRING);", "'X'"),
    is("BINARY", Kind::Bytes, "REP binary v;", "x'X'"),
    is("FIXED(5)", Kind::FixedBytes, "REP fixed_len_byte_array(5) v;",
        "arrow_cast(x'X', 'FixedSizeBinary(5)')"),
    is("LIST of INT32", Kind::Nested,
        "REP group v (LIST) { repeated group list { optional int32 element; } }",
        "make_array(arrow_cast(X, 'Int32'))"),
    is("STRUCT of INT32", Kind::Nested, "REP group v { optional int32 a; }",
        "named_struct('a', arrow_cast(X, 'Int32'))"),
];

impl StoredType {
    /// The schema of a file: a key `k`, and `v`.
    pub(crate) fn schema(&self, repetition: &str) -> TypePtr {
        let column = self.parquet.replace("REP", repetition);
        parse_message_type(&format!("message table {{ required int64 k; {column} }}"))
            .unwrap()
            .into()
    }

    /// The type of the values in pages.
    pub(crate) fn physical_type(&self) -> PhysicalType {
        SchemaDescriptor::new(self.schema("optional")).column(1).physical_type()
    }

    /// Value `index` in ascending order.
    pub(crate) fn value(&self, index: usize) -> Cell {
        assert!(index < VALUE_COUNT);
        let at = i128::try_from(index).unwrap();
        match self.kind {
            Kind::Boolean => Cell::Boolean(index >= VALUE_COUNT / 2),
            Kind::Signed | Kind::Nested => Cell::Integer(at * 3 - 17),
            Kind::Unsigned => Cell::Integer(at * 3),
            Kind::Float => Cell::Float(Float(f64::from(u8::try_from(index).unwrap()) / 4.0 - 1.0)),
            Kind::Decimal { .. } => Cell::Integer(at * 125 - 700),
            Kind::Instant { first, step } => Cell::Integer(first + at * step),
            Kind::Time { unit_ns } => Cell::Integer((40_000 + at * 3) * SECOND_NS / unit_ns),
            Kind::Text | Kind::Bytes => Cell::Bytes(WORDS[index].into()),
            Kind::FixedBytes => {
                let mut bytes = WORDS[index].as_bytes().to_vec();
                bytes.resize(5, 0);
                Cell::Bytes(bytes)
            }
        }
    }

    /// Value `index` as SQL writes it.
    pub(crate) fn literal(&self, index: usize) -> String {
        let value = match (self.value(index), self.kind) {
            (Cell::Null, _) => "NULL".to_owned(),
            (Cell::Boolean(value), _) => value.to_string(),
            (Cell::Float(Float(value)), _) => format!("{value:?}"),
            (Cell::Integer(value), Kind::Decimal { scale }) => {
                let one = 10_i128.pow(scale);
                let sign = if value < 0 { "-" } else { "" };
                let (whole, rest) = (value.abs() / one, value.abs() % one);
                format!("{sign}{whole}.{rest:0width$}", width = scale as usize)
            }
            (Cell::Integer(value), _) => value.to_string(),
            (Cell::Bytes(bytes), Kind::Text) => String::from_utf8(bytes).unwrap(),
            (Cell::Bytes(bytes), _) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        };
        // A literal's own text has no other X in capitals.
        self.literal.replace('X', &value)
    }
}
