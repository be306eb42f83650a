// SPDX-License-Identifier: Apache-2.0
//! Carries requests by `io_uring`.
//!
//! # Invariants
//!
//! - The ring is dropped only after each request's completion was seen, so that the kernel writes
//!   to no memory of ours any more. A ring that cannot be waited for is not dropped: its thread
//!   stops there.
//! - Where the kernel runs completions on the thread that waits ([`Issuer::OneThread`]), no other
//!   thread uses the ring.

mod registers;
mod setup;

use std::{
    io,
    os::fd::{AsFd, AsRawFd, OwnedFd},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use io_uring::{IoUring, cqueue, opcode, squeue, types};

use crate::{
    backend::{Backend, Done, Request, Wait},
    file::Access,
    interrupt::Interrupt,
    options::Options,
    pool::Pool,
    sys,
};

use registers::Registers;
pub(crate) use setup::Facts;

/// Who may use a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Issuer {
    /// The thread that makes it, which can be interrupted.
    OneThread,
    /// Any thread, one at a time.
    AnyThread,
}

/// Tokens of the ring's own requests, beyond those of reads.
const EVENT: u64 = u64::MAX;
const CANCEL: u64 = u64::MAX - 1;

/// A ring, with a second one for direct reads whose device is polled.
pub(crate) struct Ring {
    main: Half,
    polled: Option<Half>,
    event: Arc<Event>,
    /// Whether the ring waits for the event.
    is_armed: bool,
    /// Whether it ever does.
    has_interrupt: bool,
    /// Requests in the polled ring, which are repeated in the main one if it turns out that the
    /// device cannot be polled.
    polled_requests: Vec<Request>,
    is_iopoll_refused: Arc<AtomicBool>,
}

/// One ring of the kernel.
pub(super) struct Half {
    ring: IoUring,
    in_flight: usize,
    registers: Registers,
}

impl std::fmt::Debug for Ring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ring")
            .field("in_flight", &self.main.in_flight)
            .field("polled_in_flight", &self.polled.as_ref().map(|half| half.in_flight))
            .finish_non_exhaustive()
    }
}

/// The kernel's name of a file.
enum Handle {
    Open(types::Fd),
    /// A place in the ring's table.
    Slot(types::Fixed),
}

/// Wakes a ring.
#[derive(Debug)]
struct Event(OwnedFd);

impl Interrupt for Event {
    fn interrupt(&self) {
        sys::raise(self.0.as_fd());
    }
}

impl Ring {
    /// Sets up what kernel and limits admit.
    ///
    /// # Errors
    /// A sentence that says why there is no ring.
    pub(crate) fn new(
        options: &Options,
        issuer: Issuer,
        pool: Option<&Pool>,
    ) -> Result<(Self, Facts), String> {
        let (main, mut facts) = setup::main(options, issuer, pool)?;
        let polled = setup::polled(options, &mut facts);
        let event = sys::event_fd().map_err(|error| format!("eventfd: {error}"))?;
        let ring = Self {
            main,
            polled,
            event: Arc::new(Event(event)),
            is_armed: false,
            has_interrupt: issuer == Issuer::OneThread,
            polled_requests: Vec::new(),
            is_iopoll_refused: Arc::clone(&facts.is_iopoll_refused),
        };
        Ok((ring, facts))
    }

    /// Has the ring notice the next interrupt.
    fn arm(&mut self) -> io::Result<()> {
        if self.is_armed || !self.has_interrupt {
            return Ok(());
        }
        let fd = types::Fd(self.event.0.as_raw_fd());
        let entry = opcode::PollAdd::new(fd, libc::POLLIN.cast_unsigned().into()).build();
        // SAFETY: the request has no memory, and the event is open for as long as the ring.
        unsafe { self.main.push(&entry.user_data(EVENT)) }?;
        self.is_armed = true;
        Ok(())
    }

    /// Takes one completion of the main ring.
    fn complete(&mut self, entry: &cqueue::Entry, done: &mut Vec<Done>) {
        match entry.user_data() {
            EVENT => {
                self.is_armed = false;
                sys::clear(self.event.0.as_fd());
            }
            CANCEL => {}
            token => {
                self.main.in_flight = self.main.in_flight.saturating_sub(1);
                done.push(Done { token, result: result(entry) });
            }
        }
    }

    /// Takes the completions of the polled ring; whether it is to be given up.
    fn complete_polled(&mut self, done: &mut Vec<Done>) -> io::Result<bool> {
        let Some(polled) = self.polled.as_mut() else { return Ok(false) };
        let mut is_refused = false;
        let entries: Vec<cqueue::Entry> = polled.ring.completion().collect();
        for entry in entries {
            polled.in_flight = polled.in_flight.saturating_sub(1);
            let token = entry.user_data();
            let place = self.polled_requests.iter().position(|request| request.token == token);
            let request = place.map(|place| self.polled_requests.swap_remove(place));
            let result = result(&entry);
            let refusal = result.as_ref().err().and_then(io::Error::raw_os_error);
            match (refusal, request) {
                (Some(libc::EOPNOTSUPP | libc::EINVAL), Some(request)) => {
                    is_refused = true;
                    // SAFETY: the memory is that of a request in flight, which this one still is.
                    unsafe { self.main.submit(&request, &self.event) }?;
                }
                _ => done.push(Done { token, result }),
            }
        }
        Ok(is_refused)
    }

    fn reap_polled(&mut self, done: &mut Vec<Done>) -> io::Result<()> {
        if let Some(polled) = &self.polled {
            ignore_busy(polled.ring.submit())?;
        }
        if self.complete_polled(done)? {
            self.give_up_polling(done)?;
        }
        Ok(())
    }

