// SPDX-License-Identifier: Apache-2.0
//! Maps a table's column to its representation in a file, if the file stores it as its type
//! requires.
//!
//! Files may store a narrower type than the table (INT32 for BIGINT), which can be widened without
//! loss. DataFusion performs any other conversion.

use arrow::datatypes::{DataType, TimeUnit};
use nearscan_command::{PhysicalType, ReadAs, Reading};
use parquet::{
    basic::{ConvertedType, LogicalType, TimeUnit as StoredUnit, Type},
    schema::types::ColumnDescriptor,
};

/// The physical type and the reading of a column of `data_type`; nothing when its stored values
/// have another meaning.
pub(crate) fn stored_as(
    descriptor: &ColumnDescriptor,
    data_type: &DataType,
) -> Option<(PhysicalType, Reading)> {
    match data_type {
        DataType::Boolean => plainly(descriptor, Type::BOOLEAN, PhysicalType::Boolean),
        DataType::Int8 => integer(descriptor, 8, Sign::Signed),
        DataType::Int16 => integer(descriptor, 16, Sign::Signed),
        DataType::Int32 => integer(descriptor, 32, Sign::Signed),
        DataType::Int64 => integer(descriptor, 64, Sign::Signed),
        DataType::UInt8 => integer(descriptor, 8, Sign::Unsigned),
        DataType::UInt16 => integer(descriptor, 16, Sign::Unsigned),
        DataType::UInt32 => integer(descriptor, 32, Sign::Unsigned),
        DataType::UInt64 => integer(descriptor, 64, Sign::Unsigned),
        DataType::Float32 => float(descriptor, PhysicalType::Float),
        DataType::Float64 => float(descriptor, PhysicalType::Double)
            .or_else(|| float(descriptor, PhysicalType::Float)),
        DataType::Date32 => {
            let is_date = matches!(descriptor.logical_type_ref(), Some(LogicalType::Date))
                || descriptor.converted_type() == ConvertedType::DATE;
            is_date.then_some((PhysicalType::Int32, Reading::PLAIN))
        }
        DataType::Time32(unit) | DataType::Time64(unit) => time(descriptor, *unit),
        DataType::Timestamp(unit, zone) => {
            let has_its_zone = zone
                .as_ref()
                .is_none_or(|zone| UTC.contains(&zone.as_ref()) || is_adjusted_to_utc(descriptor));
            has_its_zone.then(|| timestamp(descriptor, *unit))?
        }
        DataType::Decimal128(_, scale) => decimal(descriptor, *scale),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            is_bytes(descriptor).then_some((PhysicalType::ByteArray, Reading::PLAIN))
        }
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => {
            is_bytes(descriptor).then_some((PhysicalType::ByteArray, Reading::PLAIN))
        }
        _ => None,
    }
}

/// Whether the bounds that a file states of a column are values of `data_type`. If they are not,
/// they may be of another unit or scale.
pub(crate) fn has_bounds_of(descriptor: &ColumnDescriptor, data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => has_bounds_of(descriptor, values),
        DataType::Decimal32(_, scale)
        | DataType::Decimal64(_, scale)
        | DataType::Decimal128(_, scale)
        | DataType::Decimal256(_, scale) => stored_scale(descriptor) == Some(i32::from(*scale)),
        integer if integer.is_integer() => stored_as(descriptor, integer).is_some(),
        DataType::Date32
        | DataType::Time32(_)
        | DataType::Time64(_)
        | DataType::Timestamp(..)
        | DataType::Utf8
        | DataType::LargeUtf8
        | DataType::Utf8View
        | DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView => stored_as(descriptor, data_type).is_some(),
        // Bounds of other types are taken by their physical type.
        _ => true,
    }
}

/// The names of the time zone in which DataFusion takes timestamps of files without one.
const UTC: [&str; 2] = ["UTC", "+00:00"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    Signed,
    Unsigned,
}

/// Whether byte strings are stored as such, and not as the digits of a decimal.
fn is_bytes(descriptor: &ColumnDescriptor) -> bool {
    let is_decimal = matches!(descriptor.logical_type_ref(), Some(LogicalType::Decimal(_)))
        || descriptor.converted_type() == ConvertedType::DECIMAL;
    descriptor.physical_type() == Type::BYTE_ARRAY && !is_decimal
}

fn plainly(
    descriptor: &ColumnDescriptor,
    stored: Type,
    physical_type: PhysicalType,
) -> Option<(PhysicalType, Reading)> {
    (descriptor.physical_type() == stored).then_some((physical_type, Reading::PLAIN))
}

/// Bits and sign of a stored integer, if it is one and nothing else.
fn stored_integer(descriptor: &ColumnDescriptor) -> Option<(u8, Sign)> {
    let whole = match descriptor.physical_type() {
        Type::INT32 => 32,
        Type::INT64 => 64,
        _ => return None,
    };
    match descriptor.logical_type_ref() {
        Some(LogicalType::Integer(integer)) => {
            let sign = if integer.is_signed { Sign::Signed } else { Sign::Unsigned };
            Some((u8::try_from(integer.bit_width).ok()?, sign))
        }
        Some(_) => None,
        None => match descriptor.converted_type() {
            ConvertedType::NONE => Some((whole, Sign::Signed)),
            ConvertedType::INT_8 => Some((8, Sign::Signed)),
            ConvertedType::INT_16 => Some((16, Sign::Signed)),
            ConvertedType::INT_32 => Some((32, Sign::Signed)),
            ConvertedType::INT_64 => Some((64, Sign::Signed)),
            ConvertedType::UINT_8 => Some((8, Sign::Unsigned)),
            ConvertedType::UINT_16 => Some((16, Sign::Unsigned)),
            ConvertedType::UINT_32 => Some((32, Sign::Unsigned)),
            ConvertedType::UINT_64 => Some((64, Sign::Unsigned)),
            _ => None,
        },
    }
}

