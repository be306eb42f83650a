// SPDX-License-Identifier: Apache-2.0
//! Defines [`Column`]: the numbers of many rows or groups, none of which is NULL.

use std::{ops::Range, sync::Arc};

use arrow::{
    array::{Array, ArrayRef, AsArray, PrimitiveArray, make_array},
    buffer::{Buffer, NullBuffer},
    compute::cast,
    datatypes::{ArrowPrimitiveType, DataType, Decimal128Type, Float64Type, Int64Type, UInt64Type},
};

use crate::{
    error::{Error, Result},
    shape::{Fold, State, Values},
};

/// Numbers of one kind.
#[derive(Debug, Clone, PartialEq)]
pub enum Column {
    /// Nothing, of rows that are only counted.
    None,
    /// 1 for a value, 0 for NULL.
    U8(Vec<u8>),
    /// Signed integers.
    I64(Vec<i64>),
    /// Unsigned integers.
    U64(Vec<u64>),
    /// Floats.
    F64(Vec<f64>),
    /// Decimals.
    I128(Vec<i128>),
}

/// Evaluates an expression over the vector of a column of any kind, or another if there is none.
macro_rules! with_values {
    ($column:expr, $values:ident => $body:expr, $none:expr) => {
        match $column {
            $crate::column::Column::None => $none,
            $crate::column::Column::U8($values) => $body,
            $crate::column::Column::I64($values) => $body,
            $crate::column::Column::U64($values) => $body,
            $crate::column::Column::F64($values) => $body,
            $crate::column::Column::I128($values) => $body,
        }
    };
}
pub(crate) use with_values;

impl Column {
    /// An empty column for the values of rows.
    pub(crate) const fn of_rows(state: &State) -> Self {
        match state.fold {
            Fold::CountRows => Self::None,
            Fold::Count => Self::U8(Vec::new()),
            Fold::Sum | Fold::Min | Fold::Max => Self::of(state.values),
        }
    }

    /// An empty column for the states of groups.
    pub(crate) const fn of_groups(state: &State) -> Self {
        match state.fold {
            Fold::CountRows | Fold::Count => Self::I64(Vec::new()),
            Fold::Sum | Fold::Min | Fold::Max => Self::of(state.values),
        }
    }

    const fn of(values: Values) -> Self {
        match values {
            Values::I64 => Self::I64(Vec::new()),
            Values::U64 => Self::U64(Vec::new()),
            Values::F64 => Self::F64(Vec::new()),
            Values::I128 => Self::I128(Vec::new()),
        }
    }

    /// The empty column with room for so many numbers.
    pub(crate) fn with_room(mut self, numbers: usize) -> Self {
        with_values!(&mut self, values => values.reserve_exact(numbers), ());
        self
    }

    /// Bytes of the state of one group.
    pub(crate) fn group_bytes(state: &State) -> usize {
        match Self::of_groups(state) {
            Self::None | Self::U8(_) => 0,
            Self::I64(_) | Self::U64(_) | Self::F64(_) => size_of::<u64>(),
            Self::I128(_) => size_of::<i128>(),
        }
    }

    /// Bytes that the column holds.
    pub(crate) fn memory_bytes(&self) -> usize {
        with_values!(self, values => capacity_bytes(values), 0)
    }

    /// Bytes of the numbers that there are.
    pub(crate) fn used_bytes(&self) -> usize {
        with_values!(self, values => size_of_val(&values[..]), 0)
    }

    /// Removes all numbers, and keeps the memory.
    pub(crate) fn clear(&mut self) {
        with_values!(self, values => values.clear(), ());
    }

    /// Appends the numbers of another column of the same kind in a range.
    pub(crate) fn push_range(&mut self, others: &Self, range: Range<usize>) {
        match (self, others) {
            (Self::U8(values), Self::U8(others)) => values.extend_from_slice(&others[range]),
            (Self::I64(values), Self::I64(others)) => values.extend_from_slice(&others[range]),
            (Self::U64(values), Self::U64(others)) => values.extend_from_slice(&others[range]),
            (Self::F64(values), Self::F64(others)) => values.extend_from_slice(&others[range]),
            (Self::I128(values), Self::I128(others)) => values.extend_from_slice(&others[range]),
            (values, others) => debug_assert_eq!(values, others, "both have no numbers"),
        }
    }

    /// The numbers at these places, in this order.
    pub(crate) fn gather(&self, order: &[u32]) -> Self {
        fn of<T: Copy>(values: &[T], order: &[u32]) -> Vec<T> {
            order.iter().map(|place| values[*place as usize]).collect()
        }
        match self {
            Self::None => Self::None,
            Self::U8(values) => Self::U8(of(values, order)),
            Self::I64(values) => Self::I64(of(values, order)),
            Self::U64(values) => Self::U64(of(values, order)),
            Self::F64(values) => Self::F64(of(values, order)),
            Self::I128(values) => Self::I128(of(values, order)),
        }
    }

