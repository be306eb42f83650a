// SPDX-License-Identifier: Apache-2.0
//! Runs the units of one partition as a stream.

use std::{collections::BTreeMap, sync::Arc};

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
    units::PlannedUnit,
};

/// Units of one partition in flight at a drive: one runs, one is loaded, one is handed over.
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
    let run = Arc::new(move |(at, unit): (usize, PlannedUnit)| {
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
    });
    // Rows in an order come from one drive after the other.
    let in_order = pushed.replaced.keeps_order();
    let lists = by_drive(units, |unit: &PlannedUnit| if in_order { 0 } else { unit.drive });
    let batches = stream::select_all(lists.into_iter().map(|units| {
        let run = Arc::clone(&run);
        stream::iter(units)
            .map(move |unit| run(unit))
            .buffered(UNITS_IN_FLIGHT)
            .map_ok(UnitRows::release)
            .try_flatten()
            .boxed()
    }));
    let limited: BoxStream<'static, Result<RecordBatch>> = match pushed.fetch {
        Some(rows) => Box::pin(limit(batches, rows)),
        None => Box::pin(batches),
    };
    let counted = limited.inspect_ok(move |batch| metrics.delivered(batch)).boxed();
    Ok(RecordBatchStreamAdapter::new(exec.schema(), counted))
}

/// The units of each drive, with their places in the partition. What is of one list runs in its
/// order, and the lists run side by side.
fn by_drive<U>(units: Vec<U>, drive_of: impl Fn(&U) -> usize) -> Vec<Vec<(usize, U)>> {
    let mut of_drives: BTreeMap<usize, Vec<(usize, U)>> = BTreeMap::new();
    for (at, unit) in units.into_iter().enumerate() {
        of_drives.entry(drive_of(&unit)).or_default().push((at, unit));
    }
    of_drives.into_values().collect()
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
    let is_needless = |join: u64, output: usize| {
        join_keys.iter().enumerate().any(|(at, keys)| {
            let is_of = keys.join == join && pushed.key_column(output) == Some(keys.column);
            is_of && filters.make_bounds_needless(at)
        })
    };
    let fragment = narrowing.current(pushed.replaced.rows_shape(), is_needless);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_of_each_drive_are_a_list_in_the_order_of_the_partition() {
        let lists = by_drive(vec![("a", 1), ("b", 0), ("c", 1), ("d", 0)], |unit| unit.1);
        let names = |list: &Vec<(usize, (&'static str, usize))>| {
            list.iter().map(|(at, (name, _))| (*at, *name)).collect::<Vec<_>>()
        };
        let names: Vec<_> = lists.iter().map(names).collect();
        assert_eq!(names, [vec![(1, "b"), (3, "d")], vec![(0, "a"), (2, "c")]]);
    }
}
