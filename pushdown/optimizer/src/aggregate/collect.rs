// SPDX-License-Identifier: Apache-2.0
//! Collects the rows of all partitions of the input, each in a task of its own.
//!
//! The tasks start when the first stream is polled: joins above are then done with their
//! build sides.

use std::{fmt, sync::Arc};

use arrow::array::RecordBatch;
use datafusion::{
    common::{hash_utils::create_hashes, runtime::SpawnedTask},
    error::{DataFusionError, Result},
    execution::{
        TaskContext,
        memory_pool::{MemoryConsumer, MemoryReservation},
    },
    physical_expr_common::utils::evaluate_expressions_to_arrays,
    physical_plan::{
        ExecutionPlanProperties,
        metrics::{ExecutionPlanMetricsSet, MetricBuilder, SpillMetrics, Time},
        repartition::REPARTITION_RANDOM_STATE,
    },
};
use futures::{
    FutureExt, StreamExt, TryFutureExt,
    future::{BoxFuture, Shared, try_join_all},
};
use nearscan_aggregate::{Block, Blocks, Collector, Spilled};

use super::{plan::Planned, spill};

/// The rows of all partitions, which are collected once for all streams of an execution.
pub(super) struct Collection(Shared<BoxFuture<'static, Collected>>);

type Collected = std::result::Result<Arc<Rows>, Arc<DataFusionError>>;

/// All rows.
#[derive(Debug)]
pub(super) struct Rows {
    pub(super) blocks: Arc<Blocks>,
    /// The memory of the blocks, and of the groups that the streams make of them.
    _memory: Vec<MemoryReservation>,
}

impl fmt::Debug for Collection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Collection")
    }
}

impl Collection {
    /// Collects the rows when the future is first polled.
    pub(super) fn new(
        planned: &Arc<Planned>,
        task: &Arc<TaskContext>,
        metrics: &ExecutionPlanMetricsSet,
    ) -> Self {
        let (planned, task, metrics) = (Arc::clone(planned), Arc::clone(task), metrics.clone());
        let collected = async move { collect(&planned, &task, &metrics).await };
        Self(collected.map_ok(Arc::new).map_err(Arc::new).boxed().shared())
    }

    /// All rows, when they are there.
    pub(super) async fn rows(self: Arc<Self>) -> Result<Arc<Rows>> {
        self.0.clone().await.map_err(DataFusionError::Shared)
    }
}

async fn collect(
    planned: &Arc<Planned>,
    task: &Arc<TaskContext>,
    metrics: &ExecutionPlanMetricsSet,
) -> Result<Rows> {
    let partitions = planned.input.output_partitioning().partition_count();
    let tasks = (0..partitions).map(|partition| {
        let part = Part::new(planned, task, metrics, partition);
        let task = SpawnedTask::spawn(part.collect(Arc::clone(task), partition));
        async { task.join_unwind().await.map_err(|error| DataFusionError::External(error.into()))? }
    });
    let mut blocks = Vec::new();
    let mut spilled = Vec::new();
    let mut memory = Vec::with_capacity(partitions + 1);
    for part in try_join_all(tasks).await? {
        blocks.extend(part.blocks);
        spilled.extend(part.spilled);
        memory.push(part.memory);
    }
    let mut blocks = Blocks::new(Arc::clone(&planned.shape), blocks, spilled);
    let consumer = MemoryConsumer::new("PartitionedAggregateExec groups");
    let groups = consumer.register(task.memory_pool());
    if groups.try_grow(blocks.merging_bytes() * planned.partitions).is_err() {
        // Merging fewer rows at a time takes less memory, and so do rows in files.
        let (in_memory, mut spilled) = blocks.into_parts();
        if !in_memory.is_empty() {
            let metrics = SpillMetrics::new(metrics, 0);
            spilled.push(write_counted(planned, in_memory, task, &metrics)?);
        }
        memory.clear();
        blocks = Blocks::new(Arc::clone(&planned.shape), Vec::new(), spilled).with_least_memory();
        groups.try_grow(blocks.merging_bytes() * planned.partitions)?;
    }
    memory.push(groups);
    Ok(Rows { blocks: Arc::new(blocks), _memory: memory })
}

