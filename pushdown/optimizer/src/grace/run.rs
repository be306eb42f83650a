// SPDX-License-Identifier: Apache-2.0
//! Runs one partition of a join as a stream.
//!
//! ```text
//! collect the build side
//!   all of it fits    join it with the probe side
//!   it does not       split both sides into files; for each pair of them the same again
//!     for the last time, or because one key has most rows
//!                     join one part of a side after the other with the whole other side
//! ```

use std::sync::Arc;

use arrow::{array::RecordBatch, datatypes::SchemaRef};
use datafusion::{
    common::JoinType,
    error::Result,
    execution::{
        SendableRecordBatchStream, TaskContext,
        memory_pool::{MemoryConsumer, MemoryReservation},
    },
    physical_expr::PhysicalExpr,
    physical_plan::{
        EmptyRecordBatchStream, ExecutionPlan, SpillManager,
        joins::HashJoinExec,
        metrics::{BaselineMetrics, ExecutionPlanMetricsSet, SpillMetrics},
        stream::RecordBatchStreamAdapter,
    },
};
use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use tokio::sync::watch;

use super::{
    build::{Collected, Share, collect},
    inner::{Inner, Rows},
    split::{DEPTH_MAX, Spilled, Splitter},
};

/// The sides of a join.
const BUILD: usize = 0;
const PROBE: usize = 1;

/// The build sides of all partitions of one execution that have not ended.
#[derive(Debug)]
pub(super) struct Builds(watch::Sender<usize>);

impl Builds {
    pub(super) fn of_partitions(partitions: usize) -> Self {
        Self(watch::Sender::new(partitions))
    }

    async fn wait(&self) {
        // The sender is alive as long as this is, so there is no error.
        let mut left = self.0.subscribe();
        let _ended = left.wait_for(|left| *left == 0).await;
    }
}

/// One of the build sides, which has ended when this is dropped.
struct Build(Arc<Builds>);

impl Drop for Build {
    fn drop(&mut self) {
        self.0.0.send_modify(|left| *left = left.saturating_sub(1));
    }
}

/// Runs a partition. If there are `builds`, its probe side is read when all of them have ended.
pub(super) fn partition_stream(
    join: &Arc<HashJoinExec>,
    builds: Option<Arc<Builds>>,
    metrics: &ExecutionPlanMetricsSet,
    partition: usize,
    task: &Arc<TaskContext>,
) -> RecordBatchStreamAdapter<BoxStream<'static, Result<RecordBatch>>> {
    let consumer = MemoryConsumer::new(format!("GraceHashJoinExec[{partition}]"));
    let on = join.on();
    let side = |plan: &Arc<dyn ExecutionPlan>, keys| {
        let spill = SpillMetrics::new(metrics, partition);
        let manager = SpillManager::new(task.runtime_env(), spill, plan.schema());
        let compression = task.session_config().spill_compression();
        Side { plan: Arc::clone(plan), keys, manager: manager.with_compression_type(compression) }
    };
    let run = Run {
        inner: Inner::new(Arc::clone(join), task),
        sides: [
            side(join.left(), on.iter().map(|(key, _)| Arc::clone(key)).collect()),
            side(join.right(), on.iter().map(|(_, key)| Arc::clone(key)).collect()),
        ],
        join_type: *join.join_type(),
        partitions: join.properties().output_partitioning().partition_count(),
        memory: consumer.register(task.memory_pool()),
        task: Arc::clone(task),
        build: builds.map(Build),
        pairs: vec![Pair::whole(partition)],
        joined: None,
        rows_left: join.fetch(),
        metrics: BaselineMetrics::new(metrics, partition),
    };
    let batches = stream::try_unfold(run, async |mut run| {
        let batch = run.next().await?;
        Ok(batch.map(|batch| (batch, run)))
    });
    RecordBatchStreamAdapter::new(join.schema(), Box::pin(batches))
}

struct Side {
    plan: Arc<dyn ExecutionPlan>,
    keys: Vec<Arc<dyn PhysicalExpr>>,
    manager: SpillManager,
}

/// Where rows of a side are.
enum Source {
    /// A partition of the input.
    Partition(usize),
    File(Spilled),
}

/// Rows of both sides that have to be joined with one another.
struct Pair {
    build: Source,
    probe: Source,
    /// How often they were split.
    depth: usize,
}

