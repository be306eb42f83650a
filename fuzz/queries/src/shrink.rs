// SPDX-License-Identifier: Apache-2.0
//! Shrinks a difference: it removes first rows and columns of the files, then parts of the query,
//! as long as the same two runs still differ.
//!
//! A rewrite is a pair of queries, so of these only the files get smaller. A query that does not
//! end takes long each time, so there is a bound of time too.

mod sql;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    time::Duration,
};

use anyhow::{Context, Result};
use nearscan_drive::clock::Stopwatch;

use crate::{
    check::{
        Against, Difference, Failed, Outcome, against_duckdb, against_off, against_original,
        execute,
    },
    generator::{Answer, Cut, Generator, Place, Query, Range64, Table},
    settings::{OFF, WAYS, Way},
};

/// Tries for the files, and for the query.
const TRIES_MAX: u32 = 150;

/// Time for both; none is begun after it.
const TIME_MAX: Duration = Duration::from_secs(300);

/// A difference, and where it was found.
pub(crate) struct Case<'a> {
    pub(crate) place: Place,
    pub(crate) tables: &'a BTreeMap<String, Table>,
    pub(crate) query: &'a Query,
    pub(crate) difference: &'a Difference,
}

/// A case that is being made smaller.
struct Shrinking<'a> {
    generator: &'a mut Generator,
    case: &'a Case<'a>,
    way: &'static Way,
    folder: &'a Path,
    tables: BTreeMap<String, Cut>,
    sql: String,
    bounds: Bounds,
}

/// The bounds of further tries.
struct Bounds {
    tries: u32,
    watch: Stopwatch,
    time_max: Duration,
}

impl Bounds {
    fn new(time_max: Duration) -> Self {
        Self { tries: 0, watch: Stopwatch::start(), time_max }
    }

    fn is_left(&self) -> bool {
        self.tries < TRIES_MAX && self.watch.elapsed() < self.time_max
    }
}

/// Leaves the smallest files and query that differ in `folder`, and says what they are.
pub(crate) async fn shrink(
    generator: &mut Generator,
    case: &Case<'_>,
    folder: &Path,
) -> Result<String> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut ways = WAYS.iter().chain([&OFF]);
    let way = ways.find(|way| way.name == case.difference.way).unwrap_or(&OFF);
    let whole =
        |table: &Table| Cut { rows: vec![Range64(0..table.rows)], columns: table.columns.clone() };
    let tables = case.tables.iter().map(|(name, table)| (name.clone(), whole(table))).collect();
    let sql = case.query.sql.clone();
    let bounds = Bounds::new(TIME_MAX);
    let mut shrinking = Shrinking { generator, case, way, folder, tables, sql, bounds };
    let Some(mut last) = shrinking.difference_of_files().await? else {
        return Ok("It does not differ again.\n".to_owned());
    };
    if let Some(text) = shrinking.rows().await? {
        last = text;
    }
    shrinking.bounds.tries = 0;
    if let Some(text) = shrinking.query().await? {
        last = text;
    }
    shrinking.columns().await?;
    // The files of a last try that failed may be there.
    if let Some(text) = shrinking.difference_of_files().await? {
        last = text;
    }
    let Shrinking { sql, tables, .. } = &shrinking;
    std::fs::write(folder.join("query.sql"), sql).context("cannot write the query")?;
    let mut report = format!("smallest:\n{sql}\n{last}\nfiles in {}:\n", folder.display());
    for (name, cut) in tables {
        let rows: u64 = cut.rows.iter().map(|range| range.0.end - range.0.start).sum();
        let about = case.tables.get(name).map_or("", |table| &table.about);
        report.push_str(&format!("  {name}: {rows} rows of {about}\n"));
    }
    Ok(report)
}

