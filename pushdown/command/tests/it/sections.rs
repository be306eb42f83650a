// SPDX-License-Identifier: Apache-2.0
//! Tests sections that are unknown, duplicate, or misplaced.

use nearscan_command::{
    Command, Error, Fragment,
    layout::{FORMAT_MINOR, HEADER_BYTES, KEY_RANGE_BYTES, SECTION_CRITICAL, section},
};

use crate::{golden, malformed::fix_checksum, shapes};

/// A directory entry, as bytes.
fn entry(kind: u16, flags: u16, count: u32, offset: u32, bytes: u32) -> [u8; 16] {
    let mut out = [0; 16];
    out[..2].copy_from_slice(&kind.to_le_bytes());
    out[2..4].copy_from_slice(&flags.to_le_bytes());
    out[4..8].copy_from_slice(&count.to_le_bytes());
    out[8..12].copy_from_slice(&offset.to_le_bytes());
    out[12..].copy_from_slice(&bytes.to_le_bytes());
    out
}

/// The directory of a command: kinds and offsets.
fn directory(bytes: &[u8]) -> Vec<[u8; 16]> {
    let count = usize::from(u16::from_le_bytes([bytes[20], bytes[21]]));
    bytes[HEADER_BYTES as usize..][..count * 16]
        .chunks_exact(16)
        .map(|entry| entry.try_into().unwrap())
        .collect()
}

/// Offset of a section's entry in the directory.
fn place(bytes: &[u8], kind: u16) -> usize {
    let is_it = |entry: &[u8; 16]| entry[..2] == kind.to_le_bytes();
    HEADER_BYTES as usize + directory(bytes).iter().position(is_it).unwrap() * 16
}

/// Changes one byte of a section's records, counted from their start, and reads the command.
fn with_byte(command: &Command, kind: u16, at: u32, value: u8) -> Result<Command, Error> {
    let mut bytes = command.encode().unwrap();
    let entry = place(&bytes, kind);
    let start = u32::from_le_bytes(bytes[entry + 8..entry + 12].try_into().unwrap());
    bytes[(start + at) as usize] = value;
    fix_checksum(&mut bytes);
    Command::decode(&bytes)
}

/// Q6 with `extra` in front of its directory; everything behind moves by one line.
fn with_entry(extra: [u8; 16]) -> Vec<u8> {
    let bytes = golden::q6().encode().unwrap();
    let old = directory(&bytes);
    let behind_directory = (HEADER_BYTES as usize + old.len() * 16).next_multiple_of(64);
    let mut out = bytes[..HEADER_BYTES as usize].to_vec();
    out.extend_from_slice(&extra);
    for mut entry in old.iter().copied() {
        let offset = u32::from_le_bytes(entry[8..12].try_into().unwrap()) + 64;
        entry[8..12].copy_from_slice(&offset.to_le_bytes());
        out.extend_from_slice(&entry);
    }
    out.resize(behind_directory + 64, 0);
    out.extend_from_slice(&bytes[behind_directory..]);
    let total = u32::try_from(out.len()).unwrap();
    out[8..12].copy_from_slice(&total.to_le_bytes());
    out[20..22].copy_from_slice(&u16::try_from(old.len() + 1).unwrap().to_le_bytes());
    fix_checksum(&mut out);
    out
}

#[test]
fn unknown_optional_section_is_skipped() {
    let bytes = with_entry(entry(900, 0, 3, 0, 64));
    assert_eq!(Command::decode(&bytes), Ok(golden::q6()));
}

#[test]
fn unknown_critical_section_is_refused() {
    let bytes = with_entry(entry(900, SECTION_CRITICAL, 3, 0, 64));
    assert_eq!(Command::decode(&bytes), Err(Error::UnknownSection { kind: 900 }));
}

#[test]
fn unknown_section_must_lie_within_command_and_on_line() {
    let outside = with_entry(entry(900, 0, 0, 64, u32::MAX));
    assert!(matches!(Command::decode(&outside), Err(Error::Truncated { part: "section", .. })));
    let crooked = with_entry(entry(900, 0, 0, 8, 8));
    assert!(matches!(Command::decode(&crooked), Err(Error::Inconsistent { .. })));
}

#[test]
fn duplicate_section_is_refused() {
    let bytes = with_entry(entry(section::LITERALS, SECTION_CRITICAL, 0, 0, 0));
    assert_eq!(Command::decode(&bytes), Err(Error::SectionCount { section: "LITERALS", count: 2 }));
}

