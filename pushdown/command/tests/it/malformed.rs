// SPDX-License-Identifier: Apache-2.0
//! Tests that corrupt bytes end in an error or in another valid value, never in a panic.

use nearscan_command::{Command, Error, Fragment, ResultHeader, ResultView, Width};
use proptest::prelude::*;
use rstest::rstest;

use crate::{any, golden, shapes};

/// Offsets of a command's checksum.
const CHECKSUM: std::ops::Range<usize> = 12..16;

/// Corrects the checksum of what the header counts, so that the rest is checked.
pub(crate) fn fix_checksum(bytes: &mut [u8]) {
    bytes[CHECKSUM].fill(0);
    let total = u32::from_le_bytes(bytes[8..12].try_into().unwrap()) as usize;
    let sum = crc32c::crc32c(&bytes[..total.min(bytes.len())]);
    bytes[CHECKSUM].copy_from_slice(&sum.to_le_bytes());
}

/// Whether a command that was decoded after damage encodes and decodes to itself.
fn is_consistent(command: &Command) -> bool {
    let bytes = command.encode().unwrap();
    Command::decode(&bytes).as_ref() == Ok(command)
}

#[rstest]
#[case(golden::q6())]
#[case(golden::q1())]
#[case(golden::strings())]
#[case(golden::inputs())]
#[case(shapes::states())]
#[case(shapes::rows())]
fn truncated_command_is_refused(#[case] command: Command) {
    let bytes = command.encode().unwrap();
    for length in 0..bytes.len() {
        assert!(
            matches!(Command::decode(&bytes[..length]), Err(Error::Truncated { .. })),
            "{length}"
        );
        // The same, with a header that says so: parts are missing, or only padding is.
        if length >= 128 {
            let mut cut = bytes[..length].to_vec();
            cut[8..12].copy_from_slice(&u32::try_from(length).unwrap().to_le_bytes());
            fix_checksum(&mut cut);
            if let Ok(back) = Command::decode(&cut) {
                assert_eq!(back, command, "{length}");
                assert!(bytes.len() - length < 64, "{length}");
            }
        }
    }
}

#[rstest]
#[case(golden::q6())]
#[case(golden::q1())]
#[case(golden::strings())]
#[case(golden::inputs())]
#[case(shapes::states())]
#[case(shapes::rows())]
fn changed_byte_is_detected_by_the_checksum(#[case] command: Command) {
    let mut bytes = command.encode().unwrap();
    for at in 0..bytes.len() {
        bytes[at] ^= 0x10;
        assert!(Command::decode(&bytes).is_err(), "byte {at}");
        bytes[at] ^= 0x10;
    }
}

#[rstest]
#[case(golden::q6())]
#[case(golden::q1())]
#[case(golden::strings())]
#[case(golden::inputs())]
#[case(shapes::states())]
#[case(shapes::rows())]
fn changed_byte_with_right_checksum_is_refused_or_valid(#[case] command: Command) {
    let good = command.encode().unwrap();
    let mut refused = 0;
    for at in 0..good.len() {
        for value in [0, 1, 0x7f, 0x80, 0xff, good[at] ^ 1, good[at].wrapping_add(1)] {
            let mut bytes = good.clone();
            bytes[at] = value;
            fix_checksum(&mut bytes);
            match Command::decode(&bytes) {
                Ok(back) => assert!(is_consistent(&back), "byte {at} is {value}"),
                Err(_) => refused += 1,
            }
        }
    }
    // Directory, counts, codes and operands are all looked at.
    assert!(refused > 400, "{refused}");
}

