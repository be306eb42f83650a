// SPDX-License-Identifier: Apache-2.0
//! From a drive's result to record batches with the replaced node's schema.
//!
//! The drive knows integers and byte strings; what they mean (a decimal, a date, a count, an exact
//! sum that DataFusion keeps as Float64) is in the schema.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, Decimal256Array, Float64Array,
    Int32Array, Int64Array, LargeStringBuilder, RecordBatch, RecordBatchOptions, StringBuilder,
    StringViewBuilder, UInt64Array,
};
use arrow::datatypes::{DataType, Field, SchemaRef, i256};
use datafusion::common::{DataFusionError, internal_datafusion_err, internal_err};
use datafusion::error::Result;
use nearscan_command::{Block, BlockColumn, ResultView};

use crate::exec::Replaced;

/// The batches of a result.
pub(crate) fn to_batches(
    view: &ResultView<'_>,
    replaced: &Replaced,
    schema: &SchemaRef,
) -> Result<Vec<RecordBatch>> {
    view.blocks.iter().map(|block| to_batch(block, replaced, schema)).collect()
}

fn to_batch(block: &Block<'_>, replaced: &Replaced, schema: &SchemaRef) -> Result<RecordBatch> {
    let rows = block.rows as usize;
    let mut arrays = Vec::with_capacity(schema.fields().len());
    for (index, field) in schema.fields().iter().enumerate() {
        let source = match replaced {
            Replaced::States { sources } => sources.get(index).copied(),
            Replaced::Rows(_) => Some(index),
        };
        let column = source.and_then(|source| block.columns.get(source)).ok_or_else(|| {
            internal_datafusion_err!("the result has no column for {}", field.name())
        })?;
        arrays.push(to_array(column, rows, field)?);
    }
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), arrays, &options)?)
}

fn to_array(column: &BlockColumn<'_>, rows: usize, field: &Field) -> Result<ArrayRef> {
    let number = |row: usize| match column.is_valid(row) {
        true => column.number(row),
        false => None,
    };
    let out_of_range = || internal_datafusion_err!("a number of {} is out of range", field.name());
    let numbers = || (0..rows).map(number);
    let array: ArrayRef = match field.data_type() {
        DataType::Int32 => Arc::new(narrow::<Int32Array, i32>(numbers()).ok_or_else(out_of_range)?),
        DataType::Date32 => {
            Arc::new(narrow::<Date32Array, i32>(numbers()).ok_or_else(out_of_range)?)
        }
        DataType::Int64 => Arc::new(narrow::<Int64Array, i64>(numbers()).ok_or_else(out_of_range)?),
        // Only the state of an average counts in UInt64. DataFusion takes a group whose count is
        // there for one that has values, and divides by it: a count of none has to be NULL, as its
        // own is.
        DataType::UInt64 => {
            let counts = numbers().map(|count| count.filter(|count| *count != 0));
            Arc::new(narrow::<UInt64Array, u64>(counts).ok_or_else(out_of_range)?)
        }
        DataType::Boolean => {
            Arc::new(numbers().map(|value| value.map(|value| value != 0)).collect::<BooleanArray>())
        }
        DataType::Float64 => {
            Arc::new(numbers().map(|value| value.map(exact_float)).collect::<Float64Array>())
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
        DataType::Utf8View | DataType::Utf8 | DataType::LargeUtf8 => {
            to_strings(column, rows, field)?
        }
        other => return internal_err!("no column of a result is {other}"),
    };
    Ok(array)
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

/// Sums of integers that lowering has bounded by 2^53: the conversion is exact.
#[expect(clippy::cast_precision_loss, reason = "bounded by 2^53 when it was lowered")]
fn exact_float(sum: i128) -> f64 {
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

#[cfg(test)]
mod tests {
    use arrow::array::{Array, AsArray};
    use arrow::datatypes::{Int64Type, UInt64Type};
    use nearscan_command::Width;

    use super::*;

    #[test]
    fn an_average_of_no_values_has_no_count() {
        let values: Vec<u8> = [3i64, 0].into_iter().flat_map(i64::to_le_bytes).collect();
        let validity = [0b11, 0, 0, 0, 0, 0, 0, 0];
        let column =
            BlockColumn { width: Width::W64, validity: &validity, values: &values, bytes: &[] };
        let array =
            |data_type| to_array(&column, 2, &Field::new("count", data_type, true)).unwrap();

        let of_average = array(DataType::UInt64);
        assert_eq!(of_average.as_primitive::<UInt64Type>().value(0), 3);
        assert!(of_average.is_null(1));
        // A COUNT is never NULL.
        let of_count = array(DataType::Int64);
        assert_eq!(of_count.null_count(), 0);
        assert_eq!(of_count.as_primitive::<Int64Type>().value(1), 0);
    }
}
