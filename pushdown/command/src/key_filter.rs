// SPDX-License-Identifier: Apache-2.0
//! Defines [`KeyFilter`], which drops rows whose key is not in a set: the keys of a join's build
//! side.
//!
//! A set is a bitmap over a range of numbers, or a blocked Bloom filter
//! ([Putze et al. 2007](https://doi.org/10.1007/978-3-540-72845-0_9)). The hash, the block and the
//! bits of a number are defined here alone: hosts that make a filter, drives and fused scans that
//! look numbers up all use [`bloom`] and [`bitmap`].
//!
//! The canonical form of a key is the number that its column is read as, as 64-bit two's
//! complement: an integer of any width and sign, days of a date, a timestamp in the unit of the
//! file, the unscaled integer of a decimal in the scale of the column, the place of a float in the
//! total order.
//!
//! # Invariants
//!
//! - A filter may pass numbers that are not keys, and never drops one that is.
//! - NULL passes, and so does a number that 64-bit two's complement does not hold.

use std::sync::Arc;

use crate::{
    error::{Error, Place},
    layout::KeyFilterRecord,
    limits,
    program::limit,
    types::wire_enum,
};

wire_enum! {
    /// The form of a set of keys.
    KeySetKind: u16 ("kind of key filter") {
        /// a bit for each number from `first` to `last`; a number outside of them passes
        Bitmap = 1,
        /// blocks of 32 bytes, in one of which a key sets a bit of each 4; a number less than
        /// `first` or greater than `last` does not pass
        Bloom = 2,
    }
}

/// The place of a number in a bitmap.
pub mod bitmap {
    /// The word of 64 bits and the bit in it; of a number below `first` a word far behind.
    #[inline]
    pub const fn place(first: i64, value: i64) -> (u64, u32) {
        let place = value.wrapping_sub(first).cast_unsigned();
        let bit = (place & 63) as u32;
        (place >> 6, bit)
    }
}

/// The block and the bits of a number in a blocked Bloom filter.
pub mod bloom {
    /// Lanes of a block, of 32 bits each: a key sets one bit in each.
    pub const LANES: usize = 8;

    /// Odd numbers, one for each lane of a block, that spread hashes over its bits: those of
    /// Parquet's Bloom filters.
    pub const SALTS: [u32; LANES] = [
        0x47b6_137b,
        0x4497_4d91,
        0x8824_ad5b,
        0xa2b7_289d,
        0x7054_95c7,
        0x2df1_424b,
        0x9efc_4947,
        0x5c6b_fb31,
    ];

    /// The factors of [`mixed`].
    pub const FACTORS: [u64; 2] = [0xff51_afd7_ed55_8ccd, 0xc4ce_b9fe_1a85_ec53];

    /// A hash of a number: the finaliser of MurmurHash3.
    #[inline]
    pub const fn mixed(mut key: u64) -> u64 {
        key = (key ^ (key >> 33)).wrapping_mul(FACTORS[0]);
        key = (key ^ (key >> 33)).wrapping_mul(FACTORS[1]);
        key ^ (key >> 33)
    }

    /// The block of a key among `blocks`, less than 2^32, and its bit in each lane.
    ///
    /// The high half of the hash chooses the block, the low half the bits.
    #[inline]
    pub fn place(key: i64, blocks: u64) -> (u64, [u32; LANES]) {
        let hash = mixed(key.cast_unsigned());
        #[expect(clippy::cast_possible_truncation, reason = "the low half")]
        let low = hash as u32;
        (((hash >> 32) * blocks) >> 32, SALTS.map(|salt| 1 << (low.wrapping_mul(salt) >> 27)))
    }
}

/// A set of keys.
///
/// Its bits are words of 64; lane `2 i` of a block is the low half of its word `i`, lane `2 i + 1`
/// the high one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum KeyBits {
    /// A bit for each number of a range.
    Bitmap {
        /// The first number.
        first: i64,
        /// The last one.
        last: i64,
        /// The bits, in whole blocks; those behind the last number count for nothing.
        words: Arc<[u64]>,
    },
    /// A blocked Bloom filter.
    Bloom {
        /// The least key.
        least: i64,
        /// The greatest one; below the least if there is no key.
        greatest: i64,
        /// The blocks, [`BLOCK_WORDS`] words each.
        words: Arc<[u64]>,
    },
}

/// Words of a block.
pub const BLOCK_WORDS: usize = bloom::LANES / 2;

