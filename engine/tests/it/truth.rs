// SPDX-License-Identifier: Apache-2.0
//! Conditions that are true, false or unknown, of which others would be made that are not the same.

use rstest::rstest;

use crate::support::{engine, rows_of, text};

const ROWS: &str = "(VALUES (1, 'a'), (2, ''), (NULL, NULL)) AS t(i, s)";

#[rstest]
#[case::in_both("i IN (1) AND i IN (2)", "false false NULL")]
#[case::in_two_long_ones("i IN (1, 3, 5, 7) AND i IN (2, 4, 6, 8)", "false false NULL")]
#[case::in_one_only("i IN (1, 3, 5, 7) AND i NOT IN (1, 3, 5, 7)", "false false NULL")]
#[case::not_in_one("i NOT IN (1) OR i NOT IN (2)", "true true NULL")]
#[case::not_in_a_long_one("i NOT IN (1, 3, 5, 7) OR i NOT IN (2, 4, 6, 8)", "true true NULL")]
#[case::nested("(true AND i IN (1, 3, 5, 7)) AND NOT (i IN (1, 3, 5, 7))", "false false NULL")]
#[case::in_either("i IN (1, 3, 5, 7) OR i IN (2, 4, 6, 8)", "true true NULL")]
#[case::equal_to_either("(i = 1 OR i = 3) AND (i = 2 OR i = 4)", "false false NULL")]
#[case::not_in_null("i IN (1) AND i NOT IN (NULL)", "NULL false NULL")]
#[case::not_in_null_or_more("i NOT IN (NULL, 5, 6, 7, 8) AND (i = 1 OR i = 3)", "NULL false NULL")]
#[case::in_what_is_equal("i IN (length(s), 5) AND i IN (2 - length(s), 5)", "true false NULL")]
#[case::not_in_what_is_equal(
    "i IN (length(s), 5) AND i NOT IN (2 - length(s))",
    "false false NULL"
)]
#[case::in_neither("i NOT IN (length(s), 5) OR i NOT IN (2 - length(s), 5)", "false true NULL")]
#[case::unlike_those_and_equal("(i = 1 OR i = 3) AND NOT (i <> 2 AND i <> 4)", "false false NULL")]
#[case::a_constant_in_both("2 IN (i) AND NOT (2 IN (i))", "false false NULL")]
#[case::backslash(r"concat('a\', s) ~ 'a\\a'", "true false false")]
#[case::backslash_as_a_number(r"concat('a\', s) ~ 'a\x5Ca'", "true false false")]
#[case::no_backslash(r"concat('a\', s) !~ '^a\\a$'", "false true true")]
#[case::backslash_by_function(r"regexp_like(concat('a\', s), 'a\\a')", "true false false")]
#[case::any_text_by_function("regexp_like(s, '.*')", "true true NULL")]
#[case::any_text("s ~ '.*'", "true true NULL")]
#[case::any_text_of_any_case("s ~* '.*'", "true true NULL")]
#[case::no_text("s !~ '.*'", "false false NULL")]
#[tokio::test]
async fn is_that_of_each_row(
    #[case] condition: &str,
    #[case] expected: &str,
    #[values("BIGINT", "SMALLINT")] of: &str,
    #[values(false, true)] is_in_file: bool,
) {
    let engine = engine().await;
    let folder = tempfile::tempdir().unwrap();
    let rows = format!("(SELECT CAST(i AS {of}) AS i, s FROM {ROWS})");
    let path = folder.path().join("t.parquet").display().to_string();
    text(&engine, &format!("COPY {rows} TO '{path}'")).await;
    let table = if is_in_file { format!("'{path}'") } else { rows };
    let all = |outputs: &str, rest: &str| format!("SELECT {outputs} FROM {table} {rest}");
    let value = format!("coalesce(CAST({condition} AS VARCHAR), 'NULL') AS x");
    assert_eq!(rows_of(&engine, &all(&value, "ORDER BY i NULLS LAST")).await.join(" "), expected);
    for (rest, truth) in [
        (format!("WHERE {condition}"), "true"),
        (format!("WHERE NOT ({condition})"), "false"),
        (format!("WHERE ({condition}) IS NULL"), "NULL"),
    ] {
        let count = text(&engine, &all("count(*)", &rest)).await;
        let rows = expected.split(' ').filter(|value| *value == truth).count();
        assert_eq!(count.lines().last(), Some(rows.to_string().as_str()), "{rest}");
    }
}
