// SPDX-License-Identifier: Apache-2.0
//! The operations: a query for each, and its rows by the meaning of SQL, computed a row at a time
//! from the values that were written.

use std::collections::BTreeMap;

use super::{
    cells::{Cell, Float, Row},
    types::{Kind, StoredType},
};

/// The first key that most queries read, so that a footer alone answers none of them.
const KEY_MIN: usize = 100;

/// Numbers of the values that queries name.
const LIMIT: usize = 4;
const LIST: [usize; 5] = [1, 5, 7, 9, 10];

const TOP: usize = 5;

/// A column of the table.
pub(crate) struct Operation {
    pub(crate) name: &'static str,
    /// The query: `T` is the table, `VALUE` and `LIST` are values of the column.
    pub(crate) sql: &'static str,
    /// Returns the rows of the query, in its order; nothing where SQL refuses it.
    pub(crate) rows: fn(&StoredType, &[Cell]) -> Option<Vec<Row>>,
    pub(crate) is_ordered: bool,
}

const fn operation(
    name: &'static str,
    sql: &'static str,
    rows: fn(&StoredType, &[Cell]) -> Option<Vec<Row>>,
) -> Operation {
    Operation { name, sql, rows, is_ordered: false }
}

/// All of them, in the order of the table.
pub(crate) static OPERATIONS: &[Operation] = &[
    operation("compare", "SELECT k FROM T WHERE v <= VALUE", compare),
    operation("IN", "SELECT k FROM T WHERE v IN (LIST)", listed),
    operation("IS NULL", "SELECT k FROM T WHERE v IS NULL", is_null),
    operation("LIKE", "SELECT k FROM T WHERE v LIKE '%b%'", like),
    operation("rows", "SELECT k, v FROM T WHERE k >= 100", project),
    operation("COUNT", "SELECT count(v) FROM T WHERE k >= 100", count),
    operation("SUM", "SELECT sum(v) FROM T WHERE k >= 100", sum),
    operation("AVG", "SELECT avg(v) FROM T WHERE k >= 100", average),
    operation("MIN, MAX", "SELECT min(v), max(v) FROM T WHERE k >= 100", extremes),
    operation("GROUP BY", "SELECT v, count(*) FROM T GROUP BY v", groups),
    Operation {
        name: "top",
        sql: "SELECT k, v FROM T ORDER BY v DESC NULLS LAST, k LIMIT 5",
        rows: top,
        is_ordered: true,
    },
    operation("v + v", "SELECT k, v + v FROM T WHERE k >= 100", doubled),
    operation(
        "CASE",
        "SELECT k, CASE WHEN v <= VALUE THEN k ELSE -1 END FROM T WHERE k >= 100",
        case,
    ),
];

impl Operation {
    /// The query for a table.
    pub(crate) fn query(&self, stored: &StoredType, table: &str) -> String {
        let list = LIST.map(|index| stored.literal(index)).join(", ");
        self.sql
            .replace("FROM T", &format!("FROM {table}"))
            .replace("LIST", &list)
            .replace("VALUE", &stored.literal(LIMIT))
    }
}

fn key(row: usize) -> Cell {
    Cell::Integer(i128::try_from(row).unwrap())
}

/// The keys of the rows whose value passes.
fn keys(cells: &[Cell], passes: impl Fn(&Cell) -> bool) -> Option<Vec<Row>> {
    let rows = cells.iter().enumerate().filter(|(_, cell)| passes(cell));
    Some(rows.map(|(row, _)| vec![key(row)]).collect())
}

fn is_at_most(stored: &StoredType, cell: &Cell) -> bool {
    *cell != Cell::Null && *cell <= stored.value(LIMIT)
}

fn compare(stored: &StoredType, cells: &[Cell]) -> Option<Vec<Row>> {
    keys(cells, |cell| is_at_most(stored, cell))
}

fn listed(stored: &StoredType, cells: &[Cell]) -> Option<Vec<Row>> {
    let list = LIST.map(|index| stored.value(index));
    keys(cells, |cell| list.contains(cell))
}

fn is_null(_: &StoredType, cells: &[Cell]) -> Option<Vec<Row>> {
    keys(cells, |cell| *cell == Cell::Null)
}

fn like(stored: &StoredType, cells: &[Cell]) -> Option<Vec<Row>> {
    let has_b = |cell: &Cell| matches!(cell, Cell::Bytes(bytes) if bytes.contains(&b'b'));
    if matches!(stored.kind, Kind::Text | Kind::Bytes) { keys(cells, has_b) } else { None }
}

fn project(_: &StoredType, cells: &[Cell]) -> Option<Vec<Row>> {
    let rows = cells.iter().enumerate().skip(KEY_MIN);
    Some(rows.map(|(row, cell)| vec![key(row), cell.clone()]).collect())
}

