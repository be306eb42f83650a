// SPDX-License-Identifier: Apache-2.0
//! Runs every operation over a file, without pushdown and with everything forced to the drive, and
//! holds both to the rows that were computed.

use std::{
    path::PathBuf,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use nearscan::{Engine, Error, QueryProfile};
use tempfile::TempDir;

use super::{
    cells::{self, Row},
    layout::Layout,
    operations::{OPERATIONS, Operation},
    outcome::Outcome,
    types::StoredType,
    write::write,
};
use crate::support::engine_with_drive;

/// Differences that are shown, and rows of each.
const SHOWN_MAX: usize = 5;
const ROWS_SHOWN_MAX: usize = 6;

pub(crate) struct Bench {
    off: Engine,
    forced: Engine,
    folder: TempDir,
    table_count: AtomicUsize,
    differences: Mutex<Vec<String>>,
}

impl Bench {
    pub(crate) async fn make() -> Self {
        Self {
            off: engine_with_drive("off").await,
            forced: engine_with_drive("force").await,
            folder: tempfile::tempdir().unwrap(),
            table_count: AtomicUsize::new(0),
            differences: Mutex::default(),
        }
    }

    /// Runs every operation over a file of the layout.
    pub(crate) async fn measure(&self, stored: &StoredType, layout: &Layout) -> Vec<Outcome> {
        let table = format!("t{}", self.table_count.fetch_add(1, Ordering::Relaxed));
        let path: PathBuf = self.folder.path().join(format!("{table}.parquet"));
        let cells = write(layout, stored, &path);
        for engine in [&self.off, &self.forced] {
            engine.register(&table, path.to_str().unwrap()).await.unwrap();
        }
        let mut outcomes = Vec::new();
        for operation in OPERATIONS {
            let sql = operation.query(stored, &table);
            let expected = (operation.rows)(stored, &cells);
            let off = run(&self.off, operation, &sql).await;
            let forced = run(&self.forced, operation, &sql).await;
            let about = format!("{}, {layout:?}\n{sql}", stored.name);
            self.compare("off", &about, &expected, &off);
            self.compare("forced", &about, &expected, &forced);
            outcomes.push(match forced {
                Ok((_, profile)) => Outcome::of(&profile),
                Err(error) => Outcome::Error(summary(&error)),
            });
        }
        outcomes
    }

    fn compare(
        &self,
        mode: &str,
        about: &str,
        expected: &Option<Vec<Row>>,
        found: &Result<(Vec<Row>, QueryProfile), Error>,
    ) {
        let shown = |rows: &Vec<Row>| {
            format!("{} rows: {:?}", rows.len(), &rows[..rows.len().min(ROWS_SHOWN_MAX)])
        };
        let difference = match (expected, found) {
            (None, Err(_)) => return,
            (Some(expected), Ok((found, _))) if expected == found => return,
            (Some(expected), Ok((found, _))) => {
                format!("expected {}\nfound {}", shown(expected), shown(found))
            }
            (None, Ok((found, _))) => format!("expected an error\nfound {}", shown(found)),
            (Some(_), Err(error)) => error.render(),
        };
        self.differences.lock().unwrap().push(format!("{mode}: {about}\n{difference}"));
    }

    /// Panics if a query did not return its rows.
    pub(crate) fn finish(self) {
        let differences = self.differences.into_inner().unwrap();
        let shown = &differences[..differences.len().min(SHOWN_MAX)];
        assert!(shown.is_empty(), "{} differ\n{}", differences.len(), shown.join("\n\n"));
    }
}

/// Returns the text of an error up to the list of operations that would have been allowed.
fn summary(error: &Error) -> String {
    let detail = error.detail().unwrap_or_default();
    let line = detail.lines().next().unwrap_or_default();
    let (beginning, _) = line.split_once(", errors: ").unwrap_or((line, ""));
    format!("{error}: {beginning}")
}

/// The rows, in one order if the query gives them none.
async fn run(
    engine: &Engine,
    operation: &Operation,
    sql: &str,
) -> Result<(Vec<Row>, QueryProfile), Error> {
    let result = engine.sql(sql).await?.collect().await?;
    let mut rows = cells::rows(&result.batches);
    if !operation.is_ordered {
        rows.sort();
    }
    Ok((rows, result.profile))
}
