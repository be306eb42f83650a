// SPDX-License-Identifier: Apache-2.0
//! Types with a counterpart in a command.

use arrow::datatypes::{DataType, Field};
use nearscan_command::{ValueKind, Width};

use crate::decision::{KeepReason, Kept};
use crate::lower::Lowered;

/// A number as a command computes it: an integer with a meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Number {
    /// Int32.
    Int32,
    /// Int64.
    Int64,
    /// Date32, days since 1970.
    Date32,
    /// Decimal128, unscaled.
    Decimal { precision: u8, scale: i8 },
}

impl Number {
    /// The counterpart of an Arrow type.
    pub(crate) fn of(data_type: &DataType) -> Lowered<Self> {
        match data_type {
            DataType::Int32 => Ok(Self::Int32),
            DataType::Int64 => Ok(Self::Int64),
            DataType::Date32 => Ok(Self::Date32),
            DataType::Decimal128(precision, scale) => {
                Ok(Self::Decimal { precision: *precision, scale: *scale })
            }
            other => Err(unsupported(other)),
        }
    }

    /// Digits behind the point.
    pub(crate) fn scale(self) -> i8 {
        match self {
            Self::Int32 | Self::Int64 | Self::Date32 => 0,
            Self::Decimal { scale, .. } => scale,
        }
    }

    /// What arithmetic of this type must fit in. Decimals are 128-bit whatever their precision, as
    /// in Arrow.
    pub(crate) fn width(self) -> Width {
        match self {
            Self::Int32 | Self::Date32 => Width::W32,
            Self::Int64 => Width::W64,
            Self::Decimal { .. } => Width::W128,
        }
    }

    /// Whether two numbers can be compared as they are.
    pub(crate) fn is_comparable_with(self, other: Self) -> bool {
        match (self, other) {
            (Self::Decimal { scale: a, .. }, Self::Decimal { scale: b, .. }) => a == b,
            (a, b) => a == b,
        }
    }
}

/// Whether a type is one of Arrow's strings.
pub(crate) fn is_string(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

/// The largest precision that is stored as INT32 or INT64.
const STORED_PRECISION_MAX: u8 = 18;

/// What the values of a table's column are in a command.
pub(crate) fn column_kind(field: &Field) -> Lowered<ValueKind> {
    match field.data_type() {
        string if is_string(string) => Ok(ValueKind::Bytes),
        DataType::Decimal128(precision, _) if *precision > STORED_PRECISION_MAX => Err(Kept::new(
            KeepReason::Type,
            format!("column {} is a decimal of {precision} digits", field.name()),
        )),
        nested if nested.is_nested() => {
            Err(Kept::new(KeepReason::Nested, format!("column {}", field.name())))
        }
        other => match Number::of(other) {
            Ok(_) => Ok(ValueKind::Integer),
            Err(kept) => {
                Err(Kept::new(kept.reason, format!("column {} is {}", field.name(), other)))
            }
        },
    }
}

pub(crate) fn unsupported(data_type: &DataType) -> Kept {
    Kept::new(KeepReason::Type, data_type.to_string())
}
