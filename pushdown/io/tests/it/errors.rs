// SPDX-License-Identifier: Apache-2.0
//! Checks that a read that cannot give all of its bytes says so, where it went wrong, and gives the
//! buffer back.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use futures::executor::block_on;
use nearscan_io::{
    Access, Aligned, Backend, Direct, Done, Error, File, Interrupt, Options, Reader, Request, Wait,
    faults::Faults,
};

use crate::helpers::{Sample, engines, one};

const LENGTH: usize = (1 << 20) + 77;

#[test]
fn range_past_the_end_is_an_error() {
    let sample = Sample::new(LENGTH);
    for engine in engines("errors::range_past_the_end_is_an_error") {
        for direct in [Direct::Auto, Direct::Never, Direct::Always] {
            let reader = Reader::new(&Options { engine, direct, ..Options::default() }).unwrap();
            let file = reader.open(sample.file.path()).unwrap();
            let length = sample.length();
            for range in [0..length + 1, length - 5..length + 5, length..length + 1] {
                sample.make_cold();
                match reader.read_ranges_blocking(&file, std::slice::from_ref(&range)) {
                    Err(Error::End { path, end, .. }) => {
                        assert_eq!(
                            (path.as_path(), end),
                            (sample.file.path(), length),
                            "{range:?}"
                        );
                    }
                    other => panic!("{other:?} for {range:?}"),
                }
            }
            let far = reader.read_ranges_blocking(&file, &one(1 << 40..(1 << 40) + 10));
            assert!(matches!(far, Err(Error::End { .. })), "{far:?}");
            let beyond = reader.read_ranges_blocking(&file, &one(u64::MAX - 10..u64::MAX));
            assert!(beyond.is_err(), "{beyond:?}");
            let last = reader.read_ranges_blocking(&file, &one(length - 5..length)).unwrap();
            assert!(last[0] == sample.bytes[LENGTH - 5..]);
        }
    }
}

#[test]
fn file_that_was_cut_off_is_an_error() {
    let sample = Sample::new(LENGTH);
    for engine in engines("errors::file_that_was_cut_off_is_an_error") {
        let reader = Reader::new(&Options { engine, ..Options::default() }).unwrap();
        let file = reader.open(sample.file.path()).unwrap();
        sample.file.as_file().set_len(500_000).unwrap();
        let failed = block_on(reader.read(&file, 0, vec![0; LENGTH])).unwrap_err();
        assert!(matches!(failed.error, Error::End { end: 500_000, .. }), "{:?}", failed.error);
        assert_eq!(failed.target.map(|target| target.len()), Some(LENGTH));
        sample.file.as_file().set_len(sample.length()).unwrap();
        assert!(block_on(reader.read(&file, 0, vec![0; LENGTH])).is_ok());
    }
}

#[test]
fn failure_of_any_request_is_reported_with_its_place() {
    let sample = Sample::new(LENGTH);
    for engine in engines("errors::failure_of_any_request_is_reported_with_its_place") {
        let (mut failures, mut reads) = (0, 0);
        for seed in 0..40 {
            let faults =
                Faults { seed, failing: 20, errno: libc::EIO, short: 50, ..Faults::default() };
            let options = Options {
                engine,
                direct: Direct::Always,
                request_bytes: 64 << 10,
                queue_depth: 4,
                ..Options::default()
            };
            let reader = Reader::builder(&options).wrap(faults.wrap()).start().unwrap();
            let file = reader.open(sample.file.path()).unwrap();
            match reader.read_ranges_blocking(&file, &one(100..700_000)) {
                Ok(found) => assert!(found[0] == sample.bytes[100..700_000], "seed {seed}"),
                Err(Error::Read { path, offset, length, source }) => {
                    assert_eq!(source.raw_os_error(), Some(libc::EIO));
                    assert_eq!(path, sample.file.path());
                    assert!(offset + length <= 700_000 && length <= 64 << 10, "seed {seed}");
                    failures += 1;
                }
                Err(other) => panic!("{other:?} of seed {seed}"),
            }
            reads += 1;
            // It still reads what does not fail.
            let again = (0..100).find_map(|_| reader.read_blocking(&file, 8, vec![0; 100]).ok());
            assert!(again.unwrap() == sample.bytes[8..108], "seed {seed}");
        }
        assert!(failures > 0 && failures < reads, "{failures} of {reads} failed");
    }
}

#[test]
fn request_that_is_interrupted_for_ever_ends() {
    let sample = Sample::new(LENGTH);
    let faults = Faults { interrupted: 255, ..Faults::default() };
    let options = Options { direct: Direct::Always, ..Options::default() };
    let reader = Reader::builder(&options).wrap(faults.wrap()).start().unwrap();
    let file = reader.open(sample.file.path()).unwrap();
    let failed = reader.read_ranges_blocking(&file, &one(0..100));
    assert!(matches!(failed, Err(Error::Read { .. })), "{failed:?}");
}

