// SPDX-License-Identifier: Apache-2.0
//! The inputs that fuzzers have found worth keeping, on kernels that are built with sanitizers.
//!
//! The other checks of the fuzzers on a result are made where they are, without sanitizers.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use nearscan_archive::Archive;

use crate::benches::{SANITIZED, run};

const SOURCES: &[&str] =
    &["../models/tests/replay.cpp", "../models/shim/shim.cpp", "portable/dataflow.cpp"];

/// Runs `kernel` on the inputs of these fuzzers.
#[track_caller]
fn check(test: &str, kernel: &str, fuzzers: &[&str]) {
    let inputs: Vec<PathBuf> = fuzzers
        .iter()
        .flat_map(|fuzzer| [corpus(fuzzer), fuzzers_crate().join("regressions").join(fuzzer)])
        .flat_map(|folder| files(&folder))
        .collect();
    assert!(!inputs.is_empty(), "there are inputs for {kernel}");
    if let Some(program) = SANITIZED.program("replay", test, SOURCES) {
        run(Command::new(program).arg(kernel).args(inputs));
    }
}

fn fuzzers_crate() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/targets")
}

/// A folder with the corpus of a fuzzer.
fn corpus(fuzzer: &str) -> PathBuf {
    let packed = fuzzers_crate().join("corpus").join(fuzzer).with_extension("tsv");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("corpus").join(fuzzer);
    Archive::read(&packed).unwrap().unpack(&folder).unwrap();
    folder
}

/// The files of a folder, which need not be there.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    entries.map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn scan_kernel_stays_within_its_memories_on_inputs_of_fuzzers() {
    let test = "scan_kernel_stays_within_its_memories_on_inputs_of_fuzzers";
    check(test, "scan", &["scan", "drives"]);
}

#[test]
fn merge_kernel_stays_within_its_memories_on_inputs_of_fuzzers() {
    let test = "merge_kernel_stays_within_its_memories_on_inputs_of_fuzzers";
    check(test, "merge", &["merge"]);
}
