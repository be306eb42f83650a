// SPDX-License-Identifier: Apache-2.0
//! Runs the records of a file on one engine, and every query that concerns the drive once more with
//! pushdown off.
//!
//! A query that only reads runs as it is; it runs again with pushdown off if a unit of work was
//! meant for the drive, or if it is not what the file expects. How the two are compared is in
//! `off`. A statement that changes something runs once, with pushdown off, so that no wrong row
//! of a drive goes into a table; the query whose rows it writes is run both ways before, as if it
//! stood alone.

mod off;

use std::{collections::BTreeSet, path::Path};

use nearscan::{
    Candidate, Decision, Engine,
    arrow::datatypes::{DataType, Schema},
};

use super::{
    answer::{Answer, Answered, Refusal},
    directive::{Dialect, Expect, Sort},
    expected::{self, Found},
    reason,
    report::{Failure, Off, Outcome, Verdict},
    script::{Action, Record},
    statement::{self, READS, first_word, has_order},
    tables::Tables,
    taint::Taint,
    value,
};
use crate::{
    error::{Error, Result},
    settings::{self, DriveSetting},
    suite,
};

/// Signs of a result that a failure shows.
const SHOWN_MAX: usize = 2_000;

/// The place where queries run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// On the emulated drive, wherever it can.
    Force,
    /// Without a drive.
    Off,
}

impl Mode {
    /// The value of `nearscan.pushdown.mode`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Force => "force",
            Self::Off => "off",
        }
    }

    fn setting(self) -> &'static DriveSetting {
        match self {
            Self::Force => &settings::EMULATED,
            Self::Off => &settings::CPU,
        }
    }
}

/// The setting for the place of NULL in an order that does not state it.
const NULL_ORDER: &str = "datafusion.sql_parser.default_null_ordering";

/// An engine with the tables of one file.
pub struct FileRunner {
    engine: Engine,
    tables: Tables,
    taint: Taint,
    /// Names of prepared statements that only read.
    prepared: BTreeSet<String>,
    dialect: Dialect,
    mode: Mode,
}

/// A query and what a file says of it.
#[derive(Clone, Copy)]
struct Asked<'a> {
    sql: &'a str,
    letters: &'a str,
    sort: Sort,
    /// The lines of the result; none if any will do.
    lines: Option<&'a [String]>,
    expect: Expect,
}

/// A query that was run, and with pushdown off too where that can matter.
struct Both {
    answered: Answered,
    off: Off,
    answered_off: Option<Answered>,
}

impl FileRunner {
    /// Makes an engine for a file; copies of tables go to `scratch`, drawn from `seed`.
    ///
    /// # Errors
    /// If the engine refuses its drive.
    pub async fn open(mode: Mode, dialect: Dialect, scratch: &Path, seed: u64) -> Result<Self> {
        let engine = mode.setting().engine().await?;
        if let Some(order) = statement::null_order(dialect) {
            engine.set(NULL_ORDER, order).await?;
        }
        let tables = Tables::new(scratch.to_owned(), seed);
        let prepared = BTreeSet::new();
        Ok(Self { engine, tables, taint: Taint::default(), prepared, dialect, mode })
    }

    /// The tables that statements made so far.
    #[must_use]
    pub fn tables(&self) -> &Tables {
        &self.tables
    }

