// SPDX-License-Identifier: Apache-2.0
//! Runs batches of files, engines and queries, and sums up the outcomes.
//!
//! Batches are independent of each other, so several jobs work on them side by side, each with its
//! own generator.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use anyhow::{Context, Result};
use nearscan::Engine;
use tempfile::TempDir;
use tokio::task::JoinSet;

use crate::{
    check::{Checked, Difference, Run, Size, check},
    generator::{Batch, Generator, Place, Query},
    settings::{OFF, TWO_FILES, WAYS, Way, ways_of},
    shrink,
    tally::Tally,
};

/// Queries of a batch.
pub(crate) const QUERIES_PER_BATCH: u64 = 60;

/// Differences of a run that are made smaller; there is something wrong with all of it when there
/// are more.
const SHRUNK_MAX: usize = 5;

/// The options of a run of batches.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    pub(crate) python: OsString,
    pub(crate) seed: u64,
    /// Side by side.
    pub(crate) jobs: u64,
    /// The folder for the files of queries that differ.
    pub(crate) keep: PathBuf,
    pub(crate) shrunk: Shrunk,
}

/// Differences that were made smaller; copies count together.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shrunk(Arc<AtomicUsize>);

impl Shrunk {
    /// Whether one more may be.
    fn take(&self) -> bool {
        self.0.fetch_add(1, Ordering::Relaxed) < SHRUNK_MAX
    }
}

/// The outcome of some batches.
#[derive(Debug, Default)]
pub(crate) struct Sum {
    pub(crate) queries: u64,
    /// Those that DuckDB answered.
    pub(crate) answered: u64,
    pub(crate) rewrites: u64,
    pub(crate) files: u64,
    pub(crate) ways: Tally,
    pub(crate) features: BTreeMap<String, u64>,
    pub(crate) failed_alike: u64,
    pub(crate) out_of_memory: u64,
    pub(crate) sizes: Vec<Size>,
    /// A report of each, the first few of them with the smallest query.
    pub(crate) reports: Vec<String>,
}

impl Sum {
    fn add(&mut self, query: &Query, checked: &Checked) {
        self.queries += 1;
        self.answered += u64::from(query.rows.is_some());
        self.rewrites += query.same_as.len() as u64;
        for feature in &query.features {
            *self.features.entry(feature.clone()).or_default() += 1;
        }
        self.ways.merge(&checked.tally);
        self.failed_alike += checked.failed_alike;
        self.out_of_memory += checked.out_of_memory;
        self.sizes.extend(checked.size);
    }

    /// Adds what became of other batches.
    pub(crate) fn merge(&mut self, other: Self) {
        self.queries += other.queries;
        self.answered += other.answered;
        self.rewrites += other.rewrites;
        self.files += other.files;
        self.ways.merge(&other.ways);
        for (feature, count) in other.features {
            *self.features.entry(feature).or_default() += count;
        }
        self.failed_alike += other.failed_alike;
        self.out_of_memory += other.out_of_memory;
        self.sizes.extend(other.sizes);
        self.reports.extend(other.reports);
    }
}

/// Runs batches `first..end` of a seed.
pub(crate) async fn run(options: &Options, first: u64, end: u64) -> Result<Sum> {
    let next = Arc::new(AtomicU64::new(first));
    let mut jobs = JoinSet::new();
    for _ in 0..options.jobs.max(1) {
        let (next, options) = (Arc::clone(&next), options.clone());
        jobs.spawn(async move {
            let mut worker = Worker::new(&options)?;
            let mut sum = Sum::default();
            loop {
                let batch = next.fetch_add(1, Ordering::Relaxed);
                if batch >= end {
                    return anyhow::Ok(sum);
                }
                let place = Place { seed: options.seed, batch };
                let done = worker.batch(place, None, &mut sum).await;
                done.with_context(|| format!("batch {batch} of seed {}", options.seed))?;
            }
        });
    }
    let mut sum = Sum::default();
    while let Some(job) = jobs.join_next().await {
        sum.merge(job.context("a job panicked")??);
    }
    Ok(sum)
}

/// Runs one batch, or one query of it.
pub(crate) async fn replay(options: &Options, batch: u64, number: Option<u64>) -> Result<Sum> {
    let mut sum = Sum::default();
    let place = Place { seed: options.seed, batch };
    Worker::new(options)?.batch(place, number, &mut sum).await?;
    Ok(sum)
}

