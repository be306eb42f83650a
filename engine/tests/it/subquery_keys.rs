// SPDX-License-Identifier: Apache-2.0
//! What subqueries are compared with the query outside by: columns of one name, and expressions.

use rstest::rstest;

use crate::support::{engine, rows_of, text};

#[rstest]
#[case::exists("EXISTS (SELECT 1 FROM u JOIN v ON u.g = v.g WHERE u.k = t.p AND v.k = t.q)", "2 3")]
#[case::not_exists(
    "NOT EXISTS (SELECT 1 FROM u JOIN v ON u.g = v.g WHERE u.k = t.p AND v.k = t.q)",
    "1"
)]
#[case::under_or(
    "id = 1 OR EXISTS (SELECT 1 FROM u JOIN v ON u.g = v.g WHERE u.k = t.p AND v.k = t.q)",
    "1 2 3"
)]
#[case::of_one_table(
    "EXISTS (SELECT 1 FROM t AS x JOIN t AS y ON x.id = y.id WHERE x.p = t.q AND y.q = t.p)",
    "1 2 3"
)]
#[case::is_in("q IN (SELECT v.k FROM u JOIN v ON u.g = v.g WHERE u.k = t.p)", "2 3")]
#[case::is_not_in("q NOT IN (SELECT v.k FROM u JOIN v ON u.g = v.g WHERE u.k = t.p)", "1")]
#[case::any("q = ANY (SELECT v.k FROM u JOIN v ON u.g = v.g WHERE u.k = t.p)", "2 3")]
#[case::scalar(
    "(SELECT count(*) FROM u JOIN v ON u.g = v.g WHERE u.k = t.p AND v.k = t.q) = 1",
    "2 3"
)]
#[case::called_the_same("EXISTS (SELECT g AS k FROM v WHERE v.k = t.q AND g = 7)", "2")]
#[case::expression("EXISTS (SELECT 1 FROM u WHERE u.g - 6 = t.q)", "1 2 3")]
#[case::of_an_aggregate("(SELECT sum(g) FROM u WHERE u.k / 3 = t.p - 1) = 15", "1 2")]
#[case::of_a_cast("(SELECT count(*) FROM u WHERE CAST(u.g / 10 AS BIGINT) = t.p - 1) = 2", "1 2")]
#[case::in_parts(
    "EXISTS (SELECT 1 FROM (SELECT g FROM u WHERE u.k + 0 = t.p) AS s WHERE s.g > 7)",
    "3"
)]
#[case::in_parts_of_one_name(
    "EXISTS (SELECT 1 FROM (SELECT g AS k FROM u WHERE u.k = t.p) AS s WHERE s.k > 7)",
    "3"
)]
#[case::in_parts_without_them(
    "(SELECT max(g) FROM (SELECT g FROM u WHERE u.k = t.p) AS s) = 8",
    "3"
)]
#[case::in_parts_with(
    "EXISTS (WITH s AS (SELECT g FROM u WHERE u.k = t.p) SELECT 1 FROM s WHERE g = 7)",
    "1 2"
)]
#[case::nested_keys(
    "EXISTS (SELECT 1 FROM u WHERE u.k = t.p AND u.g IN (SELECT v.g FROM v WHERE v.k + 1 = u.k + 1))",
    ""
)]
#[case::under_or_with_a_key("p IN (SELECT u.k FROM u WHERE u.g - 7 = t.q - 1) OR id = 3", "1 3")]
#[case::using(
    "EXISTS (SELECT 1 FROM u FULL JOIN (SELECT k + 1 AS k FROM u) AS w USING (k) WHERE k = t.id)",
    "1 2 3"
)]
#[case::nested(
    "EXISTS (SELECT 1 FROM u WHERE u.k = t.p AND EXISTS (SELECT 1 FROM v WHERE v.k = u.k AND v.g = 8))",
    "1 2"
)]
#[tokio::test]
async fn are_kept_apart(#[case] condition: &str, #[case] expected: &str) {
    let engine = engine().await;
    text(
        &engine,
        "CREATE TABLE t (id INT, p INT, q INT) AS VALUES (1, 1, 1), (2, 1, 2), (3, 2, 1)",
    )
    .await;
    text(&engine, "CREATE TABLE u (k INT, g INT) AS VALUES (1, 7), (2, 8)").await;
    text(&engine, "CREATE TABLE v (k INT, g INT) AS VALUES (2, 7), (1, 8)").await;
    assert_eq!(
        rows_of(&engine, &format!("SELECT id FROM t WHERE {condition} ORDER BY id"))
            .await
            .join(" "),
        expected
    );
}

#[tokio::test]
async fn of_lateral_are_kept_apart() {
    let engine = engine().await;
    text(&engine, "CREATE TABLE t (p INT, q INT) AS VALUES (1, 1), (1, 2)").await;
    text(&engine, "CREATE TABLE u (k INT, g INT) AS VALUES (1, 7), (2, 7)").await;
    let rows = "SELECT x.g AS n FROM u AS x JOIN u AS y ON x.g = y.g WHERE x.k = t.p AND y.k = t.q";
    let found =
        text(&engine, &format!("SELECT q, n FROM t, LATERAL ({rows}) AS l ORDER BY 1")).await;
    assert_eq!(found, "q n\n1 7\n2 7");
}
