// SPDX-License-Identifier: Apache-2.0
//! Counts and folds numbers into the states of groups.
//!
//! Numbers of 64 bits are first folded within the batch, in 64 bits: a sum when no batch of numbers
//! of that size can leave them. The states, of 128 bits, take in one number a group and batch.

use arrow::buffer::BooleanBuffer;

use crate::{
    arithmetic::size_bits, compare::Number, error::Stop, simd::by_level, values::NumberValues,
};

/// A slot's state in one group.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct State {
    /// Rows, or values that are not null.
    pub(crate) count: u64,
    /// Sum, minimum or maximum; nothing as long as the count is 0.
    pub(crate) value: i128,
}

/// Which group each row belongs to.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Groups<'a> {
    /// All to the only one.
    One,
    /// To several.
    Many {
        /// `[rows]`.
        groups: &'a [u32],
        /// Rows of each group, `[groups]`.
        counts: &'a [u32],
    },
}

impl Groups<'_> {
    /// The group of a row.
    pub(crate) const fn of(&self, row: usize) -> usize {
        match self {
            Self::One => 0,
            Self::Many { groups, .. } => groups[row] as usize,
        }
    }
}

/// The operation that combines two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fold {
    Sum,
    Min,
    Max,
}

/// Groups up to which a batch is folded on its own first: 64 KiB of states.
const GROUPS_LOCAL_MAX: usize = 4096;

/// A state within a batch.
#[derive(Debug, Clone, Copy)]
struct Local {
    count: u32,
    value: i64,
}

/// Calls `visit` with each row that is counted, in order.
pub(crate) fn each(counted: Option<&BooleanBuffer>, rows: usize, visit: impl FnMut(usize)) {
    match counted {
        None => (0..rows).for_each(visit),
        Some(counted) => counted.set_indices().for_each(visit),
    }
}

/// Calls `visit` with up to 64 values at a time, and a word whose bits say which are counted.
#[inline(always)]
pub(crate) fn by_word(values: &[i64], counted: &BooleanBuffer, mut visit: impl FnMut(&[i64], u64)) {
    const WORD_BITS: usize = u64::BITS as usize;
    debug_assert_eq!(counted.len(), values.len(), "there is a bit for each value");
    let chunks = counted.bit_chunks();
    let (words, rest) = values.as_chunks::<WORD_BITS>();
    for (values, word) in words.iter().zip(chunks.iter()) {
        visit(values, word);
    }
    visit(rest, chunks.remainder_bits());
}

/// Counts the rows of each group.
pub(crate) fn count(
    states: &mut [State],
    groups: Groups<'_>,
    counted: Option<&BooleanBuffer>,
    rows: usize,
) {
    match groups {
        Groups::One => {
            let count = counted.map_or(rows, BooleanBuffer::count_set_bits);
            if let Some(state) = states.first_mut() {
                state.count += count as u64;
            }
        }
        Groups::Many { counts, .. } if counted.is_none() => {
            let counts = states.iter_mut().zip(counts);
            counts.for_each(|(state, count)| state.count += u64::from(*count));
        }
        Groups::Many { groups, .. } => {
            each(counted, rows, |row| states[groups[row] as usize].count += 1);
        }
    }
}

/// Folds the counted values into the states of their groups.
///
/// # Errors
/// [`Stop::OVERFLOW`] when a sum leaves 128 bits.
pub(crate) fn fold(
    how: Fold,
    states: &mut [State],
    number: Number<'_>,
    groups: Groups<'_>,
    counted: Option<&BooleanBuffer>,
    rows: usize,
) -> Result<(), Stop> {
    let mut taken = Taken { how, states, is_exact: true };
    match number {
        Number::Null => {}
        Number::Constant(value) => {
            each(counted, rows, |row| taken.take(groups.of(row), 1, value));
        }
        Number::Vector(numbers) => match &numbers.values {
            NumberValues::Wide(values) => {
                each(counted, rows, |row| taken.take(groups.of(row), 1, values[row]));
            }
            NumberValues::Narrow(values) => {
                let values = &values[..rows];
                let is_local = taken.states.len() <= GROUPS_LOCAL_MAX
                    && (how != Fold::Sum || sum_fits(values));
                if is_local {
                    let locals = match how {
                        Fold::Sum => local(values, groups, counted, taken.states.len(), 0, add),
                        Fold::Min => {
                            local(values, groups, counted, taken.states.len(), i64::MAX, i64::min)
                        }
                        Fold::Max => {
                            local(values, groups, counted, taken.states.len(), i64::MIN, i64::max)
                        }
                    };
                    for (group, local) in locals.iter().enumerate() {
                        taken.take(group, local.count, i128::from(local.value));
                    }
                } else {
                    each(counted, rows, |row| {
                        taken.take(groups.of(row), 1, i128::from(values[row]));
                    });
                }
            }
        },
    }
    if taken.is_exact { Ok(()) } else { Err(Stop::OVERFLOW) }
}

