// SPDX-License-Identifier: Apache-2.0
//! Checks the rules of test files, so that results hold under every setting and in DuckDB.

use sqllogictest::{Condition, QueryExpect, Record, SortMode};

use crate::{database::ENGINE_NAME, render::Letter};

/// The text in a comment before the reason why DuckDB is not asked.
const NOT_DUCKDB: &str = "Not DuckDB:";

/// Returns the violations of a file; nothing if it follows the rules.
///
/// - There is at least one query.
/// - A result of several rows is sorted, or its query has an order.
/// - Only statements depend on the engine, and on nothing but the engine: a setting of ours may be
///   `onlyif nearscan`, a query has one result for all. A query that DuckDB cannot be asked says
///   so: `# Not DuckDB: REASON` stands in the comment right above it, or in the one that opens the
///   file.
/// - `EXPLAIN` is not compared: plans differ between settings.
/// - Nothing halts, sleeps, hashes, substitutes or calls a shell: each would hide results or depend
///   on the machine.
#[must_use]
pub fn check(records: &[Record<Letter>]) -> Vec<String> {
    let mut findings = Vec::new();
    let mut query_count = 0_usize;
    let is_of_ours = records.first().is_some_and(has_reason);
    let mut has_reason_above = false;
    for record in records {
        match record {
            Record::Comment(_) => has_reason_above = has_reason(record),
            Record::Newline => has_reason_above = false,
            Record::Statement { .. } | Record::Injected(_) => {}
            Record::Condition(condition) => {
                if *condition != (Condition::OnlyIf { label: ENGINE_NAME.to_owned() }) {
                    findings.push(format!("a condition is not `onlyif {ENGINE_NAME}`"));
                }
            }
            Record::Query { loc, conditions, sql, expected, .. } => {
                query_count += 1;
                let mut found = |what: &str| findings.push(format!("{loc}: {what}"));
                if !conditions.is_empty() && !is_of_ours && !has_reason_above {
                    found("a query depends on a condition");
                }
                check_query(sql, expected, &mut found);
            }
            other => findings.push(format!("a record of this kind is not allowed: {other:?}")),
        }
    }
    if query_count == 0 {
        findings.push("there is no query".to_owned());
    }
    findings
}

/// Whether a comment says why DuckDB is not asked.
fn has_reason(record: &Record<Letter>) -> bool {
    let Record::Comment(lines) = record else { return false };
    let mut reasons = lines.iter().filter_map(|line| line.trim_start().strip_prefix(NOT_DUCKDB));
    reasons.any(|reason| !reason.trim().is_empty())
}

fn check_query(sql: &str, expected: &QueryExpect<Letter>, found: &mut impl FnMut(&str)) {
    let words = sql.to_ascii_uppercase();
    if words.trim_start().starts_with("EXPLAIN") {
        found("the result of EXPLAIN is compared");
    }
    let QueryExpect::Results { sort_mode, results, .. } = expected else { return };
    let is_ordered = words.split_ascii_whitespace().any(|word| word == "ORDER");
    match sort_mode {
        Some(SortMode::RowSort) => {}
        Some(SortMode::ValueSort) => found("values are sorted apart from their rows"),
        Some(SortMode::NoSort) | None => {
            if results.len() > 1 && !is_ordered {
                found("several rows without an order");
            }
        }
    }
    if results.iter().any(|line| line.contains("<slt:ignore>")) {
        found("a part of the result is ignored");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn findings(text: &str) -> Vec<String> {
        check(&sqllogictest::parse_with_name(text, "a.slt").unwrap())
    }

    #[rstest]
    #[case("query I\nSELECT 1\n----\n1\n")]
    #[case("query I rowsort\nSELECT a FROM t\n----\n1\n2\n")]
    #[case("query I\nSELECT a FROM t\nORDER BY a\n----\n1\n2\n")]
    #[case("query error\nSELECT no\n")]
    #[case("# Not DuckDB: no ANY.\nonlyif nearscan\nquery I\nSELECT 1\n----\n1\n")]
    #[case("# a\n# Not DuckDB: no ANY.\n\nonlyif nearscan\nquery error no\nSELECT 1\n")]
    #[case("# why\nonlyif nearscan\nstatement ok\nSET x = 1\n\nquery I\nSELECT 1\n----\n1\n")]
    fn accepts(#[case] text: &str) {
        assert_eq!(findings(text), Vec::<String>::new());
    }

    #[rstest]
    #[case("statement ok\nSELECT 1\n", "there is no query")]
    #[case("query I\nSELECT a FROM t\n----\n1\n2\n", "a.slt:1: several rows without an order")]
    #[case(
        "query I valuesort\nSELECT 1\n----\n1\n",
        "a.slt:1: values are sorted apart from their rows"
    )]
    #[case("query T\nEXPLAIN SELECT 1\n----\nx\n", "a.slt:1: the result of EXPLAIN is compared")]
    #[case("query T\nSELECT 1\n----\n<slt:ignore>\n", "a.slt:1: a part of the result is ignored")]
    fn refuses(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(findings(text), [expected]);
    }

    #[rstest]
    #[case("onlyif emulated\nquery I\nSELECT 1\n----\n1\n", 2)]
    #[case("onlyif nearscan\nquery I\nSELECT 1\n----\n1\n", 1)]
    #[case("# Not DuckDB: \nonlyif nearscan\nquery I\nSELECT 1\n----\n1\n", 1)]
    #[case("# a\n\n# Not DuckDB: b\n\nonlyif nearscan\nquery I\nSELECT 1\n----\n1\n", 1)]
    #[case("skipif nearscan\nstatement ok\nSELECT 1\n\nquery I\nSELECT 1\n----\n1\n", 1)]
    #[case("query I\nSELECT 1\n----\n1\n\nhalt\n", 1)]
    #[case("control sortmode rowsort\n\nquery I\nSELECT 1\n----\n1\n", 1)]
    #[case("hash-threshold 1\n\nquery I\nSELECT 1\n----\n1\n", 1)]
    fn refuses_records_that_hide_results(#[case] text: &str, #[case] expected_count: usize) {
        let findings = findings(text);
        assert_eq!(findings.len(), expected_count, "{findings:?}");
    }
}
