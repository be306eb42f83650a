// SPDX-License-Identifier: Apache-2.0
//! Conditions without columns above aggregates.

use rstest::rstest;

use crate::support::{engine, text};

#[rstest]
#[case::having("SELECT count(*) FROM t HAVING (SELECT max(a) FROM t) > 100", 0)]
#[case::having_true("SELECT count(*) FROM t HAVING (SELECT max(a) FROM t) < 100", 1)]
#[case::filter("SELECT * FROM (SELECT max(a) m FROM t) WHERE (SELECT count(*) FROM t) = 0", 0)]
#[case::two_filters(
    "SELECT * FROM (SELECT count(*) m FROM t HAVING count(*) > 0) WHERE (SELECT max(a) FROM t) > 9",
    0
)]
#[case::of_grouping_sets(
    "SELECT * FROM (SELECT a, count(*) FROM t GROUP BY ROLLUP (a)) WHERE (SELECT max(a) FROM t) > 9",
    0
)]
#[case::of_groups(
    "SELECT * FROM (SELECT a, count(*) FROM t GROUP BY a) WHERE (SELECT max(a) FROM t) > 9",
    0
)]
#[case::of_a_join(
    "SELECT x.m FROM (SELECT count(*) m FROM t) x JOIN t ON (SELECT max(a) FROM t) > 9",
    0
)]
#[case::of_a_left_join(
    "SELECT t.a FROM t LEFT JOIN (SELECT count(*) m FROM t) x ON (SELECT max(a) FROM t) > 9 WHERE m IS NULL",
    3
)]
#[tokio::test]
async fn keep_its_row_out(#[case] sql: &str, #[case] rows: usize) {
    let engine = engine().await;
    text(&engine, "CREATE TABLE t (a INT) AS VALUES (1), (2), (3)").await;
    assert_eq!(text(&engine, sql).await.lines().skip(1).count(), rows);
}