/// Numbers that a block of a bitmap is about.
const BLOCK_VALUES: u64 = BLOCK_WORDS as u64 * 64;

impl KeyBits {
    /// A bitmap over the numbers `first` to `last` with nothing in it, as words; none if they are
    /// too many for a command, or the other way around.
    pub fn bitmap_words(first: i64, last: i64) -> Option<Vec<u64>> {
        let values = last.checked_sub(first).and_then(|span| u64::try_from(span).ok())?;
        let words = (values / BLOCK_VALUES + 1).checked_mul(BLOCK_WORDS as u64)?;
        let fits = words <= u64::from(limits::KEY_BITS_BYTES_MAX) / 8;
        fits.then_some(words)
            .and_then(|words| usize::try_from(words).ok())
            .map(|words| vec![0; words])
    }

    /// A bitmap over the numbers `first` to `last` with the `keys` that are among them; none if the
    /// numbers are too many for a command.
    pub fn bitmap(first: i64, last: i64, keys: impl IntoIterator<Item = i64>) -> Option<Self> {
        let mut words = Self::bitmap_words(first, last)?;
        for key in keys.into_iter().filter(|key| (first..=last).contains(key)) {
            let (word, bit) = bitmap::place(first, key);
            if let Some(word) = usize::try_from(word).ok().and_then(|word| words.get_mut(word)) {
                *word |= 1 << bit;
            }
        }
        Some(Self::Bitmap { first, last, words: words.into() })
    }

    /// What passes both, if they are bitmaps over the same numbers.
    #[must_use]
    pub fn and(&self, other: &Self) -> Option<Self> {
        match (self, other) {
            (
                Self::Bitmap { first, last, words },
                Self::Bitmap { first: other_first, last: other_last, words: others },
            ) if (first, last) == (other_first, other_last) => {
                let both = words.iter().zip(others.iter()).map(|(word, other)| word & other);
                Some(Self::Bitmap { first: *first, last: *last, words: both.collect() })
            }
            _ => None,
        }
    }

    /// A Bloom filter of so many blocks, at least one, with `keys` in it.
    pub fn bloom(blocks: usize, keys: impl IntoIterator<Item = i64>) -> Self {
        let blocks = blocks.max(1);
        let mut words = vec![0; blocks * BLOCK_WORDS];
        let (mut least, mut greatest) = (i64::MAX, i64::MIN);
        for key in keys {
            (least, greatest) = (least.min(key), greatest.max(key));
            let (block, bits) = bloom::place(key, blocks as u64);
            let at = usize::try_from(block).unwrap_or(0) * BLOCK_WORDS;
            let block = words.get_mut(at..at + BLOCK_WORDS).unwrap_or_default();
            block.iter_mut().zip(as_words(bits)).for_each(|(word, bits)| *word |= bits);
        }
        Self::Bloom { least, greatest, words: words.into() }
    }

    /// Whether a number passes.
    pub fn passes(&self, value: i64) -> bool {
        match self {
            Self::Bitmap { first, last, words } => {
                if !(*first..=*last).contains(&value) {
                    return true;
                }
                let (word, bit) = bitmap::place(*first, value);
                let word = usize::try_from(word).ok().and_then(|word| words.get(word));
                word.is_none_or(|word| word >> bit & 1 != 0)
            }
            Self::Bloom { least, greatest, words } => {
                let (block, bits) = bloom::place(value, (words.len() / BLOCK_WORDS) as u64);
                let at = usize::try_from(block).unwrap_or(usize::MAX).saturating_mul(BLOCK_WORDS);
                let block = words.get(at..).unwrap_or_default();
                let has_all = |(word, bits): (&u64, u64)| bits & !word == 0;
                (*least..=*greatest).contains(&value)
                    && block.iter().zip(as_words(bits)).all(has_all)
            }
        }
    }

    /// The bits.
    pub const fn words(&self) -> &Arc<[u64]> {
        match self {
            Self::Bitmap { words, .. } | Self::Bloom { words, .. } => words,
        }
    }

    /// Bytes of the bits.
    pub fn bytes(&self) -> u64 {
        self.words().len() as u64 * 8
    }

    const fn parts(&self) -> (KeySetKind, i64, i64) {
        match self {
            Self::Bitmap { first, last, .. } => (KeySetKind::Bitmap, *first, *last),
            Self::Bloom { least, greatest, .. } => (KeySetKind::Bloom, *least, *greatest),
        }
    }