/// The values that queries with `KEY_MIN` read, without NULL.
fn read(cells: &[Cell]) -> impl Iterator<Item = &Cell> {
    cells.iter().skip(KEY_MIN).filter(|cell| **cell != Cell::Null)
}

fn count(_: &StoredType, cells: &[Cell]) -> Option<Vec<Row>> {
    Some(vec![vec![key(read(cells).count())]])
}

/// The sum of two numbers of one type.
fn add(a: &Cell, b: &Cell) -> Cell {
    match (a, b) {
        (Cell::Integer(a), Cell::Integer(b)) => Cell::Integer(a + b),
        (Cell::Float(Float(a)), Cell::Float(Float(b))) => Cell::Float(Float(a + b)),
        _ => panic!("{a:?} and {b:?} are no numbers"),
    }
}

fn is_number(stored: &StoredType) -> bool {
    match stored.kind {
        Kind::Signed | Kind::Unsigned | Kind::Float | Kind::Decimal { .. } => true,
        Kind::Boolean
        | Kind::Instant { .. }
        | Kind::Time { .. }
        | Kind::Text
        | Kind::Bytes
        | Kind::FixedBytes
        | Kind::Nested => false,
    }
}

fn total(cells: &[Cell]) -> Option<Cell> {
    read(cells).cloned().reduce(|a, b| add(&a, &b))
}

fn sum(stored: &StoredType, cells: &[Cell]) -> Option<Vec<Row>> {
    is_number(stored).then(|| vec![vec![total(cells).unwrap_or(Cell::Null)]])
}

fn average(stored: &StoredType, cells: &[Cell]) -> Option<Vec<Row>> {
    if !is_number(stored) {
        return None;
    }
    let count = i32::try_from(read(cells).count()).unwrap();
    let average = total(cells).map(|total| match (total, stored.kind) {
        // DataFusion gives it four more places, and cuts off the others.
        (Cell::Integer(sum), Kind::Decimal { .. }) => {
            Cell::Integer(sum * 10_000 / i128::from(count))
        }
        (Cell::Integer(sum), _) => {
            let sum = f64::from(i32::try_from(sum).unwrap());
            Cell::Float(Float(sum / f64::from(count)))
        }
        (Cell::Float(Float(sum)), _) => Cell::Float(Float(sum / f64::from(count))),
        (other, _) => panic!("{other:?} is no number"),
    });
    Some(vec![vec![average.unwrap_or(Cell::Null)]])
}

fn extremes(_: &StoredType, cells: &[Cell]) -> Option<Vec<Row>> {
    let of = |cell: Option<&Cell>| cell.cloned().unwrap_or(Cell::Null);
    Some(vec![vec![of(read(cells).min()), of(read(cells).max())]])
}

fn groups(_: &StoredType, cells: &[Cell]) -> Option<Vec<Row>> {
    let mut groups = BTreeMap::new();
    for cell in cells {
        *groups.entry(cell).or_insert(0) += 1;
    }
    Some(groups.into_iter().map(|(cell, count)| vec![cell.clone(), key(count)]).collect())
}

fn top(_: &StoredType, cells: &[Cell]) -> Option<Vec<Row>> {
    let mut rows: Vec<(usize, &Cell)> = cells.iter().enumerate().collect();
    // NULL is the least cell, so it is the last; the sort is stable, so keys ascend.
    rows.sort_by(|(_, a), (_, b)| b.cmp(a));
    Some(rows.into_iter().take(TOP).map(|(row, cell)| vec![key(row), cell.clone()]).collect())
}

fn doubled(stored: &StoredType, cells: &[Cell]) -> Option<Vec<Row>> {
    let twice = |cell: &Cell| match (cell, stored.kind) {
        (Cell::Null, _) => Cell::Null,
        // DataFusion adds times of day as intervals, which are in nanoseconds.
        (Cell::Integer(time), Kind::Time { unit_ns }) => Cell::Integer(time * 2 * unit_ns),
        _ => add(cell, cell),
    };
    if !is_number(stored) && !matches!(stored.kind, Kind::Time { .. }) {
        return None;
    }
    let rows = cells.iter().enumerate().skip(KEY_MIN);
    Some(rows.map(|(row, cell)| vec![key(row), twice(cell)]).collect())
}

fn case(stored: &StoredType, cells: &[Cell]) -> Option<Vec<Row>> {
    let rows = cells.iter().enumerate().skip(KEY_MIN);
    let chosen = |row, cell| match is_at_most(stored, cell) {
        true => key(row),
        false => Cell::Integer(-1),
    };
    Some(rows.map(|(row, cell)| vec![key(row), chosen(row, cell)]).collect())
}
