// SPDX-License-Identifier: Apache-2.0
//! Tests which scans get the keys of a join above them, through the operators between.

use std::{sync::Arc, time::Duration};

use arrow::array::{ArrayRef, Int32Array, Int64Array, RecordBatch};
use rstest::rstest;

use crate::{
    bench::{Bench, shown},
    files,
    fused::{self, check, metric},
};

/// Every fourth order of `lineitem` is in `orders`; few of them have these customers.
const FEW: &str = "(SELECT o_orderkey AS few FROM orders WHERE o_custkey < 3)";

/// Joins build tables of their left sides.
fn bench(partitions: &str) -> Bench {
    fused::bench()
        .set("datafusion.execution.target_partitions", partitions)
        .set("datafusion.optimizer.join_reordering", "false")
}

/// The keys that the scans of a table get, `-` where a scan gets none.
fn keys_of(shown: &str, table: &str) -> Vec<String> {
    let scans = shown.lines().filter(|line| line.contains(&format!("table={table},")));
    let keys = scans.map(|line| match line.split_once("join_keys=[") {
        Some((_, keys)) => keys.trim_end_matches(']').to_owned(),
        None => "-".to_owned(),
    });
    keys.collect()
}

/// `below` has a column `key`, which is joined with few orders.
#[rstest]
#[case::projection("SELECT l_tax, l_orderkey AS key FROM lineitem", &["l_orderkey"])]
#[case::group(
    "SELECT l_orderkey AS key, count(DISTINCT l_tax) AS l_tax FROM lineitem GROUP BY 1",
    &["l_orderkey"]
)]
#[case::union(
    "SELECT l_orderkey AS key, l_tax FROM lineitem UNION ALL \
     SELECT l_orderkey + 0, l_tax FROM lineitem UNION ALL SELECT l_orderkey, 1 FROM lineitem",
    &["l_orderkey", "-", "l_orderkey"]
)]
#[case::partition_of_a_window(
    "SELECT l_orderkey AS key, sum(l_tax) OVER (PARTITION BY l_orderkey) AS l_tax FROM lineitem",
    &["l_orderkey"]
)]
#[case::window_over_other_rows(
    "SELECT l_orderkey AS key, sum(l_tax) OVER (ORDER BY l_orderkey) AS l_tax FROM lineitem",
    &["-"]
)]
#[case::limit("SELECT l_orderkey AS key, l_tax FROM lineitem ORDER BY l_tax, 1 LIMIT 900", &["-"])]
#[case::volatile(
    "SELECT l_orderkey AS key, sum(l_tax) AS l_tax FROM lineitem GROUP BY 1 \
     HAVING sum(l_tax) < random() + 1000000",
    &["-"]
)]
#[case::computed("SELECT l_orderkey + 0 AS key, l_tax FROM lineitem", &["-"])]
#[tokio::test]
async fn key_is_traced_through_operators_that_keep_what_else_they_return(
    #[case] below: &str,
    #[case] expected: &[&str],
    #[values("1", "3")] partitions: &str,
) {
    let bench = bench(partitions);
    let sql = format!("SELECT count(*), sum(l_tax) FROM {FEW} JOIN ({below}) ON few = key");
    let shown = shown(&check(&bench, &sql).await);
    assert_eq!(keys_of(&shown, "lineitem"), expected, "{shown}");
}

/// The upper join is by a column of the lower one, whose other side has a column equal to it.
#[rstest]
#[case::inner("JOIN", "lineitem.l_orderkey", 2)]
#[case::left_by_preserved("LEFT JOIN", "lineitem.l_orderkey", 1)]
#[case::left_by_null_supplying("LEFT JOIN", "part.l_orderkey", 0)]
#[case::right_by_preserved("RIGHT JOIN", "part.l_orderkey", 1)]
#[case::right_by_null_supplying("RIGHT JOIN", "lineitem.l_orderkey", 0)]
#[case::full("FULL JOIN", "lineitem.l_orderkey", 0)]
#[case::left_semi("LEFT SEMI JOIN", "lineitem.l_orderkey", 2)]
#[case::right_semi("RIGHT SEMI JOIN", "part.l_orderkey", 2)]
#[case::left_anti("LEFT ANTI JOIN", "lineitem.l_orderkey", 1)]
#[case::right_anti("RIGHT ANTI JOIN", "part.l_orderkey", 1)]
#[tokio::test]
async fn key_is_traced_through_joins_that_drop_what_is_not_wanted(
    #[case] join: &str,
    #[case] key: &str,
    #[case] sides: usize,
    #[values("1", "3")] partitions: &str,
) {
    let bench = bench(partitions);
    let sql = format!(
        "SELECT count(*), sum(key) FROM {FEW} RIGHT SEMI JOIN \
         (SELECT {key} AS key FROM lineitem {join} lineitem AS part \
          ON lineitem.l_orderkey = part.l_orderkey AND part.l_code < 20) ON few = key"
    );
    let shown = shown(&check(&bench, &sql).await);
    assert_eq!(shown.matches("keys=[few").count(), sides.min(1), "{shown}");
    // A scan may have keys of the lower join besides.
    let linked = keys_of(&shown, "lineitem").iter().filter(|keys| **keys != "-").count();
    assert!(linked >= sides, "{shown}");
}

