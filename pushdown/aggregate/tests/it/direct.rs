// SPDX-License-Identifier: Apache-2.0
//! Tests groups by the place of their key in a range.

use std::{ops::RangeInclusive, sync::Arc};

use arrow::{
    array::{Array, ArrayRef, Int32Array, Int64Array, StringArray},
    compute::{cast, max, min},
    datatypes::{DataType, Int64Type},
};
use nearscan_aggregate::{DirectGroups, DirectKeys, Error, Fold, KeyLayout, Shape, State, Values};
use proptest::{collection::vec, option, prelude::*};
use rstest::rstest;

use crate::support::{Answer, Table, add_groups, expected, layout_of, states_over};

/// A range without any number.
const NOTHING: RangeInclusive<i64> = RangeInclusive::new(0, -1);

fn shape(layout: KeyLayout, states: &[State]) -> Arc<Shape> {
    Arc::new(Shape::new(layout, states.to_vec(), 1))
}

/// The range of keys, and how many are different, at most.
fn keys_of(keys: &ArrayRef) -> DirectKeys {
    let numbers = match keys.data_type() {
        DataType::Date32 => cast(keys, &DataType::Int32).expect("dates are days"),
        _ => Arc::clone(keys),
    };
    let numbers = cast(&numbers, &DataType::Int64).expect("keys are integers");
    let numbers = arrow::array::AsArray::as_primitive::<Int64Type>(&numbers);
    let span = match (min(numbers), max(numbers)) {
        (Some(first), Some(last)) => first..=last,
        _ => NOTHING,
    };
    DirectKeys { span, keys_max: keys.len() }
}

fn grouped(table: &Table, states: &[State], batch_rows: usize, keys: DirectKeys) -> Answer {
    let shape = shape(layout_of(&table.keys), states);
    let mut groups = DirectGroups::new(shape, keys).expect("there are few places");
    let rows = table.keys[0].len();
    for start in (0..rows).step_by(batch_rows) {
        let length = batch_rows.min(rows - start);
        let slice = |array: &ArrayRef| array.slice(start, length);
        let arguments: Vec<ArrayRef> = table.arguments.iter().map(slice).collect();
        groups.push(&slice(&table.keys[0]), &arguments).expect("keys are in the range");
    }
    let mut answer = Answer::new();
    let groups = groups.into_groups().expect("keys are as planned");
    add_groups(&mut answer, &groups, table, states);
    answer
}

fn counted(keys: ArrayRef) -> Table {
    let rows = i64::try_from(keys.len()).expect("there are few rows");
    let numbers = (0..rows).map(|row| (row % 7 != 3).then_some(row * 31 % 11 - 5));
    Table { keys: vec![keys], arguments: vec![Arc::new(numbers.collect::<Int64Array>())] }
}

fn numbers(values: impl IntoIterator<Item = Option<i64>>) -> ArrayRef {
    Arc::new(values.into_iter().collect::<Int64Array>())
}

#[rstest]
#[case::ascending(numbers((0..1000).map(|row| Some(row / 3))))]
#[case::descending(numbers((0..1000).map(|row| Some(-row / 3))))]
#[case::gaps(numbers((0..1000).map(|row| Some(row * 17))))]
#[case::least_number(numbers([Some(i64::MIN), Some(i64::MIN + 2), Some(i64::MIN)]))]
#[case::greatest_number(numbers([Some(i64::MAX), Some(i64::MAX - 5), Some(i64::MAX)]))]
#[case::null(numbers([Some(3), None, Some(0), None, Some(3)]))]
#[case::null_first(numbers([None, Some(1), None]))]
#[case::only_null(numbers([None, None]))]
#[case::one_key(numbers([Some(5); 100]))]
#[case::no_rows(numbers([]))]
fn groups_are_those_of_a_map(#[case] keys: ArrayRef) {
    let (table, states) = (counted(keys), states_over(&[Values::I64]));
    let keys = keys_of(&table.keys[0]);
    for batch_rows in [1, 7, 8192] {
        let answer = grouped(&table, &states, batch_rows, keys.clone());
        assert_eq!(answer, expected(&table, &states));
    }
}

#[rstest]
fn keys_keep_their_type(
    #[values(DataType::Int8, DataType::Int16, DataType::Int32, DataType::Int64, DataType::Date32)]
    data_type: DataType,
    #[values(None, Some(()))] null: Option<()>,
) {
    let keys: Int32Array =
        (-40..40).map(|key| (null.is_none() || key % 9 != 0).then_some(key / 2)).collect();
    let table = counted(cast(&keys, &data_type).unwrap());
    let states = states_over(&[Values::I64]);
    let answer = grouped(&table, &states, 10, keys_of(&table.keys[0]));
    assert_eq!(answer, expected(&table, &states));
}

#[rstest]
fn unsigned_keys_keep_their_type(
    #[values(DataType::UInt8, DataType::UInt16, DataType::UInt32)] data_type: DataType,
) {
    // The greatest number of the type is negative if it is taken for a signed one.
    let greatest = match data_type {
        DataType::UInt8 => i64::from(u8::MAX),
        DataType::UInt16 => i64::from(u16::MAX),
        _ => i64::from(u32::MAX),
    };
    let keys = numbers((0..90).map(|row| Some(greatest - row / 3)));
    let table = counted(cast(&keys, &data_type).unwrap());
    let states = states_over(&[Values::I64]);
    let answer = grouped(&table, &states, 10, keys_of(&table.keys[0]));
    assert_eq!(answer, expected(&table, &states));
}

