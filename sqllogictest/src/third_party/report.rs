// SPDX-License-Identifier: Apache-2.0
//! Reports records, files and totals, as lines for people and as JSON.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};

use super::directive::Dialect;

/// Failures that are shown to people; all are in the JSON.
const FAILURES_SHOWN: usize = 20;

/// Reasons that are shown to people; all are in the JSON.
const REASONS_SHOWN: usize = 40;

/// The outcome of a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It did what its file says.
    Passed,
    /// It did something else.
    Failed,
    /// It cannot be run or judged here, with the reason.
    Unsupported(String),
    /// It changes no answer and was left out, with its name.
    Ignored(String),
}

/// The relation of a query to the same query with pushdown off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Off {
    /// It was not asked: nothing was meant for a drive, and it passed.
    NotAsked,
    /// The same rows, or refused both times.
    Same,
    /// Something else, which the query does not leave open.
    Differs,
    /// Other rows or another order, which the query leaves open: both are right by its ORDER BY and
    /// LIMIT, or it gives other rows each time with pushdown off too.
    Unstable,
}

/// A record that did something else than its file says, or than the same with pushdown off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// File and line.
    pub place: String,
    /// The statement.
    pub sql: String,
    /// The result or the error that the file states.
    pub expected: String,
    /// The result or the error that was found.
    pub found: String,
    /// The result or the error with pushdown off, where that is something else.
    pub found_off: Option<String>,
    /// Whether it differs from the suite.
    pub differs_from_suite: bool,
    /// Whether it differs from the same with pushdown off.
    pub differs_from_off: bool,
}

/// The outcome of a record, with what it cost a drive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// The verdict.
    pub verdict: Verdict,
    /// Whether it gave rows that were compared with those of its file.
    pub is_query: bool,
    /// Units that ran on the drive.
    pub units_drive: u64,
    /// Units that a drive was meant for and the CPU ran.
    pub units_cpu: u64,
    /// The reason why no unit ran on the drive, for a query that gave rows.
    pub kept: Option<String>,
    /// The relation to the same record with pushdown off.
    pub off: Off,
    /// The failure, if it is to be looked at.
    pub failure: Option<Failure>,
}

/// The outcome of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub enum End {
    /// With its last record.
    #[default]
    Whole,
    /// Its process ended; says how, and in which record.
    Crashed(String),
    /// It took too long; says in which record.
    TimeLimit(String),
}

/// The outcome of a file, with the counts of its records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileReport {
    /// Its path below the folder.
    pub path: String,
    /// Whose file it is.
    pub dialect: Dialect,
    /// The outcome.
    pub end: End,
    /// Whether it also ends there with pushdown off, where it ends before its last record.
    pub same_end_off: Option<bool>,
    /// Whether it ran again with more time: it was late, and with pushdown off it was not.
    pub ran_again: bool,
    /// Copies of tables that were written.
    pub copies: u64,
    /// Tables that stayed in memory, by reason.
    pub tables_kept: BTreeMap<String, u64>,
    /// The records.
    pub counts: Counts,
    /// The failures of its records.
    pub failures: Vec<Failure>,
}

/// Records, counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct Counts {
    /// Did what the file says.
    pub passed: u64,
    /// Did something else.
    pub failed: u64,
    /// Could not be run or judged, by reason.
    pub unsupported: BTreeMap<String, u64>,
    /// Change no answer and were left out, by name.
    pub ignored: BTreeMap<String, u64>,
    /// Queries whose rows were compared.
    pub queries: u64,
    /// Of those, queries of which a unit ran on the drive.
    pub queries_drive: u64,
    /// The reason why no unit of the others did.
    pub kept: BTreeMap<String, u64>,
    /// Units that ran on the drive.
    pub units_drive: u64,
    /// Units that the CPU ran instead.
    pub units_cpu: u64,
    /// Records that were run with pushdown off too.
    pub compared_with_off: u64,
    /// Records that leave open in which rows or in which order they differ from pushdown off.
    pub unstable: u64,
    /// Records that differ from the same with pushdown off.
    pub differ_from_off: u64,
}

/// The outcome of all files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The folder of the files.
    pub folder: String,
    /// Mode of pushdown.
    pub mode: String,
    /// The files, by path.
    pub files: Vec<FileReport>,
    /// All of them.
    pub total: Counts,
    /// Files that ended before their last record.
    pub ended_early: u64,
    /// Of those, the ones that do not with pushdown off.
    pub ended_early_not_off: u64,
    /// Files that ran again with more time.
    pub ran_again: u64,
}

