// SPDX-License-Identifier: Apache-2.0
//! Tests merge commands: their encoding round-trips, and invalid merges are refused.

use nearscan_command::{
    Command, Envelope, Error, InputRef, Merge, MergeCommand, MergePart, Operand, Output, OutputRef,
    RowColumn, SortKey, Top, Width,
    layout::{HEADER_BYTES, SECTION_CRITICAL, section},
    limits,
};
use proptest::prelude::*;
use rstest::rstest;

use crate::{any, golden, malformed::fix_checksum, shapes};

const fn key(column: u16) -> SortKey {
    SortKey { column, descending: false, nulls_first: false }
}

fn by(columns: &[u16]) -> Merge {
    Merge { keys: columns.iter().map(|column| key(*column)).collect(), distinct: false }
}

/// The scan of strings without its limit: a number, a string, a truth value, NULL.
fn scan(command_id: u128) -> Command {
    let strings = golden::strings();
    let mut fragment = strings.fragment;
    let Output::Rows { limit, .. } = &mut fragment.output else { panic!("it gives rows") };
    *limit = None;
    let envelope = Envelope { command_id, ..strings.envelope };
    Command::bind(&fragment, strings.unit, envelope).unwrap()
}

fn scans(count: u128) -> Vec<Command> {
    (0..count).map(|index| scan(100 + index)).collect()
}

/// Three scans, merged by strings descending and then numbers.
pub(crate) fn merge() -> MergeCommand {
    let last = SortKey { column: 1, descending: true, nulls_first: true };
    let merge = Merge { keys: vec![last, key(0)], distinct: false };
    MergeCommand::bind(scans(3), merge, golden::envelope()).unwrap()
}

/// One scan whose columns are all keys.
fn distinct() -> MergeCommand {
    let merge = Merge { distinct: true, ..by(&[3, 0, 2, 1]) };
    let mut command = MergeCommand::bind(scans(1), merge, golden::envelope()).unwrap();
    command.output = OutputRef::DeviceRange { lease: 3, offset: 64, bytes_max: 4096 };
    command
}

/// The ranges of device memory that hold the results of `count` scans.
pub(crate) fn ranges(count: u64) -> Vec<InputRef> {
    let range = |index| InputRef::DeviceRange { lease: 1, offset: index * 4096, length: 4000 };
    (0..count).map(range).collect()
}

#[rstest]
#[case(merge())]
#[case(distinct())]
fn merge_survives_a_round_trip(#[case] command: MergeCommand) {
    let mut bytes = command.encode().unwrap();
    assert_eq!(bytes.len() % 64, 0);
    assert_eq!(MergeCommand::decode(&bytes).as_ref(), Ok(&command));
    bytes.extend_from_slice(&[0xa5; 100]);
    assert_eq!(MergeCommand::decode(&bytes), Ok(command));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_merge_survives_a_round_trip(command in any::merge()) {
        let bytes = command.encode().unwrap();
        prop_assert_eq!(MergeCommand::decode(&bytes).unwrap(), command);
    }
}

#[test]
fn hash_covers_the_scans_and_the_merge() {
    let hash = merge().hash();
    assert_eq!(merge().hash(), hash);
    let mut other = merge();
    other.merge.keys[0].nulls_first = false;
    assert_ne!(other.hash(), hash);
    let mut other = merge();
    other.scans[1].fragment.literals[0] += 1;
    assert_ne!(other.hash(), hash);
}

#[test]
fn device_memory_holds_every_result_and_the_merged_one() {
    let command = merge();
    let room = command.scans[0].output.bytes_max();
    assert_eq!(command.output.bytes_max(), 3 * room);
    let scans: u64 = command.scans.iter().map(Command::device_bytes).sum();
    assert_eq!(command.device_bytes(), scans + 3 * room);
    assert_eq!(command.rows(), 15_000);
}

#[test]
fn scan_does_not_decode_as_a_merge_nor_a_merge_as_a_scan() {
    let opcode = |value| Error::UnknownCode { what: "opcode", value };
    assert_eq!(Command::decode(&merge().encode().unwrap()), Err(opcode(2)));
    assert_eq!(MergeCommand::decode(&golden::q6().encode().unwrap()), Err(opcode(1)));
}

#[test]
fn kernel_form_of_a_merge_has_no_scans() {
    let command = merge();
    let whole = MergePart::WHOLE;
    let bytes = command.encode_for_kernel(&ranges(3), &command.output, whole).unwrap();
    assert!(bytes.len() < 1024, "{}", bytes.len());
    let none = Err(Error::Inconsistent { what: "a merge has at least one input" });
    assert_eq!(MergeCommand::decode(&bytes), none);
    let few = command.encode_for_kernel(&ranges(2), &command.output, whole);
    assert_eq!(few, Err(Error::Inconsistent { what: "a merge has one input for each scan" }));
}