#[test]
fn command_without_output_section_is_refused() {
    let mut bytes = golden::q6().encode().unwrap();
    let at = place(&bytes, section::OUTPUT);
    // The section has an unused number and is not critical, so it is skipped.
    bytes[at..at + 4].copy_from_slice(&[0xff, 0x7f, 0, 0]);
    fix_checksum(&mut bytes);
    assert_eq!(Command::decode(&bytes), Err(Error::SectionCount { section: "OUTPUT", count: 0 }));
}

#[test]
fn names_are_optional() {
    let mut bytes = golden::q6().encode().unwrap();
    let at = place(&bytes, section::NAMES);
    bytes[at..at + 2].copy_from_slice(&[0xff, 0x7f]);
    fix_checksum(&mut bytes);
    let back = Command::decode(&bytes).unwrap();
    assert_eq!(back.fragment.columns[2].name, "column 2");
    assert_eq!(back.fragment.predicate, golden::q6().fragment.predicate);
    assert_eq!(back.unit, golden::q6().unit);
}

#[test]
fn another_major_version_is_refused_and_another_minor_one_is_read() {
    let good = golden::q6().encode().unwrap();
    let with = |at: usize, value: u16| {
        let mut bytes = good.clone();
        bytes[at..at + 2].copy_from_slice(&value.to_le_bytes());
        fix_checksum(&mut bytes);
        Command::decode(&bytes)
    };
    assert_eq!(with(4, 2), Err(Error::FormatVersion { major: 2, minor: FORMAT_MINOR }));
    assert_eq!(with(6, 7), Ok(golden::q6()));
}

#[test]
fn opcode_without_meaning_is_refused() {
    let mut bytes = golden::q6().encode().unwrap();
    bytes[16] = 9;
    fix_checksum(&mut bytes);
    assert_eq!(Command::decode(&bytes), Err(Error::UnknownCode { what: "opcode", value: 9 }));
}

#[test]
fn more_bytes_than_a_kernel_holds_are_refused_before_they_are_read() {
    let mut bytes = golden::q6().encode().unwrap();
    bytes[8..12].copy_from_slice(&(64 * 1024 + 1u32).to_le_bytes());
    assert!(matches!(
        Command::decode(&bytes),
        Err(Error::Limit { what: "bytes in a command", .. })
    ));
}

#[test]
fn readings_are_omitted_if_all_are_plain_and_otherwise_complete() {
    let q6 = golden::q6().encode().unwrap();
    assert!(directory(&q6).iter().all(|entry| entry[..2] != section::READINGS.to_le_bytes()));
    assert_eq!(
        with_byte(&shapes::rows(), section::READINGS, 0, 4),
        Err(Error::UnknownCode { what: "reading", value: 4 })
    );
    let mut bytes = shapes::rows().encode().unwrap();
    let entry = place(&bytes, section::READINGS);
    assert_eq!((bytes[entry + 4], bytes[entry + 12]), (7, 7 * 8));
    // One reading fewer.
    bytes[entry + 4] = 6;
    bytes[entry + 12] = 6 * 8;
    fix_checksum(&mut bytes);
    let refused = Error::Inconsistent { what: "there is one reading for each column" };
    assert_eq!(Command::decode(&bytes), Err(refused));
}

#[test]
fn range_of_a_missing_or_repeated_key_is_refused() {
    // The second range is that of the third key.
    let second_of = |key| with_byte(&shapes::states(), section::KEY_RANGES, KEY_RANGE_BYTES, key);
    assert_eq!(second_of(2), Ok(shapes::states()));
    assert_eq!(second_of(3), Err(Error::Index { what: "group key", index: 3, count: 3 }));
    assert_eq!(second_of(1), Err(Error::Inconsistent { what: "a group key has two ranges" }));
    // The step has no range any more, but the strings have one.
    assert!(matches!(second_of(0), Err(Error::Kind { .. })));
}

#[test]
fn top_with_unknown_flags_is_refused() {
    let with_flags = |flags| with_byte(&shapes::rows(), section::TOP, 2, flags);
    assert_eq!(with_flags(3), Ok(shapes::rows()));
    let Ok(nulls_last) = with_flags(1) else { panic!("nulls may come last") };
    assert_ne!(nulls_last.fragment, shapes::rows().fragment);
    assert_eq!(with_flags(4), Err(Error::UnknownCode { what: "flags of a top", value: 4 }));
}

#[test]
fn states_with_a_limit_are_refused() {
    let expected = Error::Inconsistent { what: "states have no limit" };
    let command = golden::q6();
    assert_eq!(with_byte(&command, section::OUTPUT, 32, 3), Err(expected.clone()));
    let mut fragment = command.fragment.encode().unwrap();
    fragment[16..24].fill(0);
    assert_eq!(Fragment::decode(&fragment), Err(expected));
}
