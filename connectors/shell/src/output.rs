// SPDX-License-Identifier: Apache-2.0
//! Writes results to their destination, in a format.
//!
//! A result is written batch by batch and never held whole; only the table for a terminal keeps the
//! few rows that it will show. Text results follow each other in one output, a result as Arrow or
//! Parquet has the output to itself.

mod binary;
mod cells;
mod markdown;
mod table;
#[cfg(test)]
mod testing;
mod text;

use std::{
    fs::File,
    io::{self, BufWriter, IsTerminal, Write},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use clap::ValueEnum;
use nearscan::{
    arrow::{
        array::RecordBatch,
        datatypes::{Schema, SchemaRef},
        error::ArrowError,
    },
    parquet::errors::ParquetError,
};

use crate::failure::{Failure, Result};

/// Form of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Lines and columns for people; on a terminal the first and last rows only
    Table,
    /// Comma-separated values with a header
    Csv,
    /// Tab-separated values with a header
    Tsv,
    /// One JSON array of objects
    Json,
    /// One JSON object a line
    Ndjson,
    /// Arrow IPC: a stream on standard output, a file with --output
    Arrow,
    /// A Parquet file
    Parquet,
    /// A Markdown table
    Markdown,
    /// Nothing: the statement runs and its rows are dropped
    None,
}

/// Writes one result.
pub(crate) trait ResultWriter: Send {
    /// Writes some of its rows.
    fn write(&mut self, batch: &RecordBatch) -> Result<(), WriteError>;

    /// Writes the rest and flushes.
    fn finish(self: Box<Self>) -> Result<(), WriteError>;
}

/// The reason why a result could not be written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WriteError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Arrow(#[from] ArrowError),
    #[error(transparent)]
    Parquet(#[from] ParquetError),
}

/// The destination of results.
#[derive(Debug)]
pub(crate) enum Target {
    Stdout,
    File { path: PathBuf, file: File },
}

/// The destination and the format of results.
pub(crate) struct Output {
    target: Target,
    chosen: Option<Format>,
    /// Set once a result that tolerates no other has been written to the target.
    is_full: bool,
    is_closed: Arc<AtomicBool>,
}

/// The end of the pipe that writers write to.
pub(crate) struct Sink {
    inner: BufWriter<Box<dyn Write + Send>>,
    is_closed: Arc<AtomicBool>,
}

impl Format {
    fn is_binary(self) -> bool {
        match self {
            Self::Arrow | Self::Parquet => true,
            Self::Table
            | Self::Csv
            | Self::Tsv
            | Self::Json
            | Self::Ndjson
            | Self::Markdown
            | Self::None => false,
        }
    }

    /// Returns the form that the name of a file requests.
    fn of_file(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_string_lossy().to_lowercase();
        match extension.as_str() {
            "csv" => Some(Self::Csv),
            "tsv" => Some(Self::Tsv),
            "json" => Some(Self::Json),
            "ndjson" | "jsonl" => Some(Self::Ndjson),
            "arrow" => Some(Self::Arrow),
            "parquet" => Some(Self::Parquet),
            "md" => Some(Self::Markdown),
            _ => None,
        }
    }
}

impl Target {
    pub(crate) fn stdout() -> Self {
        Self::Stdout
    }

    /// Makes the file, or empties it.
    pub(crate) fn file(path: &Path) -> Result<Self> {
        let file = File::create(path).map_err(|error| Failure::output(path, &error))?;
        Ok(Self::File { path: path.to_owned(), file })
    }

    fn is_terminal(&self) -> bool {
        match self {
            Self::Stdout => io::stdout().is_terminal(),
            Self::File { .. } => false,
        }
    }

    fn open(&self) -> io::Result<Box<dyn Write + Send>> {
        Ok(match self {
            Self::Stdout => Box::new(io::stdout()),
            Self::File { file, .. } => Box::new(file.try_clone()?),
        })
    }

    fn path(&self) -> &Path {
        match self {
            Self::Stdout => Path::new("-"),
            Self::File { path, .. } => path,
        }
    }
}

impl Output {
    /// Opens the file, if there is one, and checks that the form suits the target.
    pub(crate) fn open(format: Option<Format>, path: Option<&Path>) -> Result<Self> {
        let mut output = Self {
            target: path.map_or(Ok(Target::Stdout), Target::file)?,
            chosen: None,
            is_full: false,
            is_closed: Arc::default(),
        };
        if let Some(format) = format {
            output.set_format(format)?;
        }
        Ok(output)
    }

