// SPDX-License-Identifier: Apache-2.0
//! Tests windows of keys in whose order files are written: what runs in them, and that the rows
//! stay the same.

use std::{fs, sync::Arc};

use arrow::{
    array::{Array, ArrayRef, Int64Array, RecordBatch, StringArray, new_null_array},
    compute::{cast, concat},
    datatypes::DataType,
};
use datafusion::{
    common::tree_node::{TreeNode, TreeNodeRecursion},
    error::Result,
    physical_plan::{
        ExecutionPlan, ExecutionPlanProperties, collect, execute_stream,
        execution_plan::reset_plan_states,
    },
};
use futures::{StreamExt, TryStreamExt};
use nearscan_optimizer::WindowsExec;
use parquet::file::properties::{EnabledStatistics, WriterPropertiesBuilder};
use rstest::rstest;

use crate::{
    bench::{Bench, plan_of, shown, texts},
    codec::travelled,
    files,
    fused::{self, metric},
};

/// Rows of a table; its keys are from 0 to a third of it.
pub(crate) const ROWS: i64 = 100_000;

/// Rows of a row group: three rows have the same key, so row groups share keys with neighbours.
const GROUP_ROWS: usize = 5000;

/// Each tenth key of `events`.
const EVENTS_OF_TEN: i64 = ROWS / 3 / 10;

/// Without drives, with windows.
pub(crate) fn bench() -> Bench {
    fused::bench().set("nearscan.windows", "on")
}

pub(crate) fn numbers(rows: i64, value: impl Fn(i64) -> i64) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values((0..rows).map(value)))
}

/// Rows with these keys, numbers and texts.
pub(crate) fn rows(key: ArrayRef) -> RecordBatch {
    let count = i64::try_from(key.len()).unwrap();
    let text = (0..count).map(|row| Some(format!("text {}", row * 31 % 97)));
    let columns: [(&str, ArrayRef); 3] = [
        ("k", key),
        ("v", numbers(count, |row| row * 7919 % 1000)),
        ("t", Arc::new(text.collect::<StringArray>())),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true)))
        .unwrap()
}

fn ascending() -> ArrayRef {
    numbers(ROWS, |row| row / 3)
}

/// Without dictionaries of keys, by whose entries the scan itself would group.
pub(crate) fn properties() -> WriterPropertiesBuilder {
    let usual = files::usual().set_column_dictionary_enabled("k".into(), false);
    usual.set_max_row_group_row_count(Some(GROUP_ROWS))
}

/// The table `events` with these keys, and `few`, which has each tenth of them.
pub(crate) fn with_keys(key: ArrayRef, properties: WriterPropertiesBuilder) -> Bench {
    let few = rows(numbers(EVENTS_OF_TEN, |row| row * 10));
    bench().table("events", &rows(key), properties).table("few", &few, files::usual())
}

pub(crate) fn with_events() -> Bench {
    with_keys(ascending(), properties())
}

/// The numbers of windows in a plan.
pub(crate) fn windows(plan: &Arc<dyn ExecutionPlan>) -> Vec<usize> {
    let mut found = Vec::new();
    plan.apply(|node| {
        if node.is::<WindowsExec>() {
            found.push(node.children()[0].output_partitioning().partition_count());
        }
        Ok(TreeNodeRecursion::Continue)
    })
    .unwrap();
    found
}

/// Runs a statement, and compares its rows, in whatever order, with those of DataFusion.
pub(crate) async fn check(bench: &Bench, sql: &str) -> Arc<dyn ExecutionPlan> {
    let session = bench.fused().await;
    let plan = plan_of(&session, sql).await;
    let batches = collect(Arc::clone(&plan), session.task_ctx()).await.unwrap();
    let (mut rows, mut expected) = (texts(&batches), bench.expected(sql).await);
    assert!(!expected.is_empty(), "a test without rows tests nothing");
    rows.sort_unstable();
    expected.sort_unstable();
    assert!(rows == expected, "{} rows of {}\n{}", rows.len(), expected.len(), shown(&plan));
    plan
}

