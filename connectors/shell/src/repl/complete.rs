// SPDX-License-Identifier: Apache-2.0
//! Completes what is being written: keywords, tables, columns, functions with their arguments,
//! settings with their values, dot commands and paths.
//!
//! Columns are those of the tables that the statement refers to, also behind the cursor. Names are
//! compared without regard to case and inserted as SQL needs them, in quotes where it must be.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
};

use reedline::{Completer, Span, Suggestion};

use super::{
    is_command,
    keywords::{KEYWORDS, is_keyword},
    paths,
    scope::{Cursor, Place, Source, TableRef},
    vocabulary::{Name, Vocabulary},
};
use crate::dot::{Argument, COMMANDS, last_word};

/// Completes the lines of the shell.
pub(super) struct SqlCompleter {
    pub(super) vocabulary: Arc<Mutex<Vocabulary>>,
}

/// Something that may stand at the cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Candidate {
    /// What is compared with the prefix.
    name: String,
    /// What is inserted.
    text: String,
    note: String,
    is_finished: bool,
}

impl Completer for SqlCompleter {
    fn complete(&mut self, line: &str, position: usize) -> Vec<Suggestion> {
        let mut vocabulary = self.vocabulary.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(before) = line.get(..position) else { return Vec::new() };
        if is_command(line)
            && let Some(found) = command(before, &mut vocabulary)
        {
            return found;
        }
        statement(line, position, &mut vocabulary)
    }
}

/// Completes a dot command or its argument; none if the argument is a statement.
fn command(before: &str, vocabulary: &mut Vocabulary) -> Option<Vec<Suggestion>> {
    let indent = before.len() - before.trim_start().len();
    let Some((word, argument)) = before.trim_start().split_once(char::is_whitespace) else {
        let word = before.trim_start();
        let names = COMMANDS.iter().map(|it| Candidate::word(it.word, it.about, true));
        return Some(suggestions(names, word, Span::new(indent, before.len())));
    };
    let (start, last, quote, words_before) = last_word(argument);
    let span = Span::new(before.len() - argument.len() + start, before.len());
    let entry = COMMANDS.iter().find(|entry| entry.word == word)?;
    let choices = match entry.argument {
        Argument::Statement => return None,
        Argument::Nothing => Vec::new(),
        Argument::OneOf(words) => words.iter().map(|it| Candidate::word(it, "", false)).collect(),
        Argument::Table => tables(vocabulary, &[]),
        Argument::PathThenTable if words_before > 0 => tables(vocabulary, &[]),
        Argument::Path | Argument::PathThenTable => {
            return Some(argument_paths(last, quote, span));
        }
    };
    Some(suggestions(choices.into_iter(), last, span))
}

fn statement(line: &str, position: usize, vocabulary: &mut Vocabulary) -> Vec<Suggestion> {
    let cursor = Cursor::at(line, position);
    let candidates = match &cursor.place {
        Place::Nothing => return Vec::new(),
        Place::Path => {
            let is_closed = line[position..].starts_with('\'');
            return quoted_paths(&cursor.prefix, Span::new(cursor.start, position), is_closed);
        }
        Place::Start => keywords(&cursor.prefix),
        Place::Setting => {
            let shown = ["ALL", "COLUMNS", "FUNCTIONS", "TABLES"];
            let shown = shown.iter().map(|word| Candidate::word(word, "", true));
            shown.chain(vocabulary.settings().iter().map(Candidate::setting)).collect()
        }
        Place::Value { setting } => {
            let values = vocabulary.values(setting);
            values.iter().map(|value| Candidate::value(value)).collect()
        }
        Place::Table => tables(vocabulary, &cursor.qualifier),
        Place::Expression if cursor.qualifier.is_empty() => expression(&cursor, vocabulary),
        Place::Expression => {
            let mut found = columns_of(&cursor.tables, &cursor.qualifier, vocabulary);
            if found.is_empty() {
                found = tables(vocabulary, &cursor.qualifier);
            }
            found
        }
    };
    suggestions(candidates.into_iter(), &cursor.prefix, Span::new(cursor.start, position))
}

