// SPDX-License-Identifier: Apache-2.0
//! Decodes DELTA_BINARY_PACKED: differences of integers, bit-packed in blocks of miniblocks.
//!
//! ```text
//! block size | miniblocks a block | values | first value
//! least difference | widths, a byte a miniblock | miniblocks      for each block
//! ```
//!
//! The first four are variable-length numbers, as is the least difference. Miniblocks after the
//! last value are absent, and their widths have no meaning.

use bytes::Bytes;
use nearscan_command::Status;

use super::bits::unpack;
use crate::header::{varint, zigzag};

/// Integers of a page.
#[derive(Debug, Clone)]
pub(crate) struct Delta {
    bytes: Bytes,
    /// The first byte that is not taken.
    at: usize,
    /// Bits of a stored value, 32 or 64.
    bits: u32,
    miniblocks: usize,
    /// Values of a miniblock, a multiple of 32.
    miniblock_values: usize,
    /// Values that were not read, the first one included.
    left: u64,
    /// The value before the next one; until the first one is read, that.
    last: i64,
    is_first: bool,
    block: Block,
}

/// The current block.
#[derive(Debug, Clone, Copy, Default)]
struct Block {
    least: i64,
    /// Offset in bytes of the width of the next miniblock.
    width_at: usize,
    miniblocks_left: usize,
    /// Bits a difference of the current miniblock.
    width: u32,
    /// Offset in bits of the next difference.
    bit: usize,
    /// Differences left in the miniblock.
    left: usize,
}

impl Delta {
    /// `count` integers of `bits` bits, 32 or 64.
    ///
    /// # Errors
    /// [`Status::Corrupt`] when the header contradicts the format, or is of another count.
    pub(crate) fn new(bytes: Bytes, bits: u32, count: usize) -> Result<Self, Status> {
        let mut at = 0;
        let mut next = || {
            let (value, length) = varint(&bytes[at..]).ok_or(Status::Corrupt)?;
            at += length;
            Ok(value)
        };
        let (block_values, miniblocks) = (next()?, next()?);
        let (left, first) = (next()?, zigzag(next()?));
        // Parquet's sizes are numbers of 32 bits with a sign.
        let size = |value: u64| {
            let value = i32::try_from(value).ok().filter(|value| *value > 0);
            value.and_then(|value| usize::try_from(value).ok()).ok_or(Status::Corrupt)
        };
        let (block_values, miniblocks) = (size(block_values)?, size(miniblocks)?);
        let miniblock_values = block_values / miniblocks;
        let is_even = block_values.is_multiple_of(128)
            && block_values.is_multiple_of(miniblocks)
            && miniblock_values.is_multiple_of(32)
            && miniblock_values > 0;
        let is_small = bits == 64 || i32::try_from(first).is_ok();
        if !is_even || !is_small || left != count as u64 {
            return Err(Status::Corrupt);
        }
        let block = Block::default();
        Ok(Self {
            bytes,
            at,
            bits,
            miniblocks,
            miniblock_values,
            left,
            last: first,
            is_first: true,
            block,
        })
    }

    /// The `count` integers of a page; a page of nulls may have no bytes at all.
    ///
    /// # Errors
    /// As [`Delta::new`].
    pub(crate) fn of_page(bytes: Bytes, bits: u32, count: usize) -> Result<Self, Status> {
        /// Blocks of 128 values, of which there are none.
        const NOTHING: &[u8] = &[0x80, 1, 1, 0, 0];
        let bytes = if bytes.is_empty() { Bytes::from_static(NOTHING) } else { bytes };
        Self::new(bytes, bits, count)
    }

    /// The first byte behind all values. Their bits are not read.
    ///
    /// # Errors
    /// [`Status::Corrupt`] when a block contradicts the format.
    pub(crate) fn end(&self) -> Result<usize, Status> {
        let mut ahead = self.clone();
        let mut left = self.left.saturating_sub(u64::from(self.is_first));
        left = left.saturating_sub(self.block.left as u64);
        while left > 0 {
            ahead.next_miniblock()?;
            left = left.saturating_sub(ahead.block.left as u64);
        }
        Ok(ahead.at)
    }

