// SPDX-License-Identifier: Apache-2.0
//! Compares results with stored answers at scale factors 0.01 and 1.
//!
//! The answers of a scale factor are one file, `answers/sfN.csv`; each follows a line such as
//! `# q01`. An answer is CSV with a header, NULL an empty field (no column of an answer holds empty
//! strings), and `=` the value of the row above, which halves the answer of query 16. The type of
//! each cell comes from the result, and the stored text is read as that type:
//!
//! | column | rule |
//! |---|---|
//! | integer | the same number |
//! | decimal | the same number; the number of trailing zeros is free |
//! | date, string | the same text |
//! | quotient as decimal of s places | differs by less than 10^-s plus 1e-12 of the value |
//! | quotient as double | differs by at most 1e-9 of the value |
//!
//! Quotients are the columns that [`Query::quotients`] lists: averages and divisions. The stored
//! ones are doubles; DataFusion cuts or rounds them to a decimal of fixed places, and so each is
//! within one unit of its last place of the true value. Any other column that comes as a
//! floating-point number is wrong, because sums of decimals are exact.
//!
//! Rows must come in the order of the query's `ORDER BY`. Rows that tie in it may come in any order
//! among each other: both sides are sorted within the tie. No tie crosses a `LIMIT` at these scale
//! factors, so which rows are there is fixed.

mod cell;

use nearscan::arrow::array::RecordBatch;

use self::cell::{Cell, Kind};
use crate::{queries::Query, scale::ScaleFactor};

/// A difference between a result and the stored answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Difference {
    /// Another number of columns.
    #[error("{found} columns instead of {expected}")]
    Columns {
        /// Columns of the answer.
        expected: usize,
        /// Columns of the result.
        found: usize,
    },
    /// Another number of rows.
    #[error("{found} rows instead of {expected}")]
    Rows {
        /// Rows of the answer.
        expected: usize,
        /// Rows of the result.
        found: usize,
    },
    /// A column has a type that cannot hold the answer.
    #[error("column {column} has type {found}")]
    Type {
        /// Column, from 1.
        column: usize,
        /// Its type.
        found: String,
    },
    /// A cell holds something else.
    #[error("row {row}, column {column}: '{found}' instead of '{expected}'")]
    Cell {
        /// Row, from 1.
        row: usize,
        /// Column, from 1.
        column: usize,
        /// Cell of the answer.
        expected: String,
        /// Cell of the result.
        found: String,
    },
}

/// Returns the stored answer of a query as CSV, if there is one for this scale factor.
#[must_use]
pub fn find(scale: &ScaleFactor, number: u32) -> Option<&'static str> {
    let stored = match scale.value() {
        0.01 => include_str!("../answers/sf0.01.csv"),
        1.0 => include_str!("../answers/sf1.csv"),
        _ => return None,
    };
    section(stored, number)
}

/// Returns the part of a file between the name of a query and the next one.
fn section(stored: &str, number: u32) -> Option<&str> {
    let (_, answer) = stored.split_once(&format!("\n# q{number:02}\n"))?;
    Some(answer.find("\n# q").map_or(answer, |end| &answer[..=end]))
}

/// Compares a result with an answer, by the rules above.
///
/// # Errors
/// The first difference there is.
pub fn check(query: &Query, batches: &[RecordBatch], answer: &str) -> Result<(), Difference> {
    let answer = read_answer(answer);
    let (header, answer) =
        answer.split_first().map_or((&[][..], &[][..]), |(header, rows)| (header, rows));
    let kinds = kinds(query, batches)?;
    let found_columns = batches.first().map_or(header.len(), RecordBatch::num_columns);
    if found_columns != header.len() {
        return Err(Difference::Columns { expected: header.len(), found: found_columns });
    }
    let found: Vec<Vec<Cell>> =
        batches.iter().flat_map(|batch| cell::rows(batch, &kinds)).collect();
    if found.len() != answer.len() {
        return Err(Difference::Rows { expected: answer.len(), found: found.len() });
    }
    let expected: Vec<Vec<Cell>> = answer
        .iter()
        .map(|row| row.iter().zip(&kinds).map(|(text, kind)| kind.read(text)).collect())
        .collect();
    compare_columns(&expected, &found, query.order)?;
    let all: Vec<usize> = (0..header.len()).collect();
    let (expected, found) = (sort_ties(expected, query.order), sort_ties(found, query.order));
    compare_columns(&expected, &found, &all)
}

