// SPDX-License-Identifier: Apache-2.0
//! Looks up numbers of a dictionary in its page, so that entries that no row needs are not decoded,
//! and those that are large do not push one another out of the cache.

use bytes::Bytes;
use nearscan_command::{Chunk, Status};

use super::{
    numbers::{Stored, big_endian},
    reading,
};
use crate::simd::by_level;

/// With fewer entries than these, decoding all of them takes no time.
const ENTRIES_MIN: usize = 4096;

/// The entries of a dictionary of numbers, as they are stored.
#[derive(Debug)]
pub(crate) struct StoredEntries {
    bytes: Bytes,
    stored: Stored,
    chunk: Chunk,
}

impl StoredEntries {
    /// The `len` entries in `bytes`; `None` if they are few, or if there may be some that cannot be
    /// read: those are decoded.
    pub(crate) fn open(chunk: &Chunk, bytes: &Bytes, len: usize) -> Option<Self> {
        let stored = Stored::of(chunk)?;
        let width = match stored {
            Stored::Bit => return None,
            Stored::Four => 4,
            Stored::Eight => 8,
            Stored::Fixed(length @ 1..=8) => length,
            Stored::Fixed(_) => return None,
        };
        let is_all_there = len.checked_mul(width).is_some_and(|length| length <= bytes.len());
        let has_faults = reading::is_bounded(chunk) || reading::is_wide(chunk);
        let is_large = len >= ENTRIES_MIN;
        (is_large && is_all_there && !has_faults).then(|| Self {
            bytes: bytes.clone(),
            stored,
            chunk: *chunk,
        })
    }

    /// The numbers at `codes`, each of which is there.
    pub(crate) fn look_up(&self, codes: &[u32]) -> Vec<i64> {
        let mut values = match self.stored {
            Stored::Four => four(self.bytes.as_chunks().0, codes),
            Stored::Eight => eight(self.bytes.as_chunks().0, codes),
            Stored::Fixed(length) => short(&self.bytes, length, codes),
            Stored::Bit => Vec::new(),
        };
        // No number is outside of its bits, since they are not bounded.
        let applied: Result<(), Status> = reading::apply(&mut values, &self.chunk);
        debug_assert_eq!(applied, Ok(()), "the reading has no bounds");
        values
    }
}

by_level! {
    fn four[](entries: &[[u8; 4]], codes: &[u32]) -> Vec<i64> {
        codes.iter().map(|code| i64::from(i32::from_le_bytes(entries[*code as usize]))).collect()
    }
}

by_level! {
    fn eight[](entries: &[[u8; 8]], codes: &[u32]) -> Vec<i64> {
        codes.iter().map(|code| i64::from_le_bytes(entries[*code as usize])).collect()
    }
}

by_level! {
    /// Numbers of `length` bytes, at most 8, big endian: the first bytes of a word each.
    fn short[](bytes: &[u8], length: usize, codes: &[u32]) -> Vec<i64> {
        let shift = 64 - 8 * length;
        let number = |code: &u32| {
            let rest = &bytes[*code as usize * length..];
            match rest.first_chunk() {
                Some(word) => i64::from_be_bytes(*word) >> shift,
                None => big_endian(&rest[..length]).unwrap_or(0),
            }
        };
        codes.iter().map(number).collect()
    }
}

#[cfg(test)]
mod tests {
    use nearscan_command::{Encoding, PhysicalType, ReadAs, Reading};

    use super::*;
    use crate::{decode::numbers::PageNumbers, simd::at_each_level, tests::plain_chunk};

    fn chunk(physical_type: PhysicalType, rule: ReadAs, length: u16) -> Chunk {
        plain_chunk(physical_type, Reading { rule, bits: 0, length })
    }

    #[test]
    fn numbers_looked_up_are_those_decoded() {
        let len = ENTRIES_MIN + 3;
        for (chunk, width) in [
            (chunk(PhysicalType::Int32, ReadAs::Signed, 0), 4),
            (chunk(PhysicalType::Int32, ReadAs::Unsigned, 0), 4),
            (chunk(PhysicalType::Float, ReadAs::FloatOrder, 0), 4),
            (chunk(PhysicalType::Int64, ReadAs::Signed, 0), 8),
            (chunk(PhysicalType::Double, ReadAs::FloatOrder, 0), 8),
            (chunk(PhysicalType::FixedLenByteArray, ReadAs::BigEndian, 3), 3),
            (chunk(PhysicalType::FixedLenByteArray, ReadAs::BigEndian, 8), 8),
        ] {
            let mut state = 1_u64;
            let byte = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                state.to_be_bytes()[0]
            };
            let bytes: Bytes = std::iter::repeat_with(byte).take(len * width).collect();
            let mut all = Vec::new();
            let mut page =
                PageNumbers::open(&chunk, Encoding::Plain, bytes.clone(), || Ok(len)).unwrap();
            page.read(len, &mut all).unwrap();
            reading::apply(&mut all, &chunk).unwrap();
            let entries = StoredEntries::open(&chunk, &bytes, len).unwrap();
            let last = u32::try_from(len - 1).unwrap();
            let codes: Vec<u32> = (0..=last).rev().step_by(7).chain([last, 0]).collect();
            let expected: Vec<i64> = codes.iter().map(|code| all[*code as usize]).collect();
            for found in at_each_level(|| entries.look_up(&codes)) {
                assert_eq!(found, expected, "{chunk:?}");
            }
        }
    }

    #[test]
    fn entries_that_are_few_or_may_be_wrong_are_not_left_as_stored() {
        let bytes = Bytes::from(vec![0; 8 * ENTRIES_MIN]);
        let signed = chunk(PhysicalType::Int64, ReadAs::Signed, 0);
        let is_left = |chunk: &Chunk, len| StoredEntries::open(chunk, &bytes, len).is_some();
        assert!(is_left(&signed, ENTRIES_MIN));
        assert!(!is_left(&signed, ENTRIES_MIN - 1));
        assert!(!is_left(&signed, ENTRIES_MIN + 1));
        let bounded = Chunk { reading: Reading { bits: 8, ..signed.reading }, ..signed };
        assert!(!is_left(&bounded, ENTRIES_MIN));
        assert!(!is_left(&chunk(PhysicalType::Int64, ReadAs::Unsigned, 0), ENTRIES_MIN));
        assert!(!is_left(&chunk(PhysicalType::FixedLenByteArray, ReadAs::BigEndian, 9), 5000));
        assert!(!is_left(&chunk(PhysicalType::Boolean, ReadAs::Signed, 0), ENTRIES_MIN));
    }
}
