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

/// Bits of a Bloom filter by key, at least: with fewer, a tenth of the rows without a partner pass.
const BLOOM_BITS_BY_KEY_MIN: u64 = 6;

/// Share of the bits of a set, in percent, above which it drops too few rows to be sent.
const SET_PERCENT_MAX: u64 = 90;

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

    /// Which of the values may be keys.
    pub(crate) fn of_values(&self, values: &[i64]) -> BooleanBuffer {
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

impl KeySet {
    /// The set as bits of at most `bytes_max`, for values of `range` if that is known; none if they
    /// do not suffice, or would drop hardly a row.
    pub(crate) fn bits(
        &self,
        range: Option<&RangeInclusive<i64>>,
        bytes_max: u64,
    ) -> Option<KeyBits> {
        match self {
            Self::Bitmap(bitmap) => {
                match bitmap.cut(range).filter(|cut| cut.bytes() <= bytes_max) {
                    Some(cut) => (!is_full(cut.words)).then(|| cut.bits())?,
                    None => bitmap.as_bloom(bytes_max)?.bits(bytes_max),
                }
            }
            Self::Bloom(bloom) => bloom.bits(bytes_max),
        }
    }

    /// Whether so many values of `range` are keys that the set would drop hardly a row. Not told of
    /// a Bloom filter.
    pub(crate) fn drops_few(&self, range: Option<&RangeInclusive<i64>>) -> bool {
        match self {
            Self::Bitmap(bitmap) => bitmap.cut(range).is_some_and(|cut| is_full(cut.words)),
            Self::Bloom(_) => false,
        }
    }
}

/// Whether so many bits are set that hardly a row would be dropped.
fn is_full(words: &[u64]) -> bool {
    set_bits(words) * 100 > words.len() as u64 * 64 * SET_PERCENT_MAX
}

fn set_bits(words: &[u64]) -> u64 {
    words.iter().map(|word| u64::from(word.count_ones())).sum()
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

    /// The words that values of `range` are in; none if none of them has a bit.
    fn cut(&self, range: Option<&RangeInclusive<i64>>) -> Option<Cut<'_>> {
        let behind = self.words.len().checked_sub(1)?;
        let (from, to) = match range {
            None => (0, behind),
            Some(range) if *range.end() < self.first => return None,
            Some(range) => {
                let from = self.place((*range.start()).max(self.first)).0;
                (from, self.place(*range.end()).0.min(behind))
            }
        };
        let words = self.words.get(from..=to)?;
        let first = self.first.checked_add(i64::try_from(from).ok()?.checked_mul(64)?)?;
        Some(Cut { first, words })
    }

    /// All keys in a Bloom filter; none if some were outside of the range, or they are too many.
    fn as_bloom(&self, bytes_max: u64) -> Option<Bloom> {
        let keys_max = bytes_max.saturating_mul(8) / BLOOM_BITS_BY_KEY_MIN;
        if !self.has_all || set_bits(&self.words) > keys_max {
            return None;
        }
        let in_word = |(start, word): (i64, &u64)| {
            let word = *word;
            let is_set = move |bit: &i64| word >> *bit & 1 != 0;
            (0..64).filter(is_set).map(move |bit| start.wrapping_add(bit))
        };
        let starts = (0..).map(|word: i64| self.first.wrapping_add(word * 64));
        let keys: Vec<i64> = starts.zip(&self.words).flat_map(in_word).collect();
        let most = usize::try_from(bytes_max).unwrap_or(usize::MAX) / (LANES * 4);
        Some(Bloom::with_blocks(Bloom::blocks_for(keys.len()).min(most), &keys))
    }

    pub(crate) const fn bytes(&self) -> usize {
        size_of_val(self.words.as_slice())
    }
}

/// A part of a bitmap.
struct Cut<'a> {
    first: i64,
    words: &'a [u64],
}

