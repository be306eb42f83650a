// SPDX-License-Identifier: Apache-2.0
//! Checks one drive: the correctness of its results, and its times against the time model.
//!
//! ```text
//! drive --conformance suite--> cases, failures
//!       --commands-----------> times --formulas--> figures | model's parameters
//! ```
//!
//! - [`check`] runs both and returns a [`Report`], as text and as JSON.
//! - A [`Figure`] is shown beside the model's value. Most are parameters of the model, ready to be
//!   fed back; the others say what the model expects of the same commands.
//!
//! # What this crate does not do
//!
//! No SQL and no backend: commands go through `Drive` alone, so that every drive can be checked.
//!
//! # Invariants
//!
//! - What a clock said and what a model said are different types ([`MeasuredSamples`],
//!   [`ModelledSamples`]), and no column holds both.
//! - A figure that the times do not determine is omitted, never guessed.
//! - Files are removed, whatever happens.
#![forbid(unsafe_code)]

mod bench;
mod error;
mod figures;
mod job;
mod observed;
mod report;
mod text;

use std::path::PathBuf;

use nearscan_conformance::{Options as SuiteOptions, check_watched};
use nearscan_drive::Drive;
use tempfile::TempDir;

use crate::figures::Found;
pub use bench::Watch;
pub use error::{Error, Result};
pub use figures::{Figure, Left, Role};
pub use observed::{MeasuredSamples, ModelledSamples, Observed};
pub use report::Report;

/// The share of the conformance suite that runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// All cases that are written down, and a few random ones.
    Quick,
    /// All of it.
    Whole,
    /// Nothing.
    None,
}

impl Extent {
    /// Random cases of a quick run: a tenth of the whole.
    const QUICK_CASES: u32 = 40;

    fn random_cases(self) -> Option<u32> {
        match self {
            Self::Quick => Some(Self::QUICK_CASES),
            Self::Whole => Some(SuiteOptions::default().random_cases),
            Self::None => None,
        }
    }
}

/// The steps to run, and their extent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The share of the conformance suite.
    pub conformance: Extent,
    /// Seed of its random cases, if not the usual one.
    pub seed: Option<u64>,
    /// A folder that the drive holds, where files are made; the system's folder of temporary files
    /// without one.
    pub folder: Option<PathBuf>,
}

/// Checks a drive.
///
/// # Errors
/// [`Error::Stopped`] when `watch` says so, [`Error::Folder`] when there is no place for files. A
/// drive that fails a case or a benchmark is not an error: the report says so.
pub fn check(drive: &dyn Drive, options: &Options, watch: &mut Watch<'_>) -> Result<Report> {
    let folder = temporary_folder(options.folder.as_deref())?;
    let conformance = match options.conformance.random_cases() {
        None => None,
        Some(random_cases) => {
            let usual = SuiteOptions::default();
            let suite = SuiteOptions {
                seed: options.seed.unwrap_or(usual.seed),
                random_cases,
                folder: Some(folder.path().to_path_buf()),
                ..usual
            };
            let mut is_stopped = false;
            let report = check_watched(drive, &suite, &mut |report, name| {
                let told = watch(&format!("{} cases done, {name}", report.cases));
                is_stopped = told.is_break();
                told
            });
            if is_stopped {
                return Err(Error::Stopped);
            }
            Some(report)
        }
    };
    let mut found = Found::default();
    let ended = match figures::measure(drive, folder.path(), &mut found, watch) {
        Ok(()) => None,
        Err(Error::Stopped) => return Err(Error::Stopped),
        // What was found until then, and what the suite says, is what helps now.
        Err(error) => Some(error),
    };
    Ok(Report::new(drive, conformance, found, ended))
}

fn temporary_folder(parent: Option<&std::path::Path>) -> Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix("nearscan-check-");
    let made = match parent {
        Some(parent) => builder.tempdir_in(parent),
        None => builder.tempdir(),
    };
    made.map_err(|source| Error::Folder {
        folder: parent.map_or_else(std::env::temp_dir, std::path::Path::to_path_buf),
        source,
    })
}
