// SPDX-License-Identifier: Apache-2.0
//! Tests the parts of the contract that are specific to the CPU drive.

use std::{sync::Arc, time::Duration};

use futures::executor::block_on;
use nearscan_command::{Command, Envelope, InputRef, ResultHeader, Status};
use nearscan_conformance::{
    ColumnData, Values,
    pages::ChunkLayout,
    sample::{PATIENCE, Room, Sample, run, session, session_with, submit},
};
use nearscan_cpu::{CpuDrive, Options};
use nearscan_drive::{
    CancelOutcome, Drive, DriveTime, Failure, Fault, Kernel, Load, Observation, Outcome,
    RatesByRequest, Refusal, Submission, Ticket,
};

/// The numbers below a hundred over and over, in pages.
fn hundreds(rows: i64) -> Sample {
    let values = Values::integers((0..rows).map(|n| n % 100));
    Sample::new(None, &ColumnData { values, layout: ChunkLayout::common().paged(&[20_000]) })
}

/// The sum of a sample as a command of this number in this epoch.
fn sum(sample: &Sample, drive: &CpuDrive, command_id: u128, epoch: u64) -> Command {
    sample.sum(drive, Envelope { command_id, epoch, ..Envelope::default() })
}

fn start(threads: usize, in_flight_max: u32) -> CpuDrive {
    CpuDrive::start(Options { threads, in_flight_max }).unwrap()
}

#[test]
fn completion_is_measured_and_accounts_for_its_bytes() {
    let drive = start(1, 4);
    let sample = hundreds(50_000);
    let command = sum(&sample, &drive, 1, 0);
    let completion = run(&*session(&drive), command.clone()).unwrap();
    let view = completion.check(&command).unwrap();
    assert_eq!(view.blocks[0].columns[0].number(0), Some(50_000 / 100 * 4950));
    assert_eq!(view.header.counters.values_decoded, 50_000);
    assert_eq!(view.header.counters.rows_aggregated, 50_000);
    assert_eq!(completion.traffic.media_bytes, command.unit.chunks[0].length);
    assert_eq!(completion.traffic.host_bytes, command.unit.chunks[0].length);
    assert_eq!(completion.traffic.link_bytes, 0);
    assert!(matches!(completion.time, DriveTime::Measured(time) if time.ns > 0));
    assert_eq!(drive.in_flight(), 0);
}

#[test]
fn rates_are_unknown_until_commands_are_observed() {
    let drive = start(1, 4);
    let snapshot = drive.snapshot();
    assert_eq!((snapshot.scan, snapshot.merge), (RatesByRequest::UNKNOWN, RatesByRequest::UNKNOWN));
    let sample = hundreds(50_000);
    let command = sum(&sample, &drive, 1, 0);
    let completion = run(&*session(&drive), command.clone()).unwrap();
    let scans = std::slice::from_ref(&command);
    let planned = Load { rows: command.unit.rows, ..Load::default() };
    let observation = Observation::of(Kernel::Scan, scans, planned, &completion);
    let media_bytes = command.unit.chunks[0].length;
    let load = Load { commands: 1, media_bytes, rows: 50_000, ..Load::default() };
    assert_eq!((observation.load, observation.requests), (load, 1));
    assert!(matches!(observation.time, DriveTime::Measured(time) if time.ns > 0));
}

#[test]
fn full_queue_and_duplicate_command_id_are_refused() {
    let drive = start(1, 3);
    let sample = hundreds(200_000);
    let session = session(&drive);
    let submit = |id| submit(&*session, sum(&sample, &drive, id, 0), PATIENCE);
    // One thread cannot do the first before the others are in the queue: each takes milliseconds.
    let first = submit(1).unwrap();
    let second = submit(2).unwrap();
    assert_eq!(submit(2).unwrap_err(), Refusal::Busy);
    let third = submit(3).unwrap();
    assert_eq!(submit(4).unwrap_err(), Refusal::Busy);
    assert_eq!(drive.in_flight(), 3);
    for ticket in [first, second, third] {
        assert!(matches!(block_on(ticket).outcome, Outcome::Finished(_)));
    }
    assert_eq!(drive.in_flight(), 0);
    block_on(submit(4).unwrap());
}

#[test]
fn command_that_waited_too_long_times_out() {
    let drive = start(1, 3);
    let sample = hundreds(200_000);
    let session = session(&drive);
    let ticket = submit(&*session, sum(&sample, &drive, 1, 0), Duration::ZERO).unwrap();
    assert_eq!(block_on(ticket).outcome, Outcome::Failed(Failure::Timeout));
    let mut hasty = sum(&sample, &drive, 2, 0);
    hasty.envelope.deadline_ns = 1;
    assert_eq!(run(&*session, hasty).unwrap().outcome, Outcome::Failed(Failure::Timeout));
}

