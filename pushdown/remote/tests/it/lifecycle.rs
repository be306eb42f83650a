// SPDX-License-Identifier: Apache-2.0
//! Tests commands that are refused, time out, are cancelled, reset or shut down, and the resources
//! that they hold.

use std::{sync::Arc, time::Duration};

use nearscan_command::ResultHeader;
use nearscan_conformance::sample::{self, PATIENCE, Room, Sample, session, session_with};
use nearscan_drive::{
    Budget, CancelOutcome, Drive, DriveTime, Failure, Outcome, Refusal, Ticket, clock::Stopwatch,
};
use nearscan_emulator::Emulator;
use nearscan_remote::{Options, RemoteDrive};

use crate::bench::{
    Served, Way, emulated, eventually, gone, numbered, options, run, submit, sums_up, wait,
};

/// A drive with faults, served over a Unix socket.
fn served(faults: &str) -> (Arc<Emulator>, Served) {
    let emulator = emulated(faults);
    let served = Served::start(Arc::<Emulator>::clone(&emulator), Way::Unix);
    (emulator, served)
}

#[test]
fn remote_drive_has_identity_and_capabilities_of_its_drive() {
    let (emulator, served) = served("");
    let drive = served.connect();
    assert_eq!(drive.capabilities(), emulator.capabilities());
    assert_eq!(drive.identity().uuid, emulator.identity().uuid);
    assert_eq!(drive.identity().kind, "remote");
    assert!(drive.identity().model.starts_with(&emulator.identity().model));
    let (there, here) = (drive.snapshot(), emulator.snapshot());
    assert_eq!((there.lanes, there.media, there.scan), (here.lanes, here.media, here.scan));
    assert_eq!(there.free_bytes, here.free_bytes);
}

#[test]
fn snapshot_is_asked_for_again_once_it_is_old() {
    let (_emulator, served) = served("");
    let drive = served.connect();
    // A slow machine may let one become old between two calls, but not each time.
    assert!((0..50).any(|_| drive.snapshot().id == drive.snapshot().id));
    let before = drive.snapshot().id;
    eventually("another snapshot", || drive.snapshot().id > before);
}

#[test]
fn remote_completion_has_the_bytes_and_time_of_the_local_one() {
    let (emulator, served) = served("");
    let drive = served.connect();
    let sample = Sample::common(1000);
    let (near, far) = (session(&*emulator), session(&drive));
    let mut at_home = sample.sum(&*emulator, numbered(&*near));
    let command = sample.sum(&drive, numbered(&*far));
    at_home.envelope = command.envelope;
    let (expected, found) = (run(&*near, &at_home), run(&*far, &command));
    assert_eq!(found.outcome, expected.outcome);
    assert_eq!(found.time, expected.time);
    assert_eq!(found.traffic, expected.traffic);
    assert!(matches!(found.time, DriveTime::Modelled(time) if time.kernel.alone_ns > 0));
    assert!(found.check(&command).is_ok());
}

#[test]
fn result_of_many_parts_arrives_whole() {
    let (_emulator, served) = served("");
    let drive = served.connect();
    let sample = Sample::common(400_000);
    let session = session(&drive);
    let command = sample.rows(&drive, numbered(&*session));
    let completion = run(&*session, &command);
    let view = completion.check(&command).unwrap();
    assert_eq!(view.header.rows_out, 400_000);
    assert!(completion.traffic.link_bytes > 3 << 20, "{:?}", completion.traffic);
}

#[test]
fn full_queue_and_full_memory_refuse() {
    let (emulator, served) = served("hang:1");
    let drive = served.connect();
    let session = session(&drive);
    let too_much = drive.capabilities().memory_bytes + 1;
    let refused = session.lease(too_much).unwrap_err();
    assert_eq!(refused, Refusal::LowMemory { needed_bytes: too_much });
    let sample = Sample::common(10);
    let mut tickets: Vec<Ticket> = Vec::new();
    let refusal = loop {
        match submit(&*session, &sample.sum(&drive, numbered(&*session))) {
            Ok(ticket) => tickets.push(ticket),
            Err(refusal) => break refusal,
        }
    };
    assert_eq!(refusal, Refusal::Busy);
    assert_eq!(tickets.len(), drive.capabilities().in_flight_max as usize);
    assert_eq!(drive.in_flight(), drive.capabilities().in_flight_max);
    eventually("they arrive", || emulator.in_flight() == drive.in_flight());
    drop(tickets);
    eventually("they are cancelled", || drive.in_flight() == 0 && emulator.memory_is_whole());
}

