// SPDX-License-Identifier: Apache-2.0
//! Nested loop joins whose left rows do not fit in memory.

use nearscan::Engine;
use rstest::rstest;
use tempfile::TempDir;

use crate::support::{engine, failure, rows_of, text};

const WIDE: &str = "SELECT value AS id, value % 100 AS x, repeat('y', 20000) || value AS s \
                    FROM generate_series(1, 100)";
const MANY: &str = "SELECT value AS id, value % 300 AS y FROM generate_series(1, 2000)";

/// Far more than the join holds besides, and far less than the wide rows.
const SHORT: u64 = 1 << 20;

/// The tables, and a join of wide rows to many of them.
struct Join {
    folder: TempDir,
    sql: String,
}

impl Join {
    async fn of(columns: &str, left: &str, join: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = |name| format!("'{}'", folder.path().join(name).display());
        let (wide, many) = (path("wide.parquet"), path("many.parquet"));
        let engine = engine().await;
        for (rows, path) in [(WIDE, &wide), (MANY, &many)] {
            text(&engine, &format!("COPY ({rows}) TO {path}")).await;
        }
        // The many are made wide.
        let left = match left.contains("FROM many") {
            true => format!("SELECT id % 100 AS x, repeat('y', 20000) || id AS s FROM ({left})"),
            false => left.to_owned(),
        };
        let left = left.replace("FROM wide", &format!("FROM {wide}"));
        let left = left.replace("FROM many", &format!("FROM {many}"));
        let sql = format!(
            "SELECT {columns} FROM ({left}) AS a {join} {many} AS b \
             ON a.x < b.y AND a.x * 3 > b.y AND a.s > CAST(b.y AS VARCHAR)"
        );
        Self { folder, sql }
    }

    /// An engine with little memory, or enough.
    async fn engine(&self, memory: Option<u64>, threads: usize) -> Engine {
        let builder = Engine::builder().threads(threads).temp_directory(self.folder.path());
        // The many are repartitioned when they are more.
        let builder = builder.set("datafusion.execution.batch_size", "500");
        let builder = memory.into_iter().fold(builder, |it, bytes| it.memory_limit(bytes));
        builder.build().await.unwrap()
    }
}

#[rstest]
#[case::of_a_scan("b.id", "JOIN", "SELECT * FROM wide")]
#[case::of_a_repartition("b.id, a.x", "JOIN", "SELECT * FROM many WHERE id % 25 = 0")]
#[case::of_a_hash_join("b.id", "JOIN", "SELECT * FROM many WHERE id IN (SELECT id / 25 FROM wide)")]
#[case::of_rows_without_a_match("a.x", "LEFT JOIN", "SELECT * FROM many WHERE id % 25 = 0")]
#[case::of_half_a_join("a.x", "LEFT SEMI JOIN", "SELECT * FROM many WHERE id % 25 = 0")]
#[case::of_the_other_half("a.x", "LEFT ANTI JOIN", "SELECT * FROM many WHERE id % 25 = 0")]
#[tokio::test]
async fn rows_that_do_not_fit_are_read_again(
    #[case] columns: &str,
    #[case] join: &str,
    #[case] left: &str,
    #[values(1, 2)] threads: usize,
) {
    let is_split = threads > 1 && join != "JOIN";
    let join = Join::of(columns, left, join).await;
    let expected = rows(&join.engine(None, threads).await, &join.sql).await;
    assert!(expected.len() >= 20, "{expected:?}");
    let short = join.engine(Some(SHORT), threads).await;
    if is_split {
        let error = failure(&short, &join.sql).await;
        assert!(error.contains("the left side of a nested loop join"), "{error}");
    } else {
        assert_eq!(rows(&short, &join.sql).await, expected);
    }
}

#[rstest]
#[case::left("a.x", "LEFT JOIN", "SELECT * FROM wide")]
#[case::left_anti("a.x", "LEFT ANTI JOIN", "SELECT * FROM wide")]
#[case::right("a.x", "RIGHT JOIN", "SELECT * FROM wide")]
#[case::right_semi("b.id", "RIGHT SEMI JOIN", "SELECT * FROM wide")]
#[case::right_anti("b.id", "RIGHT ANTI JOIN", "SELECT * FROM wide")]
#[case::of_any_rows(
    "b.id",
    "JOIN",
    "SELECT * FROM many WHERE id IN (SELECT id FROM wide LIMIT 90)"
)]
#[case::of_the_first_rows(
    "b.id",
    "JOIN",
    "SELECT * FROM (SELECT * FROM many ORDER BY y, id LIMIT 100)"
)]
#[tokio::test]
async fn where_that_would_be_wrong_memory_is_short(
    #[case] columns: &str,
    #[case] join: &str,
    #[case] left: &str,
) {
    let join = Join::of(columns, left, join).await;
    assert!(!rows(&join.engine(None, 2).await, &join.sql).await.is_empty());
    let error = failure(&join.engine(Some(SHORT), 2).await, &join.sql).await;
    assert!(error.contains("memory limit reached"), "{error}");
    assert!(error.contains("the left side of a nested loop join"), "{error}");
}

/// The rows in an order of their own.
async fn rows(engine: &Engine, sql: &str) -> Vec<String> {
    let mut rows = rows_of(engine, sql).await;
    rows.sort();
    rows
}
