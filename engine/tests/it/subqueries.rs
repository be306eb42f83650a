// SPDX-License-Identifier: Apache-2.0
//! Subqueries over the table of the query outside, and such as refer to it.

use nearscan::Engine;
use rstest::rstest;

use crate::support::{check, engine, rows_of, text};

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
#[case::not_in_of_no_row("(SELECT i FROM t WHERE i = 99) NOT IN (SELECT i FROM t WHERE i > 0)", "")]
#[case::any_correlated("i < ANY (SELECT x.i FROM t AS x WHERE x.g = t.g)", "1")]
#[case::nested("i > ANY (SELECT i FROM t WHERE i >= ALL (SELECT i FROM t WHERE i < 3))", "3 4")]
#[tokio::test]
async fn are_about_its_other_rows(#[case] condition: &str, #[case] expected: &str) {
    let engine = engine().await;
    let rows = "(VALUES (1, 1), (2, 1), (3, 2), (4, NULL), (NULL, 5)) AS v(i, g)";
    text(&engine, &format!("CREATE TABLE t AS SELECT * FROM {rows}")).await;
    let i = "coalesce(CAST(i AS VARCHAR), 'NULL') AS x";
    assert_eq!(
        rows_of(&engine, &format!("SELECT {i} FROM t WHERE {condition} ORDER BY i"))
            .await
            .join(" "),
        expected
    );
}

async fn with_tables() -> Engine {
    let engine = engine().await;
    let rows = "(1, 10), (2, 20), (NULL, 30), (7, 40)";
    text(&engine, &format!("CREATE TABLE t (a INT, c INT NOT NULL) AS VALUES {rows}")).await;
    let rows = "(1, 5, 1), (1, 6, 2), (2, 7, 3), (NULL, 8, 4)";
    text(&engine, &format!("CREATE TABLE u (a INT, b INT, c INT NOT NULL) AS VALUES {rows}")).await;
    engine
}

