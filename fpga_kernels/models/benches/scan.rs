// SPDX-License-Identifier: Apache-2.0
//! Measures the speed of the simulation of the scan kernel on this machine: bytes of compressed
//! pages a second on one core. It says nothing about hardware.
//!
//! `hls/scan/scan_bench.cpp` makes the pages and measures; it is built here with the flags that the
//! crate itself is built with. Without `--bench`, as under `cargo test`, it runs at a hundredth of
//! the size to see that it runs.

use std::{
    path::Path,
    process::{Command, ExitCode},
};

/// As in `build.rs`.
const FLAGS: &[&str] = &[
    "-std=c++17",
    "-O2",
    "-ftree-slp-vectorize",
    "-fpeel-loops",
    "-fno-math-errno",
    "-Wno-unknown-pragmas",
    "-Wno-unused-label",
    "-Wno-maybe-uninitialized",
];
const SOURCES: &[&str] = &["scan/scan_bench.cpp", "scan/scan_top.cpp", "portable/dataflow.cpp"];

fn main() -> ExitCode {
    let size = if std::env::args().any(|argument| argument == "--bench") { "full" } else { "tiny" };
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("scan_bench");
    let mut build = Command::new("g++");
    build.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../hls"));
    build.args(FLAGS).arg("-I.").args(SOURCES).arg("-o").arg(&program);
    if succeeds(&mut build) && succeeds(Command::new(&program).arg(size)) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn succeeds(command: &mut Command) -> bool {
    command.status().is_ok_and(|status| status.success())
}
