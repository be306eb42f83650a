// SPDX-License-Identifier: Apache-2.0
//! Tests the aggregate whose hash tables stay in the cache: what it replaces, and that the groups
//! stay the same.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use datafusion::{
    common::tree_node::{TreeNode, TreeNodeRecursion},
    physical_plan::{
        ExecutionPlan, ExecutionPlanProperties, collect, execute_stream,
        execute_stream_partitioned, execution_plan::reset_plan_states,
    },
};
use futures::{StreamExt, TryStreamExt};
use nearscan_optimizer::PartitionedAggregateExec;
use rstest::rstest;

use crate::{
    bench::{Bench, plan_of, shown, texts},
    files,
};

/// Without drives and the fused scan, which groups by keys of so few values itself; on two
/// partitions.
fn bench() -> Bench {
    Bench::new().set("nearscan.pushdown.mode", "off").set("nearscan.scan", "datafusion")
}

/// The aggregates of ours in a plan.
fn aggregates(plan: &Arc<dyn ExecutionPlan>) -> Vec<Arc<dyn ExecutionPlan>> {
    let mut found = Vec::new();
    plan.apply(|node| {
        if node.is::<PartitionedAggregateExec>() {
            found.push(Arc::clone(node));
        }
        Ok(TreeNodeRecursion::Continue)
    })
    .unwrap();
    found
}

/// Runs a statement, and compares its rows, in whatever order, with those of DataFusion.
async fn check(bench: &Bench, sql: &str) -> Arc<dyn ExecutionPlan> {
    let session = bench.fused().await;
    let plan = plan_of(&session, sql).await;
    let batches = collect(Arc::clone(&plan), session.task_ctx()).await.unwrap();
    let (mut rows, mut expected) = (texts(&batches), bench.expected(sql).await);
    assert!(!expected.is_empty(), "a test without rows tests nothing");
    rows.sort_unstable();
    expected.sort_unstable();
    assert_eq!(rows, expected, "{sql}\n{}", shown(&plan));
    plan
}

#[rstest]
#[case::integers("SELECT l_orderkey, count(*) FROM lineitem GROUP BY 1")]
#[case::distinct("SELECT DISTINCT l_orderkey, l_shipdate FROM lineitem")]
#[case::decimals(
    "SELECT l_orderkey, sum(l_tax), avg(l_quantity), min(l_discount), max(l_extendedprice) \
     FROM lineitem GROUP BY 1"
)]
#[case::nullable(
    "SELECT nullif(l_orderkey, 3), count(nullif(l_partkey, 7)), sum(nullif(l_partkey, 7)), \
            avg(nullif(l_tax, 0)), min(nullif(l_linenumber, 1)), max(nullif(l_shipdate, NULL)) \
     FROM lineitem GROUP BY 1"
)]
#[case::all_null(
    "SELECT l_orderkey, sum(CASE WHEN l_tax > 99 THEN 1 END), max(CASE WHEN l_tax > 99 THEN 1 END), \
            avg(CASE WHEN l_tax > 99 THEN l_tax END) FROM lineitem GROUP BY 1"
)]
#[case::texts("SELECT l_comment, count(*), max(l_shipdate) FROM lineitem GROUP BY 1")]
#[case::text_and_number(
    "SELECT l_shipmode, l_orderkey, sum(l_partkey) FROM lineitem GROUP BY 1, 2"
)]
#[case::distinct_count("SELECT l_linenumber, count(DISTINCT l_orderkey) FROM lineitem GROUP BY 1")]
#[case::conditions("SELECT l_orderkey, l_tax > 0.02, count(*) FROM lineitem GROUP BY 1, 2")]
#[case::join_above(
    "SELECT l_shipdate, c FROM lineitem JOIN (SELECT l_orderkey AS k, count(*) AS c FROM lineitem \
     GROUP BY 1) ON l_orderkey = k"
)]
#[tokio::test]
async fn groups_are_those_of_datafusion(
    #[case] sql: &str,
    #[values("2", "3")] partitions: &str,
    #[values("8192", "5")] batch_rows: &str,
) {
    let bench = bench()
        .set("datafusion.execution.target_partitions", partitions)
        .set("datafusion.optimizer.hash_join_single_partition_threshold", "0")
        .set("datafusion.optimizer.hash_join_single_partition_threshold_rows", "0")
        .set("datafusion.execution.batch_size", batch_rows);
    let plan = check(&bench, sql).await;
    assert!(!aggregates(&plan).is_empty(), "{}", shown(&plan));
}

