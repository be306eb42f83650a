// SPDX-License-Identifier: Apache-2.0
//! Nested loop joins whose left rows do not fit in memory.

use nearscan::Engine;
use rstest::rstest;
use tempfile::TempDir;

use crate::support::{engine, failure, text};

const WIDE: &str = "SELECT value AS id, value % 100 AS x, repeat('y', 5000) || value AS s \
                    FROM generate_series(1, 500)";
const MANY: &str = "SELECT value AS id, value % 300 AS y FROM generate_series(1, 10000)";

/// Far more than the join holds besides, and far less than the wide rows.
const SHORT: u64 = 1 << 20;

/// The two tables, and a join of them.
struct Join {
    folder: TempDir,
    wide: String,
    many: String,
    sql: String,
}

impl Join {
    async fn of(columns: &str, join: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = |name| format!("'{}'", folder.path().join(name).display());
        let engine = engine().await;
        for (name, rows) in [("wide.parquet", WIDE), ("many.parquet", MANY)] {
            text(&engine, &format!("COPY ({rows}) TO {}", path(name))).await;
        }
        let (wide, many) = (path("wide.parquet"), path("many.parquet"));
        let sql = format!(
            "SELECT {columns} FROM {wide} AS a {join} {many} AS b \
             ON a.x < b.y AND a.x * 3 > b.y AND a.s > CAST(b.y AS VARCHAR)"
        );
        Self { folder, wide, many, sql }
    }

    /// The join with another left side, as wide, of these rows out of the many.
    fn with_left(&self, rows: &str) -> String {
        let rows = rows.replace("$1", &self.many);
        let left = format!("(SELECT id % 100 AS x, repeat('y', 5000) || id AS s FROM ({rows}))");
        self.sql.replace(&self.wide, &left)
    }

    /// An engine with little memory, or enough.
    async fn engine(&self, memory: Option<u64>, threads: usize) -> Engine {
        let builder = Engine::builder().threads(threads).temp_directory(self.folder.path());
        let builder = memory.into_iter().fold(builder, |it, bytes| it.memory_limit(bytes));
        builder.build().await.unwrap()
    }
}

#[rstest]
#[case::one_partition("RIGHT SEMI JOIN", 1)]
#[case::two_partitions("RIGHT SEMI JOIN", 2)]
#[case::of_rows_without_a_match("RIGHT ANTI JOIN", 2)]
#[tokio::test]
async fn rows_that_do_not_fit_are_read_again(#[case] join: &str, #[case] threads: usize) {
    let join = Join::of("b.id", join).await;
    let expected = rows(&join.engine(None, threads).await, &join.sql).await;
    assert!(expected.len() > 100, "{expected:?}");
    assert_eq!(rows(&join.engine(Some(SHORT), threads).await, &join.sql).await, expected);
}

#[rstest]
#[tokio::test]
async fn several_partitions_do_not_answer_for_the_left_rows_each(
    #[values("LEFT SEMI JOIN", "LEFT ANTI JOIN")] join: &str,
) {
    let join = Join::of("a.id", join).await;
    let error = failure(&join.engine(Some(SHORT), 2).await, &join.sql).await;
    assert!(error.contains("memory limit reached"), "{error}");
    assert!(error.contains("the left side of a nested loop join"), "{error}");
    let expected = rows(&join.engine(None, 1).await, &join.sql).await;
    assert!(expected.len() > 1, "{expected:?}");
    assert_eq!(rows(&join.engine(Some(SHORT), 1).await, &join.sql).await, expected);
}

/// A repartition gives its rows once.
#[tokio::test]
async fn rows_from_several_partitions_are_read_again() {
    let join = Join::of("b.id", "RIGHT SEMI JOIN").await;
    let sql = join.with_left("SELECT * FROM $1 WHERE id % 25 = 0");
    let expected = rows(&join.engine(None, 2).await, &sql).await;
    assert!(expected.len() > 100, "{expected:?}");
    assert_eq!(rows(&join.engine(Some(SHORT), 2).await, &sql).await, expected);
}

#[tokio::test]
async fn what_told_others_which_rows_matter_is_not_run_again() {
    let join = Join::of("b.id", "RIGHT SEMI JOIN").await;
    let sql = join.with_left("SELECT * FROM $1 ORDER BY y, id LIMIT 400");
    assert!(rows(&join.engine(None, 2).await, &sql).await.len() > 100);
    let error = failure(&join.engine(Some(SHORT), 2).await, &sql).await;
    assert!(error.contains("the left side of a nested loop join"), "{error}");
}

/// The rows in an order of their own.
async fn rows(engine: &Engine, sql: &str) -> Vec<String> {
    let found = text(engine, sql).await;
    let mut rows: Vec<String> = found.lines().skip(1).map(str::to_owned).collect();
    rows.sort();
    rows
}
