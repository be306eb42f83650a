// SPDX-License-Identifier: Apache-2.0
//! Tracks the accepted commands until they are answered, and answers them in time.
//!
//! A thread of the drive may be caught inside the runtime for ever, so it is not the one that
//! watches the clock:
//!
//! ```text
//! deadline            the cancel word is set; the kernel ends, and its thread answers
//! deadline + grace    the card is lost: every command is answered here, nothing is touched again;
//!                     a command that has not reached the card is answered here alone
//! ```
//!
//! An exchange of images is no kernel: the card is lost if it takes [`EXCHANGE_MAX`].
//!
//! # Invariants
//!
//! - Every command is answered once, by the first that does.

use std::{
    sync::{
        Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures::channel::oneshot;
use nearscan_command::Envelope;
use nearscan_drive::{
    CancelWord, Completion, DriveTime, Failure, Measured, Outcome, Traffic, clock::Stopwatch,
};

/// Interval of the checks for deadlines that have passed.
const TICK: Duration = Duration::from_millis(5);

/// Time in which an exchange of images has to end: several times what XRT allows for one.
pub(crate) const EXCHANGE_MAX: Duration = Duration::from_secs(60);

/// A command that was taken.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) command_id: u128,
    attempt: u32,
    since: Stopwatch,
    timeout: Duration,
    pub(crate) cancel: CancelWord,
    timed_out: AtomicBool,
    /// Whether it has the card, with its image.
    on_card: AtomicBool,
    reply: Mutex<Option<oneshot::Sender<Completion>>>,
}

impl Pending {
    pub(crate) fn new(
        envelope: &Envelope,
        timeout: Duration,
        cancel: CancelWord,
        reply: oneshot::Sender<Completion>,
    ) -> Self {
        let deadline = Duration::from_nanos(envelope.deadline_ns);
        Self {
            command_id: envelope.command_id,
            attempt: envelope.attempt,
            since: Stopwatch::start(),
            timeout: timeout.min(deadline),
            cancel,
            timed_out: AtomicBool::new(false),
            on_card: AtomicBool::new(false),
            reply: Mutex::new(Some(reply)),
        }
    }

    /// Whether its time was up before it ended.
    pub(crate) fn timed_out(&self) -> bool {
        self.timed_out.load(Ordering::Acquire)
    }

    /// Notes whether it has the card.
    pub(crate) fn set_on_card(&self, on_card: bool) {
        self.on_card.store(on_card, Ordering::Release);
    }

    /// Whether it is still wanted.
    ///
    /// # Errors
    /// [`Failure::Timeout`] and [`Failure::Cancelled`].
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if self.timed_out() {
            return Err(Failure::Timeout);
        }
        if self.cancel.is_set() { Err(Failure::Cancelled) } else { Ok(()) }
    }

    /// Answers it, if it is not answered yet.
    pub(crate) fn answer(&self, outcome: Outcome, time: DriveTime, traffic: Traffic) {
        let reply = self.reply.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(reply) = reply {
            let (command_id, attempt) = (self.command_id, self.attempt);
            // The receiver is gone if the query was dropped.
            drop(reply.send(Completion { command_id, attempt, outcome, time, traffic }));
        }
    }
}

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct Running {
    entries: Mutex<Entries>,
    changed: Condvar,
    lost: OnceLock<String>,
    /// The exchange of images that goes on.
    exchange: Mutex<Option<Stopwatch>>,
}

/// An exchange of images that goes on.
pub(crate) struct Exchange<'a> {
    running: &'a Running,
    since: Stopwatch,
}

impl Exchange<'_> {
    /// Ends it; gives its time.
    pub(crate) fn end(self) -> Measured {
        self.since.measured()
    }
}