    fn check(&self, place: Place) -> Result<(), Error> {
        let words = self.words().len();
        let fits = match self {
            Self::Bitmap { first, last, .. } => {
                Self::bitmap_words(*first, *last).is_some_and(|needed| needed.len() == words)
            }
            Self::Bloom { .. } => words > 0 && words.is_multiple_of(BLOCK_WORDS),
        };
        match fits {
            true => Ok(()),
            false => {
                Err(Error::Kind { place, expected: "as many bits as its kind and range have" })
            }
        }
    }
}

/// Bits of the lanes of a block as words.
fn as_words(lanes: [u32; bloom::LANES]) -> [u64; BLOCK_WORDS] {
    std::array::from_fn(|word| u64::from(lanes[2 * word]) | u64::from(lanes[2 * word + 1]) << 32)
}

/// A filter of a fragment: a row is dropped when the number of a column is not in the set.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct KeyFilter {
    /// The column, one of numbers.
    pub column: u16,
    /// The set.
    pub keys: KeyBits,
}

impl KeyFilter {
    /// Whether the row with this number passes; NULL does.
    pub fn passes(&self, value: Option<i128>) -> bool {
        let number = value.and_then(|value| i64::try_from(value).ok());
        number.is_none_or(|number| self.keys.passes(number))
    }

    /// Checks the size of the set.
    pub(crate) fn check(&self, index: usize) -> Result<(), Error> {
        self.keys.check(Place::KeyFilter(u32::try_from(index).unwrap_or(u32::MAX)))
    }

    pub(crate) fn record(&self) -> KeyFilterRecord {
        let (kind, first, last) = self.keys.parts();
        KeyFilterRecord {
            column: self.column,
            kind: kind.code(),
            bytes: u32::try_from(self.keys.bytes()).unwrap_or(u32::MAX),
            first: first.cast_unsigned(),
            last: last.cast_unsigned(),
            checksum: crc32c::crc32c(&bit_bytes(&self.keys)),
            reserved: 0,
        }
    }
}

fn bit_bytes(keys: &KeyBits) -> Vec<u8> {
    keys.words().iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// The bits of all filters, one behind the other, then zeros up to a whole line.
pub(crate) fn trailer(filters: &[KeyFilter]) -> Vec<u8> {
    let mut bits: Vec<u8> = filters.iter().flat_map(|filter| bit_bytes(&filter.keys)).collect();
    bits.resize(bits.len().next_multiple_of(limits::SECTION_ALIGN as usize), 0);
    bits
}

/// The filters of these records, whose bits are at the start of `bits`.
pub(crate) fn read(records: &[KeyFilterRecord], mut bits: &[u8]) -> Result<Vec<KeyFilter>, Error> {
    limit("key filters", records.len(), limits::KEY_FILTERS_MAX)?;
    let bytes = records.iter().map(|record| u64::from(record.bytes)).sum::<u64>();
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    limit("bytes of key filters", bytes, limits::KEY_BITS_BYTES_MAX)?;
    let mut filters = Vec::with_capacity(records.len());
    for record in records {
        let Some((own, rest)) = bits.split_at_checked(record.bytes as usize) else {
            let (needed, available) = (record.bytes.into(), bits.len() as u64);
            return Err(Error::Truncated { part: "bits of a key filter", needed, available });
        };
        bits = rest;
        let actual = crc32c::crc32c(own);
        if actual != record.checksum {
            let expected = record.checksum;
            return Err(Error::Checksum { part: "bits of a key filter", expected, actual });
        }
        filters.push(read_filter(record, own)?);
    }
    Ok(filters)
}

fn read_filter(record: &KeyFilterRecord, bits: &[u8]) -> Result<KeyFilter, Error> {
    let (words, rest) = bits.as_chunks::<8>();
    if !rest.is_empty() {
        return Err(Error::Inconsistent { what: "bits of a key filter are not whole words" });
    }
    let words: Arc<[u64]> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
    let (first, last) = (record.first.cast_signed(), record.last.cast_signed());
    let keys = match KeySetKind::from_code(record.kind)? {
        KeySetKind::Bitmap => KeyBits::Bitmap { first, last, words },
        KeySetKind::Bloom => KeyBits::Bloom { least: first, greatest: last, words },
    };
    Ok(KeyFilter { column: record.column, keys })
}
