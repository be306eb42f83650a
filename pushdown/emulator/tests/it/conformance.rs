// SPDX-License-Identifier: Apache-2.0
//! Runs the conformance suite on the emulated drive.

use nearscan_conformance::{Options, check, check_with};
use nearscan_drive::Drive;
use nearscan_emulator::{Build, Builds, Config, Emulator, Profile};
use rstest::rstest;

#[rstest]
fn emulated_drive_passes_suite(#[values(Profile::SmartSsd, Profile::Unlimited)] profile: Profile) {
    let drive = Emulator::open(Config::of_profile(profile));
    let report = check(&drive);
    assert!(report.is_clean(), "{report}");
    assert_eq!(drive.in_flight(), 0);
    assert!(drive.memory_is_whole());
}

/// Every merge of the suite again, whole and cut into parts, however few rows it has.
#[rstest]
fn merges_in_parts_are_the_same_merges(#[values(1, 2, 3, 5)] merge_units: u32) {
    let build = Build { merge_units, ..Profile::Unlimited.builds().first };
    let drive = Emulator::open(Config {
        builds: Builds::one(build),
        merge_part_rows: 1,
        ..Config::default()
    });
    let options = Options { prefix: "merged".to_owned(), ..Options::default() };
    let report = check_with(&drive, &options);
    assert!(report.is_clean(), "{report}");
    assert!(report.cases > 100, "{report}");
    assert!(drive.memory_is_whole());
}

#[test]
fn suite_passes_from_several_threads_at_once() {
    let drive = Emulator::open(Config::of_profile(Profile::Unlimited));
    std::thread::scope(|scope| {
        for seed in 1..=2 {
            let drive = &drive;
            scope.spawn(move || {
                let report = check_with(drive, &Options { seed, ..Options::default() });
                assert!(report.is_clean(), "{report}");
            });
        }
    });
    assert!(drive.memory_is_whole());
}
