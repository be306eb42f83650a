// SPDX-License-Identifier: Apache-2.0
//! Decimals times zero, and divided by one.

use rstest::rstest;

use crate::support::{engine, text};

#[rstest]
#[case::rest_of_one("d % 1", "0.33 0.67 0.00")]
#[case::rest_of_one_that_is_worked_out("d % (3 - 2)", "0.33 0.67 0.00")]
#[case::rest_of_two("d % 2", "0.33 1.67 0.00")]
#[case::zero("d * 0", "0.00 0.00 0.00")]
#[case::zero_first("0 * d", "0.00 0.00 0.00")]
#[case::one("d * 1", "2.33 1.67 4.00")]
#[case::rest_of_an_integer("i % 1", "0 0 0")]
#[case::condition("CASE WHEN d % 1 > 0.5 THEN 1 ELSE 0 END", "0 1 0")]
#[tokio::test]
async fn keep_their_digits(#[case] value: &str, #[case] expected: &str) {
    let engine = engine().await;
    text(
        &engine,
        "CREATE TABLE t (i INT NOT NULL, d DECIMAL(9, 2) NOT NULL) AS \
         VALUES (1, 2.33), (2, 1.67), (3, 4.00)",
    )
    .await;
    let found = text(&engine, &format!("SELECT {value} AS x FROM t ORDER BY i")).await;
    assert_eq!(found.lines().skip(1).collect::<Vec<_>>().join(" "), expected);
}
