// SPDX-License-Identifier: Apache-2.0
//! Analyses the text of a statement: whether it has an order, what it reads, what it prepares,
//! where it puts NULL.

use std::path::Path;

use nearscan::{
    Engine,
    datafusion::{
        logical_expr::sqlparser::ast::{Query, SetExpr, Statement as Ast},
        sql::parser::{CopyToSource, Statement},
    },
};

use super::directive::Dialect;

/// First words of statements that only read, and whose rows a drive may have to do with.
pub const READS: &[&str] = &["select", "with", "values", "from", "table"];

/// The statement that a PREPARE prepares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prepared {
    /// Its name, in small letters.
    pub name: String,
    /// The first word of what EXECUTE then runs.
    pub first_word: String,
}

/// Whether a text has ORDER BY: the word may be anywhere in it, in a subquery too.
#[must_use]
pub fn has_order(sql: &str) -> bool {
    sql.split(|sign: char| !sign.is_alphanumeric() && sign != '_')
        .any(|word| word.eq_ignore_ascii_case("order"))
}

/// The query whose rows a statement writes somewhere: `INSERT INTO t SELECT ...`. None if it reads
/// nothing.
#[must_use]
pub fn source(engine: &Engine, sql: &str) -> Option<String> {
    let query = |query: &Query| {
        let reads = !matches!(query.body.as_ref(), SetExpr::Values(_));
        reads.then(|| query.to_string())
    };
    match parsed(engine, sql)? {
        Statement::Statement(statement) => match *statement {
            Ast::Insert(insert) => query(insert.source.as_deref()?),
            Ast::CreateTable(table) => query(table.query.as_deref()?),
            _ => None,
        },
        Statement::CopyTo(copy) => match &copy.source {
            CopyToSource::Query(source) => query(source),
            CopyToSource::Relation(_) => None,
        },
        _ => None,
    }
}

/// Returns the statement that a PREPARE prepares; nothing for other statements.
#[must_use]
pub fn prepared(engine: &Engine, sql: &str) -> Option<Prepared> {
    let Statement::Statement(statement) = parsed(engine, sql)? else { return None };
    let Ast::Prepare { name, statement, .. } = *statement else { return None };
    let first_word = first_word(&statement.to_string());
    Some(Prepared { name: name.value.to_ascii_lowercase(), first_word })
}

/// The name of what an EXECUTE runs, in small letters.
#[must_use]
pub fn executed(engine: &Engine, sql: &str) -> Option<String> {
    let Statement::Statement(statement) = parsed(engine, sql)? else { return None };
    let Ast::Execute { name: Some(name), .. } = *statement else { return None };
    Some(name.to_string().trim_matches('"').to_ascii_lowercase())
}

/// A text of one statement, as the engine reads it.
fn parsed(engine: &Engine, sql: &str) -> Option<Statement> {
    let state = engine.uncorrected_context().state();
    let dialect = state.config().options().sql_parser.dialect;
    state.sql_to_statement(sql, &dialect).ok()
}

/// The place of NULL for the engine of a dialect, if it differs from this one's.
#[must_use]
pub fn null_order(dialect: Dialect) -> Option<&'static str> {
    match dialect {
        Dialect::Sqlite => Some("nulls_min"),
        Dialect::Duckdb => Some("nulls_last"),
        Dialect::Datafusion => None,
    }
}

/// Returns the position of NULL that a statement of DuckDB's sets, if it does.
#[must_use]
pub fn null_order_of(sql: &str) -> Option<&'static str> {
    let text = sql.to_ascii_lowercase().replace(['_', '\'', '='], " ");
    let words: Vec<&str> = text.split_whitespace().collect();
    match words.as_slice() {
        ["set" | "pragma", "default", "null", "order", rest @ ..] => match rest {
            ["nulls", "first", ..] | ["to", "nulls", "first", ..] => Some("nulls_first"),
            ["nulls", "last", ..] | ["to", "nulls", "last", ..] => Some("nulls_last"),
            ["sqlite" | "nulls", ..] => Some("nulls_min"),
            ["postgres", ..] => Some("nulls_max"),
            _ => None,
        },
        _ => None,
    }
}

