// SPDX-License-Identifier: Apache-2.0
//! Plans that are as good as those without corrections: what a correction hides is known where it
//! is true. The rows of such queries are in `slt/filter` and `slt/aggregate`.

use rstest::rstest;
use tempfile::TempDir;

use crate::support::{engine, engine_with_drive, text};

/// A table in no order: `id` from 0 to 4999, `ts` so many minutes after midnight of the first day,
/// `x` a quarter of it.
const UNORDERED: &str = "SELECT id, CAST(id * 60 AS TIMESTAMP) AS ts, CAST(id AS DOUBLE) / 4 AS x, \
                         CAST(id AS INT) AS i FROM \
                         (SELECT value * 7919 % 5000 AS id FROM generate_series(1, 5000))";

#[tokio::test]
async fn column_that_is_constant_spares_the_sort() {
    let engine = engine_with_drive("off").await;
    text(&engine, &format!("CREATE TABLE t AS {UNORDERED}")).await;
    let plan = async |condition: &str| {
        text(&engine, &format!("EXPLAIN SELECT * FROM t WHERE {condition} ORDER BY i")).await
    };
    assert!(!plan("i = 8").await.contains("SortExec"));
    assert!(!plan("i >= 8 AND i <= 8").await.contains("SortExec"));
    assert!(!plan("CAST(i AS BIGINT) = 8 AND id > 3").await.contains("SortExec"));
    assert!(!plan("i = 8 AND id / 10 = 0").await.contains("SortExec"));
    assert!(plan("i / 2 = 8").await.contains("SortExec"));
}

#[tokio::test]
async fn filter_on_an_expression_goes_to_a_drive() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet").display().to_string();
    let engine = engine_with_drive("force").await;
    let options = "'format.compression' 'snappy'";
    let copied = format!("COPY ({UNORDERED}) TO '{path}' STORED AS PARQUET OPTIONS ({options})");
    text(&engine, &copied).await;
    engine.register("t", &path).await.unwrap();
    for setting in [false, true] {
        let set = format!("SET datafusion.execution.parquet.pushdown_filters = {setting}");
        text(&engine, &set).await;
        let plan = text(&engine, "EXPLAIN SELECT i FROM t WHERE i + i > 9").await;
        assert!(plan.contains("PushdownExec") && !plan.contains("FilterExec"), "{plan}");
    }
}

#[tokio::test]
async fn filter_on_a_cast_rules_row_groups_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet").display().to_string();
    let engine = engine_with_drive("off").await;
    let rows = "SELECT CAST(value * 60 AS TIMESTAMP) AS ts FROM generate_series(0, 4999)";
    let options = "'format.max_row_group_size' '500'";
    let copied = format!("COPY ({rows}) TO '{path}' STORED AS PARQUET OPTIONS ({options})");
    text(&engine, &copied).await;
    engine.register("t", &path).await.unwrap();
    let day = "SELECT count(*) FROM t WHERE CAST(ts AS DATE) = DATE '1970-01-03'";
    let plan = text(&engine, &format!("EXPLAIN ANALYZE {day}")).await;
    assert!(plan.contains(" row_groups=4, row_groups_datafusion=0, row_groups_pruned=6"), "{plan}");
    engine.set("nearscan.scan", "datafusion").await.unwrap();
    let plan = text(&engine, &format!("EXPLAIN ANALYZE {day}")).await;
    assert!(plan.contains("row_groups_pruned_statistics=10 total → 4 matched"), "{plan}");
}

/// A row group for each, of two rows. In the first only `a` has values, and those of the others lie
/// between them.
const EXTREMES: &str =
    "(0, NULL, 5), (9, NULL, 6), (4, 7, 1), (5, 70, 2), (NULL, 8, -1), (6, 9, -90)";

/// Two files of the same rows, since two partitions know each other's bounds.
async fn write(folder: &TempDir) -> String {
    let engine = engine().await;
    for name in ["one", "other"] {
        let path = folder.path().join(name).with_extension("parquet");
        let copy = format!(
            "COPY (SELECT * FROM (VALUES {EXTREMES}) AS t(a, b, c)) TO '{}' \
             OPTIONS ('format.max_row_group_size' '2')",
            path.display()
        );
        text(&engine, &copy).await;
    }
    folder.path().display().to_string()
}

#[rstest]
#[case("min(a)", true)]
#[case("min(a), max(a)", false)]
#[tokio::test]
async fn one_extreme_alone_narrows_its_scan(#[case] aggregates: &str, #[case] expected: bool) {
    let folder = tempfile::tempdir().unwrap();
    let location = write(&folder).await;
    let engine = engine().await;
    engine.register("t", &location).await.unwrap();
    engine.set("nearscan.scan", "datafusion").await.unwrap();
    let sql = format!("EXPLAIN SELECT {aggregates} FROM t WHERE c > 0 OR b > 0");
    let plan = text(&engine, &sql).await;
    assert_eq!(plan.contains("DynamicFilter"), expected, "{plan}");
}
