// SPDX-License-Identifier: Apache-2.0
//! Grouping sets and outer joins of rows of which much is known.

use nearscan::Engine;
use rstest::rstest;

use crate::support::{engine, rows_of, text};

/// `k` and `v` in ten rows each, `k` from 0 to 2, `w` as `v`.
const TABLE: &str = "CREATE TABLE t AS SELECT value % 3 AS k, value % 4 AS v, value % 4 AS w \
                     FROM generate_series(0, 119)";

#[rstest]
#[case::of_a_constant("k", "t WHERE k = 1", "ROLLUP(k)", "k", "1 40|NULL 40")]
#[case::of_constants_united(
    "k",
    "(SELECT k FROM t WHERE k = 1 UNION ALL SELECT k FROM t WHERE k = 1) AS u",
    "ROLLUP(k)",
    "k",
    "1 80|NULL 80"
)]
#[case::of_a_constant_and_another(
    "k, v",
    "t WHERE k = 1 AND v < 2",
    "CUBE(k, v)",
    "k, v",
    "1 0 10|1 1 10|1 NULL 20|NULL 0 10|NULL 1 10|NULL NULL 20"
)]
#[case::of_equals(
    "v, w",
    "t WHERE v = w AND v < 2",
    "CUBE(v, w)",
    "v, w",
    "0 0 30|0 NULL 30|1 1 30|1 NULL 30|NULL 0 30|NULL 1 30|NULL NULL 60"
)]
#[case::of_rows_in_order(
    "k",
    "(SELECT * FROM t ORDER BY k LIMIT 90) AS o",
    "ROLLUP(k)",
    "k NULLS FIRST",
    "NULL 90|0 40|1 40|2 10"
)]
#[case::of_rows_dealt_out_by_a_key(
    "k",
    "(SELECT k, v, w FROM t GROUP BY k, v, w) AS g",
    "ROLLUP(k)",
    "k",
    "0 4|1 4|2 4|NULL 12"
)]
#[tokio::test]
async fn are_in_order(
    #[case] keys: &str,
    #[case] from: &str,
    #[case] sets: &str,
    #[case] order: &str,
    #[case] expected: &str,
    #[values(1, 2, 5)] partitions: usize,
) {
    let engine = engine().await;
    text(&engine, &format!("SET datafusion.execution.target_partitions = {partitions}")).await;
    text(&engine, "SET datafusion.execution.batch_size = 10").await;
    text(&engine, TABLE).await;
    let sql = format!("SELECT {keys}, count(*) AS n FROM {from} GROUP BY {sets} ORDER BY {order}");
    let named: Vec<String> =
        keys.split(", ").map(|key| format!("coalesce(CAST({key} AS VARCHAR), 'NULL')")).collect();
    let shown = format!("SELECT {}, n FROM ({sql} LIMIT 99)", named.join(", "));
    assert_eq!(rows_of(&engine, &shown).await.join("|"), expected);
}

async fn make_sides(engine: &Engine) {
    text(engine, "CREATE TABLE l (id INT, k INT) AS VALUES (0, 1), (4, 1), (5, 2)").await;
    text(engine, "CREATE TABLE r (id INT) AS VALUES (0), (1), (2), (3), (4), (5)").await;
}

#[rstest]
#[case::right("(SELECT * FROM l WHERE k = 1) l RIGHT JOIN r ON l.id = r.id")]
#[case::left("r LEFT JOIN (SELECT * FROM l WHERE k = 1) l ON l.id = r.id")]
#[case::full("(SELECT * FROM l WHERE k = 1) l FULL JOIN r ON l.id = r.id")]
#[case::of_other_conditions("r LEFT JOIN (SELECT * FROM l WHERE k = 1) l ON abs(l.id - r.id) < 1")]
#[tokio::test]
async fn of_outer_joins_are_in_order(
    #[case] joined: &str,
    #[values("true", "false")] by_hash: &str,
    #[values(1, 4)] partitions: usize,
) {
    let engine = engine().await;
    text(&engine, &format!("SET datafusion.optimizer.prefer_hash_join = {by_hash}")).await;
    text(&engine, &format!("SET datafusion.execution.target_partitions = {partitions}")).await;
    make_sides(&engine).await;
    let sql = format!("SELECT r.id FROM {joined} ORDER BY l.k NULLS FIRST, r.id");
    assert_eq!(rows_of(&engine, &sql).await.join(" "), "1 2 3 5 0 4");
}

#[rstest]
#[case::in_order(
    "r.id",
    "(SELECT * FROM l WHERE k = 1) l RIGHT JOIN r ON l.id > r.id ORDER BY l.k NULLS FIRST, r.id",
    "4|5|0|1|2|3"
)]
#[case::inner("x, y", "a JOIN b ON x <= y ORDER BY x, y", "1 3|1 5|1 6|2 3|2 5|2 6")]
#[case::left("x, y", "a LEFT JOIN b ON x <= y ORDER BY x, y", "1 3|1 5|1 6|2 3|2 5|2 6|7 ")]
#[case::full("count(*)", "a FULL JOIN b ON x > y + 3", "5")]
#[tokio::test]
async fn of_joins_by_a_range_are_all_there(
    #[case] columns: &str,
    #[case] joined: &str,
    #[case] expected: &str,
    #[values("true", "false")] piecewise: &str,
    #[values("1", "4")] partitions: &str,
) {
    let engine = engine().await;
    let set = format!("SET datafusion.optimizer.enable_piecewise_merge_join = {piecewise}");
    text(&engine, &set).await;
    text(&engine, &format!("SET datafusion.execution.target_partitions = {partitions}")).await;
    make_sides(&engine).await;
    text(&engine, "CREATE TABLE a AS SELECT * FROM (VALUES (2), (7), (1)) AS a(x)").await;
    text(&engine, "CREATE TABLE b AS SELECT * FROM (VALUES (5), (3), (6)) AS b(y)").await;
    let sql = format!("SELECT {columns} FROM {joined}");
    assert_eq!(rows_of(&engine, &sql).await.join("|"), expected);
}
