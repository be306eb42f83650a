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
        memory_pool::{MemoryConsumer, MemoryLimit, MemoryReservation},
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

use super::{
    plan::Planned,
    spill::{TemporaryFile, external},
};

/// Bytes that each partition may take without the pool's leave, so that it always goes on: a few
/// batches of rows, or a section of a file and its groups.
pub(super) const MEMORY_MIN: usize = 1 << 20;

/// With less than this part of the blocks free in the pool, merging would pass over them many
/// times; from files it has all of the memory.
const FREE_MIN: usize = 4;

/// The rows of all partitions, which are collected once for all streams of an execution.
pub(super) struct Collection(Shared<BoxFuture<'static, Collected>>);

type Collected = std::result::Result<Arc<Rows>, Arc<DataFusionError>>;

/// All rows.
#[derive(Debug)]
pub(super) struct Rows {
    pub(super) blocks: Arc<Blocks>,
    /// The memory of the blocks.
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
    let mut memory = Vec::with_capacity(partitions);
    for part in try_join_all(tasks).await? {
        blocks.extend(part.blocks);
        spilled.extend(part.spilled);
        memory.push(part.memory);
    }
    let in_memory: usize = blocks.iter().map(Block::memory_bytes).sum();
    if in_memory > MEMORY_MIN && free_bytes(task).is_some_and(|free| free < in_memory / FREE_MIN) {
        let metrics = SpillMetrics::new(metrics, 0);
        metrics.spill_file_count.add(1);
        let (planned, mut file) = (Arc::clone(planned), TemporaryFile::create(task)?);
        let write = move || append_counted(&mut file, &planned, &blocks, &metrics);
        let written = SpawnedTask::spawn_blocking(write).join_unwind().await;
        spilled.push(written.map_err(|error| DataFusionError::External(error.into()))??);
        (blocks, memory) = (Vec::new(), Vec::new());
    }
    Ok(Rows {
        blocks: Arc::new(Blocks::new(Arc::clone(&planned.computed.shape), blocks, spilled)),
        _memory: memory,
    })
}

/// Bytes that the memory pool has left, if it is limited.
pub(super) fn free_bytes(task: &TaskContext) -> Option<usize> {
    let pool = task.memory_pool();
    match pool.memory_limit() {
        MemoryLimit::Finite(limit) => Some(limit.saturating_sub(pool.reserved())),
        MemoryLimit::Infinite | MemoryLimit::Unknown => None,
    }
}

/// Appends blocks to a file, and counts what was written.
fn append_counted(
    file: &mut TemporaryFile,
    planned: &Planned,
    blocks: &[Block],
    metrics: &SpillMetrics,
) -> Result<Spilled> {
    let spilled = file.append(&planned.computed.shape, blocks)?;
    metrics.spilled_rows.add(blocks.iter().map(Block::row_count).sum());
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
    /// Where rows are spilled to.
    file: Option<TemporaryFile>,
    /// Bytes of memory of the places in it.
    places_bytes: usize,
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
            collector: Collector::new(Arc::clone(&planned.computed.shape)),
            hashes: Vec::new(),
            blocks: Vec::new(),
            spilled: Vec::new(),
            file: None,
            places_bytes: 0,
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
            let bytes = self.collector.memory_bytes();
            if self.memory.try_resize(bytes + self.places_bytes).is_err() && bytes > MEMORY_MIN {
                let blocks = self.collector.take_blocks();
                self.spill(&blocks, &task)?;
            }
        }
        let time = self.time.clone();
        let _timer = time.timer();
        self.blocks = self.collector.take_blocks();
        let bytes: usize = self.blocks.iter().map(Block::memory_bytes).sum();
        if self.memory.try_resize(bytes + self.places_bytes).is_err() && bytes > MEMORY_MIN {
            let blocks = std::mem::take(&mut self.blocks);
            self.spill(&blocks, &task)?;
        }
        Ok(self)
    }

    fn push(&mut self, batch: &RecordBatch) -> Result<()> {
        let rows = batch.num_rows();
        if rows == 0 {
            return Ok(());
        }
        let keys = evaluate_expressions_to_arrays(&self.planned.computed.keys, batch)?;
        let arguments = evaluate_expressions_to_arrays(&self.planned.computed.arguments, batch)?;
        self.hashes.clear();
        self.hashes.resize(rows, 0);
        let hashed = self.planned.hashed.iter().map(|place| &keys[*place]);
        create_hashes(hashed, REPARTITION_RANDOM_STATE.random_state(), &mut self.hashes)?;
        self.collector.push(&keys, &self.hashes, &arguments).map_err(external)
    }

    /// Writes all blocks that there are to the file, so that only their places take memory.
    fn spill(&mut self, blocks: &[Block], task: &TaskContext) -> Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            None => {
                self.spill_metrics.spill_file_count.add(1);
                self.file.insert(TemporaryFile::create(task)?)
            }
        };
        let spilled = append_counted(file, &self.planned, blocks, &self.spill_metrics)?;
        self.places_bytes += spilled.memory_bytes();
        self.spilled.push(spilled);
        self.memory.free();
        // If it is refused, the next batch of rows asks again.
        self.memory.try_resize(self.places_bytes).or_else(|_| Ok(()))
    }
}
