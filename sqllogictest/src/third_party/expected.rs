// SPDX-License-Identifier: Apache-2.0
//! Compares the rows of a result with those that a file expects.
//!
//! A file has its rows in one of three forms: one value a line, the values of a row on a line, or
//! the hash of all values. Where rows are sorted, they are sorted by the texts that the suite's own
//! engine writes; where those cannot be told, rows are looked for one by one.

use md5::{Digest, Md5};

use super::{
    directive::{Dialect, Sort},
    value::Value,
};

/// Rows up to which each expected row is looked for among all that were found, which takes their
/// square.
const ROWS_LOOKED_FOR_MAX: usize = 2_000;

/// A line that represents all values.
const HASHES: &str = " values hashing to ";

/// The outcome of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The same.
    Same,
    /// The same rows, in an order that a file expects and its query may not promise.
    OtherOrder,
    /// The hash of other values, or of the same in another order: a hash does not say which.
    OtherHash,
    /// Not the same.
    Differs,
    /// The lines are of a form that is not read, such as a pattern.
    Unreadable,
}

/// A result with all that is needed to compare it.
#[derive(Debug, Clone, Copy)]
pub struct Found<'a> {
    /// The rows.
    pub rows: &'a [Vec<Value>],
    /// Number of columns, which no row may show.
    pub columns: usize,
    /// Letters of the columns, as far as the file names them.
    pub letters: &'a str,
    /// The order in which rows are compared.
    pub sort: Sort,
    /// Whose file it is.
    pub dialect: Dialect,
}

