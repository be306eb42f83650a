// SPDX-License-Identifier: Apache-2.0
//! Tests chunks of every layout, intact and with changed bytes.

use bytes::Bytes;
use nearscan_command::{Chunk, Encodings, ReadAs, Status, Value};
use nearscan_conformance::{
    Presence, Random, Values,
    pages::{
        ChunkLayout, Flag, PageVersion, ValueLayout, WrittenChunk, assemble, draft, write_chunk,
    },
};

use super::read;
use crate::error::Stop;

const ROWS: usize = 700;

/// `value(n)` for each row, NULL in some when the column is nullable.
fn some<T>(random: &mut Random, presence: Presence, value: impl Fn(u64) -> T) -> Vec<Option<T>> {
    let is_nullable = presence == Presence::Optional;
    let mut last = 0;
    (0..ROWS)
        .map(|_| {
            if !random.one_in(3) {
                last = random.word() >> random.below(64);
            }
            (!is_nullable || !random.one_in(5)).then(|| value(last))
        })
        .collect()
}

fn values(random: &mut Random, presence: Presence) -> Values {
    let low = |word: u64| (word & 0x7fff_ffff) as i32;
    match random.below(8) {
        0 => Values::Boolean(some(random, presence, |word| word % 3 == 0)),
        1 => Values::Int32(some(random, presence, low)),
        2 => Values::Int64(some(random, presence, u64::cast_signed)),
        3 => Values::Unsigned64(some(random, presence, |word| word)),
        4 => Values::Float(some(random, presence, |word| f32::from_bits((word >> 32) as u32))),
        5 => Values::Double(some(random, presence, f64::from_bits)),
        6 => Values::Bytes(some(random, presence, |word| word.to_string().into_bytes())),
        _ => {
            let length = 8 + random.index(9);
            let number = |word: u64| i128::from(word.cast_signed());
            Values::Fixed { length, values: some(random, presence, number) }
        }
    }
}

/// A chunk, its bytes and its values.
fn chunk(seed: u64) -> (Chunk, Bytes, Vec<Value>) {
    let mut random = Random::new(seed);
    let presence = random.pick(&[Presence::Optional, Presence::Required]);
    let values = values(&mut random, presence);
    let layout = ChunkLayout::random(&mut random, presence);
    let written = write_chunk(&values, &layout);
    let expected = (0..ROWS).map(|row| values.value(row)).collect();
    (described(&values, &layout, &written), Bytes::from(written.bytes), expected)
}

/// The description of a chunk in a command.
fn described(values: &Values, layout: &ChunkLayout, written: &WrittenChunk) -> Chunk {
    Chunk {
        input: 0,
        offset: 0,
        length: written.bytes.len() as u64,
        uncompressed_bytes: written.uncompressed_bytes,
        physical_type: values.physical_type(),
        definition_level_max: u8::from(layout.presence == Presence::Optional),
        codec: layout.codec,
        encodings: Encodings::ALL,
        dictionary_bytes: 0,
        reading: values.reading(),
    }
}

/// The outcome of reading a chunk.
fn status(end: Result<impl Sized, Stop>) -> Status {
    match end {
        Ok(_) => Status::Ok,
        Err(Stop::Status { status, .. }) => status,
        Err(Stop::Failed(failure)) => panic!("{failure}"),
    }
}

#[test]
fn every_layout_is_read_in_batches_of_any_size() {
    for seed in 0..400 {
        let (chunk, bytes, expected) = chunk(seed);
        for batch_rows in [ROWS, 97] {
            let found = read(&chunk, &bytes, ROWS, batch_rows);
            assert_eq!(found.as_ref(), Ok(&expected), "seed {seed}, {chunk:?}");
        }
    }
}

