// SPDX-License-Identifier: Apache-2.0
//! Checks that every reason for keeping work on the host, and every status of a kernel, is in a
//! test.
//!
//! The variants are read from the enum's source. A variant counts as tested when test text holds
//! `Enum::Variant`, or the name in the words that users and kernels see (`kept=no_facts`,
//! `NO_FACTS`). Test text is what only tests compile or run: `#[cfg(test)]` parts, files of tests,
//! SQL tests, test benches of kernels, and the conformance suite.

use super::{
    Finding, Source,
    rust_text::{blank, has_word},
};

/// An enum whose every variant is tested.
struct Tested {
    name: &'static str,
    /// The sources of the crate that holds it.
    folder: &'static str,
    /// The text before a variant's name in SQL tests.
    sql_prefix: &'static str,
}

const TESTED: &[Tested] = &[
    Tested { name: "KeepReason", folder: "pushdown/optimizer/src/", sql_prefix: "kept=" },
    Tested { name: "Status", folder: "pushdown/command/src/", sql_prefix: "pushback_" },
];

/// Variants that no test names.
pub(super) fn variants(sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for tested in TESTED {
        let files: Vec<&Source> = sources
            .iter()
            .filter(|source| source.is_rust() && source.path.starts_with(tested.folder))
            .collect();
        // The crate may not exist yet.
        let Some(first) = files.first() else { continue };
        let found = files
            .iter()
            .map(|source| (*source, enum_variants(&source.text, tested.name)))
            .find(|(_, variants)| !variants.is_empty());
        let Some((source, variants)) = found else {
            let message = format!(
                "no file of this crate defines the enum {} (tidy/coverage.rs)",
                tested.name
            );
            findings.push(Finding::in_file(first, message));
            continue;
        };
        for (index, variant) in variants {
            if !sources.iter().any(|source| names_variant(test_text(source), tested, &variant)) {
                let message = format!("{}::{variant} is in no test", tested.name);
                findings.push(Finding::at(source, index, message));
            }
        }
    }
    findings
}

/// Line (from 0) and name of each variant of `enum name`; empty when the text does not define it.
///
/// A macro that makes enums is understood too, if it opens them as `name: representation {`.
fn enum_variants(text: &str, name: &str) -> Vec<(usize, String)> {
    let code = blank(text).code;
    let mut found = Vec::new();
    let mut depth = 0_usize;
    let mut is_inside = false;
    for (index, line) in code.lines().enumerate() {
        if !is_inside && is_opening(line, name) {
            is_inside = true;
        } else if is_inside && depth == 1 {
            let word: String = line
                .trim_start()
                .chars()
                .take_while(|c| c.is_alphanumeric() || *c == '_')
                .collect();
            if word.starts_with(char::is_uppercase) {
                found.push((index, word));
            }
        }
        if is_inside {
            for character in line.chars() {
                match character {
                    '{' | '(' | '[' => depth += 1,
                    '}' | ')' | ']' => depth = depth.saturating_sub(1),
                    _ => {}
                }
            }
            if depth == 0 && line.contains('}') {
                break;
            }
        }
    }
    found
}

fn is_opening(line: &str, name: &str) -> bool {
    let is_in_macro = line
        .trim()
        .strip_prefix(name)
        .is_some_and(|rest| rest.starts_with(':') && rest.ends_with('{'));
    is_in_macro || has_word(line, &format!("enum {name}"))
}

/// The part of a file that belongs to tests.
fn test_text(source: &Source) -> &str {
    let name = source.file_name();
    let is_rust_test = source.is_rust()
        && (format!("/{}", source.path).contains("/tests/")
            || matches!(name, "tests.rs" | "test.rs")
            || source.path.starts_with("pushdown/conformance/"));
    let is_other_test = source.extension() == "slt"
        || name.ends_with("_tb.cpp")
        || name.starts_with("tb_")
        || (name.starts_with("test_") && source.extension() == "py");
    if is_rust_test || is_other_test {
        return &source.text;
    }
    match source.text.find("#[cfg(test)]") {
        Some(start) if source.is_rust() => &source.text[start..],
        _ => "",
    }
}

