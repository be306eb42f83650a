// SPDX-License-Identifier: Apache-2.0
//! Tests that the committed generated files are fresh.

use std::path::PathBuf;

use nearscan_command::{cpp_header, doc};

fn committed(path: &str) -> String {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    std::fs::read_to_string(&file).unwrap_or_default()
}

#[test]
fn kernel_header_is_fresh() {
    assert!(
        committed("fpga_kernels/hls/command_format.hpp") == cpp_header::generate(),
        "run `cargo xtask codegen`"
    );
}

#[test]
fn format_tables_are_fresh_and_complete() {
    let page = committed("docs/command-format.md");
    assert!(page == doc::generate(&page), "run `cargo xtask codegen`");
    assert!(!page.contains(doc::UNKNOWN_BLOCK));
    for name in doc::block_names() {
        assert!(page.contains(&format!("<!-- begin {name} -->")), "{name}");
    }
}
