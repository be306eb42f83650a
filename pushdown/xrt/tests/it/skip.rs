// SPDX-License-Identifier: Apache-2.0
//! Saying that a test could not run.

use std::io::Write;

/// Tells the runner of the tests (and whoever reads the output) that `test` was skipped.
///
/// A reason that installing something could remove begins with `needs NAME`.
pub(crate) fn skip(test: &str, reason: &str) {
    #[expect(clippy::print_stdout, reason = "whoever runs one test alone sees why it did nothing")]
    {
        println!("skipped: {test} ({reason})");
    }
    if let Some(log) = std::env::var_os("NEARSCAN_SKIP_LOG") {
        let mut log = std::fs::OpenOptions::new().append(true).create(true).open(log).unwrap();
        writeln!(log, "{test}\t{reason}").unwrap();
    }
}
