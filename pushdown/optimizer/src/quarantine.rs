// SPDX-License-Identifier: Apache-2.0
//! Quarantine: which fragments are not offered to a drive, because they failed on it.
//!
//! ```text
//!             FAILURES in a row            cooling time over
//! watched ----------------------> closed ---------------------> one probe
//!    ^                              ^                             |    |
//!    |                              '---- it fails: cooling ------'    |
//!    |                                    time doubles                 |
//!    '------ it succeeds, or the drive is in another epoch ------------'
//! ```
//!
//! Failures are crashes, hangs and late ends: what costs a query time or shows a defect. What data
//! or a full drive causes is none. A closed fragment is planned for the host. Once its time is
//! over it is planned for the drive again, where the first unit is the probe; the others go to the
//! host until the probe has ended.
//!
//! Nothing here reads a clock: `now` is the time since some start, always the same.
//!
//! # Invariants
//!
//! - While a fragment is closed one command of it at most is on its way.
//! - A probe that ends without a verdict (its query was dropped, the drive was full) leaves the
//!   fragment as it was: closed, its time over.
//! - A new epoch is a drive started anew: nothing that was noted before counts.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Failures in a row after which a fragment is closed: one may be chance, and each may cost a query
/// the time that a unit is given.
pub const FAILURES: u32 = 3;

/// The first cooling time: twice what a unit is given by default, so that of a session that does
/// nothing but probe a fragment that hangs, a third is lost at most.
pub const COOLING_MIN: Duration = Duration::from_secs(10);

/// The longest cooling time, six doublings later: a probe that hangs is then below a hundredth.
pub const COOLING_MAX: Duration = Duration::from_secs(640);

/// Fragments that are noted at most; what is only watched is forgotten first.
const ENTRIES_MAX: usize = 1024;

/// A fragment on a drive.
type Key = (String, u64);

/// What is known of the fragments of a session.
#[derive(Debug, Default)]
pub struct Quarantine {
    entries: Mutex<HashMap<Key, Entry>>,
}

#[derive(Debug)]
struct Entry {
    /// The epoch of the drive that it is about.
    epoch: u64,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Has failed so many times in a row.
    Watched { failures: u32 },
    /// Is not offered before `until`, which was `cooling` later than its last failure.
    Closed { until: Duration, cooling: Duration },
    /// One command is on its way to find out.
    Probing { until: Duration, cooling: Duration },
}

/// Leave to send one command; takes note of how it ended.
#[derive(Debug)]
pub struct Pass {
    quarantine: Arc<Quarantine>,
    key: Key,
    epoch: u64,
    is_probe: bool,
}

