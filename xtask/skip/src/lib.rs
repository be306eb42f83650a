// SPDX-License-Identifier: Apache-2.0
//! Reports a test as skipped that finds out at run time that it cannot run.
//!
//! A run of one test alone shows the reason. `cargo xtask test` finds a line `name<TAB>reason` in
//! the file that it names in the environment, and counts the test as skipped, not as passed. A
//! reason that installing something would remove begins with `needs NAME`; in CI that is a failure.

#![forbid(unsafe_code)]

use std::{
    ffi::OsString,
    fs::OpenOptions,
    io::{self, Write},
    path::Path,
};

/// Variable with the name of the file for lines.
const LOG: &str = "NEARSCAN_SKIP_LOG";

/// Variable with the name of the interpreter that has the packages of the tests.
const PYTHON: &str = "NEARSCAN_PYTHON";

/// Variable with the path of the emulator of Azure's blob storage.
const AZURITE: &str = "NEARSCAN_AZURITE";

/// Says that `test` is skipped.
///
/// # Panics
/// If there is a file for lines and it cannot be written to: the test would count as passed.
pub fn skip(test: &str, reason: &str) {
    #[expect(clippy::print_stdout, reason = "a run of one test alone shows why it was skipped")]
    {
        println!("skipped: {test} ({reason})");
    }
    if let Some(log) = std::env::var_os(LOG) {
        append(Path::new(&log), test, reason).expect("the log of skipped tests can be written to");
    }
}

/// The interpreter that has the packages of the tests; without one, `test` is skipped.
pub fn python(test: &str) -> Option<OsString> {
    let python = std::env::var_os(PYTHON);
    if python.is_none() {
        skip(test, &format!("needs python ({PYTHON} names no interpreter)"));
    }
    python
}

/// The emulator of Azure's blob storage; without it, `test` is skipped.
pub fn azurite(test: &str) -> Option<OsString> {
    let azurite = std::env::var_os(AZURITE);
    if azurite.is_none() {
        skip(test, &format!("needs azurite ({AZURITE} names no program)"));
    }
    azurite
}

fn append(log: &Path, test: &str, reason: &str) -> io::Result<()> {
    let mut log = OpenOptions::new().append(true).create(true).open(log)?;
    // In one piece: other tests write to the same file, and `writeln!` writes piece by piece.
    log.write_all(format!("{test}\t{reason}\n").as_bytes())
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::thread;

    use super::*;

    /// Tests that skip at once, and how often.
    const TESTS: usize = 8;
    const ROUNDS: usize = 200;

    #[test]
    fn each_skip_is_a_line_of_name_and_reason() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("skipped.tsv");
        append(&log, "a::b", "needs clang").unwrap();
        append(&log, "c", "there is a card").unwrap();
        let found = std::fs::read_to_string(&log).unwrap();
        assert_eq!(found, "a::b\tneeds clang\nc\tthere is a card\n");
    }

    #[test]
    fn tests_that_skip_at_once_have_a_line_each() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("skipped.tsv");
        let start = Barrier::new(TESTS);
        thread::scope(|scope| {
            for test in 0..TESTS {
                let (log, start) = (&log, &start);
                scope.spawn(move || {
                    for round in 0..ROUNDS {
                        start.wait();
                        append(log, &format!("{test}::{round}"), "needs clang").unwrap();
                    }
                });
            }
        });
        let found = std::fs::read_to_string(&log).unwrap();
        let mut found: Vec<&str> = found.lines().collect();
        let every = (0..TESTS).flat_map(|test| (0..ROUNDS).map(move |round| (test, round)));
        let mut expected: Vec<String> =
            every.map(|(test, round)| format!("{test}::{round}\tneeds clang")).collect();
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected);
    }
}
