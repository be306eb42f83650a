// SPDX-License-Identifier: Apache-2.0
//! Makes one number of a key of several columns, so that a set of numbers can hold such keys.
//!
//! A join on several columns wants few of the rows that have a key in each column by itself: the
//! days of ten sites are nearly all days. Equal keys have the same number. Others seldom have it,
//! and then a row without a partner is kept.

use std::borrow::Cow;

use arrow::buffer::BooleanBuffer;

use crate::{key_set::KeySet, values::NumberValues, vector::Vector};

/// Odd, and its bits look random: the golden ratio in 64 bits.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// The numbers of keys, `[rows]`, of their values by column, each `[rows]`.
pub fn key_tuples<'a>(columns: impl IntoIterator<Item = &'a [i64]>) -> Vec<i64> {
    let mut columns = columns.into_iter();
    let mut tuples = columns.next().map(<[i64]>::to_vec).unwrap_or_default();
    for column in columns {
        tuples.iter_mut().zip(column).for_each(|(tuple, value)| *tuple = appended(*tuple, *value));
    }
    tuples
}

/// The values before are multiplied, which changes high bits most, and turned, so that a value of
/// few bits meets those.
#[inline]
const fn appended(tuple: i64, value: i64) -> i64 {
    (tuple.cast_unsigned().wrapping_mul(MULTIPLIER).rotate_left(32) ^ value.cast_unsigned())
        .cast_signed()
}

/// Which of `rows` rows may be of a key of several columns; those with a NULL are kept.
pub(super) fn holds(set: &KeySet, columns: &[&Vector], rows: usize) -> BooleanBuffer {
    let values = columns.iter().map(|column| narrow(column, rows)).collect::<Option<Vec<_>>>();
    let Some(values) = values else { return BooleanBuffer::new_set(rows) };
    let tuples = key_tuples(values.iter().map(|values| &values[..rows]));
    let validity = columns.iter().filter_map(|column| column.validity_bits());
    validity.fold(set.of_values(&tuples), |holds, validity| &holds | &!&validity.slice(0, rows))
}

/// The values of a column; none if it has no numbers of 64 bits.
fn narrow(column: &Vector, rows: usize) -> Option<Cow<'_, [i64]>> {
    match column {
        Vector::Numbers(numbers) => match &numbers.values {
            NumberValues::Narrow(values) => Some(Cow::Borrowed(values)),
            NumberValues::Wide(_) => None,
        },
        Vector::Coded(coded) => match coded.dictionary.look_up(&coded.codes[..rows])? {
            NumberValues::Narrow(values) => Some(Cow::Owned(values)),
            NumberValues::Wide(_) => None,
        },
        Vector::Strings(_) | Vector::Truth(_) | Vector::Validity(_) | Vector::Unused => None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::{key_set::Bloom, values::Numbers};

    #[test]
    fn tuples_of_different_keys_are_different() {
        // Dense numbers, and the same ones far apart and negative, in either order.
        let numbers: Vec<i64> = (0..300).flat_map(|it| [it, it << 32, -it << 20]).collect();
        let pairs = numbers.iter().flat_map(|one| numbers.iter().map(move |other| (*one, *other)));
        let pairs: HashSet<(i64, i64)> = pairs.collect();
        let (one, other): (Vec<i64>, Vec<i64>) = pairs.iter().copied().unzip();
        let tuples: HashSet<i64> = key_tuples([&*one, &*other]).into_iter().collect();
        assert!(tuples.len() + 2 >= pairs.len(), "{} of {}", tuples.len(), pairs.len());
    }

    #[test]
    fn tuple_of_one_column_is_its_value() {
        assert_eq!(key_tuples([[3, -4].as_slice()]), [3, -4]);
        assert_eq!(key_tuples([]), [] as [i64; 0]);
    }

    #[test]
    fn row_is_held_if_all_of_its_key_is_one_or_a_part_is_null() {
        let keys = key_tuples([[1, 2, 3].as_slice(), &[10, 20, 30], &[7, 7, 7]]);
        let set = KeySet::Bloom(Bloom::of(&keys));
        let column = |values: &[i64]| Vector::Numbers(Numbers::narrow(values.to_vec(), None));
        let validity = BooleanBuffer::from(vec![true, true, true, false]);
        let with_null = Vector::Numbers(Numbers::narrow(vec![10, 20, 10, 10], Some(validity)));
        let columns = [&column(&[1, 1, 3, 2]), &with_null, &column(&[7, 7, 7, 7])];
        let held: Vec<bool> = holds(&set, &columns, 4).iter().collect();
        assert_eq!(held, [true, false, false, true]);
    }

    #[test]
    fn values_of_more_than_64_bits_are_held() {
        let set = KeySet::Bloom(Bloom::of(&[]));
        let wide = Numbers { values: NumberValues::Wide(vec![1 << 80]), validity: None };
        let narrow = Vector::Numbers(Numbers::narrow(vec![1], None));
        assert_eq!(holds(&set, &[&narrow, &Vector::Numbers(wide)], 1).count_set_bits(), 1);
        assert_eq!(holds(&set, &[&narrow, &narrow], 1).count_set_bits(), 0);
    }
}
