// SPDX-License-Identifier: Apache-2.0
//! Tests key filters: what their sets hold, and what is refused of them.
//!
//! The hashes, blocks and bits were computed apart from this crate, from the page of the format.

use std::sync::Arc;

use nearscan_command::{
    Command, Error, Fragment, KeyBits, KeyFilter, Merge, MergeCommand, SortKey, ValueKind,
    key_filter::{bitmap, bloom},
    layout::{HEADER_BYTES, section},
    limits,
};
use rstest::rstest;

use crate::{golden, malformed::fix_checksum, merges};

/// Rows of three columns, with a bitmap and a Bloom filter on the one that holds numbers.
pub(crate) fn command() -> Command {
    let command = golden::strings();
    let key_filters = vec![
        KeyFilter { column: 2, keys: KeyBits::bitmap(-300, 10, [-300, -299, -45, 10]).unwrap() },
        KeyFilter { column: 2, keys: KeyBits::bloom(2, [42, -1]) },
    ];
    let fragment = Fragment { key_filters, ..command.fragment };
    Command { fragment, ..command }
}

fn with(key_filters: Vec<KeyFilter>) -> Result<(), Error> {
    Fragment { key_filters, ..golden::strings().fragment }.check()
}

fn words(count: usize) -> Arc<[u64]> {
    vec![0; count].into()
}

#[rstest]
#[case(0, 0, [0, 0, 0], [0, 0, 0, 0, 0, 0, 0, 0])]
#[case(1, 0xb456_bcfc_34c2_cb2c, [0, 2, 2885], [14, 0, 10, 27, 9, 21, 10, 26])]
#[case(-1, 0x64b5_720b_4b82_5f21, [0, 1, 1611], [23, 27, 27, 18, 7, 2, 4, 28])]
#[case(42, 0x8108_7960_8e42_59cc, [0, 1, 2064], [22, 21, 13, 28, 29, 5, 21, 4])]
#[case(19_920_101, 0xf5d2_ee53_8233_2fc3, [0, 2, 3933], [12, 3, 5, 12, 31, 18, 2, 4])]
#[case(i64::MIN, 0x8f78_0810_af31_a493, [0, 1, 2295], [20, 9, 1, 27, 12, 28, 15, 26])]
#[case(i64::MAX, 0xabb9_3df0_a930_edea, [0, 2, 2747], [30, 1, 31, 17, 14, 9, 15, 28])]
fn hash_block_and_bits_of_a_key_are_known(
    #[case] key: i64,
    #[case] hash: u64,
    #[case] block_of: [u64; 3],
    #[case] bits: [u32; bloom::LANES],
) {
    assert_eq!(bloom::mixed(key.cast_unsigned()), hash);
    for (blocks, block) in [1, 3, 4096].into_iter().zip(block_of) {
        assert_eq!(bloom::place(key, blocks), (block, bits.map(|bit| 1 << bit)), "{blocks}");
    }
}

#[test]
fn words_of_a_bloom_filter_are_known() {
    let KeyBits::Bloom { least, greatest, words } = KeyBits::bloom(2, [42, -1]) else {
        unreachable!("a Bloom filter was asked for");
    };
    let expected: [u64; 8] = [
        0x0800_0000_0080_0000,
        0x0004_0000_0800_0000,
        0x0000_0004_0000_0080,
        0x1000_0000_0000_0010,
        0x0020_0000_0040_0000,
        0x1000_0000_0000_2000,
        0x0000_0020_2000_0000,
        0x0000_0010_0020_0000,
    ];
    assert_eq!((least, greatest, words.as_ref()), (-1, 42, expected.as_slice()));
}

#[test]
fn place_in_a_bitmap_counts_from_its_first_number() {
    assert_eq!(bitmap::place(-300, -300), (0, 0));
    assert_eq!(bitmap::place(-300, -45), (3, 63));
    assert_eq!(bitmap::place(i64::MIN, i64::MAX), (u64::MAX >> 6, 63));
    let KeyBits::Bitmap { words, .. } = KeyBits::bitmap(-300, 10, [-299, -45, 10, 11]).unwrap()
    else {
        unreachable!("a bitmap was asked for");
    };
    assert_eq!(words.as_ref(), [2, 0, 0, 1 << 63, 1 << 54, 0, 0, 0]);
}

