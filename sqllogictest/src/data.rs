// SPDX-License-Identifier: Apache-2.0
//! The Parquet files that the tests read: TPC-H at scale factor 0.01, the fixtures, and what other
//! programs wrote.
//!
//! A folder holds `tpch/NAME.parquet`, and `fixtures/NAME.parquet` or a folder `fixtures/NAME` of
//! several. A file gets its name once it is complete and is never made again, so processes may make
//! the same folder at once, and a fixture whose content changes must change its name.
//!
//! What other programs wrote is committed, in the folder `data` of this crate:
//!
//! | below `data` | is |
//! |---|---|
//! | `tables/NAME.parquet`, `tables/NAME/` | a table for every test that names it |
//! | `declared/NAME/` | a table that a test declares itself, with types or an order of its own |
//! | `broken/` | files that are none; a test opens them by their paths |

use std::{
    fs,
    path::{Path, PathBuf},
};

use nearscan::Engine;
use nearscan_tpch::{
    Layout, ScaleFactor,
    generate::{self, Silent},
};

use crate::{
    error::{Error, Result},
    fixtures::{self, FIXTURES},
};

/// Scale factor of the TPC-H tables, for which answers are stored.
const SCALE_FACTOR: &str = "0.01";

/// Tables that other programs wrote.
const COMMITTED_TABLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/data/tables");

/// A folder with all files that are made.
#[derive(Debug, Clone)]
pub struct Data {
    folder: PathBuf,
}

impl Data {
    /// Makes the files that are not yet in `folder`.
    ///
    /// # Errors
    /// If a file cannot be made.
    pub fn make(folder: &Path) -> Result<Self> {
        let data = Self { folder: folder.to_owned() };
        let tpch = |error| Error::Tpch(Box::new(error));
        let scale: ScaleFactor = SCALE_FACTOR.parse().map_err(tpch)?;
        generate::generate(&scale, Layout::Usual, &data.tpch(), &mut Silent).map_err(tpch)?;
        let folder = data.fixtures();
        fs::create_dir_all(&folder)
            .map_err(|source| Error::File { path: folder.clone(), source })?;
        for fixture in FIXTURES {
            fixture.write(&folder)?;
        }
        fixtures::lineitem::write(&data.tpch(), &folder)?;
        Ok(data)
    }

    /// The folder that holds all of them.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Makes a table of every file that is made, and of each committed one that is named in
    /// `text`: they are many, and to open them all for every test would take longer than the test.
    ///
    /// # Errors
    /// If the engine refuses one.
    pub async fn register(&self, engine: &Engine, text: &str) -> Result<()> {
        nearscan_tpch::run::register(engine, &self.tpch())
            .await
            .map_err(|error| Error::Tpch(Box::new(error)))?;
        let folder = self.fixtures();
        let names = FIXTURES.iter().map(|fixture| fixture.name).chain([fixtures::lineitem::NAME]);
        for name in names {
            let file = folder.join(format!("{name}.parquet"));
            let location = if file.exists() { file } else { folder.join(name) };
            engine.register(name, &location.to_string_lossy()).await?;
        }
        for (name, location) in committed_tables()? {
            if text.contains(&name) {
                engine.register(&name, &location.to_string_lossy()).await?;
            }
        }
        Ok(())
    }

    fn tpch(&self) -> PathBuf {
        self.folder.join("tpch")
    }

    fn fixtures(&self) -> PathBuf {
        self.folder.join("fixtures")
    }
}

/// The names and places of the committed tables.
fn committed_tables() -> Result<Vec<(String, PathBuf)>> {
    let folder = Path::new(COMMITTED_TABLES);
    let error = |source| Error::File { path: folder.to_owned(), source };
    let entries = fs::read_dir(folder).map_err(error)?;
    let mut tables = Vec::new();
    for entry in entries {
        let path = entry.map_err(error)?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        tables.push((name, path));
    }
    Ok(tables)
}
