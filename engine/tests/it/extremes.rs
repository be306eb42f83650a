// SPDX-License-Identifier: Apache-2.0
//! Extremes of a table in several row groups: what one aggregate knows leaves out no row that
//! another one needs.

use rstest::rstest;
use tempfile::TempDir;

use crate::support::{engine, engine_with_drive, text};

/// A row group for each, of two rows. In the first only `a` has values, and those of the others lie
/// between them.
const ROWS: &str = "(0, NULL, 5), (9, NULL, 6), (4, 7, 1), (5, 70, 2), (NULL, 8, -1), (6, 9, -90)";

/// Two files of the same rows, since two partitions know each other's bounds.
async fn write(folder: &TempDir) -> String {
    let engine = engine().await;
    for name in ["one", "other"] {
        let path = folder.path().join(name).with_extension("parquet");
        let copy = format!(
            "COPY (SELECT * FROM (VALUES {ROWS}) AS t(a, b, c)) TO '{}' \
             OPTIONS ('format.max_row_group_size' '2')",
            path.display()
        );
        text(&engine, &copy).await;
    }
    folder.path().display().to_string()
}

#[rstest]
#[case::null_at_first("min(a), max(b)", "0 70")]
#[case::of_an_expression("min(a), max(a), min(c + 1)", "0 9 -89")]
#[case::of_some_rows("max(a), max(b) FILTER (WHERE c > 0)", "9 70")]
#[case::of_some_rows_of_one_column("min(a), max(a) FILTER (WHERE b IS NOT NULL)", "0 6")]
#[case::alone("max(b)", "70")]
#[case::alone_of_some_rows("min(a) FILTER (WHERE b IS NOT NULL)", "4")]
#[tokio::test]
async fn every_aggregate_has_its_rows(
    #[case] aggregates: &str,
    #[case] expected: &str,
    #[values("none", "off", "force")] drive: &str,
    #[values(2, 4)] partitions: usize,
) {
    let folder = tempfile::tempdir().unwrap();
    let location = write(&folder).await;
    let engine = if drive == "none" { engine().await } else { engine_with_drive(drive).await };
    engine.register("t", &location).await.unwrap();
    for setting in [&format!("target_partitions = {partitions}"), "batch_size = 2"] {
        text(&engine, &format!("SET datafusion.execution.{setting}")).await;
    }
    // A filter that says nothing: else statistics answer.
    let sql = format!("SELECT {aggregates} FROM t WHERE a IS NOT NULL OR b > 0 OR c > 0");
    assert_eq!(text(&engine, &sql).await.lines().last(), Some(expected));
}

#[rstest]
#[case("min(a)", true)]
#[case("min(a), max(a)", false)]
#[tokio::test]
async fn one_aggregate_still_narrows_its_scan(#[case] aggregates: &str, #[case] expected: bool) {
    let folder = tempfile::tempdir().unwrap();
    let location = write(&folder).await;
    let engine = engine().await;
    engine.register("t", &location).await.unwrap();
    let sql = format!("EXPLAIN SELECT {aggregates} FROM t WHERE c > 0 OR b > 0");
    let plan = text(&engine, &sql).await;
    assert_eq!(plan.contains("DynamicFilter"), expected, "{plan}");
}
