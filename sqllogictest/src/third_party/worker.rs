// SPDX-License-Identifier: Apache-2.0
//! Runs one file in its process: it prints the start and the outcome of each record as a line of
//! JSON, so that the supervisor knows where it ended if it crashes.

use std::{collections::BTreeMap, fs, io::Write, path::Path};

use serde::{Deserialize, Serialize};

use super::{
    directive::Dialect,
    report::Outcome,
    runner::{FileRunner, Mode},
    script,
};
use crate::error::{Error, Result};

/// A message of the process of a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Event {
    /// It read the file, and found so many records.
    Opened(Dialect, usize),
    /// It begins with the record at this place.
    Begins(String),
    /// The outcome of the record.
    Did(Box<Outcome>),
    /// It is through: copies of tables, and tables that stayed in memory by reason.
    Closed(u64, BTreeMap<String, u64>),
}

/// Runs a file, and writes the events to `output`.
///
/// # Errors
/// If the file cannot be read, the engine not be made, or the reader is gone.
pub async fn run(path: &Path, mode: Mode, scratch: &Path, output: &mut dyn Write) -> Result<()> {
    let file_error = |source| Error::File { path: path.to_owned(), source };
    let bytes = fs::read(path).map_err(file_error)?;
    let text = String::from_utf8_lossy(&bytes);
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    let dialect = Dialect::of(&text, &extension);
    // The files of DataFusion find a folder of their name there; where they do not, it is an error
    // of a statement.
    let _made = fs::create_dir_all(scratch.join(path.file_stem().unwrap_or_default()));
    let records = script::read(&bytes, path, dialect, scratch);
    let mut say = |event: Event| -> Result<()> {
        let line =
            serde_json::to_string(&event).map_err(|error| Error::Mismatch(error.to_string()))?;
        writeln!(output, "{line}").and_then(|()| output.flush()).map_err(file_error)
    };
    say(Event::Opened(dialect, records.len()))?;
    let mut runner = FileRunner::open(mode, dialect, scratch, seed(path)).await?;
    for record in &records {
        say(Event::Begins(record.place.clone()))?;
        let outcome = Box::pin(runner.run(record)).await?;
        say(Event::Did(Box::new(outcome)))?;
    }
    let tables = runner.tables();
    say(Event::Closed(tables.written(), tables.kept().clone()))
}

/// A number of the file's name, so that it has the same copies wherever it lies.
fn seed(path: &Path) -> u64 {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
