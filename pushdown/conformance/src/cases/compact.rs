// SPDX-License-Identifier: Apache-2.0
//! Blocks that pack: numbers of every range, strings that repeat and strings that do not. Each case
//! is run in plain blocks and, where a drive has them, in compact ones.

use nearscan_command::{
    Encoding, Fragment, Op, Operand, Output, Program, ResultHeader, Status, Step, TestOp, Width,
    limits,
};

use super::{col, column, lit, over, plain, rows, select_all, step, test};
use crate::{
    case::{Case, Expectation},
    data::{ColumnData, Table, Values},
    pages::{ChunkLayout, Runs, ValueLayout},
};

/// A name, and the number of each row, if it has one.
type Numbers = (&'static str, fn(i64) -> Option<i64>);

const NUMBERS: [Numbers; 8] = [
    ("equal", |_| Some(-4)),
    ("dates", |n| Some(8035 + n * 7919 % 2526)),
    ("rising", |n| Some(n * 4)),
    ("full range", |n| Some(if n % 2 == 0 { i64::MIN } else { i64::MAX })),
    ("one far away", |n| Some(if n == 1500 { i64::MIN } else { 7 })),
    ("some NULLs", |n| (n % 3 != 1).then_some(n * 7919 % 401)),
    ("a NULL in the second block", |n| (n != 1200).then_some(1_000_000 + n % 5)),
    ("NULLs alone", |_| None),
];

/// Rows of a case: two whole blocks, and a part of one.
const ROWS: i64 = 2100;

pub(super) fn numbers() -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, number) in NUMBERS {
        let table = Table::new(vec![column(Values::Int64((0..ROWS).map(number).collect()))]);
        let fragment = Fragment {
            projection: Program::new([
                Step::compare(Op::Less, col(0), lit(0)),
                Step::arithmetic(Op::Multiply, Width::W128, col(0), lit(1)),
            ]),
            literals: vec![8100, 1 << 40],
            output: rows(&[
                (col(0), Width::W64),
                (col(0), Width::W128),
                (step(0), Width::Bool),
                (step(1), Width::W128),
                (lit(1), Width::W64),
                (Operand::Null, Width::W32),
            ]),
            ..over(&table)
        };
        cases.push(Case::new(format!("numbers, {name}"), table.clone(), fragment.clone()));
        let few = Fragment {
            predicate: Program::new([Step::compare(Op::Less, col(0), lit(0))]),
            output: rows(&[(col(0), Width::W64)]),
            ..fragment
        };
        cases.push(Case::new(format!("few numbers, {name}"), table, few));
    }
    cases
}

/// A name, and the string of each row, if it has one.
type Strings = (&'static str, fn(usize) -> Option<String>);

const STRINGS: [Strings; 7] = [
    ("few", |n| Some(["AIR", "", "MAIL", "REG AIR", "TRUCK"][n * 7919 % 5].to_owned())),
    ("equal", |_| Some("DELIVER IN PERSON".to_owned())),
    ("new ones in each block", |n| Some(format!("number {}", n / 300))),
    ("empty", |_| Some(String::new())),
    ("some NULLs", |n| (n % 3 != 1).then(|| format!("{}", n % 40))),
    ("NULLs alone", |_| None),
    ("long ones", |n| Some("long ".repeat(n % 4 * 40))),
];

/// The ways in which strings are stored: those of a dictionary, plain ones, and of a dictionary for
/// the first pages.
fn layouts() -> [(&'static str, ChunkLayout); 3] {
    let values = ValueLayout::Dictionary {
        label: Encoding::RleDictionary,
        index_runs: Runs::Mixed,
        unused_entries: 3,
        width_min: 0,
        pages_max: 3,
    };
    [
        ("dictionary", ChunkLayout::common()),
        ("plain", ChunkLayout::plain()),
        ("falling back", ChunkLayout { values, ..ChunkLayout::common().paged(&[500]) }),
    ]
}

fn of_strings(layout: ChunkLayout, texts: impl Iterator<Item = Option<String>>) -> Table {
    let values = Values::Bytes(texts.map(|text| text.map(String::into_bytes)).collect());
    Table::new(vec![ColumnData { values, layout }])
}

pub(super) fn strings() -> Vec<Case> {
    let mut cases = Vec::new();
    for (layout_name, layout) in layouts() {
        for (name, text) in STRINGS {
            let rows = usize::try_from(ROWS).unwrap_or(0);
            let table = of_strings(layout.clone(), (0..rows).map(text));
            let all = select_all(&table);
            let name = format!("strings, {name}, {layout_name}");
            let some = Fragment {
                tests: vec![test(0, TestOp::Less, &[b"N"])],
                predicate: Program::new([Step::test(0)]),
                output: super::rows(&[(col(0), Width::Bytes), (col(0), Width::Bytes)]),
                ..over(&table)
            };
            let mut some = Case::new(format!("some {name}"), table.clone(), some);
            some.bytes_max = Some(1 << 21);
            cases.push(some);
            let mut all = Case::new(name, table, all);
            // Strings that repeat take more room than a unit expects.
            all.bytes_max = Some(1 << 21);
            cases.push(all);
        }
    }
    cases
}

/// Dictionaries of as many entries as codes can refer to, and of one more.
pub(super) fn dictionaries() -> Vec<Case> {
    let most = limits::CODED_STRINGS_MAX as usize;
    let mut cases = Vec::new();
    for entries in [most, most + 1] {
        let texts = (0..most + 900).map(|n| Some(format!("Customer#{:09}", n * 7 % entries)));
        let table = of_strings(ChunkLayout::common(), texts);
        let all = select_all(&table);
        cases.push(Case::new(format!("{entries} strings"), table.clone(), all.clone()));
        let limited = match all.output {
            Output::Rows { columns, top, .. } => Output::Rows { columns, limit: Some(1500), top },
            other @ Output::States { .. } => other,
        };
        let first = Fragment { output: limited, ..all };
        cases.push(Case::new(format!("the first of {entries} strings"), table, first));
    }
    cases
}

/// As many columns of strings as there are lanes, some of them shown twice.
fn sixteen() -> Case {
    let columns = (0..limits::COLUMNS_MAX as usize).map(|index| {
        let texts = (0..1100).map(|n| (n % 9 != index).then(|| vec![b'a'; n % (index + 2)]));
        ColumnData { values: Values::Bytes(texts.collect()), layout: ChunkLayout::common() }
    });
    let table = Table::new(columns.collect());
    let shown: Vec<(Operand, Width)> = (0..20).map(|n| (col(n % 16), Width::Bytes)).collect();
    let fragment = Fragment { output: rows(&shown), ..over(&table) };
    Case::new("16 columns of strings", table, fragment)
}

/// The room that there is for rows is that of plain ones.
pub(super) fn room() -> Vec<Case> {
    let table = of_strings(ChunkLayout::common(), (0..1000).map(|_| Some("x".repeat(80))));
    let all = select_all(&table);
    let plain_bytes = ResultHeader::BYTES + 16 + 128 + 4 * 1000 + 80 * 1000;
    let mut enough = Case::new("room for equal strings", table.clone(), all.clone());
    enough.bytes_max = Some(plain_bytes);
    let mut little = Case::new("too little room for equal strings", table, all);
    little.bytes_max = Some(plain_bytes - 8);
    let far = plain(Values::integers((0..1000).map(|n| n << 50)));
    let wide = Table::new(vec![far]);
    let numbers = select_all(&wide);
    vec![
        enough,
        little.or(Status::OutputFull).expecting(Expectation::Refused),
        sixteen(),
        Case::new("numbers of many bits", wide, numbers),
    ]
}
