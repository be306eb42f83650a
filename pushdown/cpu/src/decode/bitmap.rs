// SPDX-License-Identifier: Apache-2.0
//! Builds bitmaps from pieces of a few bits.
//!
//! Definition levels come in groups of eight where some rows are NULL. Arrow's builder takes each
//! of them in by its loops over unaligned bits, which was a quarter of a query that tests for NULL.

use arrow::buffer::{BooleanBuffer, Buffer};

/// A bitmap that grows.
#[derive(Debug, Default)]
pub(crate) struct BitmapBuilder {
    /// Bits behind the last one are 0.
    words: Vec<u64>,
    len: usize,
}

const WORD_BITS: usize = u64::BITS as usize;

impl BitmapBuilder {
    /// An empty bitmap with room for `bits` bits.
    pub(crate) fn with_capacity(bits: usize) -> Self {
        Self { words: Vec::with_capacity(bits.div_ceil(WORD_BITS)), len: 0 }
    }

    /// Removes all bits.
    pub(crate) fn clear(&mut self) {
        self.words.clear();
        self.len = 0;
    }

    /// The bitmap as Arrow has it.
    pub(crate) fn finish(self) -> BooleanBuffer {
        BooleanBuffer::new(Buffer::from_vec(self.words), 0, self.len)
    }

    /// Appends `count` equal bits.
    pub(crate) fn append_n(&mut self, count: usize, bit: bool) {
        let word = if bit { u64::MAX } else { 0 };
        let first = count.min(self.len.next_multiple_of(WORD_BITS) - self.len);
        self.push(word & low_bits(first), first);
        let whole = (count - first) / WORD_BITS;
        self.words.resize(self.words.len() + whole, word);
        self.len += whole * WORD_BITS;
        let last = (count - first) % WORD_BITS;
        self.push(word & low_bits(last), last);
    }

    /// Appends `count` bits from bit `bit` of some bytes on, which are there; gives how many of
    /// them are set.
    pub(crate) fn append_bits(&mut self, bytes: &[u8], bit: usize, count: usize) -> usize {
        let (mut bit, mut left, mut set) = (bit, count, 0);
        while left > 0 {
            let offset = bit % 8;
            let piece = left.min(WORD_BITS - offset);
            let word = word_at(bytes, bit / 8) >> offset & low_bits(piece);
            set += word.count_ones() as usize;
            self.push(word, piece);
            bit += piece;
            left -= piece;
        }
        set
    }

    /// Appends the lowest `count` bits of a word, whose other bits are 0.
    fn push(&mut self, word: u64, count: usize) {
        let used = self.len % WORD_BITS;
        self.len += count;
        match self.words.last_mut() {
            Some(last) if used > 0 => {
                *last |= word << used;
                if used + count > WORD_BITS {
                    self.words.push(word >> (WORD_BITS - used));
                }
            }
            _ if count > 0 => self.words.push(word),
            _ => {}
        }
    }
}

/// A word whose lowest `count` bits are set, at most 64.
const fn low_bits(count: usize) -> u64 {
    match count {
        0 => 0,
        _ => u64::MAX >> (WORD_BITS - count),
    }
}

/// The eight bytes from `at` on, zeros behind the last one.
fn word_at(bytes: &[u8], at: usize) -> u64 {
    let rest = bytes.get(at..).unwrap_or_default();
    if let Some(word) = rest.first_chunk() {
        return u64::from_le_bytes(*word);
    }
    rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_every_length_are_appended_at_every_place() {
        let bytes: Vec<u8> = (0..40).map(|at: u8| at.wrapping_mul(151) ^ 0x5a).collect();
        let bit_at = |bit: usize| bytes[bit / 8] >> (bit % 8) & 1 == 1;
        for before in [0, 1, 7, 63, 64, 65, 130] {
            for start in [0, 1, 5, 8, 63, 70] {
                for count in [0, 1, 8, 56, 57, 63, 64, 65, 128, 200] {
                    let mut bitmap = BitmapBuilder::with_capacity(before);
                    bitmap.append_n(before, true);
                    let piece = (start..start + count).map(bit_at);
                    let set = bitmap.append_bits(&bytes, start, count);
                    assert_eq!(set, piece.clone().filter(|bit| *bit).count());
                    bitmap.append_n(3, false);
                    bitmap.append_n(count, true);
                    let expected = std::iter::repeat_n(true, before)
                        .chain(piece)
                        .chain([false; 3])
                        .chain(std::iter::repeat_n(true, count));
                    let found: Vec<bool> = bitmap.finish().iter().collect();
                    assert_eq!(found, expected.collect::<Vec<_>>(), "{before} {start} {count}");
                }
            }
        }
    }

    #[test]
    fn cleared_bitmap_is_empty() {
        let mut bitmap = BitmapBuilder::default();
        bitmap.append_n(70, true);
        bitmap.clear();
        bitmap.append_n(2, false);
        assert_eq!(bitmap.finish().iter().collect::<Vec<_>>(), [false; 2]);
    }
}
