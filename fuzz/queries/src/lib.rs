// SPDX-License-Identifier: Apache-2.0
//! Runs random queries over random files, and checks that every configuration returns the rows of
//! DuckDB.
//!
//! ```text
//! generate/main.py --files, queries, DuckDB's rows--> check --differences--> shrink --> report
//!                                                       --sums--> ledger
//! ```
//!
//! | module | does |
//! |---|---|
//! | `generator` | speaks with the process that draws files and queries, and asks DuckDB |
//! | `settings` | the ways to run a query |
//! | `check` | runs a query, and compares |
//! | `cells` | when two rows are the same |
//! | `run` | batches, side by side |
//! | `tally` | what each way was run for |
//! | `shrink` | the smallest files and query that still differ |
//! | `ledger` | what was run, ever |
//!
//! # What this crate does not do
//!
//! It injects no faults one by one, cancels no queries, and has one memory limit only
//! (`tight-memory`): `fuzz/faults` does that. Queries with a known answer are in `sqllogictest`.
//!
//! # Invariants
//!
//! - A batch depends on its seed and number only, so that a report is enough to see it again.
//! - Nothing is compared with an answer of the code under test alone.

#![forbid(unsafe_code)]

mod cells;
mod check;
mod generator;
mod ledger;
mod run;
mod settings;
mod shrink;
mod tally;

use std::{
    ffi::OsString,
    path::PathBuf,
    time::{Duration, UNIX_EPOCH},
};

use anyhow::{Result, bail};

use crate::{
    ledger::{Span, Stamp},
    run::{QUERIES_PER_BATCH, Shrunk},
};

pub use crate::tally::{Runs, Tally};

/// Batches of a span: what is lost when a run is stopped.
const SPAN_BATCHES: u64 = 250;

/// Options of the program.
#[derive(Debug, Clone, clap::Parser)]
#[command(name = "nearscan-queries", about = "Run random queries over random files")]
// The arguments of `cargo xtask` come first, and those behind them replace them.
#[command(args_override_self = true)]
pub struct Options {
    /// Seed of files and queries
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Number of queries; a batch has 60
    #[arg(long, default_value_t = 3000)]
    pub queries: u64,
    /// Batches side by side
    #[arg(long, default_value_t = 2)]
    pub jobs: u64,
    /// Run one batch, or one query of it in every way, instead
    #[arg(long, value_name = "BATCH[/QUERY]")]
    pub replay: Option<String>,
    /// Add what was run to this file, and go on where it ends
    #[arg(long, value_name = "FILE")]
    pub ledger: Option<PathBuf>,
    /// The commit that is run, for the ledger
    #[arg(long, value_name = "NAME", default_value = "unknown")]
    pub commit: String,
    /// Folder for the files and queries that differ
    #[arg(long, value_name = "FOLDER", default_value = "target/differing-queries")]
    pub keep: PathBuf,
    /// Python with the packages of xtask/requirements.txt
    #[arg(long, value_name = "PROGRAM")]
    pub python: OsString,
}

/// The outcome of all queries.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outcome {
    /// Queries.
    pub queries: u64,
    /// Of these, how many DuckDB answered.
    pub answered: u64,
    /// Runs of queries and rewrites.
    pub ways: Tally,
    /// One report for each difference.
    pub reports: Vec<String>,
}

/// Runs queries; `tell` gets a line after each span.
///
/// # Errors
/// When files cannot be written or read, or the generator does not start. A query that differs is
/// none.
pub async fn run(options: &Options, tell: &mut dyn FnMut(&str)) -> Result<Outcome> {
    let Options { seed, jobs, .. } = *options;
    let (python, keep) = (options.python.clone(), options.keep.clone());
    let ways = run::Options { python, seed, jobs, keep, shrunk: Shrunk::default() };
    let mut outcome = Outcome::default();
    if let Some(place) = &options.replay {
        let (batch, number) = parse_place(place)?;
        outcome.add(run::replay(&ways, batch, number).await?);
        return Ok(outcome);
    }
    let spans = options.ledger.as_deref().map(ledger::read).transpose()?.unwrap_or_default();
    let now = UNIX_EPOCH + Duration::from_nanos(nearscan_drive::clock::unix_ns());
    let date = humantime::format_rfc3339_seconds(now).to_string();
    let date = date.split('T').next().unwrap_or_default().to_owned();
    let stamp = Stamp { date, commit: options.commit.clone(), seed };
    let mut first = ledger::next_batch(&spans, seed);
    let end = first + options.queries.div_ceil(QUERIES_PER_BATCH);
    while first < end {
        let batches = SPAN_BATCHES.min(end - first);
        let sum = run::run(&ways, first, first + batches).await?;
        tell(&format!(
            "seed {seed}, batches {first} to {}: {} queries, {} with DuckDB's rows, {} units on \
             drives, {} differences",
            first + batches - 1,
            sum.queries,
            sum.answered,
            sum.ways.total().units_drive,
            sum.reports.len()
        ));
        if let Some(path) = &options.ledger {
            ledger::append(path, &Span::new(&stamp, first, batches, &sum))?;
        }
        outcome.add(sum);
        first += batches;
    }
    Ok(outcome)
}

impl Outcome {
    fn add(&mut self, sum: run::Sum) {
        self.queries += sum.queries;
        self.answered += sum.answered;
        self.ways.merge(&sum.ways);
        self.reports.extend(sum.reports);
    }
}

fn parse_place(text: &str) -> Result<(u64, Option<u64>)> {
    let (batch, number) = match text.split_once('/') {
        Some((batch, number)) => (batch, Some(number)),
        None => (text, None),
    };
    let number = number.map(str::parse).transpose();
    match (batch.parse(), number) {
        (Ok(batch), Ok(number)) if number.is_none_or(|number| number < QUERIES_PER_BATCH) => {
            Ok((batch, number))
        }
        _ => bail!("'{text}' is neither BATCH nor BATCH/QUERY with a query below 60"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_of_an_option_counts() {
        let words = ["queries", "--python", "p", "--keep", "a", "--seed", "1", "--keep", "b"];
        let options = <Options as clap::Parser>::try_parse_from(words).unwrap();
        assert_eq!(options.keep, PathBuf::from("b"));
    }

    #[test]
    fn places_are_a_batch_or_a_query_of_it() {
        assert_eq!(parse_place("7").unwrap(), (7, None));
        assert_eq!(parse_place("7/59").unwrap(), (7, Some(59)));
        for wrong in ["", "x", "7/", "7/60", "7/-1"] {
            assert!(parse_place(wrong).is_err(), "{wrong}");
        }
    }
}
