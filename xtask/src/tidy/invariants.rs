// SPDX-License-Identifier: Apache-2.0
//! Checks that each invariant of ARCHITECTURE.md names an existing test.
//!
//! Read is the table under the heading that holds the word "Invariants". Its last column has names
//! in backticks: of a test function (the part after the last `::` counts), or of a file (with a
//! `/`).

use std::collections::HashSet;

use super::{Finding, Source};

/// Rows without a test, and names of tests that do not exist.
pub(super) fn named_tests(sources: &[Source]) -> Vec<Finding> {
    let Some(document) = sources.iter().find(|source| source.path == "ARCHITECTURE.md") else {
        return Vec::new();
    };
    let rows = rows(&document.text);
    if rows.is_empty() {
        return vec![Finding::in_file(document, "has no table under a heading \"Invariants\"")];
    }
    let paths: HashSet<&str> = sources.iter().map(|source| source.path.as_str()).collect();
    let tests: HashSet<&str> = sources.iter().flat_map(test_names).collect();
    let mut findings = Vec::new();
    for (index, row) in rows {
        let names = names(row);
        if names.is_empty() {
            findings.push(Finding::at(document, index, "an invariant that names no test"));
        }
        for name in names {
            let last = name.rsplit("::").next().unwrap_or(name);
            let exists =
                if name.contains('/') { paths.contains(name) } else { tests.contains(last) };
            if !exists {
                findings.push(Finding::at(document, index, format!("there is no test `{name}`")));
            }
        }
    }
    findings
}

/// Line (from 0) and text of each row of the tables under the heading, without the head of the
/// table.
fn rows(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut is_section = false;
    let mut is_body = false;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.starts_with('#') {
            is_section = line.to_lowercase().contains("invariants");
        }
        if !line.starts_with('|') {
            is_body = false;
        } else if is_section && line.chars().all(|c| matches!(c, '|' | '-' | ':' | ' ')) {
            is_body = true;
        } else if is_section && is_body {
            found.push((index, line));
        }
    }
    found
}

/// The names in backticks of the last cell.
fn names(row: &str) -> Vec<&str> {
    let last = row.trim_end_matches('|').rsplit('|').next().unwrap_or_default();
    last.split('`').skip(1).step_by(2).map(str::trim).filter(|name| !name.is_empty()).collect()
}

/// Names of the test functions of a file; in the conformance suite every function is one.
fn test_names(source: &Source) -> Vec<&str> {
    if !source.is_rust() {
        return Vec::new();
    }
    let is_suite = source.path.starts_with("pushdown/conformance/");
    let mut found = Vec::new();
    let mut is_test = is_suite;
    for line in source.text.lines() {
        let line = line.trim();
        if let Some(name) = function_name(line) {
            if is_test {
                found.push(name);
            }
            is_test = is_suite;
        } else if line.starts_with("#[") && (line.contains("test]") || line.contains("test(")) {
            is_test = true;
        } else if line == "}" {
            is_test = is_suite;
        }
    }
    found
}

/// The name in a line that begins a function.
fn function_name(line: &str) -> Option<&str> {
    let mut rest = line;
    for word in ["pub", "(crate)", "(super)", "async", "const"] {
        rest = rest.strip_prefix(word).unwrap_or(rest).trim_start();
    }
    let rest = rest.strip_prefix("fn ")?;
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_')?;
    (end > 0).then(|| &rest[..end])
}

#[cfg(test)]
mod tests {
    use super::super::tests::{findings, source};
    use super::*;

    const CODE: &str = "
fn helper() {}
#[test]
fn plain() {}
#[rstest]
#[case(1)]
async fn table(#[case] x: u32) {}
    #[tokio::test(flavor = \"multi_thread\")]
    async fn inner() {
    }
fn after() {}
";

    fn document(rows: &str) -> String {
        format!("# Architecture\n\n## Invariants\n\n| no | what | test |\n|---|:---|---|\n{rows}\n")
    }

    fn check(document: &str) -> Vec<String> {
        let files = [("ARCHITECTURE.md", document), ("a/src/b.rs", CODE), ("slt/x.slt", "")];
        findings(named_tests, &files)
    }

    #[test]
    fn knows_test_functions_from_others() {
        let code = source("a/src/b.rs", CODE);
        assert_eq!(test_names(&code), ["plain", "table", "inner"]);
        let suite = source("pushdown/conformance/src/x.rs", "pub fn nulls() {\n}\n");
        assert_eq!(test_names(&suite), ["nulls"]);
    }

    #[test]
    fn accepts_rows_whose_tests_exist() {
        let text = document("| 1 | same rows | `plain`, `b::table` |\n| 2 | x | `slt/x.slt` |");
        assert_eq!(check(&text), Vec::<String>::new());
        assert!(findings(named_tests, &[("README.md", "")]).is_empty());
    }

    #[test]
    fn refuses_rows_without_a_test_that_exists() {
        assert_eq!(
            check(&document("| 1 | same rows | `gone`, `helper` |\n| 2 | `plain` | none |")),
            [
                "ARCHITECTURE.md:7: there is no test `gone`",
                "ARCHITECTURE.md:7: there is no test `helper`",
                "ARCHITECTURE.md:8: an invariant that names no test",
            ]
        );
        assert_eq!(check(&document("| 1 | x | `slt/y.slt` |")).len(), 1);
    }

    #[test]
    fn refuses_a_document_without_the_table() {
        let expected = ["ARCHITECTURE.md: has no table under a heading \"Invariants\""];
        assert_eq!(check("# Architecture\n"), expected);
        assert_eq!(
            check(&document("| 1 | x | `plain` |").replace("Invariants", "Rules")),
            expected
        );
    }
}
