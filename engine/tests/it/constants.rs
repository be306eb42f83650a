// SPDX-License-Identifier: Apache-2.0
//! Several comparisons of a column with constants.

use rstest::rstest;

use crate::support::{Data, text};

#[rstest]
#[case::below("k <= 3 AND CAST('3' AS INT) > k", 2)]
#[case::above("k >= 997 AND CAST('997' AS INT) < k", 3)]
#[case::below_or_at("k < 3 AND CAST('3' AS INT) >= k", 2)]
#[case::equal("k = 3 AND CAST('3' AS INT) = k", 1)]
#[case::unequal("k = 3 AND CAST('4' AS INT) = k", 0)]
#[case::behind_a_projection("k <= x AND x > k", 2)]
#[tokio::test]
async fn are_all_true(#[case] condition: &str, #[case] rows: usize) {
    let data = Data::make().await;
    let engine = data.engine().await;
    let table = "(SELECT k, CAST('3' AS INT) AS x FROM t)";
    let found = text(&engine, &format!("SELECT count(*) FROM {table} WHERE {condition}")).await;
    assert_eq!(found.lines().last(), Some(rows.to_string().as_str()));
}