#[rstest]
#[case::exists("EXISTS (SELECT count(*) FROM u WHERE u.a = t.a)", "10 20 30 40")]
#[case::not_exists("NOT EXISTS (SELECT max(b) + 1 FROM u WHERE u.a = t.a)", "")]
#[case::having("EXISTS (SELECT 1 FROM u WHERE u.a = t.a HAVING count(*) = 0)", "30 40")]
#[case::not_having("NOT EXISTS (SELECT 1 FROM u WHERE u.a = t.a HAVING sum(b) > 8)", "20 30 40")]
#[case::is_in("0 IN (SELECT count(*) FROM u WHERE u.a = t.a)", "30 40")]
#[case::is_not_in("0 NOT IN (SELECT count(*) FROM u WHERE u.a = t.a)", "10 20")]
#[case::is_not_in_null("7 NOT IN (SELECT sum(b) FROM u WHERE u.a = t.a)", "10")]
#[case::in_having(
    "7 NOT IN (SELECT sum(b) FROM u WHERE u.a = t.a HAVING count(*) = 1)",
    "10 30 40"
)]
#[case::any("1 = ANY (SELECT count(*) FROM u WHERE u.a = t.a)", "20")]
#[case::any_having("1 < ANY (SELECT sum(b) FROM u WHERE u.a = t.a HAVING count(*) = 1)", "20")]
#[case::all("1 > ALL (SELECT count(*) FROM u WHERE u.a = t.a)", "30 40")]
#[case::all_having("8 < ALL (SELECT sum(b) FROM u WHERE u.a = t.a HAVING count(*) < 2)", "10")]
#[case::scalar("(SELECT count(*) FROM u WHERE u.a = t.a) = 0", "30 40")]
#[case::scalar_having(
    "(SELECT sum(b) FROM u WHERE u.a = t.a HAVING count(*) > 1) IS NULL",
    "20 30 40"
)]
#[case::scalar_of_none("(SELECT count(*) FROM u WHERE u.a = t.a HAVING count(*) < 1) = 0", "30 40")]
#[case::in_parts(
    "EXISTS (SELECT n FROM (SELECT count(*) AS n FROM u WHERE u.a = t.a) AS q ORDER BY n)",
    "10 20 30 40"
)]
#[case::of_groups("EXISTS (SELECT count(*) FROM u WHERE u.a = t.a GROUP BY u.a)", "10 20")]
#[case::constant("1 IN (SELECT 1 FROM u WHERE u.a = t.a HAVING count(*) = 0)", "30 40")]
#[case::constant_in_parts(
    "5 IN (SELECT 5 FROM (SELECT count(*) FROM u WHERE u.a = t.a))",
    "10 20 30 40"
)]
#[case::not_a_constant(
    "2 NOT IN (SELECT 1 FROM u WHERE u.a = t.a HAVING count(*) = 0)",
    "10 20 30 40"
)]
#[case::having_true("EXISTS (SELECT max(b) FROM u WHERE u.a = t.a HAVING true)", "10 20 30 40")]
#[case::having_another(
    "EXISTS (SELECT max(b) FROM u WHERE u.a = t.a HAVING (SELECT max(c) FROM u) = 4)",
    "10 20 30 40"
)]
#[case::having_outside(
    "EXISTS (SELECT 1 FROM u WHERE u.a = t.a HAVING count(*) < t.c - 9)",
    "20 30 40"
)]
#[case::left_out("(SELECT 5 + 0 * count(*) FROM u WHERE u.a = t.a) = 5", "10 20 30 40")]
#[case::never_null("(SELECT count(*) IS NOT NULL FROM u WHERE u.a = t.a)", "10 20 30 40")]
#[case::first_of("(SELECT coalesce(5, count(*)) FROM u WHERE u.a = t.a) = 5", "10 20 30 40")]
#[case::case(
    "(SELECT CASE WHEN 1 = 1 THEN 5 ELSE count(*) END FROM u WHERE u.a = t.a) = 5",
    "10 20 30 40"
)]
#[case::times_zero("(SELECT count(*) * (1 - 1) FROM u WHERE u.a = t.a) = 0", "10 20 30 40")]
#[case::itself("(SELECT count(*) - count(*) FROM u WHERE u.a = t.a) = 0", "10 20 30 40")]
#[case::or_true("(SELECT count(*) > 1 OR 1 = 1 FROM u WHERE u.a = t.a)", "10 20 30 40")]
#[case::two_of_them("(SELECT sum(b) / count(*) FROM u WHERE u.a = t.a) IS NULL", "30 40")]
#[case::of_two("(SELECT count(*) * 2 + max(b) FROM u WHERE u.a = t.a) = 10", "10")]
#[case::in_a_table("(SELECT n FROM (SELECT count(*) AS n FROM u WHERE u.a = t.a)) = 0", "30 40")]
#[case::in_order("(SELECT count(*) FROM u WHERE u.a = t.a ORDER BY 1) = 0", "30 40")]
#[case::with_another(
    "(SELECT count(*) + (SELECT max(c) FROM u) FROM u WHERE u.a = t.a) = 4",
    "30 40"
)]
#[case::one_of_it("EXISTS (SELECT count(*) FROM u WHERE u.a = t.a LIMIT 1)", "10 20 30 40")]
#[case::distinct("(SELECT DISTINCT count(*) FROM u WHERE u.a = t.a) = 0", "30 40")]
#[case::not_correlated("t.a IN (SELECT max(u.a) FROM u) OR t.c = 40", "20 40")]
#[case::twice(
    "(SELECT count(*) FROM u WHERE u.a = t.a HAVING count(*) < 9) \
     = (SELECT count(*) FROM u WHERE u.c = t.a HAVING count(*) < 9)",
    "20 30 40"
)]
#[case::of_groups_having(
    "EXISTS (SELECT 1 FROM u WHERE u.a = t.a GROUP BY u.b HAVING u.b > 6)",
    "20"
)]
#[tokio::test]
async fn of_an_aggregate_have_a_row_for_no_rows(#[case] condition: &str, #[case] expected: &str) {
    let sql = format!("SELECT c FROM t WHERE {condition} ORDER BY c");
    assert_eq!(rows_of(&with_tables().await, &sql).await.join(" "), expected);
}

