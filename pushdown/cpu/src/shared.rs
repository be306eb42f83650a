// SPDX-License-Identifier: Apache-2.0
//! Holds what the sessions of a CPU drive share: its files, its threads, its commands in flight.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::AtomicU64},
};

use nearscan_drive::{CancelWord, Capabilities, FileTable};

use crate::{buffers::Buffers, pool::Pool};

/// The state that sessions and jobs share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) capabilities: Capabilities,
    pub(crate) files: FileTable,
    pub(crate) pool: Pool,
    pub(crate) threads: usize,
    pub(crate) epoch: AtomicU64,
    pub(crate) running: Mutex<HashMap<u128, CancelWord>>,
    pub(crate) snapshots: AtomicU64,
    pub(crate) memory: Memory,
}

/// Memory that jobs leave for the next ones: up to 32 MiB of each kind, for as long as the drive is
/// there. It is not charged to queries.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    /// For chunks as they are in their file.
    pub(crate) chunks: Buffers,
    /// For pages that are decompressed.
    pub(crate) pages: Buffers,
}

/// A place among the commands in flight, released on drop.
#[derive(Debug)]
pub(crate) struct Place {
    shared: Arc<Shared>,
    command_id: u128,
}

impl Shared {
    pub(crate) fn lock_running(&self) -> MutexGuard<'_, HashMap<u128, CancelWord>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a command, if there is one and no other has its number.
    pub(crate) fn enter(self: &Arc<Self>, command_id: u128, cancel: &CancelWord) -> Option<Place> {
        let mut running = self.lock_running();
        if running.len() as u64 >= u64::from(self.capabilities.in_flight_max)
            || running.contains_key(&command_id)
        {
            return None;
        }
        running.insert(command_id, cancel.clone());
        Some(Place { shared: Arc::clone(self), command_id })
    }

    /// The cancel word of a command in flight.
    pub(crate) fn cancel_word(&self, command_id: u128) -> Option<CancelWord> {
        self.lock_running().get(&command_id).cloned()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.shared.lock_running().remove(&self.command_id);
    }
}
