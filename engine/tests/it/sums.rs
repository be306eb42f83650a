// SPDX-License-Identifier: Apache-2.0
//! Sums that share their work.

use rstest::rstest;

use crate::support::{engine, text};

/// 875 numbers, and NULL in every eighth row.
const TABLE: &str = "(SELECT arrow_cast(CASE WHEN k % 8 = 0 THEN NULL ELSE k % 10 END, 'Int32') \
                     AS v FROM generate_series(1, 1000) AS s(k))";

#[rstest]
#[case::counted("count(v), sum(v + 6), sum(v + 7)", "875 9250 10125")]
#[case::divided("min(v), min(v / 1), sum(2 + v), max(v % 7), sum(v / 3)", "0 0 5750 6 1075")]
#[case::summed("sum(v), sum(v + 6), sum(7 + v), avg(v)", "4000 9250 10125 4.571428571428571")]
#[case::of_a_narrow_type(
    "sum(arrow_cast(v, 'Int8') + arrow_cast(1, 'Int8')), \
     sum(arrow_cast(v, 'Int8') + arrow_cast(2, 'Int8'))",
    "4875 5750"
)]
#[case::of_a_narrow_decimal(
    "sum(arrow_cast(v, 'Decimal128(9, 1)') + arrow_cast(0.5, 'Decimal128(2, 1)')), \
     sum(arrow_cast(v, 'Decimal128(9, 1)') + arrow_cast(1.5, 'Decimal128(2, 1)'))",
    "4437.5 5312.5"
)]
#[tokio::test]
async fn are_those_of_each_alone(#[case] outputs: &str, #[case] expected: &str) {
    let engine = engine().await;
    let found = text(&engine, &format!("SELECT {outputs} FROM {TABLE}")).await;
    assert_eq!(found.lines().last(), Some(expected));
    let groups = format!("SELECT {outputs} FROM {TABLE} GROUP BY v % 1");
    let found = text(&engine, &groups).await;
    assert!(found.lines().any(|line| line == expected), "{found}");
}
