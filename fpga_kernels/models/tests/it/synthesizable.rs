// SPDX-License-Identifier: Apache-2.0
//! Whether the synthesis tool would take the kernels, as far as their syntax tree tells.
//!
//! `hls/check_synthesizable.py` reads the tree; it has samples that break one rule each, and it
//! must refuse every one of them.

use std::{path::Path, process::Command};

use crate::benches::run;

fn check(test: &str, arguments: &[&str]) -> Option<String> {
    let python = nearscan_skip::python(test)?;
    let hls = Path::new(env!("CARGO_MANIFEST_DIR")).join("../hls");
    let mut command = Command::new(python);
    command.current_dir(hls).arg("-B").arg("check_synthesizable.py").args(arguments);
    Some(run(&mut command))
}

const KERNELS: &[&str] = &[
    "scan/scan_top.cpp",
    "merge/merge_top.cpp",
    "study/count_top.cpp",
    "study/average_top.cpp",
    "study/vector_addition_top.cpp",
    "study/array_merge_top.cpp",
    "fast/count_top.cpp",
    "fast/average_top.cpp",
    "fast/vector_addition_top.cpp",
    "fast/array_merge_top.cpp",
];

#[test]
fn kernels_break_no_rule() {
    if let Some(report) = check("synthesizable::kernels_break_no_rule", KERNELS) {
        assert!(report.contains(" 0 findings"), "{report}");
    }
}

#[test]
fn every_rule_refuses_its_sample() {
    let name = "synthesizable::every_rule_refuses_its_sample";
    if let Some(report) = check(name, &["--samples", "samples"]) {
        assert!(report.contains("every rule refuses its sample"), "{report}");
    }
}
