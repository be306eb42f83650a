// SPDX-License-Identifier: Apache-2.0
//! How a test that finds out only while it runs that it cannot says so, and returns.
//!
//! Whoever runs one test alone reads it. `cargo xtask test` finds a line `name<TAB>reason` in the
//! file that it names in the environment, and counts the test as skipped, not as passed. A reason
//! that installing something would remove begins with `needs NAME`; in CI that is a failure.

#![forbid(unsafe_code)]

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

/// Variable with the name of the file for lines.
const LOG: &str = "NEARSCAN_SKIP_LOG";

/// Variable with the name of the interpreter that has the packages of the tests.
const PYTHON: &str = "NEARSCAN_PYTHON";

/// Says that `test` is skipped.
///
/// # Panics
/// If there is a file for lines and it cannot be written to: the test would count as passed.
pub fn skip(test: &str, reason: &str) {
    #[expect(clippy::print_stdout, reason = "whoever runs one test alone sees why it did nothing")]
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

fn append(log: &Path, test: &str, reason: &str) -> io::Result<()> {
    let mut log = OpenOptions::new().append(true).create(true).open(log)?;
    writeln!(log, "{test}\t{reason}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_skip_is_a_line_of_name_and_reason() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("skipped.tsv");
        append(&log, "a::b", "needs clang").unwrap();
        append(&log, "c", "there is a card").unwrap();
        let found = std::fs::read_to_string(&log).unwrap();
        assert_eq!(found, "a::b\tneeds clang\nc\tthere is a card\n");
    }
}
