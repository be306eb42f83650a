// SPDX-License-Identifier: Apache-2.0
//! The result of a run of the suite.

use std::{collections::BTreeMap, fmt};

/// A case that did not pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failed {
    /// The case.
    pub name: String,
    /// The description of the failure, with the fragment.
    pub description: String,
}

/// The result of a run of the suite.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Seed of the random cases.
    pub seed: u64,
    /// Cases run.
    pub cases: u64,
    /// The outcome: `rows`, or the name of a status or failure.
    pub ends: BTreeMap<String, u64>,
    /// Cases not run because the drive says that it is not able to, by reason.
    pub skipped: BTreeMap<String, u64>,
    /// Cases that did not pass.
    pub failures: Vec<Failed>,
}

/// Failures that are shown in full.
const SHOWN: usize = 10;

impl Report {
    /// Whether everything passed.
    pub fn is_clean(&self) -> bool {
        self.failures.is_empty() && self.cases > 0
    }

    /// Cases that ended with rows.
    pub fn with_rows(&self) -> u64 {
        self.ends.get("rows").copied().unwrap_or(0)
    }

    pub(crate) fn passed(&mut self, end: &str) {
        self.cases += 1;
        *self.ends.entry(end.to_owned()).or_default() += 1;
    }

    pub(crate) fn failed(&mut self, name: &str, description: String) {
        self.cases += 1;
        self.failures.push(Failed { name: name.to_owned(), description });
    }

    pub(crate) fn skip(&mut self, reason: String) {
        *self.skipped.entry(reason).or_default() += 1;
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} cases with seed {}, {} failed",
            self.cases,
            self.seed,
            self.failures.len()
        )?;
        for (end, count) in &self.ends {
            writeln!(f, "  {count} ended with {end}")?;
        }
        for (reason, count) in &self.skipped {
            writeln!(f, "  {count} skipped: {reason}")?;
        }
        for failed in self.failures.iter().take(SHOWN) {
            writeln!(f, "\n{}: {}", failed.name, failed.description)?;
        }
        for failed in self.failures.iter().skip(SHOWN) {
            writeln!(f, "also failed: {}", failed.name)?;
        }
        Ok(())
    }
}