impl Cut<'_> {
    /// Bytes of its bits, in whole blocks.
    const fn bytes(&self) -> u64 {
        self.words.len().next_multiple_of(BLOCK_WORDS) as u64 * 8
    }

    /// Its bits, if their last number has 64 bits.
    fn bits(&self) -> Option<KeyBits> {
        let values = i64::try_from(self.words.len()).ok()?.checked_mul(64)?;
        // The last word has no value beyond 64 bits.
        let last = self.first.checked_add(values - 1).unwrap_or(i64::MAX);
        let mut words = self.words.to_vec();
        words.resize(words.len().next_multiple_of(BLOCK_WORDS), 0);
        Some(KeyBits::Bitmap { first: self.first, last, words: words.into() })
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
        Self::with_blocks(Self::blocks_for(keys.len()), keys)
    }

    /// A large number can be divided often, so that the filter can be folded.
    fn blocks_for(keys: usize) -> usize {
        let blocks = (keys * BLOOM_BITS_BY_KEY).div_ceil(LANES * 32).max(1);
        if blocks < BLOOM_FOLDS { blocks } else { blocks.next_multiple_of(BLOOM_FOLDS) }
    }

    fn with_blocks(blocks: usize, keys: &[i64]) -> Self {
        let blocks = blocks.max(1);
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

    /// The filter, folded until it has at most so many bytes: of `f` neighbours one block remains,
    /// since the block of a key among `n / f` is that among `n`, divided by `f`. None if it cannot.
    fn bits(&self, bytes_max: u64) -> Option<KeyBits> {
        let most = usize::try_from(bytes_max).unwrap_or(usize::MAX) / (LANES * 4);
        let divides = |fold: &usize| self.blocks.len().is_multiple_of(*fold);
        let fits = |fold: &usize| self.blocks.len() / fold <= most;
        let fold = (1..=BLOOM_FOLDS).filter(divides).find(fits)?;
        let folded = self.blocks.chunks(fold).map(|blocks| {
            blocks
                .iter()
                .fold([0; LANES], |all, block| std::array::from_fn(|lane| all[lane] | block[lane]))
        });
        let words: Vec<u64> = folded.flat_map(as_words).collect();
        let (least, greatest) = (self.least, self.greatest);
        (!is_full(&words)).then(|| KeyBits::Bloom { least, greatest, words: words.into() })
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

/// The words of a block of a key filter.
fn as_words(lanes: [u32; LANES]) -> [u64; BLOCK_WORDS] {
    std::array::from_fn(|word| u64::from(lanes[2 * word]) | u64::from(lanes[2 * word + 1]) << 32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::Numbers;

    fn bitmap(range: RangeInclusive<i64>, keys: &[i64]) -> KeySet {
        let mut bitmap = Bitmap::over(&range).unwrap();
        keys.iter().for_each(|key| bitmap.insert(*key));
        KeySet::Bitmap(bitmap)
    }

    fn bloom(keys: &[i64]) -> KeySet {
        KeySet::Bloom(Bloom::of(keys))
    }

    fn passes(bits: &KeyBits, value: i64) -> bool {
        KeyFilter { column: 0, keys: bits.clone() }.passes(Some(value.into()))
    }

    const BYTES: u64 = 128 * 1024;

    #[test]
    fn filter_passes_what_its_set_holds() {
        let keys: Vec<i64> = (0..500).map(|key| key * 7 - 100).collect();
        let bitmap = KeyBits::bitmap(-50, 700, keys.iter().copied()).unwrap();
        let bloom = KeyBits::bloom(9, keys.iter().copied());
        let values: Vec<i64> = (-400..4000).chain([i64::MIN, i64::MAX]).collect();
        for keys in [bitmap, bloom] {
            let filter = KeyFilter { column: 0, keys };
            let vector = Vector::Numbers(Numbers::narrow(values.clone(), None));
            let found = KeySet::of(&filter).passes(&vector, values.len());
            for (value, found) in values.iter().zip(found.iter()) {
                assert_eq!(found, filter.keys.passes(*value), "{value}");
            }
        }
    }

    #[test]
    fn bitmap_is_cut_to_the_values_of_a_range() {
        let set = bitmap(-1000..=100_000, &[-1000, 64, 700, 99_999]);
        for range in [-5000..=100, 0..=64, 600..=1500, 90_000..=200_000] {
            let bits = set.bits(Some(&range), BYTES).unwrap();
            assert!(matches!(bits, KeyBits::Bitmap { .. }));
            assert!(bits.bytes() <= u64::try_from(range.end() - range.start()).unwrap() / 8 + 48);
            for value in range.filter(|value| (-1000..=100_000).contains(value)) {
                assert_eq!(passes(&bits, value), [-1000, 64, 700, 99_999].contains(&value));
            }
        }
        // All keys are in the bitmap, so none is outside of it.
        for range in [-9000..=-1001, 200_000..=200_009] {
            let bits = set.bits(Some(&range), BYTES).unwrap();
            assert!(range.into_iter().all(|value| !passes(&bits, value)));
        }
        let not_all = bitmap(0..=100, &[5, 101 + 64]);
        assert_eq!(not_all.bits(Some(&(200..=300)), BYTES), None);
    }

    #[test]
    fn bitmap_at_the_ends_of_64_bits_is_a_valid_filter() {
        for (range, key) in
            [(i64::MIN..=i64::MIN + 900, i64::MIN), (i64::MAX - 900..=i64::MAX, i64::MAX)]
        {
            let bits = bitmap(range.clone(), &[key]).bits(Some(&range), BYTES).unwrap();
            assert!(passes(&bits, key) && !passes(&bits, range.start() + 450));
            let KeyBits::Bitmap { first, last, words } = &bits else { unreachable!() };
            assert_eq!(KeyBits::bitmap_words(*first, *last).map(|it| it.len()), Some(words.len()));
        }
    }

    #[test]
    fn bitmap_that_is_too_long_becomes_a_bloom_filter() {
        let keys: Vec<i64> = (0..10_000).map(|key| key * 1009 + 5).collect();
        let set = bitmap(0..=20_000_000, &keys);
        let bits = set.bits(None, BYTES).unwrap();
        assert!(matches!(bits, KeyBits::Bloom { .. }) && bits.bytes() <= BYTES);
        assert!(keys.iter().all(|key| passes(&bits, *key)));
        let others = keys.iter().filter(|key| passes(&bits, **key + 1)).count();
        assert!(others < 300, "{others}");
        // A key that the bitmap does not hold would be dropped.
        let outside = bitmap(0..=20_000_000, &[5, 30_000_000]);
        assert_eq!(outside.bits(None, BYTES), None);
        assert_eq!(set.bits(None, 4096), None);
    }

    #[test]
    fn bloom_filter_is_folded_until_it_fits() {
        let keys: Vec<i64> = (0..100_000).map(|key| key * 31).collect();
        let set = bloom(&keys);
        let bits = set.bits(None, BYTES).unwrap();
        assert!(bits.bytes() <= BYTES && bits.bytes() > BYTES / 4, "{}", bits.bytes());
        assert!(keys.iter().all(|key| passes(&bits, *key)));
        let others = keys.iter().filter(|key| passes(&bits, **key + 1)).count();
        assert!(others < 15_000, "{others} of 100,000");
        assert_eq!(bloom(&(0..1_000_000).collect::<Vec<_>>()).bits(None, BYTES), None);
        let few = bloom(&[1, 2, 3]).bits(None, 32).unwrap();
        assert!(passes(&few, 2) && !passes(&few, 4));
        assert_eq!(bloom(&[1]).bits(None, 31), None);
    }

    #[test]
    fn set_that_drops_hardly_a_row_is_no_filter() {
        let all: Vec<i64> = (0..=1000).collect();
        assert_eq!(bitmap(0..=1000, &all).bits(Some(&(100..=900)), BYTES), None);
        assert!(bitmap(0..=1000, &all).drops_few(Some(&(100..=900))));
        assert!(bitmap(0..=1000, &all[..300]).bits(Some(&(0..=1000)), BYTES).is_some());
        assert!(!bitmap(0..=1000, &all[..300]).drops_few(None));
        // None of its values are those of the range.
        assert!(!bitmap(0..=1000, &all).drops_few(Some(&(-9..=-1))));
    }
}
