// SPDX-License-Identifier: Apache-2.0
//! Implements quarantine: fragments that failed on a drive are not offered to it for a time.
//!
//! ```text
//!             FAILURES in a row            cooling time over, or a new epoch
//! watched ----------------------> closed ------------------------------------> one probe
//!    ^                              ^                                            |    |
//!    |                              '----------- it fails: cooling --------------'    |
//!    |                                           time doubles                         |
//!    '------------------------------- it succeeds ------------------------------------'
//! ```
//!
//! Failures are crashes, hangs and late completions, which cost a query time or show a defect. An
//! error caused by data or by a full drive is not a failure. A closed fragment is planned for the
//! host. Once its time is over it is planned for the drive again, where the first unit is the
//! probe; the others go to the host until the probe has ended.
//!
//! # Epochs
//!
//! A command may have killed a drive that is gone, and any of the commands in flight may be the
//! cause. So all their fragments are blamed, each once an epoch, and a later success clears a
//! fragment. Blame is kept when the drive has started anew, because a restart is what follows when
//! a fragment kills it. A new epoch ends a cooling time once; if the probe fails then, the next
//! cooling time has its full length, whatever the epoch, until a probe has succeeded.
//!
//! Nothing here reads a clock: `now` is the time since some start, always the same.
//!
//! # Invariants
//!
//! - While a fragment is closed at most one command of it is in flight; of the closed fragments of
//!   a drive one is probed at a time, so that a drive which is killed by a probe was killed by that
//!   one.
//! - A probe that ends without a verdict (its query was dropped, the drive was full) leaves the
//!   fragment as it was: closed, its time over. One that has no end when a new epoch begins has
//!   failed.
//! - An entry does not go back to an earlier epoch, and what is of an earlier one changes nothing.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use nearscan_command::Status;
use nearscan_drive::{Failure, Fault};

/// Consecutive failures after which a fragment is closed: one may be chance, and each may cost a
/// query the timeout of a unit.
pub const FAILURES: u32 = 3;

/// The first cooling time: twice what a unit is given by default, so that of a session that does
/// nothing but probe a fragment that hangs, a third is lost at most.
pub const COOLING_MIN: Duration = Duration::from_secs(10);

/// The longest cooling time, six doublings later: a probe that hangs is then below a hundredth.
pub const COOLING_MAX: Duration = Duration::from_secs(640);

/// For how long a probe holds those of other fragments off, the time of two units: one whose query
/// is not asked for rows does not end.
const PROBE_MAX: Duration = COOLING_MIN;

/// Largest number of fragments with an entry; those that are only watched are evicted first.
const ENTRIES_MAX: usize = 1024;

/// A fragment on a drive.
type Key = (String, u64);

/// The quarantine of a session.
#[derive(Debug, Default)]
pub struct Quarantine {
    entries: Mutex<HashMap<Key, Entry>>,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    /// The latest epoch of the drive in which the fragment was seen.
    epoch: u64,
    /// Whether it was blamed for the end of that epoch.
    is_blamed: bool,
    /// Whether a new epoch has ended a cooling time.
    was_hastened: bool,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Has failed so many times in a row.
    Watched { failures: u32 },
    /// Is not offered before `until`, which was `cooling` later than its last failure.
    Closed { until: Duration, cooling: Duration },
    /// One command is on its way to find out, since then.
    Probing { since: Duration, cooling: Duration },
}

impl Entry {
    fn new(epoch: u64) -> Self {
        let state = State::Watched { failures: 0 };
        Self { epoch, is_blamed: false, was_hastened: false, state }
    }

    /// The drive is known to be in this epoch.
    fn reach(&mut self, epoch: u64, now: Duration) {
        if epoch <= self.epoch {
            return;
        }
        if let State::Probing { .. } = self.state {
            self.fail(now);
        }
        if let State::Closed { cooling, .. } = self.state
            && !self.was_hastened
        {
            self.state = State::Closed { until: Duration::ZERO, cooling };
            self.was_hastened = true;
        }
        self.epoch = epoch;
        self.is_blamed = false;
    }

    /// One failure more.
    fn fail(&mut self, now: Duration) {
        let close = |cooling| State::Closed { until: now.saturating_add(cooling), cooling };
        self.state = match self.state {
            State::Watched { failures } if failures + 1 >= FAILURES => close(COOLING_MIN),
            State::Watched { failures } => State::Watched { failures: failures + 1 },
            State::Probing { cooling, .. } => close(cooling.saturating_mul(2).min(COOLING_MAX)),
            // Of a command that was sent before the fragment was closed.
            state @ State::Closed { .. } => state,
        };
    }

    /// Whether no unit can be sent.
    fn is_closed(&self, now: Duration) -> bool {
        match self.state {
            State::Watched { .. } => false,
            State::Closed { until, .. } => now < until,
            State::Probing { .. } => true,
        }
    }

    /// Whether its probe holds those of other fragments off.
    fn holds_off(&self, now: Duration) -> bool {
        matches!(self.state, State::Probing { since, .. } if now < since.saturating_add(PROBE_MAX))
    }
}

/// A permit to send one command; it records how the command ended.
#[derive(Debug)]
pub struct Pass {
    quarantine: Arc<Quarantine>,
    key: Key,
    epoch: u64,
    is_probe: bool,
}

/// The verdict of a command's end on its fragment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// Nothing.
    None,
    /// It crashed, hung or came too late.
    Failed,
    /// The drive went while it was there.
    DriveGone,
}

