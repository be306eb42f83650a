// SPDX-License-Identifier: Apache-2.0
//! Looks numbers up in a set of keys: a bitmap over a range, or a blocked Bloom filter
//! ([Putze et al. 2007](https://doi.org/10.1007/978-3-540-72845-0_9)).
//!
//! Fused scans look the keys of a join up in it, and the drive those of a fragment's key filters.
//! A set may hold more keys than were added, never fewer. Places and hashes are those of the
//! command format.

use std::ops::RangeInclusive;

use arrow::buffer::BooleanBuffer;
use nearscan_command::{
    KeyBits, KeyFilter,
    key_filter::{
        BLOCK_WORDS, bitmap,
        bloom::{self, LANES},
    },
};

use crate::{
    values::NumberValues,
    vector::{Coded, Vector},
};

/// Values of the range of a bitmap: 16 MiB.
const BITMAP_VALUES_MAX: u64 = 1 << 27;

/// Bits of a Bloom filter by key: one row in a hundred without a partner passes.
const BLOOM_BITS_BY_KEY: usize = 12;

/// Blocks that a large Bloom filter has a multiple of, so that it can be folded.
const BLOOM_FOLDS: usize = 64;

/// A set of keys.
#[derive(Debug)]
pub(crate) enum KeySet {
    Bitmap(Bitmap),
    Bloom(Bloom),
}

impl KeySet {
    /// The set of a fragment's key filter.
    pub(crate) fn of(filter: &KeyFilter) -> Self {
        match &filter.keys {
            KeyBits::Bitmap { first, last, words } => {
                let mut bitmap = Bitmap { first: *first, words: words.to_vec(), has_all: true };
                bitmap.pass_behind(*last);
                Self::Bitmap(bitmap)
            }
            KeyBits::Bloom { least, greatest, words } => {
                let (blocks, _) = words.as_chunks::<BLOCK_WORDS>();
                let blocks = blocks.iter().map(|words| as_lanes(*words)).collect();
                Self::Bloom(Bloom { blocks, least: *least, greatest: *greatest })
            }
        }
    }

    /// Which of `rows` rows may be of a key; those with a NULL are kept.
    pub(crate) fn holds(&self, vector: &Vector, rows: usize) -> BooleanBuffer {
        let holds = match vector {
            Vector::Numbers(numbers) => self.of_numbers(&numbers.values, rows),
            Vector::Coded(coded) => self.of_codes(coded, rows),
            Vector::Strings(_) | Vector::Truth(_) | Vector::Validity(_) | Vector::Unused => {
                BooleanBuffer::new_set(rows)
            }
        };
        match vector.validity_bits() {
            None => holds,
            Some(validity) => &holds | &!&validity.slice(0, rows),
        }
    }

    /// Which of `rows` rows a key filter passes: those of [`KeySet::holds`], but no number outside
    /// of the range of the keys, if that is known.
    pub(crate) fn passes(&self, vector: &Vector, rows: usize) -> BooleanBuffer {
        let holds = self.holds(vector, rows);
        let Self::Bloom(bloom) = self else { return holds };
        let numbers = match vector {
            Vector::Numbers(numbers) => Some(numbers),
            Vector::Coded(coded) => coded.numbers(),
            Vector::Strings(_) | Vector::Truth(_) | Vector::Validity(_) | Vector::Unused => None,
        };
        let Some(numbers) = numbers else { return holds };
        let range = bloom.least..=bloom.greatest;
        let is_inside = |row: usize| match &numbers.values {
            NumberValues::Narrow(values) => range.contains(&values[row]),
            NumberValues::Wide(values) => {
                i64::try_from(values[row]).map_or(true, |value| range.contains(&value))
            }
        };
        let is_inside = BooleanBuffer::collect_bool(rows, is_inside);
        match &numbers.validity {
            None => &holds & &is_inside,
            Some(validity) => &holds & &(&is_inside | &!&validity.slice(0, rows)),
        }
    }

    /// Whether a value of a range may be a key.
    pub(crate) fn may_have(&self, range: &RangeInclusive<i64>) -> bool {
        match self {
            Self::Bitmap(bitmap) => bitmap.may_have(range),
            Self::Bloom(bloom) => bloom.least <= *range.end() && *range.start() <= bloom.greatest,
        }
    }

    fn of_numbers(&self, values: &NumberValues, rows: usize) -> BooleanBuffer {
        match values {
            NumberValues::Narrow(values) => self.of_values(&values[..rows]),
            NumberValues::Wide(values) => BooleanBuffer::collect_bool(rows, |row| {
                i64::try_from(values[row]).map_or(true, |value| self.has(value))
            }),
        }
    }

    fn of_values(&self, values: &[i64]) -> BooleanBuffer {
        match self {
            Self::Bitmap(bitmap) => {
                BooleanBuffer::collect_bool(values.len(), |row| bitmap.has(values[row]))
            }
            Self::Bloom(bloom) => {
                BooleanBuffer::collect_bool(values.len(), |row| bloom.has(values[row]))
            }
        }
    }