#[rstest]
#[case::none("(SELECT 1 WHERE false) IS NULL", "true")]
#[case::instead("coalesce((SELECT 1 WHERE false), 2) = 2", "true")]
#[case::of_a_table("(SELECT c FROM u WHERE b = 99) IS NULL", "true")]
#[case::some("(SELECT c FROM u WHERE b = 7) IS NOT NULL", "true")]
#[case::compared("((SELECT c FROM u LIMIT 0) = 1) IS NULL", "true")]
#[case::in_a_union(
    "(SELECT count(*) FROM (SELECT c FROM u UNION ALL SELECT (SELECT c FROM u WHERE c = 99)) \
      WHERE c IS NULL) = 1",
    "true"
)]
#[case::count("(SELECT count(*) FROM u WHERE false) IS NULL", "false")]
#[case::groups("(SELECT count(*) FROM u WHERE false GROUP BY a) IS NULL", "true")]
#[case::correlated(
    "(SELECT count(*) FROM t \
      WHERE (SELECT count(*) FROM u WHERE u.a = t.c GROUP BY u.a) IS NULL) = 4",
    "true"
)]
#[tokio::test]
async fn without_a_row_are_null(#[case] value: &str, #[case] expected: &str) {
    let found = text(&with_tables().await, &format!("SELECT {value} AS x")).await;
    assert_eq!(found.lines().last(), Some(expected));
}

/// The columns of the other side are no longer there, so `u.a` is the only one of its name.
#[rstest]
#[case::except("EXISTS (SELECT a FROM u WHERE u.a = t.a EXCEPT SELECT b FROM u)", "10 20")]
#[case::intersect("t.a IN (SELECT a FROM u WHERE u.a = t.a INTERSECT SELECT c FROM u)", "10 20")]
#[tokio::test]
async fn of_set_operations_are_compared(#[case] condition: &str, #[case] expected: &str) {
    let sql = format!("SELECT c FROM t WHERE {condition} ORDER BY c");
    assert_eq!(rows_of(&with_tables().await, &sql).await.join(" "), expected);
}

#[rstest]
#[case::window("2 IN (SELECT row_number() OVER () FROM u WHERE u.a = t.a)", "a window function")]
#[case::offset("EXISTS (SELECT 1 FROM u WHERE u.a = t.a OFFSET 1)", "LIMIT or OFFSET")]
#[case::limit_below(
    "EXISTS (SELECT 1 FROM (SELECT b FROM u WHERE u.a = t.a LIMIT 1) AS q WHERE b > 5)",
    "LIMIT or OFFSET"
)]
#[case::limit_of_any("5 < ANY (SELECT b FROM u WHERE u.a = t.a LIMIT 1)", "LIMIT or OFFSET")]
#[case::limit_of_not_in("5 NOT IN (SELECT b FROM u WHERE u.a = t.a LIMIT 1)", "LIMIT or OFFSET")]
#[case::outer_join(
    "EXISTS (SELECT 1 FROM u LEFT JOIN u AS v ON v.b = u.b AND v.a = t.a WHERE v.b IS NULL)",
    "an outer join"
)]
#[case::side_of_an_outer_join(
    "EXISTS (SELECT 1 FROM u LEFT JOIN (SELECT * FROM u WHERE a = t.a) AS v ON true)",
    "an outer join"
)]
#[case::except("EXISTS (SELECT a FROM u EXCEPT SELECT a FROM u WHERE a = t.a)", "EXCEPT")]
#[case::union("EXISTS (SELECT b FROM u WHERE u.a = t.a UNION ALL SELECT 1 WHERE false)", "UNION")]
#[case::union_in_parts(
    "c IN (SELECT b FROM (SELECT b FROM u WHERE u.a + 1 = t.a UNION ALL SELECT 1) AS q)",
    "UNION"
)]
#[case::rollup("EXISTS (SELECT b FROM u WHERE u.a = t.a GROUP BY ROLLUP (b))", "grouping sets")]
#[case::aggregate_below(
    "EXISTS (SELECT 1 FROM (SELECT count(*) AS n FROM u WHERE u.a = t.a) AS q, u)",
    "an aggregate"
)]
#[tokio::test]
async fn that_a_join_would_change_are_refused(#[case] condition: &str, #[case] what: &str) {
    let sql = format!("SELECT c FROM t WHERE {condition}");
    check(&with_tables().await, &sql, Err(what)).await;
}

#[tokio::test]
async fn with_any_outside_of_a_condition_are_refused() {
    let sql = "SELECT b > ANY (SELECT b FROM u) FROM u";
    check(&with_tables().await, sql, Err("outside of a condition")).await;
}

