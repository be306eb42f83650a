// SPDX-License-Identifier: Apache-2.0
//! Reads a file of any of the three dialects into the records to run, in their order: loops are
//! written out, other files are included, and what a condition leaves out is left out with the
//! reason.
//!
//! Reading cannot fail, and no record vanishes. A line that means nothing here is a record that is
//! unsupported, and so is every record behind a directive that the rest of a file depends on, in
//! loops and in included files too.

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
    /// The action that it requests.
    pub action: Action,
}

/// The action that a record requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// To run a statement.
    Statement {
        /// The statement, or several.
        sql: String,
        /// The outcome that it should have.
        expect: Expect,
    },
    /// To compare the result of a query.
    Query {
        /// The query.
        sql: String,
        /// One letter a column.
        letters: String,
        /// The order in which rows are compared.
        sort: Sort,
        /// The lines of the result, where the file has one.
        lines: Option<Vec<String>>,
    },
    /// Nothing that could be done.
    Unsupported {
        /// In few words.
        reason: String,
        /// The statement, if the suite's own engine would have run it.
        lost: Option<String>,
    },
}

/// A line of a file, with its number.
type Line = (usize, String);

/// The state of reading a file.
struct Reader<'a> {
    dialect: Dialect,
    /// The folder for the files that statements write.
    scratch: &'a Path,
    records: Vec<Record>,
    /// Variables of the loops around, with their values.
    variables: Vec<(String, String)>,
    /// The file is over.
    halted: bool,
    /// The reason why everything from here on is unsupported, if it is.
    rest: Option<String>,
    /// Between `mode skip` and `mode unskip`.
    skips: bool,
    /// The database that was loaded.
    database: Option<String>,
    depth: usize,
}

/// Reads a file; `path` is for the names of places and for what it includes. The folder in which a
/// suite's files write is replaced by `scratch`.
#[must_use]
pub fn read(bytes: &[u8], path: &Path, dialect: Dialect, scratch: &Path) -> Vec<Record> {
    let mut reader = Reader {
        dialect,
        scratch,
        records: Vec::new(),
        variables: Vec::new(),
        halted: false,
        rest: None,
        skips: false,
        database: None,
        depth: 0,
    };
    reader.read(&reader.lines(bytes), path);
    reader.records
}

