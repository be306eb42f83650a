// SPDX-License-Identifier: Apache-2.0
//! Strings: tests against literals, and lengths from nothing to 100 kB.

use nearscan_command::{Codec, Fragment, Function, Op, Program, Step, TestOp, Width};

use super::{aggregate, col, over, rows, select_all, states, step, test};
use crate::{
    case::Case,
    data::{ColumnData, Table, Values},
    pages::{ChunkLayout, ValueLayout},
};

/// Strings at and beside every edge that comparing in words of 8 bytes has.
fn edges() -> Vec<Option<Vec<u8>>> {
    let long = |length: usize, last: u8| {
        let mut text = vec![b'm'; length];
        if let Some(end) = text.last_mut() {
            *end = last;
        }
        text
    };
    let mut values = vec![
        Vec::new(),
        vec![0],
        b"a".to_vec(),
        b"a\0".to_vec(),
        b"ab".to_vec(),
        b"abcdefg".to_vec(),
        b"abcdefgh".to_vec(),
        b"abcdefghi".to_vec(),
        b"abcdefgi".to_vec(),
        vec![0x7f],
        vec![0x80],
        vec![0xff],
        vec![0xff; 9],
        "größe".as_bytes().to_vec(),
    ];
    for length in [15, 16, 17, 63, 64, 127, 128, 129, 130, 200] {
        values.extend([b'l', b'm', b'n'].map(|last| long(length, last)));
    }
    values.into_iter().map(Some).chain([None]).collect()
}

/// The ways in which strings are stored.
pub(super) fn layouts() -> [(&'static str, ChunkLayout); 3] {
    [
        ("dictionary", ChunkLayout::common()),
        ("plain", ChunkLayout::plain()),
        (
            "falling back",
            ChunkLayout {
                values: ValueLayout::Dictionary {
                    label: nearscan_command::Encoding::PlainDictionary,
                    index_runs: crate::pages::Runs::Packed,
                    unused_entries: 1,
                    width_min: 0,
                    pages_max: 1,
                },
                ..ChunkLayout::common().paged(&[17])
            },
        ),
    ]
}

pub(super) fn tests() -> Vec<Case> {
    let literals: Vec<Vec<u8>> =
        edges().into_iter().flatten().filter(|text| text.len() <= 128).collect();
    let mut cases = Vec::new();
    for (layout_name, layout) in layouts() {
        let table =
            Table::new(vec![ColumnData { values: Values::Bytes(edges()), layout: layout.clone() }]);
        for (op, op_name) in TestOp::ALL.iter().filter(|(op, _)| *op != TestOp::Like) {
            // Sixteen tests a column, the most there are; outcomes side by side.
            for (number, part) in literals.chunks(16).enumerate() {
                let tests = part.iter().map(|literal| test(0, *op, &[literal])).collect();
                let steps: Vec<Step> =
                    (0..).zip(part).map(|(index, _)| Step::test(index)).collect();
                let fragment = Fragment { tests, ..super::project(over(&table), steps) };
                let name = format!("string test {op_name}, {layout_name}, part {number}");
                cases.push(Case::new(name, table.clone(), fragment));
            }
        }
        cases.push(lists(layout_name, &table));
    }
    cases.push(two_columns());
    cases
}

/// Lists of several literals, one of 200.
fn lists(layout_name: &str, table: &Table) -> Case {
    let many: Vec<Vec<u8>> = (0..200).map(|n: i32| n.to_string().into_bytes()).collect();
    let many: Vec<&[u8]> = many.iter().map(Vec::as_slice).chain([&b"abcdefgh"[..]]).collect();
    let fragment = Fragment {
        tests: vec![
            test(0, TestOp::In, &[b"", b"ab", b"abcdefghi"]),
            test(0, TestOp::In, &many),
            test(0, TestOp::In, &[b"nothing", b"nobody"]),
        ],
        predicate: Program::new([
            Step::test(0),
            Step::test(1),
            Step::compare(Op::Or, step(0), step(1)),
            Step::test(2),
            Step::compare(Op::Or, step(2), step(3)),
        ]),
        ..select_all(table)
    };
    Case::new(format!("string lists, {layout_name}"), table.clone(), fragment)
}

/// Tests on two columns, each with its own mask.
fn two_columns() -> Case {
    let values = |shift: usize| {
        let mut values = edges();
        let length = values.len();
        values.rotate_left(shift % length);
        Values::Bytes(values)
    };
    let table = Table::new(vec![
        ColumnData { values: values(0), layout: ChunkLayout::common() },
        ColumnData { values: values(5), layout: ChunkLayout::plain() },
    ]);
    let fragment = Fragment {
        tests: vec![
            test(0, TestOp::Less, &[b"abcdefgh"]),
            test(1, TestOp::Less, &[b"abcdefgh"]),
            test(1, TestOp::GreaterOrEqual, &[b"ab"]),
        ],
        predicate: Program::new([
            Step::test(0),
            Step::test(1),
            Step::unary(Op::Not, step(1)),
            Step::test(2),
            Step::compare(Op::And, step(0), step(2)),
            Step::compare(Op::Or, step(4), step(3)),
        ]),
        ..select_all(&table)
    };
    Case::new("string tests on two columns", table, fragment)
}

pub(super) fn lengths() -> Vec<Case> {
    let lengths = [0, 1, 8, 100_000, 3, 70_000, 0, 9];
    let text = |index: usize, length: usize| -> Vec<u8> {
        (0..length).map(|at| u8::try_from((at * 7 + at / 300 + index) % 128).unwrap_or(0)).collect()
    };
    let values: Vec<Option<Vec<u8>>> = (0..40)
        .map(|index| (index % 5 != 3).then(|| text(index, lengths[index % lengths.len()])))
        .collect();
    let mut cases = Vec::new();
    for (name, layout) in layouts() {
        for codec in [Codec::Uncompressed, Codec::Snappy] {
            let layout = ChunkLayout { codec, ..layout.clone() };
            let table =
                Table::new(vec![ColumnData { values: Values::Bytes(values.clone()), layout }]);
            let all = select_all(&table);
            cases.push(Case::new(format!("long strings, {name}, {codec:?}"), table.clone(), all));
            let counted = Fragment {
                output: states(&[], vec![aggregate(Function::Count, col(0))]),
                ..over(&table)
            };
            let name = format!("long strings counted, {name}, {codec:?}");
            cases.push(Case::new(name, table.clone(), counted));
            let kept = Fragment {
                tests: vec![test(0, TestOp::Less, &[b"\x01"])],
                predicate: Program::new([Step::test(0)]),
                output: rows(&[(col(0), Width::Bytes), (col(0), Width::Bytes)]),
                ..over(&table)
            };
            cases.push(Case::new(format!("long strings twice, {codec:?}"), table, kept));
        }
    }
    cases
}
