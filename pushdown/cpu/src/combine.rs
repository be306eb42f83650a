// SPDX-License-Identifier: Apache-2.0
//! Combines small keys into one number, and finds the group of each combination.
//!
//! A key with `n` possible values has `n + 1` places, the first one for NULL; the place of a row is
//! the sum of the places of its keys, each times the places of the keys behind it.

use nearscan_command::{Key, KeyRange};

use crate::{
    error::Stop,
    values::{NumberValues, Numbers, is_set},
    vector::{Coded, Vector},
};

/// Places up to which a table is worth its memory: it stays in the second cache.
const PLACES_MAX: usize = 1 << 16;

/// Marks a place that no row had so far.
const NO_GROUP: u32 = u32::MAX;

/// The table of groups.
#[derive(Debug)]
pub(crate) struct Combined {
    keys: Vec<Key>,
    /// `[places]`.
    groups: Vec<u32>,
    /// Places of each key that the table is made for.
    sizes: Vec<usize>,
}

/// One key of a batch.
enum Places<'a> {
    /// As many values as the dictionary has entries.
    Codes(&'a Coded),
    /// Numbers of a range, all of 64 bits.
    Range(&'a Numbers, &'a [i64], KeyRange),
}

impl Combined {
    /// An empty table for these keys.
    pub(crate) fn new(keys: &[Key]) -> Self {
        Self { keys: keys.to_vec(), groups: Vec::new(), sizes: Vec::new() }
    }

    /// Fills `batch` with the group of each row, `[rows]`; calls `find` for each new combination.
    /// Returns `false`, and fills nothing, if a key is not small.
    ///
    /// # Errors
    /// Those of `find`.
    pub(crate) fn number(
        &mut self,
        vectors: &[Option<&Vector>],
        rows: usize,
        batch: &mut Vec<u32>,
        mut find: impl FnMut(usize) -> Result<u32, Stop>,
    ) -> Result<bool, Stop> {
        let places: Option<Vec<Places<'_>>> = self
            .keys
            .iter()
            .zip(vectors)
            .map(|(key, vector)| Places::of(key, (*vector)?))
            .collect();
        let Some(places) = places else { return Ok(false) };
        let sizes: Vec<usize> = places.iter().map(Places::size).collect();
        let size = sizes.iter().try_fold(1, |all: usize, size| all.checked_mul(*size));
        let Some(size) = size.filter(|size| *size <= PLACES_MAX) else { return Ok(false) };
        if self.sizes != sizes {
            self.groups = vec![NO_GROUP; size];
            self.sizes = sizes;
        }
        batch.resize(rows, 0);
        for key in &places {
            if !key.add(batch) {
                batch.clear();
                return Ok(false);
            }
        }
        for (row, place) in batch.iter_mut().enumerate() {
            let group = &mut self.groups[*place as usize];
            if *group == NO_GROUP {
                *group = find(row)?;
            }
            *place = *group;
        }
        Ok(true)
    }
}

impl<'a> Places<'a> {
    fn of(key: &Key, vector: &'a Vector) -> Option<Self> {
        if let Vector::Coded(coded) = vector {
            return Some(Self::Codes(coded));
        }
        let numbers = vector.numbers()?;
        match &numbers.values {
            NumberValues::Narrow(values) => Some(Self::Range(numbers, values, key.range?)),
            NumberValues::Wide(_) => None,
        }
    }

    /// The number of places.
    fn size(&self) -> usize {
        match self {
            Self::Codes(coded) => coded.dictionary.len() + 1,
            Self::Range(_, _, range) => range.count as usize + 1,
        }
    }

    /// Adds the place of each row to the places of the keys before; whether each row has one.
    fn add(&self, batch: &mut [u32]) -> bool {
        let size = u32::try_from(self.size()).unwrap_or(u32::MAX);
        match self {
            Self::Codes(coded) => {
                let codes = batch.iter_mut().zip(&coded.codes);
                match &coded.validity {
                    None => codes.for_each(|(place, code)| *place = *place * size + code + 1),
                    Some(validity) => {
                        for ((place, code), is_valid) in codes.zip(validity) {
                            *place = *place * size + (code + 1) * u32::from(is_valid);
                        }
                    }
                }
                true
            }
            Self::Range(numbers, values, range) => {
                let mut is_inside = true;
                for (row, (place, value)) in batch.iter_mut().zip(*values).enumerate() {
                    let offset = value.wrapping_sub(range.first).cast_unsigned();
                    let is_null = !is_set(numbers.validity.as_ref(), row);
                    is_inside &= is_null || offset < u64::from(range.count);
                    let offset = u32::try_from(offset).unwrap_or(0).min(range.count - 1);
                    *place = *place * size + if is_null { 0 } else { offset + 1 };
                }
                is_inside
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow::buffer::BooleanBuffer;
    use nearscan_command::Operand;

    use super::*;

    fn numbers(values: &[Option<i64>]) -> Vector {
        let validity: BooleanBuffer = values.iter().map(Option::is_some).collect();
        let values = values.iter().map(|value| value.unwrap_or(i64::MIN)).collect();
        Vector::Numbers(Numbers::narrow(values, Some(validity)))
    }

    #[test]
    fn each_combination_is_looked_up_once() {
        let keys = [(0, -1, 3), (1, 1994, 2)]
            .map(|(column, first, count)| Key::range(Operand::Column(column), first, count));
        let first = numbers(&[Some(-1), Some(1), None, Some(-1), None]);
        let second = numbers(&[Some(1994), Some(1995), None, Some(1994), Some(1994)]);
        let vectors = [Some(&first), Some(&second)];
        let (mut combined, mut batch, mut asked) = (Combined::new(&keys), Vec::new(), Vec::new());
        let is_small = combined.number(&vectors, 5, &mut batch, |row| {
            asked.push(row);
            Ok(u32::try_from(asked.len()).unwrap())
        });
        assert_eq!(is_small, Ok(true));
        assert_eq!((batch, asked), (vec![1, 2, 3, 1, 4], vec![0, 1, 2, 4]));
        let again = combined.number(&vectors, 5, &mut Vec::new(), |row| panic!("row {row}"));
        assert_eq!(again, Ok(true));
    }

    #[test]
    fn key_outside_of_its_range_is_not_combined() {
        let key = [Key::range(Operand::Column(0), 5, 10)];
        for (value, is_small) in [(4, false), (5, true), (14, true), (15, false), (i64::MIN, false)]
        {
            let column = numbers(&[Some(7), Some(value)]);
            let mut batch = Vec::new();
            let end = Combined::new(&key).number(&[Some(&column)], 2, &mut batch, |_| Ok(0));
            assert_eq!(end, Ok(is_small), "{value}");
            assert_eq!(batch.len(), if is_small { 2 } else { 0 });
        }
        let column = numbers(&[Some(7)]);
        let plain = [Key::column(0)];
        let end = Combined::new(&plain).number(&[Some(&column)], 1, &mut Vec::new(), |_| Ok(0));
        assert_eq!(end, Ok(false));
    }
}