    /// Runs a record.
    ///
    /// # Errors
    /// If the engine does not take the mode of pushdown; whatever a record does is an outcome.
    pub async fn run(&mut self, record: &Record) -> Result<Outcome> {
        let asked = match &record.action {
            Action::Unsupported { reason, lost } => {
                if let Some(sql) = lost {
                    self.taint.add_elsewhere(sql, reason);
                }
                return Ok(outcome(Verdict::Unsupported(reason.clone())));
            }
            Action::Statement { sql, expect } => {
                Asked { sql, letters: "", sort: Sort::Unsorted, lines: None, expect: *expect }
            }
            Action::Query { sql, letters, sort, lines } => {
                let lines = lines.as_deref();
                Asked { sql, letters, sort: *sort, lines, expect: Expect::Success }
            }
        };
        if first_word(asked.sql) == "explain" {
            return Ok(outcome(Verdict::Unsupported("statement EXPLAIN".to_owned())));
        }
        if let Some(order) = statement::null_order_of(asked.sql) {
            self.engine.set(NULL_ORDER, order).await?;
            return Ok(outcome(Verdict::Passed));
        }
        if statement::names_missing_folder(asked.sql) && asked.expect == Expect::Success {
            self.taint.add(asked.sql, reason::NO_FILE);
            return Ok(outcome(Verdict::Unsupported(reason::NO_FILE.to_owned())));
        }
        if let Some(name) = reason::without_effect(asked.sql) {
            return Ok(outcome(match asked.expect {
                Expect::Refusal => Verdict::Unsupported(NOT_REFUSED.to_owned()),
                Expect::Success | Expect::Count(_) | Expect::Anything => {
                    Verdict::Ignored(name.to_owned())
                }
            }));
        }
        match self.only_reads(asked.sql) {
            true => self.read(&record.place, asked).await,
            false => self.change(&record.place, asked).await,
        }
    }

    /// Whether a text only reads, and so may run as often as one likes.
    fn only_reads(&self, sql: &str) -> bool {
        let reads = |sql: &str| match first_word(sql).as_str() {
            "execute" => statement::executed(&self.engine, sql)
                .is_some_and(|name| self.prepared.contains(&name)),
            word => word.is_empty() || READS.contains(&word),
        };
        let statements = self.engine.statements(sql);
        match statements.as_slice() {
            [] | [_] => reads(sql),
            several => several.iter().all(|of| of.as_ref().is_ok_and(|of| reads(of.text()))),
        }
    }

    /// Runs a statement that may change something, once.
    async fn change(&mut self, place: &str, asked: Asked<'_>) -> Result<Outcome> {
        let read = self.read_source(place, asked.sql).await?;
        let answered = self.ask_off(asked.sql).await?;
        self.tables.adopt(&self.engine).await;
        let verdict = self.judge(asked, &answered);
        match &verdict {
            Verdict::Passed if asked.expect != Expect::Refusal && answered.is_ok() => {
                self.taint.passed(asked.sql);
                if let Some(made) = statement::prepared(&self.engine, asked.sql) {
                    match READS.contains(&made.first_word.as_str()) {
                        true => self.prepared.insert(made.name),
                        false => self.prepared.remove(&made.name),
                    };
                }
            }
            Verdict::Passed | Verdict::Ignored(_) => {}
            Verdict::Failed => self.taint.add(asked.sql, "failure"),
            Verdict::Unsupported(reason) => self.taint.add(asked.sql, root(reason)),
        }
        let failed = (verdict == Verdict::Failed).then(|| Failure {
            place: place.to_owned(),
            sql: asked.sql.to_owned(),
            expected: asked.expected(),
            found: asked.shown(&answered, self.dialect),
            found_off: None,
            differs_from_suite: true,
            differs_from_off: false,
        });
        // Differences from pushdown off are what this is for.
        let failure = read.failure.or(failed);
        let failure =
            failure.map(|of| Failure { differs_from_suite: verdict == Verdict::Failed, ..of });
        Ok(Outcome { verdict, failure, is_query: false, ..read })
    }

    /// Runs the query whose rows a statement writes both ways, as if it stood alone.
    async fn read_source(&mut self, place: &str, sql: &str) -> Result<Outcome> {
        let source = match self.mode {
            Mode::Force => statement::source(&self.engine, sql),
            Mode::Off => None,
        };
        let Some(source) = source else { return Ok(outcome(Verdict::Passed)) };
        let (letters, sort, expect) = ("", Sort::Unsorted, Expect::Anything);
        self.read(place, Asked { sql: &source, letters, sort, lines: None, expect }).await
    }

