// SPDX-License-Identifier: Apache-2.0
//! Statements that are prepared first.

use rstest::rstest;

use crate::support::{engine, failure, rows_of, text};

#[rstest]
#[case::not_in("SELECT i FROM n WHERE 5 NOT IN (SELECT a FROM t)", "", "")]
#[case::aggregate(
    "SELECT i FROM n WHERE EXISTS (SELECT count(*) FROM t WHERE t.a = n.i)",
    "",
    "1 2"
)]
#[case::no_row("SELECT (SELECT i FROM n WHERE i = 99) IS NULL", "", "true")]
#[case::any("SELECT i FROM n WHERE i >= ALL (SELECT i FROM n)", "", "2")]
#[case::except_all("SELECT i FROM n EXCEPT ALL SELECT a FROM t", "", "2")]
#[case::parameter("SELECT i FROM n WHERE i = $1", "(2)", "2")]
#[case::parameters("SELECT i + $1 FROM n WHERE i IN ($2, 9) ORDER BY 1", "(10, 1)", "11")]
#[case::parameter_of_another_type(
    "SELECT coalesce(a, $1) FROM t ORDER BY a NULLS FIRST LIMIT 1",
    "(2.5)",
    "2.5"
)]
#[tokio::test]
async fn have_the_rows_that_they_have_at_once(
    #[case] sql: &str,
    #[case] parameters: &str,
    #[case] expected: &str,
) {
    let engine = engine().await;
    text(&engine, "CREATE TABLE n (i INT NOT NULL) AS VALUES (1), (2)").await;
    text(&engine, "CREATE TABLE t (a INT) AS VALUES (1), (NULL)").await;
    text(&engine, &format!("PREPARE p AS {sql}")).await;
    assert_eq!(rows_of(&engine, &format!("EXECUTE p{parameters}")).await.join(" "), expected);
}

#[tokio::test]
async fn are_refused_as_at_once() {
    let engine = engine().await;
    text(&engine, "CREATE TABLE n (i INT NOT NULL) AS VALUES (1), (2)").await;
    let rows = "SELECT row_number() OVER () FROM n AS m WHERE m.i = n.i";
    let error =
        failure(&engine, &format!("PREPARE p AS SELECT i FROM n WHERE 1 IN ({rows})")).await;
    assert!(error.contains("a window function"), "{error}");
}
