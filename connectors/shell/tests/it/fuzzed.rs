// SPDX-License-Identifier: Apache-2.0
//! Tests the fuzzing targets that need the engine on their committed corpora and regressions, and a
//! sample of corrupt files.
//!
//! They run here because this crate has the engine anyway; the fuzzers' own crate does without.

use std::path::Path;

use nearscan_archive::Archive;
use nearscan_targets::{Every, Walk};

/// The targets that need the engine.
const TARGETS: [&str; 3] = ["sql", "arguments", "files"];

#[test]
fn fuzzed_statements_are_planned_or_refused() {
    let mut targets = 0;
    for (target, run) in nearscan_targets::TARGETS {
        if !TARGETS.contains(target) {
            continue;
        }
        targets += 1;
        for (name, bytes) in inputs(target) {
            let ended = std::panic::catch_unwind(|| run(&bytes));
            assert!(ended.is_ok(), "{target}: {name}");
        }
    }
    assert_eq!(targets, TARGETS.len());
}

/// The corpus of a target, and what once broke it, if anything has.
fn inputs(target: &str) -> Vec<(String, Vec<u8>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/targets");
    let corpus = Archive::read(&root.join("corpus").join(target).with_extension("tsv")).unwrap();
    assert!(corpus.files().len() > 0, "{target} has inputs");
    let regressions = root.join("regressions").join(target);
    let regressions = regressions.exists().then(|| Archive::pack(&regressions).unwrap());
    let archives = [corpus, regressions.unwrap_or_default()];
    let files = archives.iter().flat_map(Archive::files);
    files.map(|(name, bytes)| (name.to_owned(), bytes.to_vec())).collect()
}

#[test]
fn corrupt_number_is_harmless_or_detected() {
    // These numbers have no factor in common with the number of corruptions of each place.
    let every = Every { corruptions: 197, ends: 97 };
    let walk = Walk::of(every, &mut |_| ());
    assert!(walk.rows > 50 && walk.errors > 50, "{walk:?}");
    assert!(walk.wrong.is_empty(), "{:#?}", walk.wrong);
}