/// `few` has every thousandth of the numbers of `big` and of `ordered`, which declares its order.
fn numbers(partitions: &str) -> Bench {
    let table = |name: &str, numbers: Vec<i64>, other: &str| {
        let others = numbers.iter().map(|number| number % 7).collect::<Vec<_>>();
        let columns: [(&str, ArrayRef); 2] = [
            (name, Arc::new(Int64Array::from(numbers))),
            (other, Arc::new(Int64Array::from(others))),
        ];
        RecordBatch::try_from_iter(columns).unwrap()
    };
    let bench = bench(partitions)
        .set("datafusion.optimizer.hash_join_single_partition_threshold", "1000")
        .set("datafusion.optimizer.hash_join_single_partition_threshold_rows", "100")
        .table("few", &table("f", (1..=8).map(|n| n * 1000).collect(), "g"), files::usual())
        .table("big", &table("k", (1..=20_000).collect(), "v"), files::usual())
        .table("divided", &table("id", (1..=500).map(|n| n * 10).collect(), "d"), files::usual());
    let location = bench.path("big.parquet").display().to_string();
    bench.sql(format!(
        "CREATE EXTERNAL TABLE ordered STORED AS PARQUET WITH ORDER (k) LOCATION '{location}'"
    ))
}

/// None of the first ten is one of the few.
#[rstest]
#[case::scan("SELECT k AS key FROM ordered ORDER BY k LIMIT 10")]
#[case::filter("SELECT k AS key FROM ordered WHERE v < 6 ORDER BY k LIMIT 10")]
#[case::join(
    "SELECT ordered.k AS key FROM ordered JOIN ordered AS o ON ordered.k = o.k ORDER BY 1 LIMIT 10"
)]
#[tokio::test]
async fn rows_are_not_dropped_before_a_limit_counts_them(#[case] below: &str) {
    let sql = format!("SELECT count(*) FROM few JOIN ({below}) ON f = key");
    check(&numbers("1"), &sql).await;
}

/// Divisors are 0 in rows that the anti join drops, unless its other side has lost the partner.
#[tokio::test]
async fn rows_that_are_not_wanted_do_not_appear_where_they_fail() {
    let sql = "SELECT count(*), sum(q) FROM few JOIN (SELECT id, 10 / (d - 3) AS q FROM divided \
               WHERE NOT EXISTS (SELECT 1 FROM big WHERE k = id AND v = 3)) ON f = id";
    check(&numbers("1"), sql).await;
}

/// An operator above a join in mode CollectLeft may never poll some of its partitions.
#[tokio::test]
async fn collect_left_join_with_partitions_that_are_never_polled_ends() {
    let sql = "SELECT count(*), sum(c) FROM (SELECT k FROM big WHERE abs(k - 5000) = 0) JOIN \
               (SELECT k2, c FROM few JOIN (SELECT k AS k2, sum(v) OVER (PARTITION BY k) AS c \
               FROM big) ON f = k2) ON k = k2";
    let bench = numbers("4");
    let ended = tokio::time::timeout(Duration::from_secs(60), check(&bench, sql)).await;
    assert!(ended.is_ok(), "it waits for ever");
}

#[tokio::test]
async fn scan_with_keys_of_joins_alone_drops_rows() {
    let sql = "SELECT count(*), sum(x.z) FROM few JOIN (SELECT m.k, m.v AS z FROM big AS m \
               JOIN big ON m.k = big.k AND big.v < 3) AS x ON f = x.k";
    let plan = check(&numbers("1"), sql).await;
    let kept = metric(&plan, "output_rows");
    assert!(kept < 1000, "{kept} rows are kept\n{}", shown(&plan));
}

