// SPDX-License-Identifier: Apache-2.0
//! Writes results as Markdown tables, row by row: their columns need not line up.

use std::io::Write;

use nearscan::arrow::{array::RecordBatch, datatypes::Schema};

use super::{
    ResultWriter, Sink, WriteError,
    cells::{self, Side},
};

pub(super) struct Markdown {
    sink: Sink,
}

impl Markdown {
    /// Writes the heading.
    pub(super) fn new(mut sink: Sink, schema: &Schema) -> Result<Self, WriteError> {
        let names = cells::names(schema);
        let rule = cells::sides(schema).into_iter().map(|side| match side {
            Side::Left => "---",
            Side::Right => "---:",
        });
        sink.write_all(line(names.iter().map(String::as_str)).as_bytes())?;
        sink.write_all(line(rule).as_bytes())?;
        Ok(Self { sink })
    }
}

impl ResultWriter for Markdown {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), WriteError> {
        for row in cells::rows(batch)? {
            self.sink.write_all(line(row.iter().map(|cell| cell.text.as_str())).as_bytes())?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<(), WriteError> {
        Ok(self.sink.flush()?)
    }
}

fn line<'a>(cells: impl Iterator<Item = &'a str>) -> String {
    let mut text = String::from("|");
    for cell in cells {
        let cell = cell.replace('\\', "\\\\").replace('|', "\\|").replace('\n', "<br>");
        text.push_str(&format!(" {cell} |"));
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::testing::{batch, written};

    #[test]
    fn keeps_its_columns_whatever_the_cells_hold() {
        let batch = batch(&[Some(1), None], &[Some("a|b"), Some("c\nd")]);
        let open = |sink, schema: &nearscan::arrow::datatypes::SchemaRef| {
            Box::new(Markdown::new(sink, schema).unwrap()) as Box<dyn ResultWriter>
        };
        let expected =
            "| n | text |\n| ---: | --- |\n| 1 | a\\|b |\n| NULL | c<br>d |\n".as_bytes();
        assert_eq!(written(open, &[batch]), expected);
    }
}
