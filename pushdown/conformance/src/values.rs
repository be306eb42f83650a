// SPDX-License-Identifier: Apache-2.0
//! Values of a column, as literals.

use nearscan_command::{PhysicalType, ReadAs, Reading, Value, float_order, widened_float};

/// The values of one column.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Stored as BOOLEAN.
    Boolean(Vec<Option<bool>>),
    /// Stored as INT32.
    Int32(Vec<Option<i32>>),
    /// Stored as INT32 of which an annotation says that fewer bits count, or that none is a sign.
    Narrow {
        /// [`ReadAs::Signed`] or [`ReadAs::Unsigned`].
        rule: ReadAs,
        /// Bits that the numbers fit in.
        bits: u8,
        /// The stored values.
        values: Vec<Option<i32>>,
    },
    /// Stored as INT64.
    Int64(Vec<Option<i64>>),
    /// Stored as INT64 without a sign.
    Unsigned64(Vec<Option<u64>>),
    /// Stored as FLOAT.
    Float(Vec<Option<f32>>),
    /// Stored as DOUBLE.
    Double(Vec<Option<f64>>),
    /// Stored as BYTE_ARRAY.
    Bytes(Vec<Option<Vec<u8>>>),
    /// Decimals, stored as FIXED_LEN_BYTE_ARRAY.
    Fixed {
        /// Bytes of each, 1 to 16.
        length: u16,
        /// The unscaled numbers, which fit in as many bytes.
        values: Vec<Option<i128>>,
    },
}

/// The same expression for the rows of whatever variant it is.
macro_rules! rows_of {
    ($values:expr, $rows:ident => $body:expr) => {
        match $values {
            Values::Boolean($rows) => $body,
            Values::Int32($rows) | Values::Narrow { values: $rows, .. } => $body,
            Values::Int64($rows) => $body,
            Values::Unsigned64($rows) => $body,
            Values::Float($rows) => $body,
            Values::Double($rows) => $body,
            Values::Bytes($rows) => $body,
            Values::Fixed { values: $rows, .. } => $body,
        }
    };
}

impl Values {
    /// Rows.
    pub fn len(&self) -> usize {
        rows_of!(self, rows => rows.len())
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The values of some rows, in this order.
    pub(crate) fn gathered(&self, rows: &[usize]) -> Self {
        fn of<T: Clone>(values: &[T], rows: &[usize]) -> Vec<T> {
            rows.iter().map(|row| values[*row].clone()).collect()
        }
        match self {
            Self::Boolean(values) => Self::Boolean(of(values, rows)),
            Self::Int32(values) => Self::Int32(of(values, rows)),
            Self::Narrow { rule, bits, values } => {
                Self::Narrow { rule: *rule, bits: *bits, values: of(values, rows) }
            }
            Self::Int64(values) => Self::Int64(of(values, rows)),
            Self::Unsigned64(values) => Self::Unsigned64(of(values, rows)),
            Self::Float(values) => Self::Float(of(values, rows)),
            Self::Double(values) => Self::Double(of(values, rows)),
            Self::Bytes(values) => Self::Bytes(of(values, rows)),
            Self::Fixed { length, values } => {
                Self::Fixed { length: *length, values: of(values, rows) }
            }
        }
    }

    /// Their representation.
    pub const fn physical_type(&self) -> PhysicalType {
        match self {
            Self::Boolean(_) => PhysicalType::Boolean,
            Self::Int32(_) | Self::Narrow { .. } => PhysicalType::Int32,
            Self::Int64(_) | Self::Unsigned64(_) => PhysicalType::Int64,
            Self::Float(_) => PhysicalType::Float,
            Self::Double(_) => PhysicalType::Double,
            Self::Bytes(_) => PhysicalType::ByteArray,
            Self::Fixed { .. } => PhysicalType::FixedLenByteArray,
        }
    }

    /// The rule by which stored values represent numbers.
    pub const fn reading(&self) -> Reading {
        match self {
            Self::Boolean(_) | Self::Int32(_) | Self::Int64(_) | Self::Bytes(_) => Reading::PLAIN,
            Self::Narrow { rule, bits, .. } => Reading { rule: *rule, bits: *bits, length: 0 },
            Self::Unsigned64(_) => Reading { rule: ReadAs::Unsigned, ..Reading::PLAIN },
            Self::Float(_) | Self::Double(_) => {
                Reading { rule: ReadAs::FloatOrder, ..Reading::PLAIN }
            }
            Self::Fixed { length, .. } => {
                Reading { rule: ReadAs::BigEndian, bits: 0, length: *length }
            }
        }
    }

    /// Whether row `row` is not null.
    pub fn is_valid(&self, row: usize) -> bool {
        rows_of!(self, rows => rows[row].is_some())
    }

    /// The value of row `row`.
    pub fn value(&self, row: usize) -> Value {
        let number = |number: Option<i128>| number.map_or(Value::Null, Value::Number);
        match self {
            Self::Boolean(values) => number(values[row].map(i128::from)),
            Self::Int32(values) => number(values[row].map(i128::from)),
            Self::Narrow { rule: ReadAs::Unsigned, values, .. } => {
                number(values[row].map(|value| value.cast_unsigned().into()))
            }
            Self::Narrow { values, .. } => number(values[row].map(i128::from)),
            Self::Int64(values) => number(values[row].map(i128::from)),
            Self::Unsigned64(values) => number(values[row].map(i128::from)),
            Self::Float(values) => {
                number(values[row].map(|value| float_order(widened_float(value)).into()))
            }
            Self::Double(values) => number(values[row].map(|value| float_order(value).into())),
            Self::Bytes(values) => values[row].clone().map_or(Value::Null, Value::Bytes),
            Self::Fixed { values, .. } => number(values[row]),
        }
    }

    /// Whether some decimal does not fit in the 64 bits that a column delivers.
    pub(crate) fn exceeds_a_column(&self) -> bool {
        match self {
            Self::Fixed { values, .. } => {
                values.iter().flatten().any(|number| i64::try_from(*number).is_err())
            }
            Self::Boolean(_)
            | Self::Int32(_)
            | Self::Narrow { .. }
            | Self::Int64(_)
            | Self::Unsigned64(_)
            | Self::Float(_)
            | Self::Double(_)
            | Self::Bytes(_) => false,
        }
    }

    /// The bytes of row `row`, of a truth value one; nothing for null. Equal values have equal
    /// bytes.
    pub(crate) fn stored(&self, row: usize) -> Option<Vec<u8>> {
        match self {
            Self::Boolean(values) => values[row].map(|value| vec![u8::from(value)]),
            Self::Int32(values) | Self::Narrow { values, .. } => {
                values[row].map(|value| value.to_le_bytes().to_vec())
            }
            Self::Int64(values) => values[row].map(|value| value.to_le_bytes().to_vec()),
            Self::Unsigned64(values) => values[row].map(|value| value.to_le_bytes().to_vec()),
            Self::Float(values) => values[row].map(|value| value.to_le_bytes().to_vec()),
            Self::Double(values) => values[row].map(|value| value.to_le_bytes().to_vec()),
            Self::Bytes(values) => values[row].clone(),
            Self::Fixed { length, values } => {
                values[row].map(|value| value.to_be_bytes()[16 - usize::from(*length)..].to_vec())
            }
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
