// SPDX-License-Identifier: Apache-2.0
//! Ends the work on Ctrl-C by dropping it: a dropped query stops at its next batch and releases its
//! files and memory.
//!
//! Signals, timers and output belong to this thread and its runtime. Queries run on the threads of
//! another one: they may be busy for long, and a runtime whose threads are all busy sees neither
//! signals nor timers.

use std::{
    io, process,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use nearscan::drive::clock::Stopwatch;
use tokio::{
    runtime::{Builder, Handle, Runtime},
    signal,
};

use crate::failure::{Failure, INTERRUPTED, Result};

/// Longest wait for work that was ended and has not yet noticed.
const PATIENCE: Duration = Duration::from_secs(2);

/// This thread's runtime, and the one that queries run on.
pub(crate) struct Runtimes {
    control: Runtime,
    queries: Runtime,
    thread_count: Option<usize>,
}

impl Runtimes {
    /// Starts as many threads for queries as asked, or as many as the system offers.
    pub(crate) fn start(thread_count: Option<usize>) -> io::Result<Self> {
        let control = Builder::new_current_thread().enable_all().build()?;
        Ok(Self { control, queries: queries(thread_count)?, thread_count })
    }

    /// Gives queries new threads. A query that was dropped keeps its thread until it is done with
    /// the batch it is busy with, which in a join can be long; the next query shall not wait.
    pub(crate) fn renew(&mut self) -> io::Result<()> {
        let old = std::mem::replace(&mut self.queries, queries(self.thread_count)?);
        old.shutdown_background();
        Ok(())
    }

    /// Returns the handle of the runtime on which queries are to be spawned.
    pub(crate) fn queries(&self) -> &Handle {
        self.queries.handle()
    }

    /// Ends both; work that does not end soon is left behind.
    pub(crate) fn shut_down(self) {
        self.queries.shutdown_timeout(PATIENCE);
        self.control.shutdown_timeout(PATIENCE);
    }
}

/// Four times the usual: the deepest expressions that the engine takes use a part of this.
const STACK_SIZE: usize = 8 << 20;

fn queries(thread_count: Option<usize>) -> io::Result<Runtime> {
    let mut builder = Builder::new_multi_thread();
    builder.thread_stack_size(STACK_SIZE);
    if let Some(count) = thread_count {
        builder.worker_threads(count);
    }
    builder.enable_all().build()
}

/// Whether another program, which takes Ctrl-C as a key, has the terminal.
static IS_SHARED: AtomicBool = AtomicBool::new(false);

/// While it lives, a pager has the terminal, and a second Ctrl-C does not end the program.
pub(crate) struct SharedScreen(());

impl SharedScreen {
    pub(crate) fn begin() -> Self {
        IS_SHARED.store(true, Ordering::Relaxed);
        Self(())
    }
}

impl Drop for SharedScreen {
    fn drop(&mut self) {
        IS_SHARED.store(false, Ordering::Relaxed);
    }
}

/// Ends the program at the second of two Ctrl-C within a time, even if the work that the first one
/// ended does not let go. Without this the program may wait for it.
pub(crate) fn leave_on_second(within: Duration) -> io::Result<()> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let watch = async move {
        let mut last: Option<Stopwatch> = None;
        while signal::ctrl_c().await.is_ok() {
            if IS_SHARED.load(Ordering::Relaxed) {
                last = None;
                continue;
            }
            if last.is_some_and(|last| last.elapsed() < within) {
                process::exit(INTERRUPTED.into());
            }
            last = Some(Stopwatch::start());
        }
    };
    thread::Builder::new().name("interrupts".to_owned()).spawn(move || runtime.block_on(watch))?;
    Ok(())
}

/// Runs `work` on this thread, or drops it at Ctrl-C.
pub(crate) fn run_to_end<T>(
    runtimes: &Runtimes,
    work: impl Future<Output = Result<T>>,
) -> Result<T> {
    runtimes.control.block_on(async {
        tokio::select! {
            result = Box::pin(work) => result,
            _ = signal::ctrl_c() => Err(Failure::Interrupted),
        }
    })
}