#[test]
fn bitmap_passes_its_keys_and_what_it_says_nothing_about() {
    let keys = KeyBits::bitmap(-5, 100, [-5, 7, 100]).unwrap();
    let passes = |value| KeyFilter { column: 0, keys: keys.clone() }.passes(value);
    for value in [-5, 7, 100, -6, 101, i128::from(i64::MAX), i128::MAX] {
        assert!(passes(Some(value)), "{value}");
    }
    for value in [-4, 0, 99] {
        assert!(!passes(Some(value)), "{value}");
    }
    assert!(passes(None));
}

#[test]
fn bloom_filter_passes_its_keys_and_nothing_outside_of_their_range() {
    let filter = KeyFilter { column: 0, keys: KeyBits::bloom(600, (0..5000).map(|key| key * 3)) };
    assert!((0..5000).all(|key| filter.passes(Some(key * 3))));
    let others = (0..5000).filter(|key| filter.passes(Some(key * 3 + 1))).count();
    assert!(others < 100, "{others} of 5000 pass");
    assert!(filter.passes(None) && filter.passes(Some(1 << 63)));
    let dense = KeyFilter {
        column: 0,
        keys: KeyBits::Bloom { least: 3, greatest: 5, words: vec![u64::MAX; 4].into() },
    };
    let passed: Vec<i128> = (0..9).filter(|value| dense.passes(Some(*value))).collect();
    assert_eq!(passed, [3, 4, 5]);
    let none = KeyFilter { column: 0, keys: KeyBits::bloom(1, []) };
    assert!(!none.passes(Some(0)) && none.passes(None));
}

#[test]
fn filters_survive_a_round_trip() {
    let command = command();
    let bytes = command.encode().unwrap();
    let total = u32::from_le_bytes(bytes[8..12].try_into().unwrap()) as usize;
    assert_eq!(bytes.len(), total + 64 + 64, "the bits stand behind the command");
    assert_eq!(Command::decode(&bytes).as_ref(), Ok(&command));
    let fragment = command.fragment.encode().unwrap();
    assert_eq!(Fragment::decode(&fragment).as_ref(), Ok(&command.fragment));
    assert_ne!(command.fragment.hash(), golden::strings().fragment.hash());
}

#[test]
fn merge_carries_the_filters_of_its_scans() {
    let scan = |command_id, filters: &[KeyFilter]| {
        let mut scan = merges::merge().scans.remove(0);
        scan.envelope.command_id = command_id;
        scan.fragment.key_filters = filters.to_vec();
        scan
    };
    let column = merges::merge().scans[0]
        .fragment
        .columns
        .iter()
        .position(|column| column.kind == ValueKind::Integer);
    let column = u16::try_from(column.unwrap()).unwrap();
    let filter = |keys| KeyFilter { column, keys };
    let filters = [filter(KeyBits::bloom(3, [1])), filter(KeyBits::bloom(4096 - 3, [2, 3]))];
    let scans = vec![scan(1, &filters), scan(2, &[]), scan(3, &filters[..1])];
    let keys = vec![SortKey { column: 0, descending: false, nulls_first: false }];
    let merge = Merge { keys, distinct: false };
    let command = MergeCommand::bind(scans, merge, golden::envelope()).unwrap();
    let bytes = command.encode().unwrap();
    assert_eq!(MergeCommand::decode(&bytes), Ok(command));
}

#[rstest]
#[case(KeyBits::Bitmap { first: 0, last: 255, words: words(4) })]
#[case(KeyBits::Bitmap { first: 0, last: 256, words: words(8) })]
#[case(KeyBits::Bloom { least: 1, greatest: 0, words: words(4) })]
#[case(KeyBits::Bloom { least: 0, greatest: 0, words: words(4 * 4096) })]
#[case(KeyBits::Bitmap { first: -1, last: (1 << 20) - 2, words: words(1 << 14) })]
fn valid_set_is_accepted(#[case] keys: KeyBits) {
    assert_eq!(with(vec![KeyFilter { column: 2, keys }]), Ok(()));
}

