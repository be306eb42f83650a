// SPDX-License-Identifier: Apache-2.0
//! Sums that share their work.

use rstest::rstest;

use crate::support::{engine, text};

/// 875 numbers, and NULL in every eighth row.
const TABLE: &str = "(SELECT arrow_cast(n, 'Int32') AS v, arrow_cast(n, 'Decimal128(2, 1)') AS d \
                     FROM (SELECT CASE WHEN k % 8 = 0 THEN NULL ELSE k % 10 END AS n \
                           FROM generate_series(1, 1000) AS s(k)))";

#[rstest]
#[case::counted("count(v), sum(v + 6), sum(v + 7)", "875 9250 10125")]
#[case::divided("min(v), min(v / 1), sum(2 + v), max(v % 7), sum(v / 3)", "0 0 5750 6 1075")]
#[case::summed("sum(v), sum(v + 6), sum(7 + v), avg(v)", "4000 9250 10125 4.571428571428571")]
#[case::of_a_narrow_decimal("sum(d + 0.5), sum(d + 1.5)", "4437.5 5312.5")]
#[tokio::test]
async fn are_those_of_each_alone(#[case] outputs: &str, #[case] expected: &str) {
    let engine = engine().await;
    text(&engine, "SET datafusion.sql_parser.parse_float_as_decimal = true").await;
    let found = text(&engine, &format!("SELECT {outputs} FROM {TABLE}")).await;
    assert_eq!(found.lines().last(), Some(expected));
    let groups = format!("SELECT {outputs} FROM {TABLE} GROUP BY v % 1");
    let found = text(&engine, &groups).await;
    assert!(found.lines().any(|line| line == expected), "{found}");
}

#[tokio::test]
async fn of_large_numbers_are_not_put_together() {
    let sql = "SELECT sum(x + 1e308), sum(x + 1e307) FROM (VALUES (-1e308), (-1e308)) AS t(x)";
    assert_eq!(text(&engine().await, sql).await.lines().last(), Some("0.0 -inf"));
}
