// SPDX-License-Identifier: Apache-2.0
//! Runs a query every way that it gets, and says where the rows differ.
//!
//! ```text
//! DuckDB <-- off <-- a way, and another one
//!             ^------ each rewrite, off and that way
//! ```
//!
//! Where DuckDB has no answer, the other comparisons still hold. An error of one way only is a
//! difference, but for want of memory where memory is tight. A panic is one, and so is a query that
//! does not end.

use std::{collections::BTreeMap, time::Duration};

use nearscan::{Engine, Error, QueryResult};

use crate::{
    cells::{self, Cell, Kind, Row},
    generator::{Answer, Query},
    settings::Way,
};

/// Time after which a query counts as hung.
const PATIENCE: Duration = Duration::from_secs(120);

/// Where a query gave other rows than it should.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Difference {
    /// Name of the way, and of what it was held against.
    pub(crate) way: &'static str,
    pub(crate) against: Against,
    /// In what it differs, or the error.
    pub(crate) text: String,
}

/// What rows are held against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Against {
    /// Those of DuckDB.
    Duckdb,
    /// Those of the same query without a drive.
    Off,
    /// Those of the query of which this is the rewrite of that number.
    Original(usize),
}

/// What became of one query.
#[derive(Debug, Default)]
pub(crate) struct Checked {
    pub(crate) differences: Vec<Difference>,
    /// Runs by the name of the way, rewrites among them.
    pub(crate) runs: BTreeMap<&'static str, u64>,
    pub(crate) units_drive: u64,
    pub(crate) units_cpu: u64,
    /// Rows and operators of the run without a drive, if it gave rows.
    pub(crate) size: Option<Size>,
    /// Queries that failed alike in all ways, and runs for which memory was too tight.
    pub(crate) failed_alike: u64,
    pub(crate) out_of_memory: u64,
}

/// How large a query is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) rows: u64,
    pub(crate) operators: u64,
}

/// An engine with the way it stands for.
#[derive(Clone, Copy)]
pub(crate) struct Run<'a> {
    pub(crate) way: &'static Way,
    pub(crate) engine: &'a Engine,
}

/// Why a run gave no rows.
#[derive(Debug)]
pub(crate) enum Failed {
    /// The engine says so.
    Error(Box<Error>),
    /// It panicked, or did not end.
    Broken(String),
}

impl Failed {
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Error(error) => error.render(),
            Self::Broken(text) => text.clone(),
        }
    }

    fn is_for_memory(&self) -> bool {
        matches!(self, Self::Error(error) if matches!(**error, Error::Memory(_)))
    }
}

/// The rows of a run.
pub(crate) struct Rows {
    rows: Vec<Row>,
    types: String,
}

/// Runs `sql`, in a task of its own.
pub(crate) async fn execute(engine: &Engine, sql: &str) -> Result<QueryResult, Failed> {
    let (engine, sql) = (engine.clone(), sql.to_owned());
    let task = tokio::spawn(async move { engine.sql(&sql).await?.collect().await });
    let abort = task.abort_handle();
    match tokio::time::timeout(PATIENCE, task).await {
        Ok(Ok(result)) => result.map_err(|error| Failed::Error(Box::new(error))),
        Ok(Err(panic)) => Err(Failed::Broken(format!("panicked: {panic}"))),
        Err(_) => {
            abort.abort();
            Err(Failed::Broken(format!("no end after {PATIENCE:?}")))
        }
    }
}

/// Rows in the form that is compared.
pub(crate) fn read(result: &QueryResult, kinds: &[Kind]) -> Result<Rows, Failed> {
    let types = result.schema.fields().iter().map(|field| field.data_type().to_string());
    let types = types.collect::<Vec<_>>().join(", ");
    let rows = cells::rows(&result.batches, kinds);
    let rows = rows.map_err(|error| Failed::Broken(format!("rows cannot be shown: {error}")))?;
    Ok(Rows { rows, types })
}

/// In what the rows of a run differ from those of DuckDB.
pub(crate) fn against_duckdb(
    result: &QueryResult,
    answer: &Answer,
    is_ordered: bool,
) -> Option<String> {
    let expected = answer.rows.as_ref()?;
    if result.schema.fields().len() != answer.kinds.len() {
        return Some("another number of columns".to_owned());
    }
    let cell = |(kind, text): (&Kind, &Option<String>)| Cell::expected(*kind, text.as_deref());
    let expected =
        expected.iter().map(|row| answer.kinds.iter().zip(row).map(cell).collect()).collect();
    match read(result, &answer.kinds) {
        Ok(found) => cells::difference(expected, found.rows, is_ordered),
        Err(failed) => Some(failed.text()),
    }
}