#[rstest]
#[case::setting(bench().set("nearscan.aggregate", "datafusion"), "SELECT l_orderkey FROM lineitem \
                GROUP BY 1")]
#[case::one_partition(bench().set("datafusion.execution.target_partitions", "1"),
                      "SELECT l_orderkey FROM lineitem GROUP BY 1")]
#[case::floats_as_keys(bench(), "SELECT CAST(l_orderkey AS DOUBLE) FROM lineitem GROUP BY 1")]
#[case::text_extreme(bench(), "SELECT l_orderkey, max(l_comment) FROM lineitem GROUP BY 1")]
#[case::float_extreme(
    bench(),
    "SELECT l_orderkey, max(CAST(l_tax AS DOUBLE)) FROM lineitem GROUP BY 1"
)]
#[case::filter(
    bench(),
    "SELECT l_orderkey, count(*) FILTER (WHERE l_tax > 0.01) FROM lineitem GROUP BY 1"
)]
#[case::float_sums_of_one_partition(
    bench(),
    "SELECT l_orderkey, sum(CAST(l_partkey AS DOUBLE)), avg(l_partkey) FROM lineitem GROUP BY 1"
)]
#[case::other_function(bench(), "SELECT l_orderkey, median(l_tax) FROM lineitem GROUP BY 1")]
#[case::two_distinct(
    bench(),
    "SELECT l_orderkey, count(DISTINCT l_tax), count(DISTINCT l_partkey) FROM lineitem GROUP BY 1"
)]
#[case::grouping_sets(
    bench(),
    "SELECT l_orderkey, l_partkey, count(*) FROM lineitem GROUP BY ROLLUP (l_orderkey, l_partkey)"
)]
#[case::limit(
    bench(),
    "SELECT DISTINCT l_orderkey + 0 AS k FROM lineitem WHERE l_orderkey < 0 + 1 \
              LIMIT 3"
)]
#[tokio::test]
async fn other_aggregates_stay(#[case] bench: Bench, #[case] sql: &str) {
    let plan = check(&bench, sql).await;
    assert!(aggregates(&plan).is_empty(), "{}", shown(&plan));
}

/// Joins rely on it. DataFusion hashes keys to partitions in a way that it does not promise to
/// keep.
#[rstest]
#[case::numbers("SELECT l_orderkey, l_partkey, count(*) FROM lineitem GROUP BY 1, 2")]
#[case::texts("SELECT l_comment, count(*) FROM lineitem GROUP BY 1")]
#[tokio::test]
async fn groups_are_in_the_partitions_of_datafusion(
    #[case] sql: &str,
    #[values("2", "3", "7")] partitions: &str,
) {
    let bench = bench().set("datafusion.execution.target_partitions", partitions);
    let session = bench.fused().await;
    let plan = plan_of(&session, sql).await;
    let [ours] = aggregates(&plan).try_into().unwrap();
    let theirs = bench.set("nearscan.aggregate", "datafusion");
    let theirs = plan_of(&theirs.fused().await, sql).await;
    let mut rows = Vec::new();
    for plan in [ours, theirs] {
        let streams = execute_stream_partitioned(plan, session.task_ctx()).unwrap();
        let partitions = futures::future::join_all(streams.into_iter().map(|stream| async {
            let mut rows = texts(&stream.try_collect::<Vec<_>>().await.unwrap());
            rows.sort_unstable();
            rows
        }));
        rows.push(partitions.await);
    }
    assert_eq!(rows[0], rows[1]);
    assert!(rows[0].iter().all(|rows| !rows.is_empty()));
}

