// SPDX-License-Identifier: Apache-2.0
//! Arrays with NULL that are searched.

use rstest::rstest;

use crate::support::{engine, text};

#[rstest]
#[case::of_constants("array_has([1, NULL], i)", "true false NULL")]
#[case::negated("NOT array_has([1, NULL], i)", "false true NULL")]
#[case::of_columns("array_has([1, n], i)", "true false NULL")]
#[case::without_null("array_has([1, 3], i)", "true false NULL")]
#[case::by_another_name("list_contains([NULL, 2], i)", "false true NULL")]
#[tokio::test]
async fn have_a_value_or_not(#[case] condition: &str, #[case] expected: &str) {
    let engine = engine().await;
    let rows = "(VALUES (1, NULL), (2, NULL), (NULL, 4)) AS v(i, n)";
    text(&engine, &format!("CREATE TABLE t AS SELECT i, CAST(n AS BIGINT) AS n FROM {rows}")).await;
    let shown = format!("coalesce(CAST({condition} AS VARCHAR), 'NULL')");
    let found = text(&engine, &format!("SELECT {shown} AS x FROM t ORDER BY i")).await;
    assert_eq!(found.lines().skip(1).collect::<Vec<_>>().join(" "), expected);
}