#[tokio::test]
async fn groups_by_a_clustered_key_are_aggregated_in_windows() {
    let bench = with_events();
    let plan =
        check(&bench, "SELECT k, count(*), sum(v) FROM events WHERE v < 900 GROUP BY k").await;
    insta::assert_snapshot!(shown(&plan));
}

#[rstest]
#[case::distinct("SELECT DISTINCT k FROM events")]
#[case::several_keys("SELECT v, k, count(*) FROM events GROUP BY 1, 2")]
#[case::alias("SELECT x, max(v) FROM (SELECT k AS x, v FROM events WHERE v > 3) GROUP BY x")]
#[case::average("SELECT k, avg(v), min(t), max(t) FROM events GROUP BY k")]
#[case::other_function("SELECT k, median(v) FROM events GROUP BY k")]
#[case::filter("SELECT k, count(*) FILTER (WHERE v > 500) FROM events GROUP BY k")]
#[case::distinct_values("SELECT k, count(DISTINCT v) FROM events GROUP BY k")]
#[case::condition_on_the_key(
    "SELECT k, sum(v) FROM events WHERE k BETWEEN 100 AND 30000 GROUP BY k"
)]
#[case::aggregate_above(
    "SELECT c, count(*), sum(s) FROM (SELECT k, count(*) AS c, sum(v) AS s FROM events GROUP BY k) \
     GROUP BY c"
)]
#[case::order_above("SELECT k, count(*) AS c FROM events GROUP BY k ORDER BY c DESC, k LIMIT 10")]
#[case::collected_build_side(
    "SELECT k, count(*), sum(w) FROM (SELECT e.k, f.v AS w FROM events e JOIN few f ON e.v = f.v) \
     GROUP BY k"
)]
#[case::join_above(
    "SELECT f.t, g.c FROM few f JOIN (SELECT k, count(*) AS c FROM events GROUP BY k) g \
     ON f.k = g.k"
)]
#[tokio::test]
async fn groups_of_windows_are_those_of_datafusion(
    #[case] sql: &str,
    #[values("2", "3")] partitions: &str,
    #[values("8192", "100")] batch_rows: &str,
) {
    let bench = with_events()
        .set("datafusion.execution.target_partitions", partitions)
        .set("datafusion.execution.batch_size", batch_rows);
    let plan = check(&bench, sql).await;
    assert_eq!(windows(&plan).len(), 1, "{}", shown(&plan));
}

/// Keys of some type, in which every value has its place.
#[rstest]
#[case::int32(DataType::Int32)]
#[case::uint32(DataType::UInt32)]
#[case::date(DataType::Date32)]
#[tokio::test]
async fn keys_are_integers_and_dates(#[case] data_type: DataType) {
    let keys = cast(&cast(&ascending(), &DataType::Int32).unwrap(), &data_type).unwrap();
    let plan =
        check(&with_keys(keys, properties()), "SELECT k, sum(v) FROM events GROUP BY k").await;
    assert_eq!(windows(&plan).len(), 1, "{}", shown(&plan));
}

pub(crate) fn with_nulls(null: impl Fn(i64) -> bool, key: impl Fn(i64) -> i64) -> ArrayRef {
    let keys = (0..ROWS).map(|row| (!null(row)).then(|| key(row)));
    Arc::new(keys.collect::<Int64Array>())
}