/// Decides for each column how its cells are read and compared.
fn kinds(query: &Query, batches: &[RecordBatch]) -> Result<Vec<Kind>, Difference> {
    let Some(batch) = batches.first() else { return Ok(Vec::new()) };
    let schema = batch.schema();
    let kind = |(index, field): (usize, &std::sync::Arc<nearscan::arrow::datatypes::Field>)| {
        Kind::of(field.data_type(), query.quotients.contains(&index)).ok_or_else(|| {
            Difference::Type { column: index + 1, found: field.data_type().to_string() }
        })
    };
    schema.fields().iter().enumerate().map(kind).collect()
}

fn compare_columns(
    expected: &[Vec<Cell>],
    found: &[Vec<Cell>],
    columns: &[usize],
) -> Result<(), Difference> {
    for (row, (expected, found)) in expected.iter().zip(found).enumerate() {
        for &column in columns {
            let (Some(expected), Some(found)) = (expected.get(column), found.get(column)) else {
                return Err(Difference::Columns { expected: expected.len(), found: found.len() });
            };
            if !found.matches(expected) {
                return Err(Difference::Cell {
                    row: row + 1,
                    column: column + 1,
                    expected: expected.to_string(),
                    found: found.to_string(),
                });
            }
        }
    }
    Ok(())
}

/// Sorts rows that are alike in the columns of `order`, which are next to each other.
fn sort_ties(mut rows: Vec<Vec<Cell>>, order: &[usize]) -> Vec<Vec<Cell>> {
    let ties = |one: &Vec<Cell>, other: &Vec<Cell>| {
        order.iter().all(|&column| one[column].text() == other[column].text())
    };
    for tie in rows.chunk_by_mut(ties) {
        tie.sort_by_cached_key(|row| row.iter().map(Cell::text).collect::<Vec<_>>());
    }
    rows
}

/// Reads an answer: CSV with a header, in which a cell may repeat the one above it.
fn read_answer(text: &str) -> Vec<Vec<String>> {
    let mut rows = read_csv(text);
    for row in 1..rows.len() {
        let (above, below) = rows.split_at_mut(row);
        let cells = above.last().into_iter().flatten().zip(below.first_mut().into_iter().flatten());
        cells.filter(|(_, cell)| *cell == "=").for_each(|(above, cell)| cell.clone_from(above));
    }
    rows
}

