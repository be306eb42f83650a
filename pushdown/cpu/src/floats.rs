// SPDX-License-Identifier: Apache-2.0
//! Adds floats to the sums of groups.

use arrow::buffer::BooleanBuffer;
use nearscan_command::float_at;

use crate::{
    compare::Number,
    fold::{Groups, by_word, each},
    simd::by_level,
    values::NumberValues,
};

/// The order in which floats are added, which the last digits of a sum depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AdditionOrder {
    /// That of the rows.
    OfRows,
    /// Any that is fast.
    Any,
}

/// Floats that are added side by side: none waits for the one before it.
const LANES: usize = 16;

/// Adds the counted floats to the sums of their groups; a sum is `None` as long as there was none.
pub(crate) fn add_floats(
    sums: &mut [Option<f64>],
    order: AdditionOrder,
    number: Number<'_>,
    groups: Groups<'_>,
    counted: Option<&BooleanBuffer>,
    rows: usize,
) {
    let Number::Vector(numbers) = number else { return };
    if let (Groups::One, NumberValues::Narrow(values), [sum]) =
        (groups, &numbers.values, &mut *sums)
    {
        let count = counted.map_or(rows, BooleanBuffer::count_set_bits);
        if count > 0 {
            let start = sum.unwrap_or(0.0);
            *sum = Some(sum_of(start, order, &values[..rows], counted));
        }
        return;
    }
    let mut add = |row: usize| {
        let place = match &numbers.values {
            NumberValues::Narrow(values) => values[row],
            // No float: the sum of a column of integers means nothing, but it is defined.
            NumberValues::Wide(values) => i64::try_from(values[row]).unwrap_or_default(),
        };
        if let Some(sum) = sums.get_mut(groups.of(row)) {
            *sum = Some(sum.unwrap_or(0.0) + float_at(place));
        }
    };
    each(counted, rows, &mut add);
}

/// `start` and the counted floats.
fn sum_of(
    start: f64,
    order: AdditionOrder,
    values: &[i64],
    counted: Option<&BooleanBuffer>,
) -> f64 {
    match (order, counted) {
        (AdditionOrder::OfRows, None) => {
            values.iter().fold(start, |sum, value| sum + float_at(*value))
        }
        (AdditionOrder::OfRows, Some(counted)) => {
            counted.set_indices().fold(start, |sum, row| sum + float_at(values[row]))
        }
        (AdditionOrder::Any, None) => start + sum_all(values),
        (AdditionOrder::Any, Some(counted)) => start + sum_counted(values, counted),
    }
}

by_level! {
    /// The sum of all floats.
    fn sum_all[](values: &[i64]) -> f64 {
        let mut lanes = [0.0; LANES];
        let (words, rest) = values.as_chunks::<LANES>();
        for word in words {
            lanes.iter_mut().zip(word).for_each(|(lane, value)| *lane += float_at(*value));
        }
        lanes.iter_mut().zip(rest).for_each(|(lane, value)| *lane += float_at(*value));
        lanes.iter().sum()
    }
}

by_level! {
    /// The sum of the counted floats. A zero stands for each of the others.
    fn sum_counted[](values: &[i64], counted: &BooleanBuffer) -> f64 {
        let mut lanes = [0.0; LANES];
        by_word(values, counted, |values, word| {
            for (place, value) in values.iter().enumerate() {
                let mask = (word >> place & 1).wrapping_neg();
                lanes[place % LANES] += f64::from_bits(float_at(*value).to_bits() & mask);
            }
        });
        lanes.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use nearscan_command::float_order;

    use super::*;
    use crate::{simd::at_each_level, values::Numbers};

    fn sum(order: AdditionOrder, floats: &[f64], counted: Option<&BooleanBuffer>) -> Option<f64> {
        let values = NumberValues::Narrow(floats.iter().copied().map(float_order).collect());
        let numbers = Numbers { values, validity: None };
        let mut sums = [None];
        let number = Number::Vector(&numbers);
        add_floats(&mut sums, order, number, Groups::One, counted, floats.len());
        sums[0]
    }

    #[test]
    fn sums_that_are_exact_are_equal_in_every_order_at_each_level() {
        let floats: Vec<f64> = (0..200_i16).map(|row| f64::from(row * 37 % 91) - 45.5).collect();
        for rows in [0, 1, 63, 64, 65, 200] {
            let floats = &floats[..rows];
            let counted = BooleanBuffer::collect_bool(rows, |row| row % 3 != 1);
            for counted in [None, Some(&counted)] {
                let expected = sum(AdditionOrder::OfRows, floats, counted);
                for found in at_each_level(|| sum(AdditionOrder::Any, floats, counted)) {
                    assert_eq!(found, expected, "{rows}");
                }
            }
        }
    }

    #[test]
    fn floats_that_are_not_counted_do_not_matter() {
        let floats = [f64::NAN, 1.5, f64::INFINITY, f64::NEG_INFINITY, 2.0, -0.0];
        let some = BooleanBuffer::from(vec![false, true, false, false, true, true]);
        let none = BooleanBuffer::new_unset(floats.len());
        for order in [AdditionOrder::OfRows, AdditionOrder::Any] {
            assert_eq!(sum(order, &floats, Some(&some)), Some(3.5));
            assert_eq!(sum(order, &floats, Some(&none)), None);
            assert!(sum(order, &floats, None).is_some_and(f64::is_nan));
            assert_eq!(sum(order, &[-0.0], None).map(f64::to_bits), Some(0));
        }
    }

    #[test]
    fn order_of_rows_is_kept_if_it_must_be() {
        // In lanes, the last float meets the first one before the second one does.
        let mut floats = [0.0; LANES + 1];
        (floats[0], floats[1], floats[LANES]) = (1e16, 1.0, -1e16);
        let counted = BooleanBuffer::new_set(floats.len());
        for counted in [None, Some(&counted)] {
            assert_eq!(sum(AdditionOrder::OfRows, &floats, counted), Some(0.0));
            assert_eq!(sum(AdditionOrder::Any, &floats, counted), Some(1.0));
        }
    }
}
