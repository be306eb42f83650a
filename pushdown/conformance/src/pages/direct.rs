// SPDX-License-Identifier: Apache-2.0
//! Writes pages of values without a dictionary: plain, runs, differences, split streams.

use nearscan_command::{Encoding, PhysicalType};

use super::{
    runs::{Runs, encode_runs},
    varint::{varint, zigzag},
};
use crate::random::Random;

/// The encoding of values where no dictionary is used.
///
/// A column whose type does not go with it is written plainly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direct {
    /// One after the other; truth values a bit each.
    Plain,
    /// Truth values as runs and groups.
    Rle(Runs),
    /// Differences of integers.
    Delta(Delta),
    /// The first bytes of all numbers, then the second ones, and so on.
    Split,
}

/// The layout of differences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delta {
    /// Values of a block, a multiple of 128.
    pub block: u32,
    /// Miniblocks of a block, of a multiple of 32 values each.
    pub miniblocks: u32,
    /// Bits of a difference, if it needs fewer.
    pub width_min: u8,
    /// The bytes after the last value.
    pub tail: Tail,
}

/// The bytes after the last value of a page of differences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tail {
    /// The rest of its miniblock; miniblocks that are not needed have no bits.
    Padded,
    /// Nothing; miniblocks that are not needed claim any number of bits.
    Cut,
}

impl Delta {
    /// The default of common writers.
    pub const COMMON: Self = Self { block: 128, miniblocks: 4, width_min: 0, tail: Tail::Padded };

    pub(crate) fn random(random: &mut Random) -> Self {
        let (block, miniblocks) =
            random.pick(&[(128, 4), (128, 1), (256, 4), (128, 2), (1024, 32), (4096, 128)]);
        Self {
            block,
            miniblocks,
            width_min: random.pick(&[0, 0, 1, 7, 30]),
            tail: random.pick(&[Tail::Padded, Tail::Cut]),
        }
    }
}

impl Direct {
    pub(crate) fn random(random: &mut Random) -> Self {
        match random.below(5) {
            0 => Self::Rle(random.pick(&Runs::ALL)),
            1 => Self::Delta(Delta::random(random)),
            2 => Self::Split,
            _ => Self::Plain,
        }
    }

    /// This, where it goes with a type, else [`Direct::Plain`].
    pub(crate) const fn fitting(self, physical_type: PhysicalType) -> Self {
        use PhysicalType::{Boolean, ByteArray, Int32, Int64};
        match (self, physical_type) {
            (Self::Plain, _) | (Self::Rle(_), Boolean) | (Self::Delta(_), Int32 | Int64) => self,
            (Self::Rle(_) | Self::Delta(_), _) => Self::Plain,
            (Self::Split, Boolean | ByteArray) => Self::Plain,
            (Self::Split, _) => self,
        }
    }

    /// The number that a page header has for it.
    pub(crate) const fn encoding(self) -> Encoding {
        match self {
            Self::Plain => Encoding::Plain,
            Self::Rle(_) => Encoding::Rle,
            Self::Delta(_) => Encoding::DeltaBinaryPacked,
            Self::Split => Encoding::ByteStreamSplit,
        }
    }

    /// Encodes the stored bytes of values.
    pub(crate) fn encode(self, stored: &[Vec<u8>], physical_type: PhysicalType) -> Vec<u8> {
        match self {
            Self::Plain => plain(stored, physical_type),
            Self::Rle(runs) => {
                let bits: Vec<u64> = stored.iter().map(|value| u64::from(value[0])).collect();
                let encoded = encode_runs(&bits, 1, runs);
                let length = u32::try_from(encoded.len()).unwrap_or(u32::MAX);
                [&length.to_le_bytes()[..], &encoded].concat()
            }
            Self::Delta(shape) => {
                let bits = if physical_type == PhysicalType::Int32 { 32 } else { 64 };
                let numbers: Vec<i64> = stored.iter().map(|value| signed(value)).collect();
                delta(&numbers, bits, shape)
            }
            Self::Split => {
                let bytes = stored.first().map_or(0, Vec::len);
                (0..bytes).flat_map(|byte| stored.iter().map(move |value| value[byte])).collect()
            }
        }
    }
}

/// Values one after the other, as in plain pages and dictionaries.
pub(crate) fn plain(stored: &[Vec<u8>], physical_type: PhysicalType) -> Vec<u8> {
    match physical_type {
        PhysicalType::Boolean => {
            let byte =
                |bits: &[Vec<u8>]| bits.iter().rev().fold(0, |byte: u8, bit| byte << 1 | bit[0]);
            stored.chunks(8).map(byte).collect()
        }
        PhysicalType::ByteArray => {
            let with_length = |value: &Vec<u8>| {
                let length = u32::try_from(value.len()).unwrap_or(u32::MAX);
                [&length.to_le_bytes()[..], value].concat()
            };
            stored.iter().flat_map(with_length).collect()
        }
        PhysicalType::Int32
        | PhysicalType::Int64
        | PhysicalType::Float
        | PhysicalType::Double
        | PhysicalType::FixedLenByteArray => stored.concat(),
    }
}

