// SPDX-License-Identifier: Apache-2.0
//! Counts what EXPLAIN ANALYZE shows of a [`PushdownExec`](super::PushdownExec).

use std::{
    borrow::Cow,
    sync::{Arc, OnceLock},
    time::Duration,
};

use arrow::array::RecordBatch;
use datafusion::physical_plan::metrics::{
    BaselineMetrics, Count, ExecutionPlanMetricsSet, MetricBuilder, MetricValue, Time,
};
use nearscan_drive::{Completion, DriveTime};

use crate::exec::modelled::ModelledTime;

use crate::{cost::whole_ns, decision::Costs};

/// The reason why a unit was pushed back to the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PushBack {
    Busy,
    LowMemory,
    Encoding,
    GroupCardinality,
    DictionarySize,
    Overflow,
    Timeout,
    Fault,
    Quarantine,
}

impl PushBack {
    /// Every reason with its word.
    const ALL: &'static [(Self, &'static str)] = &[
        (Self::Busy, "pushback_busy"),
        (Self::LowMemory, "pushback_low_memory"),
        (Self::Encoding, "pushback_encoding"),
        (Self::GroupCardinality, "pushback_group_cardinality"),
        (Self::DictionarySize, "pushback_dictionary_size"),
        (Self::Overflow, "pushback_overflow"),
        (Self::Timeout, "pushback_timeout"),
        (Self::Fault, "pushback_fault"),
        (Self::Quarantine, "pushback_quarantine"),
    ];

    /// The word in the log.
    pub(crate) fn word(self) -> &'static str {
        let found = Self::ALL.iter().find(|(reason, _)| *reason == self);
        found.map_or("", |(_, word)| word.trim_start_matches("pushback_"))
    }
}

/// The counters of one partition.
#[derive(Debug)]
pub(crate) struct PushdownMetrics {
    pub(crate) baseline: BaselineMetrics,
    pub(crate) units_drive: Count,
    pub(crate) units_cpu: Count,
    /// Those without one of the keys of a join, which nothing reads.
    pub(crate) units_pruned: Count,
    /// Key filters that units were given.
    pub(crate) key_filters: Count,
    pushbacks: Vec<Count>,
    media_bytes: Count,
    link_bytes: Count,
    host_bytes: Count,
    rows_in: Count,
    values_in: Count,
    pub(crate) rows_out: Count,
    /// Of a drive with a clock: one without shows no such time.
    measured: OnceLock<Time>,
    modelled: Arc<ModelledTime>,
    metrics: ExecutionPlanMetricsSet,
    partition: usize,
}

impl PushdownMetrics {
    pub(crate) fn new(metrics: &ExecutionPlanMetricsSet, partition: usize) -> Self {
        let count = |name: &'static str| MetricBuilder::new(metrics).counter(name, partition);
        let modelled = Arc::new(ModelledTime::default());
        MetricBuilder::new(metrics).with_partition(partition).build(MetricValue::Custom {
            name: Cow::Borrowed("drive_time_modelled"),
            value: Arc::clone(&modelled) as _,
        });
        Self {
            baseline: BaselineMetrics::new(metrics, partition),
            units_drive: count("units_drive"),
            units_cpu: count("units_cpu"),
            units_pruned: count("units_pruned"),
            key_filters: count("key_filters"),
            pushbacks: PushBack::ALL.iter().map(|(_, word)| count(word)).collect(),
            media_bytes: count("media_bytes"),
            link_bytes: count("link_bytes"),
            host_bytes: count("host_bytes"),
            rows_in: count("rows_in"),
            values_in: count("values_in"),
            rows_out: count("rows_out"),
            measured: OnceLock::new(),
            modelled,
            metrics: metrics.clone(),
            partition,
        }
    }

    pub(crate) fn pushed_back(&self, reason: PushBack) {
        let at = PushBack::ALL.iter().position(|(other, _)| *other == reason);
        if let Some(count) = at.and_then(|at| self.pushbacks.get(at)) {
            count.add(1);
        }
    }

    /// Counts the rows of a unit, and its values: rows of each column that is read.
    pub(crate) fn reads(&self, rows: u64, columns: usize) {
        let rows = usize::try_from(rows).unwrap_or(usize::MAX);
        self.rows_in.add(rows);
        self.values_in.add(rows.saturating_mul(columns));
    }

    /// Counts rows that leave.
    pub(crate) fn delivered(&self, batch: &RecordBatch) {
        self.rows_out.add(batch.num_rows());
        self.baseline.record_output(batch.num_rows());
    }

    /// Counts what a completion moved and took.
    pub(crate) fn moved(&self, completion: &Completion) {
        let whole = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        self.media_bytes.add(whole(completion.traffic.media_bytes));
        self.link_bytes.add(whole(completion.traffic.link_bytes));
        self.host_bytes.add(whole(completion.traffic.host_bytes));
        match completion.time {
            DriveTime::Measured(measured) => {
                let time = self.measured.get_or_init(|| {
                    let builder = MetricBuilder::new(&self.metrics);
                    builder.subset_time("drive_time_measured", self.partition)
                });
                time.add_duration(Duration::from_nanos(measured.ns));
            }
            DriveTime::Modelled(modelled) => self.modelled.add(modelled),
        }
    }

    /// Adds the estimates of the cost model to the metrics, once for all partitions.
    pub(crate) fn expected(metrics: &ExecutionPlanMetricsSet, partition: usize, costs: &Costs) {
        if partition > 0 {
            return;
        }
        for (name, ns) in
            [("drive_time_estimated", costs.drive_ns), ("host_time_estimated", costs.host_ns)]
        {
            let time = MetricBuilder::new(metrics).subset_time(name, partition);
            time.add_duration(Duration::from_nanos(whole_ns(ns)));
        }
    }
}
