// SPDX-License-Identifier: Apache-2.0
//! Lays out the columns of a table for people, and draws its lines.
//!
//! Widths are those of what a terminal shows: styles are put around a text after it was cut and
//! before it is filled up, so that they count for nothing.

use nearscan::arrow::datatypes::Schema;

use super::cells::{self, Cell, Row, Side};
use crate::style::{Colour, Style};

/// Widest cell on a terminal that is not the only column.
const CELL_WIDTH_MAX: usize = 50;

/// Narrowest width to which a column is cut before columns are left out; a date fits.
const CELL_WIDTH_MIN: usize = 10;

/// Signs that a column costs besides its cells: a line and a space on each side.
const COLUMN_EXTRA: usize = 3;

/// What stands for rows and columns that are left out.
const GAP: &str = "…";

/// What stands above the rows.
#[derive(Debug)]
pub(super) struct Heading {
    pub(super) names: Vec<String>,
    /// Types of the columns; none if they are not shown.
    types: Option<Vec<String>>,
    sides: Vec<Side>,
}

/// Which columns are shown, how wide, and whether they are styled.
#[derive(Debug)]
pub(super) struct Layout {
    columns: Vec<Column>,
    colour: Colour,
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

impl Heading {
    /// The names of the columns.
    pub(super) fn plain(schema: &Schema) -> Self {
        Self { names: cells::names(schema), types: None, sides: cells::sides(schema) }
    }

    /// The names of the columns with their types.
    pub(super) fn typed(schema: &Schema) -> Self {
        Self { types: Some(cells::types(schema)), ..Self::plain(schema) }
    }
}

impl Layout {
    /// Makes every column as wide as its widest cell.
    pub(super) fn full<'a>(
        heading: &Heading,
        rows: impl Iterator<Item = &'a Row>,
        colour: Colour,
    ) -> Self {
        let mut layout = Self::of_values(heading, rows, colour);
        layout.make_room_for_types(heading, usize::MAX);
        layout
    }

    /// Makes the table fit into `width_max`: cuts the types of short columns, then the widest
    /// columns, then leaves out columns in the middle.
    pub(super) fn fit<'a>(
        heading: &Heading,
        rows: impl Iterator<Item = &'a Row>,
        colour: Colour,
        width_max: usize,
    ) -> Self {
        let mut layout = Self::of_values(heading, rows, colour);
        let width_cap = if layout.columns.len() > 1 { CELL_WIDTH_MAX } else { width_max };
        for column in &mut layout.columns {
            column.width = column.width.min(width_cap);
            column.is_cut = true;
        }
        let of_values = layout.columns.clone();
        if layout.width() > width_max {
            // Values are cut anyway, so that types may take a little more of their room.
            layout.make_room_for_types(heading, CELL_WIDTH_MIN);
            layout.cut_columns(width_max);
        } else {
            layout.make_room_for_types(heading, width_max);
        }
        if layout.width() > width_max {
            layout.columns = of_values;
            layout.cut_columns(width_max);
            layout.leave_out_columns(width_max);
        }
        layout
    }

    /// Makes every column as wide as its name and its widest cell.
    fn of_values<'a>(
        heading: &Heading,
        rows: impl Iterator<Item = &'a Row>,
        colour: Colour,
    ) -> Self {
        let mut widths: Vec<usize> = heading.names.iter().map(|name| cells::width(name)).collect();
        for row in rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cells::width(&cell.text));
            }
        }
        let column = |(index, (width, side)): (usize, (usize, &Side))| Column {
            index: Some(index),
            width,
            side: *side,
            is_cut: false,
        };
        let columns = widths.into_iter().zip(&heading.sides).enumerate().map(column).collect();
        Self { columns, colour }
    }

    fn make_room_for_types(&mut self, heading: &Heading, width_max: usize) {
        for (column, kind) in self.columns.iter_mut().zip(heading.types.iter().flatten()) {
            column.width = column.width.max(cells::width(kind).min(width_max));
        }
    }

    fn cut_columns(&mut self, width_max: usize) {
        while self.width() > width_max {
            let over = self.width() - width_max;
            let widest = self.columns.iter_mut().max_by_key(|column| column.width);
            match widest {
                Some(column) if column.width > CELL_WIDTH_MIN => {
                    column.width =
                        CELL_WIDTH_MIN.max(column.width - over.min(column.width / 4 + 1));
                }
                _ => break,
            }
        }
    }

    fn leave_out_columns(&mut self, width_max: usize) {
        let gap = Column { index: None, width: 1, side: Side::Left, is_cut: true };
        while self.width() > width_max && self.columns.len() > 3 {
            let middle = self.columns.len() / 2;
            match self.columns.iter().position(|column| column.index.is_none()) {
                // The columns around the gap go next, from the longer side.
                Some(at) if at >= self.columns.len() - at => drop(self.columns.remove(at - 1)),
                Some(at) => drop(self.columns.remove(at + 1)),
                None => self.columns[middle] = gap,
            }
        }
    }

    /// Number of columns that are not left out.
    pub(super) fn shown_count(&self) -> usize {
        self.columns.iter().filter(|column| column.index.is_some()).count()
    }

    /// Width of every line.
    fn width(&self) -> usize {
        self.columns.iter().map(|column| column.width + COLUMN_EXTRA).sum::<usize>() + 1
    }

    /// Draws the line around the rows.
    pub(super) fn rule(&self) -> String {
        let mut text = String::from("+");
        for column in &self.columns {
            text.push_str(&"-".repeat(column.width + COLUMN_EXTRA - 1));
            text.push('+');
        }
        text.push('\n');
        text
    }

    /// Draws what stands above the rows.
    pub(super) fn heading(&self, heading: &Heading) -> String {
        let mut text = self.rule();
        self.push_cells(|index| (heading.names[index].as_str(), Some(Style::Name)), &mut text);
        if let Some(types) = &heading.types {
            self.push_cells(|index| (types[index].as_str(), Some(Style::Dim)), &mut text);
        }
        text.push_str(&self.rule());
        text
    }

    /// Draws one row, on as many lines as its cell with the most lines has.
    pub(super) fn push_row(&self, row: &[Cell], text: &mut String) {
        let cell = |index: usize| {
            let cell = &row[index];
            (cell.text.as_str(), cell.is_null.then_some(Style::Dim))
        };
        self.push_cells(cell, text);
    }

    /// Draws what stands for rows that are left out.
    pub(super) fn push_gap(&self, text: &mut String) {
        self.push_cells(|_| (GAP, None), text);
    }

    fn push_cells<'a>(&self, cell: impl Fn(usize) -> (&'a str, Option<Style>), text: &mut String) {
        let cells: Vec<(Vec<&str>, Option<Style>)> = self
            .columns
            .iter()
            .map(|column| {
                let (text, style) = column.index.map_or((GAP, None), &cell);
                (text.lines().collect(), style)
            })
            .collect();
        let line_count = cells.iter().map(|(lines, _)| lines.len()).max().unwrap_or(1).max(1);
        for line in 0..line_count {
            text.push('|');
            for (column, (lines, style)) in self.columns.iter().zip(&cells) {
                let line = lines.get(line).copied().unwrap_or("");
                column.push_cell(line, *style, self.colour, text);
            }
            text.push('\n');
        }
    }
}

