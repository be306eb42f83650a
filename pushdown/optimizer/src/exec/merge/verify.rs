// SPDX-License-Identifier: Apache-2.0
//! Implements `nearscan.pushdown.verify` for merges: the host merges each window too.

use std::sync::Arc;

use arrow::array::RecordBatch;
use datafusion::common::exec_err;
use datafusion::error::Result;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::common::collect;

use crate::exec::fallback;
use crate::exec::merge::run::{Input, MergeRunner, only};
use crate::exec::verify::encoded;

/// Compares the rows of a window with those of the replaced plans, merged by DataFusion.
///
/// # Errors
/// The difference, or the error of a replaced plan.
pub(super) async fn compare(
    runner: &MergeRunner,
    inputs: &[Input],
    found: &[RecordBatch],
) -> Result<()> {
    let rows = inputs.iter().map(|input| -> Result<SendableRecordBatchStream> {
        let task = Arc::clone(&input.runner.task);
        let rows = fallback::execute_whole_unit(&input.runner.plan, &input.unit, task)?;
        Ok(match &input.part {
            Some(part) => only(rows, Arc::clone(part)),
            None => rows,
        })
    });
    let merged = runner.merge_streams(rows.collect::<Result<_>>()?)?;
    let expected = encoded(&runner.schema, &collect(merged).await?)?;
    let found = encoded(&runner.schema, found)?;
    if found == expected {
        return Ok(());
    }
    exec_err!(
        "drive {} and the host differ in a merge of {} row groups: {} rows against {}",
        runner.merged.drive,
        inputs.len(),
        found.len(),
        expected.len()
    )
}
