// SPDX-License-Identifier: Apache-2.0
//! Implements the list of orders to the thread that runs a driver, and its waking.
//!
//! An interrupt is a system call, so it is only made while the thread waits.

use std::{
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use crate::{
    interrupt::Interrupt,
    orders::{Orders, Start},
};

/// Orders that were not taken yet.
pub(crate) struct Inbox {
    orders: Mutex<Orders>,
    /// Whether the thread waits, or is about to.
    is_waiting: AtomicBool,
    /// Whether the thread knows that it is closed.
    knows_closed: AtomicBool,
    next: AtomicU64,
    interrupt: Arc<dyn Interrupt>,
}

impl fmt::Debug for Inbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbox").field("is_waiting", &self.is_waiting).finish_non_exhaustive()
    }
}

impl Inbox {
    pub(crate) fn new(interrupt: Arc<dyn Interrupt>) -> Arc<Self> {
        Arc::new(Self {
            orders: Mutex::default(),
            is_waiting: AtomicBool::new(false),
            knows_closed: AtomicBool::new(false),
            next: AtomicU64::new(0),
            interrupt,
        })
    }

    /// A number for a new read.
    pub(crate) fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Adds reads; gives them back if no more are taken.
    pub(crate) fn start(&self, starts: Vec<Start>) -> Result<(), Vec<Start>> {
        {
            let mut orders = self.lock();
            if orders.is_closed {
                return Err(starts);
            }
            orders.starts.extend(starts);
        }
        self.wake();
        Ok(())
    }

    /// Cancels a read, whose future was dropped.
    pub(crate) fn cancel(&self, number: u64) {
        {
            let mut orders = self.lock();
            if orders.is_closed {
                return;
            }
            orders.cancelled.push(number);
        }
        self.wake();
    }

    /// Takes no more reads and ends those that there are.
    pub(crate) fn close(&self) {
        self.lock().is_closed = true;
        self.wake();
    }

    /// What is to be done. Once closed, it stays so.
    pub(crate) fn take(&self) -> Orders {
        let mut orders = self.lock();
        let is_closed = orders.is_closed;
        self.knows_closed.store(is_closed, Ordering::SeqCst);
        let taken = std::mem::take(&mut *orders);
        orders.is_closed = is_closed;
        taken
    }

    /// The thread is about to wait; false if there is something to do instead.
    pub(crate) fn may_wait(&self) -> bool {
        self.is_waiting.store(true, Ordering::SeqCst);
        // What was added before this look is seen; who adds later sees the flag.
        let orders = self.lock();
        let is_news = orders.is_closed && !self.knows_closed.load(Ordering::SeqCst);
        orders.is_empty() && !is_news
    }

    /// The thread does not wait any more.
    pub(crate) fn woke(&self) {
        self.is_waiting.store(false, Ordering::SeqCst);
    }

    fn wake(&self) {
        if self.is_waiting.swap(false, Ordering::SeqCst) {
            self.interrupt.interrupt();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Orders> {
        // Nothing panics while the lock is held.
        self.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
