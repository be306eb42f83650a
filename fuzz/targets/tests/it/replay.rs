// SPDX-License-Identifier: Apache-2.0
//! Each target on its corpus, and on what once broke it.

use std::path::{Path, PathBuf};

use nearscan_targets::TARGETS;

/// Bytes of all corpora: they are read by people's tools and by every clone.
const CORPORA_BYTES_MAX: u64 = 200_000;

fn files(kind: &str, target: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(kind).join(target);
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn every_target_passes_its_corpus() {
    for (target, run) in TARGETS {
        let inputs = files("corpus", target);
        assert!(!inputs.is_empty(), "{target} has a corpus");
        for input in inputs {
            run(&std::fs::read(input).unwrap());
        }
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