    /// Appends `count` values.
    ///
    /// # Errors
    /// [`Status::Corrupt`] when there are fewer, or a block contradicts the format.
    pub(crate) fn read(&mut self, count: usize, out: &mut Vec<i64>) -> Result<(), Status> {
        self.left = self.left.checked_sub(count as u64).ok_or(Status::Corrupt)?;
        let mut left = count;
        if self.is_first && left > 0 {
            out.push(self.last);
            self.is_first = false;
            left -= 1;
        }
        while left > 0 {
            if self.block.left == 0 {
                self.next_miniblock()?;
            }
            let piece = left.min(self.block.left);
            let start = out.len();
            unpack(&self.bytes, self.block.bit, self.block.width, piece, out, u64::cast_signed);
            self.last = add_up(&mut out[start..], self.last, self.block.least, self.bits);
            self.block.bit += piece * self.block.width as usize;
            self.block.left -= piece;
            left -= piece;
        }
        Ok(())
    }

    fn next_miniblock(&mut self) -> Result<(), Status> {
        if self.block.miniblocks_left == 0 {
            let (least, length) = varint(&self.bytes[self.at..]).ok_or(Status::Corrupt)?;
            let width_at = self.at + length;
            if self.bytes.len() - width_at < self.miniblocks {
                return Err(Status::Corrupt);
            }
            self.at = width_at + self.miniblocks;
            self.block = Block {
                least: zigzag(least),
                width_at,
                miniblocks_left: self.miniblocks,
                ..Block::default()
            };
        }
        let width = u32::from(self.bytes[self.block.width_at]);
        // A multiple of 32 values is whole bytes; some writers cut the last ones off after the last
        // value.
        let whole = self.miniblock_values / 8 * width as usize;
        let bytes = whole.min(self.bytes.len() - self.at);
        let left = (bytes * 8).checked_div(width as usize).unwrap_or(self.miniblock_values);
        if width > self.bits || left == 0 {
            return Err(Status::Corrupt);
        }
        self.block.width = width;
        self.block.bit = self.at * 8;
        self.block.left = left;
        self.block.width_at += 1;
        // Behind a miniblock that is cut off there is nothing, not even one of no bits.
        self.block.miniblocks_left = if bytes < whole { 0 } else { self.block.miniblocks_left - 1 };
        self.at += bytes;
        Ok(())
    }
}

