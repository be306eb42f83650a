// SPDX-License-Identifier: Apache-2.0
//! Tests joins in windows of their key: which run there, and that the rows stay the same.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use datafusion::physical_plan::{collect, execute_stream};
use futures::StreamExt;
use rstest::rstest;

use crate::{
    bench::{Bench, plan_of, shown, texts},
    clustered::{bench, check, windows},
    codec::travelled,
    files,
    fused::metric,
};

/// Rows of `lines`; three have the same key.
const LINES: i64 = 60_000;

/// Rows of `heads`; every second has no lines, and the last ones are behind all lines.
const HEADS: i64 = 44_000;

fn numbers(rows: i64, value: impl Fn(i64) -> Option<i64>) -> ArrayRef {
    Arc::new((0..rows).map(value).collect::<Int64Array>())
}

fn table(rows: i64, key: impl Fn(i64) -> Option<i64>, value: &str) -> RecordBatch {
    let columns = [
        ("k", numbers(rows, key), true),
        ("g", numbers(rows, |row| Some(row / 5000)), true),
        (value, numbers(rows, |row| Some(row * 7919 % 1000)), true),
    ];
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

/// The tables `heads` and `lines`, which have NULL in some keys.
fn with_tables() -> Bench {
    let group = |rows| {
        let usual = files::usual().set_column_dictionary_enabled("k".into(), false);
        usual.set_max_row_group_row_count(Some(rows))
    };
    let heads = table(HEADS, |row| (row % 4000 != 7).then_some(row / 2 * 2), "h");
    let lines = table(LINES, |row| (row % 5000 != 9).then_some(row / 3 * 2), "l");
    bench()
        .set("datafusion.optimizer.hash_join_single_partition_threshold", "0")
        .set("datafusion.optimizer.hash_join_single_partition_threshold_rows", "0")
        .table("heads", &heads, group(3000))
        .table("lines", &lines, group(4100))
}

#[tokio::test]
async fn both_sides_of_a_join_are_cut_alike() {
    let sql = "SELECT heads.k, h, l FROM heads JOIN lines ON heads.k = lines.k WHERE h < 100";
    let plan = check(&with_tables(), sql).await;
    insta::assert_snapshot!(shown(&plan));
}

#[rstest]
#[case::inner("SELECT * FROM heads JOIN lines ON heads.k = lines.k")]
#[case::left("SELECT * FROM heads LEFT JOIN lines ON heads.k = lines.k")]
#[case::right("SELECT * FROM heads RIGHT JOIN lines ON heads.k = lines.k")]
#[case::full("SELECT * FROM heads FULL JOIN lines ON heads.k = lines.k")]
#[case::left_semi("SELECT * FROM heads LEFT SEMI JOIN lines ON heads.k = lines.k")]
#[case::right_semi("SELECT * FROM heads RIGHT SEMI JOIN lines ON heads.k = lines.k")]
#[case::left_anti("SELECT * FROM heads LEFT ANTI JOIN lines ON heads.k = lines.k")]
#[case::right_anti("SELECT * FROM heads RIGHT ANTI JOIN lines ON heads.k = lines.k")]
#[case::exists(
    "SELECT * FROM heads WHERE h = 1 OR EXISTS (SELECT 1 FROM lines WHERE lines.k = heads.k)"
)]
#[case::null_is_a_key("SELECT * FROM heads JOIN lines ON heads.k IS NOT DISTINCT FROM lines.k")]
#[case::null_is_a_key_of_full(
    "SELECT * FROM heads FULL JOIN lines ON heads.k IS NOT DISTINCT FROM lines.k"
)]
#[case::null_is_a_key_of_anti(
    "SELECT * FROM heads LEFT ANTI JOIN lines ON heads.k IS NOT DISTINCT FROM lines.k"
)]
#[case::condition("SELECT * FROM heads LEFT JOIN lines ON heads.k = lines.k AND h < l")]
#[case::few_heads("SELECT * FROM heads JOIN lines ON heads.k = lines.k WHERE h = 3")]
#[case::no_heads_of_some(
    "SELECT * FROM heads JOIN lines ON heads.k = lines.k WHERE heads.k > 30000"
)]
#[case::groups_above(
    "SELECT lines.k, count(*), sum(h) FROM heads JOIN lines ON heads.k = lines.k GROUP BY 1"
)]
#[case::groups_of_the_other_key_above(
    "SELECT heads.k, h, sum(l) FROM heads JOIN lines ON heads.k = lines.k GROUP BY 1, 2"
)]
#[case::groups_below(
    "SELECT h, c FROM heads JOIN (SELECT k, count(*) AS c FROM lines GROUP BY k) g ON heads.k = g.k"
)]
#[case::three_sides(
    "SELECT heads.k, a.l, b.l FROM heads JOIN lines a ON heads.k = a.k \
     LEFT JOIN lines b ON heads.k = b.k AND b.l < 50"
)]
#[case::semi_below(
    "SELECT heads.k, sum(l) FROM heads JOIN lines ON heads.k = lines.k WHERE heads.k IN \
     (SELECT k FROM lines GROUP BY k HAVING sum(l) > 1700) GROUP BY 1"
)]
#[case::other_groups_above(
    "SELECT g.l, count(*) FROM (SELECT l FROM heads JOIN lines ON heads.k = lines.k) g GROUP BY 1"
)]
#[tokio::test]
async fn rows_of_joined_windows_are_those_of_datafusion(
    #[case] sql: &str,
    #[values("2", "3")] partitions: &str,
    #[values("true", "false")] reorders: &str,
) {
    let bench = with_tables()
        .set("datafusion.execution.target_partitions", partitions)
        .set("datafusion.optimizer.join_reordering", reorders);
    let plan = check(&bench, sql).await;
    assert_eq!(windows(&plan).len(), 1, "{}", shown(&plan));
}

