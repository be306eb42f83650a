// SPDX-License-Identifier: Apache-2.0
//! Implements the job queue between sessions and the threads or compute units of a drive.
//!
//! A queue is bounded or not, is first in first out, and counts its jobs from [`JobQueue::push`]
//! until [`JobQueue::finish`]. It runs nothing itself: a worker is a loop over [`JobQueue::next`].
//!
//! # Invariants
//!
//! - `push` never waits; only `next` does.
//! - After [`JobQueue::close`] nothing is added, and every job that was added is still handed out.

use std::{
    collections::VecDeque,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
};

/// Jobs that wait for a worker, and the number of those that are being done.
#[derive(Debug)]
pub struct JobQueue<J> {
    state: Mutex<State<J>>,
    changed: Condvar,
    in_flight_max: usize,
}

#[derive(Debug)]
struct State<J> {
    waiting: VecDeque<J>,
    running: usize,
    is_closed: bool,
}

/// The reason why a queue did not take a job, which comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotQueued<J> {
    /// As many jobs as the queue admits are in flight.
    Full(J),
    /// The queue takes no more jobs.
    Closed(J),
}

impl<J> JobQueue<J> {
    /// Makes a queue without a bound.
    #[must_use]
    pub fn unbounded() -> Self {
        Self::bounded(usize::MAX)
    }

    /// Makes a queue that admits `in_flight_max` jobs, waiting and running ones together.
    #[must_use]
    pub fn bounded(in_flight_max: usize) -> Self {
        let state = State { waiting: VecDeque::new(), running: 0, is_closed: false };
        Self { state: Mutex::new(state), changed: Condvar::new(), in_flight_max }
    }

    /// Adds a job.
    ///
    /// # Errors
    /// [`NotQueued`] with the job when the queue is full or closed.
    pub fn push(&self, job: J) -> Result<(), NotQueued<J>> {
        let mut state = self.lock();
        if state.is_closed {
            return Err(NotQueued::Closed(job));
        }
        if state.in_flight() >= self.in_flight_max {
            return Err(NotQueued::Full(job));
        }
        state.waiting.push_back(job);
        drop(state);
        self.changed.notify_one();
        Ok(())
    }

    /// Waits for the next job, which counts as running until [`JobQueue::finish`]; none once the
    /// queue is closed and empty.
    pub fn next(&self) -> Option<J> {
        let mut state = self.lock();
        loop {
            if let Some(job) = state.waiting.pop_front() {
                state.running += 1;
                return Some(job);
            }
            if state.is_closed {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Says that a job which [`JobQueue::next`] handed out has ended.
    pub fn finish(&self) {
        let mut state = self.lock();
        state.running = state.running.saturating_sub(1);
    }

    /// Jobs that wait or run.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.lock().in_flight()
    }

    /// Takes no more jobs; those that wait are still handed out.
    pub fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State<J>> {
        // Nothing panics while the lock is held, and the state would be whole if it did.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<J> State<J> {
    fn in_flight(&self) -> usize {
        self.waiting.len() + self.running
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{JobQueue, NotQueued};

    #[test]
    fn bounded_queue_counts_running_jobs_until_they_finish() {
        let queue = JobQueue::bounded(2);
        assert_eq!((queue.push(1), queue.push(2)), (Ok(()), Ok(())));
        assert_eq!(queue.push(3), Err(NotQueued::Full(3)));
        assert_eq!((queue.next(), queue.in_flight()), (Some(1), 2));
        assert_eq!(queue.push(3), Err(NotQueued::Full(3)));
        queue.finish();
        assert_eq!((queue.push(3), queue.in_flight()), (Ok(()), 2));
    }

    #[test]
    fn closed_queue_hands_out_what_waits_and_takes_nothing() {
        let queue = JobQueue::unbounded();
        assert_eq!(queue.push(1), Ok(()));
        queue.close();
        assert_eq!(queue.push(2), Err(NotQueued::Closed(2)));
        assert_eq!((queue.next(), queue.next()), (Some(1), None));
    }

    #[test]
    fn close_wakes_every_worker_that_waits() {
        let queue = Arc::new(JobQueue::<u8>::unbounded());
        let worker = || {
            let queue = Arc::clone(&queue);
            std::thread::spawn(move || queue.next())
        };
        let workers = [worker(), worker()];
        queue.close();
        for worker in workers {
            assert_eq!(worker.join().unwrap(), None);
        }
    }
}
