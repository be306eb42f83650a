// SPDX-License-Identifier: Apache-2.0
//! Tests rows that were written to files in between.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, StringViewArray};
use nearscan_aggregate::{Limits, Values};
use rstest::rstest;

use crate::support::{
    Job, Table, expected, grouped, grouped_in_steps, layout_of, small_limits, states_over,
};

const ROWS: i64 = 60_000;

fn integers() -> ArrayRef {
    Arc::new(Int64Array::from_iter_values((0..ROWS).map(|row| row * 7919 % 30_000)))
}

/// Integers that are first NULL in the last of the files.
fn nullable() -> ArrayRef {
    let value = |row| (row < ROWS - 9000 || row % 2 == 0).then_some(row * 7919 % 100);
    Arc::new((0..ROWS).map(value).collect::<Int64Array>())
}

fn texts() -> ArrayRef {
    let text = |row| (row % 13 > 0).then(|| format!("a text of {} letters", row % 9000));
    Arc::new((0..ROWS).map(text).collect::<StringViewArray>())
}

#[rstest]
#[case::words(vec![integers()])]
#[case::words_then_wide(vec![nullable()])]
#[case::wide(vec![integers(), nullable()])]
#[case::text(vec![texts()])]
#[case::text_and_words(vec![texts(), nullable()])]
#[case::two_texts(vec![texts(), nullable(), texts()])]
fn groups_of_spilled_rows_are_those_of_a_map(
    #[case] keys: Vec<ArrayRef>,
    #[values(1, 3)] spills_after: usize,
) {
    let table = Table { keys, arguments: vec![nullable()] };
    let states = states_over(&[Values::I64]);
    for limits in [Limits::default(), small_limits()] {
        let job = Job {
            states: states.clone(),
            batch_rows: 4096,
            spills_after: Some(spills_after),
            limits,
            ..Job::default()
        };
        let answer = grouped(&table, layout_of(&table.keys), &job);
        assert_eq!(answer, expected(&table, &states));
    }
}

/// Of 30,000 groups, or 9,000 texts, some hundreds have room.
#[rstest]
#[case::words(vec![integers()])]
#[case::words_then_wide(vec![integers(), nullable()])]
#[case::text(vec![texts()])]
#[case::two_texts(vec![texts(), texts()])]
fn groups_without_room_are_merged_in_shares(
    #[case] keys: Vec<ArrayRef>,
    #[values(None, Some(3))] spills_after: Option<usize>,
) {
    let table = Table { keys, arguments: vec![nullable()] };
    let states = states_over(&[Values::I64]);
    let limits = Limits { merged_rows: usize::MAX, ..small_limits() };
    let job = Job {
        states: states.clone(),
        batch_rows: 4096,
        spills_after,
        memory_bytes: 100_000,
        limits,
        ..Job::default()
    };
    let (answer, steps) = grouped_in_steps(&table, layout_of(&table.keys), &job);
    assert_eq!(answer, expected(&table, &states));
    // All partitions of an output are one range.
    assert!(steps > 2 * job.outputs, "{steps} steps");
}

/// Most rows are of one group, which neither writing nor merging has to hold together.
#[test]
fn rows_of_one_group_take_no_memory_together() {
    let key = |row| if row % 10 < 9 { -1 } else { row };
    let keys: ArrayRef = Arc::new(Int64Array::from_iter_values((0..ROWS).map(key)));
    let table = Table { keys: vec![keys], arguments: vec![nullable()] };
    let states = states_over(&[Values::I64]);
    // Rows are not aggregated when they are collected.
    let limits = Limits { table_groups: 1, section_rows: 100, ..Limits::default() };
    let job = Job {
        states: states.clone(),
        spills_after: Some(1),
        memory_bytes: 50_000,
        limits,
        ..Job::default()
    };
    assert_eq!(grouped(&table, layout_of(&table.keys), &job), expected(&table, &states));
}
