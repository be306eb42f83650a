// SPDX-License-Identifier: Apache-2.0
//! Collects the values of a column in an Arrow array of a given type.

use std::mem::take;

use arrow::{
    array::{ArrayData, ArrayRef, BooleanBufferBuilder, make_array},
    buffer::{BooleanBuffer, Buffer, NullBuffer},
    compute::cast,
    datatypes::DataType,
};
use nearscan_command::{Status, float_at};

use super::{error::ScanError, views::ViewBuilder};
use crate::{error::Stop, values::NumberValues, vector::Vector};

/// A column that is being collected.
#[derive(Debug)]
pub(super) struct ColumnBuilder {
    data_type: DataType,
    values: Values,
    rows: usize,
    /// `None` as long as no row is NULL.
    validity: Option<BooleanBufferBuilder>,
}

/// Values in the representation of Arrow; what is in null rows does not matter.
#[derive(Debug)]
enum Values {
    I8(Vec<i8>),
    I16(Vec<i16>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    U8(Vec<u8>),
    U16(Vec<u16>),
    U32(Vec<u32>),
    U64(Vec<u64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
    I128(Vec<i128>),
    Bits(BooleanBufferBuilder),
    Views(ViewBuilder),
    /// Of a type that no column of a fragment has.
    Nothing,
}

/// A number in the representation of Arrow, from the number that a column stands for.
trait FromNumber: Copy + Default {
    fn narrow(number: i64) -> Self;
    fn wide(number: i128) -> Self;
}

/// Numbers fit, because the reading of the chunk checks it, except in null rows.
macro_rules! from_number {
    ($($integer:ty: $($lint:ident)*;)*) => {$(
        impl FromNumber for $integer {
            #[expect($(clippy::$lint,)* reason = "checked when it was read")]
            fn narrow(number: i64) -> Self {
                number as Self
            }

            #[expect($(clippy::$lint,)* reason = "checked when it was read")]
            fn wide(number: i128) -> Self {
                number as Self
            }
        }
    )*};
}
from_number! {
    i8: cast_possible_truncation;
    i16: cast_possible_truncation;
    i32: cast_possible_truncation;
    u8: cast_possible_truncation cast_sign_loss;
    u16: cast_possible_truncation cast_sign_loss;
    u32: cast_possible_truncation cast_sign_loss;
}

impl FromNumber for u64 {
    #[expect(clippy::cast_sign_loss, reason = "checked when it was read")]
    fn narrow(number: i64) -> Self {
        number as Self
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked when it was read"
    )]
    fn wide(number: i128) -> Self {
        number as Self
    }
}

impl FromNumber for i64 {
    fn narrow(number: i64) -> Self {
        number
    }

    #[expect(clippy::cast_possible_truncation, reason = "checked when it was read")]
    fn wide(number: i128) -> Self {
        number as Self
    }
}

impl FromNumber for i128 {
    fn narrow(number: i64) -> Self {
        Self::from(number)
    }

    fn wide(number: i128) -> Self {
        number
    }
}

impl FromNumber for f64 {
    fn narrow(number: i64) -> Self {
        float_at(number)
    }

    fn wide(number: i128) -> Self {
        Self::narrow(FromNumber::wide(number))
    }
}

impl FromNumber for f32 {
    fn narrow(number: i64) -> Self {
        narrowed_float(float_at(number))
    }

    fn wide(number: i128) -> Self {
        Self::narrow(FromNumber::wide(number))
    }
}

/// The float of 4 bytes that was widened to this one; the payload of a NaN is kept.
#[expect(clippy::cast_possible_truncation, reason = "it was a float of 4 bytes")]
fn narrowed_float(wide: f64) -> f32 {
    if !wide.is_nan() {
        return wide as f32;
    }
    let bits = wide.to_bits();
    f32::from_bits(
        (bits >> 32 & 0x8000_0000) as u32 | 0x7f80_0000 | (bits >> 29 & 0x7f_ffff) as u32,
    )
}

impl ColumnBuilder {
    pub(super) fn new(data_type: &DataType) -> Self {
        let values = match data_type {
            DataType::Boolean => Values::Bits(BooleanBufferBuilder::new(0)),
            DataType::Int8 => Values::I8(Vec::new()),
            DataType::Int16 => Values::I16(Vec::new()),
            DataType::Int32 | DataType::Date32 | DataType::Time32(_) => Values::I32(Vec::new()),
            DataType::Int64 | DataType::Time64(_) | DataType::Timestamp(_, _) => {
                Values::I64(Vec::new())
            }
            DataType::UInt8 => Values::U8(Vec::new()),
            DataType::UInt16 => Values::U16(Vec::new()),
            DataType::UInt32 => Values::U32(Vec::new()),
            DataType::UInt64 => Values::U64(Vec::new()),
            DataType::Float32 => Values::F32(Vec::new()),
            DataType::Float64 => Values::F64(Vec::new()),
            DataType::Decimal128(_, _) => Values::I128(Vec::new()),
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
                Values::Views(ViewBuilder::of_text())
            }
            DataType::Binary | DataType::LargeBinary | DataType::BinaryView => {
                Values::Views(ViewBuilder::of_bytes())
            }
            _ => Values::Nothing,
        };
        Self { data_type: data_type.clone(), values, rows: 0, validity: None }
    }

