// SPDX-License-Identifier: Apache-2.0
//! Device memory as an account, and the queue that commands wait in.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use nearscan_drive::{Lease, Refusal};

use crate::job::Job;

/// Device memory: how much is free.
#[derive(Debug)]
pub(crate) struct Memory {
    free: Arc<AtomicU64>,
    bytes: u64,
}

impl Memory {
    pub(crate) fn new(bytes: u64) -> Self {
        Self { free: Arc::new(AtomicU64::new(bytes)), bytes }
    }

    pub(crate) fn free_bytes(&self) -> u64 {
        self.free.load(Ordering::Acquire)
    }

    /// Whether every lease has come back.
    pub(crate) fn is_whole(&self) -> bool {
        self.free_bytes() == self.bytes
    }

    /// Sets `needed_bytes` aside.
    pub(crate) fn lease(&self, needed_bytes: u64) -> Result<Lease, Refusal> {
        let take = |free: u64| free.checked_sub(needed_bytes);
        match self.free.fetch_update(Ordering::AcqRel, Ordering::Acquire, take) {
            Ok(_) => {
                let free = Arc::clone(&self.free);
                Ok(Lease::new(needed_bytes, move |bytes| {
                    free.fetch_add(bytes, Ordering::AcqRel);
                }))
            }
            Err(_) => Err(Refusal::LowMemory { needed_bytes }),
        }
    }
}

/// What the queue holds and whether it still takes work.
#[derive(Debug, Default)]
struct Waiting {
    jobs: VecDeque<Job>,
    closed: bool,
}

/// The submission queue.
#[derive(Debug)]
pub(crate) struct Queue {
    waiting: Mutex<Waiting>,
    arrived: Condvar,
    in_flight: AtomicU32,
    in_flight_max: u32,
}

impl Queue {
    pub(crate) fn new(in_flight_max: u32) -> Self {
        Self {
            waiting: Mutex::default(),
            arrived: Condvar::new(),
            in_flight: AtomicU32::new(0),
            in_flight_max,
        }
    }

    /// Jobs waiting or running.
    pub(crate) fn in_flight(&self) -> u32 {
        self.in_flight.load(Ordering::Acquire)
    }

    /// Adds a job. Never waits.
    pub(crate) fn push(&self, job: Job) -> Result<(), Refusal> {
        let mut waiting = self.lock();
        if waiting.closed {
            return Err(Refusal::Gone { reason: "it was shut down".to_owned() });
        }
        if self.in_flight() >= self.in_flight_max {
            return Err(Refusal::Busy);
        }
        self.in_flight.fetch_add(1, Ordering::AcqRel);
        waiting.jobs.push_back(job);
        self.arrived.notify_one();
        Ok(())
    }

    /// The next job; waits for one. `None` once the queue is closed and empty.
    pub(crate) fn pop(&self) -> Option<Job> {
        let mut waiting = self.lock();
        loop {
            if let Some(job) = waiting.jobs.pop_front() {
                return Some(job);
            }
            if waiting.closed {
                return None;
            }
            waiting = self.arrived.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Says that a job has ended.
    pub(crate) fn ended(&self) {
        self.in_flight.fetch_sub(1, Ordering::AcqRel);
    }

    /// Takes no more jobs; those that wait are still done.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.arrived.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