#[test]
fn changed_byte_of_fragment_is_refused_or_valid() {
    let command = golden::strings();
    let good = command.fragment.encode().unwrap();
    for at in 0..good.len() {
        for value in 0..=255 {
            let mut bytes = good.clone();
            bytes[at] = value;
            if let Ok(back) = Fragment::decode(&bytes) {
                assert_eq!(Fragment::decode(&back.encode().unwrap()), Ok(back));
            }
        }
    }
    for length in 0..good.len() {
        if let Ok(back) = Fragment::decode(&good[..length]) {
            // Only padding was cut off.
            assert_eq!(back, command.fragment, "{length}");
        }
    }
}

const WIDTHS: [Width; 5] = [Width::Bool, Width::W32, Width::W64, Width::W128, Width::Bytes];

#[test]
fn truncated_result_is_refused() {
    let bytes = golden::result();
    for length in 0..bytes.len() {
        assert!(ResultView::parse(&bytes[..length], &WIDTHS).is_err(), "{length}");
    }
}

#[test]
fn changed_byte_of_a_result_is_detected() {
    let mut bytes = golden::result();
    for at in 0..bytes.len() {
        bytes[at] ^= 0x04;
        assert!(ResultView::parse(&bytes, &WIDTHS).is_err(), "byte {at}");
        bytes[at] ^= 0x04;
    }
}

/// A payload with right checksums around it.
pub(crate) fn sealed(payload: &[u8], rows_out: u64) -> Vec<u8> {
    let header = ResultHeader {
        rows_out,
        payload_bytes: payload.len() as u64,
        payload_checksum: crc32c::crc32c(payload),
        ..golden::header()
    };
    [header.encode(), payload.to_vec()].concat()
}

#[test]
fn changed_byte_of_payload_with_right_checksums_does_not_panic() {
    let good = golden::result();
    let (header, payload) = good.split_at(usize::try_from(ResultHeader::BYTES).unwrap());
    let rows_out = ResultHeader::decode(header).unwrap().rows_out;
    assert!(ResultView::parse(&sealed(payload, rows_out), &WIDTHS).is_ok());
    for at in 0..payload.len() {
        for value in [0, 1, 0x7f, 0xff, payload[at].wrapping_add(1)] {
            let mut payload = payload.to_vec();
            payload[at] = value;
            let bytes = sealed(&payload, rows_out);
            let Ok(view) = ResultView::parse(&bytes, &WIDTHS) else {
                continue;
            };
            for block in &view.blocks {
                for row in 0..block.rows as usize {
                    assert!(block.columns[..4].iter().all(|c| c.number(row).is_some()));
                    assert!(block.columns[4].string(row).is_some());
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn random_bytes_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        prop_assert!(Command::decode(&bytes).is_err());
        prop_assert!(Fragment::decode(&bytes).is_err());
        prop_assert!(ResultView::parse(&bytes, &WIDTHS).is_err());
    }

    #[test]
    fn random_bytes_after_a_valid_header_are_refused_or_valid(
        command in any::command(),
        noise in proptest::collection::vec((any::<u16>(), any::<u8>()), 1..20),
    ) {
        let mut bytes = command.encode().unwrap();
        for (at, value) in noise {
            let at = 128 + usize::from(at) % (bytes.len() - 128);
            bytes[at] = value;
        }
        fix_checksum(&mut bytes);
        if let Ok(back) = Command::decode(&bytes) {
            prop_assert!(is_consistent(&back));
        }
    }

    #[test]
    fn random_payloads_do_not_panic(
        payload in proptest::collection::vec(any::<u8>(), 0..400),
        rows in 0u32..40,
    ) {
        let mut payload = payload;
        if payload.len() >= 16 {
            let length = u32::try_from(payload.len()).unwrap();
            payload[..4].copy_from_slice(&rows.to_le_bytes());
            payload[4..8].copy_from_slice(&length.to_le_bytes());
        }
        let bytes = sealed(&payload, u64::from(rows));
        if let Ok(view) = ResultView::parse(&bytes, &[Width::Bytes, Width::Bool]) {
            prop_assert_eq!(view.blocks.iter().map(|b| b.rows).sum::<u32>(), rows);
        }
    }
}