    fn of_codes(&self, coded: &Coded, rows: usize) -> BooleanBuffer {
        match coded.dictionary.look_up(&coded.codes[..rows]) {
            Some(values) => self.of_numbers(&values, rows),
            None => BooleanBuffer::new_set(rows),
        }
    }

    fn has(&self, value: i64) -> bool {
        match self {
            Self::Bitmap(bitmap) => bitmap.has(value),
            Self::Bloom(bloom) => bloom.has(value),
        }
    }
}

/// A bit for each value of a range.
#[derive(Debug)]
pub(crate) struct Bitmap {
    first: i64,
    words: Vec<u64>,
    /// Whether no key was outside of the range.
    has_all: bool,
}

impl Bitmap {
    /// Nothing in it; none if the range is too long.
    pub(crate) fn over(range: &RangeInclusive<i64>) -> Option<Self> {
        let values = range.end().checked_sub(*range.start())?;
        let values = u64::try_from(values).ok().filter(|values| *values < BITMAP_VALUES_MAX)?;
        let words = usize::try_from(values / 64).ok()? + 1;
        Some(Self { first: *range.start(), words: vec![0; words], has_all: true })
    }

    /// The word and the bit of a value; of one outside the range a word that is not there.
    #[inline]
    fn place(&self, value: i64) -> (usize, u32) {
        let (word, bit) = bitmap::place(self.first, value);
        (usize::try_from(word).unwrap_or(usize::MAX), bit)
    }

    pub(crate) fn insert(&mut self, key: i64) {
        let (word, bit) = self.place(key);
        match self.words.get_mut(word) {
            Some(word) => *word |= 1 << bit,
            None => self.has_all = false,
        }
    }

    /// Sets the bits of the words behind `last`.
    fn pass_behind(&mut self, last: i64) {
        let (word, bit) = self.place(last);
        if let Some(word) = self.words.get_mut(word) {
            *word |= u64::MAX.checked_shl(bit + 1).unwrap_or(0);
        }
        self.words.iter_mut().skip(word + 1).for_each(|word| *word = u64::MAX);
    }

    /// A value outside the range is kept: the range may be wrong, as statistics of files are.
    #[inline]
    fn has(&self, value: i64) -> bool {
        let (word, bit) = self.place(value);
        self.words.get(word).is_none_or(|word| word >> bit & 1 != 0)
    }

    /// Whether a value of a range is in it, or outside of the values that it is over.
    fn may_have(&self, range: &RangeInclusive<i64>) -> bool {
        let (first, last) = (self.place(*range.start()), self.place(*range.end()));
        let Some(words) = self.words.get(first.0..=last.0) else { return true };
        words.iter().enumerate().any(|(index, word)| {
            let below = if index == 0 { u64::MAX << first.1 } else { u64::MAX };
            let above = if index + 1 == words.len() { u64::MAX >> (63 - last.1) } else { u64::MAX };
            word & below & above != 0
        })
    }

    pub(crate) const fn bytes(&self) -> usize {
        size_of_val(self.words.as_slice())
    }
}

/// A blocked Bloom filter: a key sets one bit in each lane of one block of 32 bytes.
#[derive(Debug)]
pub(crate) struct Bloom {
    blocks: Vec<[u32; LANES]>,
    /// The least key and the greatest one; the other way around if there is none.
    least: i64,
    greatest: i64,
}

impl Bloom {
    pub(crate) fn of(keys: &[i64]) -> Self {
        let blocks = (keys.len() * BLOOM_BITS_BY_KEY).div_ceil(LANES * 32).max(1);
        let blocks =
            if blocks < BLOOM_FOLDS { blocks } else { blocks.next_multiple_of(BLOOM_FOLDS) };
        let least = keys.iter().copied().min().unwrap_or(i64::MAX);
        let greatest = keys.iter().copied().max().unwrap_or(i64::MIN);
        let mut bloom = Self { blocks: vec![[0; LANES]; blocks], least, greatest };
        for key in keys {
            let (block, bits) = bloom.place(*key);
            bloom.blocks[block].iter_mut().zip(bits).for_each(|(lane, bit)| *lane |= bit);
        }
        bloom
    }

    /// The block of a key, and its bit in each lane.
    #[inline]
    fn place(&self, key: i64) -> (usize, [u32; LANES]) {
        let (block, bits) = bloom::place(key, self.blocks.len() as u64);
        #[expect(clippy::cast_possible_truncation, reason = "it is less than their number")]
        let block = block as usize;
        (block, bits)
    }

    #[inline]
    fn has(&self, key: i64) -> bool {
        let (block, bits) = self.place(key);
        self.blocks[block].iter().zip(bits).fold(0, |missing, (lane, bit)| missing | (bit & !lane))
            == 0
    }
}

/// The lanes of a block of a key filter.
fn as_lanes(words: [u64; BLOCK_WORDS]) -> [u32; LANES] {
    std::array::from_fn(|lane| {
        #[expect(clippy::cast_possible_truncation, reason = "a half of it")]
        let half = (words[lane / 2] >> (32 * (lane % 2))) as u32;
        half
    })
}
