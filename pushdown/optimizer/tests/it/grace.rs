// SPDX-License-Identifier: Apache-2.0
//! Tests joins under a memory limit that their build sides exceed: the rows are those of DataFusion
//! without a limit.

use std::sync::Arc;

use arrow::{
    array::{ArrayRef, Int64Array, RecordBatch, StringArray},
    util::display::{ArrayFormatter, FormatOptions},
};
use datafusion::{
    common::tree_node::{TreeNode, TreeNodeRecursion},
    datasource::MemTable,
    error::DataFusionError,
    execution::{SessionStateBuilder, runtime_env::RuntimeEnvBuilder},
    physical_plan::{ExecutionPlan, collect, metrics::MetricValue},
    prelude::{SessionConfig, SessionContext, col},
};
use nearscan_optimizer::{GraceHashJoinExec, GraceJoinRule, JoinRows};
use rstest::rstest;

use crate::{bench::shown, codec::travelled};

/// Rows of the larger table: with their hash table some 14 MB.
const LARGE: i64 = 60_000;
const SMALL: i64 = 20_000;

const LIMIT_BYTES: usize = 10 << 20;

/// Keys of the larger table.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Keys {
    /// Every second one occurs in the smaller table, and some are NULL.
    Spread,
    /// Most rows have one key, which two rows of the smaller table have.
    Hot,
}

impl Keys {
    fn of_large(self, row: i64) -> Option<i64> {
        match self {
            Self::Spread => (row % 11 != 0).then_some(row % (2 * SMALL)),
            Self::Hot => Some(if row % 16 == 0 { row % SMALL } else { 7 }),
        }
    }

    /// Of both tables, `0..SMALL`, but for key 8, so that 7 occurs twice; and some are NULL.
    const fn of_small(row: i64) -> Option<i64> {
        match row {
            8 => Some(7),
            _ if row % 13 == 0 => None,
            _ => Some(row),
        }
    }
}