/// Columns first, then the names of tables, functions and keywords; without a prefix only columns.
fn expression(cursor: &Cursor, vocabulary: &mut Vocabulary) -> Vec<Candidate> {
    let mut found = columns_of(&cursor.tables, &[], vocabulary);
    if cursor.prefix.is_empty() && !found.is_empty() {
        return found;
    }
    for TableRef { source, alias } in &cursor.tables {
        let name = alias.clone().or_else(|| match source {
            Source::Name(parts) => parts.last().cloned(),
            Source::Text(_) => None,
        });
        found.extend(name.map(|name| Candidate::name(&name, "table", false)));
    }
    found.extend(vocabulary.functions().iter().map(Candidate::function));
    found.extend(keywords(&cursor.prefix));
    found
}

/// The keywords, in the case that the user writes.
fn keywords(prefix: &str) -> Vec<Candidate> {
    let keyword = |word: &&str| match prefix.starts_with(char::is_lowercase) {
        true => Candidate::word(&word.to_lowercase(), "", true),
        false => Candidate::word(word, "", true),
    };
    KEYWORDS.iter().map(keyword).collect()
}

/// The columns of the tables of a statement that a qualifier admits.
fn columns_of(
    tables: &[TableRef],
    qualifier: &[String],
    vocabulary: &mut Vocabulary,
) -> Vec<Candidate> {
    let mut columns: Vec<Name> = Vec::new();
    for table in tables.iter().filter(|table| admits(table, qualifier)) {
        columns.extend(match &table.source {
            Source::Text(text) => vocabulary.columns_of(text).to_vec(),
            Source::Name(parts) => match common_table(parts, tables) {
                Some(query) => vocabulary.columns_of(query).to_vec(),
                None => columns_of_table(parts, vocabulary),
            },
        });
    }
    // A statement without tables yet may be about any.
    if tables.is_empty() && qualifier.is_empty() {
        let own = vocabulary.tables().iter().filter(|table| !is_of_system(&table.schema));
        columns.extend(own.flat_map(|table| table.columns.clone()));
    }
    let mut seen = HashSet::new();
    columns.retain(|column| seen.insert(column.clone()));
    columns.iter().map(|column| Candidate::name(&column.name, &column.note, false)).collect()
}

/// The query of the common table expression of a name.
fn common_table<'a>(parts: &[String], tables: &'a [TableRef]) -> Option<&'a str> {
    let [name] = parts else { return None };
    let query = |table: &'a TableRef| match (&table.source, &table.alias) {
        (Source::Text(query), Some(alias)) if alias.eq_ignore_ascii_case(name) => {
            Some(query.as_str())
        }
        _ => None,
    };
    tables.iter().find_map(query)
}

fn is_of_system(schema: &str) -> bool {
    matches!(schema, "information_schema" | "nearscan")
}

/// Whether columns of a table may be written with a qualifier.
fn admits(table: &TableRef, qualifier: &[String]) -> bool {
    let same = |one: &String, other: &String| one.eq_ignore_ascii_case(other);
    match (qualifier, &table.alias, &table.source) {
        ([], _, _) => true,
        ([name], Some(alias), _) => same(name, alias),
        (names, None, Source::Name(parts)) if names.len() <= parts.len() => {
            let parts = &parts[parts.len() - names.len()..];
            names.iter().zip(parts).all(|(name, part)| same(name, part))
        }
        _ => false,
    }
}

fn columns_of_table(parts: &[String], vocabulary: &mut Vocabulary) -> Vec<Name> {
    let (schema, name) = match parts {
        [.., schema, name] => (schema.as_str(), name),
        [name] => ("public", name),
        [] => return Vec::new(),
    };
    let known = vocabulary.tables().iter();
    let mut same = known.filter(|table| {
        table.schema.eq_ignore_ascii_case(schema) && table.name.eq_ignore_ascii_case(name)
    });
    same.next().map(|table| table.columns.clone()).unwrap_or_default()
}

