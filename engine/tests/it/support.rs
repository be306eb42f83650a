// SPDX-License-Identifier: Apache-2.0
//! A folder with data, an engine over it, and results as text.

use nearscan::{Engine, arrow::util::pretty::pretty_format_batches};
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

/// Runs a statement and returns its rows, a line each, cells separated by one space.
pub(crate) async fn text(engine: &Engine, sql: &str) -> String {
    let result = engine.sql(sql).await.unwrap().collect().await.unwrap();
    if result.schema.fields().is_empty() {
        return String::new();
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
    lines.map(row).collect::<Vec<_>>().join("\n")
}

/// Runs a statement that must fail and returns what the user would read.
pub(crate) async fn failure(engine: &Engine, sql: &str) -> String {
    match engine.sql(sql).await {
        Err(error) => error.render(),
        Ok(query) => query.collect().await.unwrap_err().render(),
    }
}