fn table(rows: i64, key: impl Fn(i64) -> Option<i64>) -> Arc<MemTable> {
    let columns: [(&str, ArrayRef); 3] = [
        ("k", Arc::new((0..rows).map(key).collect::<Int64Array>())),
        ("v", Arc::new((0..rows).map(|row| row * 37 % 1009).collect::<Int64Array>())),
        (
            "t",
            Arc::new((0..rows).map(|row| Some(format!("text {row:060}"))).collect::<StringArray>()),
        ),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let batches = (0..batch.num_rows()).step_by(1000);
    let batches = batches.map(|from| batch.slice(from, 1000)).collect();
    Arc::new(MemTable::try_new(batch.schema(), vec![batches]).unwrap())
}

/// A session whose joins build tables of their left sides, with a memory limit or without.
fn session(keys: Keys, limit: Option<usize>, partitions: usize) -> SessionContext {
    let config = SessionConfig::new()
        .with_target_partitions(partitions)
        .set_bool("datafusion.optimizer.join_reordering", false)
        .set_usize("datafusion.optimizer.hash_join_single_partition_threshold", 0)
        .set_usize("datafusion.optimizer.hash_join_single_partition_threshold_rows", 0);
    let mut runtime = RuntimeEnvBuilder::new();
    if let Some(limit) = limit {
        runtime = runtime.with_memory_limit(limit, 1.0);
    }
    let mut state = SessionStateBuilder::new()
        .with_config(config)
        .with_runtime_env(runtime.build_arc().unwrap())
        .with_default_features();
    GraceJoinRule::install(&mut state);
    let session = SessionContext::new_with_state(state.build());
    session.register_table("large", table(LARGE, |row| keys.of_large(row))).unwrap();
    session.register_table("small", table(SMALL, Keys::of_small)).unwrap();
    let ordered = Arc::try_unwrap(table(SMALL, Some)).unwrap();
    let ordered = ordered.with_sort_order(vec![vec![col("k").sort(true, true)]]);
    session.register_table("ordered", Arc::new(ordered)).unwrap();
    session
}

async fn plan(session: &SessionContext, sql: &str) -> Arc<dyn ExecutionPlan> {
    let query = session.sql(sql).await.unwrap();
    GraceJoinRule::with_limit(query.create_physical_plan()).await.unwrap()
}

/// The rows as sorted texts.
fn texts(batches: &[RecordBatch]) -> Vec<String> {
    let options = FormatOptions::default().with_null("NULL");
    let mut texts = Vec::new();
    for batch in batches {
        let columns = batch.columns().iter();
        let columns: Vec<_> =
            columns.map(|it| ArrayFormatter::try_new(it, &options).unwrap()).collect();
        texts.extend((0..batch.num_rows()).map(|row| {
            columns.iter().map(|it| it.value(row).to_string()).collect::<Vec<_>>().join("|")
        }));
    }
    texts.sort_unstable();
    texts
}

/// Files that the joins of a plan have written.
fn spill_count(plan: &Arc<dyn ExecutionPlan>) -> usize {
    let mut count = 0;
    plan.apply(|node| {
        if node.is::<GraceHashJoinExec>() {
            let metrics = node.metrics().unwrap();
            count += metrics
                .sum(|it| matches!(it.value(), MetricValue::SpillCount(_)))
                .map_or(0, |it| it.as_usize());
        }
        Ok(TreeNodeRecursion::Continue)
    })
    .unwrap();
    count
}

/// Runs a statement under the limit and, by DataFusion alone, without; gives both rows.
async fn both(keys: Keys, sql: &str) -> (Vec<String>, Vec<String>, usize) {
    let limited = session(keys, Some(LIMIT_BYTES), 2);
    let plan = plan(&limited, sql).await;
    assert!(shown(&plan).contains("GraceHashJoinExec"), "{}", shown(&plan));
    let rows = texts(&collect(Arc::clone(&plan), limited.task_ctx()).await.unwrap());
    let pool = &limited.runtime_env().memory_pool;
    // Tasks of a query that has ended early are dropped when they get a turn.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(pool.reserved(), 0, "memory that is still reserved");
    let free = session(keys, None, 2);
    let expected = texts(&free.sql(sql).await.unwrap().collect().await.unwrap());
    assert!(!expected.is_empty(), "a test without rows tests nothing");
    (rows, expected, spill_count(&plan))
}

#[rstest]
#[case::inner("SELECT l.k, l.v, s.v, l.t FROM large l JOIN small s ON l.k = s.k")]
#[case::inner_with_filter("SELECT l.t, s.t FROM large l JOIN small s ON l.k = s.k AND l.v < s.v")]
#[case::left("SELECT l.k, l.t, s.t FROM large l LEFT JOIN small s ON l.k = s.k")]
#[case::left_with_filter(
    "SELECT l.k, l.t, s.v FROM large l LEFT JOIN small s ON l.k = s.k AND s.v > l.v"
)]
// Most files of the build side have no rows to be joined with.
#[case::left_with_few_partners(
    "SELECT l.k, l.t, s.t FROM large l LEFT JOIN (SELECT * FROM small WHERE v = 0 AND k < 5000) s \
     ON l.k = s.k"
)]
#[case::right("SELECT l.v, l.t, s.k, s.t FROM large l RIGHT JOIN small s ON l.k = s.k")]
#[case::left_semi("SELECT l.k, l.t FROM large l LEFT SEMI JOIN small s ON l.k = s.k")]
#[case::left_anti("SELECT l.k, l.t FROM large l LEFT ANTI JOIN small s ON l.k = s.k")]
#[case::right_semi(
    "SELECT s.k, s.t FROM large l RIGHT SEMI JOIN small s ON l.k = s.k AND l.t > s.t"
)]
#[case::right_anti(
    "SELECT s.k, s.t FROM large l RIGHT ANTI JOIN small s ON l.k = s.k AND l.t > s.t"
)]
#[case::mark(
    "SELECT l.t FROM large l WHERE l.v < 5 OR EXISTS (SELECT 1 FROM small s WHERE s.k = l.k)"
)]
#[case::null_equals_null(
    "SELECT l.t, s.t FROM large l JOIN small s ON (l.k IS NOT DISTINCT FROM s.k) AND l.v = s.v"
)]
#[case::of_a_join(
    "SELECT a.t, b.v, c.v FROM large a JOIN (SELECT b.k, b.v, b.t FROM large b JOIN small s \
     ON b.k = s.k) b ON a.t = b.t JOIN small c ON a.k = c.k"
)]
#[tokio::test]
async fn join_larger_than_memory_returns_the_rows_of_one_without_limit(
    #[case] sql: &str,
    #[values(Keys::Spread, Keys::Hot)] keys: Keys,
) {
    let (rows, expected, spills) = both(keys, sql).await;
    assert_eq!(rows.len(), expected.len());
    assert!(rows == expected, "other rows");
    assert!(spills > 0, "nothing was written");
}

#[tokio::test]
async fn rows_of_a_join_that_spills_are_counted_once() {
    let session = session(Keys::Hot, Some(LIMIT_BYTES), 2);
    let sql = "SELECT l.v, l.t, s.t FROM large l JOIN small s ON l.k = s.k";
    let plan = plan(&session, sql).await;
    let batches = collect(Arc::clone(&plan), session.task_ctx()).await.unwrap();
    assert!(spill_count(&plan) > 0, "nothing was written");
    let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
    let joins = JoinRows::of(&plan).analyzed();
    assert!(joins.starts_with("inner on k = k: estimated "), "{joins}");
    assert!(joins.lines().next().unwrap().contains(&format!(" rows, actual {rows}, ")), "{joins}");
    assert!(
        joins.contains(&format!("  DataSource: estimated {LARGE} rows, not counted")),
        "{joins}"
    );
}

