// SPDX-License-Identifier: Apache-2.0
//! Decimals times zero, and divided by one.

use rstest::rstest;

use crate::support::{engine, rows_of, text};

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
    assert_eq!(
        rows_of(&engine, &format!("SELECT {value} AS x FROM t ORDER BY i")).await.join(" "),
        expected
    );
}
