// SPDX-License-Identifier: Apache-2.0
//! The Python of the tests, or saying that there is none.

use std::{ffi::OsString, io::Write};

/// Returns the interpreter that has the packages of the tests; without one, tells the runner of the
/// tests (and whoever reads the output) that `test` was skipped.
pub(crate) fn find(test: &str) -> Option<OsString> {
    if let Some(python) = std::env::var_os("NEARSCAN_PYTHON") {
        return Some(python);
    }
    let reason = "needs python (NEARSCAN_PYTHON names no interpreter)";
    #[expect(clippy::print_stdout, reason = "whoever runs one test alone sees why it did nothing")]
    {
        println!("skipped: {test} ({reason})");
    }
    if let Some(log) = std::env::var_os("NEARSCAN_SKIP_LOG") {
        let mut log = std::fs::OpenOptions::new().append(true).create(true).open(log).unwrap();
        writeln!(log, "{test}\t{reason}").unwrap();
    }
    None
}
