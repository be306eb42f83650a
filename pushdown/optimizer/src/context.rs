// SPDX-License-Identifier: Apache-2.0
//! What planning and execution share in a session: drives, fallback, log and quarantine.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nearscan_drive::{Drive, Drives};

use crate::log::PushdownLog;

/// Failures in a row after which a fragment is not offered to a drive any more.
pub const QUARANTINE_FAILURES: u32 = 3;

/// Shared by the rule and the operators; an extension of the session's configuration.
#[derive(Debug)]
pub struct PushdownContext {
    /// Attached drives.
    pub drives: Arc<Drives>,
    /// Does what a drive has pushed back; without one the replaced plan does.
    pub fallback: Option<Arc<dyn Drive>>,
    /// What became of each unit.
    pub log: PushdownLog,
    /// Failures in a row, by drive and fragment.
    failures: Mutex<HashMap<(String, u64), u32>>,
    queries: AtomicU64,
    commands: AtomicU64,
}

impl PushdownContext {
    /// A context of these drives; `fallback` runs commands on the CPU.
    pub fn new(drives: Arc<Drives>, fallback: Option<Arc<dyn Drive>>) -> Self {
        Self {
            drives,
            fallback,
            log: PushdownLog::default(),
            failures: Mutex::default(),
            queries: AtomicU64::new(1),
            commands: AtomicU64::new(1),
        }
    }

    /// A number for a query.
    pub fn next_query_id(&self) -> u128 {
        u128::from(self.queries.fetch_add(1, Ordering::Relaxed))
    }

    /// A number for a command.
    pub fn next_command_id(&self) -> u128 {
        u128::from(self.commands.fetch_add(1, Ordering::Relaxed))
    }

    /// Whether a fragment is in quarantine on a drive.
    pub fn is_quarantined(&self, drive: &str, fragment_hash: u64) -> bool {
        let failures = self.failures();
        failures
            .get(&(drive.to_owned(), fragment_hash))
            .is_some_and(|count| *count >= QUARANTINE_FAILURES)
    }

    /// Every fragment in quarantine, by drive and hash.
    pub fn quarantined(&self) -> Vec<(String, u64)> {
        let failures = self.failures();
        let lasting = failures.iter().filter(|(_, count)| **count >= QUARANTINE_FAILURES);
        lasting.map(|(key, _)| key.clone()).collect()
    }

    /// Notes that a fragment crashed, hung or timed out on a drive.
    pub fn note_failure(&self, drive: &str, fragment_hash: u64) {
        *self.failures().entry((drive.to_owned(), fragment_hash)).or_default() += 1;
    }

    /// Notes that a fragment ran well on a drive.
    pub fn note_success(&self, drive: &str, fragment_hash: u64) {
        let key = (drive.to_owned(), fragment_hash);
        let mut failures = self.failures();
        // Once in quarantine, a late success of a command sent before does not end it.
        if failures.get(&key).is_some_and(|count| *count < QUARANTINE_FAILURES) {
            failures.remove(&key);
        }
    }

    fn failures(&self) -> MutexGuard<'_, HashMap<(String, u64), u32>> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
