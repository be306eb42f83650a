// SPDX-License-Identifier: Apache-2.0
//! Columns of USING in RIGHT and FULL joins, and what cannot be said of them.

use nearscan::Engine;
use rstest::rstest;

use crate::support::{engine, failure, text};

async fn tables() -> Engine {
    let engine = engine().await;
    text(&engine, "CREATE TABLE a (k INT, v INT) AS VALUES (1, 10), (2, 20)").await;
    text(&engine, "CREATE TABLE b (k INT, w INT) AS VALUES (2, 200), (3, 300)").await;
    engine
}

#[rstest]
#[case::right("SELECT k FROM a RIGHT JOIN b USING (k) ORDER BY k", "2, 3")]
#[case::full("SELECT k FROM a FULL JOIN b USING (k) ORDER BY k", "1, 2, 3")]
#[case::all("SELECT * FROM a FULL OUTER JOIN b USING (k) ORDER BY k", "1 10 , 2 20 200, 3  300")]
#[case::all_but_one(
    "SELECT * EXCLUDE (v) FROM a RIGHT JOIN b USING (k) ORDER BY k",
    "2 200, 3 300"
)]
#[case::in_expressions(
    "SELECT k * 2 FROM a FULL JOIN b USING (k) WHERE k > 1 ORDER BY k DESC",
    "6, 4"
)]
#[case::order_alone("SELECT w FROM a RIGHT JOIN b USING (k) ORDER BY -k", "300, 200")]
#[case::groups(
    "SELECT k, count(w) FROM a FULL JOIN b USING (k) GROUP BY k HAVING k <> 2 ORDER BY k",
    "1 0, 3 1"
)]
#[case::of_one_side("SELECT b.k, a.k FROM a FULL JOIN b USING (k) ORDER BY w", "2 2, 3 ,  1")]
#[case::other_names(
    "SELECT K AS n FROM a AS q FULL JOIN (SELECT k FROM b) AS r USING (K) ORDER BY n",
    "1, 2, 3"
)]
#[case::explicit("SELECT k FROM a JOIN b USING (k)", "2")]
#[case::in_a_union(
    "SELECT k FROM a RIGHT JOIN b USING (k) UNION ALL SELECT 7 ORDER BY k",
    "2, 3, 7"
)]
#[case::in_parentheses("SELECT k FROM ((a FULL JOIN b USING (k))) ORDER BY (k)", "1, 2, 3")]
#[case::of_three_by_table(
    "SELECT b.k FROM a RIGHT JOIN b USING (k) LEFT JOIN b AS c ON c.k = a.k ORDER BY b.w",
    "2, 3"
)]
#[case::in_a_query(
    "WITH j AS (SELECT * FROM a FULL JOIN b USING (k)) SELECT k FROM j WHERE w = 300",
    "3"
)]
#[tokio::test]
async fn are_those_of_the_side_with_a_row(#[case] sql: &str, #[case] expected: &str) {
    let found = text(&tables().await, sql).await;
    assert_eq!(found.lines().skip(1).collect::<Vec<_>>().join(", "), expected);
}

#[rstest]
#[case::natural("SELECT k FROM a NATURAL FULL JOIN b", "name the columns with USING")]
#[case::three("SELECT k FROM a FULL JOIN b USING (k) JOIN b AS c USING (k)", "name its table")]
#[case::lists("SELECT k FROM a RIGHT JOIN b USING (k), b AS c", "name its table")]
#[case::all_of_three(
    "SELECT * FROM a FULL JOIN b USING (k) JOIN b AS c ON c.k = a.k",
    "name its table"
)]
#[case::in_parentheses("SELECT k FROM b AS c CROSS JOIN (a RIGHT JOIN b USING (k))", "write ON")]
#[case::natural_in_parentheses("SELECT k FROM (a NATURAL FULL JOIN b)", "name the columns")]
#[case::nameless("SELECT k FROM a RIGHT JOIN (SELECT 1 AS k) USING (k)", "give it one with AS")]
#[case::subquery(
    "SELECT 1 FROM a FULL JOIN b USING (k) WHERE EXISTS (SELECT 1 FROM b WHERE w = k)",
    "name its table"
)]
#[tokio::test]
async fn are_refused_where_they_are_not_known(#[case] sql: &str, #[case] why: &str) {
    let error = failure(&tables().await, sql).await;
    assert!(error.contains("not supported") && error.contains(why), "{error}");
}