#[rstest]
#[case(2, KeyBits::Bitmap { first: 0, last: 255, words: words(8) })]
#[case(2, KeyBits::Bitmap { first: 0, last: 256, words: words(4) })]
#[case(2, KeyBits::Bitmap { first: 1, last: 0, words: words(4) })]
#[case(2, KeyBits::Bitmap { first: i64::MIN, last: i64::MAX, words: words(4) })]
#[case(2, KeyBits::Bitmap { first: 0, last: 1 << 20, words: words((1 << 14) + 4) })]
#[case(2, KeyBits::Bloom { least: 0, greatest: 0, words: words(0) })]
#[case(2, KeyBits::Bloom { least: 0, greatest: 0, words: words(6) })]
#[case(2, KeyBits::Bloom { least: 0, greatest: 0, words: words(4 * 4097) })]
#[case(0, KeyBits::bloom(1, [1]))]
#[case(3, KeyBits::bloom(1, [1]))]
fn invalid_set_is_refused(#[case] column: u16, #[case] keys: KeyBits) {
    assert!(with(vec![KeyFilter { column, keys }]).is_err());
}

#[test]
fn filters_above_their_limits_are_refused() {
    let filter = |blocks| KeyFilter { column: 2, keys: KeyBits::bloom(blocks, [1]) };
    let most = limits::KEY_FILTERS_MAX as usize;
    assert_eq!(with(vec![filter(1024); most]), Ok(()));
    let refused = |filters| matches!(with(filters), Err(Error::Limit { .. }));
    assert!(refused(vec![filter(1); most + 1]));
    assert!(refused(vec![filter(2048), filter(2049)]));
}

/// The command with a byte of the record of its first filter changed.
fn with_byte(at: usize, value: u8) -> Result<Command, Error> {
    let mut bytes = command().encode().unwrap();
    let count = usize::from(u16::from_le_bytes([bytes[20], bytes[21]]));
    let entry = (0..count).map(|index| HEADER_BYTES as usize + index * 16);
    let entry =
        entry.into_iter().find(|at| bytes[*at..at + 2] == section::KEY_FILTERS.to_le_bytes());
    let entry = entry.unwrap();
    let start = u32::from_le_bytes(bytes[entry + 8..entry + 12].try_into().unwrap()) as usize;
    bytes[start + at] = value;
    fix_checksum(&mut bytes);
    Command::decode(&bytes)
}

#[test]
fn damaged_record_of_a_filter_is_refused() {
    assert_eq!(with_byte(0, 2), Ok(command()));
    for (at, value) in
        [(0, 1), (0, 3), (2, 0), (2, 3), (4, 32), (4, 60), (6, 3), (16, 255), (24, 0)]
    {
        assert!(with_byte(at, value).is_err(), "byte {at}, {value}");
    }
}

#[test]
fn damaged_bits_are_refused() {
    for bytes in [command().encode().unwrap(), command().fragment.encode().unwrap()] {
        let read = |bytes: &[u8]| match bytes.starts_with(b"NSCM") {
            true => Command::decode(bytes).map(|command| command.fragment),
            false => Fragment::decode(bytes),
        };
        for at in bytes.len() - 128..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0x10;
            assert!(matches!(read(&changed), Err(Error::Checksum { .. })), "byte {at}");
            assert!(matches!(read(&bytes[..at]), Err(Error::Truncated { .. })), "cut at {at}");
        }
    }
}

#[test]
fn bitmaps_over_the_same_numbers_are_one_that_passes_what_both_pass() {
    let bitmap = |last, keys: &[i64]| KeyBits::bitmap(-5, last, keys.iter().copied()).unwrap();
    let both = bitmap(300, &[-5, 7, 100, 299]).and(&bitmap(300, &[-4, 7, 299, 300])).unwrap();
    assert_eq!(both, bitmap(300, &[7, 299]));
    assert_eq!(both.and(&bitmap(299, &[7])), None);
    assert_eq!(both.and(&KeyBits::bloom(1, [7])), None);
}
