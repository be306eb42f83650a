// SPDX-License-Identifier: Apache-2.0
//! Sorts errors of DataFusion into the causes of [`Error`].
//!
//! The type decides where DataFusion has one. DataFusion has only a text for missing tables and
//! functions, and for the place of a syntax error. The tests of this file fail if an upgrade of
//! DataFusion changes these texts.

use std::cmp::Reverse;

use datafusion::{
    arrow::error::ArrowError,
    common::{
        Column, DataFusionError, SchemaError, utils::datafusion_strsim::normalized_levenshtein,
    },
    object_store,
    sql::sqlparser::parser::ParserError,
};

use nearscan_dialect::DialectError;

use super::{AccessError, Error, Missing, PathError, Place, StoreError};
use crate::{
    corruption::{Corruption, cause},
    settings::SettingError,
};

/// Least similarity of two names, from 0 to 1, for a suggestion: `lineitm` and `lineitem` have
/// 0.875, `l_qty` and `l_quantity` have 0.5.
const LIKENESS_MIN: f64 = 0.5;

/// The same of the last parts of settings, of which many are alike: `mod` and `mode` have 0.75.
const LIKENESS_OF_SETTINGS: f64 = 0.7;

/// Largest number of suggestions.
const SIMILAR_MAX: usize = 3;

/// Context of the statement whose error is classified.
#[derive(Debug, Default, Clone)]
pub(crate) struct ErrorContext<'a> {
    /// The text that line and column numbers refer to.
    pub(crate) text: Option<&'a str>,
    /// Line and column, from 1, after the statement's last token; the place of errors at its end.
    pub(crate) end: Option<(u64, u64)>,
    /// Names of the existing tables.
    pub(crate) tables: Vec<String>,
    /// Keys of the existing settings.
    pub(crate) settings: Vec<String>,
}