#[rstest]
#[case::descending(numbers(ROWS, |row| -row / 3))]
#[case::from_negative_to_positive(numbers(ROWS, |row| row / 3 - 20_000))]
#[case::up_to_the_last_number(numbers(ROWS, |row| i64::MAX - row / 3))]
#[case::from_the_first_number(numbers(ROWS, |row| i64::MIN + row / 3))]
#[case::nearly_sorted(numbers(ROWS, |row| row / 3 + row * 7919 % 1000))]
#[case::gaps(numbers(ROWS, |row| row / 10_000 * 1_000_000 + row % 100))]
#[case::nulls_in_some_row_groups(with_nulls(|row| row < 7000 && row % 3 == 0, |row| row / 3))]
#[case::row_groups_of_nulls(with_nulls(|row| row >= 90_000, |row| row / 3))]
#[case::nulls_in_all_row_groups(with_nulls(|row| row % 5 == 0, |row| row / 3))]
#[case::nulls_beside_the_first_number(with_nulls(
    |row| row < 9000 && row % 2 == 1,
    |row| i64::MIN + row
))]
#[tokio::test]
async fn groups_are_right_wherever_keys_are(#[case] keys: ArrayRef) {
    let bench = with_keys(keys, properties());
    let plan = check(&bench, "SELECT k, count(*), sum(v) FROM events GROUP BY k").await;
    assert_eq!(windows(&plan).len(), 1, "{}", shown(&plan));
    // A row group that is in two windows is read twice, but few are.
    let read = metric(&plan, "row_groups");
    assert!((20..50).contains(&read), "{read} row groups were read");
}

#[rstest]
#[case::setting(with_events().set("nearscan.windows", "off"), "SELECT k FROM events GROUP BY k")]
#[case::reader(with_events().set("nearscan.scan", "datafusion"), "SELECT k FROM events GROUP BY k")]
#[case::keys_everywhere(
    with_keys(numbers(ROWS, |row| row * 7919 % 100_003), properties()),
    "SELECT k FROM events GROUP BY k"
)]
#[case::no_bounds(
    with_keys(ascending(), properties().set_statistics_enabled(EnabledStatistics::None)),
    "SELECT k FROM events GROUP BY k"
)]
#[case::one_row_group(
    with_keys(ascending(), files::usual().set_max_row_group_row_count(Some(200_000))),
    "SELECT k FROM events GROUP BY k"
)]
#[case::most_rows_of_one_key(
    with_keys(numbers(ROWS, |row| (row - 80_000).max(0)), properties()),
    "SELECT k FROM events GROUP BY k"
)]
#[case::few_rows(with_events(), "SELECT k FROM few GROUP BY k")]
#[case::other_key(with_events(), "SELECT v FROM events GROUP BY v")]
#[case::computed_key(with_events(), "SELECT k + 1 FROM events GROUP BY 1")]
#[case::floats(with_events(), "SELECT CAST(k AS DOUBLE) FROM events GROUP BY 1")]
#[case::grouping_sets(with_events(), "SELECT k, t, count(*) FROM events GROUP BY ROLLUP (k, t)")]
#[case::limit(with_events(), "SELECT count(*) FROM (SELECT DISTINCT k FROM events LIMIT 3)")]
#[case::one_partition(
    with_events().set("datafusion.execution.target_partitions", "1"),
    "SELECT k FROM events GROUP BY k"
)]
#[case::null_extended(
    with_events(),
    "SELECT e.k, count(*) FROM events e RIGHT JOIN few f ON e.v = f.v + 900 GROUP BY e.k"
)]
#[tokio::test]
async fn other_groups_have_no_windows(#[case] bench: Bench, #[case] sql: &str) {
    let plan = check(&bench, sql).await;
    assert_eq!(windows(&plan), [0; 0], "{}", shown(&plan));
}

/// The other side of the join is distributed by the hash of its key, so groups have to be, too.
#[tokio::test]
async fn groups_are_distributed_again_where_an_operator_relies_on_it() {
    let bench = with_events()
        .set("datafusion.optimizer.hash_join_single_partition_threshold", "0")
        .set("datafusion.optimizer.hash_join_single_partition_threshold_rows", "0");
    let sql = "SELECT f.k, f.c, g.c FROM (SELECT v AS k, count(*) AS c FROM few GROUP BY v) f \
               JOIN (SELECT k, count(*) AS c FROM events GROUP BY k) g ON f.k = g.k";
    let plan = check(&bench, sql).await;
    assert_eq!(windows(&plan).len(), 1, "{}", shown(&plan));
    let shown = shown(&plan);
    let lines: Vec<&str> = shown.lines().map(str::trim).collect();
    let place = lines.iter().position(|line| line.starts_with("WindowsExec")).unwrap();
    assert!(lines[..place].iter().rev().any(|it| it.contains("Hash([k@0], 2)")), "{shown}");
}

