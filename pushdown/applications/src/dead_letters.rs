// SPDX-License-Identifier: Apache-2.0
//! Keeps events that a handler could not handle, until somebody retries or clears them. Each is an
//! object of the system, `handler/sequence`.

use nearscan_drive::clock::unix_ns;
use nearscan_store::{Condition, Error as StoreError, ObjectPath, Store};
use serde::{Deserialize, Serialize};

use crate::{
    error::{Error, Result},
    event::Event,
    system::{self, DEAD_LETTERS, SYSTEM},
};

/// The most dead letters of all handlers. A handler that would make one more is held.
pub(crate) const DEAD_LETTERS_MAX: usize = 10_000;

/// The longest reason of a dead letter, in bytes; the rest is cut off.
const REASON_BYTES_MAX: usize = 4 << 10;

/// An event that a handler could not handle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeadLetter {
    /// The handler.
    pub handler: String,
    /// The event.
    pub event: Event,
    /// How often it was tried.
    pub attempts: u32,
    /// Why it failed the last time.
    pub reason: String,
    /// When that was, in ns since 1970.
    pub at_ns: u64,
}

/// Whether there was room for a dead letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kept {
    Yes,
    Full,
}

/// All dead letters.
#[derive(Debug)]
pub(crate) struct DeadLetters {
    store: Store,
}

fn path(handler: &str, sequence: u64) -> Result<ObjectPath> {
    system::object(DEAD_LETTERS, &format!("{handler}/{sequence:020}"))
}

impl DeadLetters {
    pub(crate) fn new(store: &Store) -> Self {
        Self { store: store.clone() }
    }

    /// Keeps an event; one that is there already stays one.
    pub(crate) fn keep(
        &self,
        handler: &str,
        event: &Event,
        attempts: u32,
        reason: &str,
    ) -> Result<Kept> {
        let path = path(handler, event.sequence)?;
        let collections = self.store.collections(SYSTEM)?;
        let found = collections.iter().find(|(path, _, _)| path.name() == DEAD_LETTERS);
        let count = found.map_or(0, |(_, _, usage)| usage.objects);
        if count >= DEAD_LETTERS_MAX as u64 && self.store.info(&path).is_err() {
            return Ok(Kept::Full);
        }
        let letter = DeadLetter {
            handler: handler.to_owned(),
            event: event.clone(),
            attempts,
            reason: reason[..reason.floor_char_boundary(REASON_BYTES_MAX)].to_owned(),
            at_ns: unix_ns(),
        };
        let text = serde_json::to_vec(&letter)
            .map_err(|error| Error::Invalid { what: "dead letter", reason: error.to_string() })?;
        self.store.put(&path, &text, Condition::Always)?;
        Ok(Kept::Yes)
    }

    /// The dead letters of a handler behind an event, in the order of the log, and at most so many.
    pub(crate) fn list(&self, handler: &str, after: u64, limit: usize) -> Result<Vec<DeadLetter>> {
        let (collection, prefix) = (system::collection(DEAD_LETTERS)?, format!("{handler}/"));
        let after = (after > 0).then(|| path(handler, after)).transpose()?;
        let after = after.as_ref().map(|path| path.name());
        let found = self.store.list(&collection, &prefix, after, limit.min(DEAD_LETTERS_MAX))?;
        found.iter().map(|info| self.read(&info.path)).collect()
    }

    /// The dead letter of a handler and an event.
    pub(crate) fn get(&self, handler: &str, sequence: u64) -> Result<DeadLetter> {
        match self.read(&path(handler, sequence)?) {
            Err(Error::Store(StoreError::NotFound { .. })) => {
                Err(Error::NotFound { what: format!("dead letter {sequence} of {handler}") })
            }
            found => found,
        }
    }

    fn read(&self, path: &ObjectPath) -> Result<DeadLetter> {
        let text = self.store.reader(path)?.read_all()?;
        serde_json::from_slice(&text)
            .map_err(|error| Error::Damaged { what: path.to_string(), reason: error.to_string() })
    }

    pub(crate) fn remove(&self, handler: &str, sequence: u64) -> Result<()> {
        match self.store.remove(&path(handler, sequence)?, Condition::Always) {
            Err(StoreError::NotFound { .. }) => {
                Err(Error::NotFound { what: format!("dead letter {sequence} of {handler}") })
            }
            removed => Ok(removed?),
        }
    }
}