#[test]
fn corrupt_chunk_ends_in_a_status_or_all_values() {
    let mut ends = [0, 0];
    for seed in 0..400 {
        let (chunk, bytes, _) = chunk(seed);
        let mut random = Random::new(seed);
        for _ in 0..25 {
            let mut damaged = bytes.to_vec();
            for _ in 0..1 + random.below(3) {
                let at = random.below(damaged.len());
                let other = (random.word() & 0xff) as u8;
                damaged[at] = random.pick(&[0, 1, 0x7f, 0x80, 0xff, other]);
            }
            if random.one_in(4) {
                damaged.truncate(random.below(damaged.len()));
            }
            match read(&chunk, &Bytes::from(damaged), ROWS, 97) {
                Ok(values) => {
                    assert_eq!(values.len(), ROWS);
                    ends[0] += 1;
                }
                Err(Stop::Status { status, detail }) => {
                    let is_known =
                        matches!(status, Status::Corrupt | Status::Encoding | Status::Overflow);
                    assert!(is_known, "seed {seed}: {status:?}");
                    assert!(detail.unwrap().offset <= bytes.len() as u64);
                    ends[1] += 1;
                }
                Err(Stop::Failed(failure)) => panic!("seed {seed}: {failure}"),
            }
        }
    }
    assert!(ends.iter().all(|count| *count > 500), "{ends:?}");
}

#[test]
fn unused_dictionary_entry_may_be_invalid() {
    let values = Values::Fixed { length: 9, values: vec![Some(1), Some(1 << 63), Some(-1)] };
    let layout = ChunkLayout::common().required().paged(&[1]);
    let written = write_chunk(&values, &layout);
    let chunk = described(&values, &layout, &written);
    let bytes = Bytes::from(written.bytes);
    let mut reader = crate::chunk::ChunkReader::open(
        0,
        &chunk,
        bytes.clone(),
        3,
        crate::buffers::Buffers::default(),
    );
    assert_eq!(status(reader.read(1)), Status::Ok);
    assert_eq!(status(reader.read(1)), Status::Overflow);
    let narrow = nearscan_command::Reading { bits: 1, rule: ReadAs::BigEndian, length: 9 };
    let end = read(&Chunk { reading: narrow, ..chunk }, &bytes, 3, 1);
    assert_eq!(status(end), Status::Corrupt);
}

#[test]
fn dictionary_pages_may_alternate_with_plain_pages() {
    let numbers = (0..90).map(|n| Some(n % 4).filter(|n| *n > 0)).collect();
    let strings = (0..90).map(|n| (n % 7 > 0).then(|| vec![b'a'; n % 5])).collect();
    for values in [Values::Unsigned64(numbers), Values::Bytes(strings)] {
        let ValueLayout::Dictionary { label, index_runs, .. } = ValueLayout::DICTIONARY else {
            panic!("no dictionary")
        };
        let falling_back = ValueLayout::Dictionary {
            label,
            index_runs,
            unused_entries: 3,
            width_min: 0,
            pages_max: 1,
        };
        let layout = ChunkLayout { values: falling_back, ..ChunkLayout::common().paged(&[30]) };
        let mut pages = draft(&values, &layout);
        // The dictionary, then plain values, codes, and plain values.
        pages.swap(1, 2);
        let written = assemble(&pages, &layout);
        let chunk = described(&values, &layout, &written);
        let moved = (30..60).chain(0..30).chain(60..90);
        let expected: Vec<Value> = moved.map(|row| values.value(row)).collect();
        for batch_rows in [90, 7] {
            let found = read(&chunk, &Bytes::from(written.bytes.clone()), 90, batch_rows);
            assert_eq!(found, Ok(expected.clone()));
        }
    }
}

#[test]
fn null_count_of_a_page_must_match_its_header() {
    let values = Values::Int32((0..50).map(|n| Some(n).filter(|n| n % 5 > 0)).collect());
    let version = PageVersion::Two(Flag::Absent);
    let layout = ChunkLayout { version, ..ChunkLayout::plain() };
    for (nulls, expected) in [(10, Status::Ok), (9, Status::Corrupt), (11, Status::Corrupt)] {
        let mut pages = draft(&values, &layout);
        pages[0].second.null_count = nulls;
        let written = assemble(&pages, &layout);
        let chunk = described(&values, &layout, &written);
        let end = read(&chunk, &Bytes::from(written.bytes), 50, 20);
        assert_eq!(status(end), expected, "{nulls} nulls");
    }
}
