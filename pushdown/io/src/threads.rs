// SPDX-License-Identifier: Apache-2.0
//! Carries requests by `pread` on a few threads, where there is no `io_uring`.
//!
//! The threads serve any number of ports; each port is a backend with requests of its own.

use std::{
    collections::VecDeque,
    io,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
};

use crate::{
    backend::{Backend, Done, Request, Wait},
    error::Error,
    interrupt::Interrupt,
    sys,
};

/// Threads that read; they end when the last port and the last clone are gone.
#[derive(Debug)]
pub(crate) struct Threads {
    work: Arc<Work>,
    handles: Vec<JoinHandle<()>>,
}

/// The requests that no thread has taken.
#[derive(Debug, Default)]
struct Work {
    state: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    requests: VecDeque<(Arc<Ended>, Request)>,
    is_closed: bool,
}

/// What has ended of one port.
#[derive(Debug, Default)]
struct Ended {
    state: Mutex<Results>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Results {
    done: Vec<Done>,
    is_interrupted: bool,
}

/// Locks; no thread panics with one of these locks held.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Threads {
    /// Starts `count` threads.
    ///
    /// # Errors
    /// [`Error::Thread`].
    pub(crate) fn start(count: u32) -> Result<Arc<Self>, Error> {
        let mut threads = Self { work: Arc::default(), handles: Vec::new() };
        for number in 0..count {
            let work = Arc::clone(&threads.work);
            let thread = thread::Builder::new().name(format!("nearscan-pread-{number}"));
            let handle = thread.spawn(move || work.run());
            threads.handles.push(handle.map_err(|source| Error::Thread { source })?);
        }
        Ok(Arc::new(threads))
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        lock(&self.work.state).is_closed = true;
        self.work.changed.notify_all();
        for handle in self.handles.drain(..) {
            // A thread that drops the last reader itself cannot wait for its own end; and one that
            // panicked has ended.
            if handle.thread().id() != thread::current().id() {
                drop(handle.join());
            }
        }
    }
}

impl Work {
    fn run(&self) {
        while let Some((ended, request)) = self.next() {
            let (file, memory) = (request.file.handle(request.access), request.memory);
            // SAFETY: the port says that the request has ended only below.
            let result = unsafe { sys::pread(file, request.offset, memory.pointer, memory.length) };
            let token = request.token;
            drop(request);
            ended.add(Done { token, result });
        }
    }

    fn next(&self) -> Option<(Arc<Ended>, Request)> {
        let mut state = lock(&self.state);
        loop {
            if let Some(next) = state.requests.pop_front() {
                return Some(next);
            }
            if state.is_closed {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Ended {
    fn add(&self, done: Done) {
        lock(&self.state).done.push(done);
        self.changed.notify_one();
    }
}

impl Interrupt for Ended {
    fn interrupt(&self) {
        lock(&self.state).is_interrupted = true;
        self.changed.notify_one();
    }
}

/// One user of the threads.
#[derive(Debug)]
pub(crate) struct Port {
    threads: Arc<Threads>,
    ended: Arc<Ended>,
    in_flight: usize,
}

impl Port {
    pub(crate) fn new(threads: &Arc<Threads>) -> Self {
        Self { threads: Arc::clone(threads), ended: Arc::default(), in_flight: 0 }
    }
}

// SAFETY: a thread adds the `Done` of a request after `pread` has returned, and `drop` waits for
// all of them.
unsafe impl Backend for Port {
    unsafe fn submit(&mut self, request: Request) -> io::Result<()> {
        lock(&self.threads.work.state).requests.push_back((Arc::clone(&self.ended), request));
        self.threads.work.changed.notify_one();
        self.in_flight += 1;
        Ok(())
    }

    fn reap(&mut self, wait: Wait, done: &mut Vec<Done>) -> io::Result<()> {
        let mut results = lock(&self.ended.state);
        while wait == Wait::ForOne && results.done.is_empty() && !results.is_interrupted {
            results = self.ended.changed.wait(results).unwrap_or_else(PoisonError::into_inner);
        }
        results.is_interrupted = false;
        self.in_flight -= results.done.len();
        done.append(&mut results.done);
        Ok(())
    }

    fn cancel(&mut self, token: u64) {
        let mut state = lock(&self.threads.work.state);
        let is_it = |(ended, request): &(Arc<Ended>, Request)| {
            Arc::ptr_eq(ended, &self.ended) && request.token == token
        };
        if let Some(place) = state.requests.iter().position(is_it) {
            state.requests.remove(place);
            drop(state);
            let result = Err(io::Error::from_raw_os_error(libc::ECANCELED));
            self.ended.add(Done { token, result });
        }
    }

    fn interrupt(&self) -> Arc<dyn Interrupt> {
        Arc::<Ended>::clone(&self.ended)
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        let mut done = Vec::new();
        while self.in_flight > 0 {
            if self.reap(Wait::ForOne, &mut done).is_err() {
                return;
            }
        }
    }
}
