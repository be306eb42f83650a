// SPDX-License-Identifier: Apache-2.0
//! Publishes events that no object has caused: of the flash, of applications, faults.
//!
//! An event that a handler wants becomes an object of the system. So it is in the log of changes,
//! is as durable as the others, and has its place among them. The object is removed once all
//! handlers have seen it. An event without a handler goes to watchers only.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use nearscan_drive::clock::unix_ns;
use nearscan_store::{Condition, ObjectPath, Store};

use crate::{
    call::Call,
    error::{Error, Result},
    event::{Event, Subject},
    handlers::Handlers,
    journal::{Journal, Wake, What},
    refusal::Refusal,
    system::{self, EVENTS, SYSTEM},
};

/// The most events that wait for their handlers.
const EVENTS_MAX: usize = 10_000;

/// Whether an event goes to a handler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Published {
    /// It is durable, and will be delivered.
    Stored,
    /// No handler wants it.
    Unwanted,
}

/// Publishes events.
#[derive(Debug)]
pub(crate) struct Publisher {
    pub(crate) store: Store,
    pub(crate) handlers: Arc<Handlers>,
    pub(crate) journal: Arc<Journal>,
    pub(crate) wake: Arc<Wake>,
    /// Tells events of the same moment apart.
    next: AtomicU64,
}

impl Publisher {
    pub(crate) fn new(
        store: Store,
        handlers: Arc<Handlers>,
        journal: Arc<Journal>,
        wake: Arc<Wake>,
    ) -> Self {
        Self { store, handlers, journal, wake, next: AtomicU64::new(0) }
    }

    /// Publishes an event; `depth` handlers in a chain have led to it.
    pub(crate) fn publish(&self, subject: Subject, depth: u32) -> Result<Published> {
        if let Subject::Object { .. } = subject {
            let reason = "events of objects are those of the log of changes".to_owned();
            return Err(Error::Invalid { what: "event", reason });
        }
        let event = Event { sequence: 0, at_ns: unix_ns(), depth, subject };
        let published = match self.handlers.is_wanted(&event) {
            true => self.store(&event).map(|()| Published::Stored),
            false => Ok(Published::Unwanted),
        };
        self.journal.note("", What::Published(event));
        published
    }

    fn store(&self, event: &Event) -> Result<()> {
        let collections = self.store.collections(SYSTEM)?;
        let waiting = collections.iter().find(|(path, _, _)| path.name() == EVENTS);
        if waiting.is_some_and(|(_, _, usage)| usage.objects >= EVENTS_MAX as u64) {
            return Err(Error::TooManyEvents { limit: EVENTS_MAX });
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let path = system::object(EVENTS, &format!("{:020}-{number:010}", event.at_ns))?;
        let text = serde_json::to_vec(event)
            .map_err(|error| Error::Invalid { what: "event", reason: error.to_string() })?;
        self.store.put(&path, &text, Condition::Absent)?;
        self.wake.ring();
        Ok(())
    }

    /// Publishes an event of an application.
    pub(crate) fn emit(
        &self,
        call: &Call,
        name: &str,
        payload: Vec<u8>,
    ) -> std::result::Result<(), Refusal> {
        let (application, name) = (call.application.clone(), name.to_owned());
        let subject = Subject::Application { application, name, payload };
        match self.publish(subject, call.depth) {
            Ok(_) => Ok(()),
            Err(Error::Store(error)) => Err(error.into()),
            Err(error) => Err(Refusal::Unavailable(error.to_string())),
        }
    }

    /// Reads an event that was published; none if it is gone.
    pub(crate) fn read(&self, path: &ObjectPath, sequence: u64) -> Result<Option<Event>> {
        let reader = match self.store.reader(path) {
            Ok(reader) => reader,
            Err(nearscan_store::Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let read = serde_json::from_slice::<Event>(&reader.read_all()?);
        let event = read.map_err(|error| Error::Damaged {
            what: path.to_string(),
            reason: error.to_string(),
        })?;
        Ok(Some(Event { sequence, ..event }))
    }

    /// Removes events that all handlers have seen.
    pub(crate) fn forget(&self, up_to: u64) -> Result<()> {
        for info in self.store.list(&system::collection(EVENTS)?, "", None, EVENTS_MAX)? {
            if info.version > up_to {
                break;
            }
            match self.store.remove(&info.path, Condition::Always) {
                // Two handlers may be done at the same time.
                Ok(()) | Err(nearscan_store::Error::NotFound { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}