    /// Waits for what is in the polled ring, and has no such ring from then on.
    fn give_up_polling(&mut self, done: &mut Vec<Done>) -> io::Result<()> {
        while self.polled.as_ref().is_some_and(|half| half.in_flight > 0) {
            if let Some(half) = &self.polled {
                ignore_busy(half.ring.submit_and_wait(1))?;
            }
            self.complete_polled(done)?;
        }
        self.polled = None;
        self.is_iopoll_refused.store(true, Ordering::Relaxed);
        Ok(())
    }
}

impl Half {
    /// # Safety
    /// As [`Backend::submit`].
    unsafe fn submit(&mut self, request: &Request, event: &Arc<Event>) -> io::Result<()> {
        let handle = request.file.handle(request.access).as_raw_fd();
        let slot = self.registers.slot(&self.ring, request, event);
        let part = self.registers.part(request.memory.registered);
        let file =
            slot.map_or(Handle::Open(types::Fd(handle)), |slot| Handle::Slot(types::Fixed(slot)));
        let entry = entry(file, request, part);
        // SAFETY: the caller's.
        unsafe { self.push(&entry.user_data(request.token)) }?;
        self.in_flight += 1;
        Ok(())
    }

    /// Adds an entry; a full queue is sent first.
    ///
    /// # Safety
    /// The entry's memory is valid until its completion.
    unsafe fn push(&mut self, entry: &squeue::Entry) -> io::Result<()> {
        /// Far more often than the kernel was ever seen to be busy.
        const ATTEMPTS_MAX: usize = 1 << 16;
        for _ in 0..ATTEMPTS_MAX {
            // SAFETY: the caller's.
            if unsafe { self.ring.submission().push(entry) }.is_ok() {
                return Ok(());
            }
            ignore_busy(self.ring.submit())?;
            if self.ring.params().is_setup_sqpoll() {
                self.ring.submitter().squeue_wait()?;
            }
        }
        Err(io::Error::other("the kernel takes no requests"))
    }
}

/// The system's request for a read.
fn entry(file: Handle, request: &Request, part: Option<u16>) -> squeue::Entry {
    let (memory, offset) = (request.memory, request.offset);
    let (pointer, length) = (memory.pointer, memory.length);
    match (file, part) {
        (Handle::Slot(slot), Some(part)) => {
            opcode::ReadFixed::new(slot, pointer, length, part).offset(offset).build()
        }
        (Handle::Open(fd), Some(part)) => {
            opcode::ReadFixed::new(fd, pointer, length, part).offset(offset).build()
        }
        (Handle::Slot(slot), None) => {
            opcode::Read::new(slot, pointer, length).offset(offset).build()
        }
        (Handle::Open(fd), None) => opcode::Read::new(fd, pointer, length).offset(offset).build(),
    }
}

fn result(entry: &cqueue::Entry) -> io::Result<u32> {
    u32::try_from(entry.result()).map_err(|_| io::Error::from_raw_os_error(-entry.result()))
}

/// A signal, or completions that have to be taken first, are no failure of a ring.
fn ignore_busy(result: io::Result<usize>) -> io::Result<()> {
    match result {
        Ok(_) => Ok(()),
        Err(error) => match error.raw_os_error() {
            Some(libc::EINTR | libc::EAGAIN | libc::EBUSY | libc::ETIME) => Ok(()),
            _ => Err(error),
        },
    }
}

// SAFETY: a completion is the kernel's word that it has let go of the memory, and `drop` waits for
// all of them.
unsafe impl Backend for Ring {
    unsafe fn submit(&mut self, request: Request) -> io::Result<()> {
        match self.polled.as_mut() {
            Some(polled) if request.access == Access::Direct => {
                // SAFETY: the caller's.
                unsafe { polled.submit(&request, &self.event) }?;
                self.polled_requests.push(request);
                Ok(())
            }
            // SAFETY: the caller's.
            _ => unsafe { self.main.submit(&request, &self.event) },
        }
    }

    fn reap(&mut self, wait: Wait, done: &mut Vec<Done>) -> io::Result<()> {
        let before = done.len();
        let is_polling = self.polled.as_ref().is_some_and(|half| half.in_flight > 0);
        if is_polling {
            self.reap_polled(done)?;
        }
        self.main.registers.release_closed(&self.main.ring);
        if wait == Wait::ForOne {
            self.arm()?;
        }
        let still_polling = self.polled.as_ref().is_some_and(|half| half.in_flight > 0);
        let is_waiting = wait == Wait::ForOne
            && done.len() == before
            && !still_polling
            && (self.main.in_flight > 0 || self.has_interrupt);
        ignore_busy(self.main.ring.submit_and_wait(usize::from(is_waiting)))?;
        let entries: Vec<cqueue::Entry> = self.main.ring.completion().collect();
        for entry in entries {
            self.complete(&entry, done);
        }
        Ok(())
    }

    fn cancel(&mut self, token: u64) {
        // A polled request ends soon by itself.
        let entry = opcode::AsyncCancel::new(token).build().user_data(CANCEL);
        // SAFETY: the request has no memory. If it cannot be sent, the read ends by itself.
        drop(unsafe { self.main.push(&entry) });
    }

    fn interrupt(&self) -> Arc<dyn Interrupt> {
        Arc::<Event>::clone(&self.event)
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        let mut done = Vec::new();
        let mut is_broken = false;
        while !is_broken
            && (self.main.in_flight > 0
                || self.polled.as_ref().is_some_and(|half| half.in_flight > 0))
        {
            is_broken = self.reap(Wait::ForOne, &mut done).is_err();
            done.clear();
        }
        if is_broken {
            // The kernel may still write to memory that is freed after this: it never is.
            loop {
                std::thread::park();
            }
        }
    }
}