/// Rows that are being joined.
struct Joined {
    output: SendableRecordBatchStream,
    /// Bytes that are free once the first rows are there.
    copied_bytes: usize,
    parts: Option<Parts>,
}

/// A side that is joined part by part, each with the whole other side.
struct Parts {
    side: usize,
    rest: SendableRecordBatchStream,
    next: Option<RecordBatch>,
    other: Spilled,
}

struct Run {
    inner: Inner,
    sides: [Side; 2],
    join_type: JoinType,
    partitions: usize,
    memory: MemoryReservation,
    task: Arc<TaskContext>,
    /// The build side of this partition, until it has ended.
    build: Option<Build>,
    pairs: Vec<Pair>,
    joined: Option<Joined>,
    /// Rows that may still be returned.
    rows_left: Option<usize>,
    metrics: BaselineMetrics,
}

impl Run {
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        while self.rows_left != Some(0) {
            if let Some(joined) = &mut self.joined {
                let batch = joined.output.next().await.transpose()?;
                self.memory.shrink(std::mem::take(&mut joined.copied_bytes));
                match batch {
                    Some(batch) => return Ok(Some(self.limited(batch))),
                    None => self.end_joined().await?,
                }
            } else if let Some(pair) = self.pairs.pop() {
                self.join_pair(pair).await?;
            } else {
                break;
            }
        }
        Ok(None)
    }

    /// The rows of a batch that are asked for.
    fn limited(&mut self, batch: RecordBatch) -> RecordBatch {
        let rows = batch.num_rows();
        let rows = self.rows_left.map_or(rows, |left| left.min(rows));
        self.rows_left = self.rows_left.map(|left| left - rows);
        self.metrics.record_output(rows);
        batch.slice(0, rows)
    }

    /// Begins the next part after all rows of the one before, if there is one.
    async fn end_joined(&mut self) -> Result<()> {
        let parts = self.joined.take().and_then(|joined| joined.parts);
        self.memory.free();
        match parts {
            Some(parts) => self.join_part(parts).await,
            None => Ok(()),
        }
    }

    async fn join_pair(&mut self, pair: Pair) -> Result<()> {
        if pair.is_without_output(self.join_type) {
            return Ok(());
        }
        let mut build = self.read(BUILD, &pair.build)?;
        let collected = self.collect(&mut build, None).await?;
        let Some(refused) = collected.refused else {
            self.end_build().await;
            let probe = self.read(PROBE, &pair.probe)?;
            let output = self.inner.join(Rows::Held(collected.batches), Rows::Stream(probe))?;
            self.joined = Some(Joined { output, copied_bytes: collected.bytes, parts: None });
            return Ok(());
        };
        if pair.depth < DEPTH_MAX {
            let collected = collected.batches.into_iter().chain([refused]);
            return self.split_pair(pair, collected, build).await;
        }
        drop((collected.batches, refused, build));
        self.memory.free();
        self.join_in_parts(pair).await
    }

    /// Splits both sides of a pair; of the build side some rows were read.
    async fn split_pair(
        &mut self,
        pair: Pair,
        read: impl Iterator<Item = RecordBatch>,
        rest: SendableRecordBatchStream,
    ) -> Result<()> {
        let side = &self.sides[BUILD];
        let mut splitter = Splitter::new(&side.manager, &side.keys, pair.depth);
        for batch in read {
            splitter.add(&batch)?;
        }
        self.memory.free();
        splitter.add_all(rest).await?;
        let builds = splitter.finish()?;
        self.end_build().await;
        let probe = self.read(PROBE, &pair.probe)?;
        let side = &self.sides[PROBE];
        let mut splitter = Splitter::new(&side.manager, &side.keys, pair.depth);
        splitter.add_all(probe).await?;
        let probes = splitter.finish()?;
        let rows: usize = builds.iter().map(|build| build.rows).sum();
        self.pairs.extend(builds.into_iter().zip(probes).map(|(build, probe)| {
            // If one key has most rows, another split will not make them fewer.
            let is_split = build.rows < rows / 10 * 9;
            let depth = if is_split { pair.depth + 1 } else { DEPTH_MAX };
            Pair { build: Source::File(build), probe: Source::File(probe), depth }
        }));
        Ok(())
    }

    /// Joins a pair whose build side does not fit and cannot be split.
    async fn join_in_parts(&mut self, pair: Pair) -> Result<()> {
        let Some(side) = side_of_parts(self.join_type) else {
            let mut build = self.read(BUILD, &pair.build)?;
            let pool = Arc::clone(self.task.memory_pool());
            let everything = Share::Everything;
            let build = collect(&mut build, None, &self.memory, &*pool, everything).await?;
            let probe = self.read(PROBE, &pair.probe)?;
            let output = self.inner.join(Rows::Held(build.batches), Rows::Stream(probe))?;
            self.joined = Some(Joined { output, copied_bytes: build.bytes, parts: None });
            return Ok(());
        };
        let (source, other) = match side {
            BUILD => (pair.build, pair.probe),
            _ => (pair.probe, pair.build),
        };
        let rest = self.read(side, &source)?;
        // Only rows in files cannot be split further.
        let Source::File(other) = other else { return Ok(()) };
        self.join_part(Parts { side, rest, next: None, other }).await
    }

    async fn join_part(&mut self, mut parts: Parts) -> Result<()> {
        let Collected { batches, bytes, refused } =
            self.collect(&mut parts.rest, parts.next.take()).await?;
        if batches.is_empty() {
            return Ok(());
        }
        parts.next = refused;
        let held = Rows::Held(batches);
        let output = match parts.side {
            BUILD => self.inner.join(held, Rows::Stream(self.spilled(PROBE, &parts.other)?))?,
            _ => self.inner.join_swapped(Rows::Stream(self.spilled(BUILD, &parts.other)?), held)?,
        };
        self.joined = Some(Joined { output, copied_bytes: bytes, parts: Some(parts) });
        Ok(())
    }

    async fn collect(
        &mut self,
        rows: &mut SendableRecordBatchStream,
        first: Option<RecordBatch>,
    ) -> Result<Collected> {
        let share = Share::OfPartitions(self.partitions);
        let pool = Arc::clone(self.task.memory_pool());
        collect(rows, first, &self.memory, &*pool, share).await
    }

    /// Ends the build side, and waits for those of the other partitions if scans of the probe side
    /// look its keys up.
    async fn end_build(&mut self) {
        if let Some(build) = self.build.take() {
            let builds = Arc::clone(&build.0);
            drop(build);
            builds.wait().await;
        }
    }

    fn read(&self, side: usize, source: &Source) -> Result<SendableRecordBatchStream> {
        match source {
            Source::Partition(partition) => {
                self.sides[side].plan.execute(*partition, Arc::clone(&self.task))
            }
            Source::File(spilled) => self.spilled(side, spilled),
        }
    }

    fn spilled(&self, side: usize, spilled: &Spilled) -> Result<SendableRecordBatchStream> {
        let manager = &self.sides[side].manager;
        match &spilled.file {
            Some(file) => manager.read_spill_as_stream_unbuffered(Arc::clone(file), None),
            None => Ok(Box::pin(EmptyRecordBatchStream::new(SchemaRef::clone(manager.schema())))),
        }
    }
}

