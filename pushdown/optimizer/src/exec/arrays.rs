// SPDX-License-Identifier: Apache-2.0
//! Converts a drive's result to record batches with the schema of the replaced node.
//!
//! The drive returns integers and byte strings. The schema states their meaning (a decimal, a date,
//! a count), and for floats the [`Meaning`]: an exact sum that DataFusion keeps as Float64, or the
//! place of a float in the total order. Rows have no sums.

use std::{iter, sync::Arc};

use arrow::{
    array::{
        Array, ArrayData, ArrayRef, ArrowPrimitiveType, BinaryViewArray, BooleanArray,
        Decimal256Array, Float64Array, GenericByteArray, PrimitiveArray, RecordBatch,
        RecordBatchOptions, StringViewArray, UInt64Array, make_array,
    },
    buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer},
    compute::cast,
    datatypes::{
        BinaryType, ByteArrayType, DataType, Decimal128Type, Field, Float32Type, Float64Type,
        Int8Type, Int16Type, Int32Type, Int64Type, LargeBinaryType, LargeUtf8Type, SchemaRef,
        UInt8Type, UInt16Type, UInt32Type, UInt64Type, Utf8Type, i256,
    },
    error::ArrowError,
};
use datafusion::{
    common::{DataFusionError, ScalarValue, internal_datafusion_err, internal_err},
    error::Result,
};
use nearscan_command::{Block, BlockColumn, ResultView, Width, float_at};

use crate::{
    exec::pushed::Replaced,
    lower::aggregate::{Meaning, Source},
};

/// Returns the batches of a result; `folder_values` are the file's values of partition columns.
pub(crate) fn to_batches(
    view: &ResultView<'_>,
    replaced: &Replaced,
    folder_values: &[ScalarValue],
    schema: &SchemaRef,
) -> Result<Vec<RecordBatch>> {
    // Without other keys the drive has one group, also when no row is in it.
    let is_states = matches!(replaced, Replaced::States { .. });
    if is_states && replaced.has_folder_values() && view.header.rows_kept == 0 {
        return Ok(Vec::new());
    }
    let batch = |block| to_batch(block, replaced.sources(), folder_values, schema);
    view.blocks.iter().map(batch).collect()
}

fn to_batch(
    block: &Block<'_>,
    sources: &[Source],
    folder_values: &[ScalarValue],
    schema: &SchemaRef,
) -> Result<RecordBatch> {
    let rows = block.rows as usize;
    let mut arrays = Vec::with_capacity(schema.fields().len());
    for (index, field) in schema.fields().iter().enumerate() {
        let source = sources.get(index).copied();
        if let Some(Source { column, meaning: Meaning::FolderValue }) = source {
            let Some(value) = folder_values.get(column) else {
                return internal_err!("the folder has no value for {}", field.name());
            };
            arrays.push(cast(&value.to_array_of_size(rows)?, field.data_type())?);
            continue;
        }
        let column =
            source.and_then(|source| Some((block.columns.get(source.column)?, source.meaning)));
        let Some((column, meaning)) = column else {
            return internal_err!("the result has no column for {}", field.name());
        };
        arrays.push(to_array(column, rows, field, meaning)?);
    }
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), arrays, &options)?)
}

