// SPDX-License-Identifier: Apache-2.0
//! Tests injected faults: each has the effect of the fault model, repeats with its seed, and leaks
//! nothing.

use std::sync::Arc;

use futures::executor::block_on;
use nearscan_command::Status;
use nearscan_conformance::sample::{
    PATIENCE, Sample, envelope, merge, modelled, run, session, submit,
};
use nearscan_drive::{
    CancelOutcome, Completion, Drive, Failure, Fault, Outcome, Refusal, Session, SessionSpec,
    Unlimited, Work,
};
use nearscan_emulator::{
    Config, Emulator,
    faults::{ABSENT_REQUESTS, SLOWDOWN},
};
use rstest::rstest;

use crate::scan::open;

/// Makes work that reads these files.
type Make = fn(&[Sample], &Emulator, &dyn Session) -> Work;

fn first_scan(scans: &[Sample], drive: &Emulator, session: &dyn Session) -> Work {
    scans[0].count_and_sum(drive, 10, envelope(session, 0)).into()
}

fn merged_scans(scans: &[Sample], drive: &Emulator, session: &dyn Session) -> Work {
    merge(scans, drive, envelope(session, 9)).into()
}

/// The end of a piece of work on a drive with these faults.
fn end_of(make: Make, faults: &str) -> Result<Outcome, Refusal> {
    let scans = [100, 200].map(Sample::plain);
    let drive = open(faults);
    let session = session(&drive);
    let work = make(&scans, &drive, session.as_ref());
    let end = run(session.as_ref(), work).map(|completion| completion.outcome);
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
fn failure_names_its_cause(#[case] make: Make) {
    let failure = |faults| match end_of(make, faults).unwrap() {
        Outcome::Failed(failure) => failure,
        Outcome::Finished(_) => panic!("{faults} does not strike"),
    };
    assert!(matches!(failure("read_error:1"), Failure::Read { .. }));
    let short = failure("short_read:1").to_string();
    assert!(short.contains(" bytes were read"), "{short}");
    assert_eq!(failure("timeout:1"), Failure::Timeout);
    for kind in ["gone:1", "reset:1", "back:1"] {
        assert!(matches!(failure(kind), Failure::Gone { .. }), "{kind}");
    }
}

/// The reason why the rows of a completion must not be used.
fn fault_of(work: &Work, completion: &Completion) -> Fault {
    let checked = match work {
        Work::Scan(command) => completion.check(command),
        Work::Merge(command) => completion.check_merge(command),
    };
    checked.unwrap_err()
}

#[rstest]
#[case::scan(first_scan)]
#[case::merge(merged_scans)]
fn kernel_detects_a_corrupt_page(#[case] make: Make, #[values(1, 10, 100, 1000)] rows: u32) {
    let scans = [rows, 500].map(Sample::plain);
    let drive = open("corrupt_page:1");
    let session = session(&drive);
    let work = make(&scans, &drive, session.as_ref());
    let completion = run(session.as_ref(), work.clone()).unwrap();
    assert_eq!(fault_of(&work, &completion), Fault::Status(Status::Corrupt));
}

#[rstest]
#[case::scan(first_scan)]
#[case::merge(merged_scans)]
fn kernel_error_is_a_status_without_rows(#[case] make: Make) {
    let scans = [100, 200].map(Sample::plain);
    let drive = open("kernel_error:1");
    let session = session(&drive);
    let work = make(&scans, &drive, session.as_ref());
    let completion = run(session.as_ref(), work.clone()).unwrap();
    assert_eq!(fault_of(&work, &completion), Fault::Status(Status::Malformed));
}

#[rstest]
#[case::scan(first_scan)]
#[case::merge(merged_scans)]
fn slow_drive_returns_the_right_rows_late(#[case] make: Make) {
    let scans = [100, 200].map(Sample::plain);
    let of = |faults| {
        let drive = open(faults);
        let session = session(&drive);
        let work = make(&scans, &drive, session.as_ref());
        run(session.as_ref(), work).unwrap()
    };
    let (usual, slow) = (of(""), of("slow:1"));
    assert_eq!(slow.outcome, usual.outcome);
    let media_ns = modelled(&usual).media_ns;
    assert!(media_ns > 0);
    assert_eq!(modelled(&slow).media_ns, media_ns * SLOWDOWN);
}

#[test]
fn fault_at_a_place_strikes_that_command_only() {
    let scan = Sample::plain(100);
    for (place, kind) in [(0, "read_error"), (2, "kernel_error"), (3, "corrupt")] {
        let drive = open(&format!("{kind}@{place}"));
        let session = session(&drive);
        let struck: Vec<usize> = (0..5)
            .filter(|_| {
                let command = scan.count_and_sum(&drive, 10, envelope(session.as_ref(), 0));
                run(session.as_ref(), command.clone()).unwrap().check(&command).is_err()
            })
            .collect();
        assert_eq!((struck, drive.faults_struck()), (vec![place], 1), "{kind}");
    }
}

#[test]
fn reset_in_flight_fails_what_runs_and_new_sessions_work() {
    let scan = Sample::plain(100);
    let drive = open("hang@0,reset@1");
    let before = session(&drive);
    let send = |session: &dyn Session, command_id| {
        let command = scan.count_and_sum(&drive, 10, envelope(session, command_id));
        submit(session, command, PATIENCE)
    };
    let hanging = send(before.as_ref(), 1).unwrap();
    // Where there is one core, one thread runs all: then the reset comes from elsewhere.
    let struck = match std::thread::available_parallelism().map_or(1, |cores| cores.get()) {
        1 => {
            drive.reset().unwrap();
            None
        }
        _ => Some(send(before.as_ref(), 2).unwrap()),
    };
    for ticket in struck.into_iter().chain([hanging]) {
        let outcome = block_on(ticket).outcome;
        assert!(matches!(outcome, Outcome::Failed(Failure::Gone { .. })), "{outcome:?}");
    }
    assert!(matches!(send(before.as_ref(), 3).unwrap_err(), Refusal::Gone { .. }));
    let after = session(&drive);
    assert_eq!(after.epoch(), before.epoch() + 1);
    let done = block_on(send(after.as_ref(), 4).unwrap());
    assert!(matches!(done.outcome, Outcome::Finished(_)));
    drive.shutdown();
    assert!(drive.memory_is_whole());
}

#[test]
fn lost_drive_returns_in_a_new_epoch() {
    let scan = Sample::plain(100);
    let drive = open("back@0");
    let lost = session(&drive);
    let other = session(&drive);
    let send =
        |session: &dyn Session| run(session, scan.count_and_sum(&drive, 10, envelope(session, 0)));
    let failed = send(lost.as_ref()).unwrap();
    assert!(matches!(failed.outcome, Outcome::Failed(Failure::Gone { .. })));
    // Gone for other queries too, those that begin now among them.
    let is_gone = |refusal| matches!(refusal, Refusal::Gone { .. });
    assert!(is_gone(send(other.as_ref()).unwrap_err()));
    let terms = || SessionSpec { query_id: 1, tenant: 0, budget: Arc::new(Unlimited) };
    for _ in 1..ABSENT_REQUESTS {
        assert!(is_gone(drive.open_session(terms()).unwrap_err()));
    }
    let back = session(&drive);
    assert_eq!(back.epoch(), lost.epoch() + 1);
    assert!(matches!(send(back.as_ref()).unwrap().outcome, Outcome::Finished(_)));
    assert!(is_gone(send(lost.as_ref()).unwrap_err()), "what was opened before is void");
}

#[rstest]
#[case::scan(first_scan)]
#[case::merge(merged_scans)]
fn changed_byte_of_a_result_is_detected(#[case] make: Make, #[values(1, 10, 100, 1000)] rows: u32) {
    let scans = [rows, 500].map(Sample::plain);
    let drive = open("corrupt:1");
    let session = session(&drive);
    let work = make(&scans, &drive, session.as_ref());
    let completion = run(session.as_ref(), work.clone()).unwrap();
    let fault = fault_of(&work, &completion);
    assert!(matches!(fault, Fault::Corrupted(_)), "{fault}");
}

#[test]
fn lost_drive_refuses_commands_of_its_session() {
    let scan = Sample::plain(100);
    let drive = open("gone:1");
    let lost = session(&drive);
    let command = scan.count_and_sum(&drive, 10, envelope(lost.as_ref(), 0));
    run(lost.as_ref(), command.clone()).unwrap();
    assert!(matches!(run(lost.as_ref(), command).unwrap_err(), Refusal::Gone { .. }));
}

#[test]
fn hanging_kernel_releases_its_memory_when_cancelled() {
    let scan = Sample::plain(100);
    let drive = open("hang:1");
    let session = session(&drive);
    let command = scan.count_and_sum(&drive, 10, envelope(session.as_ref(), 5));
    let ticket = submit(session.as_ref(), command, PATIENCE).unwrap();
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
fn file_that_has_changed_is_stale() {
    let scan = Sample::plain(100);
    let drive = open("");
    let session = session(&drive);
    let command = scan.count_and_sum(&drive, 10, envelope(session.as_ref(), 0));
    scan.grow();
    let completion = run(session.as_ref(), command).unwrap();
    assert!(matches!(completion.outcome, Outcome::Failed(Failure::Stale { .. })));
}

#[test]
fn reset_voids_earlier_sessions() {
    let scan = Sample::plain(100);
    let drive = open("");
    let before = session(&drive);
    let command = scan.count_and_sum(&drive, 10, envelope(before.as_ref(), 0));
    let epoch = drive.reset().unwrap();
    assert_eq!(epoch, before.epoch() + 1);
    assert!(matches!(run(before.as_ref(), command).unwrap_err(), Refusal::Gone { .. }));
    assert_eq!(session(&drive).epoch(), epoch);
}

#[test]
fn full_queue_and_full_memory_refuse() {
    let scan = Sample::plain(100);
    let config = [("faults", "hang:1"), ("memory", "1048576")];
    let drive = Emulator::open(Config::from_parameters(config).unwrap());
    let session = session(&drive);
    assert!(matches!(session.lease(2 << 20).unwrap_err(), Refusal::LowMemory { .. }));
    let mut tickets = Vec::new();
    let refusal = loop {
        let command_id = 1000 + tickets.len() as u128;
        let command = scan.count_and_sum(&drive, 10, envelope(session.as_ref(), command_id));
        match submit(session.as_ref(), command, PATIENCE) {
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
fn same_command_takes_same_modelled_time() {
    let time = || {
        let scan = Sample::plain(5000);
        let drive = open("");
        let session = session(&drive);
        let command = scan.count_and_sum(&drive, 10, envelope(session.as_ref(), 0));
        modelled(&run(session.as_ref(), command).unwrap())
    };
    assert_eq!(time(), time());
    assert!(time().kernel.alone_ns > 0);
}
