// SPDX-License-Identifier: Apache-2.0
//! Wraps a backend so that it is slow, cuts requests short, fails, and ends requests out of order,
//! for tests: the same seed and the same requests give the same faults.
//!
//! Slow means that a request is sent late, so that a write comes long after whoever waited is gone.
//! There is no clock: lateness is counted in calls.

use std::{collections::VecDeque, io, sync::Arc};

use crate::{
    backend::{Backend, Done, Request, Wait},
    engine::Wrap,
    file::Access,
    interrupt::Interrupt,
    target::BLOCK,
};

/// The share of requests, in 255ths, that each fault strikes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Faults {
    /// The start of the sequence.
    pub seed: u64,
    /// Requests that are sent some calls later.
    pub slow: u8,
    /// Requests that give fewer bytes than requested.
    pub short: u8,
    /// Requests that are interrupted (`EINTR`, `EAGAIN`, `ECANCELED`).
    pub interrupted: u8,
    /// Requests that fail for good.
    pub failing: u8,
    /// The error of those.
    pub errno: i32,
    /// Ends that are held back behind later ones.
    pub reordered: u8,
}

/// Calls that a slow request or a held end waits for, at most.
const CALLS_MAX: u64 = 8;

impl Faults {
    /// Puts the faults around a reader's backend.
    #[must_use]
    pub fn wrap(self) -> Wrap {
        Arc::new(move |inner| Box::new(Faulty::new(inner, self)))
    }
}

/// A backend with faults.
#[derive(Debug)]
pub struct Faulty {
    inner: Box<dyn Backend>,
    faults: Faults,
    random: Random,
    /// Requests that were not sent yet, with the calls that they wait for.
    late: Vec<(u64, Request)>,
    /// Ends that were not handed out yet, likewise.
    held: VecDeque<(u64, Done)>,
}

/// A sequence of numbers (SplitMix64).
#[derive(Debug)]
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn strikes(&mut self, share: u8) -> bool {
        self.next() % 255 < u64::from(share)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }
}

impl Faulty {
    /// Puts faults around a backend.
    #[must_use]
    pub fn new(inner: Box<dyn Backend>, faults: Faults) -> Self {
        let random = Random(faults.seed);
        Self { inner, faults, random, late: Vec::new(), held: VecDeque::new() }
    }

    /// Cuts a request short: one that goes past the cache at a block.
    fn cut(&mut self, request: &mut Request) {
        let length = u64::from(request.memory.length);
        let unit = match request.access {
            Access::Buffered => 1,
            Access::Direct => BLOCK as u64,
        };
        let units = self.random.below(length / unit).max(1);
        let cut = u32::try_from(units * unit).unwrap_or(u32::MAX);
        request.memory.length = request.memory.length.min(cut);
    }

    fn hold(&mut self, done: Done) {
        let calls = self.random.below(CALLS_MAX);
        // In front or behind, so that ends change places.
        if self.random.strikes(128) {
            self.held.push_front((calls, done));
        } else {
            self.held.push_back((calls, done));
        }
    }

    /// Sends the late requests whose calls are over.
    fn send_late(&mut self) -> io::Result<()> {
        for (calls, _) in &mut self.late {
            *calls = calls.saturating_sub(1);
        }
        while let Some(place) = self.late.iter().position(|(calls, _)| *calls == 0) {
            let (_, request) = self.late.swap_remove(place);
            // SAFETY: the request was taken and did not end, so its memory is still there.
            unsafe { self.inner.submit(request) }?;
        }
        Ok(())
    }

    /// Hands out the held ends whose calls are over.
    fn hand_out(&mut self, done: &mut Vec<Done>) {
        for (calls, _) in &mut self.held {
            *calls = calls.saturating_sub(1);
        }
        while let Some(place) = self.held.iter().position(|(calls, _)| *calls == 0) {
            done.extend(self.held.remove(place).map(|(_, done)| done));
        }
    }
}

// SAFETY: ends are handed out after those of the inner backend, and late requests are not sent any
// more once this is dropped.
unsafe impl Backend for Faulty {
    unsafe fn submit(&mut self, mut request: Request) -> io::Result<()> {
        let token = request.token;
        if self.random.strikes(self.faults.failing) {
            let result = Err(io::Error::from_raw_os_error(self.faults.errno));
            self.hold(Done { token, result });
            return Ok(());
        }
        if self.random.strikes(self.faults.interrupted) {
            let errnos = [libc::EINTR, libc::EAGAIN, libc::ECANCELED, libc::EINTR];
            let errno = errnos[usize::from(self.random.next().to_le_bytes()[0] % 4)];
            self.hold(Done { token, result: Err(io::Error::from_raw_os_error(errno)) });
            return Ok(());
        }
        if self.random.strikes(self.faults.short) {
            self.cut(&mut request);
        }
        if self.random.strikes(self.faults.slow) {
            let calls = 1 + self.random.below(CALLS_MAX);
            self.late.push((calls, request));
            return Ok(());
        }
        // SAFETY: the caller's.
        unsafe { self.inner.submit(request) }
    }

    fn reap(&mut self, wait: Wait, done: &mut Vec<Done>) -> io::Result<()> {
        self.send_late()?;
        // Only what is in flight below can end a wait.
        let is_below = self.late.is_empty() && self.held.is_empty();
        let mut ended = Vec::new();
        self.inner.reap(if is_below { wait } else { Wait::Never }, &mut ended)?;
        for ended in ended {
            if self.random.strikes(self.faults.reordered) {
                self.hold(ended);
            } else {
                done.push(ended);
            }
        }
        self.hand_out(done);
        Ok(())
    }

    fn cancel(&mut self, token: u64) {
        if let Some(place) = self.late.iter().position(|(_, request)| request.token == token) {
            // Some cancellations come too late: the request is sent all the same.
            if self.random.strikes(128) {
                self.late.swap_remove(place);
                let result = Err(io::Error::from_raw_os_error(libc::ECANCELED));
                self.hold(Done { token, result });
            }
            return;
        }
        self.inner.cancel(token);
    }

    fn interrupt(&self) -> Arc<dyn Interrupt> {
        self.inner.interrupt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_seed_gives_the_same_sequence() {
        let sequence = |seed| {
            let mut random = Random(seed);
            (0..100).map(|_| random.next()).collect::<Vec<_>>()
        };
        assert_eq!(sequence(7), sequence(7));
        assert_ne!(sequence(7), sequence(8));
        let mut random = Random(1);
        assert!((0..1000).all(|_| !random.strikes(0) && random.strikes(255)));
        let half = (0..1000).filter(|_| random.strikes(128)).count();
        assert!((400..600).contains(&half), "{half}");
    }
}
