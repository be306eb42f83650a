// SPDX-License-Identifier: Apache-2.0
//! Checks that reads go on where the kernel refuses a ring, and that the reason is told: a filter
//! of system calls is put on one thread, as containers put it on all.

use std::thread;

use nearscan_io::{Direct, Engine, Error, Feature, Options, Polling, Reader};

use crate::helpers::{Sample, cache_only, engines, has_ring, one};

const IO_URING_SETUP: u32 = 425;
const CACHESTAT: u32 = 451;

/// Forbids this thread, and those that it starts, a system call; false if that cannot be.
fn forbid(call: u32, errno: u32) -> bool {
    const LOAD: u16 = 0x20;
    const IF_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    const ALLOW: u32 = 0x7fff_0000;
    const ERROR: u32 = 0x0005_0000;
    let filter = [
        libc::sock_filter { code: LOAD, jt: 0, jf: 0, k: 0 },
        libc::sock_filter { code: IF_EQUAL, jt: 0, jf: 1, k: call },
        libc::sock_filter { code: RETURN, jt: 0, jf: 0, k: ERROR | errno },
        libc::sock_filter { code: RETURN, jt: 0, jf: 0, k: ALLOW },
    ];
    let program = libc::sock_fprog {
        len: u16::try_from(filter.len()).unwrap(),
        filter: filter.as_ptr().cast_mut(),
    };
    // SAFETY: it has no effect on memory.
    let result = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    // SAFETY: the program outlives the call, which copies it.
    result == 0
        && unsafe {
            libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program)
        } == 0
}

fn refused(test: &str, errno: i32, expected: &str) {
    let sample = Sample::new(1 << 20);
    let errno = u32::try_from(errno).unwrap();
    let is_forbidden = thread::scope(|scope| {
        let filtered = || {
            if !forbid(IO_URING_SETUP, errno) {
                return false;
            }
            let reader = Reader::new(&Options::default()).unwrap();
            let report = reader.report();
            assert_eq!(report.engine, Engine::Pread);
            assert!(report.reason.contains(expected), "{}", report.reason);
            assert!(!report.registered_files.is_on() && !report.registered_buffers.is_on());
            let file = reader.open(sample.file.path()).unwrap();
            sample.make_cold();
            let found = reader.read_ranges_blocking(&file, &one(5..900_000)).unwrap();
            assert!(found[0] == sample.bytes[5..900_000]);
            let found = reader.local().unwrap().read(&file, 7, vec![0; 5000]).unwrap();
            assert!(found == sample.bytes[7..5007]);
            let named = Reader::new(&Options { engine: Engine::IoUring, ..Options::default() });
            match named {
                Err(error @ Error::Ring { .. }) => {
                    assert!(error.detail().unwrap().contains(expected) && error.hint().is_some());
                }
                other => panic!("{other:?}"),
            }
            true
        };
        scope.spawn(filtered).join().unwrap()
    });
    if !is_forbidden {
        nearscan_skip::skip(test, "this thread may not filter its system calls");
    }
}

#[test]
fn forbidden_ring_is_replaced_by_pread() {
    refused("fallback::forbidden_ring_is_replaced_by_pread", libc::EPERM, "it is forbidden");
}

#[test]
fn missing_ring_is_replaced_by_pread() {
    refused("fallback::missing_ring_is_replaced_by_pread", libc::ENOSYS, "the kernel has none");
}

#[test]
fn ring_beyond_the_limit_of_memory_is_replaced_by_pread() {
    refused(
        "fallback::ring_beyond_the_limit_of_memory_is_replaced_by_pread",
        libc::ENOMEM,
        "RLIMIT_MEMLOCK",
    );
}

#[test]
fn cache_that_cannot_be_asked_is_tried() {
    let sample = Sample::new(1 << 20);
    let reader = Reader::new(&Options::default()).unwrap();
    let is_forbidden = thread::scope(|scope| {
        let filtered = || {
            if !forbid(CACHESTAT, u32::try_from(libc::EPERM).unwrap()) {
                return false;
            }
            let file = reader.open(sample.file.path()).unwrap();
            sample.make_cold();
            for _ in 0..3 {
                let found = reader.read_ranges_blocking(&file, &one(5..900_000)).unwrap();
                assert!(found[0] == sample.bytes[5..900_000]);
            }
            if !sample.tells_cached() {
                return true;
            }
            // Once another program has read it, it is served from the cache.
            assert_eq!(std::fs::read(sample.file.path()).unwrap().len(), 1 << 20);
            let found = cache_only().read_ranges_blocking(&file, &one(0..1 << 20)).unwrap();
            assert!(found[0] == sample.bytes);
            true
        };
        scope.spawn(filtered).join().unwrap()
    });
    if !is_forbidden {
        let test = "fallback::cache_that_cannot_be_asked_is_tried";
        nearscan_skip::skip(test, "this thread may not filter its system calls");
    }
}

#[test]
fn report_says_what_there_is_and_why() {
    for engine in engines("fallback::report_says_what_there_is_and_why") {
        let options = Options { engine, queue_depth: 7, ..Options::default() };
        let report = Reader::new(&options).unwrap().report();
        assert_eq!((report.engine, report.queue_depth), (engine, 7));
        assert_eq!(report.request_bytes, 1 << 20);
        assert!(!report.reason.is_empty());
        assert!(!report.sqpoll.is_on() && !report.iopoll.is_on(), "they take a core");
        assert_eq!(report.registered_files.is_on(), engine == Engine::IoUring);
    }
    if has_ring() {
        let automatic = Reader::new(&Options::default()).unwrap();
        assert_eq!(automatic.report().engine, Engine::IoUring);
    }
}

fn some_device_is_polled() -> bool {
    let Ok(devices) = std::fs::read_dir("/sys/block") else { return true };
    devices.flatten().any(|device| {
        let polled = std::fs::read_to_string(device.path().join("queue/io_poll"));
        !polled.is_ok_and(|polled| polled.trim() == "0")
    })
}

#[test]
fn polling_gives_the_same_bytes_or_is_off_with_a_reason() {
    let sample = Sample::new(1 << 20);
    for (sqpoll, iopoll) in [(Polling::On, Polling::Off), (Polling::Off, Polling::On)] {
        let options = Options {
            sqpoll,
            iopoll,
            direct: Direct::Always,
            request_bytes: 64 << 10,
            ..Options::default()
        };
        let reader = Reader::new(&options).unwrap();
        let asked = || match sqpoll {
            Polling::On => reader.report().sqpoll,
            Polling::Off => reader.report().iopoll,
        };
        let file = reader.open(sample.file.path()).unwrap();
        for _ in 0..3 {
            sample.make_cold();
            let found = reader.read_ranges_blocking(&file, &one(5..900_000)).unwrap();
            assert!(found[0] == sample.bytes[5..900_000]);
        }
        if iopoll == Polling::On && file.has_direct() && !some_device_is_polled() {
            assert!(!asked().is_on(), "{:?}", reader.report());
        }
        if let Feature::Off { reason } = asked() {
            assert!(reason != "not asked for", "{:?}", reader.report());
        }
    }
}
