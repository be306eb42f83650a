// SPDX-License-Identifier: Apache-2.0
//! Folds the values of rows, or the states of other groups, into the states of groups.

use std::ops::Range;

use crate::{
    block::Contents,
    column::Column,
    shape::{Fold, State},
};

/// Appends the states of groups without any row, up to `groups`.
pub(crate) fn grow(state: &State, states: &mut Column, groups: usize) {
    match (states, state.fold) {
        (Column::I64(states), Fold::Min) => states.resize(groups, i64::MAX),
        (Column::I64(states), Fold::Max) => states.resize(groups, i64::MIN),
        (Column::I64(states), _) => states.resize(groups, 0),
        (Column::U64(states), Fold::Min) => states.resize(groups, u64::MAX),
        (Column::U64(states), _) => states.resize(groups, 0),
        (Column::F64(states), _) => states.resize(groups, 0.0),
        (Column::I128(states), Fold::Min) => states.resize(groups, i128::MAX),
        (Column::I128(states), Fold::Max) => states.resize(groups, i128::MIN),
        (Column::I128(states), _) => states.resize(groups, 0),
        (Column::None | Column::U8(_), _) => debug_assert!(false, "no column of groups"),
    }
}

/// Folds the rows of a range, which belong to `groups`, into the states.
pub(crate) fn fold(
    state: &State,
    states: &mut Column,
    contents: Contents,
    values: &Column,
    rows: Range<usize>,
    groups: &[u32],
) {
    match (state.fold, contents, states, values) {
        (Fold::CountRows, Contents::Rows, Column::I64(states), _) => {
            groups.iter().for_each(|group| states[*group as usize] += 1);
        }
        (Fold::Count, Contents::Rows, Column::I64(states), Column::U8(values)) => {
            each(states, &values[rows], groups, |state, value| state + i64::from(value));
        }
        (Fold::CountRows | Fold::Count, _, Column::I64(states), Column::I64(values)) => {
            each(states, &values[rows], groups, |state, value| state + value);
        }
        (fold, _, Column::I64(states), Column::I64(values)) => {
            integers(fold, states, &values[rows], groups, i64::wrapping_add);
        }
        (fold, _, Column::U64(states), Column::U64(values)) => {
            integers(fold, states, &values[rows], groups, u64::wrapping_add);
        }
        (_, _, Column::F64(states), Column::F64(values)) => {
            each(states, &values[rows], groups, |state, value| state + value);
        }
        (fold, _, Column::I128(states), Column::I128(values)) => {
            integers(fold, states, &values[rows], groups, i128::wrapping_add);
        }
        _ => debug_assert!(false, "columns are those of the state"),
    }
}

/// Folds integers by an operation other than a count.
fn integers<T: Copy + Ord>(
    fold: Fold,
    states: &mut [T],
    values: &[T],
    groups: &[u32],
    sum: impl Fn(T, T) -> T,
) {
    match fold {
        Fold::Min => each(states, values, groups, Ord::min),
        Fold::Max => each(states, values, groups, Ord::max),
        _ => each(states, values, groups, sum),
    }
}

#[inline]
fn each<S: Copy, V: Copy>(
    states: &mut [S],
    values: &[V],
    groups: &[u32],
    fold: impl Fn(S, V) -> S,
) {
    for (value, group) in values.iter().zip(groups) {
        let state = &mut states[*group as usize];
        *state = fold(*state, *value);
    }
}
