// SPDX-License-Identifier: Apache-2.0
//! Set operations over rows that are there several times.

use rstest::rstest;

use crate::support::{engine, rows_of, text};

const LEFT: &str = "SELECT * FROM (VALUES (1, 'a'), (1, 'a'), (2, NULL), (2, NULL), (2, NULL), \
                    (3, 'c'), (NULL, 'd')) AS l(x, y)";
const RIGHT: &str =
    "SELECT * FROM (VALUES (1, 'a'), (2, NULL), (2, NULL), (4, 'e'), (NULL, 'd')) AS r(i, j)";

#[rstest]
#[case::except_all("EXCEPT ALL", "1 2 3")]
#[case::intersect_all("INTERSECT ALL", "1 2 2 NULL")]
#[case::except("EXCEPT", "3")]
#[case::intersect("INTERSECT", "1 2 NULL")]
#[tokio::test]
async fn count_them(#[case] operation: &str, #[case] expected: &str) {
    let engine = engine().await;
    let both = format!("{LEFT} {operation} {RIGHT}");
    let sql = format!("SELECT coalesce(CAST(x AS VARCHAR), 'NULL') AS x FROM ({both}) ORDER BY x");
    assert_eq!(rows_of(&engine, &sql).await.join(" "), expected);
    let names = text(&engine, &both).await;
    assert_eq!(names.lines().next(), Some("x y"));
}

#[rstest]
#[case::three("(VALUES (1), (1), (1)) EXCEPT ALL VALUES (1) EXCEPT ALL VALUES (1)", 1)]
#[case::of_distinct_rows("SELECT DISTINCT x FROM l INTERSECT ALL SELECT x FROM l", 2)]
#[case::of_one_table("SELECT x FROM l EXCEPT ALL SELECT DISTINCT x FROM l", 1)]
#[case::of_other_types("SELECT x FROM l INTERSECT ALL SELECT CAST(1 AS DOUBLE)", 1)]
#[case::in_a_subquery("SELECT * FROM l WHERE x IN (SELECT x FROM l EXCEPT ALL SELECT 1)", 3)]
#[case::without_rows("SELECT x FROM l WHERE x > 9 EXCEPT ALL SELECT x FROM l", 0)]
#[tokio::test]
async fn have_so_many_rows(#[case] sql: &str, #[case] rows: usize) {
    let engine = engine().await;
    text(&engine, "CREATE TABLE l AS SELECT * FROM (VALUES (1), (1), (2)) AS t(x)").await;
    let found = text(&engine, &format!("SELECT count(*) FROM ({sql})")).await;
    assert_eq!(found.lines().last(), Some(rows.to_string().as_str()));
}
