// SPDX-License-Identifier: Apache-2.0
//! Tests groups of windows that are found by the place of their key: which are, and that the rows
//! stay the same.

use std::{fs, sync::Arc};

use arrow::{
    array::{ArrayRef, Int64Array, RecordBatch},
    compute::cast,
    datatypes::DataType,
};
use datafusion::{
    common::tree_node::{TreeNode, TreeNodeRecursion},
    physical_plan::{ExecutionPlan, collect, execute_stream},
};
use futures::StreamExt;
use nearscan_optimizer::DirectAggregateExec;
use rstest::rstest;

use crate::{
    bench::{Bench, plan_of, shown, texts},
    clustered::{
        ROWS, bench, check, numbers, properties, rows, run, windows, with_events, with_keys,
        with_nulls,
    },
    codec::travelled,
    files,
};

/// The aggregates with an index in a plan, and the windows that had none when it ran.
fn direct(plan: &Arc<dyn ExecutionPlan>) -> (usize, usize) {
    let (mut found, mut hashed) = (0, 0);
    plan.apply(|node| {
        if let Some(aggregate) = node.downcast_ref::<DirectAggregateExec>() {
            found += 1;
            let windows = aggregate.metrics().and_then(|it| it.sum_by_name("windows_hashed"));
            hashed += windows.map_or(0, |windows| windows.as_usize());
        }
        Ok(TreeNodeRecursion::Continue)
    })
    .unwrap();
    (found, hashed)
}

const ALL: &str = "SELECT k, count(*), count(v), sum(v), min(v), max(v), avg(CAST(v AS DECIMAL(9, 2))) \
                   FROM events GROUP BY k";

#[rstest]
#[case::distinct("SELECT DISTINCT k FROM events")]
#[case::all(ALL)]
#[case::floats(
    "SELECT k, sum(CAST(v AS DOUBLE) / 7), avg(CAST(v AS DOUBLE) / 7) FROM events GROUP BY k"
)]
#[case::no_rows_of_some_windows("SELECT k, count(*) FROM events WHERE k > 20000 GROUP BY k")]
#[case::few_rows("SELECT k, sum(v) FROM events WHERE v = 3 GROUP BY k")]
#[case::condition_above("SELECT k, sum(v) FROM events GROUP BY k HAVING sum(v) > 2000")]
#[case::collected_build_side(
    "SELECT k, count(*), sum(w) FROM (SELECT e.k, f.v AS w FROM events e JOIN few f ON e.v = f.v) \
     GROUP BY k"
)]
#[tokio::test]
async fn groups_of_one_key_have_an_index(
    #[case] sql: &str,
    #[values("8192", "100")] batch_rows: &str,
) {
    let bench = with_events().set("datafusion.execution.batch_size", batch_rows);
    let plan = check(&bench, sql).await;
    assert_eq!(direct(&plan), (1, 0), "{}", shown(&plan));
}

#[rstest]
#[case::several_keys("SELECT k, v, count(*) FROM events GROUP BY k, v")]
#[case::other_function("SELECT k, median(v) FROM events GROUP BY k")]
#[case::texts("SELECT k, max(t) FROM events GROUP BY k")]
#[case::filter("SELECT k, count(*) FILTER (WHERE v > 500) FROM events GROUP BY k")]
#[tokio::test]
async fn other_groups_of_windows_are_hashed(#[case] sql: &str) {
    let plan = check(&with_events(), sql).await;
    assert_eq!((windows(&plan).len(), direct(&plan)), (1, (0, 0)), "{}", shown(&plan));
}

#[tokio::test]
async fn aggregates_of_datafusion_have_no_index() {
    let plan = check(&with_events().set("nearscan.aggregate", "datafusion"), ALL).await;
    assert_eq!((windows(&plan).len(), direct(&plan)), (1, (0, 0)), "{}", shown(&plan));
}

fn typed(keys: impl Fn(i64) -> i64, data_type: &DataType) -> ArrayRef {
    let keys = numbers(ROWS, keys);
    let days = *data_type == DataType::Date32;
    let keys = if days { cast(&keys, &DataType::Int32).unwrap() } else { keys };
    cast(&keys, data_type).unwrap()
}

#[rstest]
#[case::int32(typed(|row| row / 3 - 9000, &DataType::Int32))]
#[case::uint32(typed(|row| i64::from(u32::MAX) - row / 3, &DataType::UInt32))]
#[case::date(typed(|row| row / 3 - 9000, &DataType::Date32))]
#[case::descending(numbers(ROWS, |row| -row / 3))]
#[case::up_to_the_last_number(numbers(ROWS, |row| i64::MAX - row / 3))]
#[case::from_the_first_number(numbers(ROWS, |row| i64::MIN + row / 3))]
#[case::nearly_sorted(numbers(ROWS, |row| row / 3 + row * 7919 % 1000))]
#[case::gaps(numbers(ROWS, |row| row * 7))]
#[case::nulls(with_nulls(|row| row % 5 == 0, |row| row / 3))]
#[case::row_groups_of_nulls(with_nulls(|row| row >= 90_000, |row| row / 3 - 5000))]
#[tokio::test]
async fn keys_may_be_anywhere_in_a_short_range(#[case] keys: ArrayRef) {
    let plan = check(&with_keys(keys, properties()), ALL).await;
    assert_eq!(direct(&plan), (1, 0), "{}", shown(&plan));
}