#[rstest]
#[case::before(-1)]
#[case::behind(11)]
#[case::far_before(i64::MIN)]
#[case::far_behind(i64::MAX)]
fn key_beyond_the_range_is_an_error(#[case] key: i64) {
    let layout = KeyLayout::new([(DataType::Int64, true)]).unwrap();
    let keys = DirectKeys { span: 0..=10, keys_max: 100 };
    let mut groups = DirectGroups::new(shape(layout, &[]), keys).unwrap();
    let error = groups.push(&numbers([Some(0), Some(10), Some(key)]), &[]).unwrap_err();
    assert!(matches!(error, Error::Range { key: found, first: 0, last: 10 } if found == key));
}

#[test]
fn key_of_an_empty_range_is_an_error() {
    let layout = KeyLayout::new([(DataType::Int64, true)]).unwrap();
    let keys = DirectKeys { span: NOTHING, keys_max: 100 };
    let mut groups = DirectGroups::new(shape(layout, &[]), keys).unwrap();
    assert!(groups.push(&numbers([None]), &[]).is_ok());
    assert!(matches!(groups.push(&numbers([Some(0)]), &[]), Err(Error::Range { key: 0, .. })));
}

#[test]
fn null_that_was_not_planned_is_an_error() {
    let layout = KeyLayout::new([(DataType::Int64, false)]).unwrap();
    let keys = DirectKeys { span: 0..=10, keys_max: 100 };
    let mut groups = DirectGroups::new(shape(layout, &[]), keys).unwrap();
    groups.push(&numbers([Some(3), None]), &[]).unwrap();
    assert!(matches!(groups.into_groups(), Err(Error::Null)));
}

#[test]
fn other_type_than_planned_is_an_error() {
    let layout = KeyLayout::new([(DataType::Int32, true)]).unwrap();
    let keys = DirectKeys { span: 0..=10, keys_max: 100 };
    let mut groups = DirectGroups::new(shape(layout, &[]), keys).unwrap();
    let error = groups.push(&numbers([Some(3)]), &[]).unwrap_err();
    assert!(matches!(error, Error::Type { found: DataType::Int64 }));
}

#[rstest]
#[case::one(0..=0, Some(1))]
#[case::negative(-3..=3, Some(7))]
#[case::nothing(NOTHING, Some(0))]
#[case::half_of_all(0..=i64::MAX, None)]
#[case::all(i64::MIN..=i64::MAX, None)]
#[case::numbers_of_32_bits(0..=i64::from(u32::MAX), None)]
fn places_are_those_of_the_range(#[case] span: RangeInclusive<i64>, #[case] places: Option<usize>) {
    assert_eq!(DirectKeys { span, keys_max: 1 }.places(), places);
}

#[test]
fn memory_is_of_all_places_and_of_the_most_groups() {
    let state = |fold, values| State { fold, argument: 0, values };
    let states = [state(Fold::Sum, Values::I128), state(Fold::Count, Values::I64)];
    let layout = || KeyLayout::new([(DataType::Int64, true)]).unwrap();
    let bytes = |span, keys_max| {
        DirectKeys { span, keys_max }.memory_bytes(&Shape::new(layout(), states.to_vec(), 1))
    };
    // 4 bytes a place; key, sum and count of each group, and of NULL.
    assert_eq!(bytes(0..=999, 10), Some(4000 + 11 * (8 + 16 + 8)));
    assert_eq!(bytes(0..=9, 1000), Some(40 + 11 * (8 + 16 + 8)));
    assert_eq!(bytes(i64::MIN..=i64::MAX, 10), None);
}

#[test]
fn other_keys_have_no_index() {
    let takes = |types: &[DataType]| {
        let types = types.iter().map(|data_type| (data_type.clone(), true));
        DirectGroups::takes(&Shape::new(KeyLayout::new(types).unwrap(), Vec::new(), 1))
    };
    assert!(takes(&[DataType::Int64]));
    assert!(!takes(&[DataType::UInt64]));
    assert!(!takes(&[DataType::Boolean]));
    assert!(!takes(&[DataType::Utf8]));
    assert!(!takes(&[DataType::Decimal128(10, 2)]));
    assert!(!takes(&[DataType::Int32, DataType::Int32]));
    let text: ArrayRef = Arc::new(StringArray::from(vec!["a"]));
    let shape = shape(layout_of(&[text]), &[]);
    assert!(DirectGroups::new(shape, DirectKeys { span: 0..=1, keys_max: 1 }).is_none());
}

proptest! {
    #[test]
    fn groups_of_random_keys_are_those_of_a_map(
        first in prop_oneof![Just(i64::MIN), Just(-50), Just(0), Just(i64::MAX - 60)],
        keys in vec(option::of(0..60_i64), 1..300),
        batch_rows in 1..50_usize,
        values in vec(option::of(any::<i64>()), 300),
    ) {
        let keys: Int64Array = keys.iter().map(|key| Some(first + (*key)?)).collect();
        let values: Int64Array = values.into_iter().take(keys.len()).collect();
        let table = Table { keys: vec![Arc::new(keys)], arguments: vec![Arc::new(values)] };
        let states = states_over(&[Values::I64]);
        let keys = DirectKeys { span: first..=first + 59, keys_max: 300 };
        prop_assert_eq!(grouped(&table, &states, batch_rows, keys), expected(&table, &states));
    }
}
