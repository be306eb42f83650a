// SPDX-License-Identifier: Apache-2.0
//! Each target on its corpus, and on what once broke it.

use std::path::{Path, PathBuf};

use nearscan_targets::TARGETS;

/// Bytes of all corpora: they are read by people's tools and by every clone.
const CORPORA_BYTES_MAX: u64 = 200_000;
/// Inputs of a corpus of which one must come as far as to what its target checks.
const FAR_ONE_IN: usize = 8;

fn files(kind: &str, target: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(kind).join(target);
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// Much of a corpus is refused, each input in its own way; one of which all is, as after a change
/// of the format, tests nothing.
#[test]
fn every_target_passes_its_corpus() {
    for (target, run) in TARGETS {
        let inputs = files("corpus", target);
        assert!(!inputs.is_empty(), "{target} has a corpus");
        let far = inputs.iter().filter(|input| run(&std::fs::read(input).unwrap())).count();
        let all = inputs.len();
        assert!(far * FAR_ONE_IN >= all, "{target}: {far} of {all} inputs are not refused");
    }
}

#[test]
fn what_was_found_stays_fixed() {
    for (target, run) in TARGETS {
        for input in files("regressions", target) {
            let bytes = std::fs::read(&input).unwrap();
            let ended = std::panic::catch_unwind(|| run(&bytes));
            assert!(ended.is_ok(), "{}", input.display());
        }
    }
}

/// The folders below `kind`.
fn folders(kind: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(kind);
    let entries = std::fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn every_folder_is_that_of_a_target() {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/bin");
    for target in ["corpus", "regressions"].into_iter().flat_map(folders) {
        assert!(programs.join(&target).with_extension("rs").exists(), "{target}");
    }
}

#[test]
fn corpora_are_small() {
    let all = folders("corpus").into_iter().flat_map(|target| files("corpus", &target));
    let bytes: u64 = all.map(|file| file.metadata().unwrap().len()).sum();
    assert!(bytes <= CORPORA_BYTES_MAX, "{bytes} bytes of corpora");
}
