// SPDX-License-Identifier: Apache-2.0
//! Classifies why a record cannot be run, in few words that many records share.
//!
//! Statements, functions and types that the engine does not have are unsupported. Those that it has
//! and runs otherwise than a suite expects are failures, and never come here.

use nearscan::{Error, datafusion::common::DataFusionError};

/// A suite may need files that are not beside it.
pub const NO_FILE: &str = "file not found";

/// Signs of a reason, at most: longer ones are not shared.
const LENGTH_MAX: usize = 80;

/// Statements that change no answer and are left out.
const WITHOUT_EFFECT: &[&str] = &[
    "ANALYZE",
    "BEGIN",
    "CHECKPOINT",
    "COMMIT",
    "CREATE INDEX",
    "CREATE UNIQUE INDEX",
    "DROP INDEX",
    "END",
    "REINDEX",
    "START TRANSACTION",
    "VACUUM",
];

/// Returns the name of a statement that changes no answer: an index, a transaction that ends well.
#[must_use]
pub fn without_effect(sql: &str) -> Option<&'static str> {
    let words: Vec<String> = sql.split_whitespace().take(3).map(str::to_ascii_uppercase).collect();
    let text = format!("{} ", words.join(" ").trim_end_matches(';'));
    WITHOUT_EFFECT.iter().find(|name| text.starts_with(&format!("{name} "))).copied()
}

/// The reason why the engine cannot run a statement; `None` if it could and it failed.
#[must_use]
pub fn of(sql: &str, error: &Error) -> Option<String> {
    let source = |error: &DataFusionError| short(&error.find_root().strip_backtrace());
    if let (Error::Syntax { .. } | Error::Unsupported(_), Some(keyword)) = (error, keyword(sql)) {
        return Some(format!("statement {keyword}"));
    }
    // Suites drop tables that their own runner makes.
    if matches!(error, Error::Execution(error) if error.to_string().contains("doesn't exist")) {
        return Some("table not found".to_owned());
    }
    Some(match error {
        Error::Syntax { message, .. } => format!("syntax: {}", unexpected(message)),
        Error::FunctionNotFound(missing) => format!("function {}", cut(&missing.name)),
        Error::TableNotFound(missing) if missing.name.contains(['/', '(']) => NO_FILE.to_owned(),
        Error::TableNotFound(_) => "table not found".to_owned(),
        Error::ColumnNotFound(_) => "column not found".to_owned(),
        Error::Path(_) => NO_FILE.to_owned(),
        Error::Setting(_) | Error::SettingNotFound(_) | Error::Configuration(_) => {
            "setting".to_owned()
        }
        Error::Unsupported(error) => format!("not supported: {}", source(error)),
        Error::Plan(error) => format!("plan: {}", source(error)),
        Error::TableExists { .. } => "table that exists".to_owned(),
        _ => return None,
    })
}

/// The first word of a statement that is no SQL of the engine's.
fn keyword(sql: &str) -> Option<String> {
    let known = ["SELECT", "CREATE", "INSERT", "UPDATE", "DELETE", "DROP", "WITH", "VALUES"];
    let word = sql.split_whitespace().next()?.to_ascii_uppercase();
    let is_word = word.chars().all(|sign| sign.is_ascii_alphabetic());
    (is_word && !known.contains(&word.as_str())).then_some(word)
}

/// Returns the word that the parser did not expect.
fn unexpected(message: &str) -> String {
    let found = message.rsplit_once("found: ").map_or(message, |(_, found)| found);
    let word = found.split_whitespace().next().unwrap_or_default();
    if word.contains(|sign: char| sign.is_ascii_digit() || sign == '\'' || sign == '"') {
        return "literal".to_owned();
    }
    cut(&word.to_ascii_uppercase()).to_owned()
}

/// A message up to its first name, number or place, which no other record shares.
#[must_use]
pub fn short(message: &str) -> String {
    let line = message.lines().next().unwrap_or_default();
    let line = ["Error during planning: ", "This feature is not implemented: ", "Arrow error: "]
        .iter()
        .fold(line, |line, start| line.trim_start_matches(start));
    let signs =
        ['\'', '"', '`', '[', '(', '{', '=', '<', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9'];
    let end = line.find(signs).unwrap_or(line.len());
    let text = if end < 8 { line } else { &line[..end] };
    cut(text).trim_end_matches([' ', ':', '.', ',']).to_owned()
}

/// A text up to the longest that a reason may be.
#[must_use]
pub fn cut(text: &str) -> &str {
    text.char_indices().nth(LENGTH_MAX).map_or(text, |(end, _)| &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("create index i on t(a)", Some("CREATE INDEX"))]
    #[case("BEGIN;", Some("BEGIN"))]
    #[case("BEGIN TRANSACTION", Some("BEGIN"))]
    #[case("CREATE TABLE index(a int)", None)]
    #[case("ROLLBACK", None)]
    fn knows_statements_without_effect(#[case] sql: &str, #[case] expected: Option<&str>) {
        assert_eq!(without_effect(sql), expected);
    }

    #[rstest]
    #[case("Error during planning: Cannot coerce 'a' to Int64", "Cannot coerce")]
    #[case("two\nlines", "two")]
    #[case("'x' is no y", "'x' is no y")]
    fn shortens(#[case] message: &str, #[case] expected: &str) {
        assert_eq!(short(message), expected);
    }

    #[tokio::test]
    async fn names_what_the_engine_does_not_have() {
        let engine = nearscan::Engine::builder().build().await.unwrap();
        let cases = [
            ("PRAGMA threads", Some("statement PRAGMA")),
            (
                "CREATE TABLE t(a INT) WITHOUT ROWID",
                Some("not supported: Without rowid not supported"),
            ),
            ("DROP TABLE nowhere", Some("table not found")),
            ("SELECT a b c", Some("syntax: C")),
            ("SELECT printf('a')", Some("function printf")),
            ("SELECT a FROM nowhere", Some("table not found")),
            ("SELECT a", Some("column not found")),
            ("SELECT CAST('x' AS INT)", None),
        ];
        for (sql, expected) in cases {
            let error = match engine.sql(sql).await {
                Ok(query) => query.collect().await.unwrap_err(),
                Err(error) => error,
            };
            assert_eq!(of(sql, &error).as_deref(), expected, "{sql}: {error:?}");
        }
    }
}