impl Column {
    fn push_cell(&self, line: &str, style: Option<Style>, colour: Colour, text: &mut String) {
        // A row behind the sample may be wider than its column; outside a terminal it sticks out.
        let line = if self.is_cut { cells::cut(line, self.width) } else { line.to_owned() };
        let fill = " ".repeat(self.width.saturating_sub(cells::width(&line)));
        let line = style.map_or_else(|| line.clone(), |style| colour.paint(style, &line));
        match self.side {
            Side::Left => text.push_str(&format!(" {line}{fill} |")),
            Side::Right => text.push_str(&format!(" {fill}{line} |")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heading(names: &[&str], types: Option<&[&str]>) -> Heading {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let sides = vec![Side::Left; names.len()];
        Heading { names: owned(names), types: types.map(owned), sides }
    }

    #[test]
    fn terminal_loses_columns_in_the_middle() {
        let names: Vec<String> = (0..50).map(|index| format!("column_{index:03}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let layout = Layout::fit(&heading(&names, None), [].iter(), Colour::Off, 80);
        assert!(layout.width() <= 80);
        let indexes: Vec<Option<usize>> =
            layout.columns.iter().map(|column| column.index).collect();
        let shown = [Some(0), Some(1), Some(2), None, Some(48), Some(49)];
        assert_eq!(indexes, shown);
        assert_eq!(layout.shown_count(), 5);
    }

    #[test]
    fn types_widen_their_columns_where_there_is_room() {
        let heading = heading(&["a", "b"], Some(&["bigint", "timestamptz"]));
        let expected = "\
+--------+-------------+
| a      | b           |
| bigint | timestamptz |
+--------+-------------+
";
        let layout = Layout::fit(&heading, [].iter(), Colour::Off, 24);
        assert_eq!(layout.heading(&heading), expected);
        let layout = Layout::full(&heading, [].iter(), Colour::Off);
        assert_eq!(layout.heading(&heading), expected);
    }

    #[test]
    fn types_are_cut_before_values() {
        let heading = heading(&["a", "b"], Some(&["bigint", "timestamptz"]));
        let row = ["12345", "6789"].map(|text| Cell { text: text.to_owned(), is_null: false });
        let layout = Layout::fit(&heading, [row.to_vec()].iter(), Colour::Off, 23);
        let mut text = layout.heading(&heading);
        layout.push_row(&row, &mut text);
        let expected = "\
+-------+------+
| a     | b    |
| bigi… | tim… |
+-------+------+
| 12345 | 6789 |
";
        assert_eq!(text, expected);
    }

    #[test]
    fn values_that_are_cut_anyway_make_room_for_types() {
        let heading = heading(&["a", "b"], Some(&["bigint", "varchar"]));
        let row =
            ["1", "a text that is cut"].map(|text| Cell { text: text.to_owned(), is_null: false });
        let layout = Layout::fit(&heading, [row.to_vec()].iter(), Colour::Off, 23);
        let mut text = layout.heading(&heading);
        layout.push_row(&row, &mut text);
        let expected = "\
+--------+------------+
| a      | b          |
| bigint | varchar    |
+--------+------------+
| 1      | a text th… |
";
        assert_eq!(text, expected);
    }

    #[test]
    fn styles_are_around_the_text_and_count_for_no_width() {
        let heading = heading(&["a"], Some(&["bigint"]));
        let cells = [("NULL", true), ("NULL", false)]
            .map(|(text, is_null)| Cell { text: text.to_owned(), is_null });
        let [null, text_null] = cells.map(|cell| vec![cell]);
        let layout = Layout::full(&heading, [].iter(), Colour::On);
        let mut text = layout.heading(&heading);
        layout.push_row(&null, &mut text);
        layout.push_row(&text_null, &mut text);
        let expected = "\
+--------+
| \u{1b}[1ma\u{1b}[0m      |
| \u{1b}[2mbigint\u{1b}[0m |
+--------+
| \u{1b}[2mNULL\u{1b}[0m   |
| NULL   |
";
        assert_eq!(text, expected);
    }
}
