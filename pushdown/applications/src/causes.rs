// SPDX-License-Identifier: Apache-2.0
//! Remembers which changes of objects were made by handlers, and how long the chain of handlers
//! before them is.
//!
//! The log of changes does not say who made a change. So a call notes the object before it changes
//! it, and the end of the log after that: a change of the object between the two counts as the
//! call's. A change that somebody else makes at the same moment counts too, which does no harm. The
//! notes are in memory: after a restart a chain begins at 0 again.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use nearscan_store::{ObjectPath, Result, Store};

/// Notes that are kept; the oldest are forgotten.
const NOTES_MAX: usize = 65_536;

/// The notes of all calls.
#[derive(Debug, Clone, Default)]
pub(crate) struct Causes(Arc<Mutex<Notes>>);

#[derive(Debug, Default)]
struct Notes {
    notes: VecDeque<Note>,
    next: u64,
}

#[derive(Debug)]
struct Note {
    number: u64,
    path: ObjectPath,
    depth: u32,
    /// Changes behind this one are meant.
    after: u64,
    /// And up to this one, once it is known.
    up_to: Option<u64>,
}

/// A change that is being made. Once it is dropped, later changes of the object are others'.
#[derive(Debug)]
pub(crate) struct Cause {
    open: Option<(Causes, Store, u64)>,
}

impl Causes {
    /// Notes that a call of this depth is about to change an object.
    pub(crate) fn begin(&self, store: &Store, path: &ObjectPath, depth: u32) -> Result<Cause> {
        if depth == 0 {
            return Ok(Cause { open: None });
        }
        let after = store.last_change()?;
        let mut notes = self.lock();
        let number = notes.next;
        notes.next += 1;
        if notes.notes.len() == NOTES_MAX {
            notes.notes.pop_front();
        }
        notes.notes.push_back(Note { number, path: path.clone(), depth, after, up_to: None });
        Ok(Cause { open: Some((self.clone(), store.clone(), number)) })
    }

    /// How many handlers have led to a change.
    pub(crate) fn depth(&self, path: &ObjectPath, sequence: u64) -> u32 {
        let notes = self.lock();
        let is_meant = |note: &&Note| {
            let is_before_end = note.up_to.is_none_or(|up_to| sequence <= up_to);
            note.path == *path && sequence > note.after && is_before_end
        };
        notes.notes.iter().filter(is_meant).map(|note| note.depth).max().unwrap_or(0)
    }

    /// Forgets notes of changes that all handlers have seen.
    pub(crate) fn forget(&self, up_to: u64) {
        let is_seen = |note: &Note| note.up_to.is_some_and(|last| last <= up_to);
        self.lock().notes.retain(|note| !is_seen(note));
    }

    fn lock(&self) -> MutexGuard<'_, Notes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Cause {
    fn drop(&mut self) {
        let Some((causes, store, number)) = self.open.take() else { return };
        // If the catalog cannot be read, nothing can be changed any more either.
        let last = store.last_change().unwrap_or(u64::MAX);
        let mut notes = causes.lock();
        if let Some(note) = notes.notes.iter_mut().find(|note| note.number == number) {
            note.up_to = Some(last);
        }
    }
}

#[cfg(test)]
mod tests {
    use nearscan_store::{CollectionPath, Condition, Quota};

    use super::*;

    #[test]
    fn changes_between_begin_and_end_are_of_the_call_and_no_others() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let collection = CollectionPath::in_default("c").unwrap();
        store.create_collection(&collection, Quota::default()).unwrap();
        let (a, b) = (collection.object("a").unwrap(), collection.object("b").unwrap());
        let put = |path| store.put(path, b"", Condition::Always).unwrap().version;
        let causes = Causes::default();
        let before = put(&a);
        let cause = causes.begin(&store, &a, 3).unwrap();
        let (meant, of_other) = (put(&a), put(&b));
        assert_eq!(causes.depth(&a, meant), 3);
        drop(cause);
        let after = put(&a);
        let depths = [before, meant, after].map(|sequence| causes.depth(&a, sequence));
        assert_eq!(depths, [0, 3, 0]);
        assert_eq!(causes.depth(&b, of_other), 0);
        drop(causes.begin(&store, &b, 0).unwrap());
        causes.forget(meant);
        assert_eq!(causes.depth(&a, meant), 3);
        causes.forget(of_other);
        assert_eq!(causes.depth(&a, meant), 0);
        assert!(causes.lock().notes.is_empty());
    }
}