    /// Appends the values of an argument for a state; NULLs get the number that changes nothing.
    pub(crate) fn push(&mut self, state: &State, argument: &dyn Array) -> Result<()> {
        match self {
            Self::None => {}
            Self::U8(counted) => match argument.logical_nulls() {
                None => counted.resize(counted.len() + argument.len(), 1),
                Some(nulls) => counted.extend(nulls.iter().map(u8::from)),
            },
            Self::I64(values) => {
                let neutral = match state.fold {
                    Fold::Min => i64::MAX,
                    Fold::Max => i64::MIN,
                    _ => 0,
                };
                let numbers = integers(argument)?;
                append::<Int64Type>(values, numbers.as_primitive(), neutral);
            }
            Self::U64(values) => {
                let neutral = if state.fold == Fold::Min { u64::MAX } else { 0 };
                let numbers = cast(argument, &DataType::UInt64)?;
                append::<UInt64Type>(values, numbers.as_primitive(), neutral);
            }
            Self::F64(values) => {
                let Some(numbers) = argument.as_primitive_opt::<Float64Type>() else {
                    return Err(Error::Type { found: argument.data_type().clone() });
                };
                append(values, numbers, 0.0);
            }
            Self::I128(values) => {
                let neutral = match state.fold {
                    Fold::Min => i128::MAX,
                    Fold::Max => i128::MIN,
                    _ => 0,
                };
                let Some(numbers) = argument.as_primitive_opt::<Decimal128Type>() else {
                    return Err(Error::Type { found: argument.data_type().clone() });
                };
                append(values, numbers, neutral);
            }
        }
        Ok(())
    }

    /// The numbers of a range as an array of a type; those that are not valid are NULL.
    ///
    /// # Errors
    /// [`Error::Arrow`] if the numbers cannot have the type.
    pub fn to_array(
        &self,
        range: Range<usize>,
        data_type: &DataType,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef> {
        fn of<T: bytemuck::NoUninit>(values: &[T]) -> Buffer {
            Buffer::from(bytemuck::cast_slice::<T, u8>(values))
        }
        let (natural, buffer) = match self {
            Self::None => return Err(Error::Type { found: data_type.clone() }),
            Self::U8(values) => (DataType::UInt8, of(&values[range.clone()])),
            Self::I64(values) => (DataType::Int64, of(&values[range.clone()])),
            Self::U64(values) => (DataType::UInt64, of(&values[range.clone()])),
            Self::F64(values) => (DataType::Float64, of(&values[range.clone()])),
            Self::I128(values) => (decimal(data_type), of(&values[range.clone()])),
        };
        let data = arrow::array::ArrayData::builder(match is_physically(data_type, &natural) {
            true => data_type.clone(),
            false => natural,
        });
        let array = make_array(data.len(range.len()).add_buffer(buffer).nulls(nulls).build()?);
        match array.data_type() == data_type {
            true => Ok(array),
            false => narrowed(&array, data_type),
        }
    }
}

fn capacity_bytes<T>(values: &Vec<T>) -> usize {
    values.capacity() * size_of::<T>()
}

fn append<T: ArrowPrimitiveType>(
    values: &mut Vec<T::Native>,
    array: &PrimitiveArray<T>,
    neutral: T::Native,
) {
    match array.null_count() {
        0 => values.extend_from_slice(array.values()),
        _ => values.extend(array.iter().map(|value| value.unwrap_or(neutral))),
    }
}

/// The integers that an array of integers, dates or times is made of.
pub(crate) fn integers(array: &dyn Array) -> Result<ArrayRef> {
    let narrow = match array.data_type() {
        DataType::Date32 | DataType::Time32(_) => cast(array, &DataType::Int32)?,
        _ => make_array(array.to_data()),
    };
    Ok(match narrow.data_type() {
        DataType::Int64 => narrow,
        _ => cast(&narrow, &DataType::Int64)?,
    })
}

/// An array of 64-bit integers as one of a narrower type.
fn narrowed(array: &ArrayRef, data_type: &DataType) -> Result<ArrayRef> {
    let array = match data_type {
        DataType::Date32 | DataType::Time32(_) => cast(array, &DataType::Int32)?,
        _ => Arc::clone(array),
    };
    Ok(cast(&array, data_type)?)
}

/// Whether arrays of two types have the same buffer.
fn is_physically(data_type: &DataType, natural: &DataType) -> bool {
    match natural {
        DataType::Int64 => matches!(
            data_type,
            DataType::Int64 | DataType::Date64 | DataType::Time64(_) | DataType::Timestamp(..)
        ),
        _ => data_type == natural,
    }
}

/// A type of decimals, whatever their precision.
fn decimal(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Decimal128(..) => data_type.clone(),
        _ => DataType::Decimal128(38, 0),
    }
}
