// SPDX-License-Identifier: Apache-2.0
//! Casts of columns whose bounds are known.

use nearscan::Engine;
use rstest::rstest;
use tempfile::TempDir;

use crate::support::{engine_with_drive, kept, text};

/// An engine with a table in order of `k`, of which all other columns are casts; in row groups of
/// three rows.
async fn table(mode: &str) -> (Engine, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet").display().to_string();
    let engine = engine_with_drive(mode).await;
    // From the first noon on, every eight hours and a minute.
    let rows = "SELECT k, CAST(k AS VARCHAR) AS s, \
                CAST(43200 + k * 28860 AS TIMESTAMP) AS ts, \
                CAST(43200 + k * 28860 AS TIMESTAMP) AS sorted \
                FROM (SELECT value AS k FROM generate_series(0, 11))";
    let options = "'format.max_row_group_size' '3'";
    let copied = format!("COPY ({rows}) TO '{path}' STORED AS PARQUET OPTIONS ({options})");
    text(&engine, &copied).await;
    let create = "CREATE EXTERNAL TABLE t STORED AS PARQUET WITH ORDER (sorted)";
    text(&engine, &format!("{create} LOCATION '{path}'")).await;
    (engine, folder)
}

#[rstest]
#[case::bounds_of_numbers_as_text(
    "SELECT min(s), max(s) FROM (SELECT CAST(k AS VARCHAR) s FROM t)",
    "0 9"
)]
#[case::bounds_of_text_as_numbers("SELECT min(CAST(s AS INT)), max(CAST(s AS INT)) FROM t", "0 11")]
#[case::time_of_day("SELECT count(*) FROM t WHERE CAST(ts AS TIME) = TIME '04:02:00'", "1")]
#[case::early("SELECT count(*) FROM t WHERE CAST(ts AS TIME) < TIME '05:00:00'", "4")]
#[case::in_order_of_times("SELECT s FROM t ORDER BY CAST(sorted AS TIME) LIMIT 1", "2")]
#[tokio::test]
async fn have_the_order_of_their_own_type(
    #[case] sql: &str,
    #[case] expected: &str,
    #[values("off", "force")] mode: &str,
) {
    let (engine, _folder) = table(mode).await;
    assert_eq!(text(&engine, sql).await.lines().last(), Some(expected));
}

#[tokio::test]
async fn keep_names_and_types() {
    let (engine, _folder) = table("off").await;
    let sql = "SELECT CAST(k AS VARCHAR), CAST(ts AS TIME) AS x, max(CAST(s AS INT)) FROM t \
               GROUP BY CAST(k AS VARCHAR), CAST(ts AS TIME) ORDER BY CAST(k AS VARCHAR) LIMIT 1";
    let found = text(&engine, sql).await;
    assert_eq!(found, "t.k x max(t.s)\n0 12:00:00 0");
}

#[rstest]
#[case::equal("CAST(d AS DECIMAL(9, 1)) = 1.2", "1.20 1.24")]
#[case::unequal("CAST(d AS DECIMAL(9, 1)) <> 1.2", "-1.24 1.25")]
#[case::greater("CAST(d AS DECIMAL(9, 1)) > 1.2", "1.25")]
#[case::in_a_list("CAST(d AS DECIMAL(9, 1)) IN (1.2, 7.0, 8.0, 9.0, 10.0)", "1.20 1.24")]
#[case::tried("TRY_CAST(d AS DECIMAL(9, 1)) = 1.2", "1.20 1.24")]
#[case::tried_where_it_does_not_fit("TRY_CAST(k AS TINYINT) < 100", "1.20")]
#[case::unequal_where_it_does_not_fit("TRY_CAST(k AS TINYINT) <> 1", "1.20")]
#[case::in_another_zone(
    "(ts AT TIME ZONE 'Asia/Tokyo') = (TIMESTAMP '1970-01-01 00:00:01' AT TIME ZONE 'Asia/Tokyo')",
    "1.20"
)]
#[case::integer("CAST(d AS INT) = 1", "1.20 1.24 1.25")]
#[case::cast_twice("CAST(CAST(d AS INT) AS BIGINT) = 1", "1.20 1.24 1.25")]
#[case::more_digits("CAST(d AS DECIMAL(9, 3)) = 1.24", "1.24")]
#[case::seconds(
    "arrow_cast(ts, 'Timestamp(Second, None)') = TIMESTAMP '1970-01-01 00:00:01'",
    "1.20 1.24"
)]
#[tokio::test]
async fn may_lose_digits_before_they_are_compared(
    #[case] condition: &str,
    #[case] expected: &str,
    #[values("off", "force")] mode: &str,
    #[values("false", "true")] in_the_scan: &str,
) {
    let engine = engine_with_drive(mode).await;
    text(&engine, "SET datafusion.sql_parser.parse_float_as_decimal = true").await;
    let rows = "SELECT arrow_cast(d, 'Decimal128(9, 2)') AS d, \
                arrow_cast(ms, 'Timestamp(Millisecond, None)') AS ts, \
                CASE d WHEN 1.20 THEN 20 ELSE -1000 END AS k \
                FROM (VALUES (1.24, 1500), (1.25, 2000), (1.20, 1000), (-1.24, 0)) AS v(d, ms)";
    assert_eq!(kept(&engine, in_the_scan, rows, "d", condition).await, expected);
}
