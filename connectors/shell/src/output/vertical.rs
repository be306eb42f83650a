// SPDX-License-Identifier: Apache-2.0
//! Writes results with a line for each column of each row, row by row.
//!
//! ```text
//! -[ ROW 1 ]-
//! n    | 1
//! text | first line
//!      | second line
//! ```
//!
//! Values are neither cut nor quoted: a wide row is read from top to bottom.

use std::io::Write;

use nearscan::arrow::{array::RecordBatch, datatypes::Schema};

use super::{
    ResultWriter, Sink, WriteError,
    cells::{self, Row},
};
use crate::style::{Colour, Style};

/// All rows of a result, one below the other.
pub(super) struct Vertical {
    sink: Sink,
    colour: Colour,
    names: Vec<String>,
    name_width: usize,
    row_count: u64,
}

impl Vertical {
    pub(super) fn new(sink: Sink, schema: &Schema, colour: Colour) -> Self {
        let names: Vec<String> =
            cells::names(schema).iter().map(|name| cells::one_line(name)).collect();
        let name_width = names.iter().map(|name| cells::width(name)).max().unwrap_or(0);
        Self { sink, colour, names, name_width, row_count: 0 }
    }

    fn push_row(&mut self, row: &Row, text: &mut String) {
        self.row_count += 1;
        let rule = format!("-[ ROW {} ]-", self.row_count);
        text.push_str(&self.colour.paint(Style::Dim, &rule));
        text.push('\n');
        for (name, cell) in self.names.iter().zip(row) {
            let fill = " ".repeat(self.name_width - cells::width(name));
            let mut margin = format!("{}{fill}", self.colour.paint(Style::Name, name));
            // An empty text has no lines, but its column has one.
            let mut lines = cell.text.lines();
            let mut next = Some(lines.next().unwrap_or(""));
            while let Some(line) = next {
                let line = match cell.is_null {
                    true => self.colour.paint(Style::Dim, line),
                    false => line.to_owned(),
                };
                text.push_str(&format!("{margin} | {line}\n"));
                margin = " ".repeat(self.name_width);
                next = lines.next();
            }
        }
    }
}

impl ResultWriter for Vertical {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), WriteError> {
        let mut text = String::new();
        for row in &cells::rows(batch)? {
            self.push_row(row, &mut text);
        }
        Ok(self.sink.write_all(text.as_bytes())?)
    }

    fn finish(mut self: Box<Self>) -> Result<(), WriteError> {
        if self.row_count == 0 {
            self.sink.write_all(b"0 rows\n")?;
        }
        Ok(self.sink.flush()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::testing::{batch, written};
    use nearscan::arrow::datatypes::SchemaRef;

    fn vertical(colour: Colour, batches: &[RecordBatch]) -> String {
        let open = |sink, schema: &SchemaRef| {
            Box::new(Vertical::new(sink, schema, colour)) as Box<dyn ResultWriter>
        };
        String::from_utf8(written(open, batches)).unwrap()
    }

    #[test]
    fn rows_are_counted_on_and_several_lines_are_indented() {
        let first = batch(&[Some(1), Some(-20)], &[Some("a\nb"), Some("")]);
        let expected = "\
-[ ROW 1 ]-
n    | 1
text | a
     | b
-[ ROW 2 ]-
n    | -20
text | \n\
-[ ROW 3 ]-
n    | NULL
text | NULL
";
        assert_eq!(vertical(Colour::Off, &[first, batch(&[None], &[None])]), expected);
    }

    #[test]
    fn null_is_dimmed_and_the_text_null_is_not() {
        let text = vertical(Colour::On, &[batch(&[None], &[Some("NULL")])]);
        let expected = "\
\u{1b}[2m-[ ROW 1 ]-\u{1b}[0m
\u{1b}[1mn\u{1b}[0m    | \u{1b}[2mNULL\u{1b}[0m
\u{1b}[1mtext\u{1b}[0m | NULL
";
        assert_eq!(text, expected);
    }

    #[test]
    fn empty_result_says_so() {
        assert_eq!(vertical(Colour::Off, &[batch(&[], &[])]), "0 rows\n");
    }
}
