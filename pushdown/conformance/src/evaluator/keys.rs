// SPDX-License-Identifier: Apache-2.0
//! Defines which rows key filters pass, bit by bit as `docs/command-format.md` has it.

use nearscan_command::{Fragment, KeyBits, Row, Value};

const TWO_TO_THE_64: u128 = 1 << 64;

const SALTS: [u128; 8] = [
    0x47b6_137b,
    0x4497_4d91,
    0x8824_ad5b,
    0xa2b7_289d,
    0x7054_95c7,
    0x2df1_424b,
    0x9efc_4947,
    0x5c6b_fb31,
];

/// Whether every key filter passes a row.
pub(super) fn passes_all(fragment: &Fragment, row: &Row) -> bool {
    fragment.key_filters.iter().all(|filter| match row[usize::from(filter.column)] {
        Value::Number(number) => passes(&filter.keys, number),
        Value::Null | Value::Bytes(_) => true,
    })
}

fn passes(keys: &KeyBits, number: i128) -> bool {
    if !(-(1 << 63)..1 << 63).contains(&number) {
        return true;
    }
    match keys {
        KeyBits::Bitmap { first, last, words } => {
            let (first, last) = (i128::from(*first), i128::from(*last));
            number < first || number > last || is_set(words, (number - first).cast_unsigned())
        }
        KeyBits::Bloom { least, greatest, words } => {
            let blocks = (words.len() / 4) as u128;
            let hash = hash(number.rem_euclid(1 << 64).cast_unsigned());
            let block = ((hash >> 32) * blocks) >> 32;
            let bit = |salt: u128| ((hash % (1 << 32)) * salt % (1 << 32)) >> 27;
            let in_lane =
                |(lane, salt): (u128, u128)| is_set(words, block * 256 + lane * 32 + bit(salt));
            number >= i128::from(*least)
                && number <= i128::from(*greatest)
                && (0..).zip(SALTS).all(in_lane)
        }
    }
}

fn is_set(words: &[u64], bit: u128) -> bool {
    let word = usize::try_from(bit / 64).expect("a bit of the filter");
    words[word] >> (bit % 64) & 1 == 1
}

fn hash(key: u128) -> u128 {
    let first = (key ^ (key >> 33)) * 0xff51_afd7_ed55_8ccd % TWO_TO_THE_64;
    let second = (first ^ (first >> 33)) * 0xc4ce_b9fe_1a85_ec53 % TWO_TO_THE_64;
    second ^ (second >> 33)
}
