// SPDX-License-Identifier: Apache-2.0
//! Tests that invalid fragments and units are refused.

use nearscan_command::{
    Aggregate, Column, Command, Encodings, Envelope, Error, Extent, Fragment, Function, InputRef,
    Key, Op, Operand, Output, PhysicalType, Program, RowColumn, Step, StringTest, TestOp,
    ValueKind, Version, Width, limits,
};
use rstest::rstest;

use crate::golden;

/// Two integers, one string, rows out.
fn fragment() -> Fragment {
    Fragment {
        columns: vec![
            Column::new("a", ValueKind::Integer),
            Column::new("b", ValueKind::Integer),
            Column::new("s", ValueKind::Bytes),
        ],
        predicate: Program::default(),
        projection: Program::default(),
        literals: vec![1, 2, 3, 0, 1 << 64],
        tests: vec![StringTest { column: 2, op: TestOp::In, strings: vec![b"x".to_vec()] }],
        key_filters: vec![],
        output: Output::Rows { columns: vec![], limit: None, top: None },
    }
}

const A: Operand = Operand::Column(0);
const S: Operand = Operand::Column(2);
const ONE: Operand = Operand::Literal(0);
const NONE: Operand = Operand::None;

fn step(op: Op, width: Width, a: Operand, b: Operand, c: Operand) -> Step {
    Step { op, width, a, b, c }
}

#[rstest]
#[case::of_a_string(step(Op::Equal, Width::Bool, S, ONE, NONE))]
#[case::sum_with_a_string(step(Op::Add, Width::W64, A, S, NONE))]
#[case::sum_as_truth(step(Op::Add, Width::Bool, A, ONE, NONE))]
#[case::sum_as_string(step(Op::Add, Width::Bytes, A, ONE, NONE))]
#[case::comparison_as_number(step(Op::Less, Width::W64, A, ONE, NONE))]
#[case::third_operand(step(Op::Less, Width::Bool, A, ONE, ONE))]
#[case::second_operand(step(Op::IsNull, Width::Bool, A, ONE, NONE))]
#[case::no_operand(step(Op::Less, Width::Bool, A, NONE, NONE))]
#[case::no_upper_bound(step(Op::Between, Width::Bool, A, ONE, NONE))]
#[case::no_such_column(step(Op::IsNull, Width::Bool, Operand::Column(3), NONE, NONE))]
#[case::no_such_literal(step(Op::Less, Width::Bool, A, Operand::Literal(5), NONE))]
#[case::no_such_test(step(Op::Test, Width::Bool, Operand::Test(1), NONE, NONE))]
#[case::itself(step(Op::IsNull, Width::Bool, Operand::Step(0), NONE, NONE))]
#[case::test_as_value(step(Op::Not, Width::Bool, Operand::Test(0), NONE, NONE))]
#[case::test_of_a_column(step(Op::Test, Width::Bool, S, NONE, NONE))]
#[case::not_of_a_number(step(Op::Not, Width::Bool, A, NONE, NONE))]
#[case::and_of_a_literal(step(Op::And, Width::Bool, ONE, ONE, NONE))]
#[case::in_columns(step(Op::In, Width::Bool, A, A, Operand::Literal(1)))]
#[case::in_nothing(step(Op::In, Width::Bool, A, Operand::Literal(2), Operand::Literal(1)))]
#[case::quotient_by_a_column(step(Op::Divide, Width::W64, A, A, NONE))]
#[case::quotient_by_zero(step(Op::DivideRound, Width::W64, A, Operand::Literal(3), NONE))]
#[case::remainder_of_a_wide_divisor(step(Op::Remainder, Width::W64, A, Operand::Literal(4), NONE))]
#[case::quotient_of_a_string(step(Op::DivideFloor, Width::W64, S, ONE, NONE))]
#[case::select_by_a_number(step(Op::Select, Width::W64, A, ONE, ONE))]
#[case::select_of_strings(step(Op::Select, Width::W64, Operand::Null, S, ONE))]
#[case::select_as_truth(step(Op::Select, Width::Bool, Operand::Null, ONE, ONE))]
#[case::select_of_one(step(Op::Select, Width::W64, Operand::Null, ONE, NONE))]
#[case::year_of_a_string(step(Op::Year, Width::W32, S, NONE, NONE))]
#[case::month_of_two(step(Op::Month, Width::W32, A, ONE, NONE))]
#[case::day_as_truth(step(Op::Day, Width::Bool, A, NONE, NONE))]
#[case::distinct_strings(step(Op::IsDistinct, Width::Bool, S, S, NONE))]
#[case::distinct_as_number(step(Op::IsNotDistinct, Width::W64, A, ONE, NONE))]
#[case::in_too_much(step(Op::In, Width::Bool, A, ONE, Operand::Literal(5)))]
fn step_of_wrong_kind_is_refused(#[case] step: Step) {
    let in_predicate = Fragment { predicate: Program::new([step]), ..fragment() };
    assert!(in_predicate.check().is_err());
    assert!(in_predicate.encode().is_err());
    let in_projection = Fragment { projection: Program::new([step]), ..fragment() };
    assert!(in_projection.check().is_err());
}