impl Reader<'_> {
    /// The lines of a file, which need not be text in all of its bytes.
    fn lines(&self, bytes: &[u8]) -> Vec<Line> {
        let text = String::from_utf8_lossy(bytes);
        let folder = self.scratch.to_string_lossy();
        let signs: &[&str] = match self.dialect {
            Dialect::Datafusion => &["test_files/scratch"],
            Dialect::Duckdb => &["${TEST_DIR}", "{TEST_DIR}", "__TEST_DIR__"],
            Dialect::Sqlite => &[],
        };
        let text = signs.iter().fold(text.into_owned(), |text, sign| text.replace(sign, &folder));
        let line = |(index, line): (usize, &str)| (index + 1, line.trim_end().to_owned());
        text.lines().enumerate().map(line).collect()
    }

    fn read(&mut self, lines: &[Line], path: &Path) {
        let mut at = 0;
        // The reason why the next record, loop or directive is left out, if it is.
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
            let directive = directive::parse(line);
            if let Directive::Condition { only, label } = directive {
                if self.is_met(&label) != Some(only) {
                    let word = if only { "onlyif" } else { "skipif" };
                    left_out.get_or_insert_with(|| format!("condition {word} {}", subject(&label)));
                }
                continue;
            }
            // A condition is about what is behind it, and about nothing else.
            let left_out = left_out.take();
            let is_done = left_out.is_none() && !self.skips;
            match directive {
                Directive::Condition { .. } | Directive::EndLoop | Directive::Nothing => {}
                Directive::Statement(expect) => {
                    let (block, next) = self.block(lines, at, expect == Expect::Refusal);
                    at = next;
                    let action = Action::Statement { sql: block.sql, expect };
                    self.push(&place, left_out, action);
                }
                Directive::Query { letters, sort } => {
                    let (block, next) = self.block(lines, at, false);
                    at = next;
                    let Block { sql, lines } = block;
                    let action = Action::Query { sql, letters, sort, lines };
                    self.push(&place, left_out, action);
                }
                Directive::Loop { variable, values } => {
                    let end = end_of_loop(lines, at);
                    let lines = &lines[at..end];
                    self.without(left_out, |reader| {
                        reader.repeat(&place, lines, path, &variable, &values);
                    });
                    at = end + 1;
                }
                Directive::Include(name) => {
                    self.without(left_out, |reader| reader.include(&place, path, &name));
                }
                Directive::Skip(skips) if left_out.is_none() => self.skips = skips,
                Directive::Skip(_) => {}
                Directive::Halt => self.halted |= is_done,
                // The first database is the one there is; of another, nothing is known.
                Directive::Load(name) if is_done => {
                    if !self.records.is_empty() && self.database.as_ref() != Some(&name) {
                        self.rest.get_or_insert_with(|| "directive load".to_owned());
                    }
                    self.database = Some(name);
                }
                Directive::Load(_) => {}
                Directive::Unsupported(reason) => {
                    let end = end_of_block(lines, at);
                    let is_lost = left_out.is_none() && !self.skips;
                    let lost = is_lost.then(|| statement_in(&lines[at..end]));
                    at = end;
                    let reason = left_out.or_else(|| self.rest.clone()).unwrap_or(reason);
                    let action = Action::Unsupported { reason, lost };
                    self.records.push(Record { place, action });
                }
                Directive::UnsupportedRest(reason) if is_done => {
                    self.rest.get_or_insert(reason);
                }
                Directive::UnsupportedRest(_) => {}
            }
        }
    }

    /// Whether the label of a condition is that of this engine, or of the loop's present value;
    /// none if it cannot be told.
    fn is_met(&self, label: &str) -> Option<bool> {
        match label.split_once(['=', '<', '>', '!']) {
            Some((name, value)) if label[name.len()..].starts_with('=') => {
                let is_now = |(other, now): &(String, String)| other == name && now == value;
                (!value.starts_with('=')).then(|| self.variables.iter().any(is_now))
            }
            Some(_) => None,
            None => Some(OUR_NAMES.contains(&label.to_ascii_lowercase().as_str())),
        }
    }

    /// Reads on, with every record left out if there is a reason.
    fn without(&mut self, left_out: Option<String>, read: impl FnOnce(&mut Self)) {
        let Some(reason) = left_out else { return read(self) };
        let before = self.rest.replace(reason);
        read(self);
        self.rest = before;
    }

    fn push(&mut self, place: &str, left_out: Option<String>, action: Action) {
        let rest = || self.rest.clone();
        let skipped = || self.skips.then(|| "mode skip".to_owned());
        match left_out.or_else(rest).or_else(skipped) {
            Some(reason) => self.unsupported(place, reason),
            None => self.records.push(Record { place: place.to_owned(), action }),
        }
    }

    fn unsupported(&mut self, place: &str, reason: String) {
        let action = Action::Unsupported { reason, lost: None };
        self.records.push(Record { place: place.to_owned(), action });
    }

    /// Runs the lines of a loop once a value.
    fn repeat(
        &mut self,
        place: &str,
        lines: &[Line],
        path: &Path,
        variable: &str,
        values: &[String],
    ) {
        if self.depth >= DEPTH_MAX {
            self.unsupported(place, "loop that is too deep".to_owned());
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
            match fs::read(&file) {
                Ok(bytes) => self.read(&self.lines(&bytes), &file),
                Err(_) => self.unsupported(place, "directive include".to_owned()),
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

/// Returns the subject of a condition: an engine, or a variable.
fn subject(label: &str) -> &str {
    label.split(['=', '<', '>', '!']).next().unwrap_or(label)
}

/// The statement of a record whose first lines are not read.
fn statement_in(lines: &[Line]) -> String {
    let is_start = |line: &&Line| {
        matches!(
            directive::parse(&line.1),
            Directive::Statement(_) | Directive::Query { .. } | Directive::Condition { .. }
        )
    };
    let sql = lines.iter().skip_while(is_start).take_while(|(_, line)| line != SEPARATOR);
    sql.map(|(_, line)| line.as_str()).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests;
