// SPDX-License-Identifier: Apache-2.0
//! The submission queue of a compute unit.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::job::Job;

/// Jobs that wait for one unit, and how many of it are being done.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    waiting: Mutex<Waiting>,
    arrived: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    jobs: VecDeque<Job>,
    busy: usize,
    closed: bool,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Jobs that wait or are being done.
    pub(crate) fn load(&self) -> usize {
        let waiting = self.lock();
        waiting.jobs.len() + waiting.busy
    }

    /// Adds a job; gives it back when the queue is closed.
    pub(crate) fn push(&self, job: Job) -> Result<(), Box<Job>> {
        let mut waiting = self.lock();
        if waiting.closed {
            return Err(Box::new(job));
        }
        waiting.jobs.push_back(job);
        self.arrived.notify_one();
        Ok(())
    }

    /// The next job; waits for one. `None` once the queue is closed and empty.
    pub(crate) fn pop(&self) -> Option<Job> {
        let mut waiting = self.lock();
        loop {
            if let Some(job) = waiting.jobs.pop_front() {
                waiting.busy += 1;
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
        self.lock().busy -= 1;
    }

    /// Takes no more jobs; those that wait are still done.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.arrived.notify_all();
    }
}