/// The state of one job.
struct Worker {
    generator: Generator,
    folder: TempDir,
    keep: PathBuf,
    shrunk: Shrunk,
}

impl Worker {
    fn new(options: &Options) -> Result<Self> {
        let generator = Generator::start(&options.python)?;
        let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
        let Options { keep, shrunk, .. } = options.clone();
        Ok(Self { generator, folder, keep, shrunk })
    }

    async fn batch(&mut self, place: Place, only: Option<u64>, sum: &mut Sum) -> Result<()> {
        let folder = self.folder.path().to_owned();
        let generator = &mut self.generator;
        let batch =
            tokio::task::block_in_place(|| generator.batch(place, QUERIES_PER_BATCH, &folder))?;
        let engines = Engines::new(&folder, &batch, place).await?;
        sum.files += batch.tables.len() as u64;
        let off = engines.run(&OFF).context("there is an engine without a drive")?;
        let has_folder = off.engine.tables().iter().any(|table| table.name == TWO_FILES);
        let mut differing = Vec::new();
        for (number, query) in (0..).zip(&batch.queries) {
            let is_over_folder = query.table == TWO_FILES;
            if only.is_some_and(|only| only != number) || is_over_folder && !has_folder {
                continue;
            }
            // With a query alone, all ways are of interest.
            let ways: Vec<&Way> = match only {
                Some(_) => WAYS.iter().collect(),
                None => ways_of(place.batch * QUERIES_PER_BATCH + number).to_vec(),
            };
            let runs: Vec<Run<'_>> = ways.into_iter().filter_map(|way| engines.run(way)).collect();
            let checked = check(query, off, &runs).await;
            sum.add(query, &checked);
            differing.extend(checked.differences.into_iter().map(|found| (number, found)));
        }
        for (number, difference) in differing {
            let report = self.report(&batch, place, number, &difference).await?;
            sum.reports.push(report);
        }
        Ok(())
    }

    /// Says what differs; the first few are made smaller, and their files kept.
    async fn report(
        &mut self,
        batch: &Batch,
        place: Place,
        number: u64,
        difference: &Difference,
    ) -> Result<String> {
        let Place { seed, batch: batch_number } = place;
        let query = usize::try_from(number).ok().and_then(|number| batch.queries.get(number));
        let query = query.context("a query of the batch")?;
        let Difference { way, against, text } = difference;
        let mut report = format!(
            "seed {seed}, batch {batch_number}, query {number}: {way} against {against:?}\n{text}\n\
             again: cargo xtask fuzz sql --seed {seed} --replay {batch_number}/{number}\n{}\n",
            query.sql
        );
        for sql in &query.same_as {
            report.push_str(&format!("rewritten:\n{sql}\n"));
        }
        if self.shrunk.take() {
            let kept = self.keep.join(format!("{seed}-{batch_number}-{number}"));
            let case = shrink::Case { place, tables: &batch.tables, query, difference };
            report.push_str(&shrink::shrink(&mut self.generator, &case, &kept).await?);
            std::fs::write(kept.join("report.txt"), &report)
                .with_context(|| format!("cannot write to {}", kept.display()))?;
        }
        Ok(report)
    }
}

/// An engine for each way, over the same files.
struct Engines(Vec<(&'static Way, Engine)>);

impl Engines {
    async fn new(folder: &Path, batch: &Batch, place: Place) -> Result<Self> {
        let mut engines = Vec::new();
        for way in WAYS.iter().chain([&OFF]) {
            let engine = way.engine(folder, batch.tables.keys(), place.batch).await?;
            engines.push((way, engine));
        }
        Ok(Self(engines))
    }

    fn run(&self, way: &Way) -> Option<Run<'_>> {
        let (way, engine) = self.0.iter().find(|(other, _)| *other == way)?;
        Some(Run { way, engine })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_jobs_together_make_a_few_differences_smaller() {
        let shrunk = Shrunk::default();
        let jobs = [shrunk.clone(), shrunk.clone(), shrunk];
        let count = (0..SHRUNK_MAX).flat_map(|_| &jobs).filter(|job| job.take()).count();
        assert_eq!(count, SHRUNK_MAX);
    }
}