impl Counts {
    /// Adds a record.
    pub fn add(&mut self, outcome: &Outcome) {
        match &outcome.verdict {
            Verdict::Passed => self.passed += 1,
            Verdict::Failed => self.failed += 1,
            Verdict::Unsupported(reason) => {
                *self.unsupported.entry(reason.clone()).or_default() += 1;
            }
            Verdict::Ignored(name) => *self.ignored.entry(name.clone()).or_default() += 1,
        }
        if let Some(reason) = &outcome.kept {
            *self.kept.entry(reason.clone()).or_default() += 1;
        }
        self.queries += u64::from(outcome.is_query);
        self.queries_drive += u64::from(outcome.is_query && outcome.units_drive > 0);
        self.units_drive += outcome.units_drive;
        self.units_cpu += outcome.units_cpu;
        self.compared_with_off += u64::from(outcome.off != Off::NotAsked);
        self.unstable += u64::from(outcome.off == Off::Unstable);
        self.differ_from_off += u64::from(outcome.off == Off::Differs);
    }

    fn add_all(&mut self, other: &Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        for (to, from) in [
            (&mut self.unsupported, &other.unsupported),
            (&mut self.ignored, &other.ignored),
            (&mut self.kept, &other.kept),
        ] {
            for (name, count) in from {
                *to.entry(name.clone()).or_default() += count;
            }
        }
        self.queries += other.queries;
        self.queries_drive += other.queries_drive;
        self.units_drive += other.units_drive;
        self.units_cpu += other.units_cpu;
        self.compared_with_off += other.compared_with_off;
        self.unstable += other.unstable;
        self.differ_from_off += other.differ_from_off;
    }

    /// All records.
    #[must_use]
    pub fn records(&self) -> u64 {
        let of = |counts: &BTreeMap<String, u64>| counts.values().sum::<u64>();
        self.passed + self.failed + of(&self.unsupported) + of(&self.ignored)
    }
}

impl Report {
    /// Adds up files.
    #[must_use]
    pub fn new(folder: String, mode: String, mut files: Vec<FileReport>) -> Self {
        files.sort_by(|one, other| one.path.cmp(&other.path));
        let mut total = Counts::default();
        files.iter().for_each(|file| total.add_all(&file.counts));
        let count = |is: fn(&&FileReport) -> bool| files.iter().filter(is).count() as u64;
        let ended_early = count(|file| file.end != End::Whole);
        let ended_early_not_off = count(|file| file.same_end_off == Some(false));
        let ran_again = count(|file| file.ran_again);
        Self { folder, mode, files, total, ended_early, ended_early_not_off, ran_again }
    }

    /// Whether anything was run: a folder of which nothing was shows nothing.
    #[must_use]
    pub fn has_run(&self) -> bool {
        self.total.passed + self.total.failed + self.total.compared_with_off > 0
    }

    /// Whether pushdown changed nothing: what the exit status says.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.total.differ_from_off == 0 && self.ended_early_not_off == 0
    }
}

impl fmt::Display for FileReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = &self.counts;
        let unsupported: u64 = counts.unsupported.values().sum();
        write!(
            f,
            "{}: {} passed, {} failed, {unsupported} unsupported, {} of {} queries on the drive",
            self.path, counts.passed, counts.failed, counts.queries_drive, counts.queries
        )?;
        match &self.end {
            End::Whole => {}
            End::Crashed(how) => write!(f, "; CRASHED {how}")?,
            End::TimeLimit(place) => write!(f, "; TIME LIMIT at {place}")?,
        }
        match self.same_end_off {
            Some(true) => f.write_str(" (with pushdown off too)"),
            Some(false) => f.write_str(" (NOT with pushdown off)"),
            None => Ok(()),
        }?;
        f.write_str(if self.ran_again { "; ran again with more time" } else { "" })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = &self.total;
        // Differences from pushdown off come first: they are what this is for.
        let mut failures: Vec<(&FileReport, &Failure)> = self
            .files
            .iter()
            .flat_map(|file| file.failures.iter().map(move |of| (file, of)))
            .collect();
        failures.sort_by_key(|(_, failure)| !failure.differs_from_off);
        for (file, failure) in failures.iter().take(FAILURES_SHOWN) {
            writeln!(f, "\n{} ({})\n{failure}", failure.place, file.path)?;
        }
        if let hidden @ 1.. = failures.len().saturating_sub(FAILURES_SHOWN) {
            writeln!(f, "\n... and {hidden} more; all are in the JSON")?;
        }
        for (title, counts) in [
            ("unsupported", &total.unsupported),
            ("ignored", &total.ignored),
            ("queries of which no unit ran on the drive", &total.kept),
        ] {
            let mut counts: Vec<_> = counts.iter().collect();
            counts.sort_by_key(|(name, count)| (std::cmp::Reverse(**count), (*name).clone()));
            writeln!(f, "\n{title}: {}", counts.iter().map(|(_, count)| **count).sum::<u64>())?;
            for (name, count) in counts.iter().take(REASONS_SHOWN) {
                writeln!(f, "{count:>9}  {name}")?;
            }
            if let hidden @ 1.. = counts.len().saturating_sub(REASONS_SHOWN) {
                writeln!(f, "           and {hidden} others")?;
            }
        }
        writeln!(f, "\n{} files, {} records", self.files.len(), total.records())?;
        writeln!(f, "{:>9}  passed", total.passed)?;
        writeln!(f, "{:>9}  failed: differ from the suite", total.failed)?;
        writeln!(f, "{:>9}  differ from off", total.differ_from_off)?;
        writeln!(f, "{:>9}  compared with off", total.compared_with_off)?;
        writeln!(f, "{:>9}  leave rows or their order open", total.unstable)?;
        writeln!(
            f,
            "{:>9}  of {} queries on the drive: {} units, and {} on the CPU",
            total.queries_drive, total.queries, total.units_drive, total.units_cpu
        )?;
        writeln!(f, "{:>9}  files ran again with more time", self.ran_again)?;
        write!(
            f,
            "{:>9}  files ended early, {} of them not with pushdown off",
            self.ended_early, self.ended_early_not_off
        )
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let yes = |is: bool| if is { "yes" } else { "no" };
        writeln!(f, "{}", self.sql.trim())?;
        writeln!(f, "  differs from the suite: {}", yes(self.differs_from_suite))?;
        writeln!(f, "  differs from off: {}", yes(self.differs_from_off))?;
        write!(
            f,
            "  expected: {}\n  found:    {}",
            indented(&self.expected),
            indented(&self.found)
        )?;
        match &self.found_off {
            Some(found) => write!(f, "\n  off:      {}", indented(found)),
            None => Ok(()),
        }
    }
}

