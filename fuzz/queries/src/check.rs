// SPDX-License-Identifier: Apache-2.0
//! Runs a query in its configurations, and reports differences of the rows.
//!
//! ```text
//! DuckDB <-- off <-- a way, and another one
//!             ^------ each rewrite, off and that way
//! ```
//!
//! If DuckDB has no answer, the other comparisons still hold. An error of one way only is a
//! difference, but for want of memory where memory is tight. A panic is one, and so is a query that
//! does not end.

use std::{mem, time::Duration};

use nearscan::{Engine, Error, QueryResult};

use crate::{
    cells::{self, Cell, Kind, Row},
    generator::{Answer, Query},
    settings::Way,
    tally::Tally,
};

/// Time after which a query counts as hung.
const PATIENCE: Duration = Duration::from_secs(120);

/// A query that gave other rows than it should, in one way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Difference {
    /// Name of the way, and of what it was held against.
    pub(crate) way: &'static str,
    pub(crate) against: Against,
    /// In what it differs, or the error.
    pub(crate) text: String,
}

/// The rows that others are compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Against {
    /// Those of DuckDB.
    Duckdb,
    /// Those of the same query without a drive.
    Off,
    /// Those of the query of which this is the rewrite of that number.
    Original(usize),
}

/// The outcome of one query.
#[derive(Debug, Default)]
pub(crate) struct Checked {
    pub(crate) differences: Vec<Difference>,
    pub(crate) tally: Tally,
    /// Rows and operators of the run without a drive, if it gave rows.
    pub(crate) size: Option<Size>,
    /// Runs that failed as the one without a drive did, and those for which memory was too tight.
    pub(crate) failed_alike: u64,
    pub(crate) out_of_memory: u64,
}

/// The size of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) rows: u64,
    pub(crate) operators: u64,
}

/// An engine in one configuration.
#[derive(Clone, Copy)]
pub(crate) struct Run<'a> {
    pub(crate) way: &'static Way,
    pub(crate) engine: &'a Engine,
}

/// The reason why a run returned no rows.
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

    /// Whether a run in this way may end so.
    fn is_allowed(&self, way: &Way) -> bool {
        let is_for_memory = |error: &Error| matches!(error, Error::Memory(_));
        matches!(self, Self::Error(error) if way.is_tight() && is_for_memory(error))
    }

    /// Whether it is an error for the same cause.
    fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Error(one), Self::Error(other)) => {
                mem::discriminant(&**one) == mem::discriminant(&**other)
            }
            (Self::Error(_) | Self::Broken(_), _) => false,
        }
    }
}

/// The outcome of a run.
pub(crate) type Outcome = Result<QueryResult, Failed>;

/// The rows of a run.
pub(crate) struct Rows {
    rows: Vec<Row>,
    types: String,
}

/// Runs `sql`, in its own task.
pub(crate) async fn execute(engine: &Engine, sql: &str) -> Outcome {
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

/// In what a run differs from the one without a drive.
pub(crate) fn against_off(
    way: &Way,
    run: &Outcome,
    off: &Outcome,
    is_ordered: bool,
) -> Option<String> {
    match (run, off) {
        (Ok(result), Ok(off)) => same_query(result, off, is_ordered),
        (Err(failed), _) if failed.is_allowed(way) => None,
        (Err(failed), Err(off)) if failed.is_like(off) => None,
        (Err(failed), Ok(_)) => Some(failed.text()),
        (Err(failed), Err(off)) => Some(format!("{}\ninstead of {}", failed.text(), off.text())),
        (Ok(_), Err(off)) => Some(format!("rows instead of {}", off.text())),
    }
}

/// In what the rows of two runs of one query differ.
fn same_query(result: &QueryResult, off: &QueryResult, is_ordered: bool) -> Option<String> {
    match (read(result, &[]), read(off, &[])) {
        (Ok(found), Ok(off)) if found.types != off.types => {
            Some(format!("columns of types {} instead of {}", found.types, off.types))
        }
        (Ok(found), Ok(off)) => cells::difference(off.rows, found.rows, is_ordered),
        (Err(failed), _) | (_, Err(failed)) => Some(failed.text()),
    }
}

/// In what a run of a rewrite differs from the original. Sums of sums have other types; the rows
/// have no order in either.
pub(crate) fn against_original(way: &Way, run: &Outcome, original: &QueryResult) -> Option<String> {
    let result = match run {
        Ok(result) => result,
        Err(failed) => return (!failed.is_allowed(way)).then(|| failed.text()),
    };
    match (read(result, &[]), read(original, &[])) {
        (Ok(found), Ok(original)) => cells::difference(original.rows, found.rows, false),
        (Err(failed), _) | (_, Err(failed)) => Some(failed.text()),
    }
}

/// Runs a query all ways.
pub(crate) async fn check(query: &Query, off: Run<'_>, others: &[Run<'_>]) -> Checked {
    let mut checked = Checked::default();
    let reference = execute(off.engine, &query.sql).await;
    checked.count(off.way, &reference);
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
        checked.count(run.way, &result);
        let difference = against_off(run.way, &result, &reference, query.is_ordered);
        if let (Err(failed), Err(off)) = (&result, &reference) {
            checked.failed_alike += u64::from(failed.is_like(off));
        }
        checked.differ(run.way, Against::Off, difference);
    }
    if let Ok(original) = &reference {
        for (index, sql) in query.same_as.iter().enumerate() {
            for run in std::iter::once(&off).chain(others) {
                let result = execute(run.engine, sql).await;
                checked.count(run.way, &result);
                let difference = against_original(run.way, &result, original);
                checked.differ(run.way, Against::Original(index), difference);
            }
        }
    }
    checked
}