impl Pair {
    /// All rows of a partition.
    const fn whole(partition: usize) -> Self {
        Self { build: Source::Partition(partition), probe: Source::Partition(partition), depth: 0 }
    }

    /// Whether it is known that no row comes of it, because a side has none.
    fn is_without_output(&self, join_type: JoinType) -> bool {
        let is_empty =
            |source: &Source| matches!(source, Source::File(spilled) if spilled.rows == 0);
        let (needs_build, needs_probe) = match join_type {
            JoinType::Inner | JoinType::LeftSemi | JoinType::RightSemi => (true, true),
            JoinType::Left | JoinType::LeftAnti | JoinType::LeftMark => (true, false),
            JoinType::Right | JoinType::RightAnti | JoinType::RightMark => (false, true),
            JoinType::Full => (false, false),
        };
        needs_build && is_empty(&self.build) || needs_probe && is_empty(&self.probe)
    }
}

/// The side that can be joined part by part: what becomes of a row of it depends on the whole other
/// side, but not on the other rows of its own side.
const fn side_of_parts(join_type: JoinType) -> Option<usize> {
    match join_type {
        JoinType::Inner
        | JoinType::Left
        | JoinType::LeftSemi
        | JoinType::LeftAnti
        | JoinType::LeftMark => Some(BUILD),
        JoinType::Right | JoinType::RightSemi | JoinType::RightAnti | JoinType::RightMark => {
            Some(PROBE)
        }
        JoinType::Full => None,
    }
}
