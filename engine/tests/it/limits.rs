// SPDX-License-Identifier: Apache-2.0
//! Limits in subqueries: a sort outside moves none.

use rstest::rstest;

use crate::support::{Data, rows_of, text};

#[rstest]
#[case::skips(1, "SELECT k FROM (SELECT k FROM t LIMIT 4 OFFSET 3) ORDER BY k", "4 5 6 7")]
#[case::skips_to_the_end(
    1,
    "SELECT k FROM (SELECT k FROM t OFFSET 997) ORDER BY k LIMIT 100",
    "998 999 1000"
)]
#[case::window(
    1,
    "SELECT row_number() OVER (ORDER BY k) FROM (SELECT k FROM t LIMIT 4 OFFSET 3)",
    "1 2 3 4"
)]
#[case::window_of_all(
    2,
    "SELECT n FROM (SELECT k, count(*) OVER () AS n FROM t WHERE v < 5) ORDER BY k LIMIT 3",
    "500 500 500"
)]
#[case::window_of_what_follows(
    2,
    "SELECT s FROM (SELECT k, sum(k) OVER (ORDER BY k ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING) AS s \
     FROM t) ORDER BY k LIMIT 2",
    "3 5"
)]
#[case::windows_and_filters(
    2,
    "SELECT n FROM (SELECT k, v, count(*) OVER (PARTITION BY v) AS n FROM t) WHERE v > 7 \
     ORDER BY k DESC LIMIT 2",
    "100 100"
)]
#[case::sorted_inside(
    2,
    "SELECT k FROM (SELECT k FROM t ORDER BY k DESC LIMIT 3 OFFSET 1) ORDER BY k",
    "997 998 999"
)]
#[case::sorted_inside_by_more(
    2,
    "SELECT sum(k) FROM (SELECT k + 0 AS k FROM t ORDER BY v, k LIMIT 2 OFFSET 1)",
    "50"
)]
#[case::distinct(
    2,
    "SELECT DISTINCT x FROM (SELECT * FROM s UNION ALL SELECT * FROM s UNION ALL SELECT * FROM s) \
     ORDER BY x LIMIT 3",
    "0 1 2"
)]
#[case::groups(
    2,
    "SELECT n FROM (SELECT v, count(*) AS n FROM (SELECT v FROM t ORDER BY v LIMIT 250) \
     GROUP BY v ORDER BY v LIMIT 3)",
    "100 100 50"
)]
#[tokio::test]
async fn a_limit_takes_its_rows(
    #[case] partitions: usize,
    #[case] sql: &str,
    #[case] expected: &str,
) {
    let data = Data::make().await;
    let engine = data.engine().await;
    text(&engine, &format!("SET datafusion.execution.target_partitions = {partitions}")).await;
    let ordered = "SELECT * FROM (VALUES (0), (1), (2) ORDER BY 1 LIMIT 3) AS t(x)";
    text(&engine, &format!("CREATE VIEW s AS {ordered}")).await;
    assert_eq!(
        rows_of(&engine, sql).await.join(" "),
        expected,
        "{}",
        text(&engine, &format!("EXPLAIN {sql}")).await
    );
}

#[rstest]
#[case::turned("SELECT k FROM (SELECT k FROM o ORDER BY k LIMIT 3) ORDER BY k DESC", "3 2 1")]
#[case::with_a_limit_outside(
    "SELECT k FROM (SELECT k FROM o ORDER BY k LIMIT 20) ORDER BY k DESC LIMIT 3",
    "20 19 18"
)]
#[case::computed(
    "SELECT n FROM (SELECT k, k + 1 AS n FROM o ORDER BY k LIMIT 3) ORDER BY n DESC",
    "4 3 2"
)]
#[case::with_a_filter(
    "SELECT k FROM (SELECT k FROM o WHERE k > 5 ORDER BY k LIMIT 3) ORDER BY k DESC",
    "8 7 6"
)]
#[case::twice(
    "SELECT k FROM (SELECT k FROM (SELECT k FROM o ORDER BY k LIMIT 9) ORDER BY k DESC LIMIT 3) ORDER BY k",
    "7 8 9"
)]
#[case::by_another(
    "SELECT k FROM (SELECT k, v FROM o ORDER BY k LIMIT 12) ORDER BY v DESC, k LIMIT 3",
    "9 8 7"
)]
#[case::without("SELECT k FROM o ORDER BY k DESC LIMIT 3", "1000 999 998")]
#[tokio::test]
async fn of_sorted_files_stay(
    #[case] sql: &str,
    #[case] expected: &str,
    #[values(1, 2)] partitions: usize,
    #[values(false, true)] in_the_scan: bool,
) {
    let data = Data::make().await;
    let engine = data.engine().await;
    for setting in [
        format!("datafusion.execution.target_partitions = {partitions}"),
        format!("datafusion.execution.parquet.pushdown_filters = {in_the_scan}"),
    ] {
        text(&engine, &format!("SET {setting}")).await;
    }
    let path = data.path("t.parquet");
    let ordered = format!("STORED AS PARQUET WITH ORDER (k) LOCATION '{path}'");
    text(&engine, &format!("CREATE EXTERNAL TABLE o (k BIGINT, v BIGINT) {ordered}")).await;
    assert_eq!(rows_of(&engine, sql).await.join(" "), expected);
}