    /// Runs a query, and again with pushdown off where that can matter.
    async fn read(&mut self, place: &str, asked: Asked<'_>) -> Result<Outcome> {
        self.tables.refresh(&self.engine).await;
        let answered = self.ask(asked.sql).await;
        let verdict = self.judge(asked, &answered);
        let (units_drive, units_cpu, kept) = match &answered {
            Ok(answer) => (answer.units_drive, answer.units_cpu, answer.kept.clone()),
            Err(_) => (0, 0, None),
        };
        let is_query = asked.lines.is_some() && answered.is_ok();
        let kept = kept.filter(|_| is_query && self.mode == Mode::Force);
        let done = Outcome { is_query, units_drive, units_cpu, kept, ..outcome(verdict) };
        let concerns_drive =
            units_drive + units_cpu > 0 || done.verdict != Verdict::Passed || answered.is_err();
        let Both { answered, off, answered_off } = match self.mode {
            Mode::Force if concerns_drive => self.compare_with_off(asked, answered).await?,
            Mode::Force | Mode::Off => Both { answered, off: Off::NotAsked, answered_off: None },
        };
        let differs_from_suite = done.verdict == Verdict::Failed;
        let differs_from_off = off == Off::Differs;
        let failure = (differs_from_suite || differs_from_off).then(|| Failure {
            place: place.to_owned(),
            sql: asked.sql.to_owned(),
            expected: asked.expected(),
            found: asked.shown(&answered, self.dialect),
            found_off: answered_off
                .filter(|_| differs_from_off)
                .map(|answered| asked.shown(&answered, self.dialect)),
            differs_from_suite,
            differs_from_off,
        });
        Ok(Outcome { off, failure, ..done })
    }

    /// Runs one or several statements; the rows are those of the last.
    async fn ask(&self, sql: &str) -> Answered {
        let mut answer = Answer::default();
        for statement in self.engine.statements(sql) {
            let run = async {
                let query = self.engine.plan(statement?).await?;
                let types = types_of(query.schema().as_ref());
                let result = query.collect().await?;
                let pushdown = result.profile.pushdown();
                let mut answer = Answer {
                    types,
                    units_drive: answer.units_drive + pushdown.units_drive,
                    units_cpu: answer.units_cpu + pushdown.units_cpu,
                    kept: (pushdown.units_drive == 0).then(|| kept(&result.profile.decisions)),
                    ..Answer::default()
                };
                for batch in result.batches.iter().filter(|batch| batch.num_rows() > 0) {
                    let found = types_of(batch.schema().as_ref());
                    if found != answer.types && !answer.other_types.contains(&found) {
                        answer.other_types.push(found);
                    }
                    answer.rows.extend(value::rows(batch, self.dialect)?);
                }
                Ok(answer)
            };
            answer = match suite::catch_panic(Box::pin(run)).await {
                Ok(Ok(answer)) => answer,
                Ok(Err(Error::Engine(error))) => return Err(Refusal::Engine(error)),
                Ok(Err(other)) => return Err(Refusal::ColumnType(other.to_string())),
                Err(panic) => return Err(Refusal::Panic(suite::message(&*panic).to_owned())),
            };
        }
        Ok(answer)
    }

    fn judge(&self, asked: Asked<'_>, answered: &Answered) -> Verdict {
        let tainted = self.taint.concerns(asked.sql);
        let tainted =
            tainted.map(|reason| Verdict::Unsupported(format!("{TAINTED}{}", root(reason))));
        let differs = || tainted.clone().unwrap_or(Verdict::Failed);
        let answer = match (answered, asked.expect) {
            (Err(Refusal::Panic(_)), _) => return Verdict::Failed,
            (_, Expect::Anything) | (Err(_), Expect::Refusal) => return Verdict::Passed,
            (Ok(_), Expect::Refusal) if self.only_reads(asked.sql) => return differs(),
            (Ok(_), Expect::Refusal) => return Verdict::Unsupported(NOT_REFUSED.to_owned()),
            (Err(Refusal::ColumnType(_)), Expect::Success | Expect::Count(_)) => {
                return Verdict::Unsupported("type without a text".to_owned());
            }
            (Err(Refusal::Engine(error)), Expect::Success | Expect::Count(_)) => {
                let reason = || reason::of(asked.sql, error).map(Verdict::Unsupported);
                return tainted.or_else(reason).unwrap_or(Verdict::Failed);
            }
            (Ok(answer), Expect::Count(wanted)) => {
                return match self.count(asked.sql, answer) {
                    Some(count) if count == wanted => Verdict::Passed,
                    Some(_) => differs(),
                    None => Verdict::Unsupported("count of a statement without one".to_owned()),
                };
            }
            (Ok(answer), Expect::Success) => answer,
        };
        let Some(lines) = asked.lines else { return Verdict::Passed };
        match asked.found(answer, self.dialect).compare(lines) {
            expected::Verdict::Same => Verdict::Passed,
            expected::Verdict::OtherOrder if !has_order(asked.sql) => {
                Verdict::Unsupported("order that the query leaves open".to_owned())
            }
            expected::Verdict::OtherHash if !has_order(asked.sql) => {
                Verdict::Unsupported("hash of an open order".to_owned())
            }
            expected::Verdict::OtherOrder
            | expected::Verdict::OtherHash
            | expected::Verdict::Differs => differs(),
            expected::Verdict::Unreadable => Verdict::Unsupported("pattern in a result".to_owned()),
        }
    }