impl Found<'_> {
    /// Compares with the lines of a file.
    #[must_use]
    pub fn compare(&self, lines: &[String]) -> Verdict {
        if let [line] = lines
            && let Some((count, hash)) = line.split_once(HASHES)
        {
            return self.compare_hash(count, hash);
        }
        if lines.iter().any(|line| line.starts_with("<REGEX>") || line.starts_with("<!REGEX>"))
            || lines.iter().any(|line| line.starts_with("<FILE>") || line.contains("<slt:"))
        {
            return Verdict::Unreadable;
        }
        if self.sort == Sort::Values {
            return self.compare_values(lines);
        }
        let Some(expected) = self.expected_rows(lines) else { return Verdict::Differs };
        if expected.len() != self.rows.len() {
            return Verdict::Differs;
        }
        let sorted = self.sorted();
        if expected.iter().zip(&sorted).all(|(expected, row)| self.is_row(row, expected)) {
            return Verdict::Same;
        }
        match (self.has_all(&expected), self.sort) {
            (true, Sort::Rows) => Verdict::Same,
            (true, _) => Verdict::OtherOrder,
            (false, _) => Verdict::Differs,
        }
    }

    /// The lines that this result would have in a file.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let separator = if self.dialect == Dialect::Datafusion { " " } else { "\t" };
        self.sorted().iter().map(|row| self.written(row).join(separator)).collect()
    }

    fn letter(&self, column: usize) -> char {
        self.letters.chars().nth(column).unwrap_or('?')
    }

    fn written(&self, row: &[Value]) -> Vec<String> {
        let written =
            |(column, value): (usize, &Value)| value.written(self.letter(column), self.dialect);
        row.iter().enumerate().map(written).collect()
    }

    /// The rows in the order in which they are compared.
    fn sorted(&self) -> Vec<&Vec<Value>> {
        let mut rows: Vec<&Vec<Value>> = self.rows.iter().collect();
        if self.sort != Sort::Unsorted {
            rows.sort_by_cached_key(|row| self.written(row));
        }
        rows
    }

    /// The lines as rows; a row is one cell if its values cannot be distinguished.
    fn expected_rows<'a>(&self, lines: &'a [String]) -> Option<Vec<Vec<&'a str>>> {
        let columns = self.columns.max(1);
        let are_rows = match self.dialect {
            Dialect::Datafusion => true,
            Dialect::Duckdb => columns == 1 || lines.iter().any(|line| line.contains('\t')),
            Dialect::Sqlite => false,
        };
        if are_rows {
            let cells = |line: &'a String| match self.dialect {
                Dialect::Duckdb if columns > 1 => line.split('\t').collect(),
                _ => vec![line.as_str()],
            };
            return Some(lines.iter().map(cells).collect());
        }
        let values: Vec<&str> = lines.iter().map(String::as_str).collect();
        // Some suites of SQLite's form have rows on lines after all.
        if self.dialect == Dialect::Sqlite && values.len() != self.rows.len() * columns {
            return Some(values.into_iter().map(|line| vec![line]).collect());
        }
        values
            .len()
            .is_multiple_of(columns)
            .then(|| values.chunks(columns).map(<[&str]>::to_vec).collect())
    }

    fn is_row(&self, row: &[Value], expected: &[&str]) -> bool {
        if row.len() == expected.len() {
            let mut cells = row.iter().zip(expected).enumerate();
            let is = |(column, (value, cell)): (usize, (&Value, &&str))| {
                value.is(cell, self.letter(column), self.dialect)
            };
            if cells.all(is) {
                return true;
            }
        }
        match expected {
            [line] => self.is_line(row, line),
            _ => false,
        }
    }

    /// Whether the words of a line are those of the values, one after the other: a text may have
    /// several.
    fn is_line(&self, row: &[Value], line: &str) -> bool {
        let mut words = line.split_whitespace();
        for (column, value) in row.iter().enumerate() {
            let letter = self.letter(column);
            let text = value.written(letter, self.dialect);
            let mut parts = text.split_whitespace().peekable();
            let Some(first) = parts.next() else { continue };
            let Some(word) = words.next() else { return false };
            if parts.peek().is_none() {
                if !value.is(word, letter, self.dialect) && word != first {
                    return false;
                }
            } else if word != first || !parts.all(|part| words.next() == Some(part)) {
                return false;
            }
        }
        words.next().is_none()
    }

    /// Whether every expected row is there, in any order.
    fn has_all(&self, expected: &[Vec<&str>]) -> bool {
        if expected.len() > ROWS_LOOKED_FOR_MAX {
            return false;
        }
        let mut left: Vec<&Vec<Value>> = self.rows.iter().collect();
        expected.iter().all(|expected| {
            let place = left.iter().position(|row| self.is_row(row, expected));
            place.map(|place| left.swap_remove(place)).is_some()
        })
    }

    fn compare_values(&self, lines: &[String]) -> Verdict {
        let mut found: Vec<(String, &Value, char)> = Vec::new();
        for row in self.rows {
            for (column, value) in row.iter().enumerate() {
                let letter = self.letter(column);
                found.push((value.written(letter, self.dialect), value, letter));
            }
        }
        found.sort_by(|(one, ..), (other, ..)| one.cmp(other));
        let by_words = lines.len() != found.len();
        let mut expected: Vec<&str> = match by_words {
            true => lines.iter().flat_map(|line| line.split_whitespace()).collect(),
            false => lines.iter().map(String::as_str).collect(),
        };
        expected.sort_unstable();
        let same = expected.len() == found.len()
            && expected.iter().zip(&found).all(|(expected, (text, value, letter))| {
                text == expected || value.is(expected, *letter, self.dialect)
            });
        if same { Verdict::Same } else { Verdict::Differs }
    }

    fn compare_hash(&self, count: &str, hash: &str) -> Verdict {
        let mut values: Vec<String> =
            self.sorted().into_iter().flat_map(|row| self.written(row)).collect();
        if self.sort == Sort::Values {
            values.sort();
        }
        if count.trim() != values.len().to_string() {
            return Verdict::Differs;
        }
        if digest(&values) == hash.trim() {
            return Verdict::Same;
        }
        match (self.sort, self.rows.len()) {
            (Sort::Unsorted, 2..) => Verdict::OtherHash,
            (Sort::Unsorted | Sort::Rows | Sort::Values, _) => Verdict::Differs,
        }
    }
}

/// The hash of values, each with a line feed behind it.
fn digest(values: &[String]) -> String {
    let mut hash = Md5::new();
    for value in values {
        hash.update(value);
        hash.update("\n");
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;
