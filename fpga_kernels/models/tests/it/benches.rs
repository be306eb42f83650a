// SPDX-License-Identifier: Apache-2.0
//! Builds the C++ test benches and runs them: a bench ends with 0 or it names what differs.
//!
//! Each configuration is compiled once and takes some seconds. Warnings are errors: the kernels are
//! read by a third compiler that nobody here has.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::skip::skip;

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
const MERGE: &[&str] = &["merge/merge_tb.cpp", "merge/merge_top.cpp"];
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
const SANITIZE: &[&str] = &["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];

/// One way to build and run a bench.
struct Bench {
    /// The test, for the log of skipped ones.
    test: &'static str,
    sources: &'static [&'static str],
    compiler: &'static str,
    flags: &'static [&'static str],
    sanitized: bool,
}

impl Bench {
    fn run(&self) {
        if !succeeds(Command::new(self.compiler).arg("--version")) {
            skip(self.test, &format!("needs {}", self.package()));
            return;
        }
        if self.sanitized && !self.has_sanitizers() {
            skip(self.test, "the compiler has no sanitizers");
            return;
        }
        let program = self.build(self.sources);
        run(&mut Command::new(program));
    }

    /// What the runner of the tests calls the package that holds the compiler.
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

    fn build(&self, sources: &[&str]) -> PathBuf {
        let program = scratch().join(self.test.replace("::", "-"));
        run(&mut self.command(sources, &program));
        program
    }

    /// Whether a program with sanitizers can be linked and run.
    fn has_sanitizers(&self) -> bool {
        let source = scratch().join(format!("{}.probe.cpp", self.compiler));
        std::fs::write(&source, "int main() { return 0; }\n").unwrap();
        let program = scratch().join(format!("{}.probe", self.compiler));
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
fn the_scan_kernel_does_what_the_golden_model_says() {
    let bench = Bench {
        test: "benches::the_scan_kernel_does_what_the_golden_model_says",
        sources: SCAN,
        compiler: "g++",
        flags: &["-std=c++14", "-O1"],
        sanitized: false,
    };
    bench.run();
}

#[test]
fn the_scan_kernel_is_the_same_under_another_compiler() {
    let bench = Bench {
        test: "benches::the_scan_kernel_is_the_same_under_another_compiler",
        sources: SCAN,
        compiler: "clang++",
        flags: &["-std=c++17", "-O1", "-DNS_TB_SHORT"],
        sanitized: false,
    };
    bench.run();
}

#[test]
fn the_scan_kernel_stays_within_its_memories() {
    let bench = Bench {
        test: "benches::the_scan_kernel_stays_within_its_memories",
        sources: SCAN,
        compiler: "g++",
        flags: &["-std=c++17", "-O1", "-g1", "-DNS_TB_SHORT"],
        sanitized: true,
    };
    bench.run();
}

#[test]
fn a_scan_kernel_of_eight_lanes_refuses_more_columns() {
    let bench = Bench {
        test: "benches::a_scan_kernel_of_eight_lanes_refuses_more_columns",
        sources: SCAN,
        compiler: "g++",
        flags: &["-std=c++14", "-O1", "-DNS_TB_SHORT", "-DNS_LANES=8"],
        sanitized: false,
    };
    bench.run();
}

#[test]
fn the_merge_kernel_does_what_the_golden_model_says() {
    let bench = Bench {
        test: "benches::the_merge_kernel_does_what_the_golden_model_says",
        sources: MERGE,
        compiler: "g++",
        flags: &["-std=c++14", "-O1"],
        sanitized: false,
    };
    bench.run();
}

#[test]
fn the_merge_kernel_is_the_same_under_another_compiler() {
    let bench = Bench {
        test: "benches::the_merge_kernel_is_the_same_under_another_compiler",
        sources: MERGE,
        compiler: "clang++",
        flags: &["-std=c++17", "-O1", "-DNS_TB_SHORT"],
        sanitized: false,
    };
    bench.run();
}

#[test]
fn the_merge_kernel_stays_within_its_memories() {
    let bench = Bench {
        test: "benches::the_merge_kernel_stays_within_its_memories",
        sources: MERGE,
        compiler: "g++",
        flags: &["-std=c++17", "-O1", "-g1", "-DNS_TB_SHORT"],
        sanitized: true,
    };
    bench.run();
}

#[test]
fn the_kernels_of_the_study_do_what_the_golden_models_say() {
    let bench = Bench {
        test: "benches::the_kernels_of_the_study_do_what_the_golden_models_say",
        sources: STUDY,
        compiler: "g++",
        flags: &["-std=c++14", "-O1"],
        sanitized: false,
    };
    bench.run();
}

#[test]
fn the_kernels_of_the_study_are_the_same_under_another_compiler() {
    let bench = Bench {
        test: "benches::the_kernels_of_the_study_are_the_same_under_another_compiler",
        sources: STUDY,
        compiler: "clang++",
        flags: &["-std=c++17", "-O1", "-DNS_TB_SHORT"],
        sanitized: false,
    };
    bench.run();
}

#[test]
fn the_kernels_of_the_study_stay_within_their_memories() {
    let bench = Bench {
        test: "benches::the_kernels_of_the_study_stay_within_their_memories",
        sources: STUDY,
        compiler: "g++",
        flags: &["-std=c++17", "-O1", "-g1", "-DNS_TB_SHORT"],
        sanitized: true,
    };
    bench.run();
}

#[test]
fn the_kernels_of_the_fast_set_do_what_the_golden_models_say() {
    let bench = Bench {
        test: "benches::the_kernels_of_the_fast_set_do_what_the_golden_models_say",
        sources: FAST,
        compiler: "g++",
        flags: &["-std=c++14", "-O1"],
        sanitized: false,
    };
    bench.run();
}

#[test]
fn the_kernels_of_the_fast_set_are_the_same_under_another_compiler() {
    let bench = Bench {
        test: "benches::the_kernels_of_the_fast_set_are_the_same_under_another_compiler",
        sources: FAST,
        compiler: "clang++",
        flags: &["-std=c++17", "-O1", "-DNS_TB_SHORT"],
        sanitized: false,
    };
    bench.run();
}

#[test]
fn the_kernels_of_the_fast_set_stay_within_their_memories() {
    let bench = Bench {
        test: "benches::the_kernels_of_the_fast_set_stay_within_their_memories",
        sources: FAST,
        compiler: "g++",
        flags: &["-std=c++17", "-O1", "-g1", "-DNS_TB_SHORT"],
        sanitized: true,
    };
    bench.run();
}

#[test]
fn a_deadlock_is_found_and_named() {
    let bench = Bench {
        test: "benches::a_deadlock_is_found_and_named",
        sources: DATAFLOW,
        compiler: "g++",
        flags: &["-std=c++14", "-O1"],
        sanitized: false,
    };
    bench.run();
}

#[test]
fn a_deadlock_is_found_with_the_switch_of_the_c_library() {
    let bench = Bench {
        test: "benches::a_deadlock_is_found_with_the_switch_of_the_c_library",
        sources: DATAFLOW,
        compiler: "g++",
        flags: &["-std=c++14", "-O1", "-DNS_PORTABLE_UCONTEXT"],
        sanitized: false,
    };
    bench.run();
}
