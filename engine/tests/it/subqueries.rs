// SPDX-License-Identifier: Apache-2.0
//! Subqueries over the table of the query outside.

use rstest::rstest;

use crate::support::{engine, text};

#[rstest]
#[case::not_in("i NOT IN (SELECT i FROM t WHERE i > 2) OR g = 99", "1 2")]
#[case::in_and_not("NOT (i IN (SELECT i FROM t WHERE i > 2) AND g < 99)", "1 2")]
#[case::unknown("(i IN (SELECT i FROM t WHERE i > 2)) IS NULL", "NULL")]
#[case::case("CASE WHEN i IN (SELECT i FROM t WHERE i > 2) THEN 1 ELSE 2 END = 2", "1 2 NULL")]
#[case::of_another_column("i NOT IN (SELECT g FROM t WHERE i < 3) OR g = 99", "2 3 4")]
#[case::correlated("i NOT IN (SELECT x.i FROM t AS x WHERE x.g = t.g) OR g = 99", "4")]
#[case::any("i > ANY (SELECT i FROM t)", "2 3 4")]
#[case::any_but_none("NOT (i > ANY (SELECT i FROM t WHERE i > 0))", "1")]
#[case::all("i >= ALL (SELECT i FROM t WHERE i > 0)", "4")]
#[case::all_with_null("i >= ALL (SELECT i FROM t)", "")]
#[case::not_all("NOT (i >= ALL (SELECT i FROM t))", "1 2 3")]
#[case::unequal("i <> ANY (SELECT i FROM t WHERE i < 2)", "2 3 4")]
#[case::any_of_another_column("i < ANY (SELECT g FROM t)", "1 2 3 4")]
#[case::any_correlated("i < ANY (SELECT x.i FROM t AS x WHERE x.g = t.g)", "1")]
#[case::nested("i > ANY (SELECT i FROM t WHERE i >= ALL (SELECT i FROM t WHERE i < 3))", "3 4")]
#[tokio::test]
async fn are_about_its_other_rows(#[case] condition: &str, #[case] expected: &str) {
    let engine = engine().await;
    let rows = "(VALUES (1, 1), (2, 1), (3, 2), (4, NULL), (NULL, 5)) AS v(i, g)";
    text(&engine, &format!("CREATE TABLE t AS SELECT * FROM {rows}")).await;
    let i = "coalesce(CAST(i AS VARCHAR), 'NULL') AS x";
    let found = text(&engine, &format!("SELECT {i} FROM t WHERE {condition} ORDER BY i")).await;
    assert_eq!(found.lines().skip(1).collect::<Vec<_>>().join(" "), expected);
}
