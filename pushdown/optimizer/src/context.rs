// SPDX-License-Identifier: Apache-2.0
//! What planning and execution share in a session: drives, fallback, log, quarantine, and what the
//! cost model goes by: what commands took, how fast the host is, how many queries it runs.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use nearscan_drive::{CostSnapshot, Drive, Drives, Observation, Observer};

use crate::cost::CoreRates;
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
    /// What commands took, by drive.
    observers: Mutex<HashMap<String, Arc<Observer>>>,
    /// What a core of this machine does, once somebody has measured it.
    core_rates: RwLock<Option<CoreRates>>,
    /// Queries that are running.
    running: AtomicU32,
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
            observers: Mutex::default(),
            core_rates: RwLock::default(),
            running: AtomicU32::new(0),
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

    /// Notes what a command took on a drive.
    pub fn note_command(&self, drive: &str, observation: &Observation) {
        self.observer(drive).note(observation);
    }

    /// A drive's snapshot, refined by what its commands took.
    pub fn snapshot(&self, name: &str, drive: &dyn Drive) -> CostSnapshot {
        self.observer(name).refine(drive.snapshot())
    }

    fn observer(&self, drive: &str) -> Arc<Observer> {
        let mut observers = self.observers.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(observers.entry(drive.to_owned()).or_default())
    }

    /// What a core of this machine does, if it was measured.
    pub fn core_rates(&self) -> Option<CoreRates> {
        *self.core_rates.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what was measured of a core of this machine.
    pub fn set_core_rates(&self, rates: CoreRates) {
        *self.core_rates.write().unwrap_or_else(PoisonError::into_inner) = Some(rates);
    }

    /// Counts a query as running until the guard is dropped.
    pub fn begin_query(self: &Arc<Self>) -> RunningQuery {
        self.running.fetch_add(1, Ordering::Relaxed);
        RunningQuery(Arc::clone(self))
    }

    /// Queries that are running.
    pub fn running_queries(&self) -> u32 {
        self.running.load(Ordering::Relaxed)
    }

    fn failures(&self) -> MutexGuard<'_, HashMap<(String, u64), u32>> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A query that is running.
#[derive(Debug)]
pub struct RunningQuery(Arc<PushdownContext>);

impl Drop for RunningQuery {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::Relaxed);
    }
}
