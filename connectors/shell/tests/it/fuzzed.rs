// SPDX-License-Identifier: Apache-2.0
//! What users type, as fuzzers would type it: the inputs of the targets `sql` and `arguments` that
//! were worth keeping, and those that once broke something.
//!
//! They run here because this crate has the engine anyway; the fuzzers' own crate does without.

use std::path::Path;

#[test]
fn words_of_fuzzers_are_planned_or_refused() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/targets");
    for (target, run) in nearscan_targets::TARGETS {
        if !["sql", "arguments"].contains(target) {
            continue;
        }
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
}