fn integer(descriptor: &ColumnDescriptor, bits: u8, sign: Sign) -> Option<(PhysicalType, Reading)> {
    let (stored_bits, stored_sign) = stored_integer(descriptor)?;
    let holds = match (stored_sign, sign) {
        (a, b) if a == b => bits >= stored_bits,
        (Sign::Unsigned, Sign::Signed) => bits > stored_bits,
        _ => false,
    };
    if !holds {
        return None;
    }
    let (physical_type, whole) = match descriptor.physical_type() {
        Type::INT32 => (PhysicalType::Int32, 32),
        _ => (PhysicalType::Int64, 64),
    };
    let rule = match stored_sign {
        // Narrow ones are not negative as they are stored, and `bits` holds them to that.
        Sign::Unsigned => ReadAs::Unsigned,
        Sign::Signed => ReadAs::Signed,
    };
    let bits = if stored_bits < whole { stored_bits } else { 0 };
    Some((physical_type, Reading { rule, bits, length: 0 }))
}

fn float(
    descriptor: &ColumnDescriptor,
    physical_type: PhysicalType,
) -> Option<(PhysicalType, Reading)> {
    let stored = match descriptor.physical_type() {
        Type::FLOAT => PhysicalType::Float,
        Type::DOUBLE => PhysicalType::Double,
        _ => return None,
    };
    let reading = Reading { rule: ReadAs::FloatOrder, ..Reading::PLAIN };
    (stored == physical_type).then_some((physical_type, reading))
}

fn is_unit(stored: &StoredUnit, unit: TimeUnit) -> bool {
    match stored {
        StoredUnit::MILLIS => unit == TimeUnit::Millisecond,
        StoredUnit::MICROS => unit == TimeUnit::Microsecond,
        StoredUnit::NANOS => unit == TimeUnit::Nanosecond,
    }
}

/// Whether plain integers are the seconds that a table says they are: Parquet has no name for them.
fn is_seconds(descriptor: &ColumnDescriptor, unit: TimeUnit, stored: Type) -> bool {
    unit == TimeUnit::Second && descriptor.physical_type() == stored
}

fn time(descriptor: &ColumnDescriptor, unit: TimeUnit) -> Option<(PhysicalType, Reading)> {
    let is_this = match descriptor.logical_type_ref() {
        Some(LogicalType::Time(time)) => is_unit(&time.unit, unit),
        Some(_) => false,
        None => match descriptor.converted_type() {
            ConvertedType::TIME_MILLIS => unit == TimeUnit::Millisecond,
            ConvertedType::TIME_MICROS => unit == TimeUnit::Microsecond,
            ConvertedType::NONE => is_seconds(descriptor, unit, Type::INT32),
            _ => false,
        },
    };
    let physical_type = match descriptor.physical_type() {
        Type::INT32 => PhysicalType::Int32,
        Type::INT64 => PhysicalType::Int64,
        _ => return None,
    };
    is_this.then_some((physical_type, Reading::PLAIN))
}

/// Whether a file says that its timestamps are moments, and not what a clock of any zone shows:
/// DataFusion takes the latter as of the table's zone.
fn is_adjusted_to_utc(descriptor: &ColumnDescriptor) -> bool {
    match descriptor.logical_type_ref() {
        Some(LogicalType::Timestamp(timestamp)) => timestamp.is_adjusted_to_u_t_c,
        Some(_) => false,
        None => matches!(
            descriptor.converted_type(),
            ConvertedType::TIMESTAMP_MILLIS | ConvertedType::TIMESTAMP_MICROS
        ),
    }
}

fn timestamp(descriptor: &ColumnDescriptor, unit: TimeUnit) -> Option<(PhysicalType, Reading)> {
    let is_this = match descriptor.logical_type_ref() {
        Some(LogicalType::Timestamp(timestamp)) => is_unit(&timestamp.unit, unit),
        Some(_) => false,
        None => match descriptor.converted_type() {
            ConvertedType::TIMESTAMP_MILLIS => unit == TimeUnit::Millisecond,
            ConvertedType::TIMESTAMP_MICROS => unit == TimeUnit::Microsecond,
            ConvertedType::NONE => is_seconds(descriptor, unit, Type::INT64),
            _ => false,
        },
    };
    match descriptor.physical_type() {
        Type::INT64 if is_this => Some((PhysicalType::Int64, Reading::PLAIN)),
        _ => None,
    }
}

/// The scale of a stored decimal, if it is one.
fn stored_scale(descriptor: &ColumnDescriptor) -> Option<i32> {
    match descriptor.logical_type_ref() {
        Some(LogicalType::Decimal(decimal)) => Some(decimal.scale),
        Some(_) => None,
        None => {
            (descriptor.converted_type() == ConvertedType::DECIMAL).then(|| descriptor.type_scale())
        }
    }
}

fn decimal(descriptor: &ColumnDescriptor, scale: i8) -> Option<(PhysicalType, Reading)> {
    if stored_scale(descriptor) != Some(i32::from(scale)) {
        return None;
    }
    match descriptor.physical_type() {
        Type::INT32 => Some((PhysicalType::Int32, Reading::PLAIN)),
        Type::INT64 => Some((PhysicalType::Int64, Reading::PLAIN)),
        Type::FIXED_LEN_BYTE_ARRAY => {
            let length = u16::try_from(descriptor.type_length()).ok()?;
            let reading = Reading { rule: ReadAs::BigEndian, bits: 0, length };
            (1..=16).contains(&length).then_some((PhysicalType::FixedLenByteArray, reading))
        }
        _ => None,
    }
}
