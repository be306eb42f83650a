// SPDX-License-Identifier: Apache-2.0
//! Tests the quarantine with fragments that fail, by time and by epoch.

use super::*;

const DRIVE: &str = "drive";
const SECOND: Duration = Duration::from_secs(1);

fn admit(quarantine: &Arc<Quarantine>, epoch: u64, now: Duration) -> Option<Pass> {
    quarantine.admit(DRIVE, 7, epoch, now)
}

fn closed(quarantine: &Quarantine, epoch: u64, now: Duration) -> usize {
    quarantine.closed(|_| Some(epoch), now).len()
}

/// The command hangs.
fn hang(quarantine: &Arc<Quarantine>, epoch: u64, now: Duration) {
    admit(quarantine, epoch, now).unwrap().failed(now);
}

fn gone() -> Fault {
    Fault::Failed(Failure::Gone { reason: "it went".to_owned() })
}

/// A quarantine with a fragment that was closed at `now`, in epoch 1.
fn quarantined(now: Duration) -> Arc<Quarantine> {
    let quarantine = Arc::new(Quarantine::default());
    for _ in 0..FAILURES {
        assert_eq!(closed(&quarantine, 1, now), 0);
        hang(&quarantine, 1, now);
    }
    assert_eq!(quarantine.closed(|_| None, now), [(DRIVE.to_owned(), 7)]);
    quarantine
}

#[test]
fn consecutive_failures_close_a_fragment_on_that_drive_only() {
    let quarantine = quarantined(SECOND);
    assert!(admit(&quarantine, 1, SECOND).is_none());
    assert!(quarantine.admit("other", 7, 1, SECOND).is_some());
    assert!(quarantine.admit(DRIVE, 8, 1, SECOND).is_some());
}

