// SPDX-License-Identifier: Apache-2.0
//! Collects the profile of a query: its plan, the decision about each scan, the counters of each
//! operator, and totals of the work on drives.
//!
//! A profile is a copy taken from the metrics of the physical plan. It can be taken while the query
//! runs, and then has the counters so far. Times of operators are measured; the time of an emulated
//! drive is modelled, has a separate field and is never added to measured time.

use std::{collections::BTreeMap, time::Duration};

use datafusion::physical_plan::{
    ExecutionPlan,
    display::DisplayableExecutionPlan,
    metrics::{Metric, MetricValue},
};
use nearscan_drive::Modelled;
use nearscan_optimizer::{Candidate, ModelledTime};

/// Prefix of the counters of units that were pushed back to the CPU, by reason.
const PUSHBACK_PREFIX: &str = "pushback_";

/// The profile of a query.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryProfile {
    /// Id of the run ([`QueryStream::id`](crate::QueryStream::id)); none without a run.
    pub query_id: Option<u128>,
    /// The physical plan with its metrics, one operator a line.
    pub plan: String,
    /// The operators as a tree.
    pub root: OperatorProfile,
    /// The decision about each scan; empty if no drive is attached.
    pub decisions: Vec<Candidate>,
    /// Rows returned.
    pub rows: u64,
    /// Measured wall time of planning, up to the physical plan.
    pub planning: Duration,
    /// Measured wall time from the start of the run to its last batch.
    pub elapsed: Duration,
}

/// The profile of one operator, over all its partitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperatorProfile {
    /// Name of the operator, for example `FilterExec`.
    pub name: String,
    /// The operator's line of the plan.
    pub line: String,
    /// Counters by name, as [`OperatorMetric`] describes them.
    pub metrics: BTreeMap<String, OperatorMetric>,
    /// Modelled time by resource, where the operator ran on an emulated drive.
    pub modelled: Option<Modelled>,
    /// Operators that it reads from.
    pub children: Vec<OperatorProfile>,
}

/// One counter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperatorMetric {
    /// Sum over partitions, in rows, bytes or another unit that the name states; times in
    /// nanoseconds.
    pub value: u64,
    /// The value as EXPLAIN ANALYZE writes it, with a unit.
    pub text: String,
}

/// Totals of the work that was planned for drives.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PushdownProfile {
    /// Units of work that ran on a drive.
    pub units_drive: u64,
    /// Units of work that ran on the CPU.
    pub units_cpu: u64,
    /// Bytes read from the drives' media.
    pub media_bytes: u64,
    /// Values of the units: rows of each column that was read.
    pub values_in: u64,
    /// Bytes that crossed the link to the host.
    pub link_bytes: u64,
    /// Bytes from the media that the host copied to the drive; part of the bytes read.
    pub host_bytes: u64,
    /// Measured time of drives.
    pub drive_time_measured: Option<Duration>,
    /// Modelled time of emulated drives. The operators of a query share a drive, so this is not the
    /// sum over operators.
    pub drive_time_modelled: Option<Duration>,
    /// Modelled time by resource.
    pub modelled: Option<Modelled>,
    /// Units pushed back to the CPU, by reason.
    pub pushback: BTreeMap<String, u64>,
}

impl QueryProfile {
    /// Adds up the counters `name` of all operators; `None` if no operator has it.
    #[must_use]
    pub fn total(&self, name: &str) -> Option<u64> {
        let mut total = None;
        self.root.visit(&mut |operator| {
            if let Some(metric) = operator.metrics.get(name) {
                total = Some(total.unwrap_or(0) + metric.value);
            }
        });
        total
    }

    /// Adds up the work that was planned for drives; all zero without one.
    #[must_use]
    pub fn pushdown(&self) -> PushdownProfile {
        let count = |name| self.total(name).unwrap_or(0);
        // An operator has both counters, and one of them stays at zero.
        let time = |name| self.total(name).filter(|ns| *ns > 0).map(Duration::from_nanos);
        let mut pushback = BTreeMap::new();
        let all = ModelledTime::default();
        self.root.visit(&mut |operator| {
            if let Some(modelled) = operator.modelled {
                all.add(modelled);
            }
            for (name, metric) in &operator.metrics {
                if let Some(reason) = name.strip_prefix(PUSHBACK_PREFIX) {
                    *pushback.entry(reason.to_owned()).or_insert(0) += metric.value;
                }
            }
        });
        PushdownProfile {
            units_drive: count("units_drive"),
            units_cpu: count("units_cpu"),
            media_bytes: count("media_bytes"),
            values_in: count("values_in"),
            link_bytes: count("link_bytes"),
            host_bytes: count("host_bytes"),
            drive_time_measured: time("drive_time_measured"),
            drive_time_modelled: all.get().map(|all| Duration::from_nanos(all.makespan_ns())),
            modelled: all.get(),
            pushback,
        }
    }
}

impl OperatorProfile {
    /// Copies the metrics of a plan and of everything below it.
    #[must_use]
    pub fn of(plan: &dyn ExecutionPlan) -> Self {
        let set = plan.metrics().unwrap_or_default();
        let mut metrics: BTreeMap<String, OperatorMetric> =
            set.aggregate_by_name().iter().map(|metric| read(metric)).collect();
        // The sum of the metric set counts a time of 0 as 1 ns for each partition.
        for (name, metric) in &mut metrics {
            let times = set.iter().filter_map(|of_partition| match of_partition.value() {
                MetricValue::Time { name: other, time } if other == name => Some(time.value()),
                _ => None,
            });
            if let Some(sum) = times.reduce(|a, b| a + b) {
                metric.value = u64::try_from(sum).unwrap_or(u64::MAX);
            }
        }
        let modelled = set.iter().filter_map(|metric| match metric.value() {
            MetricValue::Custom { value, .. } => value.as_any().downcast_ref(),
            _ => None,
        });
        let all = ModelledTime::default();
        modelled.filter_map(ModelledTime::get).for_each(|modelled| all.add(modelled));
        Self {
            name: plan.name().to_owned(),
            line: DisplayableExecutionPlan::new(plan).one_line().to_string().trim_end().to_owned(),
            metrics,
            modelled: all.get(),
            children: plan.children().into_iter().map(|child| Self::of(child.as_ref())).collect(),
        }
    }

    /// Calls `see` with this operator and everything below it.
    pub fn visit<'a>(&'a self, see: &mut impl FnMut(&'a Self)) {
        see(self);
        for child in &self.children {
            child.visit(see);
        }
    }
}

fn read(metric: &Metric) -> (String, OperatorMetric) {
    let value = metric.value();
    let number = match value {
        // A point in time is shown as its nanoseconds since 1970.
        MetricValue::StartTimestamp(time) | MetricValue::EndTimestamp(time) => {
            time.value().and_then(|time| time.timestamp_nanos_opt()).unwrap_or(0).unsigned_abs()
        }
        other => u64::try_from(other.as_usize()).unwrap_or(u64::MAX),
    };
    (value.name().to_owned(), OperatorMetric { value: number, text: value.to_string() })
}

/// Returns the profile of a plan that has not returned rows yet.
pub(crate) fn profile(
    plan: &dyn ExecutionPlan,
    decisions: Vec<Candidate>,
    planning: Duration,
) -> QueryProfile {
    QueryProfile {
        query_id: None,
        plan: DisplayableExecutionPlan::with_metrics(plan).indent(false).to_string(),
        root: OperatorProfile::of(plan),
        decisions,
        rows: 0,
        planning,
        elapsed: Duration::ZERO,
    }
}
