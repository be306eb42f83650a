// SPDX-License-Identifier: Apache-2.0
//! Drops futures, streams and readers at any moment: no byte is written to memory that was given
//! back, and all of it is given back.

use std::{
    fs::File as StdFile,
    os::fd::AsRawFd,
    pin::Pin,
    sync::{Arc, Barrier},
    task::{Context, Poll, Waker},
    thread,
};

use futures::{Future, executor::block_on};
use nearscan_io::{
    Buffers, Charge, Direct, Engine, Error, Failed, File, Options, Reader, faults::Faults,
};

use crate::{
    helpers::{Graveyard, Guarded, Random, Sample, engines, one, survivable},
    pool::Limited,
};

const LENGTH: usize = 2 << 20;
const BUFFER: usize = 256 << 10;

fn options(engine: Engine) -> Options {
    Options {
        engine,
        direct: Direct::Always,
        request_bytes: 64 << 10,
        queue_depth: 4,
        ..Options::default()
    }
}

fn faults(seed: u64) -> Faults {
    Faults { failing: 10, errno: libc::EIO, ..survivable(seed) }
}

fn poll_once<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn dropped_reads_leave_their_buffers_alone() {
    let sample = Sample::new(LENGTH);
    for engine in engines("cancel::dropped_reads_leave_their_buffers_alone") {
        for seed in 1..16 {
            let graveyard = Arc::new(Graveyard::default());
            let builder = Reader::builder(&options(engine));
            let reader = builder.wrap(faults(seed).wrap()).start().unwrap();
            let file = reader.open(sample.file.path()).unwrap();
            let mut random = Random(seed);
            let mut begun = Vec::new();
            for _ in 0..20 {
                let offset = random.below(7) * BUFFER as u64;
                let mut read = reader.read(&file, offset, Guarded::new(BUFFER, &graveyard));
                match random.below(4) {
                    0 => drop(read),
                    1 => {
                        drop(poll_once(&mut read));
                        thread::yield_now();
                        drop(read);
                    }
                    2 => begun.push((offset, read)),
                    _ => {
                        if let Ok(buffer) = block_on(read) {
                            let from = usize::try_from(offset).unwrap();
                            assert!(*buffer.bytes() == sample.bytes[from..from + BUFFER]);
                        }
                    }
                }
                graveyard.check();
            }
            // Some are waited for, the others are dropped with the reader, or after it.
            let half = begun.split_off(begun.len() / 2);
            begun.into_iter().for_each(|(_, read)| drop(block_on(read)));
            drop(reader);
            for (offset, read) in half {
                match block_on(read) {
                    Ok(buffer) => {
                        let from = usize::try_from(offset).unwrap();
                        assert!(*buffer.bytes() == sample.bytes[from..from + BUFFER]);
                    }
                    Err(Failed { error: Error::Closed | Error::Read { .. }, target }) => {
                        assert!(target.is_some(), "seed {seed}");
                    }
                    Err(failed) => panic!("{:?} of seed {seed}", failed.error),
                }
            }
            assert_eq!(graveyard.count(), 20, "seed {seed}");
            graveyard.check();
        }
    }
}

#[test]
fn dropped_local_reader_leaves_buffers_alone() {
    let sample = Sample::new(LENGTH);
    for engine in engines("cancel::dropped_local_reader_leaves_buffers_alone") {
        for seed in 1..16 {
            let graveyard = Arc::new(Graveyard::default());
            let builder = Reader::builder(&options(engine));
            let reader = builder.wrap(faults(seed).wrap()).start().unwrap();
            let file = reader.open(sample.file.path()).unwrap();
            let mut local = reader.local().unwrap();
            let mut random = Random(seed);
            let mut kept = Vec::new();
            for _ in 0..20 {
                let offset = random.below(7) * BUFFER as u64;
                let pending = local.begin(&file, offset, Guarded::new(BUFFER, &graveyard));
                match random.below(3) {
                    0 => drop(pending),
                    1 => kept.push(pending),
                    _ => drop(local.wait(pending)),
                }
                local.poll();
                graveyard.check();
            }
            drop(local);
            assert!(kept.iter().all(nearscan_io::Pending::is_ended));
            drop(kept);
            assert_eq!(graveyard.count(), 20, "seed {seed}");
            graveyard.check();
        }
    }
}

