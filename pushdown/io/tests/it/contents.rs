// SPDX-License-Identifier: Apache-2.0
//! Compares what is read with what was written: every engine, every way, hot and cold.

use std::{ops::Range, sync::Arc, thread};

use futures::executor::block_on;
use nearscan_io::{
    Aligned, Direct, Engine, Feature, File, Options, Pool, PoolOptions, Reader, Unlimited,
};

use crate::helpers::{Graveyard, Guarded, Random, Sample, cache_only, engines, one, survivable};

const LENGTH: usize = (3 << 20) + 123;

fn ranges(random: &mut Random, length: u64) -> Vec<Range<u64>> {
    let range = |random: &mut Random| {
        let start = random.below(length);
        let bound = if random.below(4) == 0 { length - start } else { 20_000 };
        start..(start + random.below(bound + 1)).min(length)
    };
    let count = 1 + random.below(8);
    (0..count).map(|_| range(random)).collect()
}

fn place(range: &Range<u64>) -> Range<usize> {
    usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap()
}

fn check_ranges(sample: &Sample, reader: &Reader, seed: u64) {
    let file = reader.open(sample.file.path()).unwrap();
    let mut local = reader.local().unwrap();
    let mut random = Random(seed);
    for round in 0..12 {
        if round % 3 == 0 {
            sample.make_cold();
        }
        let ranges = ranges(&mut random, sample.length());
        let found = match round % 3 {
            0 => block_on(reader.read_ranges(&file, &ranges)),
            1 => reader.read_ranges_blocking(&file, &ranges),
            _ => local.read_ranges(&file, &ranges),
        };
        for (found, range) in found.unwrap().iter().zip(&ranges) {
            assert!(found == &sample.bytes[place(range)], "{range:?} of seed {seed}");
        }
    }
}

#[test]
fn ranges_have_the_bytes_of_the_file() {
    let sample = Sample::new(LENGTH);
    for engine in engines("contents::ranges_have_the_bytes_of_the_file") {
        for direct in [Direct::Auto, Direct::Never, Direct::Always] {
            let options = Options {
                engine,
                direct,
                request_bytes: 64 << 10,
                gap_bytes: 5000,
                queue_depth: 4,
                ..Options::default()
            };
            check_ranges(&sample, &Reader::new(&options).unwrap(), 1);
            for seed in 2..5 {
                let faulty = Reader::builder(&options).wrap(survivable(seed).wrap());
                check_ranges(&sample, &faulty.start().unwrap(), seed);
            }
        }
    }
}

#[test]
fn buffers_of_any_kind_are_filled() {
    let sample = Sample::new(LENGTH);
    let pool = PoolOptions { buffer_bytes: 200_000, buffers: 3 };
    let pool = Pool::new(pool, &(Arc::new(Unlimited) as _)).unwrap();
    for engine in engines("contents::buffers_of_any_kind_are_filled") {
        for direct in [Direct::Auto, Direct::Always] {
            let options = Options { engine, direct, ..Options::default() };
            let reader = Reader::builder(&options).pool(&pool).start().unwrap();
            if engine == Engine::IoUring {
                match reader.report().registered_buffers {
                    Feature::On => {}
                    // A user may not be allowed to pin this much; then it is read all the same.
                    Feature::Off { reason } => assert!(reason.contains("RLIMIT"), "{reason}"),
                }
            }
            let mut local = reader.local().unwrap();
            let file = reader.open(sample.file.path()).unwrap();
            let graveyard = Arc::new(Graveyard::default());
            for offset in [0, 1, 4096, 100_000, sample.length() - pool.buffer_bytes() as u64] {
                sample.make_cold();
                let from = usize::try_from(offset).unwrap();
                let read = reader.read_blocking(&file, offset, pool.try_take().unwrap()).unwrap();
                assert!(*read == sample.bytes[from..from + read.len()], "pooled at {offset}");
                let read = local.read(&file, offset, pool.try_take().unwrap()).unwrap();
                assert!(*read == sample.bytes[from..from + read.len()], "local at {offset}");
                drop(read);
                // Not aligned, and so long that its end is no block.
                let read = block_on(reader.read(&file, offset, vec![0; 9_999])).unwrap();
                assert!(*read == sample.bytes[from..from + 9_999], "vector at {offset}");
                // Aligned, and with no room behind its end.
                let read = block_on(reader.read(&file, offset, Guarded::new(9_999, &graveyard)));
                let read = read.ok().unwrap();
                assert!(*read.bytes() == sample.bytes[from..from + 9_999], "aligned at {offset}");
            }
        }
    }
    assert_eq!(pool.free(), 3);
}

