// SPDX-License-Identifier: Apache-2.0
//! Several comparisons of a column with constants.

use rstest::rstest;

use crate::support::{Data, engine, text};

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

#[rstest]
#[case::equal("CAST('1' AS INT) = k", "k = 1", "1")]
#[case::less("k <= 1 AND CAST('1' AS INT) > k", "k <> 7", "0")]
#[case::twice("CAST('3' AS INT) > k AND k > 0", "k <= 3", "2")]
#[tokio::test]
async fn are_all_true_of_a_subquery_too(
    #[case] inner: &str,
    #[case] outer: &str,
    #[case] rows: &str,
) {
    let data = Data::make().await;
    let engine = data.engine().await;
    let subquery = format!("(SELECT k FROM t WHERE {inner})");
    let sql = format!("SELECT count(*) FROM {subquery} WHERE {outer}");
    assert_eq!(text(&engine, &sql).await.lines().last(), Some(rows));
}

#[rstest]
#[case("x > -0.0 AND x >= 0.0", "1")]
#[case("x = 0.0 AND x = -0.0", "2")]
#[case("x < 0.0 AND x <= -0.0", "1")]
#[case("x IN (0.0, 2.0, 3.0, 4.0, 5.0)", "2")]
#[case("x NOT IN (-0.0, 2.0, 3.0, 4.0, 5.0)", "2")]
#[case("0.0 IN (x, 9.0)", "2")]
#[case("0.0 NOT IN (x, 9.0)", "2")]
#[tokio::test]
async fn both_zeros_are_one(#[case] condition: &str, #[case] rows: &str) {
    let table = "(VALUES (0.0), (-0.0), (1.5), (-1.5)) AS t(x)";
    let sql = format!("SELECT count(*) FROM {table} WHERE {condition}");
    assert_eq!(text(&engine().await, &sql).await.lines().last(), Some(rows));
}