#[test]
fn kernel_form_has_only_its_part() {
    let command = merge();
    let bound = |part, parts| {
        command.encode_for_kernel(&ranges(3), &command.output, MergePart { part, parts })
    };
    let whole = bound(0, 1).unwrap();
    let part = bound(1, 2).unwrap();
    // One more section with one record: a line for each, in the directory the rest of one.
    assert!(part.len() > whole.len() && part.len() <= whole.len() + 128);
    assert_ne!(part, bound(0, 2).unwrap());
    let none = Err(Error::Inconsistent { what: "a merge has no such part" });
    assert_eq!(bound(2, 2), none);
    assert_eq!(bound(0, 0), none);
    let what = "parts of a merge";
    assert_eq!(bound(0, 16), Err(Error::Limit { what, actual: 16, limit: 15 }));
    // A host sends no parts.
    assert!(MergeCommand::decode(&part).is_err());
}

fn bound(scans: Vec<Command>, merge: Merge) -> Result<(), Error> {
    MergeCommand::bind(scans, merge, Envelope::default()).map(|_| ())
}

#[rstest]
#[case::one_scan(1, by(&[0]))]
#[case::as_many_as_there_may_be(u128::from(limits::MERGE_INPUTS_MAX), by(&[3, 2, 1, 0]))]
fn valid_merge_is_accepted(#[case] count: u128, #[case] merge: Merge) {
    assert_eq!(bound(scans(count), merge), Ok(()));
}

#[rstest]
#[case::no_scans(0, by(&[0]), Error::Inconsistent { what: "a merge has at least one input" })]
#[case::too_many_scans(17, by(&[0]), Error::Limit {
    what: "inputs of a merge", actual: 17, limit: 16,
})]
#[case::no_keys(2, by(&[]), Error::Inconsistent { what: "a merge has at least one key" })]
#[case::too_many_keys(2, by(&[0, 1, 2, 3, 4]), Error::Limit {
    what: "keys of a merge", actual: 5, limit: 4,
})]
#[case::no_such_column(2, by(&[4]), Error::Index { what: "key column", index: 4, count: 4 })]
#[case::a_column_twice(2, by(&[1, 0, 1]), Error::Inconsistent {
    what: "a column is a key of a merge twice",
})]
#[case::distinct_by_some(2, Merge { distinct: true, ..by(&[0, 1, 2]) }, Error::Inconsistent {
    what: "a merge of distinct rows has every column as a key",
})]
fn invalid_merge_is_refused(#[case] count: u128, #[case] merge: Merge, #[case] error: Error) {
    assert_eq!(bound(scans(count), merge), Err(error));
}

/// Merges two scans, the second one changed.
fn with_output(change: impl FnOnce(&mut Output)) -> Result<(), Error> {
    let mut scans = scans(2);
    change(&mut scans[1].fragment.output);
    bound(scans, by(&[0]))
}

#[test]
fn scan_with_a_limit_is_refused_in_a_merge() {
    let error = Err(Error::Inconsistent { what: "a scan that is merged gives all its rows" });
    let limited = |output: &mut Output| {
        if let Output::Rows { limit, .. } = output {
            *limit = Some(7);
        }
    };
    assert_eq!(with_output(limited), error);
    let first = |output: &mut Output| {
        if let Output::Rows { top, .. } = output {
            let operand = Operand::Column(2);
            *top = Some(Top { operand, descending: false, nulls_first: false, count: 1 });
        }
    };
    assert_eq!(with_output(first), error);
    let states = |output: &mut Output| *output = shapes::states().fragment.output;
    assert_eq!(with_output(states), error);
}

#[test]
fn scans_with_other_columns_are_refused_in_a_merge() {
    let error = Err(Error::Inconsistent { what: "scans that are merged give equal columns" });
    let fewer = |output: &mut Output| {
        if let Output::Rows { columns, .. } = output {
            columns.pop();
        }
    };
    assert_eq!(with_output(fewer), error);
    let wider = |output: &mut Output| {
        if let Output::Rows { columns, .. } = output {
            columns[0].width = Width::W128;
        }
    };
    assert_eq!(with_output(wider), error);
    // Scans may compute equal columns in different ways.
    let null = |output: &mut Output| {
        if let Output::Rows { columns, .. } = output {
            columns[0] = RowColumn { operand: Operand::Null, ..columns[0] };
        }
    };
    assert_eq!(with_output(null), Ok(()));
}

#[test]
fn truncated_merge_is_refused() {
    let bytes = distinct().encode().unwrap();
    for length in 0..bytes.len() {
        let cut = MergeCommand::decode(&bytes[..length]);
        assert!(matches!(cut, Err(Error::Truncated { .. })), "{length}");
        // The same, with a header that says so: parts are missing, or only padding is.
        if length >= HEADER_BYTES as usize {
            let mut cut = bytes[..length].to_vec();
            cut[8..12].copy_from_slice(&u32::try_from(length).unwrap().to_le_bytes());
            fix_checksum(&mut cut);
            if let Ok(back) = MergeCommand::decode(&cut) {
                assert_eq!(back, distinct(), "{length}");
                assert!(bytes.len() - length < 64, "{length}");
            }
        }
    }
}

