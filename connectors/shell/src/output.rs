// SPDX-License-Identifier: Apache-2.0
//! Writes results to their destination, in a format.
//!
//! A result is written batch by batch and never held whole; only what is for a terminal keeps the
//! few rows that it will show, or that decide about a pager. Text results follow each other in one
//! output, a result as Arrow or Parquet has the output to itself. Styles, types and pagers are for
//! terminals: the bytes of files and pipes know nothing of them.

mod bar;
mod binary;
mod cells;
mod format;
mod layout;
mod markdown;
mod paged;
mod pager;
mod preview;
mod program;
mod screen;
mod table;
mod target;
#[cfg(test)]
mod testing;
mod text;
mod types;
mod vertical;
mod writer;

use std::{
    env,
    io::{self, BufWriter, Write},
    mem,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use nearscan::arrow::{
    array::RecordBatch,
    datatypes::{Schema, SchemaRef},
};

use crate::{
    failure::{Failure, Result},
    style::Colour,
};

use bar::Bars;
use paged::Paged;
use pager::{Pager, Threshold};
use preview::Preview;
use program::Program;
use screen::Screen;
use table::Table;
use target::Sink;
use vertical::Vertical;
use writer::{Nothing, WriteError};

pub(crate) use format::{Format, Paging};
pub(crate) use target::Target;
pub(crate) use writer::{ResultWriter, Wants};

/// The destination and the format of results.
pub(crate) struct Output {
    target: Target,
    chosen: Option<Format>,
    /// Set once a result that tolerates no other has been written to the target.
    is_full: bool,
    is_closed: Arc<AtomicBool>,
    paging: Paging,
}

impl Output {
    /// Opens the file, if there is one, and checks that the form suits the target.
    pub(crate) fn open(format: Option<Format>, path: Option<&Path>) -> Result<Self> {
        let mut output = Self {
            target: path.map_or(Ok(Target::Stdout), Target::file)?,
            chosen: None,
            is_full: false,
            is_closed: Arc::default(),
            paging: Paging::default(),
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

    /// Chooses whether the results that follow go to a pager; it has no effect off a terminal.
    /// Returns the choice before.
    pub(crate) fn set_paging(&mut self, paging: Paging) -> Paging {
        mem::replace(&mut self.paging, paging)
    }

    /// Sends the results that follow to another target.
    pub(crate) fn redirect(&mut self, target: Target) {
        self.target = target;
        self.is_full = false;
        if self.target.is_terminal() && self.chosen.is_some_and(Format::is_binary) {
            self.chosen = None;
        }
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
        self.check_room()?;
        let format = self.format();
        self.is_full = format.is_binary();
        self.writer(format, schema).map_err(|error| self.failure(&error))
    }

    /// Begins a result that is drawn as a bar chart, whatever the format is.
    pub(crate) fn begin_bars(&self, schema: &SchemaRef) -> Result<Box<dyn ResultWriter>> {
        self.check_room()?;
        if !bar::is_drawable(schema) {
            return Err(Failure::Statement(
                "error: a bar chart needs two columns, a label and a number\n  \
                   hint: select the label first, as in SELECT name, count(*) ... GROUP BY name"
                    .to_owned(),
            ));
        }
        let width = self.screen().width;
        let bars = self.text(|sink, colour| Ok(Box::new(Bars::new(sink, schema, colour, width))));
        bars.map_err(|error| self.failure(&error))
    }

    /// Writes rows of a result that was begun. When no more are wanted, the result still has to be
    /// ended.
    pub(crate) fn write(
        &self,
        writer: &mut Box<dyn ResultWriter>,
        batch: &RecordBatch,
    ) -> Result<Wants> {
        match writer.write(batch) {
            Ok(()) => Ok(Wants::More),
            Err(WriteError::Left) => Ok(Wants::NoMore),
            Err(error) => Err(self.failure(&error)),
        }
    }

    /// Ends a result, and waits until the user has quit the pager if there is one.
    pub(crate) fn end(&self, writer: Box<dyn ResultWriter>) -> Result<()> {
        match writer.finish() {
            Ok(()) | Err(WriteError::Left) => Ok(()),
            Err(error) => Err(self.failure(&error)),
        }
    }

    /// Writes a line of the shell's own to where results go.
    pub(crate) fn line(&self, text: &str) -> Result<()> {
        let written = self.sink().and_then(|mut sink| {
            writeln!(sink, "{text}")?;
            sink.flush()
        });
        written.map_err(|error| self.failure(&error.into()))
    }

    fn check_room(&self) -> Result<()> {
        if self.is_full {
            return Err(Failure::Statement(
                "error: the output holds one result already\n  \
                   detail: Arrow and Parquet outputs hold one result each\n  \
                   hint: run one statement for each output, or choose a text format"
                    .to_owned(),
            ));
        }
        Ok(())
    }

    fn writer(
        &self,
        format: Format,
        schema: &SchemaRef,
    ) -> Result<Box<dyn ResultWriter>, WriteError> {
        match format {
            Format::Table if self.target.is_terminal() && !is_plan(schema) => {
                self.terminal_table(schema)
            }
            Format::Table => self.text(|sink, _| Ok(Box::new(Table::new(sink, schema)))),
            Format::Csv => {
                self.text(|sink, _| Ok(Box::new(text::Delimited::new(sink, schema, b',')?)))
            }
            Format::Tsv => {
                self.text(|sink, _| Ok(Box::new(text::Delimited::new(sink, schema, b'\t')?)))
            }
            Format::Json => self.text(|sink, _| Ok(Box::new(text::Json::new(sink)))),
            Format::Ndjson => self.text(|sink, _| Ok(Box::new(text::Lines::new(sink)))),
            Format::Markdown => {
                self.text(|sink, _| Ok(Box::new(markdown::Markdown::new(sink, schema)?)))
            }
            Format::Vertical => {
                self.text(|sink, colour| Ok(Box::new(Vertical::new(sink, schema, colour))))
            }
            Format::Arrow => Ok(match &self.target {
                Target::Stdout => Box::new(binary::ArrowStream::new(self.sink()?, schema)?),
                Target::File { .. } => Box::new(binary::ArrowFile::new(self.sink()?, schema)?),
            }),
            Format::Parquet => Ok(Box::new(binary::Parquet::new(self.sink()?, schema)?)),
            Format::None => Ok(Box::new(Nothing)),
        }
    }

    /// A table of which a terminal shows both ends, and a pager everything.
    fn terminal_table(&self, schema: &Schema) -> Result<Box<dyn ResultWriter>, WriteError> {
        let (screen, colour) = (self.screen(), self.colour());
        let threshold = match self.paging {
            Paging::Off => {
                return Ok(Box::new(Preview::new(self.sink()?, schema, colour, screen)));
            }
            Paging::Auto => Threshold::Lines(screen),
            Paging::On => Threshold::Nothing,
        };
        let pager = Pager::new(threshold, program(), None);
        let long = Table::for_pager(pager.sink(), schema, pager.colour(colour), screen);
        let short = Preview::of_screen(self.sink()?, schema, colour, screen);
        Ok(Box::new(Paged::new(pager, Box::new(long), Some(Box::new(short)))))
    }

    /// A result as text, which on a terminal may go to a pager.
    fn text(
        &self,
        open: impl FnOnce(Sink, Colour) -> Result<Box<dyn ResultWriter>, WriteError>,
    ) -> Result<Box<dyn ResultWriter>, WriteError> {
        let threshold = match self.paging {
            Paging::Auto if self.target.is_terminal() => Threshold::WrappedLines(self.screen()),
            Paging::On if self.target.is_terminal() => Threshold::Nothing,
            Paging::Off | Paging::Auto | Paging::On => {
                return open(self.sink()?, self.colour());
            }
        };
        let pager = Pager::new(threshold, program(), Some(self.sink()?));
        let long = open(pager.sink(), pager.colour(self.colour()))?;
        Ok(Box::new(Paged::new(pager, long, None)))
    }

    fn screen(&self) -> Screen {
        if self.target.is_terminal() { Screen::now() } else { Screen::of_file() }
    }

    fn colour(&self) -> Colour {
        match self.target {
            Target::Stdout => Colour::of_stdout(),
            Target::File { .. } => Colour::Off,
        }
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
            WriteError::Arrow(_) | WriteError::Parquet(_) | WriteError::Left => {
                Failure::Statement(format!(
                    "error: the result cannot be written\n  detail: {error}\n  hint: choose another format"
                ))
            }
        }
    }
}

fn program() -> Option<Program> {
    Program::chosen(|name| env::var_os(name))
}

/// Whether a result is that of EXPLAIN, whose long lines are the point.
fn is_plan(schema: &Schema) -> bool {
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    names == ["plan_type", "plan"]
}

#[cfg(test)]
mod tests {
    use super::*;
    use testing::batch;

    fn to_file(name: &str, use_it: impl FnOnce(&mut Output)) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        let mut output = Output::open(None, Some(&path)).unwrap();
        use_it(&mut output);
        std::fs::read_to_string(path).unwrap()
    }

    #[test]
    fn file_has_neither_types_nor_styles_nor_a_pager() {
        let rows = batch(&[Some(1), None], &[Some("one"), None]);
        let text = to_file("a.txt", |output| {
            output.set_paging(Paging::On);
            output.set_format(Format::Table).unwrap();
            let mut writer = output.begin(&rows.schema()).unwrap();
            assert_eq!(output.write(&mut writer, &rows).unwrap(), Wants::More);
            assert!(!writer.has_screen());
            output.end(writer).unwrap();
            output.set_format(Format::Vertical).unwrap();
            let mut writer = output.begin(&rows.slice(0, 1).schema()).unwrap();
            assert_eq!(output.write(&mut writer, &rows.slice(0, 1)).unwrap(), Wants::More);
            output.end(writer).unwrap();
        });
        let expected = "\
+------+------+
|    n | text |
+------+------+
|    1 | one  |
| NULL | NULL |
+------+------+
-[ ROW 1 ]-
n    | 1
text | one
";
        assert_eq!(text, expected);
    }

    #[test]
    fn bar_chart_is_refused_without_label_and_number() {
        let text = to_file("a.csv", |output| {
            let failure = output.begin_bars(&batch(&[], &[]).schema()).err();
            let Some(Failure::Statement(text)) = failure else { panic!("{failure:?}") };
            assert!(text.starts_with("error: a bar chart needs two columns"), "{text}");
            assert!(text.contains("\n  hint: "), "{text}");
        });
        assert_eq!(text, "");
    }

    #[test]
    fn user_who_has_left_wants_no_more_and_is_no_failure() {
        struct Quit;
        impl ResultWriter for Quit {
            fn write(&mut self, _batch: &RecordBatch) -> Result<(), WriteError> {
                Err(WriteError::Left)
            }

            fn finish(self: Box<Self>) -> Result<(), WriteError> {
                Err(WriteError::Left)
            }
        }
        to_file("a.csv", |output| {
            let mut writer: Box<dyn ResultWriter> = Box::new(Quit);
            assert_eq!(output.write(&mut writer, &batch(&[], &[])).unwrap(), Wants::NoMore);
            output.end(writer).unwrap();
        });
    }
}
