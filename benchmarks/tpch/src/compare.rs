// SPDX-License-Identifier: Apache-2.0
//! Compares two runs, from the JSON that they wrote.
//!
//! Only times of one kind are compared: measured seconds with measured seconds, and, of runs with
//! an emulated drive, modelled drive time with modelled drive time. Other differences between the
//! runs that affect the figures are listed above the table.

use std::{collections::BTreeMap, fmt::Write as _};

use nearscan::units::format_bytes;
use serde::Deserialize;

use crate::report::TimeSource;

/// The part of a recorded run that is read.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct RecordedRun {
    commit: Option<String>,
    dirty: Option<bool>,
    machine: RecordedMachine,
    scale_factor: f64,
    drive: Option<String>,
    time_source: TimeSource,
    settings: BTreeMap<String, String>,
    queries: Vec<RecordedQuery>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct RecordedMachine {
    processor: String,
    threads: usize,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct RecordedQuery {
    query: u32,
    seconds: Vec<f64>,
    answer: String,
    link_bytes: u64,
    modelled_seconds: Option<f64>,
}

/// The reason why two runs cannot be compared.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CompareError {
    /// The text is not what `tpch run --json` writes.
    #[error("not a report of a run: {0}")]
    Format(String),
    /// One has measured times, the other those of a simulation.
    #[error("the times of the first run are {0}, those of the second {1}")]
    TimeSources(&'static str, &'static str),
    /// The data was not the same.
    #[error("the runs have different scale factors, {0} and {1}")]
    Scales(f64, f64),
    /// No query has a time in both.
    #[error("no query has a time in both runs")]
    NothingInCommon,
}

impl RecordedRun {
    /// Reads what `tpch run --json` has written.
    ///
    /// # Errors
    /// [`CompareError::Format`] if it is something else.
    pub fn from_json(text: &str) -> Result<Self, CompareError> {
        serde_json::from_str(text).map_err(|error| CompareError::Format(error.to_string()))
    }

    fn name(&self) -> String {
        let commit = self.commit.as_deref().map_or("no commit", |commit| {
            commit.char_indices().nth(9).map_or(commit, |(end, _)| &commit[..end])
        });
        let dirty = if self.dirty == Some(true) { ", changed" } else { "" };
        let drive = self.drive.as_deref().unwrap_or("none");
        format!("{commit}{dirty}, drive: {drive}")
    }

    fn find(&self, number: u32) -> Option<&RecordedQuery> {
        self.queries.iter().find(|query| query.query == number)
    }
}

impl RecordedQuery {
    /// The time that may be compared.
    fn seconds(&self, source: TimeSource) -> Option<f64> {
        match source {
            TimeSource::Measured => crate::report::median(&self.seconds),
            TimeSource::Composed => self.modelled_seconds,
        }
    }
}

