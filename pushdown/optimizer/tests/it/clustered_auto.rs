// SPDX-License-Identifier: Apache-2.0
//! Tests where windows are chosen without being asked for.

use arrow::array::ArrayRef;
use rstest::rstest;

use crate::{
    bench::{Bench, shown},
    clustered::{check, numbers, properties, rows, windows},
    files, fused,
};

/// Rows of `events`, each with a key of its own: a table of them is larger than the cache.
const EVENTS: i64 = 400_000;

/// The table `events`, and `heads`, which has the same keys; all as by default.
fn with_keys(keys: ArrayRef) -> Bench {
    let group = || properties().set_max_row_group_row_count(Some(20_000));
    let heads = rows(numbers(EVENTS, |row| row));
    fused::bench().table("events", &rows(keys), group()).table("heads", &heads, group())
}

fn with_events() -> Bench {
    with_keys(numbers(EVENTS, |row| row))
}

#[rstest]
#[case::groups("SELECT k, count(*), sum(v) FROM events GROUP BY k")]
#[case::condition_above("SELECT k, sum(v) FROM events GROUP BY k HAVING sum(v) > 990")]
#[case::join(
    "SELECT heads.v, events.t FROM heads FULL JOIN events ON heads.k = events.k \
     WHERE heads.v = 3 OR events.v = 4"
)]
#[case::join_whose_keys_drop_few_rows(
    "SELECT heads.v, events.v FROM heads JOIN events ON heads.k = events.k WHERE heads.v > 100"
)]
#[tokio::test]
async fn windows_are_chosen_where_many_rows_would_be_distributed(#[case] sql: &str) {
    let bench = with_events()
        .set("datafusion.optimizer.hash_join_single_partition_threshold", "0")
        .set("datafusion.optimizer.hash_join_single_partition_threshold_rows", "0");
    let plan = check(&bench, sql).await;
    assert_eq!(windows(&plan).len(), 1, "{}", shown(&plan));
    let plan = check(&bench.set("nearscan.windows", "off"), sql).await;
    assert_eq!(windows(&plan), [0; 0], "{}", shown(&plan));
}

#[rstest]
#[case::few_groups(
    with_keys(numbers(EVENTS, |row| row / 100)),
    "SELECT k, count(*), sum(v) FROM events GROUP BY k"
)]
#[case::few_rows(with_events(), "SELECT k, count(*) FROM events WHERE v = 3 GROUP BY k")]
#[case::other_function(with_events(), "SELECT k, median(v) FROM events GROUP BY k")]
#[case::several_keys(with_events(), "SELECT k, v, count(*) FROM events GROUP BY k, v")]
#[case::join_whose_keys_drop_most_rows(
    with_events(),
    "SELECT heads.v, events.v FROM heads JOIN events ON heads.k = events.k WHERE heads.v = 3"
)]
#[case::small_build_side(
    with_events().table("few", &rows(numbers(100_000, |row| row)), files::usual()),
    "SELECT few.v, events.v FROM few RIGHT JOIN events ON few.k = events.k WHERE events.v < 900"
)]
#[tokio::test]
async fn windows_are_not_chosen_elsewhere(#[case] bench: Bench, #[case] sql: &str) {
    let bench = bench
        .set("datafusion.optimizer.hash_join_single_partition_threshold", "0")
        .set("datafusion.optimizer.hash_join_single_partition_threshold_rows", "0");
    let plan = check(&bench, sql).await;
    assert_eq!(windows(&plan), [0; 0], "{}", shown(&plan));
}

/// The join would read all of `heads` in windows, of which its keys leave few rows.
#[tokio::test]
async fn windows_are_chosen_for_an_aggregate_below_a_join_alone() {
    let bench = with_events()
        .set("datafusion.optimizer.hash_join_single_partition_threshold", "0")
        .set("datafusion.optimizer.hash_join_single_partition_threshold_rows", "0")
        .set("datafusion.optimizer.join_reordering", "false");
    let sql = "SELECT heads.v, g.s FROM \
               (SELECT k, sum(v) AS s FROM events GROUP BY k HAVING sum(v) > 990) g \
               JOIN heads ON heads.k = g.k";
    let plan = check(&bench, sql).await;
    let shown = shown(&plan);
    assert_eq!(windows(&plan).len(), 1, "{shown}");
    let place = |name: &str| shown.find(name).unwrap_or_else(|| panic!("{name}: {shown}"));
    assert!(place("HashJoinExec") < place("WindowsExec"), "{shown}");
}
