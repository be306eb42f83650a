// SPDX-License-Identifier: Apache-2.0
//! Tests the drive over XRT: on the runtime's own software emulation, with the emulated card, and
//! on a library that simulates a runtime whose card misbehaves.
//!
//! The runtime may end the process that it is in, and is prepared once a process. So each test is a
//! separate process: this program starts itself with the test's name, and checks the exit status
//! and the output.
#![expect(clippy::unwrap_used, reason = "helpers of tests: a panic shows where")]

mod child;
mod emulation;
mod fake;
mod images;
mod proxy;
mod trial;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, flag, name] = arguments.as_slice()
        && flag == child::FLAG
    {
        // This thread is the only one.
        child::run(name);
        return ExitCode::SUCCESS;
    }
    let arguments = libtest_mimic::Arguments::from_args();
    let trials = trial::all().iter().map(trial::Trial::to_mimic).collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}