#[test]
fn refusal_of_the_drive_reaches_the_client() {
    let end_of = |faults| {
        let (_emulator, served) = served(faults);
        let drive = served.connect();
        let session = session(&drive);
        run(&*session, &Sample::common(10).sum(&drive, numbered(&*session))).outcome
    };
    assert_eq!(end_of("queue_full:1"), Outcome::Failed(Failure::Busy));
    let low_memory = end_of("low_memory:1");
    assert!(matches!(low_memory, Outcome::Failed(Failure::LowMemory { .. })), "{low_memory:?}");
    assert!(matches!(end_of("read_error:1"), Outcome::Failed(Failure::Read { .. })));
}

#[test]
fn corrupt_result_is_detected_by_the_client() {
    let (_emulator, served) = served("corrupt:1");
    let drive = served.connect();
    let session = session(&drive);
    let command = Sample::common(100);
    let command = command.sum(&drive, numbered(&*session));
    let completion = run(&*session, &command);
    let fault = completion.check(&command).unwrap_err();
    assert!(matches!(fault, nearscan_drive::Fault::Corrupted(_)), "{fault}");
}

#[test]
fn timed_out_command_is_ended_by_the_server_and_releases_its_memory() {
    let (emulator, served) = served("hang:1");
    let patient = Options { deadline_grace: 2 * PATIENCE, ..options() };
    let drive = RemoteDrive::connect(&served.address, patient).unwrap();
    let session = session(&drive);
    let sample = Sample::common(10);
    let timeout = Duration::from_millis(100);
    let ticket =
        sample::submit(&*session, sample.sum(&drive, numbered(&*session)), timeout).unwrap();
    assert_eq!(wait(ticket).outcome, Outcome::Failed(Failure::Timeout));
    // The deadline in the envelope counts as well.
    let mut hasty = sample.sum(&drive, numbered(&*session));
    hasty.envelope.deadline_ns = 100_000_000;
    assert_eq!(run(&*session, &hasty).outcome, Outcome::Failed(Failure::Timeout));
    eventually("all memory is back", || emulator.memory_is_whole());
    assert_eq!(drive.in_flight(), 0);
}

#[test]
fn command_is_cancelled_by_its_number() {
    let (emulator, served) = served("hang:1");
    let drive = served.connect();
    let session = session(&drive);
    let command = Sample::common(10).sum(&drive, numbered(&*session));
    let ticket = submit(&*session, &command).unwrap();
    assert_eq!(session.cancel(7 << 100), CancelOutcome::Unknown);
    let command_id = command.envelope.command_id;
    assert_eq!(session.cancel(command_id), CancelOutcome::Acknowledged);
    assert_eq!(wait(ticket).outcome, Outcome::Failed(Failure::Cancelled));
    assert_eq!(session.cancel(command_id), CancelOutcome::Unknown);
    eventually("all memory is back", || emulator.memory_is_whole());
}

#[test]
fn result_is_charged_while_it_is_held_and_refused_when_it_does_not_fit() {
    let (_emulator, served) = served("");
    let drive = served.connect();
    let room = Room::new(1 << 20);
    let session = session_with(&drive, Arc::<Room>::clone(&room));
    let sample = Sample::common(20_000);
    let command = sample.rows(&drive, numbered(&*session));
    let completion = run(&*session, &command);
    let Outcome::Finished(bytes) = &completion.outcome else { panic!("{completion:?}") };
    assert!(bytes.len() > 160_000);
    assert_eq!(room.left(), (1 << 20) - bytes.len() as u64);
    drop(completion);
    assert_eq!(room.left(), 1 << 20);
    assert!(room.try_grow(room.left() - 100_000));
    let again = run(&*session, &sample.rows(&drive, numbered(&*session)));
    let refused = Outcome::Failed(Failure::HostMemory { needed_bytes: again.traffic.link_bytes });
    assert_eq!(again.outcome, refused);
    assert_eq!(room.left(), 100_000);
    // The discarded result does not disturb the next one.
    let next = run(&*session, &sample.sum(&drive, numbered(&*session)));
    assert!(matches!(next.outcome, Outcome::Finished(_)));
}