/// The tables of a schema, or without one those that need no qualifier, and the schemas.
fn tables(vocabulary: &mut Vocabulary, qualifier: &[String]) -> Vec<Candidate> {
    let schema = qualifier.last().map_or("public", String::as_str);
    let mut found: Vec<Candidate> = Vec::new();
    for table in vocabulary.tables() {
        if table.schema.eq_ignore_ascii_case(schema) {
            let note = match table.columns.len() {
                0 => "table".to_owned(),
                1 => "table, 1 column".to_owned(),
                count => format!("table, {count} columns"),
            };
            found.push(Candidate::name(&table.name, &note, true));
        } else if qualifier.is_empty() {
            let text = format!("{}.", identifier(&table.schema));
            let schema = Candidate {
                name: table.schema.clone(),
                text,
                note: "schema".to_owned(),
                is_finished: false,
            };
            if !found.contains(&schema) {
                found.push(schema);
            }
        }
    }
    found
}

/// Those that begin with the prefix, or if none does, those that contain it.
fn suggestions(
    candidates: impl Iterator<Item = Candidate>,
    prefix: &str,
    span: Span,
) -> Vec<Suggestion> {
    let prefix = prefix.to_lowercase();
    let all: Vec<(String, Candidate)> =
        candidates.map(|candidate| (candidate.name.to_lowercase(), candidate)).collect();
    let begins = all.iter().any(|(name, _)| name.starts_with(&prefix));
    let is_found = |name: &str| match begins {
        true => name.starts_with(&prefix),
        false => name.contains(&prefix),
    };
    let found = all.into_iter().filter(|(name, _)| is_found(name));
    found.map(|(_, candidate)| candidate.suggestion(span)).collect()
}

/// The paths that begin so, for a string of SQL whose first quote is written.
fn quoted_paths(written: &str, span: Span, is_closed: bool) -> Vec<Suggestion> {
    let suggestion = |path: String| {
        let end = if path.ends_with('/') || is_closed { "" } else { "'" };
        Suggestion {
            value: format!("{}{end}", path.replace('\'', "''")),
            span,
            ..Suggestion::default()
        }
    };
    paths::beginning_with(written).into_iter().map(suggestion).collect()
}

/// The paths that begin so, for a word of a command, in quotes if they are needed.
fn argument_paths(written: &str, quote: Option<char>, span: Span) -> Vec<Suggestion> {
    let suggestion = |path: String| {
        let quote = quote.or_else(|| path.contains(char::is_whitespace).then_some('\''));
        let value = match quote {
            Some(quote) if path.ends_with('/') => format!("{quote}{path}"),
            Some(quote) => format!("{quote}{path}{quote}"),
            None => path,
        };
        Suggestion { value, span, ..Suggestion::default() }
    };
    paths::beginning_with(written).into_iter().map(suggestion).collect()
}

impl Candidate {
    fn word(word: &str, note: &str, is_finished: bool) -> Self {
        let (name, note) = (word.to_owned(), note.to_owned());
        Self { text: name.clone(), name, note, is_finished }
    }

    fn name(name: &str, note: &str, is_finished: bool) -> Self {
        Self { text: identifier(name), ..Self::word(name, note, is_finished) }
    }

    fn function(function: &Name) -> Self {
        let text = format!("{}(", function.name);
        Self { text, ..Self::word(&function.name, &function.note, false) }
    }

    fn setting(setting: &Name) -> Self {
        Self::word(&setting.name, &setting.note, true)
    }

    fn value(value: &str) -> Self {
        let name = value.trim_matches('\'').to_owned();
        Self { name, ..Self::word(value, "", false) }
    }

    fn suggestion(self, span: Span) -> Suggestion {
        Suggestion {
            value: self.text,
            description: (!self.note.is_empty()).then_some(self.note),
            span,
            append_whitespace: self.is_finished,
            ..Suggestion::default()
        }
    }
}

