// SPDX-License-Identifier: Apache-2.0
//! Finds the files of tests, and runs one of them under one setting.

use std::{
    any::Any,
    fs,
    future::poll_fn,
    io,
    panic::{self, AssertUnwindSafe},
    path::{Path, PathBuf},
    pin::pin,
    sync::Arc,
    task::Poll,
};

use nearscan::Engine;
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

/// The files of tests that have the tables of TPC-DS.
const TPCDS: &str = "tpcds/";

/// A file of tests.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TestFile {
    /// Its path below the folder of tests, with slashes and without the extension.
    pub name: String,
    /// Its path.
    pub path: PathBuf,
}

/// The counts of a run; or, added up, those of all files.
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

/// Runs a file on its own engine, to its end: one wrong result does not hide another.
///
/// # Errors
/// [`Error::Mismatch`] if statements do something else than the file says; it shows the first few
/// of them and counts the others.
pub async fn run(file: &TestFile, setting: &DriveSetting, data: &Data) -> Result<Counts> {
    let text = fs::read_to_string(&file.path)
        .map_err(|source| Error::File { path: file.path.clone(), source })?;
    let open = async || {
        let engine = setting.engine().await?;
        if file.name.starts_with(TPCDS) {
            data.register_tpcds(&engine).await?;
        } else {
            data.register(&engine, &text).await?;
        }
        Ok(engine)
    };
    run_on(file, open).await
}

async fn run_on(file: &TestFile, open: impl AsyncFn() -> Result<Engine>) -> Result<Counts> {
    let records = records(file)?;
    let units = Arc::new(UnitCounts::default());
    let folder = tempfile::tempdir()
        .map_err(|source| Error::File { path: file.path.clone(), source })
        .map(Arc::new)?;
    let mut runner = Runner::new(async || {
        Ok(Database::new(open().await?, Arc::clone(&units), Arc::clone(&folder)))
    });
    runner.with_column_validator(strict_column_validator);
    runner.with_normalizer(Clone::clone);
    runner.with_validator(|_, found, expected| found.iter().flatten().eq(expected));
    let mut counts = Counts { files: 1, ..Counts::default() };
    let mut mismatches = Vec::new();
    for record in records {
        counts.queries += u64::from(matches!(record, Record::Query { .. }));
        let place = place(&record);
        // A query that panics is a wrong result like any other, and the other queries still run.
        match catch_panic(runner.run_async(record)).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => mismatches.push(error.display(false).to_string()),
            Err(panic) => mismatches.push(format!("panicked: {}\n{place}", message(&*panic))),
        }
    }
    if !mismatches.is_empty() {
        return Err(mismatch(&mismatches));
    }
    Ok(Counts { units_drive: units.drive(), units_cpu: units.cpu(), ..counts })
}

/// Runs a future to its end, or to its panic.
pub(crate) async fn catch_panic<F: Future>(future: F) -> Result<F::Output, Box<dyn Any + Send>> {
    let mut future = pin!(future);
    poll_fn(|context| {
        let poll = AssertUnwindSafe(|| future.as_mut().poll(context));
        match panic::catch_unwind(poll) {
            Ok(poll) => poll.map(Ok),
            Err(panic) => Poll::Ready(Err(panic)),
        }
    })
    .await
}

/// Says which statement a record holds, in the form of the crate's own messages.
fn place(record: &Record<Letter>) -> String {
    match record {
        Record::Query { loc, sql, .. } | Record::Statement { loc, sql, .. } => {
            format!("[SQL] {sql}\nat {loc}\n")
        }
        _ => String::new(),
    }
}

/// Returns the message of a panic.
pub(crate) fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a message")
}

