// SPDX-License-Identifier: Apache-2.0
//! Builds the C++ test benches and runs them: a bench ends with 0 or it names what differs.
//!
//! Each configuration is compiled once and takes some seconds. Warnings are errors: the kernels are
//! read by a third compiler that nobody here has.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use nearscan_skip::skip;

const WARNINGS: &[&str] = &[
    "-Wall",
    "-Wextra",
    "-Wpedantic",
    "-Wshadow",
    "-Wconversion",
    "-Wno-sign-conversion",
    "-Werror",
    // Pragmas and loop labels are for the synthesis tool.
    "-Wno-unknown-pragmas",
    "-Wno-unused-label",
];

const SCAN: &[&str] = &["scan/scan_tb.cpp", "scan/scan_top.cpp", "portable/dataflow.cpp"];
const MERGE: &[&str] = &["merge/merge_tb.cpp", "merge/merge_top.cpp", "portable/dataflow.cpp"];
const STUDY: &[&str] = &[
    "study/study_tb.cpp",
    "study/count_top.cpp",
    "study/average_top.cpp",
    "study/vector_addition_top.cpp",
    "study/array_merge_top.cpp",
];
const FAST: &[&str] = &[
    "fast/fast_tb.cpp",
    "fast/count_top.cpp",
    "fast/average_top.cpp",
    "fast/vector_addition_top.cpp",
    "fast/array_merge_top.cpp",
    "portable/dataflow.cpp",
];
const DATAFLOW: &[&str] = &["portable/dataflow_tb.cpp", "portable/dataflow.cpp"];
const WIDTHS: &[&str] = &["portable/small_uint_tb.cpp"];
const SANITIZE: &[&str] = &["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];

/// A way to build a bench.
pub(crate) struct Build {
    compiler: &'static str,
    flags: &'static [&'static str],
    sanitized: bool,
}

/// Every case, in the standard that the synthesis tool reads. A number that has more bits than its
/// type has in hardware ends the program.
const WHOLE: Build = Build {
    compiler: "g++",
    flags: &["-std=c++14", "-O1", "-DNS_CHECKED_WIDTHS"],
    sanitized: false,
};

/// Another compiler and a later standard: what one of them takes may be undefined.
const BY_CLANG: Build =
    Build { compiler: "clang++", flags: &["-std=c++17", "-O1", "-DNS_TB_SHORT"], sanitized: false };

/// Ends at an access outside of a memory, and at anything undefined.
pub(crate) const SANITIZED: Build = Build {
    compiler: "g++",
    flags: &["-std=c++17", "-O1", "-g1", "-DNS_TB_SHORT"],
    sanitized: true,
};

/// Builds a bench of these sources and runs it. `test` is the caller, for the log of skipped ones.
#[track_caller]
fn check(test: &str, sources: &[&str], build: &Build) {
    if let Some(program) = build.program("benches", test, sources) {
        run(&mut Command::new(program));
    }
}

impl Build {
    /// The program of these sources, unless the test of this module has to be skipped.
    pub(crate) fn program(&self, module: &str, test: &str, sources: &[&str]) -> Option<PathBuf> {
        let name = format!("{module}::{test}");
        if !succeeds(Command::new(self.compiler).arg("--version")) {
            skip(&name, &format!("needs {}", self.package()));
            return None;
        }
        if self.sanitized && !self.has_sanitizers(test) {
            skip(&name, "the compiler has no sanitizers");
            return None;
        }
        let program = scratch().join(test);
        run(&mut self.command(sources, &program));
        Some(program)
    }

    /// Returns the name by which the runner of the tests knows the package with the compiler.
    fn package(&self) -> &'static str {
        if self.compiler == "clang++" { "clang" } else { "g++" }
    }

    fn command(&self, sources: &[impl AsRef<std::ffi::OsStr>], output: &Path) -> Command {
        let mut command = Command::new(self.compiler);
        command.current_dir(hls()).args(self.flags).args(WARNINGS).arg("-I.").args(sources);
        if self.sanitized {
            command.args(SANITIZE);
        }
        command.arg("-o").arg(output);
        command
    }

    /// Whether a program with sanitizers can be linked and run. Tests run side by side, so each has
    /// a probe of its own: a program that another one is linking does not start.
    fn has_sanitizers(&self, test: &str) -> bool {
        let source = scratch().join(format!("{test}.probe.cpp"));
        std::fs::write(&source, "int main() { return 0; }\n").unwrap();
        let program = scratch().join(format!("{test}.probe"));
        succeeds(&mut self.command(&[&source], &program)) && succeeds(&mut Command::new(program))
    }
}

