// SPDX-License-Identifier: Apache-2.0
//! Checks that a file begins with its licence in one line, then the module doc.

use super::{Finding, Source};

/// Every file of code, and every configuration file, opens with the licence in one line.
///
/// Exempt are manifests of crates and Python projects below the top, which have a field for it.
pub(super) fn spdx(sources: &[Source]) -> Vec<Finding> {
    const LICENCE: &str = "SPDX-License-Identifier: Apache-2.0";
    let mut findings = Vec::new();
    for source in sources.iter().filter(|source| carries_licence(source)) {
        // A script's first line belongs to the system.
        let first = source.text.lines().find(|line| !line.starts_with("#!/"));
        let comment = first.unwrap_or_default().trim_start_matches(['/', '#', ' ']);
        if comment != LICENCE {
            findings.push(Finding::in_file(source, format!("does not open with `{LICENCE}`")));
        }
    }
    findings
}

fn carries_licence(source: &Source) -> bool {
    let is_inner_manifest = !source.folder().is_empty()
        && matches!(source.file_name(), "Cargo.toml" | "pyproject.toml");
    source.is_code() || (source.extension() == "toml" && !is_inner_manifest)
}

/// Every Rust file says what it is right after its licence: a reader meets the purpose before the
/// code.
pub(super) fn module_docs(sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in sources.iter().filter(|source| source.is_rust()) {
        let second = source.text.lines().skip(1).find(|line| !line.trim().is_empty());
        let is_documented = second
            .and_then(|line| line.strip_prefix("//!"))
            .is_some_and(|doc| !doc.trim().is_empty());
        if !is_documented {
            findings.push(Finding::in_file(source, "has no `//!` doc right after its first line"));
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
    #[case("a.rs", "// SPDX-License-Identifier: Apache-2.0\n//! Doc.\n")]
    #[case("a.py", "# SPDX-License-Identifier: Apache-2.0\n")]
    #[case(".ci/run", "#!/bin/bash\n# SPDX-License-Identifier: Apache-2.0\n")]
    #[case("clippy.toml", "# SPDX-License-Identifier: Apache-2.0\n")]
    #[case("engine/Cargo.toml", "[package]\n")]
    #[case("data.csv", "1,2\n")]
    fn accepts_a_licence_line(#[case] path: &str, #[case] text: &str) {
        assert!(findings(spdx, &[(path, text)]).is_empty());
    }

    #[rstest]
    #[case("a.rs", "//! Doc.\n")]
    #[case("a.rs", "// SPDX-License-Identifier: MIT\n")]
    #[case("a.hpp", "\n// SPDX-License-Identifier: Apache-2.0\n")]
    #[case("Cargo.toml", "[workspace]\n")]
    #[case("a/b.toml", "x = 1\n")]
    #[case("a.sv", "")]
    fn refuses_a_file_without_a_licence_line(#[case] path: &str, #[case] text: &str) {
        let expected = format!("{path}: does not open with `SPDX-License-Identifier: Apache-2.0`");
        assert_eq!(findings(spdx, &[(path, text)]), [expected]);
    }

    #[rstest]
    #[case("// licence\n//! What it is.\n", 0)]
    #[case("// licence\n\n//! What it is.\n", 0)]
    #[case("// licence\n//!\nuse x;\n", 1)]
    #[case("// licence\nuse x;\n//! Late.\n", 1)]
    #[case("// licence\n", 1)]
    fn wants_a_module_doc(#[case] text: &str, #[case] expected_count: usize) {
        assert_eq!(findings(module_docs, &[("a.rs", text)]).len(), expected_count);
        assert!(findings(module_docs, &[("a.cpp", text)]).is_empty());
    }
}