impl ErrorContext<'_> {
    /// Classifies one error.
    pub(crate) fn classify(&self, error: DataFusionError) -> Error {
        if Corruption::of(&error).is_some() {
            return Error::Data(Box::new(error));
        }
        if let Some(error) = StoreError::of(&error) {
            return Error::Store(Box::new(error.clone()));
        }
        if let Some(object_store::Error::NotFound { path, .. }) = cause(&error) {
            return Error::Path(PathError::NotFound(absolute(path).into()));
        }
        if let Some(error) = self.by_wording(error.find_root()) {
            return error;
        }
        match error.find_root() {
            DataFusionError::SchemaError(..) | DataFusionError::Plan(_) => {
                Error::Plan(Box::new(error))
            }
            DataFusionError::NotImplemented(_) => Error::Unsupported(Box::new(error)),
            DataFusionError::Configuration(_) => Error::Configuration(Box::new(error)),
            DataFusionError::ResourcesExhausted(message) if is_about_disk(message) => {
                Error::Disk(Box::new(error))
            }
            DataFusionError::ResourcesExhausted(_) => Error::Memory(Box::new(error)),
            DataFusionError::ParquetError(_) => Error::Data(Box::new(error)),
            DataFusionError::ArrowError(arrow, _) => match arrow.as_ref() {
                ArrowError::IoError(..) => Error::Io(Box::new(error)),
                ArrowError::ParquetError(_)
                | ArrowError::CsvError(_)
                | ArrowError::JsonError(_)
                | ArrowError::IpcError(_)
                | ArrowError::AvroError(_) => Error::Data(Box::new(error)),
                _ => Error::Execution(Box::new(error)),
            },
            DataFusionError::ObjectStore(_) | DataFusionError::IoError(_) => {
                Error::Io(Box::new(error))
            }
            DataFusionError::Internal(_) | DataFusionError::ExecutionJoin(_) => {
                Error::Internal(Box::new(error))
            }
            _ => Error::Execution(Box::new(error)),
        }
    }

    /// Classifies the errors whose type does not determine the cause.
    fn by_wording(&self, root: &DataFusionError) -> Option<Error> {
        match root {
            DataFusionError::SQL(parser, _) => Some(self.syntax(parser)),
            DataFusionError::External(source) => {
                match source.downcast_ref::<SettingError>() {
                    Some(SettingError::UnknownKey { key }) => {
                        return Some(self.setting_not_found(key));
                    }
                    Some(setting) => return Some(Error::Setting(setting.clone())),
                    None => {}
                }
                if let Some(dialect) = source.downcast_ref::<DialectError>() {
                    return Some(Error::Dialect(Box::new(dialect.clone())));
                }
                if let Some(access) = source.downcast_ref::<AccessError>() {
                    return Some(Error::Access(access.clone()));
                }
                source.downcast_ref::<PathError>().map(|path| Error::Path(path.clone()))
            }
            DataFusionError::SchemaError(schema, _) => match schema.as_ref() {
                SchemaError::FieldNotFound { field, valid_fields } => {
                    Some(column_not_found(field, valid_fields))
                }
                _ => None,
            },
            DataFusionError::Plan(message) => self.plan(message),
            DataFusionError::Configuration(message) => {
                let key = between(message, "Config value \"", "\" not found on ")
                    .or_else(|| between(message, "ould not find config namespace for key \"", "\""))
                    .or_else(|| between(message, "ould not find config namespace \"", "\""))?;
                Some(self.setting_not_found(key))
            }
            DataFusionError::Execution(message) => {
                let name = message.strip_prefix("External table '").or_else(|| {
                    message.strip_prefix("The table ").or_else(|| message.strip_prefix("Table '"))
                })?;
                let end = name.find("' already exists").or_else(|| name.find(" already exists"))?;
                Some(Error::TableExists { name: short_name(&name[..end]).to_owned() })
            }
            _ => None,
        }
    }

    fn plan(&self, message: &str) -> Option<Error> {
        if let Some(name) = between(message, "table '", "' not found") {
            let name = short_name(name);
            return Some(Error::TableNotFound(Box::new(missing(name, self.tables.clone()))));
        }
        if let Some(location) = between(message, "No files found at ", ". Cannot infer schema") {
            let path = location.strip_prefix("file://").unwrap_or(location);
            // An object store has no folders: only a slash says that one was meant.
            if path.contains("://") && !path.ends_with('/') {
                return Some(Error::Path(PathError::NotFound(path.into())));
            }
            return Some(Error::Path(PathError::Empty(path.into())));
        }
        if let Some(key) = between(message, "'", "' is not a variable which can be viewed") {
            return Some(self.setting_not_found(key));
        }
        let ungrouped = between(message, "column \"", "\" must appear in the GROUP BY clause");
        if let Some(column) = ungrouped.filter(|_| !message.contains("ORDER BY")) {
            return Some(Error::NotGrouped { column: column.to_owned() });
        }
        if let Some(name) = between(message, "Invalid function '", "'.") {
            let similar = between(message, "Did you mean '", "'?").map(str::to_owned);
            return Some(Error::FunctionNotFound(Box::new(Missing {
                name: name.to_owned(),
                similar: similar.into_iter().collect(),
                known: Vec::new(),
            })));
        }
        None
    }

    /// The error of a key, of which DataFusion may know the last part only. Keys are compared by
    /// their last parts, because the others are the same for many.
    fn setting_not_found(&self, key: &str) -> Error {
        let last = |key: &str| key.rsplit('.').next().unwrap_or_default().to_owned();
        let parts: Vec<String> = self.settings.iter().map(|known| last(known)).collect();
        let alike = similar_by(&last(key), &parts, LIKENESS_OF_SETTINGS);
        let meant = self.settings.iter().filter(|known| alike.contains(&last(known)));
        let mut meant: Vec<String> = meant.cloned().collect();
        let nearest = similar(key, &meant);
        meant.truncate(SIMILAR_MAX);
        let similar = if nearest.is_empty() { meant } else { nearest };
        // Those that exist are too many to be listed.
        Error::SettingNotFound(Box::new(Missing {
            name: key.to_owned(),
            similar,
            known: Vec::new(),
        }))
    }

    fn syntax(&self, error: &ParserError) -> Error {
        let text = match error {
            ParserError::TokenizerError(text) | ParserError::ParserError(text) => text.as_str(),
            ParserError::RecursionLimitExceeded => "the statement is nested too deeply",
        };
        let (message, place) = match split_location(text) {
            Some((message, line, column)) => (message, self.place(line, column)),
            // The parser has no location for the end of the text.
            None => (text, self.end.and_then(|(line, column)| self.place(line, column))),
        };
        Error::Syntax { message: lower_first(message), place: place.map(Box::new) }
    }

    fn place(&self, line: u64, column: u64) -> Option<Place> {
        let index = usize::try_from(line).ok()?.checked_sub(1)?;
        let text = self.text?.lines().nth(index).unwrap_or_default().to_owned();
        Some(Place { line, column, text })
    }
}