/// The lower join collects its build side, which has several partitions.
#[tokio::test]
async fn scan_of_a_build_side_waits_for_the_keys_of_the_join_above() {
    let bench = numbers("4")
        .set("datafusion.optimizer.hash_join_single_partition_threshold", "100000000")
        .set("datafusion.optimizer.hash_join_single_partition_threshold_rows", "10000000");
    // The upper build side takes longer than the lower one.
    let sql = "SELECT count(*), sum(x.z) FROM \
               (SELECT a.k AS f FROM big AS a JOIN big AS b ON a.k = b.k AND abs(a.k) % 1000 = 0) \
               JOIN (SELECT m.k, m.v AS z FROM big AS m JOIN big ON m.k = big.k AND big.v < 3) \
               AS x ON f = x.k";
    let plan = check(&bench, sql).await;
    let (shown, kept) = (shown(&plan), metric(&plan, "output_rows"));
    assert!(shown.contains("CoalescePartitionsExec") && !shown.contains("Partitioned"), "{shown}");
    assert!(kept < 1000, "{kept} rows are kept\n{shown}");
}

/// With NULL among the values on the left, which is in no set, but not in an empty one either.
#[tokio::test]
async fn not_in_takes_no_rows_from_the_side_that_it_asks_for_any() {
    let sql = "SELECT count(*), count(code) FROM \
               (SELECT CASE WHEN l_code < 30 THEN NULL ELSE l_code + 10000 END AS code \
                FROM lineitem) \
               WHERE code NOT IN (SELECT o_orderkey FROM orders)";
    let shown = shown(&check(&bench("1"), sql).await);
    assert!(!shown.contains("join_keys"), "{shown}");
}

#[tokio::test]
async fn row_groups_without_a_key_are_pruned() {
    let sql = "SELECT count(*), sum(l_tax) FROM \
               (SELECT o_orderkey FROM orders WHERE o_orderkey IN (4, 1600)) \
               JOIN lineitem ON l_orderkey = o_orderkey";
    let plan = check(&bench("1"), sql).await;
    // Of the four row groups of `lineitem`, which is in the order of the keys.
    assert!(metric(&plan, "row_groups_pruned") >= 2, "{}", shown(&plan));
}

/// `grid` has every pair of numbers below 100 twice, and pairs with NULL. `pairs` has every number
/// in one of its pairs, so that neither column by itself drops a row, and one NULL in each column.
fn grid(partitions: &str) -> Bench {
    let table = |pairs: Vec<(Option<i64>, Option<i32>)>| {
        let (one, other): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
        let (one, other) = (Int64Array::from(one), Int32Array::from(other));
        let columns: [(&str, ArrayRef); 2] = [("x", Arc::new(one)), ("y", Arc::new(other))];
        RecordBatch::try_from_iter(columns).unwrap()
    };
    let number = |number: i32| (number % 97 != 5).then_some(number);
    let of_grid = (0..20_000).map(|row| (number(row % 100).map(i64::from), number(row / 200)));
    let of_pairs = (0..100).map(|row| (Some(i64::from(row)), Some(row * 37 % 100)));
    let of_pairs = of_pairs.chain([(None, Some(1)), (Some(1), None)]);
    bench(partitions).table("grid", &table(of_grid.collect()), files::usual()).table(
        "pairs",
        &table(of_pairs.collect()),
        files::usual(),
    )
}

#[rstest]
#[case::inner("pairs JOIN grid ON pairs.x = grid.x AND pairs.y = grid.y", true)]
#[case::other_order("pairs JOIN grid ON pairs.y = grid.y AND pairs.x = grid.x", true)]
#[case::semi("pairs RIGHT SEMI JOIN grid ON pairs.x = grid.x AND pairs.y = grid.y", true)]
#[case::left("pairs LEFT JOIN grid ON pairs.x = grid.x AND pairs.y = grid.y", true)]
#[case::one_column_twice("pairs JOIN grid ON pairs.x = grid.x AND pairs.y = grid.x", true)]
#[case::union(
    "pairs JOIN (SELECT * FROM grid UNION ALL SELECT x, CAST(y + 0 AS INT) FROM grid) AS grid \
     ON pairs.x = grid.x AND pairs.y = grid.y",
    false
)]
#[tokio::test]
async fn keys_of_several_columns_drop_rows_that_no_column_drops(
    #[case] join: &str,
    #[case] drops_most: bool,
    #[values("1", "3")] partitions: &str,
) {
    let preserved = if join.contains("SEMI") { "grid" } else { "pairs" };
    let sql = format!("SELECT count(*), sum({preserved}.x), sum({preserved}.y) FROM {join}");
    let plan = check(&grid(partitions), &sql).await;
    let shown = shown(&plan);
    assert!(keys_of(&shown, "grid").iter().any(|keys| keys.contains("(")), "{shown}");
    // 102 of `pairs`, 196 of `grid` with a partner, 404 with NULL, and few others.
    let rows = metric(&plan, "output_rows");
    assert_eq!(rows < 1500, drops_most, "{rows} rows\n{shown}");
}
