// SPDX-License-Identifier: Apache-2.0
//! What users type, as fuzzers would type it, and files that lie: the inputs of the targets that
//! need the engine which were worth keeping, and those that once broke something.
//!
//! They run here because this crate has the engine anyway; the fuzzers' own crate does without.

use std::path::Path;

use nearscan_targets::{Every, Walk};

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

#[test]
fn a_number_that_lies_does_no_harm_or_is_found() {
    // Numbers without a factor in common with how many lies there are of each place.
    let every = Every { lies: 197, ends: 97 };
    let walk = Walk::of(every, &mut |_| ());
    assert!(walk.rows > 50 && walk.errors > 50, "{walk:?}");
    assert!(walk.wrong.is_empty(), "{:#?}", walk.wrong);
}