impl Drop for Exchange<'_> {
    fn drop(&mut self) {
        *self.running.exchange.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

#[derive(Debug, Default)]
struct Entries {
    pending: Vec<Arc<Pending>>,
    closed: bool,
}

impl Running {
    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a command, unless there are `at_most` already. False when there are.
    pub(crate) fn add(&self, pending: &Arc<Pending>, at_most: u32) -> bool {
        let mut entries = self.entries();
        if entries.pending.len() as u64 >= u64::from(at_most) {
            return false;
        }
        entries.pending.push(Arc::clone(pending));
        self.changed.notify_all();
        true
    }

    pub(crate) fn remove(&self, pending: &Arc<Pending>) {
        self.entries().pending.retain(|other| !Arc::ptr_eq(other, pending));
    }

    pub(crate) fn count(&self) -> u32 {
        u32::try_from(self.entries().pending.len()).unwrap_or(u32::MAX)
    }

    /// Sets the cancel word of a command; false when it is not there.
    pub(crate) fn cancel(&self, command_id: u128) -> bool {
        let entries = self.entries();
        let found = entries.pending.iter().find(|pending| pending.command_id == command_id);
        found.inspect(|pending| pending.cancel.set()).is_some()
    }

    pub(crate) fn cancel_all(&self) {
        self.entries().pending.iter().for_each(|pending| pending.cancel.set());
    }

    /// The reason why the card is lost, if it is.
    pub(crate) fn lost(&self) -> Option<&str> {
        self.lost.get().map(String::as_str)
    }

    /// Abandons the card: answers all commands, with `time` as their time.
    pub(crate) fn lose(&self, reason: &str, time: impl Fn() -> DriveTime) {
        if self.lost.set(reason.to_owned()).is_ok() {
            tracing::error!(reason, "a card is lost; its process should be replaced");
        }
        let pending = std::mem::take(&mut self.entries().pending);
        for command in pending {
            command.cancel.set();
            let failure = match command.timed_out() {
                true => Failure::Timeout,
                false => Failure::Gone { reason: reason.to_owned() },
            };
            command.answer(Outcome::Failed(failure), time(), Traffic::default());
        }
    }

    /// Watches the clock until [`Running::close`]. `grace` is what a kernel may take to end once it
    /// is cancelled.
    pub(crate) fn watch(&self, grace: Duration, time: impl Fn() -> DriveTime) {
        loop {
            {
                let entries = self.entries();
                if entries.closed {
                    return;
                }
                let idle = entries.pending.is_empty() && !self.is_exchanging();
                let patience = if idle { Duration::from_secs(3600) } else { TICK };
                let waited = self.changed.wait_timeout(entries, patience);
                drop(waited.unwrap_or_else(PoisonError::into_inner));
            }
            let mut overdue = Vec::new();
            for command in &self.entries().pending {
                let elapsed = command.since.elapsed();
                if elapsed >= command.timeout {
                    command.timed_out.store(true, Ordering::Release);
                    command.cancel.set();
                }
                if elapsed >= command.timeout.saturating_add(grace) {
                    overdue.push(Arc::clone(command));
                }
            }
            if overdue.iter().any(|command| command.on_card.load(Ordering::Acquire)) {
                self.lose("a kernel did not end, not even when it was cancelled", &time);
            } else if self.exchange_is_overdue() {
                self.lose("an image was not loaded in time", &time);
            }
            for command in overdue {
                self.remove(&command);
                command.answer(Outcome::Failed(Failure::Timeout), time(), Traffic::default());
            }
        }
    }

    /// Notes that an exchange of images begins.
    pub(crate) fn begin_exchange(&self) -> Exchange<'_> {
        let since = Stopwatch::start();
        *self.exchange.lock().unwrap_or_else(PoisonError::into_inner) = Some(since);
        Exchange { running: self, since }
    }

    fn exchange_since(&self) -> Option<Stopwatch> {
        *self.exchange.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_exchanging(&self) -> bool {
        self.exchange_since().is_some()
    }

    fn exchange_is_overdue(&self) -> bool {
        self.exchange_since().is_some_and(|since| since.elapsed() >= EXCHANGE_MAX)
    }

    /// Ends the watch.
    pub(crate) fn close(&self) {
        self.entries().closed = true;
        self.changed.notify_all();
    }
}
