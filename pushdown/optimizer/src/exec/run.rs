// SPDX-License-Identifier: Apache-2.0
//! Runs the units of one partition as a stream.

use std::sync::Arc;

use arrow::array::RecordBatch;
use datafusion::{
    common::internal_datafusion_err,
    error::Result,
    execution::{
        TaskContext,
        memory_pool::{MemoryConsumer, MemoryReservation},
    },
    physical_plan::{ExecutionPlan, stream::RecordBatchStreamAdapter},
};
use futures::{
    Stream, StreamExt, TryStreamExt,
    stream::{self, BoxStream},
};
use nearscan_command::Fragment;
use nearscan_drive::Budget;

use crate::{
    context::PushdownContext,
    exec::{
        PushdownExec,
        dynamic::Narrowing,
        keys::{self, Place, UnitFilters, UnitKeys},
        metrics::PushdownMetrics,
        trial::Filters,
        unit::{Charged, OpenDrive, UnitRows, UnitRunner},
    },
    settings::NearscanOptions,
};

/// Units of one partition in flight: one runs, one is loaded, one is handed over.
pub(super) const UNITS_IN_FLIGHT: usize = 3;

/// Runs one partition.
pub(crate) fn partition_stream(
    exec: &PushdownExec,
    partition: usize,
    task: Arc<TaskContext>,
) -> Result<RecordBatchStreamAdapter<BoxStream<'static, Result<RecordBatch>>>> {
    let pushed = exec.pushed();
    let units = pushed.partitions.get(partition).cloned().unwrap_or_default();
    let metrics = Arc::new(PushdownMetrics::new(&exec.metrics, partition));
    if let Some(costs) = &pushed.costs {
        PushdownMetrics::expected(&exec.metrics, partition, costs);
    }
    let runner = unit_runner(exec, partition, &task, Arc::clone(&metrics))?;
    let narrowing = Arc::new(exec.narrowing());
    let join_keys = exec.keys.clone();
    let batches = stream::iter(units.into_iter().enumerate())
        .map(move |(at, unit)| {
            let place = Place { partition, unit: at };
            let work = match keys::rule_out(&join_keys, place) {
                true => None,
                false => Some(work_of(&runner, &narrowing, &join_keys, place, unit.drive)),
            };
            let runner = Arc::clone(&runner);
            async move {
                match work {
                    Some((fragment, given)) => runner.run(unit, fragment, given).await,
                    None => Ok(runner.skip()),
                }
            }
        })
        .buffered(UNITS_IN_FLIGHT)
        .map_ok(UnitRows::release)
        .try_flatten();
    let limited: BoxStream<'static, Result<RecordBatch>> = match pushed.fetch {
        Some(rows) => Box::pin(limit(batches, rows)),
        None => Box::pin(batches),
    };
    let counted = limited.inspect_ok(move |batch| metrics.delivered(batch)).boxed();
    Ok(RecordBatchStreamAdapter::new(exec.schema(), counted))
}

/// The fragment of a unit as it is now, with keys of joins, and which of these it has.
fn work_of(
    runner: &UnitRunner,
    narrowing: &Narrowing,
    join_keys: &[UnitKeys],
    place: Place,
    drive: usize,
) -> (Arc<Fragment>, Filters) {
    let pushed = &runner.pushed;
    let (left_out, bytes_max) = (runner.trials.next_left_out(), runner.key_bits_bytes_max(drive));
    let filters = UnitFilters::of(&pushed.fragment, join_keys, left_out, place, bytes_max);
    let is_looked_up = |join: u64, output: usize| {
        join_keys.iter().enumerate().any(|(at, keys)| {
            let is_of = keys.join == join && pushed.key_column(output) == Some(keys.column);
            is_of && filters.has(at)
        })
    };
    let fragment = narrowing.current(pushed.replaced.rows_shape(), is_looked_up);
    let given = filters.given;
    (filters.in_fragment(fragment), given)
}

/// Makes the runner of a partition's units, which counts them in `metrics`.
pub(super) fn unit_runner(
    exec: &PushdownExec,
    partition: usize,
    task: &Arc<TaskContext>,
    metrics: Arc<PushdownMetrics>,
) -> Result<Arc<UnitRunner>> {
    let config = task.session_config();
    let context = config.get_extension::<PushdownContext>().ok_or_else(|| {
        internal_datafusion_err!("the session has no drives to run {} on", exec.name())
    })?;
    let options =
        config.options().extensions.get::<NearscanOptions>().cloned().unwrap_or_default().pushdown;
    let pushed = exec.pushed();
    let has_units = |drive: usize| {
        let mut units = pushed.partitions.iter().flatten();
        units.any(|unit| unit.drive == drive && unit.kept.is_none())
    };
    let memory =
        MemoryConsumer::new(format!("PushdownExec[{partition}]")).register(task.memory_pool());
    let budget: Arc<dyn Budget> = Arc::new(PoolBudget(memory.new_empty()));
    let open = |(at, name): (usize, &String)| {
        let drive = context.drives.get(name).filter(|_| has_units(at));
        OpenDrive::open(drive, pushed.query_id, &budget)
    };
    Ok(Arc::new(UnitRunner {
        pushed: Arc::clone(pushed),
        trials: Arc::clone(&exec.trials),
        plan: Arc::clone(exec.replaced()),
        schema: exec.schema(),
        drives: pushed.drives.iter().enumerate().map(open).collect(),
        fallback: OpenDrive::open(context.fallback.clone(), pushed.query_id, &budget),
        context,
        task: Arc::clone(task),
        metrics,
        memory,
        timeout: options.timeout,
        verify: options.verify,
    }))
}

/// Host memory of drives, charged to the query's pool.
#[derive(Debug)]
struct PoolBudget(MemoryReservation);

impl Budget for PoolBudget {
    fn try_grow(&self, bytes: u64) -> bool {
        usize::try_from(bytes).is_ok_and(|bytes| self.0.try_grow(bytes).is_ok())
    }

    fn shrink(&self, bytes: u64) {
        self.0.shrink(usize::try_from(bytes).unwrap_or(usize::MAX));
    }
}

impl UnitRows {
    /// Returns the rows as a stream; batches are charged until the last one has been returned.
    pub(super) fn release(self) -> BoxStream<'static, Result<RecordBatch>> {
        match self {
            Self::Batches(Charged { batches, memory }) => {
                let held = stream::once(async move { drop(memory) });
                let batches = stream::iter(batches.into_iter().map(Ok));
                Box::pin(batches.chain(held.filter_map(|()| async { None })))
            }
            Self::Stream(stream) => stream,
        }
    }
}

/// Returns the first `rows` rows of a stream, and does not poll for later ones.
pub(super) fn limit(
    batches: impl Stream<Item = Result<RecordBatch>> + Send + 'static,
    rows: usize,
) -> impl Stream<Item = Result<RecordBatch>> + Send + 'static {
    stream::try_unfold((Box::pin(batches), rows), |(mut batches, left)| async move {
        if left == 0 {
            return Ok(None);
        }
        let Some(batch) = batches.try_next().await? else { return Ok(None) };
        let batch = batch.slice(0, batch.num_rows().min(left));
        let left = left - batch.num_rows();
        Ok(Some((batch, (batches, left))))
    })
}
