// SPDX-License-Identifier: Apache-2.0
//! Maps types to their counterparts in a command.
//!
//! A command computes with integers; a [`Number`] states the meaning of an integer. Two numbers of
//! the same type compare as their integers do, floats among them: theirs is the place in the total
//! order, which is the order that DataFusion compares floats in.

use arrow::datatypes::{DataType, Field, TimeUnit};
use datafusion::common::ScalarValue;
use nearscan_command::{ValueKind, Width, float_order, widened_float};

use crate::{
    decision::{KeepReason, Kept},
    lower::Lowered,
};

/// A number as a command computes it: an integer with a meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Number {
    /// Integers of 8 to 64 bits.
    Integer { bits: u8, signed: bool },
    /// Days since 1970.
    Date32,
    /// Units since midnight.
    Time(TimeUnit),
    /// Units since 1970. A time zone does not change the number.
    Timestamp { unit: TimeUnit, has_zone: HasZone },
    /// 0 or 1.
    Boolean,
    /// A place in the total order of floats of 8 bytes, whatever the width of the type.
    Float { bits: u8 },
    /// Decimal128, unscaled.
    Decimal { precision: u8, scale: i8 },
}

/// Whether a timestamp has a time zone: one with and one without are different types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HasZone {
    Yes,
    No,
}

impl Number {
    pub(crate) const INT32: Self = Self::Integer { bits: 32, signed: true };
    pub(crate) const INT64: Self = Self::Integer { bits: 64, signed: true };

    /// The counterpart of an Arrow type.
    pub(crate) fn of(data_type: &DataType) -> Lowered<Self> {
        let integer = |bits, signed| Ok(Self::Integer { bits, signed });
        match data_type {
            DataType::Int8 => integer(8, true),
            DataType::Int16 => integer(16, true),
            DataType::Int32 => integer(32, true),
            DataType::Int64 => integer(64, true),
            DataType::UInt8 => integer(8, false),
            DataType::UInt16 => integer(16, false),
            DataType::UInt32 => integer(32, false),
            DataType::UInt64 => integer(64, false),
            DataType::Date32 => Ok(Self::Date32),
            DataType::Time32(unit) | DataType::Time64(unit) => Ok(Self::Time(*unit)),
            DataType::Timestamp(unit, zone) => {
                let has_zone = if zone.is_some() { HasZone::Yes } else { HasZone::No };
                Ok(Self::Timestamp { unit: *unit, has_zone })
            }
            DataType::Boolean => Ok(Self::Boolean),
            DataType::Float32 => Ok(Self::Float { bits: 32 }),
            DataType::Float64 => Ok(Self::Float { bits: 64 }),
            DataType::Decimal128(precision, scale) => {
                Ok(Self::Decimal { precision: *precision, scale: *scale })
            }
            other => Err(unsupported(other)),
        }
    }

    /// The integer of a literal; `None` for NULL.
    pub(crate) fn of_literal(value: &ScalarValue) -> Lowered<Option<i128>> {
        let float = |value: f64| i128::from(float_order(value));
        Ok(match value {
            ScalarValue::Int8(value) => value.map(i128::from),
            ScalarValue::Int16(value) => value.map(i128::from),
            ScalarValue::Int32(value)
            | ScalarValue::Date32(value)
            | ScalarValue::Time32Second(value)
            | ScalarValue::Time32Millisecond(value) => value.map(i128::from),
            ScalarValue::Int64(value)
            | ScalarValue::Time64Microsecond(value)
            | ScalarValue::Time64Nanosecond(value)
            | ScalarValue::TimestampSecond(value, _)
            | ScalarValue::TimestampMillisecond(value, _)
            | ScalarValue::TimestampMicrosecond(value, _)
            | ScalarValue::TimestampNanosecond(value, _) => value.map(i128::from),
            ScalarValue::UInt8(value) => value.map(i128::from),
            ScalarValue::UInt16(value) => value.map(i128::from),
            ScalarValue::UInt32(value) => value.map(i128::from),
            ScalarValue::UInt64(value) => value.map(i128::from),
            ScalarValue::Boolean(value) => value.map(i128::from),
            ScalarValue::Float32(value) => value.map(|value| float(widened_float(value))),
            ScalarValue::Float64(value) => value.map(float),
            ScalarValue::Decimal128(value, _, _) => *value,
            other => return Err(unsupported(&other.data_type())),
        })
    }

    /// Digits behind the point.
    pub(crate) fn scale(self) -> i8 {
        match self {
            Self::Decimal { scale, .. } => scale,
            _ => 0,
        }
    }

    /// Returns the width that holds every number of this type.
    pub(crate) fn width(self) -> Width {
        match self {
            Self::Integer { bits, signed } => match (bits, signed) {
                (64, false) => Width::W128,
                (64, true) | (32, false) => Width::W64,
                _ => Width::W32,
            },
            Self::Date32 | Self::Boolean => Width::W32,
            Self::Time(_) | Self::Timestamp { .. } | Self::Float { .. } => Width::W64,
            Self::Decimal { .. } => Width::W128,
        }
    }

    /// Returns the width in which arithmetic of this type must fit; `None` for types whose
    /// arithmetic wraps at a width that no step has, or is not integer arithmetic. Decimals are
    /// 128-bit whatever their precision, as in Arrow.
    pub(crate) fn arithmetic_width(self) -> Option<Width> {
        match self {
            Self::INT32 | Self::INT64 | Self::Decimal { .. } => Some(self.width()),
            _ => None,
        }
    }

    /// Whether it can be a group key: a result has keys of 64 bits.
    pub(crate) fn is_groupable(self) -> bool {
        !matches!(self, Self::Float { .. } | Self::Integer { bits: 64, signed: false })
    }

    /// Returns the units of a date or timestamp in a day.
    pub(crate) fn per_day(self) -> Option<i64> {
        match self {
            Self::Date32 => Some(1),
            Self::Timestamp { unit, .. } => Some(per_second(unit) * 86_400),
            _ => None,
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

/// Returns the units in a second.
pub(crate) fn per_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}

/// Whether a type is one of Arrow's strings.
pub(crate) fn is_string(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

/// Whether a type is one of Arrow's byte strings of any length.
pub(crate) fn is_binary(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Binary | DataType::LargeBinary | DataType::BinaryView)
}

/// The largest precision whose numbers fit in 64 bits.
const DRIVE_PRECISION_MAX: u8 = 18;

/// Returns the kind of a table's column in a command.
pub(crate) fn column_kind(field: &Field) -> Lowered<ValueKind> {
    match field.data_type() {
        bytes if is_string(bytes) || is_binary(bytes) => Ok(ValueKind::Bytes),
        DataType::Decimal128(precision, _) if *precision > DRIVE_PRECISION_MAX => Err(Kept::new(
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
