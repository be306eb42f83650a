// SPDX-License-Identifier: Apache-2.0
//! Holds what planning and execution share in a session: drives, fallback, log, quarantine, and the
//! inputs of the cost model: observed commands, rates of the host, number of running queries.

use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
    time::Duration,
};

use nearscan_drive::{CostSnapshot, Drive, Drives, Observation, Observer};

use crate::{
    cost::CoreRates,
    log::PushdownLog,
    quarantine::{Pass, Quarantine},
    reads::LocalReads,
};

/// Shared by the rule and the operators; an extension of the session's configuration.
#[derive(Debug)]
pub struct PushdownContext {
    /// Attached drives.
    pub drives: Arc<Drives>,
    /// The drive that runs pushed-back units; without one the replaced plan runs them.
    pub fallback: Option<Arc<dyn Drive>>,
    /// The outcome of each unit.
    pub log: PushdownLog,
    /// The reader of local files.
    pub reads: LocalReads,
    quarantine: Arc<Quarantine>,
    clock: Clock,
    /// Observed commands, by drive.
    observers: Mutex<HashMap<String, Arc<Observer>>>,
    /// Rates of a core of this machine, once they are measured.
    core_rates: RwLock<Option<CoreRates>>,
    /// Queries that are running.
    running: AtomicU32,
    queries: AtomicU64,
    commands: AtomicU64,
}

impl PushdownContext {
    /// Makes a context of these drives; `fallback` runs commands on the CPU, `now` returns the time
    /// since an arbitrary start.
    pub fn new(
        drives: Arc<Drives>,
        fallback: Option<Arc<dyn Drive>>,
        now: impl Fn() -> Duration + Send + Sync + 'static,
    ) -> Self {
        Self {
            drives,
            fallback,
            log: PushdownLog::default(),
            reads: LocalReads::default(),
            quarantine: Arc::default(),
            clock: Clock(Box::new(now)),
            observers: Mutex::default(),
            core_rates: RwLock::default(),
            running: AtomicU32::new(0),
            queries: AtomicU64::new(1),
            commands: AtomicU64::new(1),
        }
    }

    /// Returns a unique number for a query.
    pub fn next_query_id(&self) -> u128 {
        u128::from(self.queries.fetch_add(1, Ordering::Relaxed))
    }

    /// Returns a unique number for a command.
    pub fn next_command_id(&self) -> u128 {
        u128::from(self.commands.fetch_add(1, Ordering::Relaxed))
    }

    /// Returns a pass to send a command of a fragment to a drive in this epoch; nothing while the
    /// fragment is in quarantine there.
    pub fn admit(&self, drive: &str, fragment_hash: u64, epoch: u64) -> Option<Pass> {
        self.quarantine.admit(drive, fragment_hash, epoch, self.now())
    }

    /// Returns every fragment in quarantine, by drive and hash.
    pub fn quarantined(&self) -> Vec<(String, u64)> {
        let epoch_of = |name: &str| self.drives.get(name).and_then(|drive| drive.epoch());
        self.quarantine.closed(epoch_of, self.now())
    }

    /// Returns the time since an arbitrary start, by the clock given to [`PushdownContext::new`].
    pub fn now(&self) -> Duration {
        (self.clock.0)()
    }

    /// Records the observation of a command on a drive.
    pub fn note_command(&self, drive: &str, observation: &Observation) {
        self.observer(drive).note(observation);
    }

    /// Returns a drive's snapshot, refined by observed commands.
    pub fn snapshot(&self, name: &str, drive: &dyn Drive) -> CostSnapshot {
        self.observer(name).refine(drive.snapshot())
    }

    fn observer(&self, drive: &str) -> Arc<Observer> {
        let mut observers = self.observers.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(observers.entry(drive.to_owned()).or_default())
    }

    /// Returns the rates of a core of this machine, if they were measured.
    pub fn core_rates(&self) -> Option<CoreRates> {
        *self.core_rates.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the measured rates of a core of this machine.
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
}

/// Returns the time since an arbitrary start.
struct Clock(Box<dyn Fn() -> Duration + Send + Sync>);

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Clock").field(&(self.0)()).finish()
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
