// SPDX-License-Identifier: Apache-2.0
//! Implements `nearscan.pushdown.verify` for merges: the host merges each window too.

use arrow::array::RecordBatch;
use datafusion::{
    common::exec_err, error::Result, execution::SendableRecordBatchStream,
    physical_plan::common::collect,
};

use crate::exec::{merge::Merged, verify::encoded};

/// Compares the rows of a window of `units` row groups with those that the host merged.
///
/// # Errors
/// The difference, or the error of the host's merge.
pub(super) async fn compare(
    merged: &Merged,
    units: usize,
    found: &[RecordBatch],
    expected: SendableRecordBatchStream,
) -> Result<()> {
    let schema = expected.schema();
    let expected = encoded(&schema, &collect(expected).await?)?;
    let found = encoded(&schema, found)?;
    if found == expected {
        return Ok(());
    }
    exec_err!(
        "drive {} and the host differ in a merge of {units} row groups: {} rows against {}",
        merged.drive,
        found.len(),
        expected.len()
    )
}