#[test]
fn success_between_failures_resets_the_count() {
    let quarantine = Arc::new(Quarantine::default());
    for _ in 0..9 {
        (1..FAILURES).for_each(|_| hang(&quarantine, 1, SECOND));
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
    // A release resets the count.
    hang(&quarantine, 1, over);
    assert!(admit(&quarantine, 1, over).is_some());
}

#[test]
fn failed_probe_doubles_the_cooling_time_up_to_its_limit() {
    let mut now = SECOND;
    let quarantine = quarantined(now);
    let mut cooling = COOLING_MIN;
    for _ in 0..9 {
        now += cooling;
        hang(&quarantine, 1, now);
        cooling = (cooling * 2).min(COOLING_MAX);
        assert!(admit(&quarantine, 1, now + cooling - Duration::from_nanos(1)).is_none());
    }
    assert_eq!(cooling, COOLING_MAX);
    assert!(admit(&quarantine, 1, now + COOLING_MAX).is_some());
}

#[test]
fn probe_without_a_verdict_is_followed_by_another() {
    let quarantine = quarantined(SECOND);
    let over = SECOND + COOLING_MIN;
    drop(admit(&quarantine, 1, over).unwrap());
    assert_eq!(closed(&quarantine, 1, over), 0);
    let read = Failure::Read { path: String::new(), reason: String::new() };
    admit(&quarantine, 1, over).unwrap().ended(&Fault::Failed(read), over);
    assert_eq!(closed(&quarantine, 1, over), 0);
    admit(&quarantine, 1, over).unwrap().succeeded();
}

#[test]
fn command_sent_before_the_fragment_was_closed_has_no_effect() {
    let quarantine = Arc::new(Quarantine::default());
    let early: Vec<Pass> = (0..4).filter_map(|_| admit(&quarantine, 1, SECOND)).collect();
    (0..FAILURES).for_each(|_| hang(&quarantine, 1, SECOND));
    let over = SECOND + COOLING_MIN;
    let [success, failure, success_late, failure_late] = early.try_into().unwrap();
    success.succeeded();
    assert_eq!(closed(&quarantine, 1, SECOND), 1);
    failure.failed(over);
    assert_eq!(closed(&quarantine, 1, over), 0);
    let probe = admit(&quarantine, 1, over).unwrap();
    success_late.succeeded();
    failure_late.failed(over);
    assert_eq!(closed(&quarantine, 1, over), 1);
    probe.succeeded();
    assert_eq!(closed(&quarantine, 1, over), 0);
}

#[test]
fn one_fragment_of_a_drive_is_probed_at_a_time_up_to_a_limit() {
    let quarantine = quarantined(SECOND);
    for (drive, fragment) in [(DRIVE, 8), ("other", 8)] {
        for _ in 0..FAILURES {
            quarantine.admit(drive, fragment, 1, SECOND).unwrap().failed(SECOND);
        }
    }
    let over = SECOND + COOLING_MIN;
    let probe = admit(&quarantine, 1, over).unwrap();
    assert!(quarantine.admit(DRIVE, 8, 1, over).is_none());
    assert!(quarantine.admit("other", 8, 1, over).is_some());
    let later = over + PROBE_MAX;
    assert!(quarantine.admit(DRIVE, 8, 1, later - Duration::from_nanos(1)).is_none());
    drop(quarantine.admit(DRIVE, 8, 1, later).unwrap());
    drop(probe);
    let probe = quarantine.admit(DRIVE, 8, 1, later).unwrap();
    assert!(admit(&quarantine, 1, later).is_none());
    drop(probe);
    assert!(admit(&quarantine, 1, later).is_some());
}

#[test]
fn failures_add_up_over_epochs() {
    let quarantine = Arc::new(Quarantine::default());
    for epoch in 1..=u64::from(FAILURES) {
        assert!(admit(&quarantine, epoch, SECOND).is_some());
        hang(&quarantine, epoch, SECOND);
    }
    assert_eq!(closed(&quarantine, FAILURES.into(), SECOND), 1);
}

#[test]
fn fragment_is_blamed_once_an_epoch_and_cleared_by_a_success() {
    let quarantine = Arc::new(Quarantine::default());
    let killed = |epoch, clears: bool| {
        let in_flight: Vec<Pass> =
            (0..4).filter_map(|_| admit(&quarantine, epoch, SECOND)).collect();
        in_flight.into_iter().for_each(|pass| pass.ended(&gone(), SECOND));
        if clears {
            admit(&quarantine, epoch + 1, SECOND).unwrap().succeeded();
        }
        closed(&quarantine, epoch, SECOND)
    };
    for epoch in 1..9 {
        assert_eq!(killed(epoch, true), 0);
    }
    assert_eq!([9, 10, 11].map(|epoch| killed(epoch, false)), [0, 0, 1]);
}

#[test]
fn new_epoch_ends_the_cooling_time_once_until_a_success() {
    let quarantine = quarantined(SECOND);
    assert_eq!((closed(&quarantine, 1, SECOND), closed(&quarantine, 2, SECOND)), (1, 0));
    let probe = admit(&quarantine, 2, SECOND).unwrap();
    assert!(admit(&quarantine, 2, SECOND).is_none(), "it is one probe, not a release");
    // It kills the drive again, so the next epoch says nothing for it.
    probe.ended(&gone(), SECOND);
    assert_eq!(closed(&quarantine, 3, SECOND), 1);
    assert!(admit(&quarantine, 3, SECOND).is_none());
    assert!(admit(&quarantine, 4, SECOND + COOLING_MIN).is_none());
    admit(&quarantine, 4, SECOND + 2 * COOLING_MIN).unwrap().succeeded();
    (0..FAILURES).for_each(|_| hang(&quarantine, 4, SECOND));
    assert_eq!((closed(&quarantine, 4, SECOND), closed(&quarantine, 5, SECOND)), (1, 0));
}

#[test]
fn probe_in_flight_when_the_drive_restarts_has_failed() {
    let quarantine = quarantined(SECOND);
    let probe = admit(&quarantine, 2, SECOND).unwrap();
    assert_eq!(closed(&quarantine, 3, SECOND), 1);
    assert!(admit(&quarantine, 3, SECOND).is_none());
    // The failure is counted, whatever the command's end is.
    probe.ended(&gone(), SECOND);
    assert!(admit(&quarantine, 3, SECOND + COOLING_MIN).is_none());
    assert!(admit(&quarantine, 3, SECOND + 2 * COOLING_MIN).is_some());
}

/// A slow consumer holds a stream that was opened before the drive started anew.
#[test]
fn session_of_an_earlier_epoch_gets_no_probe() {
    let quarantine = Arc::new(Quarantine::default());
    (0..FAILURES).for_each(|_| hang(&quarantine, 2, SECOND));
    let over = SECOND + COOLING_MIN;
    let late = admit(&quarantine, 1, over).unwrap();
    let probe = admit(&quarantine, 2, over).unwrap();
    // Neither verdict is on the drive as it is.
    drop(late);
    admit(&quarantine, 1, over).unwrap().failed(over);
    admit(&quarantine, 1, over).unwrap().succeeded();
    assert_eq!(closed(&quarantine, 2, over), 1);
    probe.succeeded();
    assert_eq!(closed(&quarantine, 2, over), 0);
}

#[test]
fn late_failure_of_an_earlier_epoch_does_not_hide_those_of_this_one() {
    let quarantine = Arc::new(Quarantine::default());
    let before = admit(&quarantine, 1, SECOND).unwrap();
    let now: Vec<Pass> = (0..FAILURES).filter_map(|_| admit(&quarantine, 2, SECOND)).collect();
    before.failed(SECOND);
    now.into_iter().for_each(|pass| pass.failed(SECOND));
    assert_eq!(closed(&quarantine, 2, SECOND), 1);
}

#[test]
fn verdicts_of_an_earlier_epoch_neither_add_nor_clear() {
    let quarantine = Arc::new(Quarantine::default());
    (1..FAILURES).for_each(|_| hang(&quarantine, 2, SECOND));
    hang(&quarantine, 1, SECOND);
    assert_eq!(closed(&quarantine, 2, SECOND), 0);
    admit(&quarantine, 1, SECOND).unwrap().succeeded();
    hang(&quarantine, 2, SECOND);
    assert_eq!(closed(&quarantine, 2, SECOND), 1);
}

#[test]
fn drive_that_takes_over_a_name_starts_without_entries() {
    let quarantine = Arc::new(Quarantine::default());
    (0..FAILURES).for_each(|_| hang(&quarantine, 9, SECOND));
    assert_eq!(closed(&quarantine, 1, SECOND), 0);
    (0..FAILURES).for_each(|_| hang(&quarantine, 1, SECOND));
    assert_eq!(closed(&quarantine, 1, SECOND), 1);
}

#[test]
fn watched_fragments_are_evicted_when_there_are_too_many() {
    let quarantine = quarantined(SECOND);
    for fragment in 0..3 * ENTRIES_MAX as u64 {
        quarantine.admit("other", fragment, 1, SECOND).unwrap().failed(SECOND);
    }
    assert_eq!(quarantine.entries().len(), ENTRIES_MAX);
    assert_eq!(closed(&quarantine, 1, SECOND), 1);
}

#[test]
fn closed_fragment_that_reopens_first_is_evicted_first() {
    let quarantine = Arc::new(Quarantine::default());
    let at = |fragment| Duration::from_millis(fragment);
    let close = |fragment| {
        for _ in 0..FAILURES {
            let pass = quarantine.admit(DRIVE, fragment, 1, at(fragment));
            pass.unwrap().failed(at(fragment));
        }
    };
    let last = 3 * ENTRIES_MAX as u64;
    (0..=last).for_each(close);
    let closed = quarantine.closed(|_| Some(1), at(last));
    assert_eq!(closed.len(), ENTRIES_MAX);
    let first_kept = last + 1 - ENTRIES_MAX as u64;
    assert!(closed.iter().all(|(_, fragment)| *fragment >= first_kept));
}

#[test]
fn errors_of_data_or_a_full_drive_are_not_failures() {
    let quarantine = Arc::new(Quarantine::default());
    let faults = [
        Fault::Status(Status::Overflow),
        Fault::Status(Status::ScratchFull),
        Fault::Failed(Failure::Busy),
        Fault::Failed(Failure::LowMemory { needed_bytes: 1 }),
        Fault::Failed(Failure::Stale { path: String::new() }),
        Fault::Failed(Failure::Cancelled),
        Fault::Accounting("rows are missing"),
    ];
    for fault in faults {
        for _ in 0..FAILURES {
            admit(&quarantine, 1, SECOND).unwrap().ended(&fault, SECOND);
        }
    }
    assert_eq!(quarantine.entries().len(), 0);
}