/// The table of two runs: each query's times, the second as a multiple of the first, and their
/// geometric mean.
///
/// # Errors
/// If the times are of two kinds, the data differ, or no query is in both.
pub fn compare(first: &RecordedRun, second: &RecordedRun) -> Result<String, CompareError> {
    if first.time_source != second.time_source {
        let word = |source| match source {
            TimeSource::Measured => "measured",
            TimeSource::Composed => "of an emulated drive",
        };
        return Err(CompareError::TimeSources(word(first.time_source), word(second.time_source)));
    }
    if first.scale_factor != second.scale_factor {
        return Err(CompareError::Scales(first.scale_factor, second.scale_factor));
    }
    let source = first.time_source;
    let mut text = heading(first, second);
    let mut ratios: Vec<f64> = Vec::new();
    for query in &first.queries {
        let Some(other) = second.find(query.query) else { continue };
        let (Some(one), Some(two)) = (query.seconds(source), other.seconds(source)) else {
            continue;
        };
        let ratio = two / one;
        ratios.push(ratio);
        let wrong = match (query.answer.as_str(), other.answer.as_str()) {
            ("wrong", "wrong") => " wrong in both",
            ("wrong", _) => " wrong in the first",
            (_, "wrong") => " wrong in the second",
            _ => "",
        };
        let _infallible = writeln!(
            text,
            "{:<5} {one:>12.6} {two:>12.6} {ratio:>8.3} {:>11} {:>11}{wrong}",
            format!("q{:02}", query.query),
            format_bytes(query.link_bytes),
            format_bytes(other.link_bytes),
        );
    }
    if ratios.is_empty() {
        return Err(CompareError::NothingInCommon);
    }
    #[expect(clippy::cast_precision_loss, reason = "there are 22 queries")]
    let mean = (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp();
    let _infallible =
        write!(text, "geometric mean of the ratios {mean:.3} over {} queries", ratios.len());
    Ok(text)
}

/// Which runs these are, in which respects they differ, and the names of the columns.
fn heading(first: &RecordedRun, second: &RecordedRun) -> String {
    let mut text = format!("first:  {}\nsecond: {}\n", first.name(), second.name());
    if first.machine != second.machine {
        text.push_str("the machines differ\n");
    }
    let keys = first.settings.keys().chain(second.settings.keys());
    let keys: std::collections::BTreeSet<&String> = keys.collect();
    for key in keys {
        let of = |run: &RecordedRun| run.settings.get(key).cloned().unwrap_or_default();
        if of(first) != of(second) {
            let _infallible = writeln!(text, "{key} differs: '{}' and '{}'", of(first), of(second));
        }
    }
    let kind = match first.time_source {
        TimeSource::Measured => "seconds are measured",
        TimeSource::Composed => "seconds are modelled drive time",
    };
    let _infallible = writeln!(
        text,
        "{kind}\n{:<5} {:>12} {:>12} {:>8} {:>11} {:>11}",
        "query", "first", "second", "ratio", "first link", "second link"
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(source: TimeSource, seconds: &[(u32, f64)]) -> RecordedRun {
        let query = |&(query, seconds): &(u32, f64)| RecordedQuery {
            query,
            seconds: vec![seconds, seconds * 3.0, seconds * 2.0],
            answer: "ok".to_owned(),
            link_bytes: 1024,
            modelled_seconds: (source == TimeSource::Composed).then_some(seconds / 8.0),
        };
        RecordedRun {
            commit: Some("0123456789abcdef".to_owned()),
            dirty: Some(false),
            machine: RecordedMachine { processor: "x".to_owned(), threads: 2 },
            scale_factor: 1.0,
            drive: None,
            time_source: source,
            settings: BTreeMap::new(),
            queries: seconds.iter().map(query).collect(),
        }
    }

    #[test]
    fn ratios_are_of_medians() {
        let first = run(TimeSource::Measured, &[(1, 1.0), (6, 2.0), (7, 1.0)]);
        let second = run(TimeSource::Measured, &[(6, 1.0), (1, 8.0)]);
        let text = compare(&first, &second).unwrap();
        let row = |name: &str| {
            let line = text.lines().find(|line| line.starts_with(name)).unwrap();
            line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(row("q01")[1..4], ["2.000000", "16.000000", "8.000"]);
        assert_eq!(row("q06")[1..4], ["4.000000", "2.000000", "0.500"]);
        assert!(text.ends_with("geometric mean of the ratios 2.000 over 2 queries"), "{text}");
        assert!(text.contains("first:  012345678, drive: none\n"), "{text}");
    }

    #[test]
    fn runs_with_an_emulated_drive_are_compared_by_modelled_time() {
        let first = run(TimeSource::Composed, &[(6, 1.0)]);
        let text = compare(&first, &run(TimeSource::Composed, &[(6, 2.0)])).unwrap();
        assert!(text.contains("modelled drive time"), "{text}");
        assert!(text.contains("0.125000     0.250000    2.000"), "{text}");
    }

    #[test]
    fn refuses_runs_that_cannot_be_compared() {
        let first = run(TimeSource::Measured, &[(6, 1.0)]);
        let simulated = run(TimeSource::Composed, &[(6, 1.0)]);
        let error = compare(&first, &simulated).unwrap_err();
        assert_eq!(error, CompareError::TimeSources("measured", "of an emulated drive"));
        let larger = RecordedRun { scale_factor: 10.0, ..first.clone() };
        assert_eq!(compare(&first, &larger).unwrap_err(), CompareError::Scales(1.0, 10.0));
        let other = run(TimeSource::Measured, &[(7, 1.0)]);
        assert_eq!(compare(&first, &other).unwrap_err(), CompareError::NothingInCommon);
        assert!(matches!(RecordedRun::from_json("{}"), Err(CompareError::Format(_))));
    }

    #[test]
    fn lists_settings_in_which_the_runs_differ() {
        let first = run(TimeSource::Measured, &[(6, 1.0)]);
        let settings = [("nearscan.pushdown.mode".to_owned(), "off".to_owned())];
        let second = RecordedRun { settings: settings.into(), ..first.clone() };
        let text = compare(&first, &second).unwrap();
        assert!(text.contains("nearscan.pushdown.mode differs: '' and 'off'\n"), "{text}");
    }
}