/// States that values are folded into.
struct Taken<'a> {
    how: Fold,
    states: &'a mut [State],
    is_exact: bool,
}

impl Taken<'_> {
    /// Folds in what `count` values, if there are any, gave together.
    fn take(&mut self, group: usize, count: u32, value: i128) {
        let Some(state) = self.states.get_mut(group).filter(|_| count > 0) else { return };
        state.value = match self.how {
            _ if state.count == 0 => value,
            Fold::Min => state.value.min(value),
            Fold::Max => state.value.max(value),
            Fold::Sum => {
                let (sum, is_cut) = state.value.overflowing_add(value);
                self.is_exact &= !is_cut;
                sum
            }
        };
        state.count += u64::from(count);
    }
}

/// Whether no sum of some of the values leaves 64 bits.
fn sum_fits(values: &[i64]) -> bool {
    let bits_of_count = usize::BITS - values.len().leading_zeros();
    size_bits(values) + bits_of_count < 63
}

const fn add(a: i64, b: i64) -> i64 {
    a.wrapping_add(b)
}

/// Folds a batch in 64 bits, `[groups]`.
fn local(
    values: &[i64],
    groups: Groups<'_>,
    counted: Option<&BooleanBuffer>,
    group_count: usize,
    start: i64,
    fold: impl Fn(i64, i64) -> i64,
) -> Vec<Local> {
    match (groups, counted) {
        (Groups::One, None) => {
            let value = fold_all(values, start, fold);
            let count = u32::try_from(values.len()).unwrap_or(u32::MAX);
            vec![Local { count, value }]
        }
        (Groups::One, Some(counted)) => {
            let count = u32::try_from(counted.count_set_bits()).unwrap_or(u32::MAX);
            vec![Local { count, value: fold_counted(values, counted, start, fold) }]
        }
        (Groups::Many { groups, counts }, None) => {
            let values = in_lanes(values, groups, group_count, start, fold);
            let local = |(count, value): (&u32, i64)| Local { count: *count, value };
            counts.iter().zip(values).map(local).collect()
        }
        (Groups::Many { groups, .. }, Some(counted)) => {
            let mut locals = vec![Local { count: 0, value: start }; group_count];
            for row in counted.set_indices() {
                let local = &mut locals[groups[row] as usize];
                local.count += 1;
                local.value = fold(local.value, values[row]);
            }
            locals
        }
    }
}

by_level! {
    /// Folds all values.
    fn fold_all[F: Fn(i64, i64) -> i64](values: &[i64], start: i64, fold: F) -> i64 {
        values.iter().fold(start, |value, new| fold(value, *new))
    }
}

by_level! {
    /// Folds the counted values. The start stands for each of the others, and changes nothing.
    fn fold_counted[F: Fn(i64, i64) -> i64](
        values: &[i64],
        counted: &BooleanBuffer,
        start: i64,
        fold: F,
    ) -> i64 {
        let mut folded = start;
        by_word(values, counted, |values, word| {
            let counted = |(place, value): (usize, &i64)| {
                if word >> place & 1 == 1 { *value } else { start }
            };
            folded = values.iter().enumerate().map(counted).fold(folded, &fold);
        });
        folded
    }
}

/// Rows that are folded side by side: a row need not wait for the one before, if that is of the
/// same group.
const LANES: usize = 4;

/// Groups up to which lanes are worth their memory.
const LANE_GROUPS_MAX: usize = 256;

