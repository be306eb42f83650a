// SPDX-License-Identifier: Apache-2.0
//! Writes results as Markdown tables, row by row: their columns need not line up.

use std::io::Write;

use nearscan::arrow::{array::RecordBatch, datatypes::Schema};

use super::{
    ResultWriter, Sink, WriteError,
    cells::{self, Row, Side},
};

pub(super) struct Markdown {
    sink: Sink,
}

impl Markdown {
    /// Writes the heading.
    pub(super) fn new(mut sink: Sink, schema: &Schema) -> Result<Self, WriteError> {
        let rule = cells::sides(schema)
            .into_iter()
            .map(|side| match side {
                Side::Left => "---".to_owned(),
                Side::Right => "---:".to_owned(),
            })
            .collect();
        sink.write_all(line(&cells::names(schema)).as_bytes())?;
        sink.write_all(line(&rule).as_bytes())?;
        Ok(Self { sink })
    }
}

impl ResultWriter for Markdown {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), WriteError> {
        for row in cells::rows(batch)? {
            self.sink.write_all(line(&row).as_bytes())?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<(), WriteError> {
        Ok(self.sink.flush()?)
    }
}

fn line(row: &Row) -> String {
    let mut text = String::from("|");
    for cell in row {
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
