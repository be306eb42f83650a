// SPDX-License-Identifier: Apache-2.0
//! Runs the records of a file on one engine, and every query that concerns the drive once more with
//! pushdown off.
//!
//! A statement that changes something runs once. A query that only reads runs as it is; it runs
//! again with pushdown off if a unit of work was meant for the drive, or if it is not what the file
//! expects. Two answers are the same if they have the same rows, whatever their order, and the same
//! verdict where the query has an order. If they are not, both are asked again: what does not give
//! the same rows twice is no difference.

use std::path::Path;

use nearscan::{Candidate, Decision, Engine, Error as EngineError};

use super::{
    directive::{Dialect, Expect, Sort},
    expected::{self, Found},
    reason,
    report::{Failure, Off, Outcome, Verdict},
    script::{Action, Record},
    tables::Tables,
    taint::Taint,
    value::{self, Kind, Value},
};
use crate::{
    error::{Error, Result},
    render,
    settings::{self, DriveSetting},
    suite,
};

/// Signs of a result that a failure shows.
const SHOWN_MAX: usize = 2_000;

/// First words of statements that only read, and whose rows a drive may have to do with.
const READS: &[&str] = &["select", "with", "values", "from", "table"];

/// Where queries run.
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
            Self::Force => &settings::DRIVE_SETTINGS[1],
            Self::Off => &settings::DRIVE_SETTINGS[0],
        }
    }
}

/// The setting that says where NULL stands in an order that does not say it.
const NULL_ORDER: &str = "datafusion.sql_parser.default_null_ordering";

/// An engine with the tables of one file.
pub struct FileRunner {
    engine: Engine,
    tables: Tables,
    taint: Taint,
    dialect: Dialect,
    mode: Mode,
}

/// All rows of a query, and where they came from.
#[derive(Debug, Default)]
struct Answer {
    rows: Vec<Vec<Value>>,
    columns: usize,
    units_drive: u64,
    units_cpu: u64,
    kept: Option<String>,
}

/// Why there are no rows.
#[derive(Debug)]
enum Refusal {
    /// The engine says why.
    Engine(Box<EngineError>),
    /// A column has no text.
    ColumnType(String),
    /// It panicked.
    Panic(String),
}

type Answered = Result<Answer, Refusal>;

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