/// The array of a column; `meaning` matters to floats and counts alone.
fn to_array(
    column: &BlockColumn<'_>,
    rows: usize,
    field: &Field,
    meaning: Meaning,
) -> Result<ArrayRef> {
    match field.data_type() {
        DataType::Utf8View | DataType::Utf8 | DataType::LargeUtf8 => {
            return to_strings(column, rows, field);
        }
        DataType::BinaryView | DataType::Binary | DataType::LargeBinary => {
            return to_binary(column, rows, field);
        }
        _ => {}
    }
    let number = |row: usize| match column.is_valid(row) {
        true => column.number(row),
        false => None,
    };
    let each = || (0..rows).map(number);
    let out_of_range = || internal_datafusion_err!("a number of {} is out of range", field.name());
    let array: ArrayRef = match field.data_type() {
        DataType::Boolean => {
            Arc::new(each().map(|value| value.map(|value| value != 0)).collect::<BooleanArray>())
        }
        DataType::Float64 if meaning == Meaning::FloatOrder => {
            let places = numbers::<Int64Type>(column, rows).ok_or_else(out_of_range)?;
            Arc::new(places.unary::<_, Float64Type>(float_at))
        }
        DataType::Float64 => {
            Arc::new(each().map(|value| value.map(float_of_sum)).collect::<Float64Array>())
        }
        DataType::Float32 => {
            let places = numbers::<Int64Type>(column, rows).ok_or_else(out_of_range)?;
            Arc::new(places.unary::<_, Float32Type>(|place| narrowed_float(float_at(place))))
        }
        // DataFusion divides by a count that is not NULL, so the count of no values has to be NULL,
        // like DataFusion's own.
        DataType::UInt64 if meaning == Meaning::AverageCount => {
            let counts = numbers::<UInt64Type>(column, rows).ok_or_else(out_of_range)?;
            let counts = counts.iter().map(|count| count.filter(|count| *count != 0));
            Arc::new(counts.collect::<UInt64Array>())
        }
        DataType::Decimal128(precision, scale) => {
            let decimals = numbers::<Decimal128Type>(column, rows).ok_or_else(out_of_range)?;
            Arc::new(decimals.with_precision_and_scale(*precision, *scale)?)
        }
        DataType::Decimal256(precision, scale) => {
            let wide = each().map(|value| value.map(i256::from_i128));
            let decimals: Decimal256Array = wide.collect();
            Arc::new(decimals.with_precision_and_scale(*precision, *scale)?)
        }
        DataType::Int8 => Arc::new(numbers::<Int8Type>(column, rows).ok_or_else(out_of_range)?),
        DataType::Int16 => Arc::new(numbers::<Int16Type>(column, rows).ok_or_else(out_of_range)?),
        DataType::UInt8 => Arc::new(numbers::<UInt8Type>(column, rows).ok_or_else(out_of_range)?),
        DataType::UInt16 => Arc::new(numbers::<UInt16Type>(column, rows).ok_or_else(out_of_range)?),
        DataType::UInt32 => Arc::new(numbers::<UInt32Type>(column, rows).ok_or_else(out_of_range)?),
        DataType::UInt64 => Arc::new(numbers::<UInt64Type>(column, rows).ok_or_else(out_of_range)?),
        // These types have the same representation.
        data_type @ (DataType::Int32 | DataType::Date32 | DataType::Time32(_)) => {
            let numbers = numbers::<Int32Type>(column, rows).ok_or_else(out_of_range)?;
            retyped(&numbers.into_data(), data_type)?
        }
        data_type @ (DataType::Int64 | DataType::Time64(_) | DataType::Timestamp(_, _)) => {
            let numbers = numbers::<Int64Type>(column, rows).ok_or_else(out_of_range)?;
            retyped(&numbers.into_data(), data_type)?
        }
        other => return internal_err!("no column of a result is {other}"),
    };
    Ok(array)
}

/// An array of the same numbers with another type of the same width.
fn retyped(data: &ArrayData, data_type: &DataType) -> Result<ArrayRef> {
    let data = data.clone().into_builder().data_type(data_type.clone()).build()?;
    Ok(make_array(data))
}

/// The float of 4 bytes that was widened to this one, its payload too if it is no number.
#[expect(
    clippy::cast_possible_truncation,
    reason = "it was a float of 4 bytes, or its NaN bits are cut"
)]
fn narrowed_float(wide: f64) -> f32 {
    if !wide.is_nan() {
        return wide as f32;
    }
    let bits = wide.to_bits();
    f32::from_bits(
        (bits >> 32 & 0x8000_0000) as u32 | 0x7f80_0000 | (bits >> 29 & 0x7f_ffff) as u32,
    )
}

/// The rows that are null, if there are any.
fn nulls_of(column: &BlockColumn<'_>, rows: usize) -> Option<NullBuffer> {
    let bits = BooleanBuffer::new(Buffer::from(&*column.validity), 0, rows);
    Some(NullBuffer::new(bits)).filter(|nulls| nulls.null_count() > 0)
}