#[test]
fn predicate_ends_in_truth_value() {
    let number = Step::arithmetic(Op::Add, Width::W64, A, ONE);
    let ends_in_number = Fragment { predicate: Program::new([number]), ..fragment() };
    assert!(ends_in_number.check().is_err());
    let compared = Step::compare(Op::Less, Operand::Step(0), ONE);
    let ends_in_truth = Fragment { predicate: Program::new([number, compared]), ..fragment() };
    assert_eq!(ends_in_truth.check(), Ok(()));
}

#[rstest]
#[case::count_rows_of_a_column(Aggregate::new(Function::CountRows, A, Width::W64))]
#[case::count_of_nothing(Aggregate::new(Function::Count, NONE, Width::W64))]
#[case::sum_of_a_string(Aggregate::new(Function::Sum, S, Width::W128))]
#[case::minimum_of_a_string(Aggregate::new(Function::Min, S, Width::W128))]
#[case::maximum_as_a_string(Aggregate::new(Function::Max, A, Width::Bytes))]
#[case::sum_as_a_string(Aggregate::new(Function::Sum, A, Width::Bytes))]
#[case::sum_of_float_strings(Aggregate::new(Function::SumFloat, S, Width::W64))]
#[case::sum_of_a_float_literal(Aggregate::new(Function::SumFloat, ONE, Width::W64))]
#[case::wide_sum_of_floats(Aggregate::new(Function::SumFloat, A, Width::W128))]
#[case::width_of_a_truth(Aggregate::new(Function::Sum, A, Width::Bool))]
#[case::filter_that_is_a_column(Aggregate { filter: A, ..Aggregate::count_rows() })]
#[case::filter_that_is_not_there(Aggregate {
    filter: Operand::Step(0),
    ..Aggregate::count_rows()
})]
fn slot_of_wrong_kind_is_refused(#[case] slot: Aggregate) {
    let states = |slot| Fragment {
        output: Output::States { keys: vec![], aggregates: vec![slot] },
        ..fragment()
    };
    assert!(states(slot).check().is_err());
    assert_eq!(states(Aggregate::count_rows()).check(), Ok(()));
}

#[rstest]
#[case(A, Width::Bytes)]
#[case(A, Width::Bool)]
#[case(S, Width::W64)]
#[case(Operand::Test(0), Width::Bool)]
#[case(NONE, Width::W64)]
fn output_column_of_wrong_kind_is_refused(#[case] operand: Operand, #[case] width: Width) {
    let rows = Fragment {
        output: Output::Rows {
            columns: vec![RowColumn { operand, width }],
            limit: None,
            top: None,
        },
        ..fragment()
    };
    assert!(rows.check().is_err());
}

#[rstest]
#[case::of_a_number(0, TestOp::In, 1, 1)]
#[case::of_no_column(3, TestOp::In, 1, 1)]
#[case::without_a_literal(2, TestOp::In, 0, 1)]
#[case::order_of_two(2, TestOp::Less, 2, 1)]
#[case::literal_too_long(2, TestOp::In, 1, limits::STRING_BYTES_MAX as usize + 1)]
#[case::literals_too_many(2, TestOp::In, limits::STRINGS_MAX as usize + 1, 1)]
#[case::literals_too_large(2, TestOp::In, 200, 100)]
#[case::two_patterns(2, TestOp::Like, 2, 1)]
#[case::pattern_too_long(2, TestOp::Like, 1, limits::PATTERN_PLACES_MAX as usize + 1)]
fn string_test_out_of_bounds_is_refused(
    #[case] column: u16,
    #[case] op: TestOp,
    #[case] count: usize,
    #[case] length: usize,
) {
    let bad = Fragment {
        tests: vec![StringTest { column, op, strings: vec![vec![b'x'; length]; count] }],
        ..fragment()
    };
    assert!(bad.check().is_err());
}

#[test]
fn string_tests_out_of_order_or_too_many_are_refused() {
    let test = |column| StringTest { column, op: TestOp::In, strings: vec![vec![]] };
    let with = |tests| Fragment {
        columns: vec![Column::new("s", ValueKind::Bytes), Column::new("t", ValueKind::Bytes)],
        tests,
        ..fragment()
    };
    assert_eq!(with(vec![test(0), test(1), test(1)]).check(), Ok(()));
    assert!(with(vec![test(1), test(0)]).check().is_err());
    let many = limits::TESTS_PER_COLUMN_MAX as usize;
    assert_eq!(with(vec![test(1); many]).check(), Ok(()));
    assert!(with(vec![test(1); many + 1]).check().is_err());
    let pattern = || StringTest { op: TestOp::Like, ..test(1) };
    let patterns = limits::PATTERNS_PER_COLUMN_MAX as usize;
    assert_eq!(with([vec![test(1)], vec![pattern(); patterns]].concat()).check(), Ok(()));
    assert!(with(vec![pattern(); patterns + 1]).check().is_err());
}