impl FileRunner {
    /// Makes an engine for a file; copies of tables go to `scratch`, drawn from `seed`.
    ///
    /// # Errors
    /// If the engine refuses its drive.
    pub async fn open(mode: Mode, dialect: Dialect, scratch: &Path, seed: u64) -> Result<Self> {
        let engine = mode.setting().engine().await?;
        if let Some(order) = null_order(dialect) {
            engine.set(NULL_ORDER, order).await?;
        }
        let tables = Tables::new(scratch.to_owned(), seed);
        Ok(Self { engine, tables, taint: Taint::default(), dialect, mode })
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
            Action::Unsupported { reason } => {
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
        let first = first_word(asked.sql);
        if first == "explain" {
            return Ok(outcome(Verdict::Unsupported("statement EXPLAIN".to_owned())));
        }
        if let Some(order) = null_order_of(asked.sql) {
            self.engine.set(NULL_ORDER, order).await?;
            return Ok(outcome(Verdict::Passed));
        }
        if names_missing_folder(asked.sql) && asked.expect == Expect::Success {
            self.taint.add(asked.sql, reason::NO_FILE);
            return Ok(outcome(Verdict::Unsupported(reason::NO_FILE.to_owned())));
        }
        if let Some(name) = reason::without_effect(asked.sql) {
            return Ok(outcome(match asked.expect {
                Expect::Refusal => Verdict::Unsupported(NOT_REFUSED.to_owned()),
                Expect::Success | Expect::Anything => Verdict::Ignored(name.to_owned()),
            }));
        }
        if READS.contains(&first.as_str()) || first.is_empty() {
            self.read(&record.place, asked).await
        } else {
            Ok(self.change(&record.place, asked).await)
        }
    }

    /// Runs a statement that may change something, once.
    async fn change(&mut self, place: &str, asked: Asked<'_>) -> Outcome {
        let answered = self.ask(asked.sql).await;
        self.tables.adopt(&self.engine).await;
        let verdict = self.judge(asked, &answered);
        match &verdict {
            Verdict::Passed if asked.expect == Expect::Success => self.taint.clear(asked.sql),
            Verdict::Passed | Verdict::Ignored(_) => {}
            Verdict::Failed => self.taint.add(asked.sql, "failure"),
            Verdict::Unsupported(reason) => {
                let root = reason.strip_prefix(TAINTED).unwrap_or(reason);
                self.taint.add(asked.sql, root);
            }
        }
        let failure = (verdict == Verdict::Failed).then(|| Failure {
            place: place.to_owned(),
            sql: asked.sql.to_owned(),
            expected: asked.expected(),
            found: asked.shown(&answered, self.dialect),
            found_off: None,
            differs_from_suite: true,
            differs_from_off: false,
        });
        Outcome { is_query: false, failure, ..outcome(verdict) }
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
        let is_query = asked.lines.is_some();
        let kept = kept.filter(|_| is_query && self.mode == Mode::Force);
        let done = Outcome { is_query, units_drive, units_cpu, kept, ..outcome(verdict) };
        let concerns_drive =
            units_drive + units_cpu > 0 || done.verdict != Verdict::Passed || answered.is_err();
        let (off, answered_off) = match self.mode {
            Mode::Force if concerns_drive => self.compare_with_off(asked, &answered).await?,
            Mode::Force | Mode::Off => (Off::NotAsked, None),
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

    async fn compare_with_off(
        &self,
        asked: Asked<'_>,
        forced: &Answered,
    ) -> Result<(Off, Option<Answered>)> {
        let off = self.ask_off(asked.sql).await?;
        if self.is_same(asked, forced, &off) {
            return Ok((Off::Same, Some(off)));
        }
        let (forced_again, off_again) = (self.ask(asked.sql).await, self.ask_off(asked.sql).await?);
        let is_stable =
            self.is_same(asked, forced, &forced_again) && self.is_same(asked, &off, &off_again);
        let is_open = !is_stable || self.leaves_rows_open(asked.sql, forced, &off).await?;
        Ok((if is_open { Off::Unstable } else { Off::Differs }, Some(off)))
    }

    /// Whether the query ends with a LIMIT, gives the same rows both ways without it, and both
    /// answers are as many of those: which ones, it does not say.
    async fn leaves_rows_open(&self, sql: &str, forced: &Answered, off: &Answered) -> Result<bool> {
        let (Some(whole), Ok(forced), Ok(off)) = (without_limit(sql), forced, off) else {
            return Ok(false);
        };
        let (Ok(forced_whole), Ok(off_whole)) = (self.ask(whole).await, self.ask_off(whole).await?)
        else {
            return Ok(false);
        };
        let all = sorted(&forced_whole);
        Ok(all == sorted(&off_whole)
            && forced.rows.len() == off.rows.len()
            && has_all(&all, &sorted(forced))
            && has_all(&all, &sorted(off)))
    }

    fn is_same(&self, asked: Asked<'_>, one: &Answered, other: &Answered) -> bool {
        match (one, other) {
            (Ok(one_answer), Ok(other_answer)) => {
                let has_order = asked.has_order() && asked.lines.is_some();
                sorted(one_answer) == sorted(other_answer)
                    && (!has_order || self.judge(asked, one) == self.judge(asked, other))
            }
            (Err(_), Err(_)) => true,
            (Ok(_), Err(_)) | (Err(_), Ok(_)) => false,
        }
    }

    async fn ask_off(&self, sql: &str) -> Result<Answered> {
        const KEY: &str = "nearscan.pushdown.mode";
        self.engine.set(KEY, Mode::Off.name()).await?;
        let answered = self.ask(sql).await;
        self.engine.set(KEY, Mode::Force.name()).await?;
        Ok(answered)
    }

    /// Runs one or several statements; the rows are those of the last.
    async fn ask(&self, sql: &str) -> Answered {
        let mut answer = Answer::default();
        for statement in self.engine.statements(sql) {
            let run = async {
                let query = self.engine.run(statement?).await?;
                let schema = query.schema();
                let result = query.collect().await?;
                let pushdown = result.profile.pushdown();
                let mut answer = Answer {
                    rows: Vec::new(),
                    columns: schema.fields().len(),
                    units_drive: pushdown.units_drive,
                    units_cpu: pushdown.units_cpu,
                    kept: (pushdown.units_drive == 0).then(|| kept(&result.profile.decisions)),
                };
                for batch in &result.batches {
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
        let tainted = self.taint.concerns(asked.sql).map(|reason| {
            let root = reason.strip_prefix(TAINTED).unwrap_or(reason);
            Verdict::Unsupported(format!("{TAINTED}{root}"))
        });
        let differs = || tainted.clone().unwrap_or(Verdict::Failed);
        let answer = match (answered, asked.expect) {
            (Err(Refusal::Panic(_)), _) => return Verdict::Failed,
            (_, Expect::Anything) | (Err(_), Expect::Refusal) => return Verdict::Passed,
            (Ok(_), Expect::Refusal) if READS.contains(&first_word(asked.sql).as_str()) => {
                return differs();
            }
            (Ok(_), Expect::Refusal) => return Verdict::Unsupported(NOT_REFUSED.to_owned()),
            (Err(Refusal::ColumnType(_)), Expect::Success) => {
                return Verdict::Unsupported("type without a text".to_owned());
            }
            (Err(Refusal::Engine(error)), Expect::Success) => {
                let reason = || reason::of(asked.sql, error).map(Verdict::Unsupported);
                return tainted.or_else(reason).unwrap_or(Verdict::Failed);
            }
            (Ok(answer), Expect::Success) => answer,
        };
        let Some(lines) = asked.lines else { return Verdict::Passed };
        match asked.found(answer, self.dialect).compare(lines) {
            expected::Verdict::Same => Verdict::Passed,
            expected::Verdict::OtherOrder if !asked.has_order() => {
                Verdict::Unsupported("order that the query leaves open".to_owned())
            }
            expected::Verdict::OtherOrder | expected::Verdict::Differs => differs(),
            expected::Verdict::Unreadable => Verdict::Unsupported("pattern in a result".to_owned()),
        }
    }
}

/// What a suite refuses and the engine does not: a duplicate key, a wrong type.
const NOT_REFUSED: &str = "refusal that the engine does not have";

/// What depends on a statement that could not be run, in front of why that was.
const TAINTED: &str = "after: ";

impl<'a> Asked<'a> {
    fn has_order(&self) -> bool {
        self.sql.split_ascii_whitespace().any(|word| word.eq_ignore_ascii_case("order"))
    }

    fn found(&self, answer: &'a Answer, dialect: Dialect) -> Found<'a> {
        let (letters, sort) = (self.letters, self.sort);
        Found { rows: &answer.rows, columns: answer.columns, letters, sort, dialect }
    }

    fn expected(&self) -> String {
        let text = match (self.expect, self.lines) {
            (Expect::Refusal, _) => "an error".to_owned(),
            (_, Some(lines)) => lines.join("\n"),
            (_, None) => "success".to_owned(),
        };
        shortened(text)
    }

    fn shown(&self, answered: &Answered, dialect: Dialect) -> String {
        shortened(match answered {
            Ok(answer) => {
                let found = Found {
                    rows: &answer.rows,
                    columns: answer.columns,
                    ..self.found(answer, dialect)
                };
                found.lines().join("\n")
            }
            Err(Refusal::Engine(error)) => error.render(),
            Err(Refusal::ColumnType(message)) => message.clone(),
            Err(Refusal::Panic(message)) => format!("panicked: {message}"),
        })
    }
}

/// Where NULL stands for the engine of a dialect, where it is not where it stands for this one.
fn null_order(dialect: Dialect) -> Option<&'static str> {
    match dialect {
        Dialect::Sqlite => Some("nulls_min"),
        Dialect::Duckdb => Some("nulls_last"),
        Dialect::Datafusion => None,
    }
}

/// The same, as a statement of DuckDB's sets it.
fn null_order_of(sql: &str) -> Option<&'static str> {
    let text = sql.to_ascii_lowercase().replace(['_', '\'', '='], " ");
    let words: Vec<&str> = text.split_whitespace().collect();
    match words.as_slice() {
        ["set" | "pragma", "default", "null", "order", rest @ ..] => match rest {
            ["nulls", "first", ..] | ["to", "nulls", "first", ..] => Some("nulls_first"),
            ["nulls", "last", ..] | ["to", "nulls", "last", ..] => Some("nulls_last"),
            ["sqlite" | "nulls", ..] => Some("nulls_min"),
            ["postgres", ..] => Some("nulls_max"),
            _ => None,
        },
        _ => None,
    }
}

/// Whether a statement makes a table of files whose folder is not there. The engine takes it for a
/// table without rows, the suite does not.
fn names_missing_folder(sql: &str) -> bool {
    let location = sql.to_ascii_uppercase().find("LOCATION '").map(|at| at + "LOCATION '".len());
    let path = location.and_then(|at| sql.get(at..)?.split_once('\''));
    let Some((path, _)) = path else { return false };
    let path = Path::new(path.strip_prefix("file://").unwrap_or(path));
    let exists = |path: &Path| path.as_os_str().is_empty() || path.exists();
    !path.to_string_lossy().contains("://") && !exists(path) && !path.parent().is_some_and(exists)
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

/// Why no unit ran on the drive: the reason of the first scan that was kept.
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

/// The rows as texts, sorted; sums of floating-point numbers may be added in any order.
fn sorted(answer: &Answer) -> Vec<Vec<String>> {
    let text = |value: &Value| match value.kind {
        Kind::Float(number) => render::double(number),
        Kind::Null | Kind::Boolean | Kind::Exact | Kind::Text | Kind::Moment | Kind::Other => {
            value.text.clone()
        }
    };
    let mut rows: Vec<Vec<String>> =
        answer.rows.iter().map(|row| row.iter().map(text).collect()).collect();
    rows.sort();
    rows
}

/// Whether every one of `some` is among `all`, as often; both are sorted.
fn has_all(all: &[Vec<String>], some: &[Vec<String>]) -> bool {
    let mut all = all.iter();
    some.iter().all(|row| all.by_ref().any(|other| other == row))
}

/// A query without the LIMIT and OFFSET that it ends with.
fn without_limit(sql: &str) -> Option<&str> {
    let lower = sql.to_ascii_lowercase();
    let at = lower.rfind("limit")?;
    let is_end = lower[at + "limit".len()..]
        .split(|sign: char| !sign.is_ascii_alphanumeric())
        .all(|word| word == "offset" || word.chars().all(|sign| sign.is_ascii_digit()));
    is_end.then(|| &sql[..at])
}

/// The first word of a statement, in small letters, without comments and parentheses around it.
fn first_word(sql: &str) -> String {
    let mut text = sql.trim_start();
    loop {
        if let Some(rest) = text.strip_prefix("--") {
            text = rest.split_once('\n').map_or("", |(_, rest)| rest).trim_start();
        } else if let Some(rest) = text.strip_prefix("/*") {
            text = rest.split_once("*/").map_or("", |(_, rest)| rest).trim_start();
        } else if let Some(rest) = text.strip_prefix('(') {
            text = rest.trim_start();
        } else {
            break;
        }
    }
    let end = text.find(|sign: char| !sign.is_ascii_alphabetic()).unwrap_or(text.len());
    text[..end].to_ascii_lowercase()
}

fn shortened(text: String) -> String {
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{} ...", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests;
