// SPDX-License-Identifier: Apache-2.0
//! Unpacks numbers of a few bits, packed from the lowest bit of the first byte on.

/// Appends `count` numbers of `width` bits, the first one at bit `first`, each made by `make`. Bits
/// after the end of `bytes` are zeros.
pub(crate) fn unpack<T>(
    bytes: &[u8],
    first: usize,
    width: u32,
    count: usize,
    out: &mut Vec<T>,
    make: impl Fn(u64) -> T,
) {
    let width = width as usize;
    let mask = mask(width);
    let mut done = 0;
    if width <= WIDTH_ONE_LOAD_MAX {
        // As long as eight whole bytes can be taken at once.
        let whole = match (bytes.len() * 8).checked_sub(64 + first) {
            Some(room) => (room / width.max(1) + 1).min(count),
            None => 0,
        };
        out.extend((0..whole).map(|index| {
            let bit = first + index * width;
            let word = bytes[bit / 8..].first_chunk().map_or(0, |word| u64::from_le_bytes(*word));
            make(word >> (bit % 8) & mask)
        }));
        done = whole;
    }
    out.extend((done..count).map(|index| make(at(bytes, first + index * width) & mask)));
}

/// Appends `count` numbers of `width` bits, at most 32, as [`unpack`] does: by eight, which are
/// `width` whole bytes, in loops made for each width.
pub(crate) fn unpack_codes(
    bytes: &[u8],
    first: usize,
    width: u32,
    count: usize,
    out: &mut Vec<u32>,
) {
    let bits = width as usize;
    let one_by_one = |done: usize, count: usize, out: &mut Vec<u32>| {
        let make = |value: u64| (value & 0xffff_ffff) as u32;
        unpack(bytes, first + done * bits, width, count, out, make);
    };
    // Up to the next number that begins with a byte, if there is one.
    let head = (0..count.min(8)).find(|index| (first + index * bits).is_multiple_of(8));
    let (Some(head), Some(groups)) = (head, GROUPS.get(bits)) else {
        return one_by_one(0, count, out);
    };
    one_by_one(0, head, out);
    let start = (first + head * bits) / 8;
    // Groups behind which there are eight bytes, so that each number is one load.
    let room = bytes.len().saturating_sub(start + 8) / bits.max(1);
    let whole = ((count - head) / 8).min(room);
    let at = out.len();
    out.resize(at + whole * 8, 0);
    let (values, _) = out[at..].as_chunks_mut();
    groups(&bytes[start.min(bytes.len())..], values);
    one_by_one(head + whole * 8, count - head - whole * 8, out);
}

/// Eight numbers of `WIDTH` bits for each of `out`; there are eight bytes after the last of them.
fn groups<const WIDTH: usize>(bytes: &[u8], out: &mut [[u32; 8]]) {
    for (group, values) in out.iter_mut().enumerate() {
        let window = &bytes[group * WIDTH..][..WIDTH + 8];
        for (index, value) in values.iter_mut().enumerate() {
            let bit = index * WIDTH;
            let word = window[bit / 8..].first_chunk().map_or(0, |word| u64::from_le_bytes(*word));
            *value = (word >> (bit % 8) & mask(WIDTH) & 0xffff_ffff) as u32;
        }
    }
}

/// Eight numbers of some width for each of `out`.
type Unpack = fn(&[u8], &mut [[u32; 8]]);

/// [`groups`] for each width.
macro_rules! groups_of {
    ($($width:literal)*) => { [$(groups::<$width>,)*] };
}
const GROUPS: [Unpack; 33] = groups_of!(
    0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32
);

/// Eight bytes hold any number of so many bits, wherever in its first byte it begins.
const WIDTH_ONE_LOAD_MAX: usize = 57;

const fn mask(width: usize) -> u64 {
    match width {
        0 => 0,
        width => u64::MAX >> (64 - width),
    }
}

/// The 64 bits from bit `bit` on; zeros after the end.
fn at(bytes: &[u8], bit: usize) -> u64 {
    let mut word = [0; 16];
    let rest = bytes.get(bit / 8..).unwrap_or_default();
    let length = rest.len().min(9);
    word[..length].copy_from_slice(&rest[..length]);
    let shifted = u128::from_le_bytes(word) >> (bit % 8);
    let [low @ .., _, _, _, _, _, _, _, _] = shifted.to_le_bytes();
    u64::from_le_bytes(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unpacked(bytes: &[u8], first: usize, width: u32, count: usize) -> Vec<u64> {
        let mut out = Vec::new();
        unpack(bytes, first, width, count, &mut out, |value| value);
        out
    }

    #[test]
    fn numbers_are_unpacked_in_the_order_of_their_bits() {
        // 0 to 7 in three bits each, as Parquet's own description has it.
        let bytes = [0x88, 0xc6, 0xfa];
        assert_eq!(unpacked(&bytes, 0, 3, 8), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(unpacked(&bytes, 9, 3, 3), [3, 4, 5]);
        assert_eq!(unpacked(&bytes, 0, 0, 2), [0, 0]);
        assert_eq!(unpacked(&bytes, 20, 8, 2), [0xf, 0]);
    }

    #[test]
    fn every_width_and_offset_agrees_with_unpacking_bit_by_bit() {
        let bytes: Vec<u8> = (0..100u32).map(|n| (n * 73 % 251) as u8).collect();
        let bit = |at: usize| u64::from(bytes.get(at / 8).map_or(0, |byte| byte >> (at % 8) & 1));
        for width in 0..=64 {
            for first in [0, 1, 7, 8, 61] {
                let count = 800 / (width as usize).max(8);
                let expected: Vec<u64> = (0..count)
                    .map(|index| {
                        let start = first + index * width as usize;
                        (0..width as usize).map(|at| bit(start + at) << at).sum()
                    })
                    .collect();
                assert_eq!(unpacked(&bytes, first, width, count), expected, "{width} at {first}");
                if width <= 32 {
                    let mut codes = vec![7];
                    unpack_codes(&bytes, first, width, count, &mut codes);
                    let codes: Vec<u64> = codes.into_iter().map(u64::from).collect();
                    assert_eq!(codes, [&[7], &expected[..]].concat(), "{width} at {first}");
                }
            }
        }
    }
}
