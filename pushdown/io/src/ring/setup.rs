// SPDX-License-Identifier: Apache-2.0
//! Makes a ring of what the kernel, its filters and the limits of the process admit.
//!
//! The kernel is asked, never its version: a filter of system calls, as containers have, refuses
//! what the version promises.

use std::{
    io,
    sync::{Arc, atomic::AtomicBool},
};

use io_uring::{IoUring, Probe, opcode};

use super::{Half, Issuer, Registers};
use crate::{
    options::{Feature, Options, Polling},
    pool::Pool,
    sys,
};

/// What a ring has.
#[derive(Debug, Clone)]
pub(crate) struct Facts {
    pub(crate) reason: String,
    pub(crate) registered_buffers: Feature,
    pub(crate) registered_files: Feature,
    pub(crate) sqpoll: Feature,
    pub(crate) iopoll: Feature,
    /// Set once the device turns out not to be polled, which its first read shows.
    pub(crate) is_iopoll_refused: Arc<AtomicBool>,
}

/// The kernel's thread that polls sleeps after this time without a request.
const SQPOLL_IDLE_MS: u32 = 50;

/// The operations that are used.
const OPERATIONS: &[(&str, u8)] = &[
    ("READ", opcode::Read::CODE),
    ("READ_FIXED", opcode::ReadFixed::CODE),
    ("ASYNC_CANCEL", opcode::AsyncCancel::CODE),
    ("POLL_ADD", opcode::PollAdd::CODE),
];

/// How completions reach the thread, from the cheapest on.
#[derive(Debug, Clone, Copy)]
enum Mode {
    /// When it waits, without any lock (Linux 6.1).
    Deferred,
    /// When it enters the kernel (Linux 5.19).
    Cooperative,
    /// At any time.
    Plain,
    /// A thread of the kernel polls for requests.
    Sqpoll,
}

/// The main ring.
pub(super) fn main(
    options: &Options,
    issuer: Issuer,
    pool: Option<&Pool>,
) -> Result<(Half, Facts), String> {
    let (sqpoll_wanted, mut sqpoll) = sqpoll(options);
    let modes: &[Mode] = match (sqpoll_wanted, issuer) {
        (true, _) => &[Mode::Sqpoll, Mode::Plain],
        // Completions of requests that a thread sent go to that thread. It takes them at once only
        // without `COOP_TASKRUN`, and the next call may come from another thread.
        (false, Issuer::AnyThread) => &[Mode::Plain],
        (false, Issuer::OneThread) => &[Mode::Deferred, Mode::Cooperative, Mode::Plain],
    };
    let (ring, mode) = build(options, modes)?;
    if sqpoll_wanted && !matches!(mode, Mode::Sqpoll) {
        sqpoll = Feature::off("the kernel refuses IORING_SETUP_SQPOLL");
    }
    check_operations(&ring)?;
    let (registered_files, files) = register_files(&ring, options);
    let (registered_buffers, pool) = register_buffers(&ring, pool);
    let facts = Facts {
        reason: format!("the kernel has io_uring, {}", name(mode)),
        registered_buffers,
        registered_files,
        sqpoll,
        iopoll: Feature::off("not asked for"),
        is_iopoll_refused: Arc::default(),
    };
    Ok((Half { ring, in_flight: 0, registers: Registers::new(pool, files) }, facts))
}

/// The ring for direct reads of a polled device.
pub(super) fn polled(options: &Options, facts: &mut Facts) -> Option<Half> {
    if options.iopoll == Polling::Off {
        return None;
    }
    let ring = IoUring::builder().setup_iopoll().setup_clamp().build(entries(options));
    match ring {
        Ok(ring) => {
            facts.iopoll = Feature::On;
            Some(Half { ring, in_flight: 0, registers: Registers::default() })
        }
        Err(error) => {
            facts.iopoll = Feature::off(format!("the kernel refuses IORING_SETUP_IOPOLL: {error}"));
            None
        }
    }
}

fn sqpoll(options: &Options) -> (bool, Feature) {
    match options.sqpoll {
        Polling::Off => (false, Feature::off("not asked for")),
        Polling::On => (true, Feature::On),
    }
}

