// SPDX-License-Identifier: Apache-2.0
//! Joins of several tables, of which some take NULL for equal to NULL.

use rstest::rstest;

use crate::support::{engine, rows_of, text};

#[rstest]
#[case::below(
    "SELECT t.c, v.c FROM t JOIN u ON t.a IS NOT DISTINCT FROM u.a JOIN u AS v ON v.b = u.b",
    "10 1, 10 5, 20 1, 20 5, 30 3, 40 3"
)]
#[case::above(
    "SELECT t.c, v.c FROM t JOIN u ON t.a = u.a JOIN t AS v ON v.b IS NOT DISTINCT FROM t.b \
     WHERE u.c = 1",
    "10 10, 10 30, 20 20, 20 40"
)]
#[case::both(
    "SELECT t.c, v.c FROM t JOIN u ON t.a IS NOT DISTINCT FROM u.a \
     JOIN t AS v ON v.b IS NOT DISTINCT FROM t.b WHERE u.c = 3",
    "30 10, 30 30, 40 20, 40 40"
)]
#[case::of_a_condition(
    "SELECT t.c, u.c FROM t JOIN u ON t.a IS NOT DISTINCT FROM u.a WHERE t.b = u.b",
    "10 5"
)]
#[case::in_a_subquery(
    "SELECT c, 0 FROM t WHERE c IN (SELECT t.c FROM t JOIN u ON t.a IS NOT DISTINCT FROM u.a \
     JOIN u AS v ON v.b = u.b WHERE v.c = 3)",
    "30 0, 40 0"
)]
#[tokio::test]
async fn have_keys_of_their_own(#[case] sql: &str, #[case] expected: &str) {
    let engine = engine().await;
    let t = "(1, 2, 10), (1, NULL, 20), (NULL, 2, 30), (NULL, NULL, 40), (3, 4, 50)";
    let u = "(1, 7, 1), (1, 2, 5), (9, 8, 2), (NULL, 6, 3), (1, NULL, 9)";
    for (name, rows) in [("t", t), ("u", u)] {
        text(&engine, &format!("CREATE TABLE {name} (a INT, b INT, c INT) AS VALUES {rows}")).await;
    }
    assert_eq!(rows_of(&engine, &format!("{sql} ORDER BY 1, 2")).await.join(", "), expected);
}