#[tokio::test]
async fn order_that_is_declared_is_kept() {
    let bench = with_events();
    let location = bench.path("events.parquet").display().to_string();
    let bench = bench.sql(format!(
        "CREATE EXTERNAL TABLE ordered STORED AS PARQUET WITH ORDER (k) LOCATION '{location}'"
    ));
    let plan = check(&bench, "SELECT k, count(*) FROM ordered GROUP BY k").await;
    assert_eq!(windows(&plan), [0; 0], "{}", shown(&plan));
}

/// A folder of a large file, and a small one with keys in the middle that the fused scan cannot
/// read: `v` is stored as another type.
fn with_unreadable_file() -> Bench {
    let bench = bench();
    let folder = bench.path("mixed");
    fs::create_dir_all(&folder).unwrap();
    files::write(&folder.join("a.parquet"), &rows(ascending()), properties());
    let nulls = new_null_array(&DataType::Int64, 5);
    let keys = numbers(900, |row| 16_000 + row);
    let other = rows(concat(&[keys.as_ref(), nulls.as_ref()]).unwrap());
    let schema = other.schema();
    let columns = schema.fields().iter().zip(other.columns()).map(|(field, column)| {
        let column = match field.name().as_str() {
            "v" => cast(column, &DataType::Utf8).unwrap(),
            _ => Arc::clone(column),
        };
        (field.name().clone(), column, true)
    });
    let other = RecordBatch::try_from_iter_with_nullable(columns.collect::<Vec<_>>()).unwrap();
    files::write(&folder.join("b.parquet"), &other, properties());
    bench.sql(format!(
        "CREATE EXTERNAL TABLE mixed (k BIGINT, v BIGINT, t VARCHAR) STORED AS PARQUET \
         LOCATION '{}/'",
        folder.display()
    ))
}

#[tokio::test]
async fn rows_that_datafusion_reads_are_in_their_window() {
    let bench = with_unreadable_file();
    let plan = check(&bench, "SELECT k, count(*), sum(v) FROM mixed GROUP BY k").await;
    let [windows] = windows(&plan).try_into().unwrap();
    assert_eq!(metric(&plan, "row_groups_datafusion"), windows, "{}", shown(&plan));
}

/// Replaces a number of 64 bits in a file's footer.
fn lie_in_footer(bench: &Bench, name: &str, number: i64, lie: i64) {
    let path = bench.path(&format!("{name}.parquet"));
    let mut bytes = fs::read(&path).unwrap();
    let length = bytes.len();
    let footer = u32::from_le_bytes(bytes[length - 8..length - 4].try_into().unwrap());
    let footer = &mut bytes[length - 8 - footer as usize..length - 8];
    let mut found = 0;
    for start in 0..footer.len() - 8 {
        if footer[start..start + 8] == number.to_le_bytes() {
            footer[start..start + 8].copy_from_slice(&lie.to_le_bytes());
            found += 1;
        }
    }
    assert!(found > 0, "{number} is no bound");
    fs::write(path, bytes).unwrap();
}

pub(crate) async fn run(bench: &Bench, sql: &str) -> Result<Vec<RecordBatch>> {
    let session = bench.fused().await;
    let plan = plan_of(&session, sql).await;
    assert_eq!(windows(&plan).len(), 1, "{}", shown(&plan));
    collect(plan, session.task_ctx()).await
}

