// SPDX-License-Identifier: Apache-2.0
//! Keeps the commands of a session that wait for their end.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use nearscan_drive::{Completion, Refusal};
use tokio::sync::oneshot;

/// The commands of a session that wait for their end.
#[derive(Debug, Clone, Default)]
pub(super) struct Commands(Arc<Mutex<Waiting>>);

#[derive(Debug, Default)]
pub(super) struct Waiting {
    pub(super) by_id: HashMap<u128, Expected>,
    /// The reason why no more can be added, once the session has ended.
    ended: Option<String>,
}

/// A command whose end is awaited.
#[derive(Debug)]
pub(super) struct Expected {
    /// Room for its result.
    pub(super) bytes_max: u64,
    pub(super) arrived: oneshot::Sender<Completion>,
}

impl Commands {
    pub(super) fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a command.
    pub(super) fn add(&self, command_id: u128, expected: Expected) -> Result<(), Refusal> {
        let mut waiting = self.lock();
        if let Some(reason) = &waiting.ended {
            return Err(Refusal::Gone { reason: reason.clone() });
        }
        if waiting.by_id.contains_key(&command_id) {
            return Err(Refusal::Busy);
        }
        waiting.by_id.insert(command_id, expected);
        Ok(())
    }

    pub(super) fn take(&self, command_id: u128) -> Option<Expected> {
        self.lock().by_id.remove(&command_id)
    }

    /// Abandons a command; its later messages are dropped.
    pub(super) fn forget(&self, command_id: u128) {
        drop(self.take(command_id));
    }

    /// Ends the session; the first reason is kept. Waiting commands are notified.
    pub(super) fn end_with(&self, reason: String) {
        let mut waiting = self.lock();
        waiting.ended.get_or_insert(reason);
        waiting.by_id.clear();
    }

    /// The reason why the session has ended.
    pub(super) fn end(&self) -> String {
        self.lock().ended.clone().unwrap_or_else(|| "it dropped the command".to_owned())
    }
}
