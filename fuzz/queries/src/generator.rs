// SPDX-License-Identifier: Apache-2.0
//! Talks to the process that writes files, generates queries, and returns DuckDB's rows:
//! `generate/main.py`.
//!
//! One line of JSON each way; what they hold is said there.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    io::{BufRead, BufReader, Write},
    ops::Range,
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use crate::cells::Kind;

/// A query, what DuckDB returns, and what else gives the same rows.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Query {
    pub(crate) sql: String,
    pub(crate) same_as: Vec<String>,
    /// The table that it is about most; others may be joined.
    pub(crate) table: String,
    pub(crate) is_ordered: bool,
    pub(crate) features: Vec<String>,
    pub(crate) kinds: Option<Vec<Kind>>,
    pub(crate) rows: Option<Texts>,
}

/// Rows as texts.
pub(crate) type Texts = Vec<Vec<Option<String>>>;

/// The description of a table of a batch.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Table {
    pub(crate) rows: u64,
    pub(crate) columns: Vec<String>,
    /// The writer of its file, and its options.
    pub(crate) about: String,
}

/// A batch of queries over the same tables.
#[derive(Debug, Deserialize)]
pub(crate) struct Batch {
    pub(crate) tables: BTreeMap<String, Table>,
    pub(crate) queries: Vec<Query>,
}

/// The rows and columns that are left of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Cut {
    pub(crate) rows: Vec<Range64>,
    pub(crate) columns: Vec<String>,
}

/// Rows from the first number up to the second one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Range64(pub(crate) Range<u64>);

impl Serialize for Range64 {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        [self.0.start, self.0.end].serialize(serializer)
    }
}

/// The answer of DuckDB to one query.
#[derive(Debug, Deserialize)]
pub(crate) struct Answer {
    pub(crate) kinds: Vec<Kind>,
    pub(crate) rows: Option<Texts>,
}

/// Which batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) seed: u64,
    pub(crate) batch: u64,
}

#[derive(Serialize)]
#[serde(tag = "do", rename_all = "lowercase")]
enum Request<'a> {
    Batch { seed: u64, batch: u64, count: u64, out: &'a Path },
    Cut { seed: u64, batch: u64, out: &'a Path, tables: &'a BTreeMap<String, Cut> },
    Ask { sql: &'a str },
}

/// The process; it ends with this.
#[derive(Debug)]
pub(crate) struct Generator {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Generator {
    /// Starts it with this interpreter.
    pub(crate) fn start(python: &OsStr) -> Result<Self> {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/generate/main.py");
        // Bytecode of the modules would be beside them, in the project.
        let mut command = Command::new(python);
        command.args(["-B", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().context("cannot start the generator")?;
        let input = child.stdin.take().context("the generator has no input")?;
        let output = child.stdout.take().context("the generator has no output")?;
        Ok(Self { child, input, output: BufReader::new(output) })
    }

    /// Writes the files of a batch, and draws its queries.
    pub(crate) fn batch(&mut self, place: Place, count: u64, out: &Path) -> Result<Batch> {
        let Place { seed, batch } = place;
        let reply = self.request(&Request::Batch { seed, batch, count, out })?;
        serde_json::from_str(&reply).context("the generator's batch is none")
    }

    /// Writes the files of a batch with some of their rows and columns.
    pub(crate) fn cut(
        &mut self,
        place: Place,
        out: &Path,
        tables: &BTreeMap<String, Cut>,
    ) -> Result<()> {
        let Place { seed, batch } = place;
        self.request(&Request::Cut { seed, batch, out, tables }).map(drop)
    }

    /// Returns the answer of DuckDB over the files written last; nothing when it fails.
    pub(crate) fn ask(&mut self, sql: &str) -> Result<Option<Answer>> {
        let reply = self.request(&Request::Ask { sql })?;
        Ok(serde_json::from_str(&reply).ok())
    }

    fn request(&mut self, request: &Request<'_>) -> Result<String> {
        let mut line = serde_json::to_string(request)?;
        line.push('\n');
        self.input.write_all(line.as_bytes()).context("the generator is gone")?;
        let mut reply = String::new();
        if self.output.read_line(&mut reply)? == 0 {
            bail!("the generator ended while it was asked for {line}");
        }
        Ok(reply)
    }
}

impl Drop for Generator {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
