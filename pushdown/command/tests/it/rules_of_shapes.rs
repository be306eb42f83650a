// SPDX-License-Identifier: Apache-2.0
//! Tests that invalid group keys by range, tops and readings are refused.

use nearscan_command::{
    Aggregate, Command, Encodings, Envelope, Error, Fragment, Function, Key, Op, Operand, Output,
    ReadAs, Reading, RowColumn, Step, StringTest, TestOp, Top, Unit, Width, limits, pattern,
};
use rstest::rstest;

use crate::shapes;

const FLAG: Operand = Operand::Column(0);
const NOTE: Operand = Operand::Column(5);
const TRUTH: Operand = Operand::Step(4);
const YEAR: Operand = Operand::Step(6);

fn grouped_by(keys: Vec<Key>) -> Result<(), Error> {
    let output = Output::States { keys, aggregates: vec![Aggregate::count_rows()] };
    Fragment { output, ..shapes::states().fragment }.check()
}

#[test]
fn keys_by_codes_and_by_ranges_go_together() {
    assert_eq!(grouped_by(vec![Key::column(5), Key::column(1), Key::range(YEAR, -1, 3)]), Ok(()));
    assert_eq!(grouped_by(vec![Key::range(FLAG, i64::MIN, limits::GROUPS_MAX - 1)]), Ok(()));
    assert_eq!(grouped_by(vec![Key::range(FLAG, i64::MAX - 1, 1)]), Ok(()));
}

#[rstest]
#[case::step_by_its_codes(Key { operand: YEAR, range: None })]
#[case::no_such_column(Key::column(7))]
#[case::no_such_step(Key::range(Operand::Step(9), 0, 1))]
#[case::range_of_strings(Key::range(NOTE, 0, 1))]
#[case::range_of_truth(Key::range(TRUTH, 0, 2))]
#[case::range_of_a_literal(Key::range(Operand::Literal(0), 0, 1))]
#[case::range_of_nothing(Key::range(FLAG, 0, 0))]
#[case::range_too_wide(Key::range(FLAG, 0, limits::GROUPS_MAX))]
#[case::range_beyond_64_bits(Key::range(FLAG, i64::MAX, 1))]
fn key_of_wrong_kind_is_refused(#[case] key: Key) {
    assert!(grouped_by(vec![key]).is_err());
}

#[test]
fn key_is_listed_once_with_range_or_without() {
    let twice = grouped_by(vec![Key::column(0), Key::range(FLAG, 0, 2)]);
    assert_eq!(twice, Err(Error::Inconsistent { what: "a group key is listed twice" }));
}

fn ordered_by(top: Top, limit: Option<u64>) -> Result<(), Error> {
    let columns = vec![RowColumn { operand: FLAG, width: Width::W64 }];
    let output = Output::Rows { columns, limit, top: Some(top) };
    Fragment { output, ..shapes::rows().fragment }.check()
}

#[rstest]
#[case::literal(Operand::Literal(0), 1)]
#[case::null(Operand::Null, 1)]
#[case::strings(NOTE, 1)]
#[case::truth(TRUTH, 1)]
#[case::no_such_step(Operand::Step(9), 1)]
#[case::no_rows(FLAG, 0)]
#[case::too_many_rows(FLAG, limits::TOP_MAX + 1)]
fn top_of_wrong_kind_is_refused(#[case] operand: Operand, #[case] count: u32) {
    let top = Top { operand, descending: false, nulls_first: true, count };
    assert!(ordered_by(top, None).is_err());
}

#[test]
fn top_with_a_limit_is_refused() {
    let top = |operand, count| Top { operand, descending: true, nulls_first: false, count };
    assert_eq!(ordered_by(top(FLAG, 1), None), Ok(()));
    assert_eq!(ordered_by(top(YEAR, limits::TOP_MAX), None), Ok(()));
    assert!(matches!(ordered_by(top(FLAG, 1), Some(9)), Err(Error::Inconsistent { .. })));
}

#[test]
fn wildcard_does_not_count_as_a_place_of_a_pattern() {
    let most = limits::PATTERN_PLACES_MAX as usize;
    let like = |places: usize, byte: u8| {
        let string = [vec![pattern::ANY; 65], vec![byte; places]].concat();
        let test = StringTest { column: 5, op: TestOp::Like, strings: vec![string] };
        Fragment { tests: vec![test.clone(), test], ..shapes::rows().fragment }.check()
    };
    for byte in [b'x', pattern::ONE] {
        assert_eq!(like(most, byte), Ok(()));
        assert!(matches!(like(most + 1, byte), Err(Error::Limit { .. })));
    }
}

#[test]
fn predicate_that_ends_in_a_case_is_refused() {
    let good = shapes::rows().fragment;
    for number in [
        Step::select(Width::W64, Operand::Step(0), FLAG, FLAG),
        Step::part(Op::Day, Width::W64, FLAG),
    ] {
        let mut bad = good.clone();
        bad.predicate.steps.push(number);
        assert!(bad.check().is_err());
    }
}

