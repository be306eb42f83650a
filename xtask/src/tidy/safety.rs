// SPDX-License-Identifier: Apache-2.0
//! Checks where unsafe code is, and that an ignored test has a reason.

use super::{
    Finding, Source,
    rust_text::{blank, has_word},
};

/// Folders of the crates that may hold unsafe code, each with what it is for.
const UNSAFE_CRATES: &[(&str, &str)] = &[
    ("pushdown/drive", "aligned buffers that a device writes into"),
    ("pushdown/io", "the ring of io_uring"),
    (
        "pushdown/cpu",
        "vector instructions found at run time, views of strings, copies of a decompressor",
    ),
    ("pushdown/xrt", "the C interface of XRT"),
    ("fpga_kernels/models", "calls into the C++ kernels"),
    ("connectors/python", "what PyO3 expands to"),
];

/// Unsafe code is in the listed crates only; every other crate forbids it in its root.
pub(super) fn unsafe_code(sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in sources.iter().filter(|source| source.is_rust() && !may_be_unsafe(source)) {
        let code = blank(&source.text).code;
        for (index, line) in code.lines().enumerate() {
            if has_word(line, "unsafe") {
                let message = "unsafe code outside of the crates that may hold it (tidy/safety.rs)";
                findings.push(Finding::at(source, index, message));
            }
        }
        let is_root = source.path.ends_with("src/lib.rs") || source.path.ends_with("src/main.rs");
        if is_root && !code.contains("#![forbid(unsafe_code)]") {
            findings.push(Finding::in_file(source, "lacks `#![forbid(unsafe_code)]`"));
        }
    }
    findings
}

fn may_be_unsafe(source: &Source) -> bool {
    let within =
        |folder: &str| source.path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
    UNSAFE_CRATES.iter().any(|(folder, _)| within(folder))
}

/// A test that is ignored says why: the reason is what `cargo xtask test` prints for it.
pub(super) fn ignored_tests(sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in sources.iter().filter(|source| source.is_rust()) {
        for (index, line) in blank(&source.text).code.lines().enumerate() {
            if line.contains("#[ignore]") {
                let message = "an ignored test without a reason: `#[ignore = \"...\"]`";
                findings.push(Finding::at(source, index, message));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::super::tests::findings;
    use super::*;

    #[rstest]
    #[case("engine/src/lib.rs", "#![forbid(unsafe_code)]\n", 0)]
    #[case("engine/src/lib.rs", "// #![forbid(unsafe_code)]\n", 1)]
    #[case("engine/src/main.rs", "fn main() {}\n", 1)]
    #[case("engine/src/a.rs", "fn f() { unsafe { g() } }\n", 1)]
    #[case("engine/tests/a.rs", "unsafe fn f() {}\n", 1)]
    #[case("engine/src/a.rs", "// not unsafe\nlet word = \"unsafe\";\n", 0)]
    #[case("pushdown/io/src/ring.rs", "fn f() { unsafe { g() } }\n", 0)]
    #[case("pushdown/io/src/lib.rs", "mod ring;\n", 0)]
    #[case("pushdown/io_more/src/ring.rs", "fn f() { unsafe { g() } }\n", 1)]
    fn confines_unsafe_code(#[case] path: &str, #[case] text: &str, #[case] expected_count: usize) {
        assert_eq!(findings(unsafe_code, &[(path, text)]).len(), expected_count);
    }

    #[rstest]
    #[case("#[test]\n#[ignore]\nfn f() {}\n", 1)]
    #[case("#[test]\n#[ignore = \"needs a card\"]\nfn f() {}\n", 0)]
    #[case("// #[ignore]\n", 0)]
    fn wants_a_reason_for_an_ignored_test(#[case] text: &str, #[case] expected_count: usize) {
        assert_eq!(findings(ignored_tests, &[("a/tests/b.rs", text)]).len(), expected_count);
    }
}
