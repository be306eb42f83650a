// SPDX-License-Identifier: Apache-2.0
//! Holds the values of a batch: one vector for each column or step.

use std::{cell::OnceCell, sync::Arc};

use arrow::buffer::BooleanBuffer;

use crate::{
    dictionary::Dictionary,
    selection::Selection,
    simd::by_level,
    values::{NumberValues, Numbers, Strings, look_up},
};

/// One value for each row of a batch.
#[derive(Debug, Clone)]
pub(crate) enum Vector {
    /// Numbers.
    Numbers(Numbers),
    /// Truth values.
    Truth(Truth),
    /// Byte strings.
    Strings(Strings),
    /// Numbers or byte strings as indexes into a dictionary.
    Coded(Coded),
    /// Which rows are not NULL, of a column of which no more is asked; `None` when all are.
    Validity(Option<BooleanBuffer>),
    /// Of a column that nothing refers to.
    Unused,
}

/// Truth values: two bitmaps that share no row. A row in neither is NULL.
#[derive(Debug, Clone)]
pub(crate) struct Truth {
    pub(crate) is_true: BooleanBuffer,
    pub(crate) is_false: BooleanBuffer,
}

/// Values as indexes into a dictionary; decoded only if the values are needed.
#[derive(Debug, Clone)]
pub(crate) struct Coded {
    pub(crate) dictionary: Arc<Dictionary>,
    /// `[rows]`, each below the number of entries; of null rows too.
    pub(crate) codes: Vec<u32>,
    pub(crate) validity: Option<BooleanBuffer>,
    numbers: OnceCell<Numbers>,
    strings: OnceCell<Strings>,
}

impl Coded {
    /// Rows of a dictionary; codes of null rows are below the number of entries too.
    pub(crate) fn new(
        dictionary: Arc<Dictionary>,
        codes: Vec<u32>,
        validity: Option<BooleanBuffer>,
    ) -> Self {
        let (numbers, strings) = (OnceCell::new(), OnceCell::new());
        Self { dictionary, codes, validity, numbers, strings }
    }

    /// The numbers; none when the entries are byte strings.
    pub(crate) fn numbers(&self) -> Option<&Numbers> {
        if let Some(numbers) = self.numbers.get() {
            return Some(numbers);
        }
        let values = self.dictionary.look_up(&self.codes)?;
        let validity = self.validity.clone();
        Some(self.numbers.get_or_init(|| Numbers { values, validity }))
    }

    /// The byte strings; none when the entries are numbers.
    pub(crate) fn strings(&self) -> Option<&Strings> {
        let entries = self.dictionary.strings()?;
        Some(self.strings.get_or_init(|| Strings {
            buffers: entries.buffers.clone(),
            views: look_up(&entries.views, &self.codes),
            validity: self.validity.clone(),
        }))
    }

    /// Rows for whose entry `table` has a 1, `[entries]`.
    pub(crate) fn look_up(&self, table: &[u8]) -> Truth {
        // First a byte a row, then a bit: no bit waits for the one before it.
        let holds = pack(&look_up(table, &self.codes));
        Truth::of(holds, self.validity.as_ref())
    }
}

impl Truth {
    /// Of a comparison: `holds` where both sides are there, NULL elsewhere.
    pub(crate) fn of(holds: BooleanBuffer, validity: Option<&BooleanBuffer>) -> Self {
        match validity {
            None => Self { is_false: !&holds, is_true: holds },
            Some(validity) => Self { is_true: &holds & validity, is_false: &!&holds & validity },
        }
    }

    /// NULL in every row.
    pub(crate) fn null(rows: usize) -> Self {
        let none = BooleanBuffer::new_unset(rows);
        Self { is_true: none.clone(), is_false: none }
    }

    pub(crate) fn and(&self, other: &Self) -> Self {
        Self { is_true: &self.is_true & &other.is_true, is_false: &self.is_false | &other.is_false }
    }

    pub(crate) fn or(&self, other: &Self) -> Self {
        Self { is_true: &self.is_true | &other.is_true, is_false: &self.is_false & &other.is_false }
    }

    pub(crate) fn not(&self) -> Self {
        Self { is_true: self.is_false.clone(), is_false: self.is_true.clone() }
    }

    /// Which rows are not NULL.
    pub(crate) fn validity(&self) -> BooleanBuffer {
        &self.is_true | &self.is_false
    }
}

impl Vector {
    /// The entries of a dictionary as the values of rows.
    pub(crate) fn of_entries(dictionary: &Dictionary) -> Self {
        match (dictionary.to_numbers(), dictionary.strings()) {
            (Some(numbers), _) => Self::Numbers(numbers),
            (None, Some(strings)) => Self::Strings(strings.clone()),
            (None, None) => Self::Unused,
        }
    }

    /// Which rows are not NULL; `None` when all are.
    pub(crate) fn validity(&self) -> Option<BooleanBuffer> {
        match self {
            Self::Truth(truth) => Some(truth.validity()),
            other => other.validity_bits().cloned(),
        }
    }