/// Binds with another reading of one column.
fn read_as(column: usize, reading: Reading) -> Result<Command, Error> {
    let Command { fragment, mut unit, .. } = shapes::rows();
    unit.chunks[column].reading = reading;
    Command::bind(&fragment, unit, Envelope::default())
}

#[rstest]
#[case::flag_unsigned(0, ReadAs::Unsigned, 0, 0)]
#[case::integer_as_float(1, ReadAs::FloatOrder, 0, 0)]
#[case::integer_big_endian(2, ReadAs::BigEndian, 0, 0)]
#[case::integer_with_a_length(2, ReadAs::Signed, 0, 8)]
#[case::float_as_integer(3, ReadAs::Signed, 0, 0)]
#[case::double_as_integer(4, ReadAs::Unsigned, 0, 0)]
#[case::string_big_endian(5, ReadAs::BigEndian, 0, 0)]
#[case::bytes_without_a_length(6, ReadAs::BigEndian, 0, 0)]
#[case::bytes_too_long(6, ReadAs::BigEndian, 0, 17)]
#[case::bytes_little_endian(6, ReadAs::Signed, 0, 16)]
#[case::too_many_bits(1, ReadAs::Signed, 65, 0)]
fn reading_of_another_type_is_refused(
    #[case] column: usize,
    #[case] rule: ReadAs,
    #[case] bits: u8,
    #[case] length: u16,
) {
    assert!(matches!(
        read_as(column, Reading { rule, bits, length }),
        Err(Error::Kind { expected: "a reading of the column's stored type", .. })
    ));
}

#[test]
fn integers_are_read_with_a_sign_or_without_and_narrower_than_they_are() {
    for rule in [ReadAs::Signed, ReadAs::Unsigned] {
        for bits in [0, 1, 64] {
            for column in [1, 2] {
                assert!(read_as(column, Reading { rule, bits, length: 0 }).is_ok());
            }
        }
    }
    for length in 1..=16 {
        assert!(read_as(6, Reading { rule: ReadAs::BigEndian, bits: 0, length }).is_ok());
    }
}

#[test]
fn only_floats_are_added_up_as_floats() {
    let summed = |column: u16| {
        let Command { fragment, unit, .. } = shapes::states();
        let slot = Aggregate::new(Function::SumFloat, Operand::Column(column), Width::W64);
        let output = Output::States { keys: vec![], aggregates: vec![slot] };
        Command::bind(&Fragment { output, ..fragment }, unit, Envelope::default())
    };
    let is_float = |column| summed(column).is_ok();
    let floats: Vec<u16> = (0..7).filter(|column| is_float(*column)).collect();
    assert_eq!(floats, [3, 4]);
}

/// Scratch of a unit that differs in one chunk.
fn scratch(change: impl Fn(&mut Unit)) -> u64 {
    let Command { fragment, mut unit, .. } = shapes::states();
    for chunk in &mut unit.chunks {
        chunk.encodings = Encodings::SCAN;
    }
    change(&mut unit);
    unit.scratch_bytes(&fragment)
}

#[test]
fn lane_memory_covers_the_needs_of_its_column() {
    let plain = scratch(|_| {});
    let lines = |bytes: u64| bytes.next_multiple_of(64);
    // A slot for each entry that fits: 250 of 8 bytes. A page whose values are split into streams
    // has each from a line on.
    let split = lines(250 * 16 + 2000 + 16 * 64) - lines(250 * 16);
    assert_eq!(scratch(|unit| unit.chunks[4].encodings = Encodings::ALL), plain + split);
    // Truth values have no dictionary.
    assert_eq!(scratch(|unit| unit.chunks[0].uncompressed_bytes *= 100), plain);
    // Values of a fixed length: 125 of 16 bytes, twice as many of 8.
    let shorter = lines(250 * 16) - lines(125 * 16);
    assert_eq!(scratch(|unit| unit.chunks[6].reading.length = 8), plain + shorter);
}

#[test]
fn extreme_of_strings_is_kept() {
    let scratch_of = |function, width| {
        let Command { fragment, unit, .. } = shapes::states();
        let aggregates = vec![Aggregate::new(function, NOTE, width)];
        unit.scratch_bytes(&Fragment {
            output: Output::States { keys: vec![], aggregates },
            ..fragment
        })
    };
    let counted = scratch_of(Function::Count, Width::W64);
    // Each byte of the chunk twice, since strings are padded, behind 500 slots.
    let kept = (500 * 16 + 4000_u64).next_multiple_of(64) - (500 * 16_u64).next_multiple_of(64);
    assert_eq!(scratch_of(Function::Min, Width::Bytes), counted + kept);
    assert_eq!(scratch_of(Function::Max, Width::Bytes), counted + kept);
}

#[test]
fn output_bytes_of_states_without_keys_hold_one_row() {
    let room = |keys| {
        let Command { fragment, unit, .. } = shapes::states();
        let aggregates = vec![Aggregate::count_rows(); 16];
        unit.output_bytes(&Fragment { output: Output::States { keys, aggregates }, ..fragment })
    };
    assert!(room(vec![]) < 256 + 2 * (16 + 16 * 64) + 16 * 17 + 64);
    assert!(room(vec![Key::range(FLAG, 0, 2)]) > 700 * 16 * 17);
}
