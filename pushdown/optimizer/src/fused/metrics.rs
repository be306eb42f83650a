// SPDX-License-Identifier: Apache-2.0
//! Defines [`Metrics`], what EXPLAIN ANALYZE shows of a fused scan.

use datafusion::physical_plan::metrics::{
    BaselineMetrics, Count, ExecutionPlanMetricsSet, MetricBuilder, Time,
};

/// The counters of one partition.
pub(super) struct Metrics {
    pub(super) baseline: BaselineMetrics,
    pub(super) row_groups: Count,
    pub(super) row_groups_pruned: Count,
    pub(super) row_groups_pruned_bloom_filter: Count,
    pub(super) page_index_rows_pruned: Count,
    pub(super) row_groups_datafusion: Count,
    pub(super) rows_in: Count,
    pub(super) bytes_scanned: Count,
    pub(super) pages_skipped: Count,
    /// Copying from the page cache, and waiting for the device.
    pub(super) read_time: Time,
}

impl Metrics {
    pub(super) fn new(metrics: &ExecutionPlanMetricsSet, partition: usize) -> Self {
        let count = |name: &'static str| MetricBuilder::new(metrics).counter(name, partition);
        Self {
            baseline: BaselineMetrics::new(metrics, partition),
            row_groups: count("row_groups"),
            row_groups_pruned: count("row_groups_pruned"),
            row_groups_pruned_bloom_filter: count("row_groups_pruned_bloom_filter"),
            page_index_rows_pruned: count("page_index_rows_pruned"),
            row_groups_datafusion: count("row_groups_datafusion"),
            rows_in: count("rows_in"),
            bytes_scanned: count("bytes_scanned"),
            pages_skipped: count("pages_skipped"),
            read_time: MetricBuilder::new(metrics).subset_time("read_time", partition),
        }
    }

    /// Counts a row group of this many rows.
    pub(super) fn begin(&self, rows: u64) {
        self.row_groups.add(1);
        self.rows_in.add(usize::try_from(rows).unwrap_or(usize::MAX));
    }
}
