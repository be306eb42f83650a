// SPDX-License-Identifier: Apache-2.0
//! The cases, by subject.

mod aggregates;
mod compact;
mod damage;
mod damaged_pages;
mod damaged_values;
mod divisions;
mod extremes;
mod floats;
mod groups;
mod key_filters;
mod layouts;
mod lifecycle;
mod merges;
mod patterns;
mod programs;
mod ranges;
mod rows;
mod storage;
mod strings;
mod tops;
mod types;

use nearscan_command::{
    Aggregate, Column, Fragment, Function, Key, Operand, Output, Program, RowColumn, Step,
    StringTest, TestOp, ValueKind, Width,
};

use crate::{
    case::Case,
    data::{ColumnData, Table, Values},
    pages::ChunkLayout,
};

pub(crate) use lifecycle::lifecycle;
pub(crate) use merges::{MERGE_GROUPS, random_merge};

/// A subject: its name, and what makes its cases when they are run.
pub(crate) type Group = (&'static str, fn() -> Vec<Case>);

/// Every subject that is made of cases. A case's name starts with its subject's.
pub(crate) const GROUPS: &[Group] = &[
    ("arithmetic", programs::arithmetic),
    ("comparisons", programs::comparisons),
    ("logic", programs::logic),
    ("evaluation", programs::evaluation),
    ("divisions", divisions::divisions),
    ("selections", divisions::selections),
    ("dates", divisions::dates),
    ("distinct", divisions::distinct),
    ("string tests", strings::tests),
    ("string lengths", strings::lengths),
    ("patterns", patterns::patterns_of_every_shape),
    ("limits", rows::limits),
    ("shapes", rows::shapes),
    ("tops", tops::tops),
    ("packed numbers", compact::numbers),
    ("packed strings", compact::strings),
    ("packed dictionaries", compact::dictionaries),
    ("packed room", compact::room),
    ("functions", aggregates::functions),
    ("slot overflow", aggregates::overflow),
    ("extremes", extremes::strings),
    ("float sums", floats::sums),
    ("keys", groups::keys),
    ("cardinality", groups::cardinality),
    ("ranges", ranges::keys),
    ("outside", ranges::outside),
    ("key filters", key_filters::filters),
    ("sizes", layouts::sizes),
    ("encodings", layouts::encodings),
    ("compression", layouts::compression),
    ("nulls", layouts::nulls),
    ("types", types::readings),
    ("bits", types::bits),
    ("direct pages", storage::direct),
    ("page versions", storage::versions),
    ("damaged headers", damage::headers),
    ("damaged bodies", damage::bodies),
    ("damaged compression", damage::compressed),
    ("damaged accounting", damage::accounting),
    ("damaged versions", damaged_pages::versions),
    ("damaged LZ4", damaged_pages::lz4_blocks),
    ("damaged encodings", damaged_values::encodings),
    ("damaged differences", damaged_values::differences),
    ("damaged streams", damaged_values::streams),
    ("damaged truth values", damaged_values::truth_values),
];

/// A column of a table, in the layout that common writers use.
fn column(values: Values) -> ColumnData {
    ColumnData { values, layout: ChunkLayout::common() }
}

/// A plain, uncompressed column.
fn plain(values: Values) -> ColumnData {
    ColumnData { values, layout: ChunkLayout::plain() }
}

const fn col(index: u16) -> Operand {
    Operand::Column(index)
}

const fn lit(index: u16) -> Operand {
    Operand::Literal(index)
}

const fn step(index: u16) -> Operand {
    Operand::Step(index)
}

/// Makes a fragment over every column of `table` that keeps all rows and has no output.
fn over(table: &Table) -> Fragment {
    let columns = table.columns.iter().enumerate().map(|(index, column)| {
        let kind = column.values.physical_type().kind();
        Column::new(format!("c{index}"), kind)
    });
    Fragment {
        columns: columns.collect(),
        predicate: Program::default(),
        projection: Program::default(),
        literals: Vec::new(),
        tests: Vec::new(),
        key_filters: vec![],
        output: rows(&[]),
    }
}

/// Makes a fragment that returns every column of `table`.
fn select_all(table: &Table) -> Fragment {
    let fragment = over(table);
    let columns: Vec<(Operand, Width)> = (0..)
        .zip(&fragment.columns)
        .map(|(index, column)| {
            let width = match column.kind {
                ValueKind::Bytes => Width::Bytes,
                ValueKind::Integer => Width::W64,
            };
            (col(index), width)
        })
        .collect();
    Fragment { output: rows(&columns), ..fragment }
}

fn rows(columns: &[(Operand, Width)]) -> Output {
    let columns =
        columns.iter().map(|(operand, width)| RowColumn { operand: *operand, width: *width });
    Output::Rows { columns: columns.collect(), limit: None, top: None }
}

fn states(keys: &[u16], aggregates: Vec<Aggregate>) -> Output {
    Output::States { keys: keys.iter().map(|key| Key::column(*key)).collect(), aggregates }
}

fn aggregate(function: Function, operand: Operand) -> Aggregate {
    Aggregate::new(function, operand, Width::W128)
}

fn test(column: u16, op: TestOp, strings: &[&[u8]]) -> StringTest {
    StringTest { column, op, strings: strings.iter().map(|text| text.to_vec()).collect() }
}

/// A projection whose steps all come back, truth values and numbers each in their width.
fn project(fragment: Fragment, steps: Vec<Step>) -> Fragment {
    let columns: Vec<(Operand, Width)> =
        (0..).zip(&steps).map(|(index, made)| (step(index), made.width)).collect();
    Fragment { output: rows(&columns), projection: Program { steps }, ..fragment }
}