/// A name as SQL needs it.
fn identifier(name: &str) -> String {
    let is_plain = name.chars().all(|sign| {
        sign.is_lowercase() && sign.is_alphabetic() || sign.is_ascii_digit() || sign == '_'
    }) && !name.starts_with(|sign: char| sign.is_ascii_digit())
        && !name.is_empty();
    match is_plain && !is_keyword(name) {
        true => name.to_owned(),
        false => format!("\"{}\"", name.replace('"', "\"\"")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nearscan::Engine;
    use rstest::rstest;
    use tokio::runtime::Runtime;

    /// What is offered at the bar of a text, beside tables `people` and `s.items`.
    fn offered(text: &str) -> Vec<String> {
        let runtime = Runtime::new().unwrap();
        let engine = runtime.block_on(async {
            let engine = Engine::builder().build().await.unwrap();
            for sql in [
                "CREATE TABLE people AS SELECT 1 AS id, 'a' AS \"Full name\", 2 AS height",
                "CREATE SCHEMA s",
                "CREATE TABLE s.items AS SELECT 1 AS id, 2 AS \"select\"",
            ] {
                engine.sql(sql).await.unwrap().collect().await.unwrap();
            }
            engine
        });
        let vocabulary = Vocabulary::of(engine, runtime.handle().clone());
        let mut completer = SqlCompleter { vocabulary: Arc::new(Mutex::new(vocabulary)) };
        let position = text.find('|').unwrap();
        let line = text.replacen('|', "", 1);
        let found = completer.complete(&line, position);
        assert!(found.iter().all(|it| line.get(it.span.start..it.span.end).is_some()));
        found.into_iter().map(|suggestion| suggestion.value).collect()
    }

    #[rstest]
    #[case("SELECT | FROM people", &["id", "\"Full name\"", "height"])]
    #[case("SELECT p.he| FROM people AS p", &["height"])]
    #[case("SELECT hei|", &["height"])]
    #[case("summ|", &["summarize"])]
    #[case("SELECT * FROM people JOIN s.items i ON i.|", &["id", "\"select\""])]
    #[case("SELECT items.i| FROM s.items", &["id"])]
    #[case("SELECT q.| FROM (SELECT 1 AS one, 2 AS two) q", &["one", "two"])]
    #[case("WITH q AS (SELECT 1 AS one) SELECT q.| FROM q", &["one"])]
    #[case("WITH q AS (SELECT 1 AS one) SELECT z.| FROM q AS z", &["one"])]
    #[case("SELECT r.| FROM range(0, 5) AS r", &["value"])]
    #[case("SET nearscan.pushdown.mode = 'f|", &["'force'"])]
    #[case("DROP TABLE IF EXISTS peo|", &["people"])]
    #[case("SHOW TAB|", &["TABLES"])]
    #[case(".import a.csv peo|", &["people"])]
    #[case(".open a\u{a0}b|", &[])]
    #[case("SELECT * FROM people WHERE id = 'x|", &[])]
    #[case("SELECT * FROM pe|", &["people"])]
    #[case("SELECT * FROM s.|", &["items"])]
    #[case("SELECT * FROM infor|", &["information_schema."])]
    #[case("SELECT approx_percentile_cont_w|", &["approx_percentile_cont_with_weight("])]
    #[case("SELECT 1 qual|", &["qualify"])]
    #[case("SELECT 1 QUAL|", &["QUALIFY"])]
    #[case("SET nearscan.pushdown.mo|", &["nearscan.pushdown.mode"])]
    #[case("SET nearscan.pushdown.mode = f|", &["'force'"])]
    #[case(".mo|", &[".mode"])]
    #[case(".timer o|", &["on", "off"])]
    #[case(".schema peo|", &["people"])]
    #[case(".explain SELECT heig| FROM people", &["height"])]
    #[case("SELECT 1 -- a|", &[])]
    fn names_are_offered_where_they_may_stand(#[case] text: &str, #[case] expected: &[&str]) {
        assert_eq!(offered(text), expected);
    }

    #[test]
    fn columns_come_before_functions_and_keywords() {
        let found = offered("SELECT i| FROM people");
        assert_eq!(found[0], "id");
        assert!(found.contains(&"isnan(".to_owned()) && found.contains(&"in".to_owned()));
    }
}
