// SPDX-License-Identifier: Apache-2.0
//! Measures small data for a moment, to see that everything is there.

#[cfg(test)]
mod objects;
#[cfg(test)]
mod select;

#[cfg(test)]
use nearscan_storage::Program;

/// The example, which serves as the program does.
#[cfg(test)]
fn server() -> Program {
    let tests = std::env::current_exe().unwrap();
    let path = tests.ancestors().nth(2).unwrap().join("examples/storage");
    // `cargo test NAME` leaves examples out, `cargo test -- NAME` does not.
    assert!(path.exists(), "{} is built by `cargo test` without a name", path.display());
    Program { path, arguments: vec!["serve".into()] }
}