/// Reads CSV; quotes as in RFC 4180.
fn read_csv(text: &str) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let mut row = Vec::new();
    let mut field = String::new();
    let mut is_quoted = false;
    let mut signs = text.chars().peekable();
    while let Some(sign) = signs.next() {
        match (sign, is_quoted) {
            ('"', true) if signs.peek() == Some(&'"') => {
                field.push('"');
                signs.next();
            }
            ('"', _) => is_quoted = !is_quoted,
            (',', false) => row.push(std::mem::take(&mut field)),
            ('\n', false) => {
                row.push(std::mem::take(&mut field));
                rows.push(std::mem::take(&mut row));
            }
            ('\r', false) => {}
            (sign, _) => field.push(sign),
        }
    }
    if !field.is_empty() || !row.is_empty() {
        row.push(field);
        rows.push(row);
    }
    rows
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use nearscan::arrow::array::{ArrayRef, Int64Array, StringArray};
    use rstest::rstest;

    /// A query whose result is ordered by its first column.
    const QUERY: Query = Query { number: 1, sql: "", order: &[0], quotients: &[] };
    const ANSWER: &str = "k,v\n1,\"b,\"\"x\"\"\"\n1,a\n2,\n";

    fn result(keys: &[i64], values: &[Option<&str>]) -> Vec<RecordBatch> {
        let keys: ArrayRef = Arc::new(Int64Array::from(keys.to_vec()));
        let values: ArrayRef = Arc::new(StringArray::from(values.to_vec()));
        vec![
            RecordBatch::try_from_iter_with_nullable([("k", keys, true), ("v", values, true)])
                .unwrap(),
        ]
    }

    #[rstest]
    #[case(&[1, 1, 2], &[Some("a"), Some("b,\"x\""), None])]
    #[case(&[1, 1, 2], &[Some("b,\"x\""), Some("a"), None])]
    fn rows_that_tie_may_come_in_any_order(#[case] keys: &[i64], #[case] values: &[Option<&str>]) {
        assert_eq!(check(&QUERY, &result(keys, values), ANSWER), Ok(()));
    }

    #[rstest]
    #[case(&[1, 1], &[Some("a"), None], "2 rows instead of 3")]
    #[case(&[2, 1, 1], &[None, Some("a"), Some("b,\"x\"")], "row 1, column 1: '2' instead of '1'")]
    #[case(&[1, 1, 2], &[Some("a"), Some("b"), None], "row 2, column 2: 'b' instead of 'b,\"x\"'")]
    #[case(&[1, 1, 2], &[Some("a"), Some("b,\"x\""), Some("c")], "row 3, column 2: 'c' instead of 'NULL'")]
    fn wrong_result_is_detected(
        #[case] keys: &[i64],
        #[case] values: &[Option<&str>],
        #[case] expected: &str,
    ) {
        let difference = check(&QUERY, &result(keys, values), ANSWER).unwrap_err();
        assert_eq!(difference.to_string(), expected);
    }

    #[test]
    fn wrong_shape_is_detected() {
        let difference = check(&QUERY, &result(&[], &[]), "k\n").unwrap_err();
        assert_eq!(difference, Difference::Columns { expected: 1, found: 2 });
        let value: ArrayRef = Arc::new(nearscan::arrow::array::Float64Array::from(vec![1.0]));
        let batch = RecordBatch::try_from_iter([("k", value)]).unwrap();
        let difference = check(&QUERY, &[batch], "k\n1.0\n").unwrap_err();
        assert_eq!(difference, Difference::Type { column: 1, found: "Float64".to_owned() });
    }

    #[test]
    fn cell_may_repeat_the_one_above() {
        let rows = read_answer("k,v\n1,a\n=,b\n=,=\n2,=\n,c\n=,=\n");
        let expected = ["k v", "1 a", "1 b", "1 b", "2 b", " c", " c"];
        assert_eq!(rows.iter().map(|row| row.join(" ")).collect::<Vec<_>>(), expected);
        // It counts: a wrong cell below it, or above, is noticed.
        let answer = "k,v\n1,a\n=,b\n2,=\n";
        let check = |values: &[Option<&str>]| check(&QUERY, &result(&[1, 1, 2], values), answer);
        assert_eq!(check(&[Some("a"), Some("b"), Some("b")]), Ok(()));
        let difference = check(&[Some("a"), Some("b"), Some("c")]).unwrap_err();
        assert_eq!(difference.to_string(), "row 3, column 2: 'c' instead of 'b'");
    }

    #[test]
    fn answer_ends_where_the_next_one_begins() {
        let stored = "# about\n# q01\nk\n1\n# q02\nk\n\n";
        assert_eq!(section(stored, 1), Some("k\n1\n"));
        assert_eq!(section(stored, 2), Some("k\n\n"));
        assert_eq!(section(stored, 3), None);
    }

    #[test]
    fn every_query_has_an_answer_at_both_scale_factors() {
        for (scale, rows_of_16) in [("0.01", 296), ("1", 18_314)] {
            let scale: ScaleFactor = scale.parse().unwrap();
            for query in &crate::queries::QUERIES {
                let rows = read_answer(find(&scale, query.number).unwrap());
                assert!(rows.len() > 1 && rows.iter().all(|row| row.len() == rows[0].len()));
            }
            assert_eq!(read_answer(find(&scale, 16).unwrap()).len(), 1 + rows_of_16);
        }
    }
}