/// The keys of row group 4 are from 6,666 to 8,333.
#[rstest]
#[case::greatest(8333, 8000, 8001)]
#[case::least(6666, 7000, 6666)]
#[tokio::test]
async fn key_beyond_the_bounds_of_its_row_group_ends_the_query(
    #[case] bound: i64,
    #[case] lie: i64,
    #[case] key: i64,
) {
    let keys = numbers(ROWS, |row| row / 3 + row / 5000 * 100_000);
    let of_group = |key: i64| key + 4 * 100_000;
    let bench = with_keys(keys, properties());
    lie_in_footer(&bench, "events", of_group(bound), of_group(lie));
    let error = run(&bench, "SELECT k, count(*) FROM events GROUP BY k").await.unwrap_err();
    let error = error.to_string();
    let place = "events.parquet, row group 4, column k has ";
    let expected = format!("{place}{}", of_group(key));
    assert!(error.contains(&expected), "{error}");
}

#[tokio::test]
async fn each_partition_runs_its_own_windows_when_it_runs_alone() {
    let bench = with_events();
    let session = bench.fused().await;
    let sql = "SELECT k, count(*) FROM events GROUP BY k";
    let mut plan = plan_of(&session, sql).await;
    let mut expected = bench.expected(sql).await;
    expected.sort_unstable();
    for _ in 0..2 {
        let mut rows = Vec::new();
        for partition in 0..2 {
            let stream = plan.execute(partition, session.task_ctx()).unwrap();
            let batches = stream.try_collect::<Vec<_>>().await.unwrap();
            assert!(!batches.is_empty());
            rows.extend(texts(&batches));
        }
        rows.sort_unstable();
        assert!(rows == expected);
        plan = reset_plan_states(plan).unwrap();
    }
    assert_eq!(bench.reserved_bytes(), 0);
}

#[tokio::test]
async fn partition_takes_windows_of_others_that_run() {
    let bench = with_events();
    let session = bench.fused().await;
    let sql = "SELECT k, count(*) FROM events GROUP BY k";
    let plan = plan_of(&session, sql).await;
    let (task, groups) = (session.task_ctx(), bench.expected(sql).await.len());
    let mut first = plan.execute(0, Arc::clone(&task)).unwrap();
    let other = plan.execute(1, task).unwrap();
    let mut rows = first.next().await.unwrap().unwrap().num_rows();
    while let Some(batch) = first.next().await {
        rows += batch.unwrap().num_rows();
    }
    assert_eq!(rows, groups);
    assert_eq!(other.try_collect::<Vec<_>>().await.unwrap(), []);
}

#[tokio::test]
async fn memory_is_released_when_a_stream_is_dropped() {
    let bench = with_events().set("datafusion.execution.batch_size", "10");
    let session = bench.fused().await;
    let plan = plan_of(&session, "SELECT k, count(*) FROM events GROUP BY k").await;
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

/// All groups would take more than there is memory.
#[tokio::test]
async fn memory_of_one_window_suffices() {
    let sql = "SELECT count(*), sum(c), sum(m) FROM (SELECT k, count(*) AS c, max(v) AS m \
               FROM events GROUP BY k)";
    let bench = with_keys(numbers(ROWS * 4, |row| row), properties());
    let expected = bench.expected(sql).await;
    let bench = bench.memory_limit(6_000_000);
    assert_eq!(texts(&run(&bench, sql).await.unwrap()), expected);
    assert_eq!(bench.reserved_bytes(), 0);
}

#[tokio::test]
async fn windows_travel_as_what_they_replace() {
    let bench = with_events();
    let session = bench.fused().await;
    let sql = "SELECT k, count(*), sum(v) FROM events GROUP BY k";
    let plan = plan_of(&session, sql).await;
    assert_eq!(windows(&plan).len(), 1, "{}", shown(&plan));
    let plan = travelled(&plan, &session);
    assert_eq!(windows(&plan), [0; 0], "{}", shown(&plan));
    let (mut rows, mut expected) =
        (texts(&collect(plan, session.task_ctx()).await.unwrap()), bench.expected(sql).await);
    rows.sort_unstable();
    expected.sort_unstable();
    assert!(rows == expected);
}