fn hls() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../hls")
}

fn scratch() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}

fn succeeds(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

/// Runs a program and shows all it printed if it fails.
#[track_caller]
pub(crate) fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?} ended with {}\n{text}{errors}", output.status);
    text
}

#[test]
fn scan_kernel_does_what_the_golden_model_says() {
    check("scan_kernel_does_what_the_golden_model_says", SCAN, &WHOLE);
}

#[test]
fn scan_kernel_is_the_same_under_another_compiler() {
    check("scan_kernel_is_the_same_under_another_compiler", SCAN, &BY_CLANG);
}

#[test]
fn scan_kernel_stays_within_its_memories() {
    check("scan_kernel_stays_within_its_memories", SCAN, &SANITIZED);
}

#[test]
fn scan_kernel_of_eight_lanes_refuses_more_columns() {
    let build = Build { flags: &["-std=c++14", "-O1", "-DNS_TB_SHORT", "-DNS_LANES=8"], ..WHOLE };
    check("scan_kernel_of_eight_lanes_refuses_more_columns", SCAN, &build);
}

#[test]
fn number_that_does_not_fit_in_its_width_ends_the_bench() {
    let Some(program) =
        WHOLE.program("benches", "number_that_does_not_fit_in_its_width_ends_the_bench", WIDTHS)
    else {
        return;
    };
    run(&mut Command::new(&program));
    assert_eq!(run(Command::new(&program).arg("14")), "15 fits\n");
    for (number, complaint) in [("15", "16 does not fit in 4 bits"), ("4096", "4096 does not")] {
        let ended = Command::new(&program).arg(number).output().unwrap();
        let text = String::from_utf8_lossy(&ended.stderr);
        assert!(!ended.status.success() && text.contains(complaint), "{number}: {ended:?}");
    }
}

#[test]
fn merge_kernel_does_what_the_golden_model_says() {
    check("merge_kernel_does_what_the_golden_model_says", MERGE, &WHOLE);
}

#[test]
fn merge_kernel_is_the_same_under_another_compiler() {
    check("merge_kernel_is_the_same_under_another_compiler", MERGE, &BY_CLANG);
}

#[test]
fn merge_kernel_stays_within_its_memories() {
    check("merge_kernel_stays_within_its_memories", MERGE, &SANITIZED);
}

#[test]
fn kernels_of_the_study_do_what_the_golden_models_say() {
    check("kernels_of_the_study_do_what_the_golden_models_say", STUDY, &WHOLE);
}

#[test]
fn kernels_of_the_study_are_the_same_under_another_compiler() {
    check("kernels_of_the_study_are_the_same_under_another_compiler", STUDY, &BY_CLANG);
}

#[test]
fn kernels_of_the_study_stay_within_their_memories() {
    check("kernels_of_the_study_stay_within_their_memories", STUDY, &SANITIZED);
}

#[test]
fn kernels_of_the_fast_set_do_what_the_golden_models_say() {
    check("kernels_of_the_fast_set_do_what_the_golden_models_say", FAST, &WHOLE);
}

#[test]
fn kernels_of_the_fast_set_are_the_same_under_another_compiler() {
    check("kernels_of_the_fast_set_are_the_same_under_another_compiler", FAST, &BY_CLANG);
}

#[test]
fn kernels_of_the_fast_set_stay_within_their_memories() {
    check("kernels_of_the_fast_set_stay_within_their_memories", FAST, &SANITIZED);
}

#[test]
fn deadlock_is_found_and_named() {
    check("deadlock_is_found_and_named", DATAFLOW, &WHOLE);
}

#[test]
fn deadlock_is_found_with_the_switch_of_the_c_library() {
    let build = Build { flags: &["-std=c++14", "-O1", "-DNS_PORTABLE_UCONTEXT"], ..WHOLE };
    check("deadlock_is_found_with_the_switch_of_the_c_library", DATAFLOW, &build);
}

#[test]
fn tests_that_look_for_sanitizers_at_once_all_find_them() {
    let found = SANITIZED.has_sanitizers("probe_alone");
    std::thread::scope(|scope| {
        let names = (0..8).map(|number| format!("probe_{number}"));
        let probes: Vec<_> =
            names.map(|name| scope.spawn(move || SANITIZED.has_sanitizers(&name))).collect();
        for probe in probes {
            assert_eq!(probe.join().unwrap(), found);
        }
    });
}