/// Writes blocks to a file, and counts what was written.
fn write_counted(
    planned: &Planned,
    blocks: Vec<Block>,
    task: &TaskContext,
    metrics: &SpillMetrics,
) -> Result<Spilled> {
    let rows = blocks.iter().map(Block::row_count).sum();
    let spilled = spill::write(&planned.shape, blocks, task)?;
    metrics.spill_file_count.add(1);
    metrics.spilled_rows.add(rows);
    metrics.spilled_bytes.add(usize::try_from(spilled.file_bytes()).unwrap_or(usize::MAX));
    Ok(spilled)
}

/// The rows of one partition of the input.
struct Part {
    planned: Arc<Planned>,
    collector: Collector,
    hashes: Vec<u64>,
    blocks: Vec<Block>,
    spilled: Vec<Spilled>,
    memory: MemoryReservation,
    time: Time,
    spill_metrics: SpillMetrics,
}

impl Part {
    fn new(
        planned: &Arc<Planned>,
        task: &Arc<TaskContext>,
        metrics: &ExecutionPlanMetricsSet,
        partition: usize,
    ) -> Self {
        let consumer = MemoryConsumer::new(format!("PartitionedAggregateExec[{partition}]"));
        Self {
            planned: Arc::clone(planned),
            collector: Collector::new(Arc::clone(&planned.shape)),
            hashes: Vec::new(),
            blocks: Vec::new(),
            spilled: Vec::new(),
            memory: consumer.with_can_spill(true).register(task.memory_pool()),
            time: MetricBuilder::new(metrics).subset_time("collect_time", partition),
            spill_metrics: SpillMetrics::new(metrics, partition),
        }
    }

    async fn collect(mut self, task: Arc<TaskContext>, partition: usize) -> Result<Self> {
        let mut input = self.planned.input.execute(partition, Arc::clone(&task))?;
        while let Some(batch) = input.next().await {
            let batch = batch?;
            let time = self.time.clone();
            let _timer = time.timer();
            self.push(&batch)?;
            if self.memory.try_resize(self.collector.memory_bytes()).is_err() {
                let blocks = self.collector.take_blocks();
                self.spill(blocks, &task)?;
            }
        }
        let time = self.time.clone();
        let _timer = time.timer();
        self.blocks = self.collector.take_blocks();
        let bytes = self.blocks.iter().map(Block::memory_bytes).sum();
        if self.memory.try_resize(bytes).is_err() {
            let blocks = std::mem::take(&mut self.blocks);
            self.spill(blocks, &task)?;
        }
        Ok(self)
    }

    fn push(&mut self, batch: &RecordBatch) -> Result<()> {
        let rows = batch.num_rows();
        if rows == 0 {
            return Ok(());
        }
        let keys = evaluate_expressions_to_arrays(&self.planned.keys, batch)?;
        let arguments = evaluate_expressions_to_arrays(&self.planned.arguments, batch)?;
        self.hashes.clear();
        self.hashes.resize(rows, 0);
        let hashed = self.planned.hashed.iter().map(|place| &keys[*place]);
        create_hashes(hashed, REPARTITION_RANDOM_STATE.random_state(), &mut self.hashes)?;
        self.collector.push(&keys, &self.hashes, &arguments).map_err(spill::external)
    }

    /// Writes all blocks that there are to a file, so that no memory is in use.
    fn spill(&mut self, blocks: Vec<Block>, task: &TaskContext) -> Result<()> {
        self.spilled.push(write_counted(&self.planned, blocks, task, &self.spill_metrics)?);
        self.memory.free();
        Ok(())
    }
}
