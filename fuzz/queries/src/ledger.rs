// SPDX-License-Identifier: Apache-2.0
//! Keeps the ledger of runs, line by line, so that runs add up and continue where the last one
//! ended.
//!
//! A line is a JSON object for one span of batches of one seed: when, on which commit, how many
//! queries and runs, what they had in them, how large they were, how many differed.

use std::{collections::BTreeMap, io::Write, path::Path};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::{run::Sum, tally::Tally};

/// Some batches of one seed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Span {
    pub(crate) date: String,
    pub(crate) commit: String,
    pub(crate) seed: u64,
    pub(crate) first_batch: u64,
    pub(crate) batches: u64,
    pub(crate) files: u64,
    pub(crate) queries: u64,
    /// Queries that DuckDB answered; the others are held against each other.
    pub(crate) answered: u64,
    pub(crate) rewrites: u64,
    pub(crate) differences: u64,
    /// Runs and units of work by way.
    pub(crate) ways: Tally,
    /// Runs that failed as the query fails without a drive, and for want of memory.
    pub(crate) failed_alike: u64,
    pub(crate) out_of_memory: u64,
    pub(crate) rows_median: u64,
    pub(crate) operators_median: u64,
    /// Queries by what is in them.
    pub(crate) features: BTreeMap<String, u64>,
}

/// When and on what a span is run.
#[derive(Debug, Clone)]
pub(crate) struct Stamp {
    pub(crate) date: String,
    pub(crate) commit: String,
    pub(crate) seed: u64,
}

impl Span {
    pub(crate) fn new(stamp: &Stamp, first_batch: u64, batches: u64, sum: &Sum) -> Self {
        let Stamp { date, commit, seed } = stamp.clone();
        Self {
            date,
            commit,
            seed,
            first_batch,
            batches,
            files: sum.files,
            queries: sum.queries,
            answered: sum.answered,
            rewrites: sum.rewrites,
            differences: sum.reports.len() as u64,
            ways: sum.ways.clone(),
            failed_alike: sum.failed_alike,
            out_of_memory: sum.out_of_memory,
            rows_median: median(sum.sizes.iter().map(|size| size.rows)),
            operators_median: median(sum.sizes.iter().map(|size| size.operators)),
            features: sum.features.clone(),
        }
    }
}

fn median(values: impl Iterator<Item = u64>) -> u64 {
    let mut values: Vec<u64> = values.collect();
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// Reads a ledger; one that is not there has no spans.
pub(crate) fn read(path: &Path) -> Result<Vec<Span>> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    };
    let spans = text.lines().enumerate().map(|(index, line)| {
        serde_json::from_str(line)
            .with_context(|| format!("{}, line {}: not a span", path.display(), index + 1))
    });
    spans.collect()
}

/// The first batch of a seed that no span has.
pub(crate) fn next_batch(spans: &[Span], seed: u64) -> u64 {
    let ends = spans.iter().filter(|span| span.seed == seed);
    ends.map(|span| span.first_batch + span.batches).max().unwrap_or(0)
}

/// Adds a span at the end.
pub(crate) fn append(path: &Path, span: &Span) -> Result<()> {
    let open = std::fs::OpenOptions::new().append(true).create(true).open(path);
    let mut line = serde_json::to_string(span)?;
    line.push('\n');
    let written = open.and_then(|mut file| file.write_all(line.as_bytes()));
    written.with_context(|| format!("cannot write to {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::Size;

    fn span(seed: u64, first_batch: u64, batches: u64) -> Span {
        let stamp = Stamp { date: "2026-01-01".to_owned(), commit: "abc".to_owned(), seed };
        let size = |rows| Size { rows, operators: 2 * rows };
        let sum = Sum { queries: 9, sizes: [5, 1, 3].map(size).to_vec(), ..Sum::default() };
        Span::new(&stamp, first_batch, batches, &sum)
    }

    #[test]
    fn spans_survive_a_round_trip_and_the_next_batch_follows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.jsonl");
        assert_eq!(read(&path).unwrap(), []);
        let spans = [span(1, 0, 50), span(2, 0, 9), span(1, 50, 25)];
        spans.iter().for_each(|span| append(&path, span).unwrap());
        let found = read(&path).unwrap();
        assert_eq!(found, spans);
        assert_eq!([1, 2, 3].map(|seed| next_batch(&found, seed)), [75, 9, 0]);
        assert_eq!((found[0].rows_median, found[0].operators_median), (3, 6));
    }

    #[test]
    fn invalid_line_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.jsonl");
        append(&path, &span(1, 0, 1)).unwrap();
        std::fs::write(&path, std::fs::read_to_string(&path).unwrap() + "{}\n").unwrap();
        let error = read(&path).unwrap_err().to_string();
        assert!(error.ends_with("ledger.jsonl, line 2: not a span"), "{error}");
    }
}
