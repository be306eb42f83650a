// SPDX-License-Identifier: Apache-2.0
//! Packs numbers of equal width bit by bit, the lowest bits first, and unpacks them.

/// Bytes in front of which a number of 64 bits that starts inside a byte ends.
const SPARE_BYTES: usize = 16;

/// The widest number that one load of 8 bytes reaches, wherever in a byte it starts.
const BITS_OF_ONE_LOAD_MAX: u8 = 57;

/// Bits that a number takes.
#[expect(clippy::cast_possible_truncation, reason = "it is 64 at most")]
pub(super) const fn width_of(number: u64) -> u8 {
    (u64::BITS - number.leading_zeros()) as u8
}

/// Bytes of `count` numbers of `bits` bits, not padded.
pub(super) const fn packed_bytes(count: usize, bits: u8) -> usize {
    (count * bits as usize).div_ceil(8)
}

/// Appends numbers of `bits` bits each, padded to 8 bytes.
pub(super) fn pack(numbers: impl Iterator<Item = u64>, bits: u8, out: &mut Vec<u8>) {
    if bits == 0 {
        return;
    }
    let (mut word, mut held) = (0u128, 0);
    for number in numbers {
        word |= u128::from(number) << held;
        held += u32::from(bits);
        if held >= u64::BITS {
            out.extend_from_slice(&low_half(word).to_le_bytes());
            word >>= u64::BITS;
            held -= u64::BITS;
        }
    }
    if held > 0 {
        out.extend_from_slice(&low_half(word).to_le_bytes());
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the lower half is meant")]
const fn low_half(word: u128) -> u64 {
    word as u64
}

/// The first `count` numbers of `bits` bits each, at most 64; `packed` holds at least
/// [`packed_bytes`].
pub(super) fn unpack(packed: &[u8], bits: u8, count: usize) -> Vec<u64> {
    if bits == 0 {
        return vec![0; count];
    }
    let mut bytes = Vec::with_capacity(packed.len() + SPARE_BYTES);
    bytes.extend_from_slice(packed);
    bytes.resize(packed.len() + SPARE_BYTES, 0);
    let mask = u64::MAX >> (u64::BITS - u32::from(bits));
    let starts = (0..count).map(|index| index * usize::from(bits));
    if bits <= BITS_OF_ONE_LOAD_MAX {
        starts
            .map(|at| {
                let word = bytes.get(at / 8..).and_then(<[u8]>::first_chunk);
                u64::from_le_bytes(word.copied().unwrap_or_default()) >> (at % 8) & mask
            })
            .collect()
    } else {
        starts
            .map(|at| {
                let word = bytes.get(at / 8..).and_then(<[u8]>::first_chunk);
                low_half(u128::from_le_bytes(word.copied().unwrap_or_default()) >> (at % 8)) & mask
            })
            .collect()
    }
}

/// Whether the bits behind `count` numbers of `bits` bits are zero, in the last byte of them.
pub(super) fn ends_in_zeros(packed: &[u8], bits: u8, count: usize) -> bool {
    let used = count * usize::from(bits) % 8;
    used == 0 || packed.last().is_none_or(|last| last >> used == 0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn packed_numbers_survive(
            bits in 0u8..=64,
            numbers in proptest::collection::vec(any::<u64>(), 0..200),
        ) {
            let mask = u64::MAX.checked_shr(64 - u32::from(bits)).unwrap_or(0);
            let numbers: Vec<u64> = numbers.into_iter().map(|number| number & mask).collect();
            let mut packed = Vec::new();
            pack(numbers.iter().copied(), bits, &mut packed);
            let bytes = packed_bytes(numbers.len(), bits);
            prop_assert_eq!(packed.len(), bytes.next_multiple_of(8));
            let packed = &packed[..bytes];
            prop_assert!(ends_in_zeros(packed, bits, numbers.len()));
            prop_assert_eq!(unpack(packed, bits, numbers.len()), numbers);
        }
    }

    #[test]
    fn lowest_bits_come_first() {
        let mut packed = Vec::new();
        pack([1, 2, 3].into_iter(), 3, &mut packed);
        assert_eq!(packed, [0b1101_0001, 0, 0, 0, 0, 0, 0, 0]);
        assert!(!ends_in_zeros(&[0, 0b10], 3, 3));
        assert!(ends_in_zeros(&[0, 0b1], 3, 3));
    }

    #[test]
    fn widths_of_numbers() {
        assert_eq!([0, 1, 2, 255, 256, u64::MAX].map(width_of), [0, 1, 2, 8, 9, 64]);
    }
}