    /// Which rows of a column are not NULL; `None` when all are.
    pub(crate) const fn validity_bits(&self) -> Option<&BooleanBuffer> {
        match self {
            Self::Numbers(numbers) => numbers.validity.as_ref(),
            Self::Strings(strings) => strings.validity.as_ref(),
            Self::Coded(coded) => coded.validity.as_ref(),
            Self::Validity(validity) => validity.as_ref(),
            Self::Truth(_) | Self::Unused => None,
        }
    }

    /// The numbers, if it has some.
    pub(crate) fn numbers(&self) -> Option<&Numbers> {
        match self {
            Self::Numbers(numbers) => Some(numbers),
            Self::Coded(coded) => coded.numbers(),
            Self::Truth(_) | Self::Strings(_) | Self::Validity(_) | Self::Unused => None,
        }
    }

    /// The byte strings, if it has some.
    pub(crate) fn strings(&self) -> Option<&Strings> {
        match self {
            Self::Strings(strings) => Some(strings),
            Self::Coded(coded) => coded.strings(),
            Self::Truth(_) | Self::Numbers(_) | Self::Validity(_) | Self::Unused => None,
        }
    }

    /// The rows of a selection.
    pub(crate) fn gather(&self, selection: &Selection) -> Self {
        let bits =
            |bits: &Option<BooleanBuffer>| bits.as_ref().map(|bits| selection.pick_bits(bits));
        match self {
            Self::Numbers(numbers) => Self::Numbers(Numbers {
                values: match &numbers.values {
                    NumberValues::Narrow(values) => NumberValues::Narrow(selection.pick(values)),
                    NumberValues::Wide(values) => NumberValues::Wide(selection.pick(values)),
                },
                validity: bits(&numbers.validity),
            }),
            Self::Strings(strings) => Self::Strings(Strings {
                buffers: strings.buffers.clone(),
                views: selection.pick(&strings.views),
                validity: bits(&strings.validity),
            }),
            Self::Coded(coded) => Self::Coded(Coded::new(
                Arc::clone(&coded.dictionary),
                selection.pick(&coded.codes),
                bits(&coded.validity),
            )),
            Self::Truth(truth) => Self::Truth(Truth {
                is_true: selection.pick_bits(&truth.is_true),
                is_false: selection.pick_bits(&truth.is_false),
            }),
            Self::Validity(validity) => Self::Validity(bits(validity)),
            Self::Unused => Self::Unused,
        }
    }
}

by_level! {
    /// A bitmap of bytes that are 0 or 1.
    pub(crate) fn pack[](bytes: &[u8]) -> BooleanBuffer {
        /// Moves bit 0 of byte `i` to bit `56 + i`: a one at `56 - 7 * i` for each.
        const GATHER: u64 = 0x0102_0408_1020_4080;
        let eight = |bytes: [u8; 8]| {
            let [.., top] = u64::from_le_bytes(bytes).wrapping_mul(GATHER).to_le_bytes();
            top
        };
        let (groups, rest) = bytes.as_chunks();
        let mut bits: Vec<u8> = Vec::with_capacity(bytes.len().div_ceil(8));
        bits.extend(groups.iter().map(|group| eight(*group)));
        if !rest.is_empty() {
            let mut group = [0; 8];
            group[..rest.len()].copy_from_slice(rest);
            bits.push(eight(group));
        }
        BooleanBuffer::new(bits.into(), 0, bytes.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::at_each_level;

    /// Every pair of false, NULL and true.
    fn pairs() -> (Truth, Truth) {
        let make = |of: fn(usize) -> usize| Truth {
            is_true: BooleanBuffer::collect_bool(9, |row| of(row) == 2),
            is_false: BooleanBuffer::collect_bool(9, |row| of(row) == 0),
        };
        (make(|row| row / 3), make(|row| row % 3))
    }

    /// `f`, `n` and `t` for each row.
    fn letters(truth: &Truth) -> String {
        (0..truth.is_true.len())
            .map(|row| match (truth.is_true.value(row), truth.is_false.value(row)) {
                (true, false) => 't',
                (false, true) => 'f',
                (false, false) => 'n',
                (true, true) => '!',
            })
            .collect()
    }

    #[test]
    fn and_or_and_not_follow_three_valued_logic() {
        let (a, b) = pairs();
        assert_eq!(letters(&a.and(&b)), "ffffnnfnt");
        assert_eq!(letters(&a.or(&b)), "fntnntttt");
        assert_eq!(letters(&a.not()), "tttnnnfff");
        assert_eq!(letters(&Truth::null(2)), "nn");
    }

    #[test]
    fn bytes_are_packed_into_bits_at_each_level() {
        for len in [0, 1, 8, 13, 64, 100] {
            let bytes: Vec<u8> = (0..len).map(|row| u8::from(row % 3 == 1 || row > 90)).collect();
            for packed in at_each_level(|| pack(&bytes)) {
                assert_eq!(packed.iter().map(u8::from).collect::<Vec<_>>(), bytes);
            }
        }
    }

    #[test]
    fn comparison_is_null_where_side_is() {
        let holds = BooleanBuffer::from(vec![true, true, false, false]);
        let valid = BooleanBuffer::from(vec![true, false, true, false]);
        assert_eq!(letters(&Truth::of(holds.clone(), Some(&valid))), "tnfn");
        assert_eq!(letters(&Truth::of(holds, None)), "ttff");
    }
}