fn mismatch(mismatches: &[String]) -> Error {
    let shown = &mismatches[..mismatches.len().min(MISMATCHES_SHOWN)];
    let mut text = shown.join("\n");
    if let hidden @ 1.. = mismatches.len() - shown.len() {
        text.push_str(&format!("\n... and {hidden} more in this file"));
    }
    Error::Mismatch(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::DRIVE_SETTINGS;

    /// Runs a text as a file, on an engine without drive and tables.
    async fn run_text(text: &str) -> Result<Counts> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.slt");
        fs::write(&path, text).unwrap();
        let file = TestFile { name: "a".to_owned(), path };
        run_on(&file, async || DRIVE_SETTINGS[0].engine().await).await
    }

    #[tokio::test]
    async fn right_results_are_counted() {
        let text = "onlyif nearscan\nstatement ok\nSET datafusion.execution.batch_size = 2\n\n\
            query IT rowsort\nSELECT * FROM (VALUES (2, 'b'), (1, 'a'), (3, NULL)) AS t\n----\n\
            1\ta\n2\tb\n3\tNULL\n\n\
            query error\nSELECT no_such_column\n\n\
            query I\nSELECT 1 WHERE false\n----\n";
        let expected = Counts { files: 1, queries: 3, units_drive: 0, units_cpu: 0 };
        assert_eq!(run_text(text).await.unwrap(), expected);
    }

    #[tokio::test]
    async fn files_are_written_to_a_folder_of_the_run() {
        let text = "statement ok\nCOPY (SELECT 7 AS x) TO '__TEST_DIR__/t.parquet'\n\n\
            query I\nSELECT x FROM '__TEST_DIR__/t.parquet'\n----\n7\n";
        let (one, other) = tokio::join!(run_text(text), run_text(text));
        assert_eq!((one.unwrap().queries, other.unwrap().queries), (1, 1));
    }

    #[tokio::test]
    async fn every_wrong_result_is_shown() {
        let text = "query I\nSELECT 12\n----\n13\n\n\
            query R\nSELECT 12\n----\n12\n\n\
            query IT\nSELECT 1, 'x'\n----\n1 x\n\n\
            query T\nSELECT '  a'\n----\na\n\n\
            query error\nSELECT 1\n\n\
            query I\nSELECT no_such_column\n----\n1\n\n\
            query I\nSELECT 1 WHERE false\n----\n1\n\n\
            query I\nSELECT 1\n----\n";
        let message = run_text(text).await.unwrap_err().to_string();
        for line in [1, 6, 11, 16, 21, 24, 29, 34] {
            assert!(message.contains(&format!("a.slt:{line}\n")), "{line}: {message}");
        }
    }

    #[tokio::test]
    async fn query_that_panics_is_a_wrong_result_with_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.slt");
        fs::write(&path, "query I\nSELECT 7\n----\n7\n").unwrap();
        let file = TestFile { name: "a".to_owned(), path };
        let message = run_on(&file, async || panic!("no engine")).await.unwrap_err().to_string();
        assert!(message.starts_with("panicked: no engine\n[SQL] SELECT 7\nat "), "{message}");
    }

    #[tokio::test]
    async fn wrong_results_beyond_the_first_few_are_counted() {
        let text = "query I\nSELECT 1\n----\n2\n\n".repeat(MISMATCHES_SHOWN + 3);
        let message = run_text(&text).await.unwrap_err().to_string();
        assert!(message.ends_with("... and 3 more in this file"), "{message}");
    }

    #[tokio::test]
    async fn invalid_test_file_is_refused() {
        let error = run_text("select 1\n").await.unwrap_err();
        assert!(matches!(error, Error::Format(_)), "{error}");
    }

    #[test]
    fn files_are_named_after_their_folders() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("b/c")).unwrap();
        for path in ["b/c/two.slt", "one.slt", "b/notes.txt"] {
            fs::write(folder.path().join(path), "").unwrap();
        }
        let names: Vec<String> =
            files(folder.path()).unwrap().into_iter().map(|file| file.name).collect();
        assert_eq!(names, ["b/c/two", "one"]);
        assert!(matches!(files(&folder.path().join("no")), Err(Error::File { .. })));
    }
}
