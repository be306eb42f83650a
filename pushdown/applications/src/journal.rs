// SPDX-License-Identifier: Apache-2.0
//! Tells who watches what the applications do: changes of state, events, faults, lines of logs.
//!
//! A bounded number of notices is kept in memory. They are for people; what must not be lost is in
//! the store.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use nearscan_drive::clock::unix_ns;
use tokio::sync::{broadcast, watch};

use crate::{call::Level, event::Event, fault::Fault};

/// Notices that are kept, and that a watcher may be behind.
const NOTICES_MAX: usize = 1000;

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// An application was installed, or replaced by another version.
    Installed {
        /// Its version.
        version: String,
    },
    /// It was removed.
    Removed,
    /// It can be called.
    Started,
    /// It cannot be called any more.
    Stopped,
    /// A call of it broke a rule.
    Faulted(Fault),
    /// It wrote a line.
    Logged(Level, String),
    /// A handler was registered.
    Registered,
    /// A handler was unregistered.
    Unregistered,
    /// An event that no object has caused was published.
    Published(Event),
    /// A handler has handled an event.
    Handled {
        /// Its number.
        sequence: u64,
        /// At which attempt.
        attempt: u32,
    },
    /// A handler could not handle an event, which is a dead letter now.
    DeadLetter {
        /// Its number.
        sequence: u64,
        /// Why.
        reason: String,
    },
    /// A handler gets no events while there are as many dead letters as are kept.
    Held,
    /// Changes were forgotten before a handler has seen them.
    Missed {
        /// The last of them.
        up_to: u64,
    },
    /// Something cannot be read or written.
    Failed {
        /// What is known of it.
        reason: String,
    },
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// Its number; later ones have larger ones.
    pub number: u64,
    /// When, in ns since 1970.
    pub at_ns: u64,
    /// The application or the handler; empty if it is about neither.
    pub name: String,
    /// What.
    pub what: What,
}

/// The notices.
#[derive(Debug)]
pub(crate) struct Journal {
    kept: Mutex<Kept>,
    watchers: broadcast::Sender<Notice>,
}

#[derive(Debug, Default)]
struct Kept {
    notices: VecDeque<Notice>,
    last: u64,
}

impl Default for Journal {
    fn default() -> Self {
        Self { kept: Mutex::default(), watchers: broadcast::channel(NOTICES_MAX).0 }
    }
}

impl Journal {
    pub(crate) fn note(&self, name: &str, what: What) {
        trace(name, &what);
        let mut kept = self.lock();
        kept.last += 1;
        let (number, name) = (kept.last, name.to_owned());
        let notice = Notice { number, at_ns: unix_ns(), name, what };
        if kept.notices.len() == NOTICES_MAX {
            kept.notices.pop_front();
        }
        kept.notices.push_back(notice.clone());
        // Without watchers nobody gets it.
        drop(self.watchers.send(notice));
    }

    /// The notices after a number, and those to come.
    pub(crate) fn watch(&self, after: u64) -> (Vec<Notice>, broadcast::Receiver<Notice>) {
        let kept = self.lock();
        let found = kept.notices.iter().filter(|notice| notice.number > after).cloned().collect();
        (found, self.watchers.subscribe())
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Faults and failures are for who operates the server; the rest is for who watches.
fn trace(name: &str, what: &What) {
    match what {
        What::Faulted(fault) => tracing::warn!(name, kind = fault.kind(), %fault, "fault"),
        What::DeadLetter { sequence, reason } => {
            tracing::warn!(name, sequence, reason, "dead letter");
        }
        What::Held => tracing::error!(name, "handler is held"),
        What::Missed { up_to } => tracing::error!(name, up_to, "handler missed changes"),
        What::Failed { reason } => tracing::error!(name, reason, "applications failed"),
        What::Installed { .. }
        | What::Removed
        | What::Started
        | What::Stopped
        | What::Registered
        | What::Unregistered => tracing::info!(name, ?what, "application"),
        What::Logged(..) | What::Published(_) | What::Handled { .. } => {
            tracing::debug!(name, ?what, "application");
        }
    }
}

/// Wakes who waits for changes.
#[derive(Debug)]
pub(crate) struct Wake(watch::Sender<()>);

impl Default for Wake {
    fn default() -> Self {
        Self(watch::Sender::new(()))
    }
}

impl Wake {
    pub(crate) fn ring(&self) {
        self.0.send_replace(());
    }

    pub(crate) fn listen(&self) -> watch::Receiver<()> {
        self.0.subscribe()
    }
}