#[test]
fn changed_byte_is_refused_or_valid() {
    let good = distinct().encode().unwrap();
    let mut refused = 0;
    for at in 0..good.len() {
        for value in [0, 1, 0x7f, 0xff, good[at] ^ 1] {
            let mut bytes = good.clone();
            bytes[at] = value;
            if value != good[at] {
                assert!(MergeCommand::decode(&bytes).is_err(), "byte {at} is {value}");
            }
            fix_checksum(&mut bytes);
            match MergeCommand::decode(&bytes) {
                Ok(back) => {
                    let again = MergeCommand::decode(&back.encode().unwrap());
                    assert_eq!(again, Ok(back), "byte {at} is {value}");
                }
                Err(_) => refused += 1,
            }
        }
    }
    // Every byte of a scan is held by its own checksum.
    assert!(refused > 1000, "{refused}");
}

/// A merge with one byte of a section's records changed.
fn with_byte(kind: u16, at: usize, value: u8) -> Result<MergeCommand, Error> {
    let mut bytes = merge().encode().unwrap();
    let count = usize::from(u16::from_le_bytes([bytes[20], bytes[21]]));
    let entries = bytes[HEADER_BYTES as usize..][..count * 16].chunks_exact(16);
    let mut entries = entries.filter(|entry| entry[..2] == kind.to_le_bytes());
    let start = u32::from_le_bytes(entries.next().unwrap()[8..12].try_into().unwrap());
    bytes[start as usize + at] = value;
    fix_checksum(&mut bytes);
    MergeCommand::decode(&bytes)
}

#[test]
fn sections_of_a_merge_must_match_its_scans() {
    let keys = |value| with_byte(section::MERGE_KEYS, 2, value);
    assert_eq!(keys(3), Ok(merge()));
    assert_eq!(keys(4), Err(Error::UnknownCode { what: "flags of a key", value: 4 }));
    let flags = with_byte(section::MERGE, 0, 2);
    assert_eq!(flags, Err(Error::UnknownCode { what: "flags of a merge", value: 2 }));
    let input = with_byte(section::INPUTS, 64 + 8, 9);
    let error = Error::Inconsistent { what: "the inputs of a merge are not its scans" };
    assert_eq!(input, Err(error));
    let width = with_byte(section::OUTPUT_COLUMNS, 2, Width::W128.code());
    let error = Error::Inconsistent { what: "output columns are not those of the scans" };
    assert_eq!(width, Err(error));
    let limited = with_byte(section::OUTPUT, 32, 9);
    assert_eq!(limited, Err(Error::Inconsistent { what: "a merge gives all rows" }));
    let mut rows = merge().encode().unwrap();
    rows[96] ^= 1;
    fix_checksum(&mut rows);
    let error = Error::Inconsistent { what: "rows are not those of the scans" };
    assert_eq!(MergeCommand::decode(&rows), Err(error));
}

#[test]
fn scans_tile_their_section() {
    let with_count = |count| {
        let mut bytes = merge().encode().unwrap();
        let directory = bytes[HEADER_BYTES as usize..].chunks_exact_mut(16);
        let mut entries = directory.filter(|entry| entry[..2] == section::SCANS.to_le_bytes());
        entries.next().unwrap()[4] = count;
        fix_checksum(&mut bytes);
        MergeCommand::decode(&bytes)
    };
    assert_eq!(with_count(3), Ok(merge()));
    let error = Error::Inconsistent { what: "there are bytes behind the scans of a merge" };
    assert_eq!(with_count(2), Err(error));
    assert!(matches!(with_count(4), Err(Error::Truncated { part: "command", .. })));
    assert!(matches!(with_count(17), Err(Error::Limit { actual: 17, .. })));
}

#[test]
fn scan_has_no_sections_of_merge_nor_merge_those_of_scan() {
    let with_kind = |bytes: Vec<u8>, from: u16, to: u16| {
        let mut bytes = bytes;
        let directory = &mut bytes[HEADER_BYTES as usize..];
        let mut entries = directory.chunks_exact_mut(16);
        let entry = entries.find(|entry| entry[..2] == from.to_le_bytes()).unwrap();
        entry[..2].copy_from_slice(&to.to_le_bytes());
        entry[2..4].copy_from_slice(&SECTION_CRITICAL.to_le_bytes());
        fix_checksum(&mut bytes);
        bytes
    };
    let scan = with_kind(scan(1).encode().unwrap(), section::NAMES, section::MERGE_KEYS);
    let kind = section::MERGE_KEYS;
    assert_eq!(Command::decode(&scan), Err(Error::UnknownSection { kind }));
    let merge = with_kind(merge().encode().unwrap(), section::MERGE_KEYS, section::TOP);
    let kind = section::TOP;
    assert_eq!(MergeCommand::decode(&merge), Err(Error::UnknownSection { kind }));
}
