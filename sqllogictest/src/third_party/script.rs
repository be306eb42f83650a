// SPDX-License-Identifier: Apache-2.0
//! Reads a file of any of the three dialects into the records to run, in their order: loops are
//! written out, other files are included, and what a condition leaves out is left out with the
//! reason.
//!
//! Reading cannot fail. A line that means nothing here is a record that is unsupported.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::directive::{self, Dialect, Directive, Expect, Sort};

/// Records of a file, loops written out; a file with more is cut off there, with the reason.
const RECORDS_MAX: usize = 200_000;

/// Files that include each other, and loops within loops.
const DEPTH_MAX: usize = 16;

/// Names of engines in conditions that mean this one.
const OUR_NAMES: &[&str] = &["nearscan", "datafusion"];

/// Between a query and its result.
const SEPARATOR: &str = "----";

/// A record to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// File and line, `select1.test:12`.
    pub place: String,
    /// What to do.
    pub action: Action,
}

/// What a record asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// To run a statement.
    Statement {
        /// The statement, or several.
        sql: String,
        /// What it should do.
        expect: Expect,
    },
    /// To compare the result of a query.
    Query {
        /// The query.
        sql: String,
        /// One letter a column.
        letters: String,
        /// How rows are compared.
        sort: Sort,
        /// The lines of the result, where the file has one.
        lines: Option<Vec<String>>,
    },
    /// Nothing that could be done.
    Unsupported {
        /// In few words.
        reason: String,
    },
}

/// A line of a file, with its number.
type Line = (usize, String);

/// Where reading stands.
struct Reader {
    dialect: Dialect,
    records: Vec<Record>,
    /// Variables of the loops around, with their values.
    variables: Vec<(String, String)>,
    /// The file is over.
    halted: bool,
    /// Between `mode skip` and `mode unskip`.
    skips: bool,
    /// The database that was loaded.
    database: Option<String>,
    depth: usize,
}

/// Reads the text of a file; `path` is for the names of places and for what it includes.
#[must_use]
pub fn read(text: &str, path: &Path, dialect: Dialect) -> Vec<Record> {
    let mut reader = Reader {
        dialect,
        records: Vec::new(),
        variables: Vec::new(),
        halted: false,
        skips: false,
        database: None,
        depth: 0,
    };
    reader.read(&lines(text), path);
    reader.records
}

fn lines(text: &str) -> Vec<Line> {
    let line = |(index, line): (usize, &str)| (index + 1, line.trim_end().to_owned());
    text.lines().enumerate().map(line).collect()
}

impl Reader {
    fn read(&mut self, lines: &[Line], path: &Path) {
        let mut at = 0;
        // Why the next record is left out, if it is.
        let mut left_out: Option<String> = None;
        while at < lines.len() && !self.halted {
            let (number, line) = &lines[at];
            if line.is_empty() || line.starts_with('#') {
                at += 1;
                continue;
            }
            let place = format!("{}:{number}", file_name(path));
            if self.records.len() >= RECORDS_MAX {
                self.unsupported(&place, "file of too many records".to_owned());
                self.halted = true;
                return;
            }
            at += 1;
            match directive::parse(line) {
                Directive::Condition { only, label } => {
                    if self.is_met(&label) != only {
                        let word = if only { "onlyif" } else { "skipif" };
                        left_out
                            .get_or_insert_with(|| format!("condition {word} {}", subject(&label)));
                    }
                }
                Directive::Statement(expect) => {
                    let (block, next) = self.block(lines, at, expect == Expect::Refusal);
                    at = next;
                    let action = Action::Statement { sql: block.sql, expect };
                    self.push(&place, left_out.take(), action);
                }
                Directive::Query { letters, sort } => {
                    let (block, next) = self.block(lines, at, false);
                    at = next;
                    let Block { sql, lines } = block;
                    let action = Action::Query { sql, letters, sort, lines };
                    self.push(&place, left_out.take(), action);
                }
                Directive::Loop { variable, values } => {
                    let end = end_of_loop(lines, at);
                    self.repeat(&lines[at..end], path, &variable, &values);
                    at = (end + 1).min(lines.len());
                    left_out = None;
                }
                Directive::Skip(skips) => self.skips = skips,
                Directive::Halt => self.halted |= left_out.take().is_none() && !self.skips,
                // The first database is the one there is; of another, nothing is known.
                Directive::Load(name) => {
                    let is_first = self.records.is_empty() || self.database.as_ref() == Some(&name);
                    if !is_first && !self.skips {
                        self.rest_is_unsupported(&lines[at..], &place, "directive load");
                    }
                    self.database = Some(name);
                }
                Directive::Include(name) => self.include(&place, path, &name),
                Directive::EndLoop | Directive::Nothing => {}
                Directive::Unsupported(reason) => {
                    at = end_of_block(lines, at);
                    self.unsupported(&place, left_out.take().unwrap_or(reason));
                }
                Directive::UnsupportedRest(reason) if !self.skips && left_out.is_none() => {
                    self.rest_is_unsupported(&lines[at..], &place, &reason);
                }
                Directive::UnsupportedRest(_) => left_out = None,
            }
        }
    }