#[test]
fn reset_voids_earlier_commands_of_every_client() {
    let (emulator, served) = served("hang:1");
    let (drive, other) = (served.connect(), served.connect());
    let (before, elsewhere) = (session(&drive), session(&other));
    let sample = Sample::common(10);
    let (command, theirs) =
        (sample.sum(&drive, numbered(&*before)), sample.sum(&other, numbered(&*elsewhere)));
    let tickets = [submit(&*before, &command).unwrap(), submit(&*elsewhere, &theirs).unwrap()];
    let epoch = drive.reset().unwrap();
    assert_eq!(epoch, before.epoch() + 1);
    for ticket in tickets {
        let completion = wait(ticket);
        let is_void = matches!(
            completion.outcome,
            Outcome::Failed(Failure::Gone { .. } | Failure::Cancelled)
        );
        assert!(is_void, "{completion:?}");
    }
    for (session, command) in [(&before, &command), (&elsewhere, &theirs)] {
        eventually("an old session is void", || {
            matches!(submit(&**session, command), Err(Refusal::Gone { .. }))
        });
    }
    assert_eq!(session(&drive).epoch(), epoch);
    assert_eq!(session(&other).epoch(), epoch);
    eventually("all memory is back", || emulator.memory_is_whole());
}

#[test]
fn shut_down_drive_finishes_its_commands_and_refuses_new_ones() {
    let (emulator, served) = served("");
    let drive = served.connect();
    let session = session(&drive);
    let sample = Sample::common(50_000);
    let commands: Vec<_> = (0..8).map(|_| sample.sum(&drive, numbered(&*session))).collect();
    let tickets: Vec<Ticket> =
        commands.iter().map(|command| submit(&*session, command).unwrap()).collect();
    drive.shutdown();
    for (ticket, command) in tickets.into_iter().zip(&commands) {
        assert!(wait(ticket).check(command).is_ok());
    }
    assert!(matches!(submit(&*session, &commands[0]), Err(Refusal::Gone { .. })));
    assert_eq!(drive.in_flight(), 0);
    drive.shutdown();
    // The drive itself is still there for others.
    assert!(sums_up(&served.connect()));
    eventually("all memory is back", || emulator.memory_is_whole());
}

#[test]
fn client_that_drops_its_drive_leaves_nothing_behind() {
    let (emulator, served) = served("hang:1");
    let drive = served.connect();
    let session = session(&drive);
    let ticket = submit(&*session, &Sample::common(10).sum(&drive, numbered(&*session))).unwrap();
    eventually("it runs", || emulator.in_flight() == 1);
    drop(drive);
    assert!(matches!(wait(ticket).outcome, Outcome::Failed(Failure::Gone { .. })));
    eventually("all memory is back", || emulator.in_flight() == 0 && emulator.memory_is_whole());
}

#[test]
fn stopping_server_cancels_commands_that_do_not_end_and_removes_its_socket() {
    let (emulator, mut served) = served("hang:1");
    let drive = served.connect();
    let session = session(&drive);
    let sample = Sample::common(10);
    let command = sample.sum(&drive, numbered(&*session));
    let ticket = submit(&*session, &command).unwrap();
    eventually("it runs", || emulator.in_flight() == 1);
    let watch = Stopwatch::start();
    served.stop();
    assert!(watch.elapsed() < PATIENCE);
    assert!(matches!(wait(ticket).outcome, Outcome::Failed(_)));
    eventually("its client notices", || !drive.is_connected());
    assert!(matches!(submit(&*session, &command), Err(Refusal::Gone { .. })));
    assert!(emulator.memory_is_whole());
    assert!(crate::bench::is_empty(served.place.folder.path()));
}

#[test]
fn stopping_server_finishes_running_commands_and_refuses_new_ones() {
    let (emulator, mut served) = served("");
    let drive = served.connect();
    let session = session(&drive);
    let sample = Sample::common(100_000);
    let commands: Vec<_> = (0..8).map(|_| sample.sum(&drive, numbered(&*session))).collect();
    let tickets: Vec<Ticket> =
        commands.iter().map(|command| submit(&*session, command).unwrap()).collect();
    eventually("one arrives", || emulator.in_flight() > 0);
    served.begin_stop();
    let mut late = 0;
    for (ticket, command) in tickets.into_iter().zip(&commands) {
        let completion = wait(ticket);
        match &completion.outcome {
            // It got there after the server was asked to stop.
            Outcome::Failed(_) => {
                assert!(gone(&completion).contains("shut"), "{}", gone(&completion));
                late += 1;
            }
            Outcome::Finished(bytes) => {
                assert!(bytes.len() as u64 >= ResultHeader::BYTES);
                assert!(completion.check(command).is_ok());
            }
        }
    }
    served.stop();
    assert!(late < 8);
}
