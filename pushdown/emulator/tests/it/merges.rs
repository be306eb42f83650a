// SPDX-License-Identifier: Apache-2.0
//! Tests merges on the emulated drive: their traffic, their time, and their faults.

use nearscan_command::{OutputRef, ResultHeader, Status};
use nearscan_conformance::sample::{PATIENCE, Sample, envelope, merge, modelled, run, session};
use nearscan_drive::{Drive, Failure, Outcome, Refusal, Submission};
use nearscan_emulator::{Build, Builds, Config, Emulator, Profile};

use crate::scan::open;

#[test]
fn merged_result_alone_crosses_link() {
    let scans = [1000, 10, 3000].map(Sample::plain);
    let drive = open("");
    let session = session(&drive);
    let command = merge(&scans, &drive, envelope(session.as_ref(), 9));
    let completion = run(session.as_ref(), command.clone()).unwrap();
    let view = completion.check_merge(&command).unwrap();
    assert_eq!((view.header.rows_in, view.header.rows_out), (4010, 4010));
    let last = view.blocks.last().unwrap();
    assert_eq!(last.columns[0].number(last.rows as usize - 1), Some(2999));
    let media_bytes: u64 = command.scans.iter().map(|scan| scan.unit.media_bytes()).sum();
    assert_eq!(completion.traffic.media_bytes, media_bytes);
    assert_eq!(completion.traffic.link_bytes, 256 + view.header.payload_bytes);
    assert_eq!(completion.traffic.host_bytes, 0);
    assert!(drive.memory_is_whole());
}

#[test]
fn scans_of_a_merge_take_their_own_time_except_for_the_link() {
    let scans = [1000, 1000].map(Sample::plain);
    let drive = open("");
    let session = session(&drive);
    let command = merge(&scans, &drive, envelope(session.as_ref(), 9));
    let time = |id| {
        let mut command = command.clone();
        command.envelope.command_id = id;
        modelled(&run(session.as_ref(), command).unwrap())
    };
    let merged = time(20);
    assert_eq!(time(21), merged);
    let alone = modelled(&run(session.as_ref(), command.scans[0].clone()).unwrap());
    assert_eq!(merged.commands, 2);
    assert_eq!(merged.media_ns, 2 * alone.media_ns);
    assert_eq!(merged.kernel, alone.kernel.plus(alone.kernel));
    assert_eq!(merged.setup_ns, 2 * alone.setup_ns);
    assert_eq!(alone.merge_ns, 0);
    // Started once more, and a choice for each of 2000 rows.
    assert!(merged.merge_ns > 100_000 + 2000 * 4 * 1000 / 300, "{}", merged.merge_ns);
    // One result of twice the rows, not two.
    assert!(merged.link_ns < 2 * alone.link_ns, "{} {}", merged.link_ns, alone.link_ns);
}

/// The rows and the time of a merge on a drive with so many merge units.
fn merged_by(merge_units: u32, scans: &[Sample], bytes_max: Option<u64>) -> (Vec<i128>, u64) {
    let build = Build { merge_units, ..Profile::Unlimited.builds().first };
    let drive = Emulator::open(Config { builds: Builds::one(build), ..Config::default() });
    let session = session(&drive);
    let mut command = merge(scans, &drive, envelope(session.as_ref(), 9));
    if let Some(bytes_max) = bytes_max {
        command.output = OutputRef::HostBuffer { bytes_max };
    }
    let completion = run(session.as_ref(), command.clone()).unwrap();
    let view = completion.check_merge(&command).unwrap();
    let rows = view
        .blocks
        .iter()
        .flat_map(|block| (0..block.rows as usize).filter_map(|row| block.columns[0].number(row)));
    (rows.collect(), modelled(&completion).merge_ns)
}

