// SPDX-License-Identifier: Apache-2.0
//! Describes one call of an application: whose it is, what it may do and use, and how long it has
//! been running.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use nearscan_drive::clock::Stopwatch;
use tokio::sync::Notify;

use crate::{
    fault::Fault,
    limits::{LOG_BYTES_MAX, Limits},
    rights::Rights,
};

/// What a call is made with.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) application: String,
    pub(crate) rights: Rights,
    pub(crate) limits: Limits,
    /// How many handlers in a chain have led to it.
    pub(crate) depth: u32,
    /// Stops it, with all others of the application.
    pub(crate) stop: Arc<StopSign>,
}

/// Stops the calls of an application that are running.
#[derive(Debug, Default)]
pub(crate) struct StopSign {
    is_up: AtomicBool,
    changed: Notify,
}

impl StopSign {
    pub(crate) fn put_up(&self) {
        self.is_up.store(true, Ordering::Release);
        self.changed.notify_waiters();
    }

    fn is_up(&self) -> bool {
        self.is_up.load(Ordering::Acquire)
    }

    /// Waits until it is up.
    pub(crate) async fn wait(&self) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if self.is_up() {
                return;
            }
            changed.await;
        }
    }
}

/// How long a call may still run. Time in which it waits for a reader of its table does not count.
#[derive(Debug)]
pub(crate) struct CallClock {
    started: Stopwatch,
    limit: Duration,
    waited_ns: AtomicU64,
    stop: Arc<StopSign>,
    /// Set when the caller has cancelled the call.
    abandoned: StopSign,
}

impl CallClock {
    pub(crate) fn start(call: &Call) -> Self {
        Self {
            started: Stopwatch::start(),
            limit: call.limits.deadline(),
            waited_ns: AtomicU64::new(0),
            stop: Arc::clone(&call.stop),
            abandoned: StopSign::default(),
        }
    }

    /// Ends the call because its caller has cancelled it.
    pub(crate) fn abandon(&self) {
        self.abandoned.put_up();
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Counts time in which the call waited for others.
    pub(crate) fn add_waited(&self, time: Duration) {
        let ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.waited_ns.fetch_add(ns, Ordering::Relaxed);
    }

    /// What is left of the time; none if the call is over.
    pub(crate) fn left(&self) -> Option<Duration> {
        let waited = Duration::from_nanos(self.waited_ns.load(Ordering::Relaxed));
        let used = self.elapsed().saturating_sub(waited);
        self.limit.checked_sub(used).filter(|left| !left.is_zero())
    }

    /// Why the call has to end, if it has to.
    pub(crate) fn fault(&self) -> Option<Fault> {
        if self.stop.is_up() || self.abandoned.is_up() {
            return Some(Fault::Stopped);
        }
        match self.left() {
            Some(_) => None,
            None => Some(self.late()),
        }
    }

    fn late(&self) -> Fault {
        Fault::Deadline { limit_ms: u64::try_from(self.limit.as_millis()).unwrap_or(u64::MAX) }
    }

    /// Waits until the call has to end, and says why.
    pub(crate) async fn ended(&self) -> Fault {
        loop {
            let left = match self.fault() {
                Some(fault) => return fault,
                None => self.left().unwrap_or_default(),
            };
            tokio::select! {
                () = self.stop.wait() => {}
                () = self.abandoned.wait() => {}
                () = tokio::time::sleep(left) => {}
            }
        }
    }
}

/// How bad a line of a log is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Something is wrong.
    Error,
    /// Something is not as expected.
    Warn,
    /// Of interest to whoever runs the application.
    Info,
    /// Of interest to whoever writes it.
    Debug,
}

/// The lines of one call, of which only the first bytes are kept.
#[derive(Debug, Default)]
pub(crate) struct CallLog(Mutex<Lines>);

#[derive(Debug, Default)]
struct Lines {
    kept: Vec<(Level, String)>,
    bytes: usize,
    /// An unfinished line of standard output and standard error.
    partial: Vec<u8>,
    is_cut: bool,
}

impl CallLog {
    pub(crate) fn line(&self, level: Level, text: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(level, text);
    }

    /// Takes bytes of standard output or standard error.
    pub(crate) fn bytes(&self, bytes: &[u8]) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for &byte in bytes {
            if byte == b'\n' || lines.partial.len() >= LOG_BYTES_MAX {
                lines.finish();
            }
            if lines.is_cut {
                return;
            }
            if byte != b'\n' {
                lines.partial.push(byte);
            }
        }
    }

    /// Takes all lines.
    pub(crate) fn take(&self) -> Vec<(Level, String)> {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !lines.partial.is_empty() {
            lines.finish();
        }
        std::mem::take(&mut lines.kept)
    }
}

impl Lines {
    fn push(&mut self, level: Level, text: &str) {
        if self.is_cut {
            return;
        }
        let room = LOG_BYTES_MAX - self.bytes;
        // A line that is empty costs room too.
        if text.len() < room {
            self.bytes += text.len() + 1;
            self.kept.push((level, text.to_owned()));
            return;
        }
        self.is_cut = true;
        self.partial = Vec::new();
        let kept = text.floor_char_boundary(room);
        self.kept.push((level, text[..kept].to_owned()));
        self.kept.push((Level::Warn, format!("the log ends after {LOG_BYTES_MAX} bytes")));
    }

    fn finish(&mut self) {
        let bytes = std::mem::take(&mut self.partial);
        self.push(Level::Info, &String::from_utf8_lossy(&bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_keeps_the_first_bytes_and_says_where_it_ends() {
        let log = CallLog::default();
        log.line(Level::Error, "first");
        log.bytes(b"sec");
        log.bytes(b"ond\nth");
        log.bytes("ä".repeat(LOG_BYTES_MAX).as_bytes());
        log.line(Level::Error, "never");
        let lines = log.take();
        let texts: Vec<&str> = lines.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(texts[..2], ["first", "second"]);
        assert!(texts[2].starts_with("thä"));
        assert_eq!(texts[3..], ["the log ends after 65536 bytes"]);
        assert!(texts.iter().map(|text| text.len()).sum::<usize>() < LOG_BYTES_MAX + 100);
    }

    #[tokio::test]
    async fn clock_of_a_call_does_not_count_waiting_and_ends_at_a_stop_sign() {
        let call = Call {
            application: "a".to_owned(),
            rights: Rights::default(),
            limits: Limits { deadline_ms: 20, ..Limits::default() },
            depth: 0,
            stop: Arc::default(),
        };
        let clock = CallClock::start(&call);
        clock.add_waited(Duration::from_secs(3600));
        assert!(clock.fault().is_none());
        assert_eq!(CallClock::start(&call).ended().await, Fault::Deadline { limit_ms: 20 });
        call.stop.put_up();
        assert_eq!(clock.ended().await, Fault::Stopped);
    }
}