    /// Rows that a statement says to have changed, or that it gave.
    fn count(&self, sql: &str, answer: &Answer) -> Option<u64> {
        match (self.only_reads(sql), answer.rows.as_slice()) {
            (true, rows) => Some(rows.len() as u64),
            (false, [row]) if row.len() == 1 => row[0].text.parse().ok(),
            (false, _) => None,
        }
    }
}

/// The reason of a statement that a suite refuses and the engine does not: a duplicate key, a wrong
/// type.
const NOT_REFUSED: &str = "refusal that the engine does not have";

/// The prefix of the reason of a statement that depends on one that could not be run.
const TAINTED: &str = "after: ";

impl<'a> Asked<'a> {
    fn found(&self, answer: &'a Answer, dialect: Dialect) -> Found<'a> {
        let (letters, sort) = (self.letters, self.sort);
        Found { rows: &answer.rows, columns: answer.types.len(), letters, sort, dialect }
    }

    fn expected(&self) -> String {
        let text = match (self.expect, self.lines) {
            (Expect::Refusal, _) => "an error".to_owned(),
            (Expect::Count(count), _) => format!("{count} rows"),
            (_, Some(lines)) => lines.join("\n"),
            (_, None) => "success".to_owned(),
        };
        shortened(text)
    }

    fn shown(&self, answered: &Answered, dialect: Dialect) -> String {
        shortened(match answered {
            Ok(answer) => {
                let types = answer.types.iter().map(ToString::to_string).collect::<Vec<_>>();
                let lines = self.found(answer, dialect).lines();
                match answer.other_types.is_empty() {
                    true => lines.join("\n"),
                    false => format!("{}\nnot of types {}", lines.join("\n"), types.join(", ")),
                }
            }
            Err(Refusal::Engine(error)) => error.render(),
            Err(Refusal::ColumnType(message)) => message.clone(),
            Err(Refusal::Panic(message)) => format!("panicked: {message}"),
        })
    }
}

/// The reason why something was not run, whatever depended on it since.
fn root(reason: &str) -> &str {
    reason.strip_prefix(TAINTED).unwrap_or(reason)
}

fn types_of(schema: &Schema) -> Vec<DataType> {
    schema.fields().iter().map(|field| field.data_type().clone()).collect()
}

fn outcome(verdict: Verdict) -> Outcome {
    Outcome {
        verdict,
        is_query: false,
        units_drive: 0,
        units_cpu: 0,
        kept: None,
        off: Off::NotAsked,
        failure: None,
    }
}

/// The reason why no unit ran on the drive: the reason of the first scan that was kept.
fn kept(decisions: &[Candidate]) -> String {
    let mut reasons = decisions.iter().filter_map(|candidate| match &candidate.decision {
        Decision::Keep(kept) => Some(kept),
        Decision::Offload { .. } => candidate.units_kept.as_ref().map(|(_, kept)| kept),
    });
    let otherwise = match decisions {
        [] => "no table in a file",
        [..] => "no row group that could have rows",
    };
    reasons.next().map_or(otherwise, |kept| kept.reason.word()).to_owned()
}

fn shortened(text: String) -> String {
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{} ...", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests;
