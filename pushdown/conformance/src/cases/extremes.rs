// SPDX-License-Identifier: Apache-2.0
//! MIN and MAX of byte strings.

use nearscan_command::{Aggregate, Fragment, Function, Op, Operand, Program, Step, Width};

use super::{aggregate, col, column, lit, over, states, step, strings::layouts};
use crate::{
    case::Case,
    data::{ColumnData, Table, Values},
    pages::ChunkLayout,
};

fn extreme(function: Function, column: u16) -> Aggregate {
    Aggregate::new(function, col(column), Width::Bytes)
}

fn both(column: u16) -> Vec<Aggregate> {
    vec![extreme(Function::Min, column), extreme(Function::Max, column)]
}

/// Strings that part late: behind 0, 7, 8, 127, 128, 129 and 1000 equal bytes.
fn late(n: usize) -> Vec<u8> {
    let common = [0, 7, 8, 127, 128, 129, 1000][n / 60 % 7];
    [vec![b'p'; common], (n * 7919 % 1009).to_string().into_bytes()].concat()
}

/// A name, and the string of each row, if it has one.
type Texts = (&'static str, fn(usize) -> Option<Vec<u8>>);

const TEXTS: [Texts; 8] = [
    ("short ones", |n| Some((n * 7919 % 1009).to_string().into_bytes())),
    ("some NULLs", |n| (n % 3 != 1).then(|| (n % 100).to_string().into_bytes())),
    ("NULLs alone", |_| None),
    ("one string", |n| (n == 417).then(|| b"only".to_vec())),
    ("empty ones", |n| Some(vec![b'e'; usize::from(n % 50 != 3)])),
    ("equal ones", |_| Some(b"the same string in every row".to_vec())),
    ("those that part late", |n| Some(late(n))),
    ("prefixes of each other", |n| Some(vec![[0x00, 0x7f, 0x80, 0xff][n % 4]; n * 31 % 300])),
];

pub(super) fn strings() -> Vec<Case> {
    let mut cases = Vec::new();
    for (layout_name, layout) in layouts() {
        for (name, text) in TEXTS {
            let texts = Values::Bytes((0..420).map(text).collect());
            let keys = (0..420).map(|n| (n % 13 != 12).then_some(n * n % 5)).collect();
            let table = Table::new(vec![
                ColumnData { values: texts, layout: layout.clone() },
                column(Values::Int64(keys)),
            ]);
            let mut add = |what: &str, keys: &[u16], predicate: Vec<Step>, slots| {
                let fragment = Fragment {
                    predicate: Program { steps: predicate },
                    projection: Program::new([Step::compare(Op::Greater, col(1), lit(0))]),
                    literals: vec![0, 100],
                    output: states(keys, slots),
                    ..over(&table)
                };
                let name = format!("extremes of {name}, {layout_name}, {what}");
                cases.push(Case::new(name, table.clone(), fragment));
            };
            let sum = aggregate(Function::Sum, col(1));
            let slots = [both(0), vec![sum, aggregate(Function::Count, col(0))]].concat();
            add("of all", &[], vec![], slots.clone());
            add("by key", &[1], vec![], slots.clone());
            add("of no rows", &[1], vec![Step::compare(Op::Greater, col(1), lit(1))], both(0));
            add("of no rows at all", &[], vec![Step::compare(Op::Less, col(1), lit(0))], both(0));
            let filtered = slots.into_iter().map(|slot| Aggregate { filter: step(0), ..slot });
            add("filtered", &[1], vec![], filtered.collect());
            let never = Aggregate { filter: Operand::Null, ..extreme(Function::Max, 0) };
            add("of a filter that is NULL", &[], vec![], vec![never, extreme(Function::Min, 0)]);
        }
    }
    cases.extend([of_a_key(), of_many(), of_a_large_dictionary()]);
    cases
}

/// The column that groups also has the extremes; each group has one string.
fn of_a_key() -> Case {
    let texts = (0..600).map(|n| (n % 9 != 8).then(|| format!("key {}", n % 7).into_bytes()));
    let table = Table::new(vec![column(Values::Bytes(texts.collect()))]);
    let fragment = Fragment { output: states(&[0], both(0)), ..over(&table) };
    Case::new("extremes of the key", table, fragment)
}

/// As many slots as there may be, over columns of both kinds of layout.
fn of_many() -> Case {
    let texts = |shift: usize| {
        Values::Bytes((0..900).map(|n| (n % 7 != 6).then(|| late(n + shift))).collect())
    };
    let table = Table::new(vec![
        ColumnData { values: texts(0), layout: ChunkLayout::plain() },
        column(texts(5)),
        column(Values::integers((0..900).map(|n| n % 40))),
        ColumnData { values: texts(9), layout: ChunkLayout::common() },
    ]);
    let slots = (0..16).map(|n: u16| {
        let function = if n.is_multiple_of(2) { Function::Min } else { Function::Max };
        extreme(function, [0, 1, 3][usize::from(n % 3)])
    });
    let fragment = Fragment { output: states(&[2], slots.collect()), ..over(&table) };
    Case::new("extremes in 16 slots", table, fragment)
}

/// More entries than a kernel keeps on chip.
fn of_a_large_dictionary() -> Case {
    let texts = (0..12_000).map(|n| Some(format!("entry {}", n * 7919 % 6007).into_bytes()));
    let table = Table::new(vec![
        column(Values::Bytes(texts.collect())),
        column(Values::integers((0..12_000).map(|n| n % 3))),
    ]);
    let fragment = Fragment { output: states(&[1], both(0)), ..over(&table) };
    Case::new("extremes of a large dictionary", table, fragment)
}
