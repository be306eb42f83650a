// SPDX-License-Identifier: Apache-2.0
//! Waits for work of the engine without the interpreter lock, until it ends or a signal arrives.
//!
//! Queries run on threads of their connection. A thread of Python that waits takes the lock for a
//! moment every 20 ms to run the handlers of signals; the one of Ctrl-C raises
//! `KeyboardInterrupt`, and the work is dropped. The thread measures the time itself: timers of a
//! runtime whose threads are all busy do not fire.

use std::{
    io, mem,
    pin::{Pin, pin},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Wake, Waker},
    thread::{self, Thread},
    time::Duration,
};

use nearscan::drive::clock::Stopwatch;
use pyo3::prelude::*;
use tokio::{
    runtime::{Builder, Handle, Runtime},
    task::JoinHandle,
};

use crate::error::{panicked, raise};

/// The longest time from a signal to its handler.
const PERIOD: Duration = Duration::from_millis(20);

/// The stack that the deepest expressions need which the engine takes.
const STACK_BYTES: usize = 8 << 20;

/// The threads of a connection.
#[derive(Debug)]
pub(crate) struct Threads {
    count: Option<usize>,
    runtimes: Mutex<Runtimes>,
}

#[derive(Debug)]
struct Runtimes {
    /// Where new work starts; none only in the destructor.
    current: Option<Runtime>,
    /// What interrupted work may still keep busy, with work that was not interrupted.
    earlier: Vec<Runtime>,
}

impl Threads {
    /// Starts as many threads as asked, or as many as there are cores.
    pub(crate) fn start(count: Option<usize>) -> io::Result<Self> {
        let runtimes = Runtimes { current: Some(runtime(count)?), earlier: Vec::new() };
        Ok(Self { count, runtimes: Mutex::new(runtimes) })
    }

    /// What starts work on them.
    ///
    /// # Errors
    /// `InternalError` if there are none any more.
    pub(crate) fn handle(&self, py: Python<'_>) -> PyResult<Handle> {
        let handle = self.runtimes().current.as_ref().map(|runtime| runtime.handle().clone());
        handle.ok_or_else(|| raise(py, "InternalError", "the threads have ended", None, None))
    }

    /// Tasks that have not ended.
    pub(crate) fn tasks(&self) -> usize {
        let runtimes = self.runtimes();
        let all = runtimes.current.iter().chain(&runtimes.earlier);
        all.map(|runtime| runtime.metrics().num_alive_tasks()).sum()
    }

    /// Starts new threads. Work that was dropped keeps a thread until it is done with its batch,
    /// which in a join can be long; the next query shall not wait.
    fn renew(&self) {
        let mut runtimes = self.runtimes();
        let is_idle = |runtime: &Runtime| runtime.metrics().num_alive_tasks() == 0;
        let earlier = mem::take(&mut runtimes.earlier);
        let (idle, busy): (Vec<_>, Vec<_>) = earlier.into_iter().partition(is_idle);
        idle.into_iter().for_each(Runtime::shutdown_background);
        runtimes.earlier = busy;
        // Without new threads, those that there are do.
        if let Ok(new) = runtime(self.count) {
            let old = runtimes.current.replace(new);
            runtimes.earlier.extend(old);
        }
    }

    fn runtimes(&self) -> MutexGuard<'_, Runtimes> {
        self.runtimes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Threads {
    /// Does not wait for what still runs: a thread may need the interpreter lock to end.
    fn drop(&mut self) {
        let mut runtimes = self.runtimes();
        let current = runtimes.current.take();
        let all = mem::take(&mut runtimes.earlier).into_iter().chain(current);
        all.for_each(Runtime::shutdown_background);
    }
}

fn runtime(count: Option<usize>) -> io::Result<Runtime> {
    let mut builder = Builder::new_multi_thread();
    builder.thread_name("nearscan").thread_stack_size(STACK_BYTES).enable_all();
    if let Some(count) = count {
        builder.worker_threads(count);
    }
    builder.build()
}

/// Runs work on threads, and waits for it.
///
/// # Errors
/// What a handler of signals raises; the work is dropped then.
pub(crate) fn run<T: Send + 'static>(
    py: Python<'_>,
    threads: &Threads,
    work: impl Future<Output = T> + Send + 'static,
) -> PyResult<T> {
    let handle = threads.handle(py)?;
    let mut task = Task(handle.spawn(work));
    until(py, threads, &mut task.0)?.map_err(|_| panicked(py))
}

/// Waits for a future that needs no thread of its own.
///
/// # Errors
/// What a handler of signals raises.
pub(crate) fn until<T: Send>(
    py: Python<'_>,
    threads: &Threads,
    work: impl Future<Output = T> + Send,
) -> PyResult<T> {
    if Handle::try_current().is_ok() {
        return Err(raise(
            py,
            "InterfaceError",
            "a function that a query calls cannot run queries",
            None,
            Some("run the query first, and pass its result to the function"),
        ));
    }
    let mut work = pin!(work);
    loop {
        match py.detach(|| wait_for_a_period(work.as_mut())) {
            Some(output) => return Ok(output),
            None => py.check_signals().inspect_err(|_| threads.renew())?,
        }
    }
}

/// Polls a future on this thread; none if it is not done after a period.
fn wait_for_a_period<T>(mut work: Pin<&mut (impl Future<Output = T> + Send)>) -> Option<T> {
    let watch = Stopwatch::start();
    let waker = Waker::from(Arc::new(Waiting(thread::current())));
    loop {
        if let Poll::Ready(output) = work.as_mut().poll(&mut Context::from_waker(&waker)) {
            return Some(output);
        }
        let left = PERIOD.saturating_sub(watch.elapsed());
        if left.is_zero() {
            return None;
        }
        thread::park_timeout(left);
    }
}

/// A thread that waits.
struct Waiting(Thread);

impl Wake for Waiting {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Work on other threads, which ends when it is dropped.
struct Task<T>(JoinHandle<T>);

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
