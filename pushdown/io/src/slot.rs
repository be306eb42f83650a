// SPDX-License-Identifier: Apache-2.0
//! Implements the place where a read's end is handed over, from the thread that reaps completions
//! to whoever waits.
//!
//! # Invariants
//!
//! - The buffer is owned by the read until it ends, whoever waits: dropping the waiting side says
//!   that the bytes are not needed, and frees nothing.
//! - Each read ends once.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

use crate::{
    error::{Error, Failed},
    inbox::Inbox,
    job::Job,
    target::Target,
};

/// The state of a read as whoever waits for it sees it.
enum State<T> {
    Running(Option<Waker>),
    Ended(Result<T, Failed<T>>),
    /// The end was handed over.
    Taken,
}

struct Slot<T>(Mutex<State<T>>);

impl<T> Slot<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        // Nothing panics while the lock is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self, result: Result<T, Failed<T>>) {
        let before = std::mem::replace(&mut *self.lock(), State::Ended(result));
        if let State::Running(Some(waker)) = before {
            waker.wake();
        }
    }

    fn take(&self) -> Option<Result<T, Failed<T>>> {
        let mut state = self.lock();
        match &*state {
            State::Running(_) | State::Taken => None,
            State::Ended(_) => match std::mem::replace(&mut *state, State::Taken) {
                State::Ended(result) => Some(result),
                State::Running(_) | State::Taken => None,
            },
        }
    }
}

struct Owner<T> {
    target: T,
    /// Bytes that a read that ends well has filled.
    bytes: usize,
    slot: Arc<Slot<T>>,
}

impl<T: Target> Job for Owner<T> {
    fn end(self: Box<Self>, result: Result<(), Error>) {
        let Self { mut target, bytes, slot } = *self;
        slot.end(match result {
            Ok(()) => {
                // SAFETY: all pieces of the read have ended well.
                unsafe { target.set_filled(bytes) };
                Ok(target)
            }
            Err(error) => Err(Failed { error, target: Some(target) }),
        });
    }

    fn lose(&self, error: Error) {
        self.slot.end(Err(Failed { error, target: None }));
    }
}

/// A read under way. Dropping it cancels the read.
///
/// Its buffer is kept until the kernel has let go of it.
#[must_use = "a read that is dropped is cancelled"]
pub struct Pending<T: Target> {
    slot: Arc<Slot<T>>,
    /// Where to cancel it, by its number.
    running: Option<(Arc<Inbox>, u64)>,
}

impl<T: Target> fmt::Debug for Pending<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.running.as_ref().map(|(_, number)| number);
        f.debug_struct("Pending").field("number", &number).finish_non_exhaustive()
    }
}

impl<T: Target> Pending<T> {
    /// Both sides of a read.
    pub(crate) fn new(
        target: T,
        bytes: usize,
        inbox: &Arc<Inbox>,
        number: u64,
    ) -> (Self, Box<dyn Job>) {
        let slot = Arc::new(Slot(Mutex::new(State::Running(None))));
        let owner = Owner { target, bytes, slot: Arc::clone(&slot) };
        (Self { slot, running: Some((Arc::clone(inbox), number)) }, Box::new(owner))
    }

    /// A read that has ended.
    pub(crate) fn ended(result: Result<T, Failed<T>>) -> Self {
        Self { slot: Arc::new(Slot(Mutex::new(State::Ended(result)))), running: None }
    }

    /// Whether it has ended.
    #[must_use]
    pub fn is_ended(&self) -> bool {
        !matches!(*self.slot.lock(), State::Running(_))
    }

    /// The end, once.
    pub(crate) fn take(&mut self) -> Option<Result<T, Failed<T>>> {
        let result = self.slot.take()?;
        self.running = None;
        Some(result)
    }
}

impl<T: Target> Drop for Pending<T> {
    fn drop(&mut self) {
        if let Some((inbox, number)) = self.running.take()
            && !self.is_ended()
        {
            inbox.cancel(number);
        }
    }
}

/// A read under way, as a future of the filled buffer.
#[must_use = "a read that is dropped is cancelled"]
#[derive(Debug)]
pub struct Read<T: Target>(pub(crate) Pending<T>);

impl<T: Target> Future for Read<T> {
    type Output = Result<T, Failed<T>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        {
            let mut state = self.0.slot.lock();
            if let State::Running(waker) = &mut *state {
                if !waker.as_ref().is_some_and(|waker| waker.will_wake(context.waker())) {
                    *waker = Some(context.waker().clone());
                }
                return Poll::Pending;
            }
        }
        // Polled once more after its end, a read is pending for ever, as futures may be.
        self.0.take().map_or(Poll::Pending, Poll::Ready)
    }
}

impl<T: Target> Read<T> {
    /// Whether it has ended, so that its first poll gives the buffer.
    #[must_use]
    pub fn is_ended(&self) -> bool {
        self.0.is_ended()
    }
}

// A read holds its target by value behind a lock: no part of it is pinned.
impl<T: Target> Unpin for Read<T> {}
