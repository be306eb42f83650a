// SPDX-License-Identifier: Apache-2.0
//! Writes results as tables for people.
//!
//! ```text
//! +---+-------+
//! | n | text  |
//! +---+-------+
//! | 1 | one   |
//! +---+-------+
//! ```
//!
//! [`Preview`] is for a terminal: it shows the first and the last rows, cuts wide cells and leaves
//! out columns in the middle until the table fits. [`Table`] is for everything else: it writes all
//! rows and all columns, and takes the widths of its columns from the first rows.

use std::{collections::VecDeque, io::Write};

use nearscan::arrow::{array::RecordBatch, datatypes::Schema};
use terminal_size::{Width, terminal_size};

use super::{
    ResultWriter, Sink, WriteError,
    cells::{self, Row, Side},
};

/// Rows a terminal shows from each end of a result.
const ROWS_PER_END: usize = 20;

/// Rows whose widths decide about the columns of a table that is not for a terminal.
const SAMPLE_ROWS: usize = 1000;

/// Widest cell on a terminal that is not the only column.
const CELL_WIDTH_MAX: usize = 50;

/// Narrowest width to which a column is cut before columns are left out; a date fits.
const CELL_WIDTH_MIN: usize = 10;

/// Width of a terminal that does not tell.
const WIDTH_DEFAULT: usize = 80;

/// Signs that a column costs besides its cells: a line and a space on each side.
const COLUMN_EXTRA: usize = 3;

/// The first and last rows of a result, for a terminal.
pub(super) struct Preview {
    sink: Sink,
    names: Row,
    sides: Vec<Side>,
    head: Vec<Row>,
    tail: VecDeque<Row>,
    row_count: usize,
    width_max: usize,
}

/// All rows of a result.
pub(super) struct Table {
    sink: Sink,
    names: Row,
    sides: Vec<Side>,
    sample: Vec<Row>,
    /// Set once the sample has decided.
    layout: Option<Layout>,
}

/// One column of a table, or the gap where columns are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Column {
    /// Index in the result; none for the gap.
    index: Option<usize>,
    width: usize,
    side: Side,
    /// Whether wider cells lose their end.
    is_cut: bool,
}

/// Which columns are shown, and how wide.
#[derive(Debug)]
struct Layout {
    columns: Vec<Column>,
}

impl Preview {
    pub(super) fn new(sink: Sink, schema: &Schema) -> Self {
        let width_max = terminal_size().map_or(WIDTH_DEFAULT, |(Width(width), _)| width.into());
        Self {
            sink,
            names: cells::names(schema),
            sides: cells::sides(schema),
            head: Vec::new(),
            tail: VecDeque::new(),
            row_count: 0,
            width_max,
        }
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
        let columns = layout.columns.iter().filter(|column| column.index.is_some()).count();
        if columns < self.names.len() {
            text.push_str(&format!(", {columns} of {} columns shown", self.names.len()));
        }
        text
    }
}