    /// Appends the values of `rows` rows.
    ///
    /// # Errors
    /// [`Status::Corrupt`] for a text that is not UTF-8; the values may then be there in part.
    pub(super) fn append(&mut self, vector: &Vector, rows: usize) -> Result<(), ScanError> {
        match &mut self.values {
            Values::I8(out) => push(out, vector, rows)?,
            Values::I16(out) => push(out, vector, rows)?,
            Values::I32(out) => push(out, vector, rows)?,
            Values::I64(out) => push(out, vector, rows)?,
            Values::U8(out) => push(out, vector, rows)?,
            Values::U16(out) => push(out, vector, rows)?,
            Values::U32(out) => push(out, vector, rows)?,
            Values::U64(out) => push(out, vector, rows)?,
            Values::F32(out) => push(out, vector, rows)?,
            Values::F64(out) => push(out, vector, rows)?,
            Values::I128(out) => push(out, vector, rows)?,
            Values::Bits(out) => push_bits(out, vector, rows)?,
            Values::Views(out) => out.push(vector, rows)?,
            Values::Nothing => return Err(no_such_column().into()),
        }
        self.append_validity(vector.validity_bits(), rows);
        Ok(())
    }

    fn append_validity(&mut self, validity: Option<&BooleanBuffer>, rows: usize) {
        match (&mut self.validity, validity) {
            (None, None) => {}
            (Some(all), None) => all.append_n(rows, true),
            (Some(all), Some(validity)) => all.append_buffer(&validity.slice(0, rows)),
            (none @ None, Some(validity)) => {
                let mut all = BooleanBufferBuilder::new(self.rows + rows);
                all.append_n(self.rows, true);
                all.append_buffer(&validity.slice(0, rows));
                *none = Some(all);
            }
        }
        self.rows += rows;
    }

    /// Drops the rows behind the first `rows`.
    pub(super) fn truncate(&mut self, rows: usize) {
        match &mut self.values {
            Values::I8(out) => out.truncate(rows),
            Values::I16(out) => out.truncate(rows),
            Values::I32(out) => out.truncate(rows),
            Values::I64(out) => out.truncate(rows),
            Values::U8(out) => out.truncate(rows),
            Values::U16(out) => out.truncate(rows),
            Values::U32(out) => out.truncate(rows),
            Values::U64(out) => out.truncate(rows),
            Values::F32(out) => out.truncate(rows),
            Values::F64(out) => out.truncate(rows),
            Values::I128(out) => out.truncate(rows),
            Values::Bits(out) => out.truncate(rows),
            Values::Views(out) => out.truncate(rows),
            Values::Nothing => {}
        }
        if let Some(validity) = &mut self.validity
            && validity.len() > rows
        {
            validity.truncate(rows);
        }
        self.rows = rows;
    }

    /// The array of all values; the builder is empty then.
    ///
    /// # Errors
    /// If Arrow refuses it.
    pub(super) fn finish(&mut self) -> Result<ArrayRef, ScanError> {
        let rows = take(&mut self.rows);
        let nulls = self.validity.take().map(|mut validity| NullBuffer::new(validity.finish()));
        let nulls = nulls.filter(|nulls| nulls.null_count() > 0);
        let buffer = match &mut self.values {
            Values::I8(values) => Buffer::from_vec(take(values)),
            Values::I16(values) => Buffer::from_vec(take(values)),
            Values::I32(values) => Buffer::from_vec(take(values)),
            Values::I64(values) => Buffer::from_vec(take(values)),
            Values::U8(values) => Buffer::from_vec(take(values)),
            Values::U16(values) => Buffer::from_vec(take(values)),
            Values::U32(values) => Buffer::from_vec(take(values)),
            Values::U64(values) => Buffer::from_vec(take(values)),
            Values::F32(values) => Buffer::from_vec(take(values)),
            Values::F64(values) => Buffer::from_vec(take(values)),
            Values::I128(values) => Buffer::from_vec(take(values)),
            Values::Bits(values) => values.finish().into_inner(),
            Values::Views(views) => {
                let array = views.finish(nulls);
                return match array.data_type() == &self.data_type {
                    true => Ok(array),
                    false => Ok(cast(&array, &self.data_type)?),
                };
            }
            Values::Nothing => return Err(no_such_column().into()),
        };
        let data = ArrayData::builder(self.data_type.clone())
            .len(rows)
            .add_buffer(buffer)
            .nulls(nulls)
            .build()?;
        Ok(make_array(data))
    }
}

/// The plan gives a column a type that its chunks cannot have.
fn no_such_column() -> Stop {
    Stop::status(Status::Unsupported)
}

fn push<T: FromNumber>(out: &mut Vec<T>, vector: &Vector, rows: usize) -> Result<(), Stop> {
    let looked_up = match vector {
        Vector::Coded(coded) => coded.dictionary.look_up(&coded.codes[..rows]),
        _ => None,
    };
    match looked_up.as_ref().or_else(|| vector.numbers().map(|numbers| &numbers.values)) {
        Some(NumberValues::Narrow(values)) => {
            out.extend(values[..rows].iter().map(|value| T::narrow(*value)));
        }
        Some(NumberValues::Wide(values)) => {
            out.extend(values[..rows].iter().map(|value| T::wide(*value)));
        }
        None => return Err(no_such_column()),
    }
    Ok(())
}

/// Appends truth values, which are stored as the numbers 0 and 1.
fn push_bits(out: &mut BooleanBufferBuilder, vector: &Vector, rows: usize) -> Result<(), Stop> {
    let Some(numbers) = vector.numbers() else { return Err(no_such_column()) };
    match &numbers.values {
        NumberValues::Narrow(values) => {
            let values = &values[..rows];
            out.append_buffer(&BooleanBuffer::collect_bool(rows, |row| values[row] != 0));
        }
        NumberValues::Wide(_) => return Err(no_such_column()),
    }
    Ok(())
}