impl Checked {
    fn count(&mut self, way: &Way, run: &Outcome) {
        self.tally.count(way.name, run.as_ref().ok());
        let is_allowed = run.as_ref().is_err_and(|failed| failed.is_allowed(way));
        self.out_of_memory += u64::from(is_allowed);
    }

    fn differ(&mut self, way: &'static Way, against: Against, difference: Option<String>) {
        let way = way.name;
        self.differences.extend(difference.map(|text| Difference { way, against, text }));
    }
}

#[cfg(test)]
mod tests {
    use nearscan::datafusion::error::DataFusionError;
    use rstest::rstest;

    use super::*;
    use crate::settings::{OFF, WAYS};

    fn error(error: Error) -> Outcome {
        Err(Failed::Error(Box::new(error)))
    }

    fn exists() -> Outcome {
        error(Error::TableExists { name: "t".to_owned() })
    }

    fn taken() -> Outcome {
        error(Error::DriveNameTaken { name: "t".to_owned() })
    }

    fn broken() -> Outcome {
        Err(Failed::Broken("panicked: x".to_owned()))
    }

    #[rstest]
    #[case::alike(exists(), exists(), None)]
    #[case::another_cause(exists(), taken(), Some("instead of error: two drives are named 't'"))]
    #[case::a_panic_is_like_no_error(broken(), exists(), Some("panicked: x"))]
    #[case::a_panic_is_like_no_panic(broken(), broken(), Some("panicked: x"))]
    #[case::no_error(exists(), broken(), Some("instead of panicked: x"))]
    fn errors_are_alike_for_the_same_cause(
        #[case] run: Outcome,
        #[case] off: Outcome,
        #[case] expected: Option<&str>,
    ) {
        let found = against_off(&WAYS[0], &run, &off, false);
        assert_eq!(found.is_some(), expected.is_some(), "{found:?}");
        assert!(found.unwrap_or_default().contains(expected.unwrap_or_default()));
    }

    /// Runs `SELECT 1` in one way.
    async fn one(way: &Way) -> Outcome {
        let engine = way.engine(std::path::Path::new("."), [], 1).await.unwrap();
        execute(&engine, "SELECT 1").await
    }

    #[tokio::test]
    async fn error_of_one_run_only_is_a_difference_but_for_memory_where_it_is_tight() {
        let rows = one(&OFF).await;
        assert_eq!(against_off(&WAYS[0], &rows, &rows, false), None);
        assert!(against_off(&WAYS[0], &exists(), &rows, false).is_some());
        let found = against_off(&WAYS[0], &rows, &exists(), false).unwrap();
        assert!(found.starts_with("rows instead of error: table 't' already exists"), "{found}");
        let none_left = DataFusionError::ResourcesExhausted("all of it is taken".to_owned());
        let short = error(Error::Memory(Box::new(none_left)));
        let tight = WAYS.iter().find(|way| way.is_tight()).unwrap();
        assert_eq!(against_off(tight, &short, &rows, false), None);
        assert!(against_off(&WAYS[0], &short, &rows, false).is_some());
    }
}