/// Returns the message of a DataFusion error without the category that its `Display` puts in front.
pub(super) fn message(root: &DataFusionError) -> String {
    let text = match root {
        DataFusionError::NotImplemented(text)
        | DataFusionError::Internal(text)
        | DataFusionError::Plan(text)
        | DataFusionError::Configuration(text)
        | DataFusionError::Execution(text)
        | DataFusionError::ResourcesExhausted(text)
        | DataFusionError::Substrait(text)
        | DataFusionError::Ffi(text) => text.clone(),
        DataFusionError::ArrowError(error, _) => error.to_string(),
        DataFusionError::ParquetError(error) => error.to_string(),
        DataFusionError::ObjectStore(error) => error.to_string(),
        DataFusionError::IoError(error) => error.to_string(),
        DataFusionError::External(error) => error.to_string(),
        DataFusionError::ExecutionJoin(error) => error.to_string(),
        DataFusionError::SchemaError(error, _) => error.to_string(),
        other => other.to_string(),
    };
    text.trim_end().trim_end_matches('.').to_owned()
}

/// Returns the message of an error, after the name of its file if that is known.
pub(super) fn message_about_file(error: &DataFusionError) -> String {
    if let Some(corruption) = Corruption::of(error) {
        return corruption.to_string();
    }
    let text = message(error.find_root());
    match error {
        DataFusionError::Context(file, _) => format!("{file}: {text}"),
        _ => text,
    }
}

fn column_not_found(field: &Column, valid_fields: &[Column]) -> Error {
    // A qualifier helps only where two tables are in scope.
    let mut relations: Vec<_> =
        valid_fields.iter().map(|column| column.relation.as_ref()).collect();
    relations.dedup();
    let show = |column: &Column| match relations.len() {
        0 | 1 => column.name.clone(),
        _ => column.flat_name(),
    };
    let known: Vec<String> = valid_fields.iter().map(show).collect();
    let mut missing = missing(&field.flat_name(), known);
    if missing.similar.is_empty() {
        missing.similar = similar(&field.name, &missing.known);
    }
    Error::ColumnNotFound(Box::new(missing))
}

fn missing(name: &str, known: Vec<String>) -> Missing {
    let similar = similar(name, &known);
    Missing { name: name.to_owned(), similar, known }
}

/// Returns the names that are most similar to `name`, the most similar first.
fn similar(name: &str, known: &[String]) -> Vec<String> {
    similar_by(name, known, LIKENESS_MIN)
}

fn similar_by(name: &str, known: &[String], likeness_min: f64) -> Vec<String> {
    let name = name.to_lowercase();
    let mut scored: Vec<(f64, &String)> = known
        .iter()
        .map(|other| (normalized_levenshtein(&name, &other.to_lowercase()), other))
        .filter(|(likeness, _)| *likeness >= likeness_min)
        .collect();
    scored.sort_by(|(one, name), (two, other)| {
        Reverse(*one)
            .partial_cmp(&Reverse(*two))
            .unwrap_or(std::cmp::Ordering::Equal)
            .then(name.cmp(other))
    });
    scored.into_iter().take(SIMILAR_MAX).map(|(_, name)| name.clone()).collect()
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let start = text.find(before)? + before.len();
    let length = text[start..].find(after)?;
    Some(&text[start..start + length])
}

/// Removes the default catalog and schema from a table name.
fn short_name(name: &str) -> &str {
    let name = name.strip_prefix("datafusion.").unwrap_or(name);
    name.strip_prefix("public.").unwrap_or(name)
}

/// Object stores write local paths without the slash in front; others are URLs.
fn absolute(path: &str) -> String {
    let is_whole = path.starts_with('/') || path.contains("://");
    if is_whole { path.to_owned() } else { format!("/{path}") }
}

fn is_about_disk(message: &str) -> bool {
    message.contains("disk") || message.contains("temporary files")
}

fn lower_first(text: &str) -> String {
    let mut signs = text.chars();
    match signs.next() {
        Some(first) => first.to_lowercase().chain(signs).collect(),
        None => String::new(),
    }
}

