// SPDX-License-Identifier: Apache-2.0
//! What users type, as fuzzers would type it, and files that lie: the inputs of the targets that
//! need the engine which were worth keeping, and those that once broke something.
//!
//! They run here because this crate has the engine anyway; the fuzzers' own crate does without.

use std::path::Path;

use nearscan_targets::{Bench, Ended, every_end, every_lie};

/// The targets that need the engine.
const TARGETS: [&str; 3] = ["sql", "arguments", "files"];

#[test]
fn words_of_fuzzers_are_planned_or_refused() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/targets");
    let mut targets = 0;
    for (target, run) in nearscan_targets::TARGETS {
        if !TARGETS.contains(target) {
            continue;
        }
        targets += 1;
        let folders = ["corpus", "regressions"].map(|kind| root.join(kind).join(target));
        let entries = folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten();
        let files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        assert!(!files.is_empty(), "{target} has inputs");
        for file in files {
            let bytes = std::fs::read(&file).unwrap();
            let ended = std::panic::catch_unwind(|| run(&bytes));
            assert!(ended.is_ok(), "{}", file.display());
        }
    }
    assert_eq!(targets, TARGETS.len());
}

/// Of all lies, one in so many is tried here; a number without a factor in common with how many
/// there are of each place.
const LIES_STEP: usize = 197;

/// Of all lengths, one in so many.
const ENDS_STEP: usize = 97;

#[test]
fn a_number_that_lies_does_no_harm_or_is_found() {
    let bench = Bench::start();
    let (mut rows, mut errors) = (0, 0);
    for damaged in every_lie().step_by(LIES_STEP) {
        for query in 0..Bench::queries() {
            match bench.run(&damaged.bytes, query) {
                [Ended::Rows(off), Ended::Rows(force)] => {
                    assert_eq!(off, force, "{}, query {query}", damaged.what);
                    rows += 1;
                }
                [Ended::Error(text), force] => {
                    let has_place = text.contains(", row group ") && text.contains(", byte ");
                    assert!(has_place || !damaged.is_in_page, "{}: {text}", damaged.what);
                    // Fields that a drive has no use for do it no harm.
                    assert!(damaged.is_in_page || matches!(force, Ended::Error(_)), "{text}");
                    errors += 1;
                }
                [Ended::Rows(_), Ended::Error(text)] => {
                    panic!("{}, query {query}, with a drive alone: {text}", damaged.what)
                }
            }
        }
    }
    assert!(rows > 50 && errors > 50, "{rows} with rows, {errors} with errors");
}

#[test]
fn a_file_that_is_cut_is_refused() {
    let bench = Bench::start();
    for damaged in every_end().step_by(ENDS_STEP) {
        for ended in bench.run(&damaged.bytes, 0) {
            assert!(matches!(ended, Ended::Error(_)), "{}", damaged.what);
        }
    }
}