/// Whether a statement makes a table of files whose folder is not there. The engine takes it for a
/// table without rows, the suite does not.
#[must_use]
pub fn names_missing_folder(sql: &str) -> bool {
    let location = sql.to_ascii_uppercase().find("LOCATION '").map(|at| at + "LOCATION '".len());
    let path = location.and_then(|at| sql.get(at..)?.split_once('\''));
    let Some((path, _)) = path else { return false };
    let path = Path::new(path.strip_prefix("file://").unwrap_or(path));
    let exists = |path: &Path| path.as_os_str().is_empty() || path.exists();
    !path.to_string_lossy().contains("://") && !exists(path) && !path.parent().is_some_and(exists)
}

/// The first word of a statement, in small letters, without comments and parentheses around it.
#[must_use]
pub fn first_word(sql: &str) -> String {
    let mut text = sql.trim_start();
    loop {
        if let Some(rest) = text.strip_prefix("--") {
            text = rest.split_once('\n').map_or("", |(_, rest)| rest).trim_start();
        } else if let Some(rest) = text.strip_prefix("/*") {
            text = rest.split_once("*/").map_or("", |(_, rest)| rest).trim_start();
        } else if let Some(rest) = text.strip_prefix('(') {
            text = rest.trim_start();
        } else {
            break;
        }
    }
    let end = text.find(|sign: char| !sign.is_ascii_alphabetic()).unwrap_or(text.len());
    text[..end].to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("SELECT a FROM t ORDER BY a", true)]
    #[case("SELECT a FROM(t)ORDER BY a", true)]
    #[case("SELECT a FROM t order\nBY a", true)]
    #[case("SELECT a FROM orders", false)]
    #[case("SELECT a_order FROM t", false)]
    fn finds_an_order(#[case] sql: &str, #[case] expected: bool) {
        assert_eq!(has_order(sql), expected);
    }

    #[rstest]
    #[case("SELECT 1", "select")]
    #[case("  -- why\n/* and */ ((select 1))", "select")]
    #[case("-- only", "")]
    #[case("insert into t", "insert")]
    fn finds_the_first_word(#[case] sql: &str, #[case] expected: &str) {
        assert_eq!(first_word(sql), expected);
    }

    #[tokio::test]
    async fn finds_what_a_statement_reads_and_prepares() {
        let engine = Engine::builder().build().await.unwrap();
        let select = Some("SELECT a FROM t WHERE a > 1");
        for (sql, expected) in [
            ("INSERT INTO u SELECT a FROM t WHERE a > 1", select),
            (
                "INSERT INTO u(a) (SELECT a FROM t WHERE a > 1)",
                Some("(SELECT a FROM t WHERE a > 1)"),
            ),
            ("CREATE TABLE u AS SELECT a FROM t WHERE a > 1", select),
            ("COPY (SELECT a FROM t WHERE a > 1) TO 'x.parquet'", select),
            ("INSERT INTO u VALUES (1)", None),
            ("CREATE TABLE u(a INT)", None),
            ("DELETE FROM u", None),
            ("no SQL", None),
        ] {
            assert_eq!(source(&engine, sql).as_deref(), expected, "{sql}");
        }
        let made = prepared(&engine, "PREPARE P(INT) AS SELECT $1").unwrap();
        assert_eq!((made.name.as_str(), made.first_word.as_str()), ("p", "select"));
        assert_eq!(prepared(&engine, "SELECT 1"), None);
        assert_eq!(executed(&engine, "EXECUTE p(1);").as_deref(), Some("p"));
        assert_eq!(executed(&engine, "SELECT 1"), None);
    }
}