impl Shrinking<'_> {
    /// Leaves rows out.
    async fn rows(&mut self) -> Result<Option<String>> {
        let mut last = None;
        let names: Vec<String> = self.tables.keys().cloned().collect();
        for name in &names {
            let rows = self.case.tables.get(name).map_or(0, |table| table.rows);
            let mut size = rows;
            while size > 0 && self.bounds.is_left() {
                let mut start = 0;
                while start < rows && self.bounds.is_left() {
                    let before = self.tables.clone();
                    if self.remove(name, start..start + size) {
                        match self.difference_of_files().await? {
                            Some(text) => last = Some(text),
                            None => self.tables = before,
                        }
                    }
                    start += size;
                }
                size /= 2;
            }
        }
        Ok(last)
    }

    /// Removes rows from a table; whether there were any.
    fn remove(&mut self, name: &str, gone: std::ops::Range<u64>) -> bool {
        let Some(cut) = self.tables.get_mut(name) else { return false };
        let before = cut.rows.clone();
        let parts = before.iter().flat_map(|Range64(range)| {
            [range.start..range.end.min(gone.start), range.start.max(gone.end)..range.end]
        });
        cut.rows = parts.filter(|part| part.start < part.end).map(Range64).collect();
        cut.rows != before
    }

    /// Leaves out the columns that the query does not name.
    async fn columns(&mut self) -> Result<()> {
        if !self.bounds.is_left() {
            return Ok(());
        }
        let texts = std::iter::once(&self.sql).chain(&self.case.query.same_as);
        let words = texts.flat_map(|sql| sql.split(|c: char| !c.is_ascii_alphanumeric()));
        let words: BTreeSet<&str> = words.collect();
        let before = self.tables.clone();
        for cut in self.tables.values_mut() {
            cut.columns.retain(|column| column == "id" || words.contains(column.as_str()));
        }
        if self.difference_of_files().await?.is_none() {
            self.tables = before;
        }
        Ok(())
    }

    /// Leaves parts of the query out.
    async fn query(&mut self) -> Result<Option<String>> {
        if matches!(self.case.difference.against, Against::Original(_)) {
            return Ok(None);
        }
        let mut last = None;
        let mut at = 0;
        while self.bounds.is_left() {
            let candidates = sql::smaller(&self.sql);
            let Some(candidate) = candidates.get(at) else { break };
            match self.difference_of(candidate).await? {
                Some(text) => {
                    last = Some(text);
                    self.sql.clone_from(candidate);
                    at = 0;
                }
                None => at += 1,
            }
        }
        Ok(last)
    }

    /// Writes the files as they are cut; in what the query differs over them.
    async fn difference_of_files(&mut self) -> Result<Option<String>> {
        let Self { generator, case, folder, tables, .. } = self;
        tokio::task::block_in_place(|| generator.cut(case.place, folder, tables))?;
        let sql = self.sql.clone();
        self.difference_of(&sql).await
    }

    /// In what a query differs over the files as they are.
    async fn difference_of(&mut self, sql: &str) -> Result<Option<String>> {
        self.bounds.tries += 1;
        let Case { place, query, difference, .. } = self.case;
        let is_ordered = query.is_ordered && sql::is_ordered(sql);
        // Smaller queries often make no sense, then to one of the two only.
        let is_smaller = sql != query.sql;
        let names = self.tables.keys();
        let off = OFF.engine(self.folder, names.clone(), place.batch).await?;
        let tried = self.way.engine(self.folder, names, place.batch).await?;
        let off = execute(&off, sql).await;
        match difference.against {
            Against::Duckdb => match off {
                Err(Failed::Error(_)) if is_smaller => Ok(None),
                off => against_asked(off, is_ordered, || self.generator.ask(sql)),
            },
            Against::Off => Ok(match (execute(&tried, sql).await, off) {
                (Ok(_) | Err(Failed::Error(_)), Err(_)) if is_smaller => None,
                (run, off) => against_off(self.way, &run, &off, is_ordered),
            }),
            Against::Original(index) => {
                let (Some(rewrite), Ok(off)) = (query.same_as.get(index), off) else {
                    return Ok(None);
                };
                Ok(against_original(self.way, &execute(&tried, rewrite).await, &off))
            }
        }
    }
}

/// In what a run without a drive differs from what DuckDB says when it is asked.
fn against_asked(
    off: Outcome,
    is_ordered: bool,
    ask: impl FnOnce() -> Result<Option<Answer>>,
) -> Result<Option<String>> {
    let off = match off {
        // That is wrong, whatever DuckDB says, and it may have nothing to say.
        Err(Failed::Broken(text)) => return Ok(Some(text)),
        off => off,
    };
    let Some(answer) = ask()? else { return Ok(None) };
    Ok(match off {
        Ok(result) => against_duckdb(&result, &answer, is_ordered),
        Err(failed) => Some(failed.text()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panic_differs_without_an_answer_of_duckdb() {
        let broken = || Err(Failed::Broken("panicked: x".to_owned()));
        let nothing = || Ok(None);
        let found = against_asked(broken(), false, nothing).unwrap();
        assert_eq!(found.as_deref(), Some("panicked: x"));
        let error = nearscan::Error::TableExists { name: "t".to_owned() };
        let error = Err(Failed::Error(Box::new(error)));
        assert_eq!(against_asked(error, false, nothing).unwrap(), None);
    }

    #[test]
    fn tries_end_by_number_and_by_time() {
        let mut bounds = Bounds::new(Duration::from_secs(3600));
        assert!(bounds.is_left());
        bounds.tries = TRIES_MAX;
        assert!(!bounds.is_left());
        assert!(!Bounds::new(Duration::ZERO).is_left());
    }
}