/// A text of several lines below a title of twelve signs.
fn indented(text: &str) -> String {
    text.trim_end().replace('\n', "\n            ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn outcome(verdict: Verdict) -> Outcome {
        let (units_drive, units_cpu, kept) = (0, 0, None);
        let (is_query, off, failure) = (false, Off::NotAsked, None);
        Outcome { verdict, is_query, units_drive, units_cpu, kept, off, failure }
    }

    fn report(outcome: &Outcome, end: End, same_end_off: Option<bool>) -> Report {
        let mut counts = Counts::default();
        counts.add(outcome);
        let file = FileReport {
            path: "a.test".to_owned(),
            dialect: Dialect::Sqlite,
            end,
            same_end_off,
            ran_again: true,
            copies: 0,
            tables_kept: BTreeMap::new(),
            counts,
            failures: Vec::new(),
        };
        Report::new("a".to_owned(), "force".to_owned(), vec![file])
    }

    #[rstest]
    #[case(Off::Same, None, true)]
    #[case(Off::Unstable, None, true)]
    #[case(Off::Differs, None, false)]
    #[case(Off::Same, Some(true), true)]
    #[case(Off::Same, Some(false), false)]
    fn is_sound_if_pushdown_changed_nothing(
        #[case] off: Off,
        #[case] same_end_off: Option<bool>,
        #[case] expected: bool,
    ) {
        let end = match same_end_off {
            Some(_) => End::Crashed("x".to_owned()),
            None => End::Whole,
        };
        let report = report(&Outcome { off, ..outcome(Verdict::Passed) }, end, same_end_off);
        assert_eq!(report.is_sound(), expected);
        assert_eq!(report.ended_early, u64::from(same_end_off.is_some()));
        assert_eq!(report.ran_again, 1);
        let shown = report.to_string();
        assert!(shown.contains("1  files ran again with more time"), "{shown}");
    }

    #[rstest]
    #[case(Verdict::Passed, Off::NotAsked, true)]
    #[case(Verdict::Failed, Off::NotAsked, true)]
    #[case(Verdict::Unsupported("x".to_owned()), Off::NotAsked, false)]
    #[case(Verdict::Unsupported("x".to_owned()), Off::Same, true)]
    #[case(Verdict::Ignored("x".to_owned()), Off::NotAsked, false)]
    fn has_run_if_something_was_judged(
        #[case] verdict: Verdict,
        #[case] off: Off,
        #[case] expected: bool,
    ) {
        let report = report(&Outcome { off, ..outcome(verdict) }, End::Whole, None);
        assert_eq!(report.has_run(), expected);
    }

    #[test]
    fn statements_are_no_queries() {
        let statement = Outcome { units_drive: 3, ..outcome(Verdict::Passed) };
        let mut counts = Counts::default();
        counts.add(&statement);
        assert_eq!((counts.queries, counts.queries_drive, counts.units_drive), (0, 0, 3));
        counts.add(&Outcome { is_query: true, ..statement });
        assert_eq!((counts.queries, counts.queries_drive, counts.units_drive), (1, 1, 6));
    }
}