impl ResultWriter for Preview {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), WriteError> {
        let rows = batch.num_rows();
        let to_head = rows.min(ROWS_PER_END - self.head.len());
        self.head.extend(cells::rows(&batch.slice(0, to_head))?);
        // Only the last rows of a batch can be among the last rows of the result.
        let start = to_head.max(rows.saturating_sub(ROWS_PER_END));
        self.tail.extend(cells::rows(&batch.slice(start, rows - start))?);
        self.tail.drain(..self.tail.len().saturating_sub(ROWS_PER_END));
        self.row_count += rows;
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<(), WriteError> {
        let rows = || self.head.iter().chain(&self.tail);
        let layout = Layout::fit(&self.names, &self.sides, rows(), self.width_max);
        let mut text = layout.heading(&self.names);
        for row in &self.head {
            layout.push_row(row, &mut text);
        }
        if self.head.len() + self.tail.len() < self.row_count {
            layout.push_row(&vec!["…".to_owned(); self.names.len()], &mut text);
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

impl Table {
    pub(super) fn new(sink: Sink, schema: &Schema) -> Self {
        Self {
            sink,
            names: cells::names(schema),
            sides: cells::sides(schema),
            sample: Vec::new(),
            layout: None,
        }
    }

    /// Decides about the columns, and writes the heading and the rows of the sample.
    fn begin(&mut self) -> Result<&Layout, WriteError> {
        let layout = Layout::full(&self.names, &self.sides, self.sample.iter());
        let mut text = layout.heading(&self.names);
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
            if self.sample.len() >= SAMPLE_ROWS {
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

impl Layout {
    /// Makes every column as wide as its widest cell.
    fn full<'a>(names: &Row, sides: &[Side], rows: impl Iterator<Item = &'a Row>) -> Self {
        let mut widths: Vec<usize> = names.iter().map(|name| cells::width(name)).collect();
        for row in rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cells::width(cell));
            }
        }
        let columns = widths
            .into_iter()
            .zip(sides)
            .enumerate()
            .map(|(index, (width, side))| Column {
                index: Some(index),
                width,
                side: *side,
                is_cut: false,
            })
            .collect();
        Self { columns }
    }

    /// Makes the table fit into `width_max`: cuts the widest columns first, then leaves out columns
    /// in the middle.
    fn fit<'a>(
        names: &Row,
        sides: &[Side],
        rows: impl Iterator<Item = &'a Row>,
        width_max: usize,
    ) -> Self {
        let mut layout = Self::full(names, sides, rows);
        let width_cap = if layout.columns.len() > 1 { CELL_WIDTH_MAX } else { width_max };
        for column in &mut layout.columns {
            column.width = column.width.min(width_cap);
            column.is_cut = true;
        }
        while layout.width() > width_max {
            let over = layout.width() - width_max;
            let widest = layout.columns.iter_mut().max_by_key(|column| column.width);
            match widest {
                Some(column) if column.width > CELL_WIDTH_MIN => {
                    column.width =
                        CELL_WIDTH_MIN.max(column.width - over.min(column.width / 4 + 1));
                }
                _ => break,
            }
        }
        let gap = Column { index: None, width: 1, side: Side::Left, is_cut: true };
        while layout.width() > width_max && layout.columns.len() > 3 {
            let middle = layout.columns.len() / 2;
            match layout.columns.iter().position(|column| column.index.is_none()) {
                // The columns around the gap go next, from the longer side.
                Some(at) if at >= layout.columns.len() - at => drop(layout.columns.remove(at - 1)),
                Some(at) => drop(layout.columns.remove(at + 1)),
                None => layout.columns[middle] = gap,
            }
        }
        layout
    }

    fn width(&self) -> usize {
        self.columns.iter().map(|column| column.width + COLUMN_EXTRA).sum::<usize>() + 1
    }

    fn rule(&self) -> String {
        let mut text = String::from("+");
        for column in &self.columns {
            text.push_str(&"-".repeat(column.width + COLUMN_EXTRA - 1));
            text.push('+');
        }
        text.push('\n');
        text
    }

    fn heading(&self, names: &Row) -> String {
        let mut text = self.rule();
        self.push_row(names, &mut text);
        text.push_str(&self.rule());
        text
    }

    /// Writes one row, on as many lines as its cell with the most lines has.
    fn push_row(&self, row: &Row, text: &mut String) {
        let cells: Vec<Vec<&str>> = self
            .columns
            .iter()
            .map(|column| match column.index {
                Some(index) => row[index].lines().collect(),
                None => vec!["…"],
            })
            .collect();
        let line_count = cells.iter().map(Vec::len).max().unwrap_or(1).max(1);
        for line in 0..line_count {
            text.push('|');
            for (column, lines) in self.columns.iter().zip(&cells) {
                column.push_cell(lines.get(line).copied().unwrap_or(""), text);
            }
            text.push('\n');
        }
    }
}

impl Column {
    fn push_cell(&self, line: &str, text: &mut String) {
        // A row behind the sample may be wider than its column; outside a terminal it sticks out.
        let line = if self.is_cut { cells::cut(line, self.width) } else { line.to_owned() };
        let fill = " ".repeat(self.width.saturating_sub(cells::width(&line)));
        match self.side {
            Side::Left => text.push_str(&format!(" {line}{fill} |")),
            Side::Right => text.push_str(&format!(" {fill}{line} |")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::testing::{batch, written};

    fn preview(width_max: usize, batches: &[RecordBatch]) -> String {
        let open = |sink, schema: &nearscan::arrow::datatypes::SchemaRef| {
            Box::new(Preview { width_max, ..Preview::new(sink, schema) }) as Box<dyn ResultWriter>
        };
        String::from_utf8(written(open, batches)).unwrap()
    }

    fn table(batches: &[RecordBatch]) -> String {
        let open = |sink, schema: &nearscan::arrow::datatypes::SchemaRef| {
            Box::new(Table::new(sink, schema)) as Box<dyn ResultWriter>
        };
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
        assert!(preview(80, &[empty]).ends_with("+\n0 rows\n"));
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
    fn terminal_sees_both_ends() {
        let part = |range: std::ops::Range<i64>| {
            let numbers: Vec<Option<i64>> = range.map(Some).collect();
            batch(&numbers, &vec![None; numbers.len()])
        };
        let text = preview(80, &[part(0..15), part(15..95), part(95..100)]);
        let numbers: Vec<&str> =
            text.lines().filter_map(|line| line.split('|').nth(1).map(str::trim)).skip(1).collect();
        let mut expected: Vec<String> = (0..20).map(|number| number.to_string()).collect();
        expected.push("…".to_owned());
        expected.extend((80..100).map(|number| number.to_string()));
        assert_eq!(numbers, expected);
        assert!(text.ends_with("\n100 rows, 40 shown\n"), "{text}");
        assert!(preview(80, &[part(0..40)]).ends_with("\n40 rows\n"));
    }

    #[test]
    fn terminal_sees_no_line_longer_than_it_is_wide() {
        let long = "x".repeat(200);
        let text = preview(40, &[batch(&[Some(1)], &[Some(&long)])]);
        assert!(text.lines().all(|line| cells::width(line) <= 40), "{text}");
        assert!(text.contains("x… |"), "{text}");
    }

    #[test]
    fn terminal_loses_columns_in_the_middle() {
        let names: Row = (0..50).map(|index| format!("column_{index:03}")).collect();
        let sides = vec![Side::Left; 50];
        let layout = Layout::fit(&names, &sides, [].iter(), 80);
        assert!(layout.width() <= 80);
        let indexes: Vec<Option<usize>> =
            layout.columns.iter().map(|column| column.index).collect();
        let shown = [Some(0), Some(1), Some(2), None, Some(48), Some(49)];
        assert_eq!(indexes, shown);
    }
}
