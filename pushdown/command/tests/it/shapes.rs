// SPDX-License-Identifier: Apache-2.0
//! Provides two commands that use everything that version 1.1 of the format added.

use nearscan_command::{
    Aggregate, Chunk, Codec, Column, Command, Encoding, Encodings, Fragment, Function, InputRef,
    Key, Op, Operand, Output, PhysicalType, Program, ReadAs, Reading, RowColumn, Step, StringTest,
    TestOp, Top, Unit, ValueKind, Width, pattern,
};

use crate::golden;

/// The columns of both: one of each physical type.
const TYPES: [(&str, PhysicalType); 7] = [
    ("flag", PhysicalType::Boolean),
    ("day", PhysicalType::Int32),
    ("account", PhysicalType::Int64),
    ("rate", PhysicalType::Float),
    ("score", PhysicalType::Double),
    ("note", PhysicalType::ByteArray),
    ("price", PhysicalType::FixedLenByteArray),
];

const FLAG: Operand = Operand::Column(0);
const DAY: Operand = Operand::Column(1);
const ACCOUNT: Operand = Operand::Column(2);
const SCORE: Operand = Operand::Column(4);
const NOTE: Operand = Operand::Column(5);
const PRICE: Operand = Operand::Column(6);

fn columns() -> Vec<Column> {
    TYPES.map(|(name, physical_type)| Column::new(name, physical_type.kind())).into()
}

/// Each is read by its own rule and stored in its own way.
fn unit() -> Unit {
    let reading = |rule, bits, length| Reading { rule, bits, length };
    let stored = [
        (Reading::PLAIN, Codec::Uncompressed, vec![Encoding::Rle]),
        (reading(ReadAs::Signed, 16, 0), Codec::Snappy, vec![Encoding::DeltaBinaryPacked]),
        (reading(ReadAs::Unsigned, 0, 0), Codec::Lz4Raw, vec![Encoding::Plain]),
        (reading(ReadAs::FloatOrder, 0, 0), Codec::Lz4Raw, vec![Encoding::ByteStreamSplit]),
        (reading(ReadAs::FloatOrder, 0, 0), Codec::Snappy, vec![Encoding::RleDictionary]),
        (Reading::PLAIN, Codec::Snappy, vec![Encoding::Plain, Encoding::BitPacked]),
        (reading(ReadAs::BigEndian, 0, 16), Codec::Uncompressed, vec![Encoding::ByteStreamSplit]),
    ];
    let chunks = (0..).zip(TYPES).zip(stored).map(|((index, (_, physical_type)), stored)| {
        let (reading, codec, encodings) = stored;
        let encodings = Encodings::of(encodings);
        Chunk { codec, encodings, reading, ..golden::chunk(physical_type, index * 1000, 1000) }
    });
    let file =
        InputRef::FileRange { file_id: 3, version: golden::VERSION, offset: 64, length: 7000 };
    Unit { rows: 700, inputs: vec![file], chunks: chunks.collect() }
}

fn like(text: &[&[u8]]) -> StringTest {
    StringTest { column: 5, op: TestOp::Like, strings: vec![text.concat()] }
}

fn divisions() -> Program {
    let by = |op, literal| Step::arithmetic(op, Width::W64, ACCOUNT, Operand::Literal(literal));
    Program::new([
        by(Op::Divide, 0),
        by(Op::DivideRound, 1),
        by(Op::DivideFloor, 2),
        by(Op::Remainder, 3),
        Step::compare(Op::NotEqual, FLAG, Operand::Literal(4)),
        Step::select(Width::W64, Operand::Step(4), Operand::Step(0), Operand::Null),
        Step::part(Op::Year, Width::W32, DAY),
        Step::part(Op::Month, Width::W32, DAY),
        Step::part(Op::Day, Width::W32, DAY),
    ])
}

fn fragment(output: Output) -> Fragment {
    Fragment {
        columns: columns(),
        predicate: Program::new([
            Step::test(0),
            Step::test(1),
            Step::compare(Op::And, Operand::Step(0), Operand::Step(1)),
            Step::compare(Op::IsDistinct, ACCOUNT, Operand::Null),
            Step::compare(Op::IsNotDistinct, PRICE, ACCOUNT),
            Step::compare(Op::Or, Operand::Step(3), Operand::Step(4)),
            Step::compare(Op::And, Operand::Step(2), Operand::Step(5)),
        ]),
        projection: divisions(),
        literals: vec![7, -1, i64::MIN.into(), i64::MAX.into(), 0],
        tests: vec![
            like(&[&[pattern::ANY], b"special", &[pattern::ANY], b"requests", &[pattern::ANY]]),
            like(&[b"gr", &[pattern::ONE], "ße".as_bytes()]),
        ],
        key_filters: vec![],
        output,
    }
}

/// Groups by a dictionary and by two ranges; extremes of strings, a sum of floats.
pub(crate) fn states() -> Command {
    let slot = Aggregate::new;
    let fragment = fragment(Output::States {
        keys: vec![Key::column(5), Key::range(FLAG, 0, 2), Key::range(Operand::Step(6), -5, 10)],
        aggregates: vec![
            slot(Function::Min, NOTE, Width::Bytes),
            slot(Function::Max, NOTE, Width::Bytes),
            slot(Function::SumFloat, SCORE, Width::W64),
            Aggregate {
                filter: Operand::Step(4),
                ..slot(Function::Sum, Operand::Step(5), Width::W128)
            },
        ],
    });
    Command::bind(&fragment, unit(), golden::envelope()).unwrap()
}

/// The rows that can be among the first ten.
pub(crate) fn rows() -> Command {
    let shown = [(PRICE, Width::W64), (NOTE, Width::Bytes), (Operand::Step(3), Width::W32)];
    let fragment = fragment(Output::Rows {
        columns: shown.map(|(operand, width)| RowColumn { operand, width }).into(),
        limit: None,
        top: Some(Top { operand: SCORE, descending: true, nulls_first: true, count: 10 }),
    });
    Command::bind(&fragment, unit(), golden::envelope()).unwrap()
}

#[test]
fn columns_are_of_every_type() {
    assert!(PhysicalType::ALL.iter().map(|(it, _)| *it).eq(TYPES.map(|(_, it)| it)));
    let bytes = columns().iter().filter(|column| column.kind == ValueKind::Bytes).count();
    assert_eq!(bytes, 1);
}
