// SPDX-License-Identifier: Apache-2.0
//! Tests that the reads of commands lead to events of the flash: after how many, to whom, and that
//! nothing but commands enters.

use std::path::Path;

use nearscan_conformance::sample::{Sample, envelope, merge, run, session};
use nearscan_drive::{Drive, Failure, FlashEvent, FlashEventKind, Outcome};
use nearscan_emulator::{Config, Emulator, flash};
use rstest::rstest;

/// A drive whose blocks are relocated after so many reads, and which has these faults.
fn open(hot_block_reads: &str, faults: &str) -> Emulator {
    let parameters =
        [("profile", "unlimited"), ("hot_block_reads", hot_block_reads), ("faults", faults)];
    Emulator::open(Config::from_parameters(parameters).unwrap())
}

/// Scans a sample so many times; whether all scans finished.
fn scan(drive: &Emulator, sample: &Sample, times: u128) -> bool {
    let session = session(drive);
    let finished = (0..times).map(|id| {
        let command = sample.count_and_sum(drive, 10, envelope(session.as_ref(), id));
        let completion = run(session.as_ref(), command).unwrap();
        matches!(completion.outcome, Outcome::Finished(_))
    });
    finished.fold(true, |all, one| all & one)
}

/// The events of a block of which this file has so many bytes, after so many reads.
fn relocation(first: u64, file: &Path, bytes: u64, reads: u64) -> [FlashEvent; 2] {
    let hot = FlashEventKind::HotBlock { file: file.into(), offset: 0, bytes, reads };
    [
        FlashEvent { number: first, block: 0, kind: hot },
        FlashEvent {
            number: first + 1,
            block: 0,
            kind: FlashEventKind::GarbageCollection { bytes },
        },
    ]
}

#[test]
fn block_that_is_read_as_often_as_the_url_says_is_relocated() {
    let sample = Sample::plain(1000);
    let drive = open("20", "");
    let file = sample.file();
    assert!(scan(&drive, &sample, 19));
    assert_eq!(drive.flash_events(0), []);
    assert!(scan(&drive, &sample, 1));
    let first = relocation(1, &file.path, file.version.size_bytes, 20);
    assert_eq!(drive.flash_events(0), first);
    // It is counted anew from there.
    assert!(scan(&drive, &sample, 19));
    assert_eq!(drive.flash_events(2), []);
    assert!(scan(&drive, &sample, 1));
    let second = relocation(3, &file.path, file.version.size_bytes, 20);
    assert_eq!(drive.flash_events(2), second);
}

#[test]
fn each_reader_of_flash_events_gets_all_from_where_it_is() {
    let sample = Sample::plain(100);
    let drive = open("2", "");
    let numbers = |after| -> Vec<u64> {
        drive.flash_events(after).iter().map(|event| event.number).collect()
    };
    assert!(scan(&drive, &sample, 4));
    assert_eq!((numbers(0), numbers(3)), (vec![1, 2, 3, 4], vec![4]));
    assert!(scan(&drive, &sample, 2));
    assert_eq!((numbers(4), numbers(0)), (vec![5, 6], vec![1, 2, 3, 4, 5, 6]));
}

#[test]
fn flash_events_are_the_same_however_commands_are_spread_over_threads() {
    let samples = [100, 30_000].map(Sample::plain);
    let events = |threads: u128| {
        let drive = open("6", "");
        let locate = |sample: &Sample| sample.locate(&drive);
        assert_eq!(samples.each_ref().map(locate), [0, 1]);
        std::thread::scope(|scope| {
            for sample in &samples {
                for _ in 0..threads {
                    scope.spawn(|| assert!(scan(&drive, sample, 24 / threads)));
                }
            }
        });
        let events = drive.flash_events(0);
        assert!(events.iter().zip(1..).all(|(event, number)| event.number == number));
        let mut events: Vec<String> =
            events.iter().map(|event| format!("{} {:?}", event.block, event.kind)).collect();
        events.sort_unstable();
        events
    };
    let one = events(1);
    // Each scan reads one page of the first file and eight of the other.
    assert_eq!(one.len(), 2 * (24 / 6 + 24 * 8 / 6));
    assert_eq!(events(1), one);
    assert_eq!(events(4), one);
}

#[test]
fn merge_reads_the_blocks_of_its_scans() {
    let samples = [100, 200].map(Sample::plain);
    let drive = open("2", "");
    let session = session(&drive);
    for id in 10..12 {
        let command = merge(&samples, &drive, envelope(session.as_ref(), id));
        assert!(matches!(run(session.as_ref(), command).unwrap().outcome, Outcome::Finished(_)));
    }
    let blocks: Vec<u64> = drive.flash_events(0).iter().map(|event| event.block).collect();
    assert_eq!(blocks, [0, 0, 1 << 32, 1 << 32]);
}

#[rstest]
#[case("read_error:1")]
#[case("gone:1")]
#[case("queue_full:1")]
fn command_that_reads_nothing_disturbs_no_block(#[case] faults: &str) {
    let sample = Sample::plain(100);
    let drive = open("1", faults);
    let session = session(&drive);
    let command = sample.count_and_sum(&drive, 10, envelope(session.as_ref(), 9));
    let end = run(session.as_ref(), command).map(|completion| completion.outcome);
    assert!(!matches!(end, Ok(Outcome::Finished(_))), "{end:?}");
    assert_eq!(drive.flash_events(0), []);
}

#[test]
fn command_for_another_version_of_its_file_disturbs_no_block() {
    let sample = Sample::plain(100);
    let drive = open("1", "");
    let session = session(&drive);
    let command = sample.count_and_sum(&drive, 10, envelope(session.as_ref(), 9));
    sample.grow();
    let end = run(session.as_ref(), command).unwrap().outcome;
    assert!(matches!(end, Outcome::Failed(Failure::Stale { .. })), "{end:?}");
    assert_eq!(drive.flash_events(0), []);
}

#[test]
fn reset_keeps_counters_and_events() {
    let sample = Sample::plain(100);
    let drive = open("2", "");
    assert!(scan(&drive, &sample, 3));
    drive.reset().unwrap();
    assert_eq!(drive.flash_events(0).len(), 2);
    assert!(scan(&drive, &sample, 1));
    assert_eq!(drive.flash_events(0).len(), 4);
}

#[test]
fn drive_without_a_threshold_in_its_url_has_the_default() {
    let config = Config::from_parameters([]).unwrap();
    assert_eq!(config.hot_block_reads, flash::HOT_BLOCK_READS);
    let sample = Sample::plain(100);
    for (threshold, events) in [("0", 0), ("1", 20)] {
        let drive = open(threshold, "");
        assert!(scan(&drive, &sample, 10));
        assert_eq!(drive.flash_events(0).len(), events, "{threshold}");
    }
}

#[test]
fn wrong_threshold_is_refused_with_what_is_expected() {
    let error = Config::from_parameters([("hot_block_reads", "1e5")]).unwrap_err().to_string();
    let expected = "parameter hot_block_reads=\"1e5\": a number from 0 to 4294967295";
    assert_eq!(error, expected);
}