/// Makes values of differences, which wrap in `bits` bits; gives the last one.
fn add_up(differences: &mut [i64], last: i64, least: i64, bits: u32) -> i64 {
    let mut value = last;
    if bits == 32 {
        for difference in differences {
            let sum = value.wrapping_add(least).wrapping_add(*difference);
            value = sum << 32 >> 32;
            *difference = value;
        }
    } else {
        for difference in differences {
            value = value.wrapping_add(least).wrapping_add(*difference);
            *difference = value;
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8], bits: u32, pieces: &[usize]) -> Result<Vec<i64>, Status> {
        // As many as the header says, which is one byte behind those of the sizes.
        let at = bytes.iter().position(|byte| *byte < 0x80).unwrap() + 2;
        let count = varint(&bytes[at..]).map_or(0, |(count, _)| usize::try_from(count).unwrap());
        let mut delta = Delta::new(Bytes::copy_from_slice(bytes), bits, count)?;
        let mut out = Vec::new();
        pieces.iter().try_for_each(|count| delta.read(*count, &mut out))?;
        Ok(out)
    }

    /// 7, 5, 3, 1, 2, 3, 4, 5: the example of Parquet's description.
    fn example() -> Vec<u8> {
        // 128 values a block, 4 miniblocks, 8 values, 7; least -2; differences 0 0 0 3 3 3 3.
        let mut bytes = vec![0x80, 1, 4, 8, 14, 3, 2, 0, 0, 0];
        bytes.extend([0b1100_0000, 0b0011_1111, 0, 0, 0, 0, 0, 0]);
        bytes
    }

    #[test]
    fn example_of_the_format_description_is_decoded() {
        let expected = vec![7, 5, 3, 1, 2, 3, 4, 5];
        assert_eq!(read(&example(), 64, &[8]), Ok(expected.clone()));
        assert_eq!(read(&example(), 32, &[1, 0, 3, 4]), Ok(expected));
        assert_eq!(read(&example(), 32, &[9]), Err(Status::Corrupt));
    }

    #[test]
    fn count_of_the_header_must_match() {
        let of = |count| Delta::new(Bytes::from(example()), 64, count).map(|_| ());
        assert_eq!(of(8), Ok(()));
        assert_eq!(of(7), Err(Status::Corrupt));
        assert_eq!(of(9), Err(Status::Corrupt));
    }

    #[test]
    fn end_is_behind_the_last_miniblock_that_is_needed() {
        let behind = [&example()[..], &[0xff; 9]].concat();
        let mut delta = Delta::new(Bytes::from(behind), 32, 8).unwrap();
        // A miniblock of 32 differences of two bits.
        assert_eq!(delta.end(), Ok(example().len()));
        delta.read(3, &mut Vec::new()).unwrap();
        assert_eq!(delta.end(), Ok(example().len()));
        let of = |bytes: &[u8], count| {
            Delta::of_page(Bytes::copy_from_slice(bytes), 32, count).and_then(|it| it.end())
        };
        assert_eq!(of(&[0x80, 1, 4, 1, 14, 3, 2], 1), Ok(5));
        assert_eq!(of(&[0x80, 1, 4, 2, 14], 2), Err(Status::Corrupt));
        // Two blocks, of no bits, whose miniblocks have 32 values each.
        let blocks = [[0x80, 1, 4, 0x82], [1, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 7]].concat();
        assert_eq!(of(&blocks, 130), Ok(16));
        assert!(Delta::of_page(Bytes::new(), 32, 0).is_ok());
        assert_eq!(of(&[], 1), Err(Status::Corrupt));
    }

    #[test]
    fn differences_wrap() {
        // One value after the first, which is the least; least difference -1 in 0 bits.
        let of = |first: &[u8]| [&[0x80, 1, 4, 2], first, &[1, 0, 0, 0, 0]].concat();
        let least_32 = [0xff, 0xff, 0xff, 0xff, 0x0f];
        let low = i64::from(i32::MIN);
        assert_eq!(read(&of(&least_32), 32, &[2]), Ok(vec![low, i64::from(i32::MAX)]));
        assert_eq!(read(&of(&least_32), 64, &[2]), Ok(vec![low, low - 1]));
        let least_64 = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
        assert_eq!(read(&of(&least_64), 64, &[2]), Ok(vec![i64::MIN, i64::MAX]));
        assert_eq!(read(&of(&least_64), 32, &[2]), Err(Status::Corrupt));
    }

    #[test]
    fn headers_that_contradict_the_format_are_corrupt() {
        let head = |block: &[u8], miniblocks: u8| {
            let bytes = [block, &[miniblocks, 2, 0, 0], &[0; 20]].concat();
            read(&bytes, 64, &[2])
        };
        assert_eq!(head(&[0x80, 1], 4), Ok(vec![0, 0]));
        for (block, miniblocks) in [
            (&[0][..], 4),
            (&[0x80, 1], 0),
            (&[0x80, 1], 8),
            (&[0x80, 1], 3),
            (&[0x40], 1),
            (&[0xff, 0xff, 0xff, 0xff, 0x7f], 1),
            (&[0x80, 0x80, 0x80, 0x80, 0x08], 1),
        ] {
            assert_eq!(head(block, miniblocks), Err(Status::Corrupt), "{block:?} {miniblocks}");
        }
        // 2^25 miniblocks, whose widths are not there.
        let many = [0x80, 0x80, 0x80, 0x80, 4, 0x80, 0x80, 0x80, 0x10, 2, 0, 0, 0];
        let mut delta = Delta::new(Bytes::copy_from_slice(&many), 64, 2).unwrap();
        assert_eq!(delta.read(2, &mut Vec::new()), Err(Status::Corrupt));
    }

    #[test]
    fn too_wide_or_truncated_values_are_corrupt() {
        let mut wide = example();
        wide[6] = 33;
        wide.extend([0; 33 * 4]);
        assert_eq!(read(&wide, 32, &[8]), Err(Status::Corrupt));
        assert!(read(&wide, 64, &[8]).is_ok());
        wide[6] = 65;
        wide.extend([0; 33 * 4]);
        assert_eq!(read(&wide, 64, &[8]), Err(Status::Corrupt));
        // Cut off after the last value, and before it.
        assert!(read(&example()[..12], 64, &[8]).is_ok());
        assert!(read(&example()[..11], 64, &[5]).is_ok());
        assert_eq!(read(&example()[..11], 64, &[6]), Err(Status::Corrupt));
        // Widths of miniblocks that are not there mean nothing.
        let mut strange = example();
        strange[7..10].fill(0xff);
        assert!(read(&strange, 32, &[8]).is_ok());
    }
}
