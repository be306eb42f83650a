// SPDX-License-Identifier: Apache-2.0
//! Columns of USING in RIGHT and FULL joins and in subqueries, and what cannot be said of them.

use nearscan::Engine;
use rstest::rstest;

use crate::support::{engine, failure, rows_of, text};

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
    assert_eq!(rows_of(&tables().await, sql).await.join(", "), expected);
}

/// For DataFusion each of these would be the column of `a` outside, if there is one.
#[rstest]
#[case::exists("EXISTS (SELECT 1 FROM b JOIN b AS c USING (k) WHERE k = 3)", "1, 2")]
#[case::not_exists("NOT EXISTS (SELECT 1 FROM b JOIN b AS c USING (k) WHERE k = 1)", "1, 2")]
#[case::in_query("v IN (SELECT k * 10 FROM b JOIN b AS c USING (k) WHERE k < 3)", "2")]
#[case::output("k IN (SELECT k FROM b INNER JOIN b AS c USING (k))", "2")]
#[case::scalar("v < (SELECT max(k) * 7 FROM b JOIN b AS c USING (k))", "1, 2")]
#[case::any("k < ANY (SELECT k FROM b LEFT JOIN a AS c USING (k))", "1, 2")]
#[case::correlated("EXISTS (SELECT 1 FROM b LEFT JOIN a AS c USING (k) WHERE k = a.k)", "2")]
#[case::of_three("k IN (SELECT k FROM b JOIN b AS c USING (k) JOIN a AS d USING (k))", "2")]
#[case::of_the_last(
    "k IN (SELECT k FROM b CROSS JOIN (SELECT 1 AS x) AS c JOIN a AS d USING (k))",
    "2"
)]
#[case::order("k IN (SELECT k FROM b JOIN b AS c USING (k) ORDER BY k)", "2")]
#[case::in_parentheses("k IN (SELECT k FROM ((b AS q JOIN b AS c USING (k))) WHERE k > 2)", "")]
#[case::in_a_union("k IN (SELECT 1 UNION SELECT k FROM b JOIN b AS c USING (k))", "1, 2")]
#[case::in_a_table("k IN (SELECT n FROM (SELECT k AS n FROM b JOIN b AS c USING (k)) AS d)", "2")]
#[case::groups("k IN (SELECT k FROM b JOIN b AS c USING (k) GROUP BY k HAVING k < 3)", "2")]
#[tokio::test]
async fn in_a_subquery_are_its_own(#[case] condition: &str, #[case] expected: &str) {
    let sql = format!("SELECT k FROM a WHERE {condition} ORDER BY k");
    assert_eq!(rows_of(&tables().await, &sql).await.join(", "), expected);
}

#[tokio::test]
async fn in_a_lateral_query_are_its_own() {
    let own = "SELECT k AS n FROM b JOIN b AS c USING (k) WHERE k > 2 AND b.w > v";
    let sql = format!("SELECT a.k, n FROM a CROSS JOIN LATERAL ({own}) AS l ORDER BY 1");
    assert_eq!(rows_of(&tables().await, &sql).await, ["1 3", "2 3"]);
}

#[rstest]
#[case::natural("SELECT k FROM a NATURAL FULL JOIN b ORDER BY k", "1, 2, 3")]
#[case::natural_all("SELECT * FROM a NATURAL FULL JOIN b ORDER BY k", "1 10 , 2 20 200, 3  300")]
#[case::three("SELECT k FROM a FULL JOIN b USING (k) JOIN b AS c USING (k) ORDER BY k", "2, 3")]
#[case::three_full(
    "SELECT k FROM a FULL JOIN b USING (k) FULL JOIN (VALUES (9)) AS c(k) USING (k) ORDER BY k",
    "1, 2, 3, 9"
)]
#[case::right_then_left(
    "SELECT k, v FROM a RIGHT JOIN b USING (k) LEFT JOIN b AS c USING (k) ORDER BY k",
    "2 20, 3 "
)]
#[case::in_parentheses(
    "SELECT k, x FROM (SELECT 7 AS x) AS c CROSS JOIN (a RIGHT JOIN b USING (k)) ORDER BY k",
    "2 7, 3 7"
)]
#[case::natural_in_parentheses("SELECT k FROM (a NATURAL FULL JOIN b) ORDER BY k", "1, 2, 3")]
#[case::nameless("SELECT k FROM a RIGHT JOIN (SELECT 1 AS k) USING (k)", "1")]
#[case::outer_column_in_a_subquery(
    "SELECT k FROM a FULL JOIN b USING (k) \
     WHERE EXISTS (SELECT 1 FROM (SELECT w FROM b) AS c WHERE c.w = k * 100) ORDER BY k",
    "2, 3"
)]
#[case::beside_others_in_a_subquery(
    "SELECT v FROM a WHERE EXISTS (SELECT 1 FROM b JOIN a AS c USING (k), (SELECT 5 AS y) AS d \
     WHERE k = 2) ORDER BY v",
    "10, 20"
)]
#[case::natural_in_a_subquery(
    "SELECT v FROM a WHERE EXISTS (SELECT 1 FROM b NATURAL JOIN (SELECT k FROM a) AS c WHERE k = 2) \
     ORDER BY v",
    "10, 20"
)]
#[case::of_a_common_table(
    "WITH b AS (SELECT 4 AS k, 400 AS w) SELECT * FROM a FULL JOIN b USING (k) ORDER BY k",
    "1 10 , 2 20 , 4  400"
)]
#[case::replaced(
    "SELECT * EXCLUDE (v) REPLACE (k * 2 AS k) FROM a FULL JOIN b USING (k) ORDER BY 1",
    "2 , 4 200, 6 300"
)]
#[tokio::test]
async fn using_column_is_resolved_with_schemas(#[case] sql: &str, #[case] expected: &str) {
    assert_eq!(rows_of(&tables().await, sql).await.join(", "), expected);
}

#[rstest]
#[case::lists("SELECT k FROM a RIGHT JOIN b USING (k), b AS c", "'k' is ambiguous")]
#[case::missing("SELECT 1 FROM a RIGHT JOIN b USING (v)", "'v' of USING is not on both sides")]
#[case::all_of_three(
    "SELECT * FROM a FULL JOIN b USING (k) JOIN b AS c ON c.w = b.w",
    "name the columns"
)]
#[tokio::test]
async fn using_column_that_is_ambiguous_is_an_error(#[case] sql: &str, #[case] why: &str) {
    let error = failure(&tables().await, sql).await;
    assert!(error.contains(why), "{error}");
}