#[rstest]
#[case::window("SELECT row_number() OVER () AS n FROM u WHERE u.a = t.a", Err("a window function"))]
#[case::having(
    "SELECT sum(b) AS n FROM u WHERE u.a = t.a HAVING count(*) > 1",
    Err("an aggregate")
)]
#[case::aggregate("SELECT count(*) AS n FROM u WHERE u.a = t.a", Ok("10 2, 20 1, 30 0, 40 0"))]
#[case::default(
    "SELECT coalesce(max(b), 0) AS n FROM u WHERE u.a = t.a",
    Ok("10 6, 20 7, 30 0, 40 0")
)]
#[case::in_parts(
    "SELECT n FROM (SELECT count(*) AS n FROM u WHERE u.a = t.a) AS q",
    Err("an aggregate without GROUP BY")
)]
#[case::rows_in_parts(
    "SELECT n FROM (SELECT b AS n FROM u WHERE u.a = t.a ORDER BY b) AS q",
    Ok("10 5, 10 6, 20 7")
)]
#[case::in_order(
    "SELECT count(*) AS n FROM u WHERE u.a = t.a ORDER BY 1",
    Ok("10 2, 20 1, 30 0, 40 0")
)]
#[case::hidden_constant(
    "SELECT coalesce(7, count(*)) AS n FROM u WHERE u.a = t.a",
    Err("a column that does not depend")
)]
#[case::constant(
    "SELECT count(*) AS n, 5 AS m FROM u WHERE u.a = t.a",
    Err("a column that does not depend")
)]
#[case::distinct("SELECT DISTINCT 1 AS n FROM u WHERE u.a = t.a", Ok("10 1, 20 1"))]
#[case::distinct_of_more("SELECT DISTINCT b AS n FROM u WHERE u.c < t.a", Err("DISTINCT"))]
#[case::groups_of_more("SELECT b AS n FROM u WHERE u.c < t.a GROUP BY b", Err("GROUP BY without"))]
#[case::rows("SELECT b AS n FROM u WHERE u.a = t.a", Ok("10 5, 10 6, 20 7"))]
#[case::not_correlated(
    "SELECT row_number() OVER () AS n FROM u WHERE b = 7",
    Ok("10 1, 20 1, 30 1, 40 1")
)]
#[tokio::test]
async fn of_lateral_are_about_one_row(#[case] query: &str, #[case] expected: Result<&str, &str>) {
    let engine = with_tables().await;
    let sql = format!("SELECT t.c, q.n FROM t, LATERAL ({query}) AS q ORDER BY 1, 2");
    check(&engine, &sql, expected).await;
}

#[rstest]
#[case::inner("JOIN", "1 IN (SELECT count(*) FROM u WHERE u.a = t.a)", Ok("20 3"))]
#[case::having(
    "JOIN",
    "EXISTS (SELECT 1 FROM u WHERE u.a = t.a HAVING count(*) > 1)",
    Ok("10 1, 10 2")
)]
#[case::left(
    "LEFT JOIN",
    "EXISTS (SELECT count(*) FROM u WHERE u.a = t.a)",
    Ok("10 1, 10 2, 20 3, 30 , 40 ")
)]
#[case::left_having(
    "LEFT JOIN",
    "EXISTS (SELECT 1 FROM u WHERE u.a = t.a HAVING count(*) > 1)",
    Err("an aggregate without GROUP BY")
)]
#[tokio::test]
async fn of_a_join_condition_are_about_its_rows(
    #[case] join: &str,
    #[case] condition: &str,
    #[case] expected: Result<&str, &str>,
) {
    let engine = with_tables().await;
    let sql =
        format!("SELECT t.c, v.c FROM t {join} u AS v ON v.a = t.a AND {condition} ORDER BY 1, 2");
    check(&engine, &sql, expected).await;
}

#[rstest]
#[case::case(
    "SELECT c, CASE WHEN c = 10 THEN a ELSE a + 0.5 END AS k FROM t",
    "u.a < x.k AND u.a + 1 > x.k",
    "20"
)]
#[case::union("SELECT c, a AS k FROM t UNION ALL SELECT 50, 1.5", "u.a < x.k", "20, 40, 50")]
#[case::null_of_no_row(
    "SELECT c, (SELECT 1 WHERE false) AS k FROM t",
    "x.k IS NULL",
    "10, 20, 30, 40"
)]
#[case::null_of_a_total("SELECT c, c AS k FROM t GROUP BY ROLLUP (c)", "x.k IS NULL", "")]
#[tokio::test]
async fn know_the_types_outside(
    #[case] outside: &str,
    #[case] condition: &str,
    #[case] expected: &str,
) {
    let sql = format!(
        "SELECT c FROM ({outside}) AS x WHERE EXISTS (SELECT 1 FROM u WHERE {condition}) ORDER BY c"
    );
    check(&with_tables().await, &sql, Ok(expected)).await;
}
