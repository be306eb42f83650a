// SPDX-License-Identifier: Apache-2.0
//! Writes the first and the last rows of a result as a table for a terminal.
//!
//! It cuts wide cells and leaves out columns in the middle until the table fits, and says below the
//! table what is hidden. It holds only the rows that it will show.

use std::{collections::VecDeque, io::Write};

use nearscan::arrow::{array::RecordBatch, datatypes::Schema};

use super::{
    ResultWriter, Sink, WriteError,
    cells::{self, Row},
    layout::{Heading, Layout},
    screen::Screen,
};
use crate::style::Colour;

/// Rows a terminal shows from each end of a result.
const ROWS_PER_END: usize = 20;

/// The first and last rows of a result.
pub(super) struct Preview {
    sink: Sink,
    heading: Heading,
    colour: Colour,
    head: Vec<Row>,
    tail: VecDeque<Row>,
    row_count: usize,
    rows_per_end: usize,
    width_max: usize,
}

impl Preview {
    pub(super) fn new(sink: Sink, schema: &Schema, colour: Colour, screen: Screen) -> Self {
        Self {
            sink,
            heading: Heading::typed(schema),
            colour,
            head: Vec::new(),
            tail: VecDeque::new(),
            row_count: 0,
            rows_per_end: ROWS_PER_END,
            width_max: screen.width,
        }
    }

    /// A preview that hides no row of a result that fits on the screen: longer ones have a pager.
    pub(super) fn of_screen(sink: Sink, schema: &Schema, colour: Colour, screen: Screen) -> Self {
        let rows_per_end = ROWS_PER_END.max(screen.height.div_ceil(2));
        Self { rows_per_end, ..Self::new(sink, schema, colour, screen) }
    }

    fn footer(&self, layout: &Layout) -> String {
        let shown = self.head.len() + self.tail.len();
        let mut text = match self.row_count {
            1 => "1 row".to_owned(),
            count => format!("{count} rows"),
        };
        if shown < self.row_count {
            text.push_str(&format!(", {shown} shown"));
        }
        let column_count = self.heading.names.len();
        if layout.shown_count() < column_count {
            text.push_str(&format!(", {} of {column_count} columns shown", layout.shown_count()));
        }
        text
    }
}

impl ResultWriter for Preview {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), WriteError> {
        let rows = batch.num_rows();
        let to_head = rows.min(self.rows_per_end - self.head.len());
        self.head.extend(cells::rows(&batch.slice(0, to_head))?);
        // Only the last rows of a batch can be among the last rows of the result.
        let start = to_head.max(rows.saturating_sub(self.rows_per_end));
        self.tail.extend(cells::rows(&batch.slice(start, rows - start))?);
        self.tail.drain(..self.tail.len().saturating_sub(self.rows_per_end));
        self.row_count += rows;
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<(), WriteError> {
        let rows = self.head.iter().chain(&self.tail);
        let layout = Layout::fit(&self.heading, rows, self.colour, self.width_max);
        let mut text = layout.heading(&self.heading);
        for row in &self.head {
            layout.push_row(row, &mut text);
        }
        if self.head.len() + self.tail.len() < self.row_count {
            layout.push_gap(&mut text);
        }
        for row in &self.tail {
            layout.push_row(row, &mut text);
        }
        text.push_str(&layout.rule());
        text.push_str(&self.footer(&layout));
        text.push('\n');
        self.sink.write_all(text.as_bytes())?;
        Ok(self.sink.flush()?)
    }
}

#[cfg(test)]
mod tests {
    use std::{ops::Range, sync::Arc};

    use super::*;
    use crate::output::testing::{batch, written};
    use nearscan::arrow::datatypes::SchemaRef;

    fn preview_on(screen: Screen, batches: &[RecordBatch]) -> String {
        let open = |sink, schema: &SchemaRef| {
            Box::new(Preview::new(sink, schema, Colour::Off, screen)) as Box<dyn ResultWriter>
        };
        String::from_utf8(written(open, batches)).unwrap()
    }

    fn preview(width: usize, batches: &[RecordBatch]) -> String {
        preview_on(Screen { width, height: 24 }, batches)
    }

    fn numbered(range: Range<i64>) -> RecordBatch {
        let numbers: Vec<Option<i64>> = range.map(Some).collect();
        batch(&numbers, &vec![None; numbers.len()])
    }

    #[test]
    fn terminal_sees_types_below_names() {
        let batch = batch(&[Some(1), None], &[Some("one"), None]);
        let expected = "\
+--------+---------+
|      n | text    |
| bigint | varchar |
+--------+---------+
|      1 | one     |
|   NULL | NULL    |
+--------+---------+
2 rows
";
        assert_eq!(preview(80, &[batch]), expected);
    }

    #[test]
    fn terminal_sees_both_ends() {
        let text = preview(80, &[numbered(0..15), numbered(15..95), numbered(95..100)]);
        let numbers: Vec<&str> =
            text.lines().filter_map(|line| line.split('|').nth(1).map(str::trim)).skip(2).collect();
        let mut expected: Vec<String> = (0..20).map(|number| number.to_string()).collect();
        expected.push("…".to_owned());
        expected.extend((80..100).map(|number| number.to_string()));
        assert_eq!(numbers, expected);
        assert!(text.ends_with("\n100 rows, 40 shown\n"), "{text}");
        assert!(preview(80, &[numbered(0..40)]).ends_with("\n40 rows\n"));
        assert!(preview(80, &[batch(&[], &[])]).ends_with("+\n0 rows\n"));
    }

    #[test]
    fn high_screen_sees_every_row_that_fits() {
        let screen = Screen { width: 80, height: 75 };
        let open = |sink, schema: &SchemaRef| {
            Box::new(Preview::of_screen(sink, schema, Colour::Off, screen)) as Box<dyn ResultWriter>
        };
        let text = |rows: i64| String::from_utf8(written(open, &[numbered(0..rows)])).unwrap();
        assert!(text(75).ends_with("\n75 rows\n"), "{}", text(75));
        assert!(text(77).ends_with("\n77 rows, 76 shown\n"), "{}", text(77));
    }

    #[test]
    fn terminal_sees_no_line_longer_than_it_is_wide() {
        let long = "x".repeat(200);
        let text = preview(40, &[batch(&[Some(1)], &[Some(&long)])]);
        assert!(text.lines().all(|line| cells::width(line) <= 40), "{text}");
        assert!(text.contains("x… |"), "{text}");
    }

    #[test]
    fn note_says_which_columns_are_hidden() {
        let column = |index: usize| {
            let batch = batch(&[Some(1)], &[None]);
            (format!("column_{index:03}"), Arc::clone(batch.column(0)))
        };
        let wide = RecordBatch::try_from_iter((0..50).map(column)).unwrap();
        let text = preview(80, &[wide]);
        assert!(text.ends_with("\n1 row, 5 of 50 columns shown\n"), "{text}");
    }
}
