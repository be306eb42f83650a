// SPDX-License-Identifier: Apache-2.0
//! Tests the comparison of results with lines.

use super::{super::value::Kind, *};
use rstest::rstest;

/// Rows of texts; what is a number is one.
fn rows(text: &str) -> Vec<Vec<Value>> {
    let value = |text: &str| {
        let kind = match text {
            "NULL" => Kind::Null,
            text if text.parse::<i64>().is_ok() => Kind::Exact,
            text if text.parse::<f64>().is_ok() => Kind::Float(text.parse().unwrap()),
            _ => Kind::Text,
        };
        Value { text: text.to_owned(), kind }
    };
    text.lines().map(|line| line.split('|').map(value).collect()).collect()
}

fn compare(dialect: Dialect, letters: &str, sort: Sort, found: &str, lines: &[&str]) -> Verdict {
    let rows = rows(found);
    let found = Found { rows: &rows, columns: letters.len(), letters, sort, dialect };
    let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
    found.compare(&lines)
}

/// Of `1` and `2`, each with a line feed behind it; by md5sum.
const HASHED: &[&str] = &["2 values hashing to 6ddb4095eb719e2a9f0a3f95677d24e0"];

#[rstest]
#[case("I", Sort::Unsorted, "1\n2", &["1", "2"], Verdict::Same)]
#[case("I", Sort::Unsorted, "2\n1", &["1", "2"], Verdict::OtherOrder)]
#[case("I", Sort::Rows, "2\n1", &["1", "2"], Verdict::Same)]
#[case("I", Sort::Rows, "2\n10", &["10", "2"], Verdict::Same)]
#[case("I", Sort::Rows, "2\n1", &["1", "3"], Verdict::Differs)]
#[case("I", Sort::Unsorted, "1", &["1", "2"], Verdict::Differs)]
#[case("I", Sort::Unsorted, "1\n2", &["1"], Verdict::Differs)]
#[case("IR", Sort::Unsorted, "1|2.5\n3|4", &["1", "2.500", "3", "4.000"], Verdict::Same)]
#[case("IR", Sort::Unsorted, "1|2.5\n3|4", &["1", "2.500", "3", "4.001"], Verdict::Differs)]
#[case("IT", Sort::Values, "1|b\n3|a", &["1", "3", "a", "b"], Verdict::Same)]
#[case("IT", Sort::Values, "1|b\n3|a", &["1", "3", "a", "c"], Verdict::Differs)]
#[case("II", Sort::Unsorted, "1|2\n3|4", &["1 2", "3 4"], Verdict::Same)]
#[case("T", Sort::Unsorted, "", &[], Verdict::Same)]
#[case("I", Sort::Rows, "2\n1", HASHED, Verdict::Same)]
#[case("I", Sort::Rows, "2\n3", HASHED, Verdict::Differs)]
#[case("I", Sort::Rows, "2", HASHED, Verdict::Differs)]
#[case("I", Sort::Unsorted, "2\n1", HASHED, Verdict::OtherHash)]
#[case("II", Sort::Unsorted, "1|2", HASHED, Verdict::Same)]
#[case("II", Sort::Unsorted, "2|1", HASHED, Verdict::Differs)]
fn compares_in_the_form_of_sqlite(
    #[case] letters: &str,
    #[case] sort: Sort,
    #[case] found: &str,
    #[case] lines: &[&str],
    #[case] expected: Verdict,
) {
    assert_eq!(compare(Dialect::Sqlite, letters, sort, found, lines), expected);
}

#[rstest]
#[case("IT", Sort::Unsorted, "1|a b\n2|c", &["1\ta b", "2\tc"], Verdict::Same)]
#[case("IT", Sort::Unsorted, "1|a b\n2|c", &["1", "a b", "2", "c"], Verdict::Same)]
#[case("IT", Sort::Unsorted, "1|a", &["1\tb"], Verdict::Differs)]
#[case("T", Sort::Unsorted, "a  b", &["a  b"], Verdict::Same)]
#[case("T", Sort::Unsorted, "a", &["<REGEX>:a.*"], Verdict::Unreadable)]
fn compares_in_the_form_of_duckdb(
    #[case] letters: &str,
    #[case] sort: Sort,
    #[case] found: &str,
    #[case] lines: &[&str],
    #[case] expected: Verdict,
) {
    assert_eq!(compare(Dialect::Duckdb, letters, sort, found, lines), expected);
}

#[rstest]
#[case("IT", Sort::Unsorted, "1|a b\n2|c", &["1 a b", "2 c"], Verdict::Same)]
#[case("TI", Sort::Rows, "x|2.50\na b|1", &["a b 1", "x 2.5"], Verdict::Same)]
#[case("TI", Sort::Unsorted, "a b|1", &["a b 2"], Verdict::Differs)]
#[case("TI", Sort::Unsorted, "a b|1", &["a b 1 c"], Verdict::Differs)]
#[case("TI", Sort::Unsorted, "a b|1", &["a b"], Verdict::Differs)]
#[case("R", Sort::Unsorted, "0.1", &["0.1"], Verdict::Same)]
fn compares_in_the_form_of_datafusion(
    #[case] letters: &str,
    #[case] sort: Sort,
    #[case] found: &str,
    #[case] lines: &[&str],
    #[case] expected: Verdict,
) {
    assert_eq!(compare(Dialect::Datafusion, letters, sort, found, lines), expected);
}

#[test]
fn rows_that_are_sorted_by_other_texts_are_found() {
    // One engine sorts `1.5` before `10`, another `1.500` and `10.000`.
    let lines = ["10.000\tx", "9.5\ty"];
    let found = compare(Dialect::Duckdb, "RT", Sort::Rows, "9.5|y\n10|x", &lines);
    assert_eq!(found, Verdict::Same);
}