#[test]
fn cached_bytes_need_no_request() {
    let sample = Sample::new(LENGTH);
    if !sample.tells_cached() {
        let reason = "the file system of temporary files has no RWF_NOWAIT";
        nearscan_skip::skip("contents::cached_bytes_need_no_request", reason);
        return;
    }
    let reader = cache_only();
    let file = reader.open(sample.file.path()).unwrap();
    // Read as other programs do, so that it is in the cache.
    assert_eq!(std::fs::read(sample.file.path()).unwrap().len(), LENGTH);
    let found = reader.read_ranges_blocking(&file, &one(0..LENGTH as u64)).unwrap();
    assert!(found[0] == sample.bytes);
    assert!(reader.read_blocking(&file, 1, vec![0; 8192]).unwrap() == sample.bytes[1..8193]);
}

#[test]
fn direct_read_leaves_nothing_in_the_cache() {
    let sample = Sample::new(LENGTH);
    sample.make_cold();
    let reader = Reader::new(&Options::default()).unwrap();
    let file = reader.open(sample.file.path()).unwrap();
    let cache = cache_only();
    let is_cached = || cache.read_ranges_blocking(&file, &one(0..1 << 20)).is_ok();
    if !file.has_direct() || is_cached() {
        let reason = "the file system of temporary files has no direct reads";
        nearscan_skip::skip("contents::direct_read_leaves_nothing_in_the_cache", reason);
        return;
    }
    for _ in 0..2 {
        let found = reader.read_ranges_blocking(&file, &one(0..1 << 20)).unwrap();
        assert!(found[0] == sample.bytes[..1 << 20]);
        assert!(!is_cached());
    }
}

#[test]
fn nothing_is_read_for_nothing() {
    let sample = Sample::new(LENGTH);
    for engine in engines("contents::nothing_is_read_for_nothing") {
        let reader = Reader::new(&Options { engine, ..Options::default() }).unwrap();
        let file = reader.open(sample.file.path()).unwrap();
        assert!(reader.read_ranges_blocking(&file, &[]).unwrap().is_empty());
        let beyond = u64::MAX - 1;
        let found = reader.read_ranges_blocking(&file, &[7..7, beyond..beyond]).unwrap();
        assert!(found.iter().all(bytes::Bytes::is_empty));
        assert!(reader.read_blocking(&file, 5, Vec::new()).unwrap().is_empty());
        let aligned = reader.read_blocking(&file, 0, Aligned::new(1).unwrap()).unwrap();
        assert!(aligned.as_ref() == &sample.bytes[..4096]);
    }
}

#[test]
fn many_threads_read_at_once() {
    let sample = Sample::new(LENGTH);
    for engine in engines("contents::many_threads_read_at_once") {
        let options = Options { engine, queue_depth: 8, ..Options::default() };
        let builder = Reader::builder(&options).wrap(survivable(9).wrap());
        let reader = builder.start().unwrap();
        thread::scope(|scope| {
            for seed in 1..9 {
                let (reader, sample) = (reader.clone(), &sample);
                scope.spawn(move || check_ranges(sample, &reader, seed));
            }
        });
    }
}

#[test]
fn local_reader_may_change_its_thread() {
    let sample = Sample::new(LENGTH);
    for engine in engines("contents::local_reader_may_change_its_thread") {
        let reader = Reader::new(&Options { engine, ..Options::default() }).unwrap();
        let file = File::open(sample.file.path()).unwrap();
        let mut local = reader.local().unwrap();
        for round in 0..20 {
            sample.make_cold();
            // Begun by a thread that has ended when the bytes are waited for.
            let begin = || {
                let pending = local.begin(&file, 4096, Aligned::new(1 << 20).unwrap());
                (local, pending)
            };
            let (moved, pending) = thread::scope(|scope| scope.spawn(begin).join().unwrap());
            local = moved;
            let buffer = local.wait(pending).unwrap();
            let again = local.read(&file, 4096, vec![0; 1 << 20]).unwrap();
            assert!(again == sample.bytes[4096..4096 + (1 << 20)], "round {round}");
            drop(buffer);
        }
    }
}

#[test]
fn file_that_is_kept_to_the_cache_is_found_there() {
    let sample = Sample::new(LENGTH);
    if !sample.tells_cached() {
        let test = "contents::file_that_is_kept_to_the_cache_is_found_there";
        nearscan_skip::skip(test, "the file system does not tell what is cached");
        return;
    }
    for engine in engines("contents::file_that_is_kept_to_the_cache_is_found_there") {
        let options = Options { engine, direct: Direct::Always, ..Options::default() };
        let reader = Reader::new(&options).unwrap();
        let file = File::open(sample.file.path()).unwrap();
        file.keep_to_cache();
        assert!(!file.has_direct());
        sample.make_cold();
        let whole = one(0..sample.length());
        assert!(reader.read_ranges_blocking(&file, &whole).unwrap()[0] == sample.bytes);
        assert!(cache_only().read_ranges_blocking(&file, &whole).unwrap()[0] == sample.bytes);
    }
}
