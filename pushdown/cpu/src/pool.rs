// SPDX-License-Identifier: Apache-2.0
//! Runs jobs on a fixed number of threads.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::JoinHandle,
};

use nearscan_drive::JobQueue;

/// Something to run.
pub(crate) type Job = Box<dyn FnOnce() + Send>;

/// A fixed number of threads.
pub(crate) struct Pool {
    queue: Arc<JobQueue<Job>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Pool {
    /// Starts the threads.
    ///
    /// # Errors
    /// When the system has no more.
    pub(crate) fn start(threads: usize) -> std::io::Result<Self> {
        let queue = Arc::new(JobQueue::unbounded());
        let pool = Self { queue: Arc::clone(&queue), threads: Mutex::default() };
        for index in 0..threads.max(1) {
            let queue = Arc::clone(&queue);
            let run = move || {
                while let Some(job) = queue.next() {
                    job();
                    queue.finish();
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
        self.queue.push(job).is_ok()
    }

    /// Takes no more jobs, runs those that are there, and waits for the threads to end.
    pub(crate) fn close(&self) {
        self.queue.close();
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
            .field("in_flight", &self.queue.in_flight())
            .finish()
    }
}