/// Refuses direct reads, as some file systems do that open a file with `O_DIRECT`.
#[derive(Debug)]
struct NoDirect {
    inner: Box<dyn Backend>,
    refused: Vec<u64>,
    count: Arc<AtomicUsize>,
}

// SAFETY: requests that are refused are not sent, and the inner backend keeps to the contract.
unsafe impl Backend for NoDirect {
    unsafe fn submit(&mut self, request: Request) -> io::Result<()> {
        if request.access == Access::Direct {
            self.refused.push(request.token);
            self.count.fetch_add(1, Ordering::SeqCst);
            return Ok(());
        }
        // SAFETY: the caller's.
        unsafe { self.inner.submit(request) }
    }

    fn reap(&mut self, wait: Wait, done: &mut Vec<Done>) -> io::Result<()> {
        let wait = if self.refused.is_empty() { wait } else { Wait::Never };
        let refused = || Err(io::Error::from_raw_os_error(libc::EINVAL));
        done.extend(self.refused.drain(..).map(|token| Done { token, result: refused() }));
        self.inner.reap(wait, done)
    }

    fn cancel(&mut self, token: u64) {
        self.inner.cancel(token);
    }

    fn interrupt(&self) -> Arc<dyn Interrupt> {
        self.inner.interrupt()
    }
}

#[test]
fn direct_reads_that_are_refused_are_buffered() {
    let sample = Sample::new(LENGTH);
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let builder = Reader::builder(&Options { direct: Direct::Always, ..Options::default() });
    let reader = builder.wrap(Arc::new(move |inner| {
        Box::new(NoDirect { inner, refused: Vec::new(), count: Arc::clone(&counted) })
    }));
    let reader = reader.start().unwrap();
    let file = reader.open(sample.file.path()).unwrap();
    let found = reader.read_ranges_blocking(&file, &one(10..LENGTH as u64)).unwrap();
    assert!(found[0] == sample.bytes[10..]);
    assert_eq!(count.load(Ordering::SeqCst) > 0, file.has_direct());
}

/// Breaks down at the first request that it is given.
#[derive(Debug)]
struct Broken {
    inner: Box<dyn Backend>,
    is_broken: bool,
}

// SAFETY: as the inner backend, which waits for its requests when it is dropped.
unsafe impl Backend for Broken {
    unsafe fn submit(&mut self, request: Request) -> io::Result<()> {
        self.is_broken = true;
        // SAFETY: the caller's.
        unsafe { self.inner.submit(request) }
    }

    fn reap(&mut self, wait: Wait, done: &mut Vec<Done>) -> io::Result<()> {
        if self.is_broken {
            return Err(io::Error::other("it broke down"));
        }
        self.inner.reap(wait, done)
    }

    fn cancel(&mut self, token: u64) {
        self.inner.cancel(token);
    }

    fn interrupt(&self) -> Arc<dyn Interrupt> {
        self.inner.interrupt()
    }
}

#[test]
fn broken_engine_ends_every_read_and_keeps_memory_that_it_may_write_to() {
    let sample = Sample::new(LENGTH);
    for engine in
        engines("errors::broken_engine_ends_every_read_and_keeps_memory_that_it_may_write_to")
    {
        let options =
            Options { engine, direct: Direct::Always, queue_depth: 1, ..Options::default() };
        let wrap = |inner| Box::new(Broken { inner, is_broken: false }) as Box<dyn Backend>;
        let reader = Reader::builder(&options).wrap(Arc::new(wrap)).start().unwrap();
        let file = reader.open(sample.file.path()).unwrap();
        let buffer = || Aligned::new(8192).unwrap();
        let failed = reader.read_blocking(&file, 0, buffer()).unwrap_err();
        assert!(matches!(failed.error, Error::Engine { .. }), "{:?}", failed.error);
        assert!(failed.target.is_none(), "the kernel may write to it");
        let failed = reader.read_blocking(&file, 0, buffer()).unwrap_err();
        assert!(matches!(failed.error, Error::Engine { .. }), "{:?}", failed.error);
        assert!(failed.target.is_some());
    }
}

#[test]
fn missing_file_is_an_error_with_its_path() {
    let missing = File::open("no/such/file");
    match missing {
        Err(error @ Error::Open { .. }) => {
            assert_eq!(error.to_string(), "no/such/file cannot be opened");
            assert!(error.detail().unwrap().contains("No such file"), "{error:?}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn folder_cannot_be_read() {
    let folder = tempfile::tempdir().unwrap();
    for engine in engines("errors::folder_cannot_be_read") {
        let reader = Reader::new(&Options { engine, ..Options::default() }).unwrap();
        let file = reader.open(folder.path()).unwrap();
        let failed = reader.read_ranges_blocking(&file, &one(0..10));
        assert!(matches!(failed, Err(Error::Read { .. })), "{failed:?}");
    }
}
