// SPDX-License-Identifier: Apache-2.0
//! Runs reads on a backend: keeps as many requests in flight as it may, continues what came short,
//! repeats what was interrupted, and ends each read once.
//!
//! It is used by one thread at a time and has no thread of its own.
//!
//! # Invariants
//!
//! - The memory of a request is owned by the table of reads until the backend has said that the
//!   request has ended.
//! - A cancelled read sends no further request.

use std::{
    collections::{HashMap, VecDeque},
    fmt, io,
};

use crate::{
    backend::{Backend, Done, Request, Wait},
    error::Error,
    file::Access,
    orders::{Orders, Start},
    piece::{Piece, Progress},
};

/// How often in a row a request is repeated that ended without a byte and for no lasting reason.
const IDLE_MAX: u32 = 1000;

/// A read under way.
struct Running {
    start: Start,
    /// Pieces that are in flight.
    in_flight: usize,
    /// Pieces that wait to be sent.
    waiting: usize,
    error: Option<Error>,
    is_cancelled: bool,
}

impl Running {
    fn is_failing(&self) -> bool {
        self.is_cancelled || self.error.is_some()
    }
}

/// Runs reads.
pub(crate) struct Driver {
    /// Dropped first: it waits until the kernel has let go of all memory.
    backend: Box<dyn Backend>,
    reads: HashMap<u64, Running>,
    waiting: VecDeque<(u64, Piece)>,
    in_flight: HashMap<u64, (u64, Piece)>,
    in_flight_max: usize,
    next_token: u64,
    done: Vec<Done>,
    /// Reads whose requests will never end.
    lost: Vec<Running>,
    is_broken: bool,
}

impl fmt::Debug for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver")
            .field("backend", &self.backend)
            .field("in_flight", &self.in_flight.len())
            .finish_non_exhaustive()
    }
}

impl Driver {
    pub(crate) fn new(backend: Box<dyn Backend>, queue_depth: u32) -> Self {
        Self {
            backend,
            reads: HashMap::new(),
            waiting: VecDeque::new(),
            in_flight: HashMap::new(),
            in_flight_max: usize::try_from(queue_depth).unwrap_or(1),
            next_token: 0,
            done: Vec::new(),
            lost: Vec::new(),
            is_broken: false,
        }
    }

    /// Whether no read is under way.
    pub(crate) fn is_idle(&self) -> bool {
        self.reads.is_empty()
    }

    /// Takes orders and hands requests to the backend.
    pub(crate) fn take(&mut self, orders: Orders) {
        for start in orders.starts {
            self.start(start);
        }
        for number in orders.cancelled {
            self.cancel(number);
        }
        if orders.is_closed {
            let numbers: Vec<u64> = self.reads.keys().copied().collect();
            for number in numbers {
                self.cancel(number);
            }
        }
        self.send();
    }

    /// Sends requests, and waits for one of them if `wait` says so.
    pub(crate) fn turn(&mut self, wait: Wait) {
        let mut done = std::mem::take(&mut self.done);
        if let Err(error) = self.backend.reap(wait, &mut done) {
            self.give_up(&error);
        }
        for done in done.drain(..) {
            self.complete(done);
        }
        self.done = done;
        self.send();
    }

    fn start(&mut self, start: Start) {
        if self.is_broken {
            start.job.end(Err(Error::Engine { source: io::Error::other("it broke down before") }));
            return;
        }
        let number = start.number;
        self.waiting.extend(start.pieces.iter().map(|piece| (number, *piece)));
        let waiting = start.pieces.len();
        let running = Running { start, in_flight: 0, waiting, error: None, is_cancelled: false };
        self.reads.insert(number, running);
        self.end_if_over(number);
    }

    fn cancel(&mut self, number: u64) {
        // A read may have ended in between.
        let Some(running) = self.reads.get_mut(&number) else { return };
        running.is_cancelled = true;
        self.stop(number);
    }

    /// Sends no more of a read, and tries to end early what is in flight.
    fn stop(&mut self, number: u64) {
        self.waiting.retain(|(other, _)| *other != number);
        if let Some(running) = self.reads.get_mut(&number) {
            running.waiting = 0;
        }
        let tokens = self.in_flight.iter().filter(|(_, (other, _))| *other == number);
        for (token, _) in tokens {
            self.backend.cancel(*token);
        }
        self.end_if_over(number);
    }