#[test]
fn reader_may_be_dropped_while_others_read() {
    let sample = Sample::new(LENGTH);
    for engine in engines("cancel::reader_may_be_dropped_while_others_read") {
        let graveyard = Arc::new(Graveyard::default());
        for seed in 1..10 {
            let builder = Reader::builder(&options(engine));
            let reader = builder.wrap(faults(seed).wrap()).start().unwrap();
            let file = reader.open(sample.file.path()).unwrap();
            let start = Barrier::new(3);
            thread::scope(|scope| {
                for _ in 0..2 {
                    let (reader, file) = (reader.clone(), &file);
                    let (start, graveyard) = (&start, &graveyard);
                    scope.spawn(move || {
                        let buffer = Guarded::new(BUFFER, graveyard);
                        let read = reader.read(file, 0, buffer);
                        drop(reader);
                        start.wait();
                        drop(block_on(read));
                    });
                }
                start.wait();
                drop(reader);
            });
        }
        assert_eq!(graveyard.count(), 18);
        graveyard.check();
    }
}

#[test]
fn reads_of_a_scan_may_be_dropped_after_any_number_of_them() {
    let sample = Sample::new(LENGTH);
    for engine in engines("cancel::reads_of_a_scan_may_be_dropped_after_any_number_of_them") {
        for taken in 0..9 {
            let builder = Reader::builder(&options(engine));
            let reader = builder.wrap(survivable(taken).wrap()).start().unwrap();
            let file = reader.open(sample.file.path()).unwrap();
            let limited = Limited::new(u64::MAX);
            let charge: Arc<dyn Charge> = Arc::<Limited>::clone(&limited);
            let buffers = Buffers::new(charge, 300_000);
            let range = |at: u64| at * 100_000..(at + 1) * 100_000;
            let mut reads: Vec<_> =
                (0..8).map(|at| reader.read_range(&file, &range(at), &buffers).unwrap()).collect();
            for (at, read) in reads.drain(..usize::try_from(taken.min(8)).unwrap()).enumerate() {
                let expected = &sample.bytes[at * 100_000..][..100_000];
                assert!(block_on(read).unwrap() == expected);
            }
            // In the middle of a wait too.
            if let Some(read) = reads.first_mut() {
                drop(poll_once(read));
            }
            drop((reads, reader, buffers));
            assert_eq!(limited.left(), u64::MAX, "all memory was given back");
        }
    }
}

/// Whether nothing has `locked` open any more, which the system knows by its lock.
fn is_closed(sample: &Sample) -> bool {
    let other = StdFile::open(sample.file.path()).unwrap();
    // SAFETY: it has no effect on memory.
    unsafe { libc::flock(other.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) == 0 }
}

#[test]
fn closed_file_is_not_kept_open() {
    let sample = Sample::new(LENGTH);
    for engine in engines("cancel::closed_file_is_not_kept_open") {
        let reader = Reader::new(&Options { direct: Direct::Never, ..options(engine) }).unwrap();
        for is_local in [false, true] {
            sample.make_cold();
            let locked = StdFile::open(sample.file.path()).unwrap();
            // SAFETY: it has no effect on memory.
            assert_eq!(unsafe { libc::flock(locked.as_raw_fd(), libc::LOCK_EX) }, 0);
            let file = File::from_std(sample.file.path(), locked);
            let mut local = reader.local().unwrap();
            if is_local {
                assert!(local.read_ranges(&file, &one(0..10)).is_ok());
            } else {
                assert!(reader.read_ranges_blocking(&file, &one(0..10)).is_ok());
            }
            assert!(!is_closed(&sample));
            drop(file);
            // The shared reader does it by itself, in a moment.
            let mut is_over = || {
                local.poll();
                thread::yield_now();
                is_closed(&sample)
            };
            assert!((0..1_000_000).any(|_| is_over()), "{engine:?}, local: {is_local}");
        }
    }
}