    /// Whether the label of a condition is that of this engine, or of the loop's present value.
    fn is_met(&self, label: &str) -> bool {
        match label.split_once('=') {
            Some((name, value)) => {
                self.variables.iter().any(|(other, now)| other == name && now == value)
            }
            None => OUR_NAMES.contains(&label.to_ascii_lowercase().as_str()),
        }
    }

    fn push(&mut self, place: &str, left_out: Option<String>, action: Action) {
        let skipped = self.skips.then(|| "mode skip".to_owned());
        match left_out.or(skipped) {
            Some(reason) => self.unsupported(place, reason),
            None => self.records.push(Record { place: place.to_owned(), action }),
        }
    }

    fn unsupported(&mut self, place: &str, reason: String) {
        let action = Action::Unsupported { reason };
        self.records.push(Record { place: place.to_owned(), action });
    }

    /// Every record from here on, each with the same reason.
    fn rest_is_unsupported(&mut self, lines: &[Line], place: &str, reason: &str) {
        let records = lines.iter().filter(|(_, line)| {
            matches!(directive::parse(line), Directive::Statement(_) | Directive::Query { .. })
        });
        let (file, _) = place.rsplit_once(':').unwrap_or((place, ""));
        for (number, _) in records {
            self.unsupported(&format!("{file}:{number}"), reason.to_owned());
        }
        self.halted = true;
    }

    /// Runs the lines of a loop once a value.
    fn repeat(&mut self, lines: &[Line], path: &Path, variable: &str, values: &[String]) {
        if self.depth >= DEPTH_MAX {
            return;
        }
        self.depth += 1;
        for value in values {
            let sign = format!("${{{variable}}}");
            let written = |(number, line): &Line| (*number, line.replace(&sign, value));
            let lines: Vec<Line> = lines.iter().map(written).collect();
            self.variables.push((variable.to_owned(), value.clone()));
            self.read(&lines, path);
            self.variables.pop();
        }
        self.depth -= 1;
    }

    fn include(&mut self, place: &str, path: &Path, name: &str) {
        let files = included(path, name);
        if files.is_empty() || self.depth >= DEPTH_MAX {
            self.unsupported(place, "directive include".to_owned());
            return;
        }
        self.depth += 1;
        for file in files {
            if let Ok(text) = fs::read_to_string(&file) {
                self.read(&lines(&text), &file);
            }
        }
        self.depth -= 1;
    }

    /// The SQL from line `at` on and the result below it, and where the next record starts.
    fn block(&self, lines: &[Line], at: usize, is_message: bool) -> (Block, usize) {
        let end = end_of_block(lines, at);
        let text = |lines: &[Line]| -> Vec<String> {
            lines.iter().map(|(_, line)| line.clone()).collect()
        };
        let separator = lines[at..end].iter().position(|(_, line)| line == SEPARATOR);
        let Some(separator) = separator else {
            return (Block { sql: text(&lines[at..end]).join("\n"), lines: None }, end);
        };
        let sql = text(&lines[at..at + separator]).join("\n");
        let result = at + separator + 1;
        // A message may have paragraphs, and then two empty lines end it.
        let end = match is_message && self.dialect == Dialect::Datafusion {
            true => (end..lines.len())
                .find(|line| {
                    lines[*line].1.is_empty()
                        && lines.get(line + 1).is_none_or(|(_, next)| next.is_empty())
                })
                .unwrap_or(lines.len()),
            false => end,
        };
        (Block { sql, lines: Some(text(&lines[result..end])) }, end)
    }
}

/// The lines of a record below its first.
struct Block {
    sql: String,
    lines: Option<Vec<String>>,
}

/// The next empty line, or the end.
fn end_of_block(lines: &[Line], at: usize) -> usize {
    let rest = lines[at..].iter().position(|(_, line)| line.is_empty());
    rest.map_or(lines.len(), |rest| at + rest)
}

/// The line of the `endloop` that belongs to a loop whose first line is `at`.
fn end_of_loop(lines: &[Line], at: usize) -> usize {
    let mut depth = 0_usize;
    for (index, (_, line)) in lines.iter().enumerate().skip(at) {
        match line.split_whitespace().next() {
            Some("loop" | "foreach" | "concurrentloop" | "concurrentforeach") => depth += 1,
            Some("endloop") if depth == 0 => return index,
            Some("endloop") => depth -= 1,
            _ => {}
        }
    }
    lines.len()
}

/// The files that are meant by the name in an `include`, which may have one `*`.
fn included(path: &Path, name: &str) -> Vec<PathBuf> {
    let wanted = path.parent().unwrap_or_else(|| Path::new(".")).join(name);
    if wanted.is_file() {
        return vec![wanted];
    }
    let (Some(folder), Some((start, end))) = (wanted.parent(), file_name(&wanted).split_once('*'))
    else {
        return Vec::new();
    };
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file_name(file).starts_with(start) && file_name(file).ends_with(end));
    files.sort();
    files
}

fn file_name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

/// What a condition is about: an engine, or a variable.
fn subject(label: &str) -> &str {
    label.split_once('=').map_or(label, |(name, _)| name)
}

#[cfg(test)]
mod tests;
