// SPDX-License-Identifier: Apache-2.0
//! Checks that reads of ranges use their buffers again, and are charged for all of them.

use std::sync::Arc;

use futures::executor::block_on;
use nearscan_io::{Buffers, Charge, Error, Options, Reader};

use crate::{
    helpers::{Random, Sample, engines, survivable},
    pool::Limited,
};

const LENGTH: usize = 2 << 20;

fn limited(bytes: u64, kept_bytes_max: usize) -> (Arc<Limited>, Buffers) {
    let limited = Limited::new(bytes);
    let charge: Arc<dyn Charge> = Arc::<Limited>::clone(&limited);
    (limited, Buffers::new(charge, kept_bytes_max))
}

#[test]
fn ranges_have_their_bytes_whatever_was_in_the_buffer() {
    let sample = Sample::new(LENGTH);
    for engine in engines("buffers::ranges_have_their_bytes_whatever_was_in_the_buffer") {
        let options = Options { engine, request_bytes: 32 << 10, ..Options::default() };
        let reader = Reader::builder(&options).wrap(survivable(5).wrap()).start().unwrap();
        let file = reader.open(sample.file.path()).unwrap();
        let (charge, buffers) = limited(u64::MAX, 1 << 20);
        let mut random = Random(3);
        for round in 0..50 {
            if round % 10 == 0 {
                sample.make_cold();
            }
            let start = random.below(sample.length());
            let end = start + random.below(sample.length() - start);
            let read = reader.read_range(&file, &(start..end), &buffers).unwrap();
            let bytes = block_on(read).unwrap();
            let [from, to] = [start, end].map(|at| usize::try_from(at).unwrap());
            assert!(bytes == sample.bytes[from..to], "{start}..{end}");
        }
        drop(buffers);
        assert_eq!(charge.left(), u64::MAX);
    }
}

#[test]
fn buffer_is_charged_as_long_as_its_bytes_or_the_pool_are_there() {
    let sample = Sample::new(LENGTH);
    let reader = Reader::new(&Options::default()).unwrap();
    let file = reader.open(sample.file.path()).unwrap();
    let (charge, buffers) = limited(1 << 20, 1 << 20);
    let read = |range| reader.read_range(&file, &range, &buffers);
    let first = block_on(read(0..400_000).unwrap()).unwrap();
    let used = (1 << 20) - charge.left();
    assert!((400_000..500_000).contains(&used), "{used}");
    let part = first.slice(10..20);
    drop(first);
    let second = block_on(read(0..400_000).unwrap()).unwrap();
    assert_eq!((1 << 20) - charge.left(), 2 * used);
    assert!(matches!(read(0..400_000), Err(Error::Memory { .. })));
    drop((part, second));
    // What is kept makes room for what is longer.
    let third = block_on(read(0..900_000).unwrap()).unwrap();
    assert!(charge.left() < 150_000);
    drop(buffers);
    assert_eq!(third.len(), 900_000);
    drop(third);
    assert_eq!(charge.left(), 1 << 20);
}

#[test]
#[expect(clippy::reversed_empty_ranges, reason = "the read has this range")]
fn range_that_is_none_is_an_error() {
    let sample = Sample::new(LENGTH);
    let reader = Reader::new(&Options::default()).unwrap();
    let file = reader.open(sample.file.path()).unwrap();
    let (_, buffers) = limited(u64::MAX, 0);
    let read = |range| reader.read_range(&file, &range, &buffers);
    assert!(matches!(read(5..4), Err(Error::Range { start: 5, end: 4 })));
    let beyond = read(sample.length() - 5..sample.length() + 5).unwrap();
    assert!(matches!(block_on(beyond), Err(Error::End { .. })));
    assert!(block_on(read(7..7).unwrap()).unwrap().is_empty());
}
