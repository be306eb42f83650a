// SPDX-License-Identifier: Apache-2.0
//! Tests peers that are gone or silent: waiting commands end in time, later ones are refused at
//! once, and a restarted peer has a new epoch.

use std::{sync::Arc, time::Duration};

use nearscan_conformance::sample::{self, Sample, session};
use nearscan_drive::{Drive, Failure, Outcome, Refusal, SessionSpec, Unlimited, clock::Stopwatch};
use nearscan_emulator::Emulator;
use nearscan_remote::{Error, Options, RemoteDrive};
use rstest::rstest;

use crate::bench::{
    Peer, Place, Served, Way, emulated, eventually, gone, numbered, options, signal, submit,
    sums_up, wait,
};

/// Longer than it takes to notice a silent peer, and much shorter than any other wait.
const SOON: Duration = Duration::from_secs(15);

#[rstest]
#[case::over_tcp(Way::Tcp)]
#[case::over_a_unix_socket(Way::Unix)]
fn server_that_is_killed_is_push_back_and_new_one_has_new_epoch(#[case] way: Way) {
    let mut place = Place::new(way);
    let (mut server, address) = Peer::serve(&place, &["faults=hang:1"]);
    let drive = RemoteDrive::connect(&address, options()).unwrap();
    let lost = session(&drive);
    let sample = Sample::common(10);
    let command = sample.sum(&drive, numbered(&*lost));
    let ticket = submit(&*lost, &command).unwrap();
    let watch = Stopwatch::start();
    server.kill();
    assert!(!gone(&wait(ticket)).is_empty());
    eventually("the connection is lost", || !drive.is_connected());
    assert!(watch.elapsed() < SOON, "{:?}", watch.elapsed());
    let refused = submit(&*lost, &command).unwrap_err();
    assert!(matches!(refused, Refusal::Gone { .. }), "{refused}");
    let spec = SessionSpec { query_id: 1, tenant: 0, budget: Arc::new(Unlimited) };
    let refused = drive.open_session(spec).unwrap_err().to_string();
    assert!(refused.contains(&address.to_string()), "{refused}");
    // The last snapshot is still there to plan with.
    assert!(drive.snapshot().lanes > 0);

    // The same address, another server: with TCP the port is the one that it had.
    place.address = address;
    let (_server, _) = Peer::serve(&place, &[]);
    eventually("there is a connection again", || drive.is_connected());
    let found = session(&drive);
    assert!(found.epoch() > lost.epoch(), "{} after {}", found.epoch(), lost.epoch());
    assert!(matches!(submit(&*lost, &command), Err(Refusal::Gone { .. })));
    // Its files were numbered by the server that is gone.
    let refused = submit(&*found, &command).unwrap_err().to_string();
    assert!(refused.contains("another connection"), "{refused}");
    assert!(sums_up(&drive));
}

#[test]
fn server_that_is_silent_is_push_back() {
    let place = Place::new(Way::Unix);
    let (server, address) = Peer::serve(&place, &["faults=hang:1"]);
    let drive = RemoteDrive::connect(&address, options()).unwrap();
    let session = session(&drive);
    let sample = Sample::common(10);
    let command = sample.sum(&drive, numbered(&*session));
    let ticket = submit(&*session, &command).unwrap();
    let watch = Stopwatch::start();
    signal(server.child.id(), "STOP");
    let completion = wait(ticket);
    assert!(gone(&completion).contains("no sign of life"), "{}", gone(&completion));
    assert!(watch.elapsed() < SOON, "{:?}", watch.elapsed());
    assert!(matches!(submit(&*session, &command), Err(Refusal::Gone { .. })));
    signal(server.child.id(), "CONT");
    eventually("there is a connection again", || drive.is_connected());
    assert!(matches!(submit(&*session, &command), Err(Refusal::Gone { .. })));
}

#[test]
fn command_is_given_up_when_server_does_not_end_it() {
    let place = Place::new(Way::Unix);
    let (server, address) = Peer::serve(&place, &["faults=hang:1"]);
    let hour = Duration::from_secs(3600);
    let grace = Duration::from_millis(200);
    let options = Options { keep_alive_timeout: hour, deadline_grace: grace, ..options() };
    let drive = RemoteDrive::connect(&address, options).unwrap();
    let session = session(&drive);
    let sample = Sample::common(10);
    let command = sample.sum(&drive, numbered(&*session));
    signal(server.child.id(), "STOP");
    let timeout = Duration::from_millis(100);
    let ticket = sample::submit(&*session, command, timeout).unwrap();
    let watch = Stopwatch::start();
    assert_eq!(wait(ticket).outcome, Outcome::Failed(Failure::Timeout));
    assert!(watch.elapsed() < SOON, "{:?}", watch.elapsed());
    assert_eq!(drive.in_flight(), 0);
}

#[test]
fn commands_of_a_killed_client_are_cancelled() {
    let emulator = emulated("hang:1");
    let served = Served::start(Arc::<Emulator>::clone(&emulator), Way::Tcp);
    let folder = served.place.folder.path().display().to_string();
    let address = served.address.to_string();
    let mut client = Peer::start(&["hold", &folder, &address]);
    assert_eq!(client.line(), "holding");
    eventually("its command runs", || emulator.in_flight() == 1);
    assert!(!emulator.memory_is_whole());
    client.kill();
    eventually("its command ends", || emulator.in_flight() == 0 && emulator.memory_is_whole());
}

#[test]
fn address_without_server_is_unreachable() {
    let place = Place::new(Way::Unix);
    let error = RemoteDrive::connect(&place.address, options()).unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "{error}");
    let nobody = "127.0.0.1:1".parse().unwrap();
    let error = RemoteDrive::connect(&nobody, options()).unwrap_err().to_string();
    assert!(error.starts_with("no drive can be reached at 127.0.0.1:1: "), "{error}");
}

#[test]
fn peer_that_accepts_and_does_not_answer_is_unreachable() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string().parse().unwrap();
    let hasty = Options { connect_timeout: Duration::from_millis(300), ..options() };
    let error = RemoteDrive::connect(&address, hasty).unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "{error}");
}
