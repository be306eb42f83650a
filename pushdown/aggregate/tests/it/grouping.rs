// SPDX-License-Identifier: Apache-2.0
//! Tests keys of each kind, through the table and past it.

use std::sync::Arc;

use arrow::{
    array::{
        ArrayRef, BinaryViewArray, BooleanArray, Date32Array, Decimal128Array, Float64Array,
        Int16Array, Int64Array, StringArray, StringViewArray, TimestampMicrosecondArray,
        UInt64Array,
    },
    datatypes::DataType,
};
use nearscan_aggregate::{Collector, Error, Fold, KeyLayout, Shape, State, Values};
use rstest::rstest;

use crate::support::{Job, Table, expected, grouped, layout_of, states_over};

/// Rows that fill the table of a collector several times if their keys differ.
const ROWS: i64 = 60_000;

fn integers(distinct: i64) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values((0..ROWS).map(|row| (row * 7919 % distinct) - 5)))
}

fn nullable(distinct: i64) -> ArrayRef {
    let value = |row| (row % 11 != 3).then_some(row * 7919 % distinct);
    (Arc::new((0..ROWS).map(value).collect::<Int64Array>())) as ArrayRef
}

fn texts(distinct: i64) -> ArrayRef {
    let value = |row| match row % 13 {
        5 => None,
        7 => Some(String::new()),
        _ => Some(format!("a text that is longer than a view, {}", row * 31 % distinct)),
    };
    Arc::new((0..ROWS).map(value).collect::<StringViewArray>())
}

fn job(states: Vec<State>) -> Job {
    Job { states, ..Job::default() }
}

fn count() -> Vec<State> {
    vec![State { fold: Fold::CountRows, argument: 0, values: Values::I64 }]
}

#[rstest]
#[case::word(vec![integers(100)])]
#[case::word_past_the_table(vec![integers(ROWS)])]
#[case::nullable_word(vec![nullable(100)])]
#[case::two_words(vec![integers(50), nullable(70)])]
#[case::two_words_past_the_table(vec![integers(ROWS), nullable(300)])]
#[case::two_nullable_words(vec![nullable(50), nullable(70)])]
#[case::text(vec![texts(100)])]
#[case::text_past_the_table(vec![texts(ROWS)])]
#[case::text_between_words(vec![integers(20), texts(30), nullable(40)])]
#[case::two_texts(vec![texts(20), texts(30)])]
fn groups_are_those_of_a_map(#[case] keys: Vec<ArrayRef>) {
    let table = Table { keys, arguments: vec![nullable(1000)] };
    let states = states_over(&[Values::I64]);
    let answer = grouped(&table, layout_of(&table.keys), &job(states.clone()));
    assert_eq!(answer, expected(&table, &states));
}

#[test]
fn every_type_is_a_key() {
    let rows = 0..1000_i32;
    let keys: Vec<ArrayRef> = vec![
        Arc::new(
            rows.clone().map(|row| (row % 3 > 0).then_some(row % 2 == 0)).collect::<BooleanArray>(),
        ),
        Arc::new(
            rows.clone()
                .map(|row| (row % 5 > 0).then_some(-i16::try_from(row % 4).expect("it is small")))
                .collect::<Int16Array>(),
        ),
        Arc::new(rows.clone().map(|row| Some(row % 7 - 3)).collect::<Date32Array>()),
        Arc::new(
            rows.clone()
                .map(|row| Some(u64::MAX - u64::from(row.unsigned_abs()) % 3))
                .collect::<UInt64Array>(),
        ),
        Arc::new(
            rows.clone()
                .map(|row| Some(i64::from(row % 2) - 1))
                .collect::<TimestampMicrosecondArray>(),
        ),
        Arc::new(
            rows.clone()
                .map(|row| Some(i128::from(row % 3 - 1) << 70))
                .collect::<Decimal128Array>()
                .with_precision_and_scale(30, 2)
                .expect("30 digits are enough"),
        ),
        Arc::new(rows.clone().map(|row| Some(format!("{}", row % 3))).collect::<StringArray>()),
        Arc::new(
            rows.map(|row| Some(vec![0xff; usize::try_from(row % 4).expect("it is small")]))
                .collect::<BinaryViewArray>(),
        ),
    ];
    for first in 0..keys.len() {
        for last in first..keys.len() {
            let table = Table { keys: keys[first..=last].to_vec(), arguments: Vec::new() };
            let answer = grouped(&table, layout_of(&table.keys), &job(count()));
            assert_eq!(answer, expected(&table, &count()), "columns {first} to {last}");
        }
    }
}

