// SPDX-License-Identifier: Apache-2.0
//! Canaries of physical plans.

use datafusion::{execution::runtime_env::RuntimeEnvBuilder, prelude::SessionContext};
use nearscan_corrections::{Correction, CorrectionSet};

use super::Canary;
use crate::session::{Corrected, config, plain_rows};

#[tokio::test]
async fn filter_reaches_the_other_column_of_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (l, r) = (path("l.parquet"), path("r.parquet"));
    let setup = [
        format!(
            "COPY (SELECT * FROM (VALUES (1, NULL), (2, 5), (3, 6), (4, 7), (5, 8)) AS t(k, c)) \
             TO '{l}'"
        ),
        format!(
            "COPY (SELECT * FROM (VALUES (1, 10, 0), (2, 20, 0), (9, 30, 0)) AS t(k, c, x)) TO '{r}'"
        ),
        format!("CREATE EXTERNAL TABLE l STORED AS PARQUET LOCATION '{l}'"),
        format!("CREATE EXTERNAL TABLE r STORED AS PARQUET LOCATION '{r}'"),
    ];
    let canary = Canary {
        correction: Correction::GateFilterPushdown,
        setup: &setup.each_ref().map(String::as_str),
        sql: "SELECT r.k, l.c, r.c FROM l FULL JOIN r ON l.k = r.k \
              WHERE r.x > 0 OR (l.c IS NOT NULL AND r.k > 0)",
        wrong: "1  10, 2 5 20, 9  30",
        right: "2 5 20",
    };
    canary.check().await;
}

#[tokio::test]
async fn filter_is_pushed_below_join_filter_and_scan_with_limit() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name| folder.path().join(name).display().to_string();
    let (few, ordered) = (path("few.parquet"), path("ordered.parquet"));
    let setup = [
        "SET datafusion.execution.parquet.pushdown_filters = true".to_owned(),
        "SET datafusion.execution.target_partitions = 1".to_owned(),
        "SET datafusion.optimizer.join_reordering = false".to_owned(),
        format!("COPY (SELECT value AS f FROM generate_series(50, 55)) TO '{few}'"),
        format!("COPY (SELECT value AS k FROM generate_series(1, 100)) TO '{ordered}'"),
        format!("CREATE EXTERNAL TABLE few STORED AS PARQUET LOCATION '{few}'"),
        format!(
            "CREATE EXTERNAL TABLE ordered STORED AS PARQUET WITH ORDER (k) LOCATION '{ordered}'"
        ),
    ];
    let join = "SELECT a.k AS key FROM ordered AS a JOIN ordered AS b ON a.k = b.k";
    for (below, wrong) in [
        (join, "6"),
        ("SELECT k AS key FROM ordered WHERE k % 2 = 0", "3"),
        ("SELECT k AS key FROM ordered", "6"),
    ] {
        let sql =
            format!("SELECT count(*) FROM few JOIN ({below} ORDER BY key LIMIT 10) ON f = key");
        let canary = Canary {
            correction: Correction::GateFilterPushdown,
            setup: &setup.each_ref().map(String::as_str),
            sql: &sql,
            wrong,
            right: "0",
        };
        canary.check().await;
    }
}

#[tokio::test]
async fn sort_is_pushed_below_limit_with_offset() {
    let canary = Canary {
        correction: Correction::ProtectLimits,
        setup: &["CREATE TABLE t (k INT) AS VALUES (1), (2), (3), (4), (5), (6), (7), (8)"],
        sql: "SELECT k FROM (SELECT k FROM t LIMIT 4 OFFSET 3) ORDER BY k",
        wrong: "4",
        right: "4, 5, 6, 7",
    };
    canary.check().await;
}

#[tokio::test]
async fn rollup_over_constant_key_is_not_sorted() {
    let canary = Canary {
        correction: Correction::ForgetNullExtendedProperties,
        setup: &["CREATE TABLE t (k INT) AS VALUES (1), (2)"],
        sql: "SELECT k, count(*) FROM t WHERE k = 1 GROUP BY ROLLUP (k) ORDER BY k",
        wrong: " 1, 1 1",
        right: "1 1,  1",
    };
    canary.check().await;
}

#[tokio::test]
async fn piecewise_merge_join_loses_rows() {
    let canary = Canary {
        correction: Correction::DisablePiecewiseMergeJoin,
        setup: &[
            "SET datafusion.optimizer.enable_piecewise_merge_join = true",
            "CREATE TABLE t (a INT) AS VALUES (1), (2), (3)",
            "CREATE TABLE u (b INT) AS VALUES (2), (3)",
        ],
        sql: "SELECT t.a, u.b FROM t JOIN u ON t.a <= u.b ORDER BY t.a, u.b",
        wrong: "1 3, 1 2, 2 3, 2 2, 3 3",
        right: "1 2, 1 3, 2 2, 2 3, 3 3",
    };
    canary.check().await;
}

/// Far more than the join holds besides, and far less than the wide rows.
const SHORT: usize = 1 << 20;

#[tokio::test]
async fn nested_loop_join_that_spills_loses_rows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet").display().to_string();
    let create = format!("CREATE EXTERNAL TABLE t STORED AS PARQUET LOCATION '{path}'");
    let sql = "SELECT b.id FROM (SELECT id % 100 AS x, repeat('y', 20000) || id AS s FROM t \
               WHERE id % 25 = 0) AS a JOIN t AS b \
               ON a.x < b.y AND a.x * 3 > b.y AND a.s > CAST(b.y AS VARCHAR)";
    let config = || config().with_batch_size(500);
    let rich = SessionContext::new_with_config(config());
    let rows = "SELECT value AS id, value % 300 AS y FROM generate_series(1, 2000)";
    plain_rows(&rich, &format!("COPY ({rows}) TO '{path}'")).await;
    plain_rows(&rich, &create).await;
    let right = sorted(&plain_rows(&rich, sql).await);
    assert!(right.len() > 1000, "{} rows", right.len());

    let runtime = || {
        let runtime = RuntimeEnvBuilder::new().with_memory_limit(SHORT, 1.0);
        runtime.with_temp_file_path(folder.path()).build_arc().unwrap()
    };
    let short = SessionContext::new_with_config_rt(config(), runtime());
    plain_rows(&short, &create).await;
    let found = sorted(&plain_rows(&short, sql).await);
    let correction = Correction::RestartNestedLoopInputs;
    assert_ne!(found, right, "DataFusion is right by itself: remove the correction '{correction}'");
    for enabled in [CorrectionSet::ALL, CorrectionSet::only(correction)] {
        let corrected = Corrected::over(enabled, short.state());
        corrected.rows(&create).await;
        assert_eq!(sorted(&corrected.rows(sql).await), right);
    }
}

fn sorted(rows: &str) -> Vec<String> {
    let mut rows: Vec<String> = rows.split(", ").map(str::to_owned).collect();
    rows.sort_unstable();
    rows
}
