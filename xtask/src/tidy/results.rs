// SPDX-License-Identifier: Apache-2.0
//! Checks that a published number has its provenance.

use serde_json::Value;

use super::{Finding, Source};

/// Fields that every benchmark result has, as text that is not empty.
const FIELDS: &[&str] = &["commit", "machine", "time_source"];

/// Every JSON file under `docs` or `benchmarks` is a benchmark result, unless it is one of the
/// queries or answers that a benchmark is made of.
pub(super) fn provenance(sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in sources.iter().filter(|source| is_result(source)) {
        let Ok(result) = serde_json::from_str::<Value>(&source.text) else {
            findings.push(Finding::in_file(source, "is not JSON"));
            continue;
        };
        for field in FIELDS {
            if !result.get(field).is_some_and(is_stated) {
                findings.push(Finding::in_file(source, format!("does not state its `{field}`")));
            }
        }
    }
    findings
}

fn is_result(source: &Source) -> bool {
    let is_input = source.folder().split('/').any(|part| matches!(part, "queries" | "answers"));
    let is_public = source.path.starts_with("docs/") || source.path.starts_with("benchmarks/");
    source.extension() == "json" && is_public && !is_input
}

/// A machine may be an object of several facts.
fn is_stated(value: &Value) -> bool {
    match value {
        Value::String(text) => !text.trim().is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::super::tests::findings;
    use super::*;

    const GOOD: &str =
        r#"{"commit": "0a1b", "machine": {"cores": 2}, "time_source": "measured", "queries": []}"#;

    #[rstest]
    #[case("benchmarks/tpch/results/a.json", GOOD, 0)]
    #[case("docs/results/a.json", "{}", 3)]
    #[case("docs/results/a.json", r#"{"commit": "", "machine": {}, "time_source": 1}"#, 3)]
    #[case("docs/results/a.json", r#"{"commit": "0a1b", "machine": "m"}"#, 1)]
    #[case("docs/results/a.json", "not json", 1)]
    #[case("benchmarks/tpch/answers/a.json", "{}", 0)]
    #[case("engine/tests/a.json", "{}", 0)]
    fn wants_provenance(#[case] path: &str, #[case] text: &str, #[case] expected_count: usize) {
        assert_eq!(findings(provenance, &[(path, text)]).len(), expected_count);
    }
}