#[test]
fn arguments_of_every_kind_are_folded() {
    let rows = 0..5000_i64;
    let arguments: Vec<ArrayRef> = vec![
        Arc::new(
            rows.clone().map(|row| (row % 3 > 0).then_some(i64::MAX - row)).collect::<Int64Array>(),
        ),
        Arc::new(
            rows.clone()
                .map(|row| (row % 4 > 0).then_some(u64::MAX - row.unsigned_abs()))
                .collect::<UInt64Array>(),
        ),
        Arc::new(
            rows.clone().map(|row| (row % 5 > 0).then_some(row as f64)).collect::<Float64Array>(),
        ),
        Arc::new(
            rows.clone()
                .map(|row| (row % 6 > 0).then_some(i128::from(row) << 64))
                .collect::<Decimal128Array>()
                .with_precision_and_scale(38, 2)
                .expect("38 digits are all"),
        ),
    ];
    let key = rows.map(|row| Some(row % 17)).collect::<Int64Array>();
    let table = Table { keys: vec![Arc::new(key)], arguments };
    let states = states_over(&[Values::I64, Values::U64, Values::F64, Values::I128]);
    let answer = grouped(&table, layout_of(&table.keys), &job(states.clone()));
    assert_eq!(answer, expected(&table, &states));
}

#[test]
fn extremes_of_dates_are_dates() {
    let days = (0..3000).map(|row| (row % 7 > 0).then_some(row * 37 % 1000 - 500));
    let table = Table {
        keys: vec![Arc::new((0..3000).map(|row| Some(row % 70)).collect::<Int64Array>())],
        arguments: vec![Arc::new(days.collect::<Date32Array>())],
    };
    let state = |fold| State { fold, argument: 0, values: Values::I64 };
    let states = vec![state(Fold::Min), state(Fold::Max)];
    let answer = grouped(&table, layout_of(&table.keys), &job(states.clone()));
    assert_eq!(answer, expected(&table, &states));
}

#[test]
fn keys_get_wide_when_first_null_comes_late() {
    let value = |row| (row != ROWS - 10).then_some(row * 7919 % (ROWS / 2) - 5);
    let key: ArrayRef = Arc::new((0..ROWS).map(value).collect::<Int64Array>());
    let table = Table { keys: vec![key], arguments: Vec::new() };
    let answer = grouped(&table, layout_of(&table.keys), &job(count()));
    assert_eq!(answer, expected(&table, &count()));
}

/// Without a place for it, NULL would be taken for 0 or for an empty text.
#[rstest]
#[case::word(nullable(100), DataType::Int64)]
#[case::text(texts(100), DataType::Utf8View)]
fn null_in_a_column_that_has_none_is_an_error(#[case] key: ArrayRef, #[case] data_type: DataType) {
    let layout = KeyLayout::new([(data_type, false)]).expect("the type is packed");
    let mut collector = Collector::new(Arc::new(Shape::new(layout, count(), 1)));
    let hashes = vec![0; key.len()];
    let error = collector.push(&[key], &hashes, &[]).expect_err("a key is NULL");
    assert!(matches!(error, Error::Null), "{error}");
}

#[test]
fn layout_of_floats_is_refused() {
    assert!(KeyLayout::new([(DataType::Float64, false)]).is_none());
    assert!(KeyLayout::new([(DataType::Int64, false)]).is_some());
}
