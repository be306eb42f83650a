// SPDX-License-Identifier: Apache-2.0
//! A folder with data, an engine over it, and results as text.

use nearscan::{Engine, QueryResult, arrow::util::pretty::pretty_format_batches};
use tempfile::TempDir;

/// A folder with `t.parquet`: `k` from 1 to `ROWS`, `v` the same modulo 10, in two row groups.
pub(crate) struct Data {
    pub(crate) folder: TempDir,
}

pub(crate) const ROWS: u64 = 1000;

impl Data {
    pub(crate) async fn make() -> Self {
        let data = Self { folder: tempfile::tempdir().unwrap() };
        let sql = format!(
            "COPY (SELECT value AS k, value % 10 AS v FROM generate_series(1, {ROWS})) TO '{}' \
             STORED AS PARQUET OPTIONS ('format.max_row_group_size' '500')",
            data.path("t.parquet")
        );
        assert_eq!(text(&engine().await, &sql).await, format!("count\n{ROWS}"));
        data
    }

    /// The rows of the file in one that a drive can read, as table `t` of an engine.
    pub(crate) async fn register_for_drives(&self, engine: &Engine) {
        let (from, to) = (self.path("t.parquet"), self.path("snappy.parquet"));
        let options = "OPTIONS ('format.compression' 'snappy')";
        text(engine, &format!("COPY (SELECT * FROM '{from}') TO '{to}' {options}")).await;
        engine.register("t", &to).await.unwrap();
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    /// An engine in which the file is table `t`.
    pub(crate) async fn engine(&self) -> Engine {
        let engine = engine().await;
        engine.register("t", &self.path("t.parquet")).await.unwrap();
        engine
    }
}

pub(crate) async fn engine() -> Engine {
    Engine::builder().threads(2).build().await.unwrap()
}

/// An engine with the emulated drive, in a mode of `nearscan.pushdown.mode`.
pub(crate) async fn engine_with_drive(mode: &str) -> Engine {
    let builder = Engine::builder().threads(2).drive("emulated:?profile=unlimited").unwrap();
    builder.set("nearscan.pushdown.mode", mode).build().await.unwrap()
}

/// Runs a statement and returns its rows with the names of its columns, a line each, cells
/// separated by one space.
pub(crate) async fn text(engine: &Engine, sql: &str) -> String {
    lines(engine.sql(sql).await.unwrap().collect().await.unwrap()).join("\n")
}

/// The rows of a result as [`text`] has them, without the names.
pub(crate) fn shown(result: QueryResult) -> String {
    lines(result).into_iter().skip(1).collect::<Vec<_>>().join("\n")
}

fn lines(result: QueryResult) -> Vec<String> {
    if result.schema.fields().is_empty() {
        return Vec::new();
    }
    let table = if result.batches.is_empty() {
        pretty_format_batches(&[nearscan::arrow::array::RecordBatch::new_empty(result.schema)])
    } else {
        pretty_format_batches(&result.batches)
    };
    let table = table.unwrap().to_string();
    let lines = table.lines().filter(|line| line.starts_with('|'));
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        cells.join(" ")
    };
    lines.map(row).collect()
}

/// The rows of a query, as [`text`] has them.
pub(crate) async fn rows_of(engine: &Engine, sql: &str) -> Vec<String> {
    text(engine, sql).await.lines().skip(1).map(str::to_owned).collect()
}

/// Asserts that a query has these rows, or is refused for this reason.
pub(crate) async fn check(engine: &Engine, sql: &str, expected: Result<&str, &str>) {
    match expected {
        Ok(expected) => assert_eq!(rows_of(engine, sql).await.join(", "), expected),
        Err(what) => {
            let error = failure(engine, sql).await;
            assert!(error.contains("not supported") && error.contains(what), "{error}");
        }
    }
}

/// Runs a statement that must fail and returns what the user would read.
pub(crate) async fn failure(engine: &Engine, sql: &str) -> String {
    match engine.sql(sql).await {
        Err(error) => error.render(),
        Ok(query) => query.collect().await.unwrap_err().render(),
    }
}