#[tokio::test]
async fn full_join_larger_than_memory_returns_its_rows() {
    let sql = "SELECT l.k, l.t, s.k, s.t FROM large l FULL JOIN small s ON l.k = s.k";
    let (rows, expected, spills) = both(Keys::Spread, sql).await;
    assert!(rows == expected, "other rows");
    assert!(spills > 0, "nothing was written");
}

#[tokio::test]
async fn full_join_of_one_key_larger_than_memory_ends_in_an_error() {
    let sql = "SELECT l.k, l.t, s.k, s.t FROM large l FULL JOIN small s ON l.k = s.k";
    let session = session(Keys::Hot, Some(LIMIT_BYTES / 2), 2);
    let plan = plan(&session, sql).await;
    let error = collect(plan, session.task_ctx()).await.unwrap_err();
    assert!(matches!(error.find_root(), DataFusionError::ResourcesExhausted(_)), "{error}");
}

#[tokio::test]
async fn join_with_fetch_returns_so_many_rows() {
    let sql = "SELECT l.t, s.t FROM large l JOIN small s ON l.k = s.k LIMIT 1234";
    let (rows, _, spills) = both(Keys::Spread, sql).await;
    assert_eq!(rows.len(), 1234);
    assert!(spills > 0, "nothing was written");
}

#[tokio::test]
async fn join_that_fits_writes_no_file() {
    let sql = "SELECT s.k, l.t FROM small s JOIN large l ON l.k = s.k WHERE s.v < 100";
    let (rows, expected, spills) = both(Keys::Spread, sql).await;
    assert!(rows == expected, "other rows");
    assert_eq!(spills, 0);
}

#[rstest]
#[case::of_a_group(
    "SELECT s.k, count(*) FROM large l JOIN ordered s ON l.k = s.k GROUP BY s.k",
    true
)]
#[case::of_the_rows("SELECT s.k FROM large l JOIN ordered s ON l.k = s.k", true)]
#[case::that_a_sort_changes(
    "SELECT s.k FROM large l JOIN ordered s ON l.k = s.k ORDER BY l.v",
    false
)]
#[tokio::test]
async fn join_stays_if_its_order_is_used(#[case] sql: &str, #[case] stays: bool) {
    let session = session(Keys::Spread, Some(LIMIT_BYTES), 1);
    let plan = plan(&session, sql).await;
    let shown = shown(&plan);
    assert_eq!(shown.contains("GraceHashJoinExec"), !stays, "{shown}");
    assert_eq!(shown.contains(" HashJoinExec"), stays, "{shown}");
}

#[tokio::test]
async fn small_build_side_is_collected_still() {
    let session = session(Keys::Spread, Some(LIMIT_BYTES), 2);
    session
        .sql("SET datafusion.optimizer.hash_join_single_partition_threshold = 100000000")
        .await
        .unwrap();
    let few = "SELECT l.t FROM small s JOIN large l ON l.k = s.k";
    let shown_few = shown(&plan(&session, few).await);
    assert!(shown_few.contains("CollectLeft"), "{shown_few}");
    let joined = "SELECT a.t FROM (SELECT l.k FROM small s JOIN large l ON l.k = s.k) b \
                  JOIN large a ON a.k = b.k";
    let shown_joined = shown(&plan(&session, joined).await);
    assert!(shown_joined.contains("GraceHashJoinExec: mode=Partitioned"), "{shown_joined}");
}

#[tokio::test]
async fn decoded_join_is_the_one_that_was_replaced() {
    let session = session(Keys::Spread, None, 2);
    let sql = "SELECT l.v, s.v FROM (SELECT 1 AS k, 2 AS v) l LEFT JOIN (SELECT 1 AS k, 3 AS v \
               UNION ALL SELECT 4, 5) s ON l.k = s.k";
    let sent = plan(&session, sql).await;
    assert!(shown(&sent).contains("GraceHashJoinExec"), "{}", shown(&sent));
    let arrived = travelled(&sent, &session);
    assert!(shown(&arrived).contains(" HashJoinExec"), "{}", shown(&arrived));
    assert_eq!(arrived.schema(), sent.schema());
    assert_eq!(texts(&collect(arrived, session.task_ctx()).await.unwrap()), ["2|3"]);
}