/// In what one run differs from another of the same query.
pub(crate) fn against_off(
    result: &QueryResult,
    off: &QueryResult,
    is_ordered: bool,
) -> Option<String> {
    match (read(result, &[]), read(off, &[])) {
        (Ok(found), Ok(off)) if found.types != off.types => {
            Some(format!("columns of types {} instead of {}", found.types, off.types))
        }
        (Ok(found), Ok(off)) => cells::difference(off.rows, found.rows, is_ordered),
        (Err(failed), _) | (_, Err(failed)) => Some(failed.text()),
    }
}

/// In what a rewrite differs from the original. Sums of sums have other types; the rows have no
/// order in either.
pub(crate) fn against_original(result: &QueryResult, original: &QueryResult) -> Option<String> {
    match (read(result, &[]), read(original, &[])) {
        (Ok(found), Ok(original)) => cells::difference(original.rows, found.rows, false),
        (Err(failed), _) | (_, Err(failed)) => Some(failed.text()),
    }
}

/// Runs a query all ways.
pub(crate) async fn check(query: &Query, off: Run<'_>, others: &[Run<'_>]) -> Checked {
    let mut checked = Checked::default();
    let reference = execute(off.engine, &query.sql).await;
    checked.count(off.way, reference.as_ref().ok());
    let answer = match (&query.kinds, &query.rows) {
        (Some(kinds), Some(rows)) => {
            Some(Answer { kinds: kinds.clone(), rows: Some(rows.clone()) })
        }
        _ => None,
    };
    match (&reference, &answer) {
        (Ok(result), Some(answer)) => {
            let difference = against_duckdb(result, answer, query.is_ordered);
            checked.differ(off.way, Against::Duckdb, difference);
        }
        (Err(failed), Some(_)) => {
            checked.differ(off.way, Against::Duckdb, Some(failed.text()));
        }
        (Err(Failed::Broken(text)), None) => {
            checked.differ(off.way, Against::Duckdb, Some(text.clone()));
        }
        _ => {}
    }
    if let Ok(result) = &reference {
        let mut operators = 0;
        result.profile.root.visit(&mut |_| operators += 1);
        checked.size = Some(Size { rows: result.profile.rows, operators });
    }
    for run in others {
        let result = execute(run.engine, &query.sql).await;
        checked.count(run.way, result.as_ref().ok());
        checked.compare(*run, result, &reference, query.is_ordered);
    }
    if let Ok(original) = &reference {
        for (index, sql) in query.same_as.iter().enumerate() {
            for run in std::iter::once(&off).chain(others) {
                let result = execute(run.engine, sql).await;
                checked.count(run.way, result.as_ref().ok());
                let difference = match result {
                    Ok(result) => against_original(&result, original),
                    Err(failed) if run.way.is_tight() && failed.is_for_memory() => {
                        checked.out_of_memory += 1;
                        None
                    }
                    Err(failed) => Some(failed.text()),
                };
                checked.differ(run.way, Against::Original(index), difference);
            }
        }
    }
    checked
}

impl Checked {
    fn count(&mut self, way: &Way, result: Option<&QueryResult>) {
        *self.runs.entry(way.name).or_default() += 1;
        if let Some(result) = result {
            let pushdown = result.profile.pushdown();
            self.units_drive += pushdown.units_drive;
            self.units_cpu += pushdown.units_cpu;
        }
    }

    fn differ(&mut self, way: &'static Way, against: Against, difference: Option<String>) {
        let way = way.name;
        self.differences.extend(difference.map(|text| Difference { way, against, text }));
    }

    fn compare(
        &mut self,
        run: Run<'_>,
        result: Result<QueryResult, Failed>,
        reference: &Result<QueryResult, Failed>,
        is_ordered: bool,
    ) {
        let difference = match (result, reference) {
            (Ok(result), Ok(off)) => against_off(&result, off, is_ordered),
            (Err(failed), _) if run.way.is_tight() && failed.is_for_memory() => {
                self.out_of_memory += 1;
                None
            }
            (Err(Failed::Error(_)), Err(Failed::Error(_))) => {
                self.failed_alike += 1;
                None
            }
            (Err(failed), _) => Some(failed.text()),
            (Ok(_), Err(failed)) => Some(format!("rows instead of {}", failed.text())),
        };
        self.differ(run.way, Against::Off, difference);
    }
}
