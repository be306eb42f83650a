// SPDX-License-Identifier: Apache-2.0
//! Implements `nearscan.pushdown.verify`: DataFusion runs every unit too, and a difference fails
//! the query.
//!
//! Rows are compared in their order; states of groups in any order. A fragment narrowed by a
//! dynamic filter or by keys of joins, or with a top, may omit rows of the replaced plan, but may
//! neither change nor add any; only narrowed rows with a limit are not compared, since the limit
//! may select others. The replaced plan reads the whole row group, because pruning by statistics
//! would omit rows that only an operator above removes.

use std::sync::Arc;

use arrow::{
    array::{Array, ArrayRef, AsArray, RecordBatch, UInt64Array},
    compute::concat_batches,
    datatypes::{SchemaRef, UInt64Type},
    row::{RowConverter, SortField},
};
use datafusion::{
    common::exec_err, error::Result, execution::SendableRecordBatchStream,
    physical_plan::common::collect,
};
use nearscan_command::{Fragment, Output};

use crate::{exec::pushed::Pushed, units::PlannedUnit};

/// Whether the rows of a fragment can be compared with those of the replaced plan.
pub(crate) fn is_comparable(pushed: &Pushed, fragment: &Fragment) -> bool {
    let has_limit = matches!(fragment.output, Output::Rows { limit: Some(_), .. });
    !(has_limit && is_narrowed(pushed, fragment))
}

fn is_narrowed(pushed: &Pushed, fragment: &Fragment) -> bool {
    fragment.predicate != pushed.fragment.predicate
        || fragment.key_filters != pushed.fragment.key_filters
}

/// Compares the rows of a unit with those of the replaced plan over the whole row group.
///
/// # Errors
/// The difference, or the error of the replaced plan.
pub(crate) async fn compare(
    pushed: &Pushed,
    unit: &PlannedUnit,
    fragment: &Fragment,
    found: &[RecordBatch],
    expected: SendableRecordBatchStream,
) -> Result<()> {
    let top = match &fragment.output {
        Output::Rows { top, .. } => top.map(|top| top.count as usize),
        Output::States { .. } => None,
    };
    let schema = expected.schema();
    let expected = collect(expected).await?;
    let mut found = encoded(&schema, found)?;
    let mut expected = encoded(&schema, &expected)?;
    if matches!(&fragment.output, Output::States { .. }) {
        found.sort_unstable();
        expected.sort_unstable();
    }
    let agrees = match (is_narrowed(pushed, fragment), top) {
        (true, _) => is_part_of(&found, &expected),
        (false, Some(count)) => {
            found.len() >= count.min(expected.len()) && is_part_of(&found, &expected)
        }
        (false, None) => found == expected,
    };
    if agrees {
        return Ok(());
    }
    exec_err!(
        "drive {} and the host differ in row group {} of {}: {} rows against {}",
        pushed.drive_of(unit),
        unit.row_group,
        unit.file,
        found.len(),
        expected.len()
    )
}

/// Whether all of `some` are in `all`, in the same order.
fn is_part_of(some: &[Vec<u8>], all: &[Vec<u8>]) -> bool {
    let mut rest = all.iter();
    some.iter().all(|row| rest.any(|other| other == row))
}

/// Each row as bytes that are equal when the rows are.
pub(crate) fn encoded(schema: &SchemaRef, batches: &[RecordBatch]) -> Result<Vec<Vec<u8>>> {
    let batch = concat_batches(schema, batches)?;
    if batch.num_columns() == 0 {
        return Ok(vec![Vec::new(); batch.num_rows()]);
    }
    let columns: Vec<ArrayRef> = batch.columns().iter().map(without_missing_counts).collect();
    let fields = schema.fields().iter();
    let fields = fields.map(|field| SortField::new(field.data_type().clone())).collect();
    let converter = RowConverter::new(fields)?;
    let rows = converter.convert_columns(&columns)?;
    Ok(rows.iter().map(|row| row.as_ref().to_vec()).collect())
}

/// Replaces NULL by 0 in the count of an average (no other state is UInt64): both mean that there
/// was no value; DataFusion writes one with groups and the other without.
fn without_missing_counts(column: &ArrayRef) -> ArrayRef {
    match column.as_primitive_opt::<UInt64Type>() {
        Some(counts) if counts.null_count() > 0 => {
            Arc::new(counts.iter().map(Option::unwrap_or_default).collect::<UInt64Array>())
        }
        _ => Arc::clone(column),
    }
}
