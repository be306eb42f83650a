// SPDX-License-Identifier: Apache-2.0
//! Rows of groups that `unnest` makes several of.

use rstest::rstest;

use crate::support::{engine, rows_of, text};

const GROUPS: &str = "(SELECT a, max(b) AS m, unnest([3, 1, 1]) AS x FROM u GROUP BY a) AS g";

#[rstest]
#[case::sorted(&format!("SELECT a, x FROM {GROUPS} ORDER BY a, x"), "1 1, 1 1, 1 3, 2 1, 2 1, 2 3")]
#[case::joined(
    &format!("SELECT t.a, x FROM t JOIN {GROUPS} ON g.a = t.a ORDER BY 1, 2"),
    "1 1, 1 1, 1 3"
)]
#[case::left_joined(
    &format!("SELECT t.a FROM t LEFT JOIN {GROUPS} ON g.a = t.a ORDER BY 1"),
    "1, 1, 1, 5"
)]
#[case::distinct(&format!("SELECT DISTINCT a FROM {GROUPS} ORDER BY 1"), "1, 2")]
#[case::grouped(
    &format!("SELECT a + 0, count(*) FROM {GROUPS} GROUP BY a + 0 ORDER BY 1"),
    "1 3, 2 3"
)]
#[case::grouped_by_them(
    &format!("SELECT a, x, count(*) FROM {GROUPS} GROUP BY a, x ORDER BY 1, 2"),
    "1 1 2, 1 3 1, 2 1 2, 2 3 1"
)]
#[case::grouped_by_them_alone(
    &format!("SELECT x, count(*) FROM {GROUPS} GROUP BY x ORDER BY 1"),
    "1 4, 3 2"
)]
#[case::of_distinct_rows(
    "SELECT DISTINCT a FROM (SELECT a, unnest([1, 2]) AS x FROM (SELECT DISTINCT a FROM u)) ORDER BY 1",
    "1, 2"
)]
#[case::of_a_key(
    "SELECT k, x FROM (SELECT k, unnest([2, 1]) AS x FROM keyed) AS q ORDER BY k, x",
    "1 1, 1 2"
)]
#[tokio::test]
async fn are_there_several_times(#[case] sql: &str, #[case] expected: &str) {
    let engine = engine().await;
    text(&engine, "CREATE TABLE t (a INT) AS VALUES (1), (5)").await;
    text(&engine, "CREATE TABLE u (a INT, b INT) AS VALUES (1, 1), (1, 2), (2, 3)").await;
    text(&engine, "CREATE TABLE keyed (k INT, PRIMARY KEY (k)) AS VALUES (1)").await;
    assert_eq!(rows_of(&engine, sql).await.join(", "), expected);
}

#[rstest]
#[case::by_a_key("SELECT a, count(*) FROM g GROUP BY a ORDER BY a", "1 3, 2 3")]
#[case::by_two(
    "SELECT a, count(*) FROM g GROUP BY a, m HAVING count(*) > 1 ORDER BY a",
    "1 3, 2 3"
)]
#[case::by_an_output_that_is_not_shown(
    "SELECT a, count(*) FROM g GROUP BY a, x ORDER BY a, 2",
    "1 1, 1 2, 2 1, 2 2"
)]
#[case::in_a_window(
    "SELECT a, sum(count(*)) OVER (ORDER BY a) FROM g GROUP BY a ORDER BY a",
    "1 3, 2 6"
)]
#[case::without_aggregates("SELECT a FROM g GROUP BY a ORDER BY a", "1, 2")]
#[tokio::test]
async fn group_keys_above_unnest_are_those_that_are_written(
    #[case] sql: &str,
    #[case] expected: &str,
) {
    let engine = engine().await;
    text(&engine, "CREATE TABLE u (a INT, b INT) AS VALUES (1, 1), (1, 2), (2, 3)").await;
    let sql = sql.replace("FROM g", &format!("FROM {GROUPS}"));
    assert_eq!(rows_of(&engine, &sql).await.join(", "), expected);
    text(&engine, &format!("CREATE VIEW v AS {sql}")).await;
    assert_eq!(rows_of(&engine, "SELECT * FROM v").await.len(), expected.split(", ").count());
    let shown = "SELECT definition FROM information_schema.views WHERE table_name = 'v'";
    assert!(!text(&engine, shown).await.contains("end of the keys"));
}
