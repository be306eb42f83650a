// SPDX-License-Identifier: Apache-2.0
//! Faults on purpose: each shows as what the fault model says, repeats with its seed, and leaks
//! nothing.

use std::time::Duration;

use futures::executor::block_on;
use nearscan_command::Envelope;
use nearscan_drive::{
    CancelOutcome, Drive, Failure, Fault, Outcome, Refusal, Session, Submission, Work,
};
use nearscan_emulator::{Config, Emulator};
use rstest::rstest;

use crate::scan::{Scan, merge, modelled, open, run, run_work, session};

/// Makes work that reads these files.
type Make = fn(&[Scan], &Emulator, &dyn Session) -> Work;

fn first_scan(scans: &[Scan], drive: &Emulator, session: &dyn Session) -> Work {
    let envelope = Envelope { epoch: session.epoch(), ..Envelope::default() };
    scans[0].command(drive, 10, envelope).into()
}

fn merged_scans(scans: &[Scan], drive: &Emulator, session: &dyn Session) -> Work {
    merge(scans, drive, session, 9).into()
}

/// How work ends on a drive with these faults.
fn end_of(make: Make, faults: &str) -> Result<Outcome, Refusal> {
    let scans = [100, 200].map(Scan::of);
    let drive = open(faults);
    let session = session(&drive);
    let work = make(&scans, &drive, session.as_ref());
    let end = run_work(session.as_ref(), work).map(|completion| completion.outcome);
    assert!(drive.memory_is_whole(), "{faults} keeps device memory");
    end
}

#[rstest]
#[case::scan(first_scan)]
#[case::merge(merged_scans)]
fn refusals_come_before_the_command_is_taken(#[case] make: Make) {
    assert_eq!(end_of(make, "queue_full:1").unwrap_err(), Refusal::Busy);
    assert!(matches!(end_of(make, "low_memory:1").unwrap_err(), Refusal::LowMemory { .. }));
}

#[rstest]
#[case::scan(first_scan)]
#[case::merge(merged_scans)]
fn failures_say_what_failed(#[case] make: Make) {
    let failure = |faults| match end_of(make, faults).unwrap() {
        Outcome::Failed(failure) => failure,
        Outcome::Finished(_) => panic!("{faults} does not strike"),
    };
    assert!(matches!(failure("read_error:1"), Failure::Read { .. }));
    assert_eq!(failure("timeout:1"), Failure::Timeout);
    assert!(matches!(failure("gone:1"), Failure::Gone { .. }));
}

#[rstest]
#[case::scan(first_scan)]
#[case::merge(merged_scans)]
fn a_changed_byte_is_noticed_wherever_it_is(
    #[case] make: Make,
    #[values(1, 10, 100, 1000)] rows: u32,
) {
    let scans = [rows, 500].map(Scan::of);
    let drive = open("corrupt:1");
    let session = session(&drive);
    let work = make(&scans, &drive, session.as_ref());
    let completion = run_work(session.as_ref(), work.clone()).unwrap();
    let checked = match &work {
        Work::Scan(command) => completion.check(command),
        Work::Merge(command) => completion.check_merge(command),
    };
    let fault = checked.unwrap_err();
    assert!(matches!(fault, Fault::Corrupted(_)), "{fault}");
}

#[test]
fn a_lost_drive_takes_nothing_more_in_its_session() {
    let scan = Scan::of(100);
    let drive = open("gone:1");
    let lost = session(&drive);
    let envelope = Envelope { epoch: lost.epoch(), ..Envelope::default() };
    let command = scan.command(&drive, 10, envelope);
    run(lost.as_ref(), &command).unwrap();
    assert!(matches!(run(lost.as_ref(), &command).unwrap_err(), Refusal::Gone { .. }));
}

#[test]
fn a_hang_ends_when_it_is_cancelled_and_its_memory_comes_back_then() {
    let scan = Scan::of(100);
    let drive = open("hang:1");
    let session = session(&drive);
    let envelope = Envelope { command_id: 5, epoch: session.epoch(), ..Envelope::default() };
    let command = scan.command(&drive, 10, envelope);
    let lease = session.lease(command.device_bytes()).unwrap();
    let timeout = Duration::from_secs(5);
    let ticket = session.submit(Submission { work: command.into(), lease, timeout }).unwrap();
    assert_eq!(drive.in_flight(), 1);
    assert!(!drive.memory_is_whole());
    assert_eq!(session.cancel(5), CancelOutcome::Acknowledged);
    assert_eq!(block_on(ticket).outcome, Outcome::Failed(Failure::Cancelled));
    drive.shutdown();
    assert_eq!(drive.in_flight(), 0);
    assert!(drive.memory_is_whole());
    assert_eq!(session.cancel(5), CancelOutcome::Unknown);
}

#[test]
fn a_file_that_has_changed_is_stale() {
    let mut scan = Scan::of(100);
    let drive = open("");
    let session = session(&drive);
    let envelope = Envelope { epoch: session.epoch(), ..Envelope::default() };
    let command = scan.command(&drive, 10, envelope);
    scan.change();
    let completion = run(session.as_ref(), &command).unwrap();
    assert!(matches!(completion.outcome, Outcome::Failed(Failure::Stale { .. })));
}

#[test]
fn a_reset_voids_what_was_opened_before() {
    let scan = Scan::of(100);
    let drive = open("");
    let before = session(&drive);
    let envelope = Envelope { epoch: before.epoch(), ..Envelope::default() };
    let command = scan.command(&drive, 10, envelope);
    let epoch = drive.reset().unwrap();
    assert_eq!(epoch, before.epoch() + 1);
    assert!(matches!(run(before.as_ref(), &command).unwrap_err(), Refusal::Gone { .. }));
    assert_eq!(session(&drive).epoch(), epoch);
}

#[test]
fn a_full_queue_and_a_full_memory_refuse() {
    let scan = Scan::of(100);
    let config = [("faults", "hang:1"), ("memory", "1048576")];
    let drive = Emulator::open(Config::from_parameters(config).unwrap());
    let session = session(&drive);
    assert!(matches!(session.lease(2 << 20).unwrap_err(), Refusal::LowMemory { .. }));
    let mut tickets = Vec::new();
    let refusal = loop {
        let command_id = 1000 + tickets.len() as u128;
        let envelope = Envelope { command_id, epoch: session.epoch(), ..Envelope::default() };
        let command = scan.command(&drive, 10, envelope);
        let lease = session.lease(command.device_bytes()).unwrap();
        let timeout = Duration::from_secs(5);
        match session.submit(Submission { work: command.into(), lease, timeout }) {
            Ok(ticket) => tickets.push(ticket),
            Err(refusal) => break refusal,
        }
    };
    assert_eq!(refusal, Refusal::Busy);
    assert_eq!(tickets.len(), drive.capabilities().in_flight_max as usize);
    drop(tickets);
    drive.shutdown();
    assert!(drive.memory_is_whole());
}

#[test]
fn the_same_command_takes_the_same_modelled_time() {
    let time = || {
        let scan = Scan::of(5000);
        let drive = open("");
        let session = session(&drive);
        let envelope = Envelope { epoch: session.epoch(), ..Envelope::default() };
        let command = scan.command(&drive, 10, envelope);
        modelled(run(session.as_ref(), &command).unwrap().time)
    };
    assert_eq!(time(), time());
    assert!(time().kernel_ns > 0);
}
