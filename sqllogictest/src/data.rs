// SPDX-License-Identifier: Apache-2.0
//! Provides the Parquet files that the tests read: TPC-H and TPC-DS at scale factor 0.01, the
//! fixtures, and files of other programs.
//!
//! A folder holds `tpch/NAME.parquet`, and `fixtures/NAME.parquet` or a folder `fixtures/NAME` of
//! several. A file gets its name once it is complete and is never made again, so processes may make
//! the same folder at once, and a fixture whose content changes must change its name.
//!
//! Files of other programs are committed, packed as `data.tsv` of this crate (`xtask/archive`), and
//! are unpacked to `data`. Only that folder follows what is committed:
//!
//! | below `data` | is |
//! |---|---|
//! | `tables/NAME.parquet`, `tables/NAME/` | a table for every test that names it |
//! | `declared/NAME/` | a table that a test declares itself, with its own types or order |
//! | `broken/` | files that are none; a test opens them by their paths |
//!
//! TPC-DS is committed too, as `tpcds.tsv`, and is unpacked to `tpcds/NAME.parquet`: the tables of
//! the files of tests below `tpcds`, and of no others, because some have names of TPC-H.
//!
//! Tests run in the folder that holds all of them, so such a path begins with `data/`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use nearscan::Engine;
use nearscan_archive::Archive;
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

/// The archive of files that other programs wrote.
const COMMITTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/data.tsv");

/// TPC-DS, which another program wrote as well.
const COMMITTED_TPCDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tpcds.tsv");

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
        Archive::read(Path::new(COMMITTED))?.unpack(&data.committed())?;
        Archive::read(Path::new(COMMITTED_TPCDS))?.unpack(&data.tpcds())?;
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
        for (name, location) in tables(&self.committed().join("tables"))? {
            if text.contains(&name) {
                engine.register(&name, &location.to_string_lossy()).await?;
            }
        }
        Ok(())
    }

    /// Makes the tables of TPC-DS, and no others.
    ///
    /// # Errors
    /// If the engine refuses one.
    pub async fn register_tpcds(&self, engine: &Engine) -> Result<()> {
        for (name, location) in tables(&self.tpcds())? {
            engine.register(&name, &location.to_string_lossy()).await?;
        }
        Ok(())
    }

    fn tpcds(&self) -> PathBuf {
        self.folder.join("tpcds")
    }

    fn tpch(&self) -> PathBuf {
        self.folder.join("tpch")
    }

    fn fixtures(&self) -> PathBuf {
        self.folder.join("fixtures")
    }

    fn committed(&self) -> PathBuf {
        self.folder.join("data")
    }
}

/// The names and places of the tables of a folder.
fn tables(folder: &Path) -> Result<Vec<(String, PathBuf)>> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_committed_file_is_below_a_folder_that_tests_know() {
        let committed = Archive::read(Path::new(COMMITTED)).unwrap();
        let count =
            |start: &str| committed.files().filter(|(path, _)| path.starts_with(start)).count();
        let counts = ["tables/", "tables/many_small/", "declared/", "broken/"].map(count);
        assert_eq!(counts, [280, 120, 8, 4]);
        assert_eq!(committed.files().len(), 292);

        let folder = tempfile::tempdir().unwrap();
        committed.unpack(folder.path()).unwrap();
        let tables = tables(&folder.path().join("tables")).unwrap();
        for name in ["t_int32", "many_small", "hive", "w_duckdb_zstd"] {
            assert_eq!(tables.iter().filter(|(found, _)| found == name).count(), 1, "{name}");
        }
    }
}
