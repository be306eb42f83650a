// SPDX-License-Identifier: Apache-2.0
//! Records who changed what: [`Audit`] is a log of JSON lines that is only appended to.
//!
//! ```json
//! {"time":"2026-02-03T04:05:06.789Z","client":"etl","peer":"10.0.0.7:51234",
//!  "action":"put","object":"sales/1.parquet","outcome":"done","bytes":4096}
//! ```
//!
//! Each is one line; the time is that of the call. A refusal or a failure has a `reason` as well. A
//! reader skips a line that is not whole: it is from a disk that was full, or a crash.
//!
//! Whoever makes a change records it as [`Outcome::Allowed`] first, makes it only if that was
//! recorded, and records what came of it. Reads are too many to be recorded; of them the log has
//! those that were denied.
//!
//! The log does not know what a request means, and it is no defence against those who may write its
//! file.
//!
//! # Invariants
//!
//! - [`Audit::record`] succeeds only once the line is in the file, and on the disk.
//! - A line never has a part of another one, also when several processes write.
//! - Whatever a client says, its line has at most [`LINE_BYTES_MAX`] bytes and no end of line
//!   within.
//! - Nobody waits in an endless queue: at most [`WAITING_MAX`] lines wait, and what comes then is
//!   refused.

mod event;
mod writer;

use std::{
    io,
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc::{self, SyncSender, TrySendError},
    },
    thread::JoinHandle,
};

use nearscan_drive::clock;
use tokio::sync::oneshot;

pub use event::{Event, Kind, LINE_BYTES_MAX, Outcome};
use writer::{LogFile, Order};

/// Lines that wait to be written, at most: what a disk takes in one call, many times over.
pub const WAITING_MAX: usize = 1024;

/// The reason why something is not in the log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AuditError {
    /// The file cannot be opened.
    #[error("cannot open the audit log {path}: {reason}")]
    Open {
        /// Which file.
        path: PathBuf,
        /// What the system says.
        reason: String,
    },
    /// Others could change what is in it.
    #[error("others than its owner may write the audit log {path} (mode {mode:03o})")]
    Writable {
        /// Which file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// The disk takes no more.
    #[error("the audit log cannot be written: {reason}")]
    Write {
        /// What the system says.
        reason: String,
    },
    /// Too many lines wait already.
    #[error("the audit log is behind by {WAITING_MAX} lines")]
    Behind,
    /// Its thread has ended.
    #[error("the audit log is closed")]
    Closed,
    /// There is no thread for it.
    #[error("no thread could be started for the audit log: {reason}")]
    Threads {
        /// What the system says.
        reason: String,
    },
}

/// A log of what clients did. Dropping it writes what still waits.
#[derive(Debug)]
pub struct Audit {
    /// Nothing while it is dropped.
    orders: Option<SyncSender<Order>>,
    writer: Mutex<Option<JoinHandle<()>>>,
    unrecorded: AtomicU64,
}

impl Audit {
    /// Opens a log, which is made with mode 0600 when there is none.
    ///
    /// # Errors
    /// [`AuditError`] when it cannot be opened, or others may write it.
    pub fn open(path: &Path) -> Result<Self, AuditError> {
        let file = LogFile::open(path)?;
        let (orders, waiting) = mpsc::sync_channel(WAITING_MAX);
        let builder = std::thread::Builder::new().name("audit log".to_owned());
        let started = builder.spawn(move || writer::run(file, &waiting));
        let failed = |error: io::Error| AuditError::Threads { reason: error.to_string() };
        let writer = Mutex::new(Some(started.map_err(failed)?));
        Ok(Self { orders: Some(orders), writer, unrecorded: AtomicU64::new(0) })
    }

    /// Records what happened; a read only when it was denied. A change that cannot be recorded has
    /// to be refused.
    ///
    /// The line is written also when the call is cancelled.
    ///
    /// # Errors
    /// [`AuditError`] when the line may not be in the log.
    pub async fn record(&self, event: &Event<'_>) -> Result<(), AuditError> {
        if !event.is_recorded() {
            return Ok(());
        }
        let line = event.line(clock::unix_ns());
        let recorded = self.order(|done| Order::Write { line, done }).await;
        if let Err(error) = &recorded {
            self.unrecorded.fetch_add(1, Ordering::Relaxed);
            tracing::error!(%error, action = event.action, "an event is not in the audit log");
        }
        recorded
    }

    /// Events that may be missing in the log, so far.
    pub fn unrecorded(&self) -> u64 {
        self.unrecorded.load(Ordering::Relaxed)
    }

    /// Opens the file anew, after it was renamed: what was recorded before is in the old one, and
    /// what is recorded after in a new one.
    ///
    /// # Errors
    /// [`AuditError`] when it cannot be opened; then the old one stays in use.
    pub async fn reopen(&self) -> Result<(), AuditError> {
        self.order(|done| Order::Reopen { done }).await
    }

    async fn order(&self, order: impl FnOnce(writer::Done) -> Order) -> Result<(), AuditError> {
        let orders = self.orders.as_ref().ok_or(AuditError::Closed)?;
        let (done, is_done) = oneshot::channel();
        orders.try_send(order(done)).map_err(|error| match error {
            TrySendError::Full(_) => AuditError::Behind,
            TrySendError::Disconnected(_) => AuditError::Closed,
        })?;
        is_done.await.unwrap_or(Err(AuditError::Closed))
    }
}

impl Drop for Audit {
    fn drop(&mut self) {
        drop(self.orders.take());
        let writer = self.writer.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if writer.is_some_and(|writer| writer.join().is_err()) {
            tracing::error!("the thread of the audit log panicked");
        }
    }
}

#[cfg(test)]
mod tests;
