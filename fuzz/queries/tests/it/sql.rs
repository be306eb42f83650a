// SPDX-License-Identifier: Apache-2.0
//! Tests random queries, and that differences are detected.

use std::{ffi::OsString, path::Path};

use nearscan_queries::{Options, run};

/// Queries of a usual run: 50 batches.
const QUERIES: u64 = 3000;

/// All ways but `off`.
const WAYS: [&str; 9] = [
    "force",
    "faults",
    "force-1-thread",
    "auto",
    "verify",
    "small-batches",
    "smartssd",
    "tight-memory",
    "cpu-drive",
];

/// Queries of which DuckDB must have an answer: else there is little to compare.
const ANSWERED_PERCENT_MIN: u64 = 75;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_queries_give_the_rows_of_duckdb_in_every_way() {
    let test = "sql::random_queries_give_the_rows_of_duckdb_in_every_way";
    let Some(python) = nearscan_skip::python(test) else { return };
    let seed = number_of("NEARSCAN_RANDOM_SEED", 1);
    let options = options(python, seed, QUERIES);
    let mut lines = Vec::new();
    let outcome = run(&options, &mut |line| lines.push(line.to_owned())).await.unwrap();
    #[expect(clippy::print_stdout, reason = "a run of one test alone shows what it covered")]
    {
        println!("{}", lines.join("\n"));
    }
    let reports = &outcome.reports[..outcome.reports.len().min(5)];
    assert!(reports.is_empty(), "{} differ\n{}", outcome.reports.len(), reports.join("\n"));
    // Some are about a folder whose two files have no schema in common.
    assert!(outcome.queries > QUERIES * 9 / 10, "{}", outcome.queries);
    assert!(outcome.answered * 100 >= QUERIES * ANSWERED_PERCENT_MIN, "{}", outcome.answered);
    let table = outcome.ways.table();
    assert!(outcome.ways.total().units_drive > QUERIES, "{table}");
    for way in WAYS {
        // Each has a drive, which does something, and gives rows, also with little memory.
        let runs = outcome.ways.of(way);
        assert!(runs.units_drive > 0 && runs.answered > 0, "{way}\n{table}");
    }
}

fn options(python: OsString, seed: u64, queries: u64) -> Options {
    let keep = Path::new(env!("CARGO_TARGET_TMPDIR")).join("differing-queries");
    Options {
        seed,
        queries,
        jobs: 2,
        replay: None,
        ledger: None,
        commit: String::new(),
        keep,
        python,
    }
}

/// A number from the environment.
fn number_of(variable: &str, default: u64) -> u64 {
    match std::env::var_os(variable) {
        Some(text) => text.to_string_lossy().parse().unwrap(),
        None => default,
    }
}
