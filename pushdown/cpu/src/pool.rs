// SPDX-License-Identifier: Apache-2.0
//! Threads that run jobs, and the queue before them.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// Something to run.
pub(crate) type Job = Box<dyn FnOnce() + Send>;

/// A fixed number of threads.
pub(crate) struct Pool {
    queue: Arc<Queue>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    is_closed: bool,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics while the lock is held, and the state would be whole if it did.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next job; waits for one. `None` when the queue is closed and empty.
    fn next(&self) -> Option<Job> {
        let mut state = self.lock();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                return Some(job);
            }
            if state.is_closed {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Pool {
    /// Starts the threads.
    ///
    /// # Errors
    /// When the system has no more.
    pub(crate) fn start(threads: usize) -> std::io::Result<Self> {
        let queue = Arc::new(Queue::default());
        let pool = Self { queue: Arc::clone(&queue), threads: Mutex::default() };
        for index in 0..threads.max(1) {
            let queue = Arc::clone(&queue);
            let run = move || {
                while let Some(job) = queue.next() {
                    job();
                }
            };
            let thread = std::thread::Builder::new().name(format!("nearscan-cpu-{index}"));
            let thread = thread.spawn(run)?;
            pool.lock_threads().push(thread);
        }
        Ok(pool)
    }

    fn lock_threads(&self) -> MutexGuard<'_, Vec<JoinHandle<()>>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a job to the queue; whether it was still open.
    pub(crate) fn push(&self, job: Job) -> bool {
        let mut state = self.queue.lock();
        if state.is_closed {
            return false;
        }
        state.jobs.push_back(job);
        drop(state);
        self.queue.changed.notify_one();
        true
    }

    /// Takes no more jobs, runs those that are there, and waits for the threads to end.
    pub(crate) fn close(&self) {
        self.queue.lock().is_closed = true;
        self.queue.changed.notify_all();
        let threads = std::mem::take(&mut *self.lock_threads());
        for thread in threads {
            // A thread that closes the pool it belongs to cannot wait for itself.
            if thread.thread().id() != std::thread::current().id() {
                // A panic was caught in the job, so there is nothing to pass on.
                drop(thread.join());
            }
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.close();
    }
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool")
            .field("threads", &self.lock_threads().len())
            .field("queued", &self.queue.lock().jobs.len())
            .finish()
    }
}
