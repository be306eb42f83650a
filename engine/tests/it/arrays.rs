// SPDX-License-Identifier: Apache-2.0
//! Arrays with NULL that are searched.

use rstest::rstest;

use crate::support::{engine, rows_of, text};

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
    assert_eq!(
        rows_of(&engine, &format!("SELECT {shown} AS x FROM t ORDER BY i")).await.join(" "),
        expected
    );
}

#[rstest]
#[case::of_constants("i = ANY([1, NULL])", "true NULL NULL")]
#[case::negated("NOT (i = ANY([1, NULL]))", "false NULL NULL")]
#[case::without_null("i = ANY([1, 3])", "true false NULL")]
#[case::of_columns("i = ANY([1, n])", "true NULL NULL")]
#[case::of_a_column("i = ANY(l)", "true false NULL")]
#[case::of_a_column_with_null("4 = ANY(m)", "NULL false NULL")]
#[case::of_nothing("i = ANY([])", "false false false")]
#[case::less("i < ANY(m)", "NULL true NULL")]
#[case::not_less("NOT (i < ANY([1, NULL]))", "NULL NULL NULL")]
#[case::less_or_equal("i <= ANY([1])", "true false NULL")]
#[case::greater("i > ANY(m)", "NULL false NULL")]
#[case::greater_or_equal("i >= ANY([2, n])", "NULL true NULL")]
#[case::unequal("i <> ANY(m)", "NULL true NULL")]
#[case::unequal_to_one("i <> ANY([1])", "false true NULL")]
#[tokio::test]
async fn have_any_value_or_may(#[case] condition: &str, #[case] expected: &str) {
    let engine = engine().await;
    let rows = "(VALUES (1, NULL, [1, 2], [1, NULL]), (2, NULL, [3], [3]), \
                (NULL, 4, [1], [NULL, 1])) AS v(i, n, l, m)";
    let table = format!("CREATE TABLE t AS SELECT i, CAST(n AS BIGINT) AS n, l, m FROM {rows}");
    text(&engine, &table).await;
    let shown = format!("coalesce(CAST({condition} AS VARCHAR), 'NULL')");
    assert_eq!(
        rows_of(&engine, &format!("SELECT {shown} AS x FROM t ORDER BY i")).await.join(" "),
        expected
    );
}