/// The numbers of a column; nothing when one does not fit. Null rows hold zero.
fn numbers<P>(column: &BlockColumn<'_>, rows: usize) -> Option<PrimitiveArray<P>>
where
    P: ArrowPrimitiveType<
        Native: TryFrom<u8> + TryFrom<i32> + TryFrom<i64> + TryFrom<i128> + Default,
    >,
{
    fn each<const BYTES: usize>(values: &[u8]) -> impl Iterator<Item = [u8; BYTES]> {
        values.as_chunks().0.iter().copied()
    }
    let values: Vec<P::Native> = match column.width {
        Width::Bool => all_fit(column.values.iter().copied()),
        Width::W32 => all_fit(each(&column.values).map(i32::from_le_bytes)),
        Width::W64 => all_fit(each(&column.values).map(i64::from_le_bytes)),
        Width::W128 => all_fit(each(&column.values).map(i128::from_le_bytes)),
        Width::Bytes => None,
    }?;
    PrimitiveArray::try_new(values.into(), nulls_of(column, rows)).ok()
}

/// Numbers of another type; nothing when one does not fit.
fn all_fit<T, N: TryFrom<T> + Default>(numbers: impl Iterator<Item = T>) -> Option<Vec<N>> {
    let mut all_fit = true;
    let fitting = numbers.map(|number| {
        N::try_from(number).unwrap_or_else(|_| {
            all_fit = false;
            N::default()
        })
    });
    let fitting: Vec<N> = fitting.collect();
    all_fit.then_some(fitting)
}

/// Sums of integers. The conversion is exact up to 2^53, which lowering has made sure of unless
/// sums of floats may be rounded in another way than DataFusion rounds them.
#[expect(clippy::cast_precision_loss, reason = "lowering decides whether it may round")]
fn float_of_sum(sum: i128) -> f64 {
    sum as f64
}

fn to_strings(column: &BlockColumn<'_>, rows: usize, field: &Field) -> Result<ArrayRef> {
    let no_text = |error: ArrowError| {
        let column = field.name();
        DataFusionError::Execution(format!("column {column} holds what is no UTF-8 text: {error}"))
    };
    Ok(match field.data_type() {
        DataType::LargeUtf8 => {
            Arc::new(byte_strings::<LargeUtf8Type>(column, rows).map_err(no_text)?)
        }
        DataType::Utf8 => Arc::new(byte_strings::<Utf8Type>(column, rows).map_err(no_text)?),
        _ => {
            let text = byte_strings::<Utf8Type>(column, rows).map_err(no_text)?;
            Arc::new(StringViewArray::from(&text))
        }
    })
}

fn to_binary(column: &BlockColumn<'_>, rows: usize, field: &Field) -> Result<ArrayRef> {
    Ok(match field.data_type() {
        DataType::LargeBinary => Arc::new(byte_strings::<LargeBinaryType>(column, rows)?),
        DataType::Binary => Arc::new(byte_strings::<BinaryType>(column, rows)?),
        _ => Arc::new(BinaryViewArray::from(&byte_strings::<BinaryType>(column, rows)?)),
    })
}

/// The byte strings of a column, which are checked together if they have to be text.
fn byte_strings<T>(column: &BlockColumn<'_>, rows: usize) -> Result<GenericByteArray<T>, ArrowError>
where
    T: ByteArrayType<Offset: TryFrom<u32> + Default>,
{
    let no_strings =
        || ArrowError::InvalidArgumentError("its byte strings are too long, or none".to_owned());
    let (ends, _) = column.values.as_chunks();
    let starts = iter::once(0).chain(ends.iter().map(|end| u32::from_le_bytes(*end)));
    let offsets: Vec<T::Offset> =
        all_fit(starts).filter(|_| column.width == Width::Bytes).ok_or_else(no_strings)?;
    let offsets = OffsetBuffer::new(offsets.into());
    GenericByteArray::try_new(offsets, Buffer::from(&*column.bytes), nulls_of(column, rows))
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use arrow::array::{Array, AsArray};

    use super::*;

    #[test]
    fn average_of_no_values_has_a_null_count() {
        let values: Vec<u8> = [3i64, 0].into_iter().flat_map(i64::to_le_bytes).collect();
        let validity = [0b11, 0, 0, 0, 0, 0, 0, 0];
        let [validity, values, bytes] = [&validity[..], &values, &[]].map(Cow::Borrowed);
        let column = BlockColumn { width: Width::W64, validity, values, bytes };
        let array = |data_type, meaning| {
            to_array(&column, 2, &Field::new("count", data_type, true), meaning).unwrap()
        };

        let of_average = array(DataType::UInt64, Meaning::AverageCount);
        assert_eq!(of_average.as_primitive::<UInt64Type>().value(0), 3);
        assert!(of_average.is_null(1));
        // A COUNT is never NULL.
        let of_count = array(DataType::Int64, Meaning::Number);
        assert_eq!(of_count.null_count(), 0);
        assert_eq!(of_count.as_primitive::<Int64Type>().value(1), 0);
    }
}
