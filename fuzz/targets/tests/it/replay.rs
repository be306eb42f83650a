// SPDX-License-Identifier: Apache-2.0
//! Tests each target on its corpus and its regressions.

use std::path::{Path, PathBuf};

use nearscan_archive::Archive;
use nearscan_targets::TARGETS;

/// Bytes of the inputs of all corpora: they are read by people's tools and by every clone.
const CORPORA_BYTES_MAX: usize = 200_000;
/// Inputs of a corpus of which one must come as far as to what its target checks.
const FAR_ONE_IN: usize = 8;

fn folder(kind: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(kind)
}

fn corpus(target: &str) -> Archive {
    Archive::read(&folder("corpus").join(target).with_extension("tsv")).unwrap()
}

/// Much of a corpus is refused, each input in its own way; one of which all is, as after a change
/// of the format, tests nothing.
#[test]
fn every_target_passes_its_corpus() {
    for (target, run) in TARGETS {
        let corpus = corpus(target);
        let all = corpus.files().len();
        assert!(all > 0, "{target} has a corpus");
        let far = corpus.files().filter(|(_, bytes)| run(bytes)).count();
        assert!(far * FAR_ONE_IN >= all, "{target}: {far} of {all} inputs are not refused");
    }
}

#[test]
fn regressions_stay_fixed() {
    for (target, run) in TARGETS {
        let entries = std::fs::read_dir(folder("regressions").join(target));
        for input in entries.into_iter().flatten().map(|entry| entry.unwrap().path()) {
            let bytes = std::fs::read(&input).unwrap();
            let ended = std::panic::catch_unwind(|| run(&bytes));
            assert!(ended.is_ok(), "{}", input.display());
        }
    }
}

/// The names of the targets that `kind` has something of.
fn targets(kind: &str) -> Vec<String> {
    let entries = std::fs::read_dir(folder(kind)).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect()
}

#[test]
fn every_folder_is_that_of_a_target() {
    for target in ["corpus", "regressions"].into_iter().flat_map(targets) {
        let program = folder("src/bin").join(&target).with_extension("rs");
        assert!(program.exists(), "{target}");
    }
}

#[test]
fn corpora_are_small() {
    let bytes_of =
        |target: &String| -> usize { corpus(target).files().map(|(_, bytes)| bytes.len()).sum() };
    let bytes: usize = targets("corpus").iter().map(bytes_of).sum();
    assert!(bytes <= CORPORA_BYTES_MAX, "{bytes} bytes of corpora");
}
