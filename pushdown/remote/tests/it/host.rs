// SPDX-License-Identifier: Apache-2.0
//! Tests drives in separate processes, when one of both processes ends.

use std::{path::PathBuf, time::Duration};

use nearscan_conformance::sample::{Sample, session};
use nearscan_drive::{Drive, Refusal};
use nearscan_remote::{Error, HostOptions, HostedDrive, Options, Program};

use crate::bench::{
    Peer, eventually, gone, is_running, numbered, options, signal, submit, sums_up, wait,
};

fn hosted(parameters: &[&str]) -> HostedDrive {
    let arguments = std::iter::once(&"serve").chain(parameters).map(Into::into).collect();
    let program = Program { path: Peer::path(), arguments };
    let remote = Options { kind: "emulated", ..options() };
    HostedDrive::start(program, HostOptions { remote, ..HostOptions::default() }).unwrap()
}

#[test]
fn hosted_drive_has_the_identity_of_its_drive() {
    let drive = hosted(&["profile=unlimited", "cus=3"]);
    assert_eq!(drive.identity().kind, "emulated");
    assert_eq!(drive.snapshot().lanes, 3);
    assert!(sums_up(&drive));
}

#[test]
fn killed_process_is_a_push_back_and_is_restarted() {
    // Two of them are there for sure when the process ends.
    let drive = hosted(&["faults=hang@3,hang@12"]);
    let process_id = drive.process_id().unwrap();
    let lost = session(&drive);
    let sample = Sample::common(10);
    let commands: Vec<_> = (0..20).map(|_| sample.sum(&drive, numbered(&*lost))).collect();
    let tickets: Vec<_> = commands.iter().map(|command| submit(&*lost, command).unwrap()).collect();
    signal(process_id, "KILL");
    let mut pushed_back = 0;
    for (ticket, command) in tickets.into_iter().zip(&commands) {
        let completion = wait(ticket);
        match completion.check(command) {
            Ok(view) => assert_eq!(view.blocks[0].columns[0].number(0), Some(45)),
            Err(_) => {
                assert!(!gone(&completion).is_empty());
                pushed_back += 1;
            }
        }
    }
    assert!(pushed_back >= 2, "{pushed_back}");
    eventually("it runs again", || {
        drive.process_id().is_some_and(|id| id != process_id) && drive.remote().is_connected()
    });
    let found = session(&drive);
    assert!(found.epoch() > lost.epoch());
    assert!(matches!(submit(&*lost, &commands[0]), Err(Refusal::Gone { .. })));
}

#[test]
fn silent_process_is_killed_and_restarted() {
    let drive = hosted(&[]);
    let process_id = drive.process_id().unwrap();
    signal(process_id, "STOP");
    eventually("it is killed", || !is_running(process_id));
    eventually("there is another one", || drive.remote().is_connected());
    assert!(drive.process_id().is_some_and(|id| id != process_id));
    assert!(sums_up(&drive));
}

#[test]
fn process_ends_with_its_drive() {
    let drive = hosted(&[]);
    let process_id = drive.process_id().unwrap();
    let folder = folder_of(process_id);
    assert!(folder.exists());
    drop(drive);
    assert!(!is_running(process_id));
    assert!(!folder.exists());
}

#[test]
fn drive_that_is_shut_down_ends_its_process() {
    let drive = hosted(&[]);
    let process_id = drive.process_id().unwrap();
    drive.shutdown();
    assert!(!is_running(process_id));
    assert!(!drive.remote().is_connected());
}

#[test]
fn process_ends_when_its_parent_is_killed() {
    let mut parent = Peer::start(&["host"]);
    let line = parent.line();
    let process_id: u32 = line.strip_prefix("hosting ").unwrap().parse().unwrap();
    let folder = folder_of(process_id);
    assert!(is_running(process_id) && folder.exists());
    parent.kill();
    eventually("the process ends", || !is_running(process_id));
    eventually("its socket is removed", || !folder.exists());
}

/// The folder of a hosted drive's socket, which its process is told.
fn folder_of(process_id: u32) -> PathBuf {
    let line = std::fs::read_to_string(format!("/proc/{process_id}/cmdline")).unwrap();
    let socket = line.split('\0').find_map(|word| word.strip_prefix("unix:")).unwrap();
    PathBuf::from(socket).parent().unwrap().to_owned()
}

#[test]
fn program_that_does_not_start_is_an_error_with_its_output() {
    let start = |path: PathBuf, arguments: &[&str]| {
        let arguments = arguments.iter().map(Into::into).collect();
        let remote = options();
        let start_timeout = Duration::from_secs(30);
        let options = HostOptions { remote, start_timeout, ..HostOptions::default() };
        HostedDrive::start(Program { path, arguments }, options).unwrap_err()
    };
    let absent = start("/nowhere/at-all".into(), &[]);
    assert!(matches!(absent, Error::Host { .. }), "{absent}");
    assert!(absent.to_string().contains("No such file"), "{absent}");
    let failing = start("sh".into(), &["-c", "echo no card in slot 3 >&2; exit 7"]).to_string();
    assert!(failing.contains("exit status: 7: no card in slot 3"), "{failing}");
}