/// Folds the values of each group, `[groups]`.
fn in_lanes(
    values: &[i64],
    groups: &[u32],
    group_count: usize,
    start: i64,
    fold: impl Fn(i64, i64) -> i64,
) -> Vec<i64> {
    if group_count > LANE_GROUPS_MAX {
        let mut folded = vec![start; group_count];
        for (group, value) in groups.iter().zip(values) {
            let local = &mut folded[*group as usize];
            *local = fold(*local, *value);
        }
        return folded;
    }
    let mut lanes = [(); LANES].map(|()| [start; LANE_GROUPS_MAX]);
    let (group_words, group_rest) = groups.as_chunks::<LANES>();
    let (value_words, value_rest) = values.as_chunks::<LANES>();
    // A group number is masked, so that no check of its bound is needed.
    let place = |group: u32| group as usize % LANE_GROUPS_MAX;
    for (groups, values) in group_words.iter().zip(value_words) {
        for lane in 0..LANES {
            let local = &mut lanes[lane][place(groups[lane])];
            *local = fold(*local, values[lane]);
        }
    }
    for (group, value) in group_rest.iter().zip(value_rest) {
        let local = &mut lanes[0][place(*group)];
        *local = fold(*local, *value);
    }
    let of_group = |group: usize| lanes.iter().fold(start, |all, lane| fold(all, lane[group]));
    (0..group_count).map(of_group).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{simd::at_each_level, values::Numbers};

    fn folded(
        how: Fold,
        values: Vec<i128>,
        groups: Groups<'_>,
        counted: Option<&BooleanBuffer>,
    ) -> Vec<(u64, i128)> {
        let rows = values.len();
        let mut states = vec![State { count: 1, value: 5 }, State::default(), State::default()];
        let numbers = Numbers { values: NumberValues::of(values), validity: None };
        fold(how, &mut states, Number::Vector(&numbers), groups, counted, rows).unwrap();
        states.into_iter().map(|state| (state.count, state.value)).collect()
    }

    #[test]
    fn all_values_are_folded_alike_at_each_level() {
        let values: Vec<i64> = (0..100).map(|row: i64| row * 37 % 91 - 45).collect();
        for rows in [0, 1, 9, 100] {
            let values = &values[..rows];
            let sum = values.iter().sum::<i64>();
            let most = values.iter().copied().fold(-50, i64::max);
            for found in at_each_level(|| {
                (fold_all(values, 0, add), fold_all(values, -50, i64::max), sum_fits(values))
            }) {
                assert_eq!(found, (sum, most, true));
            }
            let counted = BooleanBuffer::collect_bool(rows, |row| row % 3 == 1);
            let some = || values.iter().copied().skip(1).step_by(3);
            let expected = (some().sum::<i64>(), some().fold(i64::MIN, i64::max));
            for found in at_each_level(|| {
                let most = fold_counted(values, &counted, i64::MIN, i64::max);
                (fold_counted(values, &counted, 0, add), most)
            }) {
                assert_eq!(found, expected);
            }
        }
    }

    #[test]
    fn folding_in_64_bits_agrees_with_128() {
        let most = i128::from(i64::MAX);
        let counted = BooleanBuffer::from(vec![true, true, true, false, true]);
        // The first batch fits in 64 bits, the second one in sums of 128, the third one is wide.
        for shift in [0, most - 10, 1 << 80] {
            let values: Vec<i128> = [7, -2, 4, 9, 3].map(|value| value + shift).to_vec();
            let of = |how, groups, counted| folded(how, values.clone(), groups, counted);
            let groups = Groups::Many { groups: &[0, 1, 1, 1, 0], counts: &[2, 3, 0] };
            let sums = [(3, 15 + 2 * shift), (2, 2 + 2 * shift), (0, 0)];
            assert_eq!(of(Fold::Sum, groups, Some(&counted)), sums);
            let sums = [(3, 15 + 2 * shift), (3, 11 + 3 * shift), (0, 0)];
            assert_eq!(of(Fold::Sum, groups, None), sums);
            let most = [(3, 5.max(7 + shift)), (2, 4 + shift), (0, 0)];
            assert_eq!(of(Fold::Max, groups, Some(&counted)), most);
            let least = [(3, 5.min(3 + shift)), (2, shift - 2), (0, 0)];
            assert_eq!(of(Fold::Min, groups, Some(&counted)), least);
            let one = [(5, 17 + 4 * shift), (0, 0), (0, 0)];
            assert_eq!(of(Fold::Sum, Groups::One, Some(&counted)), one);
            let one = [(6, 26 + 5 * shift), (0, 0), (0, 0)];
            assert_eq!(of(Fold::Sum, Groups::One, None), one);
        }
    }

    #[test]
    fn sum_that_leaves_128_bits_is_overflow() {
        let numbers = Numbers { values: NumberValues::of(vec![i128::MAX, 1]), validity: None };
        let mut states = [State::default()];
        let number = Number::Vector(&numbers);
        let end = fold(Fold::Sum, &mut states, number, Groups::One, None, 2);
        assert_eq!(end, Err(Stop::OVERFLOW));
        assert_eq!(fold(Fold::Max, &mut states, number, Groups::One, None, 2), Ok(()));
    }

    #[test]
    fn sums_of_a_batch_fit_if_no_partial_sum_leaves_64_bits() {
        assert!(sum_fits(&[1 << 40; 8192]));
        assert!(!sum_fits(&[1 << 50; 8192]));
        assert!(!sum_fits(&[0, i64::MIN]));
        assert!(sum_fits(&[-(1 << 40); 8192]));
    }
}
