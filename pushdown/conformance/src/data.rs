// SPDX-License-Identifier: Apache-2.0
//! Values of columns, as literals.

use nearscan_command::{PhysicalType, Row, Value};

/// The values of one column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Values {
    /// Stored as INT32.
    Int32(Vec<Option<i32>>),
    /// Stored as INT64.
    Int64(Vec<Option<i64>>),
    /// Stored as BYTE_ARRAY.
    Bytes(Vec<Option<Vec<u8>>>),
}

impl Values {
    /// Rows.
    pub fn len(&self) -> usize {
        match self {
            Self::Int32(values) => values.len(),
            Self::Int64(values) => values.len(),
            Self::Bytes(values) => values.len(),
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How they are stored.
    pub const fn physical_type(&self) -> PhysicalType {
        match self {
            Self::Int32(_) => PhysicalType::Int32,
            Self::Int64(_) => PhysicalType::Int64,
            Self::Bytes(_) => PhysicalType::ByteArray,
        }
    }

    /// Whether row `row` is not null.
    pub fn is_valid(&self, row: usize) -> bool {
        match self {
            Self::Int32(values) => values[row].is_some(),
            Self::Int64(values) => values[row].is_some(),
            Self::Bytes(values) => values[row].is_some(),
        }
    }

    /// The value of row `row`.
    pub fn value(&self, row: usize) -> Value {
        let number = |number: Option<i128>| number.map_or(Value::Null, Value::Number);
        match self {
            Self::Int32(values) => number(values[row].map(i128::from)),
            Self::Int64(values) => number(values[row].map(i128::from)),
            Self::Bytes(values) => values[row].clone().map_or(Value::Null, Value::Bytes),
        }
    }

    /// The plain bytes of row `row`, as Parquet has them; nothing for null.
    pub(crate) fn plain(&self, row: usize) -> Option<Vec<u8>> {
        match self {
            Self::Int32(values) => values[row].map(|value| value.to_le_bytes().to_vec()),
            Self::Int64(values) => values[row].map(|value| value.to_le_bytes().to_vec()),
            Self::Bytes(values) => values[row].as_ref().map(|value| {
                let length = u32::try_from(value.len()).unwrap_or(u32::MAX);
                [&length.to_le_bytes()[..], value].concat()
            }),
        }
    }

    /// Integers of 64 bits, none null.
    pub fn integers(values: impl IntoIterator<Item = i64>) -> Self {
        Self::Int64(values.into_iter().map(Some).collect())
    }

    /// Strings, none null.
    pub fn strings<'a>(values: impl IntoIterator<Item = &'a str>) -> Self {
        Self::Bytes(values.into_iter().map(|text| Some(text.as_bytes().to_vec())).collect())
    }
}

/// Whether a column may be null, as its definition levels say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// No levels are stored.
    Required,
    /// There is a level for each row, even if none is null.
    Optional,
}

/// A column and how its chunk is written.
#[derive(Debug, Clone)]
pub struct ColumnData {
    /// What is in it.
    pub values: Values,
    /// How it is written.
    pub layout: crate::pages::ChunkLayout,
}

/// The columns of one row group.
#[derive(Debug, Clone)]
pub struct Table {
    /// All of the same length.
    pub columns: Vec<ColumnData>,
    /// Rows; matters when there is no column.
    pub rows: usize,
}

impl Table {
    /// A table of these columns; its rows are those of the first one.
    pub fn new(columns: Vec<ColumnData>) -> Self {
        let rows = columns.first().map_or(0, |column| column.values.len());
        Self { columns, rows }
    }

    /// The rows, for the evaluator.
    pub fn rows(&self) -> Vec<Row> {
        (0..self.rows)
            .map(|row| self.columns.iter().map(|column| column.values.value(row)).collect())
            .collect()
    }
}