    fn send(&mut self) {
        while self.in_flight.len() < self.in_flight_max
            && !self.is_broken
            && let Some((number, piece)) = self.waiting.pop_front()
        {
            let Some(running) = self.reads.get_mut(&number) else { continue };
            let token = self.next_token;
            self.next_token += 1;
            running.waiting -= 1;
            running.in_flight += 1;
            self.in_flight.insert(token, (number, piece));
            let request = Request {
                token,
                file: running.start.file.clone(),
                access: piece.access,
                offset: piece.next_offset(),
                memory: piece.next_memory(&running.start.memory),
            };
            // SAFETY: the read owns the memory and stays in the table until no request of it is in
            // flight; tokens are counted up.
            if let Err(error) = unsafe { self.backend.submit(request) } {
                self.give_up(&error);
            }
        }
    }

    fn complete(&mut self, done: Done) {
        let Some((number, mut piece)) = self.in_flight.remove(&done.token) else { return };
        let Some(running) = self.reads.get_mut(&number) else { return };
        running.in_flight -= 1;
        let was_failing = running.is_failing();
        let again = match done.result {
            Ok(bytes) => match piece.advance(usize::try_from(bytes).unwrap_or(usize::MAX)) {
                Progress::Complete => false,
                Progress::Short => true,
                Progress::End => {
                    let end = piece.offset.saturating_add(piece.done as u64);
                    running.end_of_file(end);
                    false
                }
            },
            Err(error) => match Verdict::of(&error, &piece) {
                Verdict::Repeat => {
                    piece.idle += 1;
                    true
                }
                Verdict::Buffered => {
                    piece.buffer();
                    true
                }
                Verdict::Failed => {
                    running.fail(&piece, error);
                    false
                }
            },
        };
        if again && !running.is_failing() {
            running.waiting += 1;
            // In front: the oldest read is the one that is waited for.
            self.waiting.push_front((number, piece));
        } else if !was_failing && running.error.is_some() {
            self.stop(number);
        } else {
            self.end_if_over(number);
        }
    }

    fn end_if_over(&mut self, number: u64) {
        let is_over = |running: &Running| running.in_flight == 0 && running.waiting == 0;
        if !self.reads.get(&number).is_some_and(is_over) {
            return;
        }
        if let Some(running) = self.reads.remove(&number) {
            let result = match (running.error, running.is_cancelled) {
                (Some(error), _) => Err(error),
                (None, true) => Err(Error::Closed),
                (None, false) => Ok(()),
            };
            running.start.job.end(result);
        }
    }

    /// Ends all reads; the memory of those with requests in flight is kept.
    fn give_up(&mut self, error: &io::Error) {
        self.is_broken = true;
        self.waiting.clear();
        self.in_flight.clear();
        for (_, running) in self.reads.drain() {
            let source = io::Error::new(error.kind(), error.to_string());
            let error = Error::Engine { source };
            if running.in_flight == 0 {
                running.start.job.end(Err(error));
            } else {
                running.start.job.lose(error);
                self.lost.push(running);
            }
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.take(Orders { is_closed: true, ..Orders::default() });
        while !self.is_idle() {
            self.turn(Wait::ForOne);
        }
    }
}

impl Running {
    fn fail(&mut self, piece: &Piece, source: io::Error) {
        if self.is_failing() {
            return;
        }
        self.error = Some(Error::Read {
            path: self.start.file.path().to_owned(),
            offset: piece.next_offset(),
            length: piece.offset.saturating_add(piece.wanted as u64) - piece.next_offset(),
            source,
        });
    }

    fn end_of_file(&mut self, end: u64) {
        if self.is_failing() {
            return;
        }
        // A later piece finds no byte at its own start, which is not where the file ends.
        let end = self.start.file.length().map_or(end, |length| length.min(end));
        self.error = Some(Error::End {
            path: self.start.file.path().to_owned(),
            offset: self.start.offset,
            length: self.start.bytes,
            end,
        });
    }
}

/// What an error of a request means for its piece.
enum Verdict {
    Repeat,
    /// The file system has no direct read for it.
    Buffered,
    Failed,
}

impl Verdict {
    fn of(error: &io::Error, piece: &Piece) -> Self {
        match error.raw_os_error() {
            // The last is what the kernel says when the thread that sent the request has ended;
            // of a read that was cancelled nothing is repeated anyway.
            Some(libc::EINTR | libc::EAGAIN | libc::ECANCELED) if piece.idle < IDLE_MAX => {
                Self::Repeat
            }
            Some(libc::EINVAL | libc::EOPNOTSUPP) if piece.access == Access::Direct => {
                Self::Buffered
            }
            _ => Self::Failed,
        }
    }
}