    /// Chooses the form of the results that follow.
    pub(crate) fn set_format(&mut self, format: Format) -> Result<()> {
        if format.is_binary() && self.target.is_terminal() {
            return Err(Failure::Usage(
                "error: a terminal cannot show this format\n  hint: write to a file with --output"
                    .to_owned(),
            ));
        }
        self.chosen = Some(format);
        Ok(())
    }

    /// Sends the results that follow to another target.
    pub(crate) fn redirect(&mut self, target: Target) {
        self.target = target;
        self.is_full = false;
    }

    /// The form that results have now.
    pub(crate) fn format(&self) -> Format {
        self.chosen.unwrap_or_else(|| match &self.target {
            Target::Stdout if self.target.is_terminal() => Format::Table,
            Target::Stdout => Format::Csv,
            Target::File { path, .. } => Format::of_file(path).unwrap_or(Format::Csv),
        })
    }

    /// Begins a result.
    pub(crate) fn begin(&mut self, schema: &SchemaRef) -> Result<Box<dyn ResultWriter>> {
        let format = self.format();
        if self.is_full {
            return Err(Failure::Statement(
                "error: the output holds one result already\n  \
                   detail: Arrow and Parquet outputs hold one result each\n  \
                   hint: run one statement for each output, or choose a text format"
                    .to_owned(),
            ));
        }
        self.is_full = format.is_binary();
        self.writer(format, schema).map_err(|error| self.failure(&error))
    }

    /// Writes rows of a result that was begun.
    pub(crate) fn write(
        &self,
        writer: &mut Box<dyn ResultWriter>,
        batch: &RecordBatch,
    ) -> Result<()> {
        writer.write(batch).map_err(|error| self.failure(&error))
    }

    /// Ends a result.
    pub(crate) fn end(&self, writer: Box<dyn ResultWriter>) -> Result<()> {
        writer.finish().map_err(|error| self.failure(&error))
    }

    /// Writes a line of the shell's own to where results go.
    pub(crate) fn line(&self, text: &str) -> Result<()> {
        let written = self.sink().and_then(|mut sink| {
            writeln!(sink, "{text}")?;
            sink.flush()
        });
        written.map_err(|error| self.failure(&error.into()))
    }

    fn writer(
        &self,
        format: Format,
        schema: &SchemaRef,
    ) -> Result<Box<dyn ResultWriter>, WriteError> {
        let sink = self.sink()?;
        Ok(match format {
            Format::Table if self.target.is_terminal() && !is_plan(schema) => {
                Box::new(table::Preview::new(sink, schema))
            }
            Format::Table => Box::new(table::Table::new(sink, schema)),
            Format::Csv => Box::new(text::Delimited::new(sink, schema, b',')?),
            Format::Tsv => Box::new(text::Delimited::new(sink, schema, b'\t')?),
            Format::Json => Box::new(text::Json::new(sink)),
            Format::Ndjson => Box::new(text::Lines::new(sink)),
            Format::Arrow => match &self.target {
                Target::Stdout => Box::new(binary::ArrowStream::new(sink, schema)?),
                Target::File { .. } => Box::new(binary::ArrowFile::new(sink, schema)?),
            },
            Format::Parquet => Box::new(binary::Parquet::new(sink, schema)?),
            Format::Markdown => Box::new(markdown::Markdown::new(sink, schema)?),
            Format::None => Box::new(Nothing),
        })
    }

    fn sink(&self) -> io::Result<Sink> {
        let inner = BufWriter::new(self.target.open()?);
        Ok(Sink { inner, is_closed: Arc::clone(&self.is_closed) })
    }

    fn failure(&self, error: &WriteError) -> Failure {
        if self.is_closed.load(Ordering::Relaxed) {
            return Failure::OutputClosed;
        }
        let path = self.target.path();
        match error {
            WriteError::Io(error) => Failure::output(path, error),
            WriteError::Arrow(_) | WriteError::Parquet(_) => Failure::Statement(format!(
                "error: the result cannot be written\n  detail: {error}\n  hint: choose another format"
            )),
        }
    }
}

/// Notes a closed pipe here, because the writers above turn errors of the system into text.
impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes);
        self.note(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.inner.flush();
        self.note(flushed)
    }
}

impl Sink {
    fn note<T>(&self, result: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &result
            && error.kind() == io::ErrorKind::BrokenPipe
        {
            self.is_closed.store(true, Ordering::Relaxed);
        }
        result
    }
}

/// Drops rows.
struct Nothing;

impl ResultWriter for Nothing {
    fn write(&mut self, _batch: &RecordBatch) -> Result<(), WriteError> {
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), WriteError> {
        Ok(())
    }
}

/// Whether a result is that of EXPLAIN, whose long lines are the point.
fn is_plan(schema: &Schema) -> bool {
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    names == ["plan_type", "plan"]
}
