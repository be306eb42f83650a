// SPDX-License-Identifier: Apache-2.0
//! Runs one partition of the output as a stream.

use std::{ops::Range, sync::Arc};

use arrow::{
    array::{ArrayRef, RecordBatch},
    datatypes::SchemaRef,
};
use datafusion::{
    error::Result,
    execution::TaskContext,
    logical_expr::EmitTo,
    physical_expr::aggregate::AggregateFunctionExpr,
    physical_plan::{
        metrics::{BaselineMetrics, ExecutionPlanMetricsSet},
        stream::RecordBatchStreamAdapter,
    },
};
use futures::stream::{self, BoxStream};
use nearscan_aggregate::{Groups, Merger};

use super::{
    collect::{Collection, Rows},
    plan::{Output, Planned},
    spill::external,
};
use crate::executions::Executions;

/// What the streams of an operator start from.
pub(super) struct Start<'a> {
    pub(super) planned: &'a Arc<Planned>,
    pub(super) schema: SchemaRef,
    pub(super) executions: &'a Executions<Collection>,
    pub(super) metrics: &'a ExecutionPlanMetricsSet,
}

/// Runs one partition.
pub(super) fn partition_stream(
    start: Start<'_>,
    partition: usize,
    task: &Arc<TaskContext>,
) -> RecordBatchStreamAdapter<BoxStream<'static, Result<RecordBatch>>> {
    let planned = Arc::clone(start.planned);
    let new = || Collection::new(&planned, task, start.metrics);
    let collection = start.executions.start(task, planned.partitions, partition, new);
    let merging = Merging {
        schema: Arc::clone(&start.schema),
        batch_rows: task.session_config().batch_size(),
        metrics: BaselineMetrics::new(start.metrics, partition),
        partition,
        stage: Stage::Collecting(collection),
        planned,
    };
    let batches = stream::try_unfold(merging, async |mut merging| {
        let batch = merging.next().await?;
        Ok(batch.map(|batch| (batch, merging)))
    });
    RecordBatchStreamAdapter::new(start.schema, Box::pin(batches))
}

/// A stream of groups.
struct Merging {
    planned: Arc<Planned>,
    schema: SchemaRef,
    batch_rows: usize,
    metrics: BaselineMetrics,
    partition: usize,
    stage: Stage,
}

enum Stage {
    Collecting(Arc<Collection>),
    Merging {
        merger: Merger,
        groups: Option<Groups>,
        /// Groups that were returned.
        returned: usize,
        _rows: Arc<Rows>,
    },
}

impl Merging {
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        if let Stage::Collecting(collection) = &self.stage {
            let rows = Arc::clone(collection).rows().await?;
            let merger = Merger::new(Arc::clone(&rows.blocks), self.partition);
            self.stage = Stage::Merging { merger, groups: None, returned: 0, _rows: rows };
        }
        let Stage::Merging { merger, groups, returned, .. } = &mut self.stage else {
            return Ok(None);
        };
        let time = self.metrics.elapsed_compute().clone();
        let _timer = time.timer();
        loop {
            if let Some(groups) = groups.as_ref().filter(|groups| *returned < groups.len()) {
                let range = *returned..groups.len().min(*returned + self.batch_rows);
                *returned = range.end;
                let batch = batch_of(&self.planned, &self.schema, groups, range)?;
                self.metrics.record_output(batch.num_rows());
                return Ok(Some(batch));
            }
            *groups = None;
            let Some(next) = merger.next_groups().map_err(external)? else { return Ok(None) };
            *groups = Some(next);
            *returned = 0;
        }
    }
}

/// The output of a range of groups.
fn batch_of(
    planned: &Planned,
    schema: &SchemaRef,
    groups: &Groups,
    range: Range<usize>,
) -> Result<RecordBatch> {
    let mut columns = groups.keys(range.clone()).map_err(external)?;
    for output in &planned.outputs {
        let data_type = schema.field(columns.len()).data_type();
        let column = match output {
            Output::State { state, count } => {
                groups.state(*state, *count, range.clone(), data_type).map_err(external)?
            }
            Output::Average { aggregate, count, sum, types } => {
                let [count_type, sum_type] = types;
                // The accumulator takes groups for empty only if both states are NULL.
                let counts = groups.state(*count, Some(*count), range.clone(), count_type);
                let sums = groups.state(*sum, Some(*count), range.clone(), sum_type);
                average(aggregate, [counts.map_err(external)?, sums.map_err(external)?])?
            }
        };
        columns.push(column);
    }
    Ok(RecordBatch::try_new(Arc::clone(schema), columns)?)
}

/// The averages of groups, of their counts and sums.
fn average(aggregate: &AggregateFunctionExpr, states: [ArrayRef; 2]) -> Result<ArrayRef> {
    let groups: Vec<usize> = (0..states[0].len()).collect();
    let mut accumulator = aggregate.create_groups_accumulator()?;
    accumulator.merge_batch(&states, &groups, groups.len())?;
    accumulator.evaluate(EmitTo::All)
}
