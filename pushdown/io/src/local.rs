// SPDX-License-Identifier: Apache-2.0
//! Implements the reader of one thread at a time, with a ring of its own.
//!
//! Requests are sent and completions reaped by the thread that calls: no other thread is woken.
//! Between calls nothing is sent, so what was begun beyond the queue's depth waits for the next
//! call. It can be moved between threads.

use std::{ops::Range, sync::Arc};

use bytes::Bytes;

use crate::{
    backend::Wait,
    begin,
    driver::Driver,
    engine::{Found, Parts},
    error::{Error, Failed},
    file::File,
    inbox::Inbox,
    interrupt::Interrupt,
    options::{Options, Report},
    orders::{Orders, Start},
    piece::Wanted,
    pool::Pool,
    ranges,
    ring::Issuer,
    slot::Pending,
    target::{Aligned, Target},
};

/// Reads files for one thread at a time.
#[derive(Debug)]
pub struct Local {
    /// Dropped before the pool, which its ring has registered.
    driver: Driver,
    inbox: Arc<Inbox>,
    parts: LocalParts,
}

/// What lasts as long as the ring.
#[derive(Debug)]
struct LocalParts {
    options: Options,
    found: Found,
    _pool: Option<Pool>,
}

/// Nobody waits while orders are given: the same thread does both.
#[derive(Debug)]
struct NoInterrupt;

impl Interrupt for NoInterrupt {
    fn interrupt(&self) {}
}

impl Local {
    pub(crate) fn new(mut parts: Parts) -> Result<Self, Error> {
        let (backend, found) = parts.make(Issuer::AnyThread)?;
        let driver = Driver::new(backend, parts.options.queue_depth);
        let inbox = Inbox::new(Arc::new(NoInterrupt));
        let parts = LocalParts { options: parts.options, found, _pool: parts.pool };
        Ok(Self { driver, inbox, parts })
    }

    /// What it got: that of its own ring.
    #[must_use]
    pub fn report(&self) -> Report {
        self.parts.found.report()
    }

    /// Begins to fill `target` with the bytes at `offset`, and sends the requests at once.
    pub fn begin<T: Target>(&mut self, file: &File, offset: u64, target: T) -> Pending<T> {
        let pending = self.queue(file, offset, target);
        self.poll();
        pending
    }

    /// The same, but what cannot be served from the cache is sent with the next call that waits,
    /// polls or begins: one call of the system for many reads.
    pub fn queue<T: Target>(&mut self, file: &File, offset: u64, target: T) -> Pending<T> {
        let wanted = Wanted { file, offset, bytes: target.length() };
        let (pending, start) = begin::read(&self.parts.options, &self.inbox, wanted, target);
        self.queue_starts(start.into_iter().collect());
        pending
    }

    /// Waits for a read that this reader has begun. One that another has begun is cancelled.
    ///
    /// # Errors
    /// [`Failed`] with the buffer.
    pub fn wait<T: Target>(&mut self, mut pending: Pending<T>) -> Result<T, Failed<T>> {
        loop {
            if let Some(result) = pending.take() {
                return result;
            }
            self.take_orders();
            if self.driver.is_idle() {
                return Err(Failed { error: Error::Closed, target: None });
            }
            self.driver.turn(Wait::ForOne);
        }
    }

    /// Fills `target` with the bytes at `offset`.
    ///
    /// # Errors
    /// [`Failed`] with the buffer.
    pub fn read<T: Target>(&mut self, file: &File, offset: u64, target: T) -> Result<T, Failed<T>> {
        let pending = self.queue(file, offset, target);
        self.wait(pending)
    }

    /// Reads ranges; the bytes come in the order of the ranges. Near ranges share memory.
    ///
    /// # Errors
    /// That of the first range that failed.
    pub fn read_ranges(&mut self, file: &File, ranges: &[Range<u64>]) -> Result<Vec<Bytes>, Error> {
        let spans = ranges::join(ranges, self.parts.options.gap_bytes)?;
        let mut starts = Vec::new();
        let mut reads = Vec::with_capacity(spans.spans.len());
        for span in &spans.spans {
            let begun = begin::range(&self.parts.options, &self.inbox, file, span, Aligned::new)?;
            let (pending, place, start) = begun;
            reads.push((pending, place));
            starts.extend(start);
        }
        self.queue_starts(starts);
        let mut buffers = Vec::with_capacity(reads.len());
        for (pending, place) in reads {
            buffers.push(begin::bytes(self.wait(pending), place)?);
        }
        Ok(spans.cut(ranges, &buffers))
    }

    /// Sends what was begun and takes what has ended, without waiting.
    pub fn poll(&mut self) {
        self.take_orders();
        self.driver.turn(Wait::Never);
    }

    fn queue_starts(&mut self, starts: Vec<Start>) {
        if !starts.is_empty() {
            self.driver.take(Orders { starts, ..Orders::default() });
        }
    }

    /// Reads that were dropped are cancelled.
    fn take_orders(&mut self) {
        let orders = self.inbox.take();
        self.driver.take(orders);
    }
}