#[rstest]
#[case::setting(
    with_tables().set("nearscan.windows", "off"),
    "SELECT * FROM heads JOIN lines ON heads.k = lines.k"
)]
#[case::one_partition(
    with_tables().set("datafusion.execution.target_partitions", "1"),
    "SELECT * FROM heads JOIN lines ON heads.k = lines.k"
)]
#[case::collected(
    with_tables().set("datafusion.optimizer.hash_join_single_partition_threshold", "10000000")
        .set("datafusion.optimizer.hash_join_single_partition_threshold_rows", "10000000"),
    "SELECT * FROM heads JOIN lines ON heads.k = lines.k"
)]
#[case::other_keys(with_tables(), "SELECT heads.k FROM heads JOIN lines ON h = l AND h < 3")]
#[case::not_in(
    with_tables(),
    "SELECT k FROM heads WHERE k NOT IN (SELECT k FROM lines WHERE k IS NOT NULL)"
)]
#[case::several_columns(
    with_tables(),
    "SELECT heads.k FROM heads JOIN lines ON heads.g = lines.l AND heads.k = lines.k"
)]
#[case::hidden_partitioning(
    with_tables(),
    "SELECT * FROM heads RIGHT JOIN lines ON heads.k = lines.k AND h = 3"
)]
#[case::one_side_only(with_tables(), "SELECT heads.k FROM heads JOIN lines ON heads.k = l")]
#[case::computed_key(
    with_tables(),
    "SELECT heads.k FROM heads JOIN lines ON heads.k = lines.k + 1"
)]
#[tokio::test]
async fn other_joins_have_no_windows(#[case] bench: Bench, #[case] sql: &str) {
    let session = bench.fused().await;
    let plan = plan_of(&session, sql).await;
    assert_eq!(windows(&plan), [0; 0], "{}", shown(&plan));
}

/// Rows that the key of an outer side is NULL in are in the windows of the other side's key.
#[tokio::test]
async fn groups_by_a_key_that_may_be_extended_with_null_are_distributed() {
    let sql = "SELECT lines.k, count(*), sum(h) FROM heads LEFT JOIN lines ON heads.k = lines.k \
               GROUP BY 1";
    let plan =
        check(&with_tables().set("datafusion.optimizer.join_reordering", "false"), sql).await;
    let shown = shown(&plan);
    let place = |name: &str| shown.find(name).unwrap_or_else(|| panic!("{name}: {shown}"));
    assert!(place("PartitionedAggregateExec") < place("WindowsExec"), "{shown}");
}

/// One head in a thousand is wanted, so most rows of lines are dropped in their scan, by the keys
/// of the same window.
#[tokio::test]
async fn scan_drops_rows_by_the_keys_of_its_window() {
    let bench = with_tables().set("datafusion.optimizer.join_reordering", "false");
    let sql = "SELECT * FROM heads JOIN lines ON heads.k = lines.k WHERE h = 3";
    let plan = check(&bench, sql).await;
    let shown = shown(&plan);
    assert!(shown.contains("JoinKeysExec: keys=[k@0]"), "{shown}");
    let scan = shown.lines().find(|line| line.contains("table=lines")).unwrap();
    assert!(scan.contains("join_keys=[k]") && !scan.contains("dynamic_filter"), "{shown}");
    // 44 heads, a few in each window.
    let rows = metric(&plan, "output_rows");
    assert!(rows < 1000, "{rows} rows left the scans\n{shown}");
}

/// The join above waits for all of its build side, which is none of the windows'.
#[tokio::test]
async fn join_above_windows_gives_its_keys_to_the_scans_in_them() {
    let bench = with_tables().set("datafusion.optimizer.join_reordering", "false");
    let sql = "SELECT j.l, j.h FROM (SELECT DISTINCT l AS k FROM lines WHERE l < 9) few \
               RIGHT SEMI JOIN (SELECT h, l FROM heads JOIN lines ON heads.k = lines.k) j \
               ON few.k = j.h";
    let plan = check(&bench, sql).await;
    let shown = shown(&plan);
    assert_eq!(windows(&plan).len(), 1, "{shown}");
    let scan = shown.lines().find(|line| line.contains("table=heads")).unwrap();
    assert!(scan.contains("join_keys=[h]"), "{shown}");
}

#[tokio::test]
async fn memory_is_released_when_a_join_is_dropped() {
    let bench = with_tables().set("datafusion.execution.batch_size", "10");
    let session = bench.fused().await;
    let sql = "SELECT heads.k, h, l FROM heads JOIN lines ON heads.k = lines.k";
    let plan = plan_of(&session, sql).await;
    let mut stream = execute_stream(Arc::clone(&plan), session.task_ctx()).unwrap();
    stream.next().await.unwrap().unwrap();
    assert!(bench.reserved_bytes() > 0);
    drop((stream, plan));
    for _ in 0..1000 {
        tokio::task::yield_now().await;
    }
    assert_eq!(bench.reserved_bytes(), 0);
}

#[tokio::test]
async fn joined_windows_travel_as_what_they_replace() {
    let bench = with_tables();
    let session = bench.fused().await;
    let sql = "SELECT * FROM heads FULL JOIN lines ON heads.k = lines.k";
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
