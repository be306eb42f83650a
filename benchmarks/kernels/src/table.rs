// SPDX-License-Identifier: Apache-2.0
//! Defines a table of named columns and rows of cells, and formats it as text and as JSON objects.

use std::fmt;

use serde::ser::{Serialize, SerializeMap, SerializeStruct, Serializer};

/// A table.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Name for programs.
    pub name: &'static str,
    /// The title, one line; says `modelled` or `measured` where the columns do not.
    pub title: String,
    /// The columns.
    pub columns: Vec<Column>,
    /// Rows, with a cell for each column.
    pub rows: Vec<Vec<Cell>>,
    /// Notes on the table, a line each.
    pub notes: Vec<String>,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Name for programs.
    pub name: String,
    /// Heading for people.
    pub heading: String,
}

/// The cell of a row under a column.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// Words.
    Text(String),
    /// A number, shown with so many places.
    Number(f64, usize),
    /// A share, shown in percent with its sign.
    Error(f64),
    /// The build does not fit the part.
    Refused,
    /// There is no figure.
    Nothing,
}

impl Table {
    /// A table without rows.
    pub(crate) fn new(
        name: &'static str,
        title: impl Into<String>,
        columns: &[(&str, &str)],
    ) -> Self {
        let column = |(name, heading): &(&str, &str)| Column {
            name: (*name).to_owned(),
            heading: (*heading).to_owned(),
        };
        let columns = columns.iter().map(column).collect();
        Self { name, title: title.into(), columns, rows: Vec::new(), notes: Vec::new() }
    }
}

impl Cell {
    /// Words.
    pub(crate) fn text(text: impl fmt::Display) -> Self {
        Self::Text(text.to_string())
    }

    /// A number that may be missing.
    pub(crate) fn number(value: Option<f64>, places: usize) -> Self {
        value.map_or(Self::Nothing, |value| Self::Number(value, places))
    }

    /// Returns the relative difference of a figure from the study's, if both are there.
    pub(crate) fn error(modelled: Option<f64>, study: Option<f64>) -> Self {
        match (modelled, study) {
            (Some(modelled), Some(study)) => Self::Error(modelled / study - 1.0),
            _ => Self::Nothing,
        }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.pad(text),
            Self::Number(value, places) => f.pad(&format!("{value:.places$}")),
            Self::Error(share) => f.pad(&format!("{:+.1} %", 100.0 * share)),
            Self::Refused => f.pad("refused"),
            Self::Nothing => f.pad("-"),
        }
    }
}

impl fmt::Display for Table {
    /// Title, headings, rows, notes. Columns of words are flush left, the others right.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headings = self.columns.iter().map(|column| column.heading.clone()).collect();
        let rows = self.rows.iter().map(|row| row.iter().map(Cell::to_string).collect());
        let lines: Vec<Vec<String>> = std::iter::once(headings).chain(rows).collect();
        let width = |index: usize| {
            lines.iter().filter_map(|line| line.get(index)).map(|cell| cell.chars().count()).max()
        };
        let widths: Vec<usize> =
            (0..self.columns.len()).map(|index| width(index).unwrap_or(0)).collect();
        let is_word = |row: &Vec<Cell>, index| matches!(row.get(index), Some(Cell::Text(_)));
        let is_words: Vec<bool> = (0..self.columns.len())
            .map(|index| self.rows.iter().all(|row| is_word(row, index)))
            .collect();
        writeln!(f, "{}", self.title)?;
        for line in &lines {
            let mut text = String::new();
            for (index, (cell, width)) in line.iter().zip(&widths).enumerate() {
                text.push_str(&match is_words[index] {
                    true => format!("  {cell:<width$}"),
                    false => format!("  {cell:>width$}"),
                });
            }
            writeln!(f, "{}", text.trim_end())?;
        }
        for note in &self.notes {
            writeln!(f, "  {note}")?;
        }
        Ok(())
    }
}

impl Serialize for Table {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let rows: Vec<Row<'_>> =
            self.rows.iter().map(|cells| Row { columns: &self.columns, cells }).collect();
        let mut table = serializer.serialize_struct("Table", 4)?;
        table.serialize_field("name", self.name)?;
        table.serialize_field("title", &self.title)?;
        table.serialize_field("rows", &rows)?;
        table.serialize_field("notes", &self.notes)?;
        table.end()
    }
}

/// A row as an object.
struct Row<'a> {
    columns: &'a [Column],
    cells: &'a [Cell],
}

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut row = serializer.serialize_map(Some(self.columns.len()))?;
        for (column, cell) in self.columns.iter().zip(self.cells) {
            row.serialize_entry(&column.name, cell)?;
        }
        row.end()
    }
}

impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::Number(value, _) | Self::Error(value) => serializer.serialize_f64(*value),
            Self::Refused => serializer.serialize_str("refused"),
            Self::Nothing => serializer.serialize_none(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let columns = [("kernel", "kernel"), ("study", "study"), ("error", "error")];
        let mut table = Table::new("t", "Gains", &columns);
        let study = Some(8.8);
        table.rows.push(vec![
            Cell::text("Vector Addition"),
            Cell::number(study, 1),
            Cell::error(Some(8.36), study),
        ]);
        table.rows.push(vec![Cell::text("Count"), Cell::Refused, Cell::error(None, study)]);
        table.notes.push("A note.".to_owned());
        table
    }

    #[test]
    fn columns_line_up() {
        let expected = "\
Gains
  kernel             study   error
  Vector Addition      8.8  -5.0 %
  Count            refused       -
  A note.
";
        assert_eq!(table().to_string(), expected);
    }

    #[test]
    fn rows_are_objects_with_whole_numbers() {
        let json = serde_json::to_value(table()).unwrap();
        assert_eq!(json["rows"][0]["study"], 8.8);
        assert!((json["rows"][0]["error"].as_f64().unwrap() + 0.05).abs() < 1e-9);
        assert_eq!(json["rows"][1]["study"], "refused");
        assert_eq!(json["rows"][1]["error"], serde_json::Value::Null);
    }
}
