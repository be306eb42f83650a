// SPDX-License-Identifier: Apache-2.0
//! Adapts the engine to the `sqllogictest` crate: text in, text out.
//!
//! A row is handed over as one text, its values already joined: the crate then sorts and compares
//! lines as they are in the file, and shows a difference in the same form.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use async_trait::async_trait;
use nearscan::Engine;
use sqllogictest::{AsyncDB, DBOutput};
use tempfile::TempDir;

use crate::{
    error::Error,
    render::{self, Letter},
};

/// Name by which a file can leave a statement to this engine alone (`onlyif nearscan`).
pub const ENGINE_NAME: &str = "nearscan";

/// The mark in a statement that stands for the folder of its run.
const FOLDER_MARK: &str = "__TEST_DIR__";

/// Units of work, by where they ran.
#[derive(Debug, Default)]
pub struct UnitCounts {
    drive: AtomicU64,
    cpu: AtomicU64,
}

/// An engine that answers in text.
pub struct Database {
    engine: Engine,
    units: Arc<UnitCounts>,
    folder: Arc<TempDir>,
}

impl UnitCounts {
    /// Units that ran on a drive.
    #[must_use]
    pub fn drive(&self) -> u64 {
        self.drive.load(Ordering::Relaxed)
    }

    /// Units that a drive was meant for and the CPU ran.
    #[must_use]
    pub fn cpu(&self) -> u64 {
        self.cpu.load(Ordering::Relaxed)
    }
}

impl Database {
    /// Takes an engine with its tables; the units of its queries are added to `units`. A file
    /// may write below `folder`, which it calls `__TEST_DIR__`: the same file runs under several
    /// settings at once.
    #[must_use]
    pub fn new(engine: Engine, units: Arc<UnitCounts>, folder: Arc<TempDir>) -> Self {
        Self { engine, units, folder }
    }
}

#[async_trait]
impl AsyncDB for Database {
    type Error = Error;
    type ColumnType = Letter;

    async fn run(&mut self, sql: &str) -> Result<DBOutput<Letter>, Error> {
        let sql = sql.replace(FOLDER_MARK, &self.folder.path().to_string_lossy());
        let query = self.engine.sql(&sql).await?;
        let schema = query.schema();
        let result = query.collect().await?;
        if schema.fields().is_empty() {
            return Ok(DBOutput::StatementComplete(0));
        }
        let pushdown = result.profile.pushdown();
        self.units.drive.fetch_add(pushdown.units_drive, Ordering::Relaxed);
        self.units.cpu.fetch_add(pushdown.units_cpu, Ordering::Relaxed);
        let types = render::letters(schema.fields().iter().map(|field| field.data_type()))?;
        let mut rows = Vec::new();
        for batch in &result.batches {
            rows.extend(render::rows(batch)?.into_iter().map(|row| vec![row]));
        }
        Ok(DBOutput::Rows { types, rows })
    }

    async fn shutdown(&mut self) {}

    fn engine_name(&self) -> &str {
        ENGINE_NAME
    }
}
