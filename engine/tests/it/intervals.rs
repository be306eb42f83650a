// SPDX-License-Identifier: Apache-2.0
//! Conditions on expressions that give the same for several values of a column.

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
        let sql = format!("{one} ORDER BY {column} DESC");
        let descending = numbers(&text(&engine, &sql).await);
        assert!(descending.iter().rev().eq(&ordered), "by {column}");

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
    assert!(!plan("CAST(i AS BIGINT) + 1 = 8 AND id > 3").await.contains("SortExec"));
    assert!(!plan("i = 8 AND id / 10 = 0").await.contains("SortExec"));
    assert!(plan("i / 2 = 8").await.contains("SortExec"));
}

fn numbers(table: &str) -> Vec<usize> {
    table.lines().skip(1).map(|line| line.parse().unwrap()).collect()
}
