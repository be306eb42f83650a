// SPDX-License-Identifier: Apache-2.0
//! Files that pyarrow, DuckDB and Polars wrote with random contents and options return the rows of
//! DuckDB.
//!
//! `differential/foreign.py` makes the files, a few queries over each, and what DuckDB returns for
//! the rows that the writers were given. Every query runs on the emulated drive with everything
//! forced to it; one that differs runs once more without any drive, for the report.
//!
//! ```text
//! NEARSCAN_FOREIGN_FILES=2000 \
//!     cargo test -p nearscan-sqllogictest --test differential foreign -- --nocapture
//! ```
//!
//! A usual run has as many files as take some seconds. `NEARSCAN_RANDOM_SEED` chooses others.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{Job, Query, SEED, SHOWN_MAX, Tally, engine, find_python, note, number_of};

/// Files of a usual run, each with six queries.
const FILES: u64 = 60;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_of_other_writers_return_the_rows_of_duckdb() {
    let test = "foreign::files_of_other_writers_return_the_rows_of_duckdb";
    let Some(python) = find_python(test) else { return };
    let seed = number_of("NEARSCAN_RANDOM_SEED", SEED);
    let count = number_of("NEARSCAN_FOREIGN_FILES", FILES);
    let folder = crate::write(&python, Job { script: "foreign", seed, count });

    let mut tally = Tally::default();
    let mut differences = Differences::default();
    let (mut file_count, mut query_count) = (0_u64, 0_u64);
    for batch in batches(&folder) {
        file_count += files_in(&batch);
        let forced = engine(&batch, "force", "false").await;
        for query in crate::queries(&batch) {
            query_count += 1;
            match query.run(&forced).await {
                Ok(result) => note(&query, &result, &mut tally),
                Err(difference) => differences.add(&query, &difference, &batch).await,
            }
        }
    }
    let Tally { on_drive, wholly_on_drive, on_host } = tally;
    #[expect(clippy::print_stdout, reason = "whoever runs one test alone sees what it covered")]
    {
        println!(
            "seed {seed}: {file_count} files, {query_count} queries, {on_drive} on the drive \
             ({wholly_on_drive} wholly), {on_host} on the host, {} differences",
            differences.count
        );
    }
    assert_eq!(file_count, count, "files that were written");
    assert!(query_count >= count, "{query_count} queries over {count} files");
    assert!(
        differences.count == 0,
        "seed {seed}, {} differ\n{}",
        differences.count,
        differences.shown.join("\n")
    );
    assert!(on_drive > 0, "no unit of work ran on the drive");
}

/// Queries that differ, the first few of them in full.
#[derive(Debug, Default)]
struct Differences {
    count: u64,
    shown: Vec<String>,
}

impl Differences {
    async fn add(&mut self, query: &Query, difference: &str, folder: &Path) {
        self.count += 1;
        if self.shown.len() == SHOWN_MAX {
            return;
        }
        let mut text = crate::report(query, "force", difference, folder).await;
        let off = engine(folder, "off", "false").await;
        let outcome = match query.run(&off).await {
            Ok(_) => "the rows of DuckDB".to_owned(),
            Err(difference) => difference,
        };
        text.push_str(&format!("without a drive: {outcome}\n"));
        self.shown.push(text);
    }
}

/// The folders of files, in their order.
fn batches(folder: &Path) -> Vec<PathBuf> {
    let mut batches: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    batches.sort();
    batches
}

fn files_in(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let is_file = |path: &PathBuf| path.extension().is_some_and(|it| it == "parquet");
    entries.filter(is_file).count() as u64
}
