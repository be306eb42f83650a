// SPDX-License-Identifier: Apache-2.0
//! Writes all rows and all columns of a result as a table for people.
//!
//! ```text
//! +---+-------+
//! | n | text  |
//! +---+-------+
//! | 1 | one   |
//! +---+-------+
//! ```
//!
//! Rows are written as they come: the first ones decide how wide the columns are. It does not know
//! how wide its reader's screen is; that is the business of the preview for a terminal.

use std::io::Write;

use nearscan::arrow::{array::RecordBatch, datatypes::Schema};

use super::{
    ResultWriter, Sink, WriteError,
    cells::{self, Row},
    layout::{Heading, Layout},
    screen::Screen,
};
use crate::style::Colour;

/// Rows whose widths decide about the columns of a table for a file or a pager.
const SAMPLE_ROWS: usize = 1000;

/// All rows of a result.
pub(super) struct Table {
    sink: Sink,
    heading: Heading,
    colour: Colour,
    sample: Vec<Row>,
    sample_rows: usize,
    /// Set once the sample has decided.
    layout: Option<Layout>,
}

impl Table {
    /// A table for a file or a pipe: without types and styles.
    pub(super) fn new(sink: Sink, schema: &Schema) -> Self {
        Self {
            sink,
            heading: Heading::plain(schema),
            colour: Colour::Off,
            sample: Vec::new(),
            sample_rows: SAMPLE_ROWS,
            layout: None,
        }
    }

    /// A table for a pager: its first screen decides, because the user waits for it.
    pub(super) fn for_pager(sink: Sink, schema: &Schema, colour: Colour, screen: Screen) -> Self {
        let heading = Heading::typed(schema);
        Self { heading, colour, sample_rows: screen.height, ..Self::new(sink, schema) }
    }

    /// Decides about the columns, and writes the heading and the rows of the sample.
    fn begin(&mut self) -> Result<&Layout, WriteError> {
        let layout = Layout::full(&self.heading, self.sample.iter(), self.colour);
        let mut text = layout.heading(&self.heading);
        for row in self.sample.drain(..) {
            layout.push_row(&row, &mut text);
        }
        self.sink.write_all(text.as_bytes())?;
        Ok(self.layout.insert(layout))
    }
}

impl ResultWriter for Table {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), WriteError> {
        let rows = cells::rows(batch)?;
        let Some(layout) = &self.layout else {
            self.sample.extend(rows);
            if self.sample.len() >= self.sample_rows {
                self.begin()?;
            }
            return Ok(());
        };
        let mut text = String::new();
        for row in &rows {
            layout.push_row(row, &mut text);
        }
        Ok(self.sink.write_all(text.as_bytes())?)
    }

    fn finish(mut self: Box<Self>) -> Result<(), WriteError> {
        let rule = match &self.layout {
            Some(layout) => layout.rule(),
            None => self.begin()?.rule(),
        };
        self.sink.write_all(rule.as_bytes())?;
        Ok(self.sink.flush()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::testing::{batch, written};
    use nearscan::arrow::datatypes::SchemaRef;

    fn table(batches: &[RecordBatch]) -> String {
        let open =
            |sink, schema: &SchemaRef| Box::new(Table::new(sink, schema)) as Box<dyn ResultWriter>;
        String::from_utf8(written(open, batches)).unwrap()
    }

    #[test]
    fn lines_up_numbers_nulls_and_several_lines() {
        let batch = batch(&[Some(1), Some(-10), None], &[Some("a\nbc"), None, Some("日本")]);
        let expected = "\
+------+------+
|    n | text |
+------+------+
|    1 | a    |
|      | bc   |
|  -10 | NULL |
| NULL | 日本 |
+------+------+
";
        assert_eq!(table(&[batch]), expected);
    }

    #[test]
    fn empty_result_still_has_its_columns() {
        let empty = batch(&[], &[]);
        assert_eq!(
            table(std::slice::from_ref(&empty)),
            "+---+------+\n| n | text |\n+---+------+\n+---+------+\n"
        );
    }

    #[test]
    fn long_table_streams_after_its_sample() {
        let numbers: Vec<Option<i64>> = (0..1000).map(Some).collect();
        assert_eq!(numbers.len(), SAMPLE_ROWS);
        let first = batch(&numbers, &vec![Some("x"); SAMPLE_ROWS]);
        let text = table(&[first, batch(&[Some(1_000_000)], &[Some("wider than before")])]);
        assert_eq!(text.lines().count(), SAMPLE_ROWS + 5);
        assert!(text.contains("\n| 999 | x    |\n| 1000000 | wider than before |\n+"), "{text}");
    }

    #[test]
    fn table_for_a_pager_has_types_and_is_written_after_one_screen() {
        let screen = Screen { width: 10, height: 2 };
        let open = |sink, schema: &SchemaRef| {
            let table = Table::for_pager(sink, schema, Colour::Off, screen);
            Box::new(table) as Box<dyn ResultWriter>
        };
        let first = batch(&[Some(1), None], &[Some("a"), None]);
        let second = batch(&[Some(2)], &[Some("wider than the screen")]);
        let expected = "\
+--------+---------+
|      n | text    |
| bigint | varchar |
+--------+---------+
|      1 | a       |
|   NULL | NULL    |
|      2 | wider than the screen |
+--------+---------+
";
        assert_eq!(String::from_utf8(written(open, &[first, second])).unwrap(), expected);
    }
}
