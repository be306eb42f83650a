// SPDX-License-Identifier: Apache-2.0
//! Strings that the parquet crate wrote by differences, read in part, and with changed bytes.

use bytes::Bytes;
use nearscan_command::{Chunk, Encodings, ReadAs, Reading, Status, Value};
use nearscan_conformance::Random;
use parquet::{
    basic::Encoding,
    data_type::{ByteArray, ByteArrayType, FixedLenByteArray, FixedLenByteArrayType},
};
use rstest::rstest;

use super::{
    read, value,
    written::{ROWS, chunk, is_null, properties},
};
use crate::{buffers::Buffers, chunk::ChunkReader, error::Stop, vector::Vector};

/// Strings of up to 100 bytes that have a few or many bytes in common with those before.
fn string(row: usize) -> Vec<u8> {
    match row % 500 {
        0..100 => format!("https://example.org/{}/{}", row / 30, row).into_bytes(),
        100..200 => vec![b'x'; row % 100],
        200..250 => Vec::new(),
        250..300 => b"the same".to_vec(),
        _ => (row * 7919 % 1000).to_string().into_bytes(),
    }
}

/// The chunks of strings that a writer may make, with their bytes and values.
fn chunks(encoding: Encoding) -> Vec<(Chunk, Bytes, Vec<Value>)> {
    let values: Vec<ByteArray> = (0..ROWS).map(|row| ByteArray::from(string(row))).collect();
    let mut chunks = Vec::new();
    for properties in properties(&[encoding]) {
        for is_nullable in [false, true] {
            let (chunk, bytes) =
                chunk::<ByteArrayType>(&properties, is_nullable, Reading::PLAIN, &values);
            let value = |row| match is_nullable && is_null(row) {
                true => Value::Null,
                false => Value::Bytes(string(row)),
            };
            chunks.push((chunk, bytes, (0..ROWS).map(value).collect()));
        }
    }
    chunks
}

fn reader(chunk: &Chunk, bytes: &Bytes) -> ChunkReader {
    ChunkReader::open(0, chunk, bytes.clone(), ROWS as u64, Buffers::default())
}

fn check(vector: &Vector, rows: impl Iterator<Item = usize>, expected: &[Value]) {
    for (place, row) in rows.enumerate() {
        assert_eq!(value(vector, place), expected[row], "row {row}");
    }
}

#[rstest]
fn rows_are_found_behind_skipped_ones(
    #[values(Encoding::DELTA_LENGTH_BYTE_ARRAY, Encoding::DELTA_BYTE_ARRAY)] encoding: Encoding,
) {
    for (seed, (chunk, bytes, expected)) in (0..).zip(chunks(encoding)) {
        let mut random = Random::new(seed);
        let mut reader = reader(&chunk, &bytes);
        let mut at = 0;
        while at < ROWS {
            let rows = (1 + random.below(700)).min(ROWS - at);
            match random.below(3) {
                0 => reader.skip(rows),
                1 => check(&reader.read(rows).unwrap(), at..at + rows, &expected),
                // Few of many, or many.
                _ => {
                    let one_in = random.pick(&[2, 40, 300]);
                    let selected: Vec<u32> = (0..700)
                        .filter(|row| (*row as usize) < rows && random.one_in(one_in))
                        .collect();
                    let vector = reader.read_selected(rows, &selected).unwrap();
                    let places = selected.iter().map(|row| at + *row as usize);
                    check(&vector, places, &expected);
                }
            }
            at += rows;
        }
        reader.check_rest().unwrap();
    }
}

#[rstest]
fn fixed_lengths_are_found_behind_skipped_ones(#[values(5, 16)] length: u16) {
    let number = |row: usize| i128::try_from(row * row % 70_000).unwrap() - 30_000;
    let stored = |row| {
        let bytes = number(row).to_be_bytes()[16 - usize::from(length)..].to_vec();
        FixedLenByteArray::from(bytes)
    };
    let values: Vec<FixedLenByteArray> = (0..ROWS).map(stored).collect();
    let reading = Reading { rule: ReadAs::BigEndian, bits: 0, length };
    let expected: Vec<Value> = (0..ROWS).map(|row| Value::Number(number(row))).collect();
    for properties in properties(&[Encoding::DELTA_BYTE_ARRAY]) {
        let (chunk, bytes) = chunk::<FixedLenByteArrayType>(&properties, false, reading, &values);
        let mut reader = reader(&chunk, &bytes);
        reader.skip(10);
        check(&reader.read(30).unwrap(), 10..40, &expected);
        reader.skip(1500);
        check(&reader.read(ROWS - 1540).unwrap(), 1540..ROWS, &expected);
    }
}

#[rstest]
fn commands_do_not_allow_differences_of_strings(
    #[values(Encoding::DELTA_LENGTH_BYTE_ARRAY, Encoding::DELTA_BYTE_ARRAY)] encoding: Encoding,
) {
    let mut refused = 0;
    for (chunk, bytes, _) in chunks(encoding) {
        let of_command = Chunk { encodings: Encodings::ALL, ..chunk };
        match read(&of_command, &bytes, ROWS, 512) {
            // In a dictionary.
            Ok(_) => {}
            Err(Stop::Status { status, .. }) => {
                assert_eq!(status, Status::Encoding);
                refused += 1;
            }
            Err(Stop::Failed(failure)) => panic!("{failure}"),
        }
    }
    // Without a dictionary, and with one that was given up, in each version.
    assert!(refused >= 2 * 2 * 2 * 3, "{refused}");
}

#[rstest]
fn changed_bytes_end_in_a_status_or_all_values(
    #[values(Encoding::DELTA_LENGTH_BYTE_ARRAY, Encoding::DELTA_BYTE_ARRAY)] encoding: Encoding,
) {
    let mut ends = [0, 0];
    for (seed, (chunk, bytes, _)) in (0..).zip(chunks(encoding)) {
        let mut random = Random::new(seed);
        for _ in 0..100 {
            let mut damaged = bytes.to_vec();
            for _ in 0..1 + random.below(3) {
                // Lengths are at the start of pages.
                let below = if random.one_in(2) { 200 } else { damaged.len() };
                let at = random.below(below);
                let other = (random.word() & 0xff) as u8;
                damaged[at] = random.pick(&[0, 1, 0x7f, 0x80, 0xff, other]);
            }
            if random.one_in(4) {
                damaged.truncate(random.below(damaged.len()));
            }
            let damaged = Bytes::from(damaged);
            let selected: Vec<u32> = (0..500).filter(|_| random.one_in(50)).collect();
            let mut reader = reader(&chunk, &damaged);
            let some = reader.read_selected(500, &selected).and_then(|_| reader.read(ROWS - 500));
            match (read(&chunk, &damaged, ROWS, 97), some) {
                (Ok(values), Ok(_)) => {
                    assert_eq!(values.len(), ROWS);
                    ends[0] += 1;
                }
                (Err(Stop::Failed(failure)), _) | (_, Err(Stop::Failed(failure))) => {
                    panic!("seed {seed}: {failure}");
                }
                (Err(Stop::Status { status, .. }), _) | (_, Err(Stop::Status { status, .. })) => {
                    assert!(matches!(status, Status::Corrupt | Status::Encoding), "{status:?}");
                    ends[1] += 1;
                }
            }
        }
    }
    assert!(ends.iter().all(|count| *count > 300), "{ends:?}");
}