#[rstest]
// Of the first window that has both, the range is longer than numbers of 64 bits can say.
#[case::all_numbers(
    numbers(ROWS, |row| if row < ROWS / 2 { i64::MIN + row } else { i64::MAX - ROWS + row }),
    1
)]
#[case::long_gaps(numbers(ROWS, |row| row * 100), 7)]
#[tokio::test]
async fn windows_of_long_ranges_are_hashed(#[case] keys: ArrayRef, #[case] at_least: usize) {
    let plan = check(&with_keys(keys, properties()), ALL).await;
    let (found, hashed) = direct(&plan);
    assert!(found == 1 && hashed >= at_least, "{hashed} are hashed\n{}", shown(&plan));
}

/// A folder of files in the order of the key; the last keys of each are the first of the next.
fn with_files() -> Bench {
    let bench = bench();
    let folder = bench.path("parts");
    fs::create_dir_all(&folder).unwrap();
    for file in 0..5_i64 {
        let keys = numbers(20_000, |row| (row + file * 19_990) / 7);
        files::write(&folder.join(format!("{file}.parquet")), &rows(keys), properties());
    }
    bench.sql(format!(
        "CREATE EXTERNAL TABLE parts STORED AS PARQUET LOCATION '{}/'",
        folder.display()
    ))
}

#[rstest]
#[case::groups("SELECT k, count(*), sum(v), max(v) FROM parts GROUP BY k")]
#[case::groups_of_groups(
    "SELECT c, count(*) FROM (SELECT k, count(*) AS c FROM parts GROUP BY k) GROUP BY c"
)]
#[tokio::test]
async fn group_of_several_files_is_one(#[case] sql: &str) {
    let plan = check(&with_files(), sql).await;
    assert_eq!(direct(&plan), (1, 0), "{}", shown(&plan));
}

fn counted(keys: i64) -> RecordBatch {
    let key = |row: i64| (row % 1000 != 3).then_some(row);
    let keys: Int64Array = (0..keys).map(key).collect();
    rows(Arc::new(keys))
}

/// The aggregate is on one side of the join, in the same windows.
#[rstest]
#[case::below_a_join(
    "SELECT f.k, f.v, g.c, g.s FROM heads f JOIN \
     (SELECT k, count(*) AS c, sum(v) AS s FROM events GROUP BY k) g ON f.k = g.k"
)]
#[case::above_and_below(
    "SELECT f.k, count(*), sum(g.s) FROM heads f JOIN \
     (SELECT k, sum(v) AS s FROM events GROUP BY k) g ON f.k = g.k GROUP BY f.k"
)]
#[tokio::test]
async fn groups_beside_joins_have_an_index(#[case] sql: &str) {
    let bench = with_events()
        .set("datafusion.optimizer.hash_join_single_partition_threshold", "0")
        .set("datafusion.optimizer.hash_join_single_partition_threshold_rows", "0")
        .table("heads", &counted(40_000), properties());
    let plan = check(&bench, sql).await;
    let (found, hashed) = direct(&plan);
    assert_eq!((windows(&plan).len(), hashed), (1, 0), "{}", shown(&plan));
    assert!(found > 0, "{}", shown(&plan));
    let session = bench.fused().await;
    let plan = travelled(&plan_of(&session, sql).await, &session);
    let mut rows = texts(&collect(plan, session.task_ctx()).await.unwrap());
    let mut expected = bench.expected(sql).await;
    rows.sort_unstable();
    expected.sort_unstable();
    assert!(rows == expected, "a plan that travelled has other rows");
}

/// Of the memory that the index of a window would take, some is missing.
#[tokio::test]
async fn window_is_hashed_when_memory_is_short() {
    let sql = "SELECT count(*), sum(c), sum(m) FROM (SELECT k, count(*) AS c, max(v) AS m \
               FROM events WHERE v < 20 GROUP BY k)";
    let bench = with_keys(numbers(ROWS * 4, |row| row * 7), properties());
    let expected = bench.expected(sql).await;
    let bench = bench.memory_limit(1_200_000);
    let session = bench.fused().await;
    let plan = plan_of(&session, sql).await;
    let batches = collect(Arc::clone(&plan), session.task_ctx()).await.unwrap();
    assert_eq!(texts(&batches), expected);
    let (found, hashed) = direct(&plan);
    assert!(found == 1 && hashed > 0, "{hashed} are hashed\n{}", shown(&plan));
    assert_eq!(bench.reserved_bytes(), 0);
}

#[tokio::test]
async fn memory_of_an_index_is_released_when_a_stream_is_dropped() {
    let bench = with_events().set("datafusion.execution.batch_size", "10");
    let session = bench.fused().await;
    let plan = plan_of(&session, ALL).await;
    let mut stream = execute_stream(Arc::clone(&plan), session.task_ctx()).unwrap();
    stream.next().await.unwrap().unwrap();
    assert_eq!(direct(&plan), (1, 0));
    assert!(bench.reserved_bytes() > 100_000, "{} bytes", bench.reserved_bytes());
    drop((stream, plan));
    for _ in 0..1000 {
        tokio::task::yield_now().await;
    }
    assert_eq!(bench.reserved_bytes(), 0);
}

#[tokio::test]
async fn error_of_an_argument_ends_the_query() {
    let sql = "SELECT k, sum(100 / (v - 7)) FROM events GROUP BY k";
    let error = run(&with_events(), sql).await.unwrap_err().to_string();
    assert!(error.to_lowercase().contains("divide by zero"), "{error}");
}
