// SPDX-License-Identifier: Apache-2.0
//! Casts of columns whose bounds are known.

use nearscan::Engine;
use rstest::rstest;
use tempfile::TempDir;

use crate::support::{engine_with_drive, text};

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