#[tokio::test]
async fn partitions_may_run_one_after_the_other_and_again() {
    let bench = bench();
    let session = bench.fused().await;
    let sql = "SELECT l_orderkey, count(*) FROM lineitem GROUP BY 1";
    let mut plan = plan_of(&session, sql).await;
    let mut expected = bench.expected(sql).await;
    expected.sort_unstable();
    for _ in 0..2 {
        let task = session.task_ctx();
        let mut batches = Vec::new();
        for partition in 0..2 {
            let stream = plan.execute(partition, Arc::clone(&task)).unwrap();
            batches.extend(stream.try_collect::<Vec<_>>().await.unwrap());
        }
        let mut rows = texts(&batches);
        rows.sort_unstable();
        assert_eq!(rows, expected);
        plan = reset_plan_states(plan).unwrap();
    }
    assert_eq!(bench.reserved_bytes(), 0);
}

#[tokio::test]
async fn float_sums_of_several_partitions_are_those_of_datafusion() {
    let sql = "SELECT k, sum(CAST(v AS DOUBLE)), avg(v) FROM (SELECT l_orderkey AS k, l_partkey AS v \
               FROM lineitem UNION ALL SELECT l_orderkey, l_linenumber FROM lineitem) GROUP BY 1";
    let plan = check(&bench(), sql).await;
    assert_eq!(aggregates(&plan).len(), 1, "{}", shown(&plan));
}

/// Rows of which each is a group of its own, but for those whose key is `hot`.
fn with_many_groups(hot: fn(i64) -> bool) -> Bench {
    let key = |row: i64| if hot(row) { -1 } else { row * 7919 % 400_009 };
    let keys: ArrayRef = Arc::new(Int64Array::from_iter_values((0..400_000).map(key)));
    let batch = RecordBatch::try_from_iter([("k", keys)]).unwrap();
    let properties = files::usual().set_max_row_group_row_count(Some(20_000));
    bench().table("many", &batch, properties)
}

#[rstest]
#[case::many_groups(with_many_groups(|_| false))]
#[case::many_rows_of_one_group(with_many_groups(|row| row % 5 < 2))]
#[tokio::test]
async fn rows_are_spilled_when_memory_is_short(#[case] bench: Bench) {
    let sql = "SELECT count(*), sum(c), sum(k), max(c) \
               FROM (SELECT k, count(*) AS c, sum(k) FROM many GROUP BY k)";
    let expected = bench.expected(sql).await;
    let bench = bench.memory_limit(2_000_000);
    let session = bench.fused().await;
    let plan = plan_of(&session, sql).await;
    let batches = collect(Arc::clone(&plan), session.task_ctx()).await.unwrap();
    let [aggregate] = aggregates(&plan).try_into().unwrap();
    let metrics = aggregate.metrics().unwrap();
    let partitions = aggregate.children()[0].output_partitioning().partition_count();
    let files = metrics.spill_count().unwrap();
    assert!((1..=partitions + 1).contains(&files), "{files} files of {partitions} partitions");
    // More than there is memory, so in several pieces.
    let bytes = metrics.spilled_bytes().unwrap();
    assert!(metrics.spilled_rows().unwrap() > 100_000 && bytes > 2_000_000, "{bytes} bytes");
    assert_eq!(texts(&batches), expected);
    assert_eq!(bench.reserved_bytes(), 0);
}

#[tokio::test]
async fn memory_is_charged_while_groups_wait_and_released_when_dropped() {
    let bench = bench().set("datafusion.execution.batch_size", "10");
    let session = bench.fused().await;
    let plan = plan_of(&session, "SELECT l_orderkey, count(*) FROM lineitem GROUP BY 1").await;
    let mut stream = execute_stream(plan, session.task_ctx()).unwrap();
    stream.next().await.unwrap().unwrap();
    assert!(bench.reserved_bytes() > 0);
    drop(stream);
    // The tasks are aborted, which takes effect when they next give way.
    for _ in 0..1000 {
        tokio::task::yield_now().await;
    }
    assert_eq!(bench.reserved_bytes(), 0);
}

#[tokio::test]
async fn error_of_the_input_is_that_of_the_query() {
    let bench = bench();
    let session = bench.fused().await;
    let sql = "SELECT l_orderkey, sum(1 / (l_orderkey - 7)) FROM lineitem GROUP BY 1";
    let plan = plan_of(&session, sql).await;
    assert_eq!(aggregates(&plan).len(), 1, "{}", shown(&plan));
    let error = collect(plan, session.task_ctx()).await.unwrap_err();
    assert!(error.to_string().contains("Divide by zero"), "{error}");
}