impl Quarantine {
    /// Returns a permit to send a command of a fragment to a drive in this epoch; nothing while the
    /// fragment is closed.
    pub fn admit(
        self: &Arc<Self>,
        drive: &str,
        fragment_hash: u64,
        epoch: u64,
        now: Duration,
    ) -> Option<Pass> {
        let key = (drive.to_owned(), fragment_hash);
        let mut entries = self.entries();
        let now_known = entries.get_mut(&key).map(|entry| {
            entry.reach(epoch, now);
            *entry
        });
        let is_probe = match now_known {
            // An earlier drive than ours is not there any more, and says so itself.
            Some(entry) if entry.epoch == epoch => match entry.state {
                State::Watched { .. } => false,
                State::Closed { until, cooling } if until <= now => {
                    let holds_off = |(other, entry): (&Key, &Entry)| {
                        other.0 == key.0 && entry.epoch == epoch && entry.holds_off(now)
                    };
                    if entries.iter().any(holds_off) {
                        return None;
                    }
                    let state = State::Probing { since: now, cooling };
                    entries.insert(key.clone(), Entry { state, ..entry });
                    true
                }
                State::Closed { .. } | State::Probing { .. } => return None,
            },
            Some(_) | None => false,
        };
        drop(entries);
        Some(Pass { quarantine: Arc::clone(self), key, epoch, is_probe })
    }

    /// The fragments that no unit can be sent of, by drive and hash; `epoch_of` says in which
    /// epoch a drive is, if that is known.
    pub fn closed(
        &self,
        epoch_of: impl Fn(&str) -> Option<u64>,
        now: Duration,
    ) -> Vec<(String, u64)> {
        let mut entries = self.entries();
        // A drive does not go back: where its epoch is an earlier one, another has got its name.
        entries.retain(|key, entry| epoch_of(&key.0).is_none_or(|epoch| entry.epoch <= epoch));
        let is_closed = |(key, entry): &(&Key, &Entry)| {
            let mut entry = **entry;
            if let Some(epoch) = epoch_of(&key.0) {
                entry.reach(epoch, now);
            }
            entry.is_closed(now)
        };
        entries.iter().filter(is_closed).map(|(key, _)| key.clone()).collect()
    }

    fn entries(&self) -> MutexGuard<'_, HashMap<Key, Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pass {
    /// Notes that the command ended as it should.
    pub fn succeeded(self) {
        let mut entries = self.quarantine.entries();
        let Some(entry) = entries.get(&self.key).filter(|entry| entry.epoch <= self.epoch) else {
            return;
        };
        match entry.state {
            State::Watched { .. } => {
                entries.remove(&self.key);
            }
            State::Probing { .. } if self.is_probe => {
                entries.remove(&self.key);
                let (drive, fragment) = &self.key;
                tracing::info!(drive, fragment, "a fragment left quarantine");
            }
            // A command that was sent before the fragment was closed proves nothing.
            State::Closed { .. } | State::Probing { .. } => {}
        }
    }

    /// Notes that the command did not end as it should.
    pub fn ended(self, fault: &Fault, now: Duration) {
        self.judged(Verdict::of(fault), now);
    }

    /// Notes that the command crashed, hung or came too late.
    pub fn failed(self, now: Duration) {
        self.judged(Verdict::Failed, now);
    }

    fn judged(self, verdict: Verdict, now: Duration) {
        if verdict == Verdict::None {
            return;
        }
        let mut entries = self.quarantine.entries();
        if !entries.contains_key(&self.key) && !make_room(&mut entries) {
            return;
        }
        let entry = entries.entry(self.key.clone()).or_insert_with(|| Entry::new(self.epoch));
        entry.reach(self.epoch, now);
        let is_late = entry.epoch > self.epoch;
        let is_of_another =
            matches!(entry.state, State::Probing { .. } | State::Closed { .. }) && !self.is_probe;
        let is_blamed_already = verdict == Verdict::DriveGone && entry.is_blamed && !self.is_probe;
        if is_late || is_of_another || is_blamed_already {
            return;
        }
        entry.is_blamed |= verdict == Verdict::DriveGone;
        entry.fail(now);
        if let State::Closed { cooling, .. } = entry.state {
            let (drive, fragment) = &self.key;
            tracing::warn!(drive, fragment, ?cooling, "a fragment is quarantined");
        }
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        if !self.is_probe {
            return;
        }
        let mut entries = self.quarantine.entries();
        let entry = entries.get_mut(&self.key).filter(|entry| entry.epoch == self.epoch);
        if let Some(entry) = entry
            && let State::Probing { since, cooling } = entry.state
        {
            entry.state = State::Closed { until: since, cooling };
        }
    }
}

impl Verdict {
    /// Crashes and hangs speak against offering a fragment again, data does not.
    fn of(fault: &Fault) -> Self {
        match fault {
            Fault::Failed(Failure::Timeout | Failure::Kernel { .. })
            | Fault::Status(Status::StepsExceeded | Status::Malformed) => Self::Failed,
            Fault::Failed(Failure::Gone { .. }) => Self::DriveGone,
            Fault::Failed(_) | Fault::Status(_) | Fault::Corrupted(_) | Fault::Accounting(_) => {
                Self::None
            }
        }
    }
}

/// Evicts an entry if there are too many. Returns false if none can be evicted, because all are
/// being probed.
fn make_room(entries: &mut HashMap<Key, Entry>) -> bool {
    if entries.len() < ENTRIES_MAX {
        return true;
    }
    let importance = |(key, entry): (&Key, &Entry)| match entry.state {
        State::Watched { failures } => Some(((false, Duration::ZERO, failures), key.clone())),
        State::Closed { until, .. } => Some(((true, until, 0), key.clone())),
        // Its pass comes back.
        State::Probing { .. } => None,
    };
    let least = entries.iter().filter_map(importance).min_by_key(|(importance, _)| *importance);
    least.is_some_and(|(_, key)| entries.remove(&key).is_some())
}

#[cfg(test)]
mod tests;
