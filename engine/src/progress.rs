// SPDX-License-Identifier: Apache-2.0
//! Tells how much a running query has read, and how much there is to read.
//!
//! The figures are the metrics of the plan's scans; nothing is stopped or counted for them.

use std::sync::Arc;

use datafusion::physical_plan::{
    ExecutionPlan,
    statistics::{StatisticsArgs, StatisticsContext},
};

/// How far a query has come.
#[derive(Debug, Clone)]
pub struct Progress {
    plan: Arc<dyn ExecutionPlan>,
    rows_total: Option<u64>,
}

/// The rows and bytes that have been read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AmountRead {
    /// Rows that scans have returned.
    pub rows: u64,
    /// Bytes from files and media.
    pub bytes: u64,
}

impl Progress {
    /// Watches a plan ([`QueryStream::plan`](crate::QueryStream::plan)).
    #[must_use]
    pub fn of(plan: &Arc<dyn ExecutionPlan>) -> Self {
        Self { plan: Arc::clone(plan), rows_total: rows_total(plan.as_ref()) }
    }

    /// What has been read so far.
    #[must_use]
    pub fn read(&self) -> AmountRead {
        let mut read = AmountRead::default();
        add_leaves(self.plan.as_ref(), &mut read);
        read
    }

    /// The rows that will have been read at the end, estimated from the statistics of files; none
    /// if those are unknown or the plan has a join, whose rows say nothing about the work left.
    #[must_use]
    pub const fn rows_total(&self) -> Option<u64> {
        self.rows_total
    }
}

fn add_leaves(plan: &dyn ExecutionPlan, read: &mut AmountRead) {
    let children = plan.children();
    if !children.is_empty() {
        children.into_iter().for_each(|child| add_leaves(child.as_ref(), read));
        return;
    }
    let Some(metrics) = plan.metrics() else { return };
    read.rows += metrics.output_rows().unwrap_or(0) as u64;
    for name in ["bytes_scanned", "media_bytes"] {
        read.bytes += metrics.sum_by_name(name).map_or(0, |value| value.as_usize()) as u64;
    }
}

fn rows_total(plan: &dyn ExecutionPlan) -> Option<u64> {
    if plan.name().contains("Join") {
        return None;
    }
    let children = plan.children();
    if children.is_empty() {
        let context = StatisticsContext::new();
        let statistics = context.compute(plan, &StatisticsArgs::new()).ok()?;
        return statistics.num_rows.get_value().map(|rows| *rows as u64);
    }
    children.into_iter().map(|child| rows_total(child.as_ref())).sum()
}

#[cfg(test)]
mod tests {
    use datafusion::prelude::SessionContext;
    use futures::StreamExt;

    use super::*;
    use crate::Engine;

    #[tokio::test]
    async fn rows_read_are_counted_while_the_query_runs() {
        let engine = Engine::builder().threads(1).build().await.unwrap();
        let sql = "SELECT count(*) FROM range(0, 100000) WHERE value > 5";
        let mut stream = engine.sql(sql).await.unwrap().stream().await.unwrap();
        let progress = Progress::of(stream.plan());
        assert_eq!(progress.read(), AmountRead::default());
        while stream.next().await.is_some() {}
        assert_eq!(progress.read().rows, 100_000);
    }

    #[tokio::test]
    async fn rows_to_read_are_known_without_a_join() {
        let context = SessionContext::new();
        let total = async |sql: &str| {
            let plan = context.sql(sql).await.unwrap().create_physical_plan().await.unwrap();
            Progress::of(&plan).rows_total()
        };
        context
            .sql("CREATE TABLE t AS VALUES (1), (2), (3)")
            .await
            .unwrap()
            .collect()
            .await
            .unwrap();
        assert_eq!(total("SELECT count(*) FROM t WHERE column1 > 1").await, Some(3));
        assert_eq!(total("SELECT * FROM t UNION ALL SELECT * FROM t").await, Some(6));
        assert_eq!(total("SELECT * FROM t AS a JOIN t AS b USING (column1)").await, None);
    }
}