#[test]
fn parts_on_several_units_give_the_same_merge() {
    let scans = [100_000, 100_000].map(Sample::plain);
    let (whole, alone_ns) = merged_by(1, &scans, None);
    let expected: Vec<i128> = (0..100_000).flat_map(|number| [number, number]).collect();
    assert_eq!(whole, expected);
    for units in [2, 3, 5] {
        let (rows, merge_ns) = merged_by(units, &scans, None);
        assert_eq!(rows, expected);
        // Beside the start each has its share, a search that is up to a sixth of it, and the bank
        // to wait for.
        let gain = (alone_ns - 100_000) as f64 / (merge_ns - 100_000) as f64;
        let units = f64::from(units);
        assert!(gain > 0.8 * units && gain < units, "{gain} by {units}");
    }
}

#[test]
fn page_has_times_of_merge() {
    let scans = [100_000, 100_000].map(Sample::plain);
    let rows = [1, 2, 5].map(|units| {
        let (_, merge_ns) = merged_by(units, &scans, None);
        format!("| merge: {units} | {:.2} |", merge_ns as f64 / 1e6)
    });
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/timing-model.md");
    let page = std::fs::read_to_string(path).unwrap();
    let shown: Vec<_> = page.lines().filter(|line| line.starts_with("| merge: ")).collect();
    assert_eq!(shown, rows, "the table has to be\n{}", rows.join("\n"));
}

#[test]
fn merge_that_is_too_short_to_cut_is_not_cut() {
    let scans = [1000, 1000].map(Sample::plain);
    assert_eq!(merged_by(5, &scans, None), merged_by(1, &scans, None));
}

#[test]
fn parts_that_do_not_fit_are_merged_again_as_a_whole() {
    let scans = [40_000, 20_000].map(Sample::plain);
    let (rows, alone_ns) = merged_by(1, &scans, None);
    // Room for the blocks of a whole merge, to the byte; parts have one more.
    let blocks = 60_000_u64.div_ceil(1024);
    let words = 60_000 + 60_000_u64.div_ceil(64) + 2 * blocks;
    let (again, merge_ns) = merged_by(3, &scans, Some(256 + 8 * words));
    assert_eq!(again, rows);
    assert!(merge_ns > alone_ns, "{merge_ns} {alone_ns}");
}

#[test]
fn fault_plan_depends_on_the_scans_of_a_merge() {
    let drive = open("timeout:0.5");
    let session = session(&drive);
    let struck = (1..=40).filter(|rows| {
        let scans = [Sample::plain(*rows), Sample::plain(100)];
        let command = merge(&scans, &drive, envelope(session.as_ref(), u128::from(*rows)));
        let outcome = run(session.as_ref(), command).unwrap().outcome;
        outcome == Outcome::Failed(Failure::Timeout)
    });
    let struck = struck.count();
    assert!((8..=32).contains(&struck), "{struck}");
}

#[test]
fn lease_must_hold_scans_and_merged_result() {
    let scans = [100, 200].map(Sample::plain);
    let drive = Emulator::open(Config::of_profile(Profile::Unlimited));
    let session = session(&drive);
    let command = merge(&scans, &drive, envelope(session.as_ref(), 9));
    let lease = session.lease(command.device_bytes() - 1).unwrap();
    let needed_bytes = command.device_bytes();
    let refusal =
        session.submit(Submission { work: command.into(), lease, timeout: PATIENCE }).unwrap_err();
    assert_eq!(refusal, Refusal::LowMemory { needed_bytes });
    assert!(drive.memory_is_whole());
}

#[test]
fn drive_without_merge_units_refuses_merges() {
    let scans = [Sample::plain(3), Sample::plain(4)];
    let builds = Builds::one(Profile::SmartSsd.builds().first);
    let drive = Emulator::open(Config { builds, ..Config::default() });
    assert_eq!(drive.capabilities().merge_inputs_max, 0);
    let session = session(&drive);
    let command = merge(&scans, &drive, envelope(session.as_ref(), 9));
    let completion = run(session.as_ref(), command).unwrap();
    let Outcome::Finished(result) = &completion.outcome else { panic!("{completion:?}") };
    assert_eq!(ResultHeader::decode(result).unwrap().status, Status::Unsupported);
    assert_eq!(completion.traffic.media_bytes, 0);
}
