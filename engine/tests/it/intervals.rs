// SPDX-License-Identifier: Apache-2.0
//! Conditions on expressions, which say less of a column than conditions on the column itself.

use rstest::rstest;

use crate::support::{engine_with_drive, text};

/// A table in no order: `id` from 0 to 4999, `ts` so many minutes after midnight of the first day,
/// `x` a quarter of it, in ten row groups.
const ROWS: &str = "SELECT id, CAST(id * 60 AS TIMESTAMP) AS ts, CAST(id AS DOUBLE) / 4 AS x, \
                    CAST(id AS INT) AS i FROM \
                    (SELECT value * 7919 % 5000 AS id FROM generate_series(1, 5000))";

#[rstest]
#[case::quotient("id / 100 = 7", 100)]
#[case::product("id * 4294967296 * 4294967296 = 0", 5000)]
#[case::narrower("CAST(x AS INT) = 9", 4)]
#[case::sum_that_wraps("id >= 0 AND id + 9223372036854770809 <= 9223372036854770809", 2)]
#[case::equal_truth_values("(i > 5) = (id < 0)", 6)]
#[case::ordered_truth_values("(i > 5) <= (id < 0)", 6)]
#[case::day("CAST(ts AS DATE) = DATE '1970-01-02'", 1440)]
#[case::quotient_and_more("id / 100 = 7 AND i >= 750", 50)]
#[case::constant_and_quotient("i = 8 AND id / 10 = 0", 1)]
#[tokio::test]
async fn leave_orders_and_groups_as_they_are(
    #[case] condition: &str,
    #[case] rows: usize,
    #[values("off", "force")] mode: &str,
) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet").display().to_string();
    let engine = engine_with_drive(mode).await;
    let options = "'format.max_row_group_size' '500'";
    let copied = format!("COPY ({ROWS}) TO '{path}' STORED AS PARQUET OPTIONS ({options})");
    text(&engine, &copied).await;
    engine.register("t", &path).await.unwrap();
    text(&engine, "SET datafusion.execution.batch_size = 100").await;

    let one = format!("SELECT id FROM t WHERE {condition}");
    let ordered = numbers(&text(&engine, &format!("{one} ORDER BY id, x, i, ts DESC")).await);
    assert_eq!(ordered.len(), rows);
    assert!(ordered.is_sorted());
    for column in ["id", "ts", "x", "i"] {
        let sql = format!("{one} ORDER BY {column}");
        assert_eq!(numbers(&text(&engine, &sql).await), ordered, "by {column}");
        let descending = numbers(&text(&engine, &format!("{sql} DESC")).await);
        assert!(descending.iter().rev().eq(&ordered), "by {column}, descending");

        let union = "(SELECT * FROM t UNION ALL SELECT * FROM t)";
        let groups = format!("SELECT {column} FROM {union} WHERE {condition} GROUP BY {column}");
        let counted = text(&engine, &format!("SELECT count(*) FROM ({groups})")).await;
        assert_eq!(numbers(&counted), [rows], "groups by {column}");
    }
}

#[tokio::test]
async fn that_are_constants_spare_the_sort() {
    let engine = engine_with_drive("off").await;
    text(&engine, &format!("CREATE TABLE t AS {ROWS}")).await;
    let plan = async |condition: &str| {
        text(&engine, &format!("EXPLAIN SELECT * FROM t WHERE {condition} ORDER BY i")).await
    };
    assert!(!plan("i = 8").await.contains("SortExec"));
    assert!(!plan("i >= 8 AND i <= 8").await.contains("SortExec"));
    assert!(!plan("CAST(i AS BIGINT) = 8 AND id > 3").await.contains("SortExec"));
    assert!(!plan("i = 8 AND id / 10 = 0").await.contains("SortExec"));
    assert!(plan("i / 2 = 8").await.contains("SortExec"));
}

#[rstest]
#[case::least_number("SELECT k FROM t WHERE -k < 5", "k\n-9223372036854775808\n3\n7")]
#[case::days("SELECT k FROM t WHERE late - soon > 30", "k\n7")]
#[tokio::test]
async fn beyond_intervals_are_not_refused(
    #[case] sql: &str,
    #[case] expected: &str,
    #[values("off", "force")] mode: &str,
) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet").display().to_string();
    let engine = engine_with_drive(mode).await;
    let rows = "VALUES (-9223372036854775808, DATE '2020-01-01', DATE '2020-01-31'), \
                (3, DATE '2020-02-01', NULL), (7, DATE '2020-02-01', DATE '2020-03-03')";
    text(&engine, &format!("COPY (SELECT * FROM ({rows}) AS t(k, soon, late)) TO '{path}'")).await;
    engine.register("t", &path).await.unwrap();
    assert_eq!(text(&engine, sql).await, expected);
}

#[tokio::test]
async fn on_differences_that_wrap_say_nothing_of_a_column() {
    let engine = engine_with_drive("off").await;
    let rows = "(VALUES (9), (7), (3), (0)) AS t(n)";
    text(&engine, &format!("CREATE TABLE t AS SELECT arrow_cast(n, 'UInt64') AS u FROM {rows}"))
        .await;
    let sql =
        "SELECT u FROM t WHERE arrow_cast(5, 'UInt64') - u >= arrow_cast(5, 'UInt64') ORDER BY u";
    assert_eq!(numbers(&text(&engine, sql).await), [0, 7, 9]);
}

#[tokio::test]
async fn go_to_a_drive_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet").display().to_string();
    let engine = engine_with_drive("force").await;
    let options = "'format.compression' 'snappy'";
    let copied = format!("COPY ({ROWS}) TO '{path}' STORED AS PARQUET OPTIONS ({options})");
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
async fn on_casts_still_rule_row_groups_out() {
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
    assert!(plan.contains("row_groups_pruned_statistics=10 total → 4 matched"), "{plan}");
}

fn numbers(table: &str) -> Vec<usize> {
    table.lines().skip(1).map(|line| line.parse().unwrap()).collect()
}
