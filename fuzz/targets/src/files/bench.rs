// SPDX-License-Identifier: Apache-2.0
//! Runs a query over a corrupt file in two engines: by DataFusion's reader, and with a drive or by
//! the fused scan.

use std::{cell::Cell, path::Path};

use nearscan::{Engine, Error};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

/// Queries over one of the files.
pub(super) const QUERIES: [&str; 4] = [
    "SELECT * FROM '{}'",
    "SELECT count(*), count(v), sum(k), min(d), max(s) FROM '{}' WHERE k >= 3 AND (v <> 2 OR b)",
    "SELECT s, count(*), max(x) FROM '{}' WHERE e < DATE '1994-01-12' GROUP BY s ORDER BY s",
    "SELECT count(*) FROM '{}'",
];

/// The outcome of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ended {
    /// With these rows, in order of their text.
    Rows(Vec<String>),
    /// With this error.
    Error(String),
}

/// Engines that last.
pub(super) struct Bench {
    runtime: Runtime,
    plain: Engine,
    with_drive: Engine,
    fused: Engine,
    folder: TempDir,
    /// Files that were written: each has its own name, since footers are cached by name.
    written: Cell<u64>,
}

impl Bench {
    /// Starts the engines.
    ///
    /// # Panics
    /// When they do not start.
    pub(super) fn start() -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        let folder = TempDir::new().expect("a folder for files");
        let builder = Engine::builder().drive("emulated:?profile=unlimited").expect("a drive");
        let with_drive = builder.set("nearscan.pushdown.mode", "force");
        let open = |builder: nearscan::EngineBuilder| {
            runtime.block_on(builder.threads(1).build()).expect("an engine")
        };
        let plain = Engine::builder().set("nearscan.scan", "datafusion");
        let plain = open(plain.set("nearscan.aggregate", "datafusion"));
        let (with_drive, fused) = (open(with_drive), open(Engine::builder()));
        Self { runtime, plain, with_drive, fused, folder, written: Cell::new(0) }
    }

    /// Runs one of the queries over a file with these bytes, by DataFusion's reader, and with a
    /// drive or by the fused scan, in turn.
    ///
    /// # Panics
    /// When the engine does, or says too little of what is wrong.
    pub(super) fn run(&self, bytes: &[u8], query: usize) -> [Ended; 2] {
        let number = self.written.replace(self.written.get() + 1);
        let path = self.folder.path().join(format!("{number}.parquet"));
        std::fs::write(&path, bytes).expect("a file is written");
        let sql = QUERIES[query].replace("{}", &path.display().to_string());
        // All queries over a file alike.
        let other = match number / QUERIES.len() as u64 % 2 {
            0 => &self.with_drive,
            _ => &self.fused,
        };
        let ended = [&self.plain, other].map(|engine| {
            self.runtime.block_on(async {
                match rows(engine, &sql).await {
                    Ok(rows) => Ended::Rows(rows),
                    Err(error) => Ended::Error(checked(&error, &path)),
                }
            })
        });
        std::fs::remove_file(&path).expect("a file is removed");
        ended
    }
}

async fn rows(engine: &Engine, sql: &str) -> nearscan::Result<Vec<String>> {
    let result = engine.sql(sql).await?.collect().await?;
    let mut rows = Vec::new();
    for batch in &result.batches {
        for row in 0..batch.num_rows() {
            let one = batch.slice(row, 1);
            rows.push(format!("{:?}", one.columns()));
        }
    }
    rows.sort();
    Ok(rows)
}

/// Returns the text of an error, and panics if it does not say enough.
fn checked(error: &Error, path: &Path) -> String {
    let text = error.render().replace(&path.display().to_string(), "FILE");
    // A file whose columns have other names or types is another table.
    if matches!(error, Error::Plan(_) | Error::ColumnNotFound(_)) {
        return text;
    }
    assert!(matches!(error, Error::Data(_)), "an error of the data: {text}");
    assert!(text.contains("detail: file 'FILE'"), "an error with the file: {text}");
    text
}
