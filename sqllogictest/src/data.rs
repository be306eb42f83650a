// SPDX-License-Identifier: Apache-2.0
//! The Parquet files that the tests read: TPC-H at scale factor 0.01, and the fixtures.
//!
//! A folder holds `tpch/NAME.parquet`, and `fixtures/NAME.parquet` or a folder `fixtures/NAME` of
//! several. A file gets its name once it is complete and is never made again, so processes may make
//! the same folder at once, and a fixture whose content changes must change its name.

use std::{
    fs,
    path::{Path, PathBuf},
};

use nearscan::Engine;
use nearscan_tpch::{
    ScaleFactor,
    generate::{self, Silent},
};

use crate::{
    error::{Error, Result},
    fixtures::{self, FIXTURES},
};

/// Scale factor of the TPC-H tables, for which answers are stored.
const SCALE_FACTOR: &str = "0.01";

/// A folder with all files.
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
        generate::generate(&scale, &data.tpch(), &mut Silent).map_err(tpch)?;
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

    /// Makes a table of every file.
    ///
    /// # Errors
    /// If the engine refuses one.
    pub async fn register(&self, engine: &Engine) -> Result<()> {
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
        Ok(())
    }

    fn tpch(&self) -> PathBuf {
        self.folder.join("tpch")
    }

    fn fixtures(&self) -> PathBuf {
        self.folder.join("fixtures")
    }
}
