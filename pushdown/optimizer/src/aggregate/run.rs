// SPDX-License-Identifier: Apache-2.0
//! Runs one partition of the output as a stream.

use std::{ops::Range, sync::Arc};

use arrow::{
    array::{ArrayRef, RecordBatch},
    datatypes::SchemaRef,
};
use datafusion::{
    common::resources_datafusion_err,
    error::{DataFusionError, Result},
    execution::{
        TaskContext,
        memory_pool::{MemoryConsumer, MemoryReservation},
    },
    logical_expr::EmitTo,
    physical_expr::aggregate::AggregateFunctionExpr,
    physical_plan::{
        metrics::{BaselineMetrics, ExecutionPlanMetricsSet},
        stream::RecordBatchStreamAdapter,
    },
};
use futures::stream::{self, BoxStream};
use nearscan_aggregate::{Error, Groups, Merger, Step};

use super::{
    collect::{Collection, MEMORY_MIN, Rows, free_bytes},
    plan::{Computed, Output, Planned},
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
    let consumer = MemoryConsumer::new(format!("PartitionedAggregateExec groups[{partition}]"));
    let merging = Merging {
        schema: Arc::clone(&start.schema),
        batch_rows: task.session_config().batch_size(),
        metrics: BaselineMetrics::new(start.metrics, partition),
        partition,
        task: Arc::clone(task),
        memory: consumer.register(task.memory_pool()),
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
    task: Arc<TaskContext>,
    /// The memory of the groups.
    memory: MemoryReservation,
    stage: Stage,
}

enum Stage {
    Collecting(Arc<Collection>),
    Merging {
        merger: Merger,
        groups: Option<Box<Groups>>,
        /// Groups that were returned.
        returned: usize,
        _rows: Arc<Rows>,
    },
}

/// Steps of a merger before the stream gives way to other tasks and can be cancelled: about a
/// millisecond.
const STEPS_IN_TURN: usize = 8;

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
        let mut steps = 0;
        loop {
            let timer = time.timer();
            if let Some(groups) = groups.as_ref().filter(|groups| *returned < groups.len()) {
                let range = *returned..groups.len().min(*returned + self.batch_rows);
                *returned = range.end;
                let batch = batch_of(&self.planned.computed, &self.schema, groups, range)?;
                self.metrics.record_output(batch.num_rows());
                return Ok(Some(batch));
            }
            *groups = None;
            let mut refused = None;
            let may_hold = &mut |bytes: usize| {
                let charged = if bytes > MEMORY_MIN { bytes } else { 0 };
                let held = self.memory.size();
                // No stream takes what the others need, who would have to stop.
                let share = || {
                    let free = free_bytes(&self.task).map(|free| free + held);
                    free.map_or(usize::MAX, |free| free / self.planned.partitions)
                };
                refused = match charged <= held || charged <= share() {
                    true => self.memory.try_resize(charged).err(),
                    false => Some(too_large(bytes, share())),
                };
                refused.is_none()
            };
            match merger.step(may_hold) {
                Ok(Step::Rows) => {}
                Ok(Step::Groups(next)) => {
                    *groups = Some(Box::new(next));
                    *returned = 0;
                }
                Ok(Step::Done) => return Ok(None),
                Err(error @ Error::Memory { .. }) => {
                    return Err(refused.unwrap_or_else(|| external(error)));
                }
                Err(error) => return Err(external(error)),
            }
            drop(timer);
            steps += 1;
            if steps % STEPS_IN_TURN == 0 {
                tokio::task::yield_now().await;
            }
        }
    }
}

/// The groups of even the smallest share take more than each partition may hold.
fn too_large(bytes: usize, most: usize) -> DataFusionError {
    resources_datafusion_err!(
        "PartitionedAggregateExec: groups of one partition take {bytes} bytes, and the memory \
         limit leaves {most} for each"
    )
}

/// The output of a range of groups.
pub(super) fn batch_of(
    computed: &Computed,
    schema: &SchemaRef,
    groups: &Groups,
    range: Range<usize>,
) -> Result<RecordBatch> {
    let mut columns = groups.keys(range.clone()).map_err(external)?;
    for output in &computed.outputs {
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