fn names_variant(text: &str, tested: &Tested, variant: &str) -> bool {
    let snake = snake_case(variant);
    has_word(text, &format!("{}::{variant}", tested.name))
        || has_word(text, &format!("{}{snake}", tested.sql_prefix))
        || has_word(text, &format!("{}_{}", tested.name.to_uppercase(), snake.to_uppercase()))
}

fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for character in name.chars() {
        if character.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.extend(character.to_lowercase());
    }
    snake
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::super::tests::{findings, source};
    use super::*;

    const DECISION: &str = "\
/// Why.
pub enum KeepReason {
    /// Enum { Nested }
    #[doc = \"x\"]
    NoFacts,
    Type {
        Column: u32,
    },
    ScanOption(String),
}
pub enum Other { NotThis }
";
    const DECISION_PATH: &str = "pushdown/optimizer/src/decision.rs";

    #[test]
    fn reads_the_variants_of_one_enum() {
        let names: Vec<String> =
            enum_variants(DECISION, "KeepReason").into_iter().map(|(_, name)| name).collect();
        assert_eq!(names, ["NoFacts", "Type", "ScanOption"]);
        assert!(enum_variants(DECISION, "Keep").is_empty());
    }

    #[test]
    fn reads_an_enum_that_a_macro_makes() {
        let text = "wire_enum! {\n    Status: u32 (\"status\") {\n        Ok = 0,\n    }\n}\n";
        assert_eq!(enum_variants(text, "Status"), [(2, "Ok".to_owned())]);
        assert!(enum_variants("struct S {\n    Status: u32,\n}\n", "Status").is_empty());
    }

    #[test]
    fn refuses_a_crate_without_its_enum() {
        assert_eq!(
            findings(variants, &[(DECISION_PATH, "pub enum Reason { NoFacts }\n")]),
            ["pushdown/optimizer/src/decision.rs: no file of this crate defines the enum \
                 KeepReason (tidy/coverage.rs)"]
        );
    }

    #[test]
    fn finds_a_variant_that_no_test_names() {
        let check =
            |path: &str, text: &str| findings(variants, &[(DECISION_PATH, DECISION), (path, text)]);
        let all = "KeepReason::NoFacts KeepReason::Type KeepReason::ScanOption";
        assert!(check("pushdown/optimizer/tests/keep.rs", all).is_empty());
        assert_eq!(
            check("pushdown/optimizer/tests/keep.rs", "KeepReason::NoFacts KeepReason::Type"),
            ["pushdown/optimizer/src/decision.rs:9: KeepReason::ScanOption is in no test"]
        );
        // The same words outside of tests do not count.
        assert_eq!(check("pushdown/optimizer/src/rule.rs", all).len(), 3);
        let inner = format!("fn f() {{}}\n#[cfg(test)]\nmod tests {{ {all} }}\n");
        assert!(check("pushdown/optimizer/src/rule.rs", &inner).is_empty());
        assert!(
            check("sqllogictest/slt/a.slt", "kept=no_facts kept=type kept=scan_option").is_empty()
        );
        assert_eq!(check("sqllogictest/slt/a.slt", "kept=no_facts_at_all").len(), 3);
    }

    #[test]
    fn knows_a_status_by_the_name_that_kernels_use() {
        let status = "pub enum Status {\n    Ok,\n    GroupCardinality,\n}\n";
        let check = |text: &str| {
            let home = ("pushdown/command/src/status.rs", status);
            findings(variants, &[home, ("fpga_kernels/hls/scan_tb.cpp", text)])
        };
        assert!(check("STATUS_OK STATUS_GROUP_CARDINALITY").is_empty());
        assert_eq!(
            check("STATUS_OK"),
            ["pushdown/command/src/status.rs:3: Status::GroupCardinality is in no test"]
        );
    }

    #[rstest]
    #[case("engine/tests/a.rs", "x", "x")]
    #[case("tests/a.rs", "x", "x")]
    #[case("engine/src/a.rs", "x", "")]
    #[case("engine/src/a.rs", "x\n#[cfg(test)]\ny", "#[cfg(test)]\ny")]
    #[case("pushdown/conformance/src/a.rs", "x", "x")]
    #[case("docs/a.md", "#[cfg(test)]", "")]
    fn knows_test_text(#[case] path: &str, #[case] text: &str, #[case] expected: &str) {
        assert_eq!(test_text(&source(path, text)), expected);
    }
}