impl Quarantine {
    /// Leave to send a command of a fragment to a drive in this epoch; nothing while the fragment
    /// is closed.
    pub fn admit(
        self: &Arc<Self>,
        drive: &str,
        fragment_hash: u64,
        epoch: u64,
        now: Duration,
    ) -> Option<Pass> {
        let key = (drive.to_owned(), fragment_hash);
        let mut entries = self.entries();
        if entries.get(&key).is_some_and(|entry| entry.epoch < epoch) {
            release(&mut entries, &key, "the drive started anew");
        }
        let is_probe = match entries.get_mut(&key) {
            None => false,
            Some(entry) => match entry.state {
                State::Watched { .. } => false,
                State::Closed { until, cooling } if until <= now => {
                    entry.state = State::Probing { until, cooling };
                    true
                }
                State::Closed { .. } | State::Probing { .. } => return None,
            },
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
        let entries = self.entries();
        let is_closed = |(key, entry): &(&Key, &Entry)| {
            let is_old = epoch_of(&key.0).is_some_and(|epoch| entry.epoch < epoch);
            !is_old
                && match entry.state {
                    State::Watched { .. } => false,
                    State::Closed { until, .. } => now < until,
                    State::Probing { .. } => true,
                }
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
        let Some(entry) = entries.get(&self.key).filter(|entry| entry.epoch == self.epoch) else {
            return;
        };
        match entry.state {
            State::Watched { .. } => {
                entries.remove(&self.key);
            }
            State::Probing { .. } if self.is_probe => {
                release(&mut entries, &self.key, "a probe succeeded");
            }
            // A command that was sent before the fragment was closed proves nothing.
            State::Closed { .. } | State::Probing { .. } => {}
        }
    }

    /// Notes that the command crashed, hung or came too late.
    pub fn failed(self, now: Duration) {
        let mut entries = self.quarantine.entries();
        if !entries.contains_key(&self.key) && entries.len() >= ENTRIES_MAX {
            entries.retain(|_, entry| !matches!(entry.state, State::Watched { .. }));
        }
        let fresh = Entry { epoch: self.epoch, state: State::Watched { failures: 0 } };
        let entry = entries.entry(self.key.clone()).or_insert(fresh);
        if entry.epoch != self.epoch {
            // A verdict on a drive that was started anew since.
            return;
        }
        let close = |cooling: Duration| {
            let (drive, fragment) = &self.key;
            tracing::warn!(drive, fragment, ?cooling, "a fragment is quarantined");
            State::Closed { until: now.saturating_add(cooling), cooling }
        };
        entry.state = match entry.state {
            State::Watched { failures } if failures + 1 >= FAILURES => close(COOLING_MIN),
            State::Watched { failures } => State::Watched { failures: failures + 1 },
            State::Probing { cooling, .. } if self.is_probe => {
                close(cooling.saturating_mul(2).min(COOLING_MAX))
            }
            state @ (State::Closed { .. } | State::Probing { .. }) => state,
        };
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
            && let State::Probing { until, cooling } = entry.state
        {
            entry.state = State::Closed { until, cooling };
        }
    }
}

fn release(entries: &mut HashMap<Key, Entry>, key: &Key, reason: &str) {
    let was = entries.remove(key).map(|entry| entry.state);
    if let Some(State::Closed { .. } | State::Probing { .. }) = was {
        let (drive, fragment) = key;
        tracing::info!(drive, fragment, reason, "a fragment left quarantine");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRIVE: &str = "drive";
    const SECOND: Duration = Duration::from_secs(1);

    fn admit(quarantine: &Arc<Quarantine>, epoch: u64, now: Duration) -> Option<Pass> {
        quarantine.admit(DRIVE, 7, epoch, now)
    }

    fn closed(quarantine: &Quarantine, epoch: u64, now: Duration) -> usize {
        quarantine.closed(|_| Some(epoch), now).len()
    }

    /// A quarantine with a fragment that was closed at `now`, in epoch 1.
    fn quarantined(now: Duration) -> Arc<Quarantine> {
        let quarantine = Arc::new(Quarantine::default());
        for _ in 0..FAILURES {
            assert_eq!(closed(&quarantine, 1, now), 0);
            admit(&quarantine, 1, now).unwrap().failed(now);
        }
        assert_eq!(quarantine.closed(|_| None, now), [(DRIVE.to_owned(), 7)]);
        quarantine
    }

    #[test]
    fn failures_in_a_row_close_a_fragment_on_that_drive_and_no_other() {
        let quarantine = quarantined(SECOND);
        assert!(admit(&quarantine, 1, SECOND).is_none());
        assert!(quarantine.admit("other", 7, 1, SECOND).is_some());
        assert!(quarantine.admit(DRIVE, 8, 1, SECOND).is_some());
    }

    #[test]
    fn a_success_between_failures_begins_the_count_anew() {
        let quarantine = Arc::new(Quarantine::default());
        for _ in 0..9 {
            (1..FAILURES).for_each(|_| admit(&quarantine, 1, SECOND).unwrap().failed(SECOND));
            admit(&quarantine, 1, SECOND).unwrap().succeeded();
        }
        assert_eq!(closed(&quarantine, 1, SECOND), 0);
    }

    #[test]
    fn after_the_cooling_time_one_probe_is_admitted_and_its_success_releases() {
        let quarantine = quarantined(SECOND);
        let over = SECOND + COOLING_MIN;
        let before = over - Duration::from_nanos(1);
        assert!(admit(&quarantine, 1, before).is_none());
        assert_eq!((closed(&quarantine, 1, before), closed(&quarantine, 1, over)), (1, 0));
        let probe = admit(&quarantine, 1, over).unwrap();
        assert!(admit(&quarantine, 1, over).is_none(), "one at a time");
        assert_eq!(closed(&quarantine, 1, over), 1);
        probe.succeeded();
        assert_eq!(closed(&quarantine, 1, over), 0);
        // Released means all: the count begins at nothing.
        admit(&quarantine, 1, over).unwrap().failed(over);
        assert!(admit(&quarantine, 1, over).is_some());
    }

    #[test]
    fn each_probe_that_fails_doubles_the_cooling_time_up_to_its_bound() {
        let mut now = SECOND;
        let quarantine = quarantined(now);
        let mut cooling = COOLING_MIN;
        for _ in 0..9 {
            now += cooling;
            admit(&quarantine, 1, now).unwrap().failed(now);
            cooling = (cooling * 2).min(COOLING_MAX);
            assert!(admit(&quarantine, 1, now + cooling - Duration::from_nanos(1)).is_none());
        }
        assert_eq!(cooling, COOLING_MAX);
        assert!(admit(&quarantine, 1, now + COOLING_MAX).is_some());
    }

    #[test]
    fn a_probe_without_a_verdict_leaves_its_place_to_another() {
        let quarantine = quarantined(SECOND);
        let over = SECOND + COOLING_MIN;
        drop(admit(&quarantine, 1, over).unwrap());
        assert_eq!(closed(&quarantine, 1, over), 0);
        admit(&quarantine, 1, over).unwrap().succeeded();
    }

    #[test]
    fn what_was_sent_before_a_fragment_was_closed_changes_nothing() {
        let quarantine = Arc::new(Quarantine::default());
        let early: Vec<Pass> = (0..2).filter_map(|_| admit(&quarantine, 1, SECOND)).collect();
        (0..FAILURES).for_each(|_| admit(&quarantine, 1, SECOND).unwrap().failed(SECOND));
        let [success, failure] = early.try_into().unwrap();
        success.succeeded();
        assert_eq!(closed(&quarantine, 1, SECOND), 1);
        failure.failed(SECOND + COOLING_MIN);
        assert_eq!(closed(&quarantine, 1, SECOND + COOLING_MIN), 0);
    }

    #[test]
    fn a_new_epoch_releases_at_once() {
        let quarantine = quarantined(SECOND);
        assert_eq!((closed(&quarantine, 1, SECOND), closed(&quarantine, 2, SECOND)), (1, 0));
        let late = admit(&quarantine, 1, SECOND + COOLING_MIN).unwrap();
        admit(&quarantine, 2, SECOND).unwrap().failed(SECOND);
        // A verdict on the drive as it was before.
        late.failed(SECOND + COOLING_MIN);
        assert_eq!(closed(&quarantine, 2, SECOND), 0);
        (1..FAILURES).for_each(|_| admit(&quarantine, 2, SECOND).unwrap().failed(SECOND));
        assert_eq!(closed(&quarantine, 2, SECOND), 1);
    }

    #[test]
    fn what_is_only_watched_is_forgotten_when_there_is_too_much() {
        let quarantine = quarantined(SECOND);
        for fragment in 0..3 * ENTRIES_MAX as u64 {
            quarantine.admit("other", fragment, 1, SECOND).unwrap().failed(SECOND);
        }
        assert!(quarantine.entries().len() <= ENTRIES_MAX);
        assert_eq!(closed(&quarantine, 1, SECOND), 1);
    }
}
