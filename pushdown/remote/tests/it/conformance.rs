// SPDX-License-Identifier: Apache-2.0
//! Runs the conformance suite on remote drives.

use std::sync::Arc;

use nearscan_conformance::{Options, check, check_with};
use nearscan_drive::Drive;
use nearscan_emulator::{Config, Emulator, Profile};
use rstest::rstest;

use crate::bench::{Peer, Served, Way, eventually};

#[rstest]
#[case::over_tcp(Way::Tcp)]
#[case::over_a_unix_socket(Way::Unix)]
fn emulated_drive_that_is_served_passes_suite(#[case] way: Way) {
    let emulator = Arc::new(Emulator::open(Config::of_profile(Profile::Unlimited)));
    let served = Served::start(Arc::<Emulator>::clone(&emulator), way);
    let drive = served.connect();
    let report = check(&drive);
    assert!(report.is_clean(), "{report}");
    assert_eq!(drive.in_flight(), 0);
    eventually("all memory is back", || emulator.memory_is_whole());
}

#[test]
fn suite_passes_from_several_threads_at_once() {
    let emulator = Arc::new(Emulator::open(Config::of_profile(Profile::Unlimited)));
    let served = Served::start(Arc::<Emulator>::clone(&emulator), Way::Unix);
    let drive = served.connect();
    std::thread::scope(|scope| {
        for seed in 1..=2 {
            let drive = &drive;
            scope.spawn(move || {
                let options = Options { seed, random_cases: 100, ..Options::default() };
                let report = check_with(drive, &options);
                assert!(report.is_clean(), "{report}");
            });
        }
    });
    eventually("all memory is back", || emulator.memory_is_whole());
}

#[rstest]
#[case::over_tcp(Way::Tcp)]
#[case::over_a_unix_socket(Way::Unix)]
fn suite_passes_from_two_processes_at_once(#[case] way: Way) {
    let emulator = Arc::new(Emulator::open(Config::of_profile(Profile::Unlimited)));
    let served = Served::start(Arc::<Emulator>::clone(&emulator), way);
    let address = served.address.to_string();
    let peers = ["3", "4"].map(|seed| Peer::start(&["check", &address, seed]));
    for mut peer in peers {
        let status = peer.child.wait().unwrap();
        assert!(status.success(), "{}", peer.line());
    }
    eventually("all memory is back", || emulator.memory_is_whole());
}
