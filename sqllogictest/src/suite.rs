// SPDX-License-Identifier: Apache-2.0
//! Finds the files of tests, and runs one of them under one setting.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use sqllogictest::{Record, Runner, strict_column_validator};

use crate::{
    data::Data,
    database::{Database, UnitCounts},
    error::{Error, Result},
    render::Letter,
    settings::DriveSetting,
};

/// Wrong results of a file that are shown in full.
const MISMATCHES_SHOWN: usize = 10;

/// A file of tests.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TestFile {
    /// Its path below the folder of tests, with slashes and without the extension.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
}

/// What was run; or, added up, what all files did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Files.
    pub files: u64,
    /// Queries whose result was compared, or whose refusal was expected.
    pub queries: u64,
    /// Units of work that ran on a drive.
    pub units_drive: u64,
    /// Units of work that a drive was meant for and the CPU ran.
    pub units_cpu: u64,
}

impl Counts {
    /// Adds the counts of another run.
    pub fn add(&mut self, other: Self) {
        self.files += other.files;
        self.queries += other.queries;
        self.units_drive += other.units_drive;
        self.units_cpu += other.units_cpu;
    }
}

/// Lists all files of tests below `folder`, sorted by name.
///
/// # Errors
/// [`Error::File`] if a folder cannot be read.
pub fn files(folder: &Path) -> Result<Vec<TestFile>> {
    let mut files = Vec::new();
    collect(folder, "", &mut files)
        .map_err(|source| Error::File { path: folder.to_owned(), source })?;
    files.sort();
    Ok(files)
}

fn collect(folder: &Path, prefix: &str, files: &mut Vec<TestFile>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            collect(&path, &format!("{prefix}{stem}/"), files)?;
        } else if path.extension().is_some_and(|extension| extension == "slt") {
            files.push(TestFile { name: format!("{prefix}{stem}"), path });
        }
    }
    Ok(())
}

/// Reads the records of a file.
///
/// # Errors
/// [`Error::Format`] if it is not in the format of the tests.
pub fn records(file: &TestFile) -> Result<Vec<Record<Letter>>> {
    sqllogictest::parse_file(&file.path).map_err(|error| Error::Format(Box::new(error)))
}

/// Runs a file on an engine of its own, to its end: one wrong result does not hide another.
///
/// # Errors
/// [`Error::Mismatch`] if statements do something else than the file says; it shows the first
/// few of them and counts the others.
pub async fn run(file: &TestFile, setting: &DriveSetting, data: &Data) -> Result<Counts> {
    let records = records(file)?;
    let queries = records.iter().filter(|record| matches!(record, Record::Query { .. })).count();
    let units = Arc::new(UnitCounts::default());
    let mut runner = Runner::new(|| async {
        let engine = setting.engine().await?;
        data.register(&engine).await?;
        Ok(Database::new(engine, Arc::clone(&units)))
    });
    runner.with_column_validator(strict_column_validator);
    runner.with_normalizer(Clone::clone);
    runner.with_validator(|_, found, expected| found.iter().flatten().eq(expected));
    let mut mismatches = Vec::new();
    for record in records {
        if let Err(error) = runner.run_async(record).await {
            mismatches.push(error.display(false).to_string());
        }
    }
    if !mismatches.is_empty() {
        return Err(mismatch(&mismatches));
    }
    Ok(Counts {
        files: 1,
        queries: u64::try_from(queries).unwrap_or(u64::MAX),
        units_drive: units.drive(),
        units_cpu: units.cpu(),
    })
}

fn mismatch(mismatches: &[String]) -> Error {
    let shown = &mismatches[..mismatches.len().min(MISMATCHES_SHOWN)];
    let mut text = shown.join("\n");
    if let hidden @ 1.. = mismatches.len() - shown.len() {
        text.push_str(&format!("\n... and {hidden} more in this file"));
    }
    Error::Mismatch(text)
}
