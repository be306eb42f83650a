// SPDX-License-Identifier: Apache-2.0
//! Converts a drive's result to record batches with the schema of the replaced node.
//!
//! The drive returns integers and byte strings. The schema states their meaning (a decimal, a date,
//! a count), and for floats the [`Meaning`]: an exact sum that DataFusion keeps as Float64, or the
//! place of a float in the total order. Rows have no sums.

use std::sync::Arc;

use arrow::{
    array::{
        Array, ArrayData, ArrayRef, BinaryArray, BinaryViewArray, BooleanArray, Decimal128Array,
        Decimal256Array, Float64Array, Int8Array, Int16Array, Int32Array, Int64Array,
        LargeBinaryArray, LargeStringBuilder, RecordBatch, RecordBatchOptions, StringBuilder,
        StringViewBuilder, UInt8Array, UInt16Array, UInt32Array, UInt64Array, make_array,
    },
    compute::cast,
    datatypes::{DataType, Field, Float32Type, Float64Type, SchemaRef, i256},
};
use datafusion::{
    common::{DataFusionError, ScalarValue, internal_datafusion_err, internal_err},
    error::Result,
};
use nearscan_command::{Block, BlockColumn, ResultView, float_at};

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
    let numbers = || (0..rows).map(number);
    let out_of_range = || internal_datafusion_err!("a number of {} is out of range", field.name());
    let array: ArrayRef = match field.data_type() {
        DataType::Boolean => {
            Arc::new(numbers().map(|value| value.map(|value| value != 0)).collect::<BooleanArray>())
        }
        DataType::Float64 if meaning == Meaning::FloatOrder => {
            let places = narrow::<Int64Array, i64>(numbers()).ok_or_else(out_of_range)?;
            Arc::new(places.unary::<_, Float64Type>(float_at))
        }
        DataType::Float64 => {
            Arc::new(numbers().map(|value| value.map(float_of_sum)).collect::<Float64Array>())
        }
        DataType::Float32 => {
            let places = narrow::<Int64Array, i64>(numbers()).ok_or_else(out_of_range)?;
            Arc::new(places.unary::<_, Float32Type>(|place| narrowed_float(float_at(place))))
        }
        // DataFusion divides by a count that is not NULL, so the count of no values has to be NULL,
        // like DataFusion's own.
        DataType::UInt64 if meaning == Meaning::AverageCount => {
            let counts = numbers().map(|count| count.filter(|count| *count != 0));
            Arc::new(narrow::<UInt64Array, u64>(counts).ok_or_else(out_of_range)?)
        }
        DataType::Decimal128(precision, scale) => {
            let decimals: Decimal128Array = numbers().collect();
            Arc::new(decimals.with_precision_and_scale(*precision, *scale)?)
        }
        DataType::Decimal256(precision, scale) => {
            let wide = numbers().map(|value| value.map(i256::from_i128));
            let decimals: Decimal256Array = wide.collect();
            Arc::new(decimals.with_precision_and_scale(*precision, *scale)?)
        }
        DataType::Int8 => Arc::new(narrow::<Int8Array, i8>(numbers()).ok_or_else(out_of_range)?),
        DataType::Int16 => Arc::new(narrow::<Int16Array, i16>(numbers()).ok_or_else(out_of_range)?),
        DataType::UInt8 => Arc::new(narrow::<UInt8Array, u8>(numbers()).ok_or_else(out_of_range)?),
        DataType::UInt16 => {
            Arc::new(narrow::<UInt16Array, u16>(numbers()).ok_or_else(out_of_range)?)
        }
        DataType::UInt32 => {
            Arc::new(narrow::<UInt32Array, u32>(numbers()).ok_or_else(out_of_range)?)
        }
        DataType::UInt64 => {
            Arc::new(narrow::<UInt64Array, u64>(numbers()).ok_or_else(out_of_range)?)
        }
        // These types have the same representation.
        data_type @ (DataType::Int32 | DataType::Date32 | DataType::Time32(_)) => {
            let numbers = narrow::<Int32Array, i32>(numbers()).ok_or_else(out_of_range)?;
            retyped(&numbers.into_data(), data_type)?
        }
        data_type @ (DataType::Int64 | DataType::Time64(_) | DataType::Timestamp(_, _)) => {
            let numbers = narrow::<Int64Array, i64>(numbers()).ok_or_else(out_of_range)?;
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

/// An array of numbers that fit; nothing when one does not.
fn narrow<A, N>(numbers: impl Iterator<Item = Option<i128>>) -> Option<A>
where
    A: FromIterator<Option<N>>,
    N: TryFrom<i128>,
{
    let mut fits = true;
    let array = numbers
        .map(|number| {
            let narrowed = number.map(N::try_from);
            match narrowed {
                Some(Err(_)) => {
                    fits = false;
                    None
                }
                Some(Ok(number)) => Some(number),
                None => None,
            }
        })
        .collect();
    fits.then_some(array)
}

/// Sums of integers. The conversion is exact up to 2^53, which lowering has made sure of unless
/// sums of floats may be rounded in another way than DataFusion rounds them.
#[expect(clippy::cast_precision_loss, reason = "lowering decides whether it may round")]
fn float_of_sum(sum: i128) -> f64 {
    sum as f64
}

fn to_strings(column: &BlockColumn<'_>, rows: usize, field: &Field) -> Result<ArrayRef> {
    let text = |row: usize| -> Result<Option<&str>> {
        if !column.is_valid(row) {
            return Ok(None);
        }
        let bytes = column.string(row).unwrap_or_default();
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Some(text)),
            Err(error) => Err(DataFusionError::Execution(format!(
                "column {} holds a string that is not UTF-8: {error}",
                field.name()
            ))),
        }
    };
    Ok(match field.data_type() {
        DataType::Utf8 => {
            let mut builder = StringBuilder::with_capacity(rows, column.bytes.len());
            for row in 0..rows {
                builder.append_option(text(row)?);
            }
            Arc::new(builder.finish())
        }
        DataType::LargeUtf8 => {
            let mut builder = LargeStringBuilder::with_capacity(rows, column.bytes.len());
            for row in 0..rows {
                builder.append_option(text(row)?);
            }
            Arc::new(builder.finish())
        }
        _ => {
            let mut builder = StringViewBuilder::with_capacity(rows);
            for row in 0..rows {
                builder.append_option(text(row)?);
            }
            Arc::new(builder.finish())
        }
    })
}

fn to_binary(column: &BlockColumn<'_>, rows: usize, field: &Field) -> Result<ArrayRef> {
    let bytes = |row: usize| match column.is_valid(row) {
        true => column.string(row),
        false => None,
    };
    let values = (0..rows).map(bytes);
    Ok(match field.data_type() {
        DataType::Binary => Arc::new(values.collect::<BinaryArray>()),
        DataType::LargeBinary => Arc::new(values.collect::<LargeBinaryArray>()),
        _ => Arc::new(values.collect::<BinaryViewArray>()),
    })
}

#[cfg(test)]
mod tests {
    use arrow::array::{Array, AsArray};
    use arrow::datatypes::{Int64Type, UInt64Type};
    use nearscan_command::Width;

    use super::*;

    #[test]
    fn average_of_no_values_has_a_null_count() {
        let values: Vec<u8> = [3i64, 0].into_iter().flat_map(i64::to_le_bytes).collect();
        let validity = [0b11, 0, 0, 0, 0, 0, 0, 0];
        let column =
            BlockColumn { width: Width::W64, validity: &validity, values: &values, bytes: &[] };
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