/// Splits ` at Line: 1, Column: 8` off the end of a parser's message.
fn split_location(text: &str) -> Option<(&str, u64, u64)> {
    let (message, location) = text.rsplit_once(" at Line: ")?;
    let (line, column) = location.split_once(", Column: ")?;
    Some((message, line.parse().ok()?, column.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::prelude::SessionContext;
    use rstest::rstest;

    /// Plans `sql` over one table with two columns and returns the rendered error.
    async fn read(sql: &str) -> String {
        let session = SessionContext::new();
        session.sql("CREATE TABLE lineitem AS SELECT 1 AS l_quantity, 2 AS l_tax").await.unwrap();
        let context = ErrorContext {
            text: Some(sql),
            end: Some((sql.lines().count() as u64, sql.lines().last().unwrap().len() as u64 + 1)),
            tables: vec!["lineitem".to_owned()],
            settings: session
                .copied_config()
                .options()
                .entries()
                .into_iter()
                .map(|it| it.key)
                .collect(),
        };
        let error = match session.sql(sql).await {
            Ok(frame) => frame.collect().await.unwrap_err(),
            Err(error) => error,
        };
        context.classify(error).render()
    }

    #[rstest]
    #[case(
        "SELECT * FROM lineitm",
        "error: table 'lineitm' not found\n  detail: tables: lineitem\n  hint: did you mean 'lineitem'?"
    )]
    #[case("SELECT * FROM x.y", "error: table 'x.y' not found\n  detail: tables: lineitem")]
    #[case(
        "SELECT l_quantit FROM lineitem",
        "error: column 'l_quantit' not found\n  detail: columns: l_quantity, l_tax\n  hint: did you mean 'l_quantity'?"
    )]
    #[case(
        "SELECT lineitem.tax FROM lineitem",
        "error: column 'lineitem.tax' not found\n  detail: columns: l_quantity, l_tax\n  hint: did you mean 'l_tax'?"
    )]
    #[case(
        "SELECT coun(*) FROM lineitem",
        "error: function 'coun' not found\n  hint: did you mean 'count'?"
    )]
    #[case(
        "SET datafusion.execution.batch_siz = 1",
        "error: unknown setting 'batch_siz'\n  hint: did you mean 'datafusion.execution.batch_size'?"
    )]
    #[case(
        "SET zzzzzzzzzzzzzzzz.q = 1",
        "error: unknown setting 'zzzzzzzzzzzzzzzz'\n  hint: SHOW ALL lists all settings and their values"
    )]
    #[case(
        "CREATE TABLE lineitem AS SELECT 1",
        "error: table 'lineitem' already exists\n  hint: use CREATE OR REPLACE, or DROP TABLE first"
    )]
    #[case(
        "SELECT\n 1 +",
        "error: syntax error at line 2, column 5\n  detail: expected: an expression, found: EOF\n           1 +\n              ^"
    )]
    #[case(
        "SELECT 'a",
        "error: syntax error at line 1, column 8\n  detail: unterminated string literal\n          SELECT 'a\n                 ^"
    )]
    #[case(
        "SELECT l_tax FRM lineitem x",
        "error: syntax error at line 1, column 18\n  detail: expected: end of statement, found: lineitem\n          SELECT l_tax FRM lineitem x\n                           ^"
    )]
    #[case(
        "SELECT 1 / (l_tax - 2) FROM lineitem",
        "error: statement failed\n  detail: Divide by zero error"
    )]
    #[case(
        "SELECT l_tax + DATE '2020-01-01' + 'x' FROM lineitem GROUP BY l_quantity",
        "error: invalid statement"
    )]
    #[case("SET datafusion.nothing = 1", "error: unknown setting 'nothing'")]
    #[case("SET datafusion.explain.format = 'nope'", "error: invalid setting")]
    #[tokio::test]
    async fn classifies_errors_by_cause(#[case] sql: &str, #[case] expected: &str) {
        let text = read(sql).await;
        assert!(text.starts_with(expected), "{text}");
    }

    #[test]
    fn finds_the_cause_below_context_and_shared_errors() {
        let inner = DataFusionError::ResourcesExhausted("no room".to_owned()).context("sort");
        let shared = DataFusionError::Shared(inner.into());
        let error = ErrorContext::default().classify(shared);
        assert!(matches!(error, Error::Memory(_)), "{error:?}");
        assert_eq!(error.detail().unwrap(), "no room");
        assert!(error.hint().unwrap().contains("memory_limit"));
    }

    #[test]
    fn suggests_at_most_three_names_the_most_similar_first() {
        let known: Vec<String> = ["abcd", "abce", "abxx", "abc", "zzz"].map(str::to_owned).to_vec();
        assert_eq!(similar("ABC", &known), ["abc", "abcd", "abce"]);
    }
}