#[test]
fn counts_above_their_limit_are_refused() {
    let many = |count: u32| vec![0; count as usize];
    let columns = |count: u32| {
        (0..count)
            .map(|index| Column::new(format!("{index}"), ValueKind::Integer))
            .collect::<Vec<_>>()
    };
    let none = Fragment { tests: vec![], ..fragment() };
    let states = |keys: Vec<u16>, slots: u32| Fragment {
        columns: columns(limits::COLUMNS_MAX),
        output: Output::States {
            keys: keys.into_iter().map(Key::column).collect(),
            aggregates: vec![Aggregate::count_rows(); slots as usize],
        },
        ..none.clone()
    };
    let at_limit = [
        Fragment { columns: columns(limits::COLUMNS_MAX), ..none.clone() },
        Fragment { literals: many(limits::LITERALS_MAX), ..none.clone() },
        states((0..4).collect(), limits::AGGREGATES_MAX),
    ];
    for fragment in at_limit {
        assert_eq!(fragment.check(), Ok(()));
    }
    let null = Step::unary(Op::IsNull, Operand::Null);
    let above = [
        Fragment { columns: columns(limits::COLUMNS_MAX + 1), ..none.clone() },
        Fragment { literals: many(limits::LITERALS_MAX + 1), ..none.clone() },
        Fragment { predicate: Program::new(vec![null; 33]), ..none.clone() },
        states((0..5).collect(), 1),
        states(vec![1, 1], 1),
        states(vec![16], 1),
        states(vec![], limits::AGGREGATES_MAX + 1),
        Fragment { columns: vec![Column::new("x".repeat(256), ValueKind::Bytes)], ..none.clone() },
        Fragment { columns: vec![Column::new("x", ValueKind::Bytes); 2], ..none.clone() },
    ];
    for fragment in above {
        assert!(fragment.check().is_err(), "{fragment:?}");
    }
}

#[test]
fn unit_must_match_its_fragment() {
    let good = golden::q1();
    let bind = |change: fn(&mut nearscan_command::Unit)| {
        let mut unit = good.unit.clone();
        change(&mut unit);
        Command::bind(&good.fragment, unit, Envelope::default())
    };
    assert!(bind(|_| {}).is_ok());
    assert!(bind(|unit| unit.rows = limits::UNIT_ROWS_MAX + 1).is_err());
    assert!(bind(|unit| unit.chunks.truncate(5)).is_err());
    assert!(bind(|unit| unit.chunks[0].input = 1).is_err());
    assert!(bind(|unit| unit.chunks[0].physical_type = PhysicalType::Int32).is_err());
    assert!(bind(|unit| unit.chunks[0].definition_level_max = 2).is_err());
    assert!(bind(|unit| unit.chunks[5].length += 1).is_err());
    assert!(bind(|unit| unit.chunks[5].offset = u64::MAX).is_err());
    assert!(bind(|unit| unit.chunks[0].uncompressed_bytes = (2 << 30) + 1).is_err());
    assert!(bind(|unit| unit.inputs = vec![unit.inputs[0].clone(); 17]).is_err());
    assert!(bind(|unit| unit.chunks[0].encodings = Encodings::ALL).is_ok());
    assert!(bind(|unit| unit.chunks[0].encodings = Encodings::HOST).is_err());
}

#[test]
fn bound_command_decodes_with_any_number_of_extents() {
    let with_extents = |count: usize| {
        let fragment = Fragment { tests: vec![], columns: vec![], ..fragment() };
        let unit = nearscan_command::Unit {
            rows: 0,
            inputs: vec![InputRef::NvmeExtents {
                namespace: 1,
                block_shift: 9,
                extents: vec![Extent { block_first: 0, block_count: 1 }; count],
                skip: 0,
                length: 0,
                version: Version::default(),
            }],
            chunks: vec![],
        };
        Command::bind(&fragment, unit, Envelope::default())
    };
    let most = with_extents(limits::EXTENTS_MAX as usize).unwrap();
    assert_eq!(Command::decode(&most.encode().unwrap()), Ok(most));
    assert!(matches!(
        with_extents(limits::EXTENTS_MAX as usize + 1),
        Err(Error::Limit { what: "extents", .. })
    ));
}

#[rstest]
#[case(TestOp::In, "b", [false, true, false])]
#[case(TestOp::Less, "b", [true, false, false])]
#[case(TestOp::LessOrEqual, "b", [true, true, false])]
#[case(TestOp::Greater, "b", [false, false, true])]
#[case(TestOp::GreaterOrEqual, "b", [false, true, true])]
#[case(TestOp::Like, "b", [false, true, false])]
fn strings_are_compared_byte_by_byte(
    #[case] op: TestOp,
    #[case] literal: &str,
    #[case] expected: [bool; 3],
) {
    let test = StringTest { column: 0, op, strings: vec![literal.as_bytes().to_vec()] };
    assert_eq!([&b"azzz"[..], b"b", b"b\0"].map(|value| test.passes(value)), expected);
}