fn entries(options: &Options) -> u32 {
    // The event and cancellations are beside the reads.
    (options.queue_depth + 2).next_power_of_two()
}

fn build(options: &Options, modes: &[Mode]) -> Result<(IoUring, Mode), String> {
    let mut last = io::Error::from_raw_os_error(libc::ENOSYS);
    for mode in modes {
        let mut builder = IoUring::builder();
        builder.setup_clamp().setup_submit_all().dontfork();
        match mode {
            Mode::Deferred => {
                builder.setup_single_issuer().setup_defer_taskrun().setup_taskrun_flag();
                // The kernel has the flag for rings with `DEFER_TASKRUN` or `COOP_TASKRUN`.
            }
            Mode::Cooperative => {
                builder.setup_coop_taskrun().setup_taskrun_flag();
            }
            Mode::Plain => {}
            Mode::Sqpoll => {
                builder.setup_sqpoll(SQPOLL_IDLE_MS);
            }
        }
        match builder.build(entries(options)) {
            Ok(ring) => return Ok((ring, *mode)),
            Err(error) => last = error,
        }
    }
    // Before Linux 5.18 there was no `SUBMIT_ALL`; without it the ring works as well.
    IoUring::builder()
        .setup_clamp()
        .dontfork()
        .build(entries(options))
        .map(|ring| (ring, Mode::Plain))
        .map_err(|_| refusal(&last))
}

/// Why there is no ring, in words.
fn refusal(error: &io::Error) -> String {
    let cause = match error.raw_os_error() {
        Some(libc::ENOSYS) => "the kernel has none, or a filter of system calls hides it",
        Some(libc::EPERM | libc::EACCES) => {
            "it is forbidden, by a filter of system calls or kernel.io_uring_disabled"
        }
        Some(libc::ENOMEM) => "its memory is beyond RLIMIT_MEMLOCK",
        Some(libc::EMFILE | libc::ENFILE) => "too many files are open",
        _ => "io_uring_setup failed",
    };
    format!("{cause} ({error})")
}

fn name(mode: Mode) -> &'static str {
    match mode {
        Mode::Deferred => "with DEFER_TASKRUN",
        Mode::Cooperative => "with COOP_TASKRUN",
        Mode::Plain => "without deferred completions",
        Mode::Sqpoll => "with SQPOLL",
    }
}

fn check_operations(ring: &IoUring) -> Result<(), String> {
    let mut probe = Probe::new();
    ring.submitter()
        .register_probe(&mut probe)
        .map_err(|error| format!("the kernel does not say what its ring can do ({error})"))?;
    match OPERATIONS.iter().find(|(_, code)| !probe.is_supported(*code)) {
        Some((name, _)) => Err(format!("the kernel's ring cannot do {name}")),
        None => Ok(()),
    }
}

fn register_files(ring: &IoUring, options: &Options) -> (Feature, usize) {
    if options.registered_files == 0 {
        return (Feature::off("not asked for"), 0);
    }
    match ring.submitter().register_files_sparse(options.registered_files) {
        Ok(()) => (Feature::On, usize::try_from(options.registered_files).unwrap_or(0)),
        Err(error) => (Feature::off(format!("the kernel refuses them: {error}")), 0),
    }
}

fn register_buffers(ring: &IoUring, pool: Option<&Pool>) -> (Feature, Option<u64>) {
    let Some(pool) = pool else { return (Feature::off("there is no pool of buffers"), None) };
    let parts = pool.parts();
    // SAFETY: the ring of a reader is dropped before the pool, which the reader holds.
    match unsafe { ring.submitter().register_buffers(&parts) } {
        Ok(()) => (Feature::On, Some(pool.number())),
        Err(error) if error.raw_os_error() == Some(libc::ENOMEM) => {
            let limit = sys::locked_memory_max()
                .map_or_else(|| "no limit".to_owned(), |bytes| format!("{bytes} bytes"));
            let needed = pool.bytes();
            let reason = format!("{needed} bytes cannot be pinned, RLIMIT_MEMLOCK has {limit}");
            (Feature::off(reason), None)
        }
        Err(error) => (Feature::off(format!("the kernel refuses them: {error}")), None),
    }
}