#[test]
fn command_is_cancelled_waiting_or_running() {
    let drive = start(1, 3);
    let sample = hundreds(400_000);
    let session = session(&drive);
    let running = submit(&*session, sum(&sample, &drive, 1, 0), PATIENCE).unwrap();
    let waiting = submit(&*session, sum(&sample, &drive, 2, 0), PATIENCE).unwrap();
    assert_eq!(session.cancel(2), CancelOutcome::Acknowledged);
    assert_eq!(session.cancel(3), CancelOutcome::Unknown);
    assert_eq!(block_on(waiting).outcome, Outcome::Failed(Failure::Cancelled));
    assert!(matches!(block_on(running).outcome, Outcome::Finished(_)));
    assert_eq!(session.cancel(2), CancelOutcome::Unknown);
}

#[test]
fn reset_voids_earlier_commands_and_sessions() {
    let drive = start(1, 3);
    let sample = hundreds(400_000);
    let old = session(&drive);
    let ticket = submit(&*old, sum(&sample, &drive, 1, 0), PATIENCE).unwrap();
    assert_eq!(drive.reset(), Ok(1));
    assert!(matches!(block_on(ticket).outcome, Outcome::Failed(Failure::Gone { .. })));
    for (number, epoch) in [(2, 0), (3, 1)] {
        let late = run(&*old, sum(&sample, &drive, number, epoch)).unwrap();
        assert!(matches!(late.outcome, Outcome::Failed(Failure::Gone { .. })));
    }
    let session = session(&drive);
    assert_eq!((old.epoch(), session.epoch()), (0, 1));
    let command = sum(&sample, &drive, 4, session.epoch());
    assert!(run(&*session, command.clone()).unwrap().check(&command).is_ok());
}

#[test]
fn shut_down_drive_finishes_its_commands_and_refuses_new_ones() {
    let drive = start(2, 8);
    let sample = hundreds(100_000);
    let session = session(&drive);
    let commands: Vec<Command> = (1..5).map(|id| sum(&sample, &drive, id, 0)).collect();
    let tickets: Vec<Ticket> = commands
        .iter()
        .map(|command| submit(&*session, command.clone(), PATIENCE).unwrap())
        .collect();
    drive.shutdown();
    for (ticket, command) in tickets.into_iter().zip(&commands) {
        assert!(block_on(ticket).check(command).is_ok());
    }
    let refused = submit(&*session, sum(&sample, &drive, 9, 0), PATIENCE);
    assert!(matches!(refused, Err(Refusal::Gone { .. })));
    assert_eq!(drive.in_flight(), 0);
    drive.shutdown();
    drop(drive);
    assert_eq!(session.epoch(), 0);
}

#[test]
fn lease_is_charged_to_query_until_command_has_ended() {
    let drive = start(1, 4);
    let room = Room::new(1500);
    let session = session_with(&drive, Arc::<Room>::clone(&room));
    let sample = hundreds(1000);
    let work = sum(&sample, &drive, 1, 0).into();
    let lease = session.lease(1000).unwrap();
    block_on(session.submit(Submission { work, lease, timeout: PATIENCE }).unwrap());
    assert_eq!(room.left(), 1500);
    let held = session.lease(1000).unwrap();
    let refused = session.lease(501).unwrap_err();
    assert_eq!(refused, Refusal::LowMemory { needed_bytes: 501 });
    drop(held);
    assert!(session.lease(1500).is_ok());
}

#[test]
fn rewritten_file_is_stale() {
    let drive = start(1, 4);
    let sample = hundreds(1000);
    let command = sum(&sample, &drive, 1, 0);
    sample.grow();
    let completion = run(&*session(&drive), command).unwrap();
    let path = sample.file().path.display().to_string();
    assert_eq!(completion.outcome, Outcome::Failed(Failure::Stale { path }));
    assert_eq!(completion.traffic.media_bytes, 0);
    assert_eq!(sample.locate(&drive), sample.locate(&drive));
}

#[test]
fn input_other_than_a_file_is_not_supported() {
    let drive = start(1, 4);
    let sample = hundreds(1000);
    let mut command = sum(&sample, &drive, 1, 0);
    command.unit.inputs =
        vec![InputRef::DeviceRange { lease: 1, offset: 0, length: command.unit.chunks[0].length }];
    let completion = run(&*session(&drive), command.clone()).unwrap();
    assert_eq!(completion.check(&command).unwrap_err(), Fault::Status(Status::Unsupported));
}

#[test]
fn damaged_chunk_names_its_column() {
    let drive = start(1, 4);
    let sample = hundreds(1000);
    let mut command = sum(&sample, &drive, 1, 0);
    command.unit.rows += 1;
    let Outcome::Finished(bytes) = run(&*session(&drive), command).unwrap().outcome else {
        panic!("no result");
    };
    let header = ResultHeader::decode(&bytes).unwrap();
    assert_eq!(header.status, Status::Corrupt);
    assert_eq!(header.detail.unwrap().column, 0);
}

#[test]
fn identity_is_stable() {
    let drive = start(3, 4);
    assert_eq!(drive.identity().kind, "cpu");
    assert_eq!(drive.identity().uuid, start(1, 1).identity().uuid);
    assert_eq!(drive.capabilities().in_flight_max, 4);
    assert!(!drive.capabilities().emulated);
}