/// Little-endian bytes, 4 or 8 of them, as a number with its sign.
fn signed(bytes: &[u8]) -> i64 {
    let sign = if bytes.last().is_some_and(|last| last & 0x80 != 0) { -1 } else { 0 };
    bytes.iter().rev().fold(sign, |number, byte| number << 8 | i64::from(*byte))
}

/// Cut down to `bits`, with the sign that is then there.
fn wrapped(number: i64, bits: u32) -> i64 {
    number << (64 - bits) >> (64 - bits)
}

/// Encodes numbers of `bits` (32 or 64) as differences.
fn delta(numbers: &[i64], bits: u32, shape: Delta) -> Vec<u8> {
    let mut out = Vec::new();
    varint(&mut out, shape.block.into());
    varint(&mut out, shape.miniblocks.into());
    varint(&mut out, numbers.len() as u64);
    varint(&mut out, zigzag(numbers.first().copied().unwrap_or(0)));
    let deltas: Vec<i64> =
        numbers.windows(2).map(|two| wrapped(two[1].wrapping_sub(two[0]), bits)).collect();
    for block in deltas.chunks(shape.block as usize) {
        let least = block.iter().copied().min().unwrap_or(0);
        varint(&mut out, zigzag(least));
        let mask = u64::MAX >> (64 - bits);
        let above = |delta: &i64| delta.wrapping_sub(least).cast_unsigned() & mask;
        let rest: Vec<u64> = block.iter().map(above).collect();
        let values = (shape.block / shape.miniblocks) as usize;
        let unused = if shape.tail == Tail::Cut { 99 } else { 0 };
        let mut widths = vec![unused; shape.miniblocks as usize];
        for (width, miniblock) in widths.iter_mut().zip(rest.chunks(values)) {
            let needed = 64 - miniblock.iter().fold(0, |all, value| all | value).leading_zeros();
            *width = (needed.min(64) as u8).max(shape.width_min);
        }
        out.extend_from_slice(&widths);
        for (width, miniblock) in widths.iter().zip(rest.chunks(values)) {
            let mut padded = miniblock.to_vec();
            if shape.tail == Tail::Padded {
                padded.resize(values, 0);
            }
            pack(&mut out, &padded, *width);
        }
    }
    out
}

/// Bits one after the other, lowest first; the last byte is filled up.
fn pack(out: &mut Vec<u8>, values: &[u64], width: u8) {
    let (mut bits, mut count) = (0u128, 0);
    for value in values {
        bits |= u128::from(*value) << count;
        count += u32::from(width);
        while count >= 8 {
            out.push((bits & 0xff) as u8);
            bits >>= 8;
            count -= 8;
        }
    }
    if count > 0 {
        out.push((bits & 0xff) as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_of_the_parquet_documentation_are_encoded() {
        // Differences that are all 1: a block without bits.
        let header = [0x80, 1, 4, 5, 2];
        let block = [2, 0, 0, 0, 0];
        assert_eq!(delta(&[1, 2, 3, 4, 5], 32, Delta::COMMON), [&header[..], &block].concat());
        // 7, 5, 3, 1, 2, 3, 4, 5: the least difference is -2, the others need two bits.
        let cut = Delta { tail: Tail::Cut, ..Delta::COMMON };
        let expected = [0x80, 1, 4, 8, 14, 3, 2, 99, 99, 99, 0b1100_0000, 0b0011_1111];
        assert_eq!(delta(&[7, 5, 3, 1, 2, 3, 4, 5], 64, cut), expected);
    }

    #[test]
    fn differences_wrap_in_the_stored_width() {
        let (least, most) = (i64::from(i32::MIN), i64::from(i32::MAX));
        let narrow = delta(&[most, least], 32, Delta { tail: Tail::Cut, ..Delta::COMMON });
        // One step up from the greatest is the least.
        assert_eq!(narrow[narrow.len() - 5..], [2, 0, 99, 99, 99]);
        // Two numbers of ten bytes are before the widths.
        let wide = delta(&[i64::MAX, i64::MIN, i64::MAX, 0], 64, Delta::COMMON);
        assert_eq!(wide[24..28], [64, 0, 0, 0]);
        assert_eq!(wide.len(), 28 + 32 * 8);
    }

    #[test]
    fn truth_values_share_bytes() {
        let stored: Vec<Vec<u8>> = [1, 0, 0, 1, 0, 0, 0, 1, 1].map(|bit| vec![bit]).to_vec();
        assert_eq!(plain(&stored, PhysicalType::Boolean), [0x89, 1]);
        assert_eq!(
            Direct::Rle(Runs::Packed).encode(&stored, PhysicalType::Boolean),
            [3, 0, 0, 0, 5, 0x89, 1]
        );
    }

    #[test]
    fn streams_hold_a_byte_of_each() {
        let stored = vec![vec![1, 2, 3, 4], vec![5, 6, 7, 8]];
        assert_eq!(Direct::Split.encode(&stored, PhysicalType::Float), [1, 5, 2, 6, 3, 7, 4, 8]);
    }
}
