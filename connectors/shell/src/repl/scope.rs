// SPDX-License-Identifier: Apache-2.0
//! Finds out what may stand at the cursor of a statement that is being written, and which tables
//! the statement refers to.
//!
//! It works on lexemes, because a statement with a gap at its cursor cannot be parsed. What it does
//! not recognise it takes for an expression.

use super::{
    keywords::is_keyword,
    lexer::{Kind, Lexeme, lexemes},
};

/// What may stand at the cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// The first word of a statement.
    Start,
    /// Within a string: a path.
    Path,
    /// A name of a table.
    Table,
    /// A name of a setting.
    Setting,
    /// The value of a setting.
    Value { setting: String },
    /// Columns, functions and keywords.
    Expression,
    /// Nothing that could be completed, such as a comment.
    Nothing,
}

/// A table that a statement refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TableRef {
    pub(super) source: Source,
    /// The name that qualifies its columns.
    pub(super) alias: Option<String>,
}

/// Where the columns of a table come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Source {
    /// A table by the parts of its name.
    Name(Vec<String>),
    /// A file, or a query in parentheses, as it stands in FROM.
    Text(String),
}

/// A cursor within a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cursor {
    pub(super) place: Place,
    /// The parts of a qualified name in front of the cursor, without the last one.
    pub(super) qualifier: Vec<String>,
    /// The part of a name or a path that is written.
    pub(super) prefix: String,
    /// Byte of the text at which the prefix begins.
    pub(super) start: usize,
    /// The tables of the statement, also those behind the cursor.
    pub(super) tables: Vec<TableRef>,
}

impl Cursor {
    /// Looks at a text with the cursor at a byte.
    pub(super) fn at(text: &str, position: usize) -> Self {
        let all = lexemes(text);
        let is_end = |lexeme: &&Lexeme<'_>| lexeme.is_symbol(';');
        let first = all.iter().filter(|lexeme| lexeme.end() <= position).rfind(is_end);
        let first = first.map_or(0, Lexeme::end);
        let last = all.iter().find(|lexeme| lexeme.start >= position && lexeme.is_symbol(';'));
        let last = last.map_or(text.len(), |lexeme| lexeme.start);
        let statement: Vec<Lexeme<'_>> =
            all.iter().filter(|it| it.start >= first && it.start < last).copied().collect();
        let before: Vec<Lexeme<'_>> = lexemes(text.get(first..position).unwrap_or_default())
            .into_iter()
            .map(|lexeme| Lexeme { start: lexeme.start + first, ..lexeme })
            .collect();
        let tables = tables(text, &statement);
        let (place, qualifier, prefix, start) = place(&before, position);
        Self { place, qualifier, prefix, start, tables }
    }
}

/// What stands in front of the cursor: the place, the qualifier, the prefix, and where that begins.
fn place(before: &[Lexeme<'_>], position: usize) -> (Place, Vec<String>, String, usize) {
    if let Some(last) = before.last() {
        match last.kind {
            Kind::Text if last.is_open => {
                let rest: Vec<&Lexeme<'_>> =
                    before[..before.len() - 1].iter().filter(|it| it.is_significant()).collect();
                let (place, start) = place_of_text(&rest, last.start);
                return (place, Vec::new(), last.content(), start);
            }
            Kind::Comment => return (Place::Nothing, Vec::new(), String::new(), position),
            Kind::Number => return (Place::Nothing, Vec::new(), String::new(), position),
            _ => {}
        }
    }
    let is_of_name = |lexeme: &Lexeme<'_>| {
        matches!(lexeme.kind, Kind::Word | Kind::QuotedName) || lexeme.is_symbol('.')
    };
    let name_length = before.iter().rev().take_while(|lexeme| is_of_name(lexeme)).count();
    let (rest, name) = before.split_at(before.len() - name_length);
    let rest: Vec<&Lexeme<'_>> = rest.iter().filter(|lexeme| lexeme.is_significant()).collect();
    let place = place_behind(&rest);
    if place == Place::Setting || matches!(place, Place::Value { .. }) {
        let start = name.first().map_or(position, |lexeme| lexeme.start);
        let prefix = name.iter().map(|lexeme| lexeme.text).collect();
        return (place, Vec::new(), prefix, start);
    }
    let mut parts: Vec<&Lexeme<'_>> = name.iter().filter(|it| !it.is_symbol('.')).collect();
    let last = match name.last() {
        Some(last) if !last.is_symbol('.') => parts.pop(),
        _ => None,
    };
    let qualifier = parts.into_iter().map(Lexeme::content).collect();
    let (prefix, start) = last.map_or((String::new(), position), |it| (it.content(), it.start));
    (place, qualifier, prefix, start)
}

/// The place of an open string behind some lexemes, and where what replaces it begins.
fn place_of_text(rest: &[&Lexeme<'_>], start: usize) -> (Place, usize) {
    let is_after = |words: &[&str]| {
        rest.last().is_some_and(|last| words.iter().any(|word| last.is_word(word)))
    };
    match place_behind(rest) {
        value @ Place::Value { .. } => (value, start),
        Place::Table => (Place::Path, start + 1),
        // COPY and CREATE EXTERNAL TABLE, and functions that read files.
        _ if is_after(&["TO", "LOCATION"]) || rest.last().is_some_and(|it| it.is_symbol('(')) => {
            (Place::Path, start + 1)
        }
        _ => (Place::Nothing, start),
    }
}

/// The place behind some lexemes.
fn place_behind(rest: &[&Lexeme<'_>]) -> Place {
    let first = |words: &[&str]| {
        rest.first().is_some_and(|lexeme| words.iter().any(|word| lexeme.is_word(word)))
    };
    let Some(last) = rest.last() else { return Place::Start };
    if first(&["SET", "RESET", "SHOW"]) {
        let assigned = rest.iter().position(|lexeme| lexeme.is_symbol('=') || lexeme.is_word("TO"));
        return match assigned {
            None if rest.len() == 1 => Place::Setting,
            None => Place::Nothing,
            Some(at) => {
                let setting = rest[1..at].iter().map(|lexeme| lexeme.text).collect();
                Place::Value { setting }
            }
        };
    }
    const TABLES: [&str; 9] =
        ["FROM", "JOIN", "INTO", "UPDATE", "TABLE", "DESCRIBE", "SUMMARIZE", "PIVOT", "UNPIVOT"];
    if TABLES.iter().any(|word| last.is_word(word)) {
        return Place::Table;
    }
    let is_if_exists =
        last.is_word("EXISTS") && rest.iter().rev().nth(1).is_some_and(|it| it.is_word("IF"));
    if is_if_exists || (first(&["COPY"]) && rest.len() == 1) {
        return Place::Table;
    }
    match last.is_symbol(',') && is_in_from(rest) {
        true => Place::Table,
        false => Place::Expression,
    }
}

/// Whether the last comma separates tables: the last clause of its level is FROM.
fn is_in_from(rest: &[&Lexeme<'_>]) -> bool {
    const CLAUSES: [&str; 11] = [
        "SELECT", "WHERE", "GROUP", "ORDER", "HAVING", "ON", "USING", "LIMIT", "QUALIFY", "SET",
        "VALUES",
    ];
    let mut depth = 0_usize;
    for lexeme in rest.iter().rev() {
        match lexeme.text {
            ")" => depth += 1,
            "(" if depth == 0 => return false,
            "(" => depth -= 1,
            _ if depth > 0 => {}
            _ if lexeme.is_word("FROM") => return true,
            _ if CLAUSES.iter().any(|word| lexeme.is_word(word)) => return false,
            _ => {}
        }
    }
    false
}

/// The tables behind FROM, JOIN, UPDATE and INTO, and the common table expressions.
fn tables(text: &str, statement: &[Lexeme<'_>]) -> Vec<TableRef> {
    let words: Vec<&Lexeme<'_>> = statement.iter().filter(|it| it.is_significant()).collect();
    let mut found = Vec::new();
    for (index, lexeme) in words.iter().enumerate() {
        found.extend(common_table(text, &words, index));
        let begins = ["FROM", "JOIN", "UPDATE", "INTO"].iter().any(|word| lexeme.is_word(word));
        if begins {
            let mut at = index + 1;
            while let Some((table, next)) = table_at(text, &words, at) {
                found.push(table);
                match words.get(next).is_some_and(|it| it.is_symbol(',')) {
                    true => at = next + 1,
                    false => break,
                }
            }
        }
    }
    found
}

/// The common table expression whose name is at a lexeme.
fn common_table(text: &str, words: &[&Lexeme<'_>], at: usize) -> Option<TableRef> {
    let [name, as_word, open, ..] = words.get(at..)? else { return None };
    let before = words.get(at.checked_sub(1)?)?;
    let is_listed = before.is_word("WITH") || before.is_word("RECURSIVE") || before.is_symbol(',');
    if !is_listed || !as_word.is_word("AS") || !open.is_symbol('(') {
        return None;
    }
    let end = words.get(closing(words, at + 2)?)?.end();
    let query = text.get(open.start..end)?.to_owned();
    Some(TableRef { source: Source::Text(query), alias: Some(name.content()) })
}

/// The table at a lexeme, and the lexeme behind it and its alias.
fn table_at(text: &str, words: &[&Lexeme<'_>], at: usize) -> Option<(TableRef, usize)> {
    let first = words.get(at)?;
    let (source, mut next) = match first.kind {
        Kind::Text if !first.is_open => (Source::Text(first.text.to_owned()), at + 1),
        Kind::Symbol if first.is_symbol('(') => {
            let end = closing(words, at)?;
            (Source::Text(text.get(first.start..words[end].end())?.to_owned()), end + 1)
        }
        // A function that makes a table.
        Kind::Word if words.get(at + 1).is_some_and(|it| it.is_symbol('(')) => {
            let end = closing(words, at + 1)?;
            (Source::Text(text.get(first.start..words[end].end())?.to_owned()), end + 1)
        }
        Kind::QuotedName => name_at(words, at),
        Kind::Word if !is_keyword(first.text) => name_at(words, at),
        _ => return None,
    };
    if words.get(next).is_some_and(|it| it.is_word("AS")) {
        next += 1;
    }
    let alias = words.get(next).filter(|it| match it.kind {
        Kind::Word => !is_keyword(it.text),
        Kind::QuotedName => true,
        _ => false,
    });
    let alias = alias.map(|it| it.content());
    next += usize::from(alias.is_some());
    Some((TableRef { source, alias }, next))
}

fn name_at(words: &[&Lexeme<'_>], at: usize) -> (Source, usize) {
    let mut parts = vec![words[at].content()];
    let mut next = at + 1;
    while let [dot, part, ..] = &words[next.min(words.len())..]
        && dot.is_symbol('.')
        && matches!(part.kind, Kind::Word | Kind::QuotedName)
    {
        parts.push(part.content());
        next += 2;
    }
    (Source::Name(parts), next)
}

/// The parenthesis that closes the one at a lexeme.
fn closing(words: &[&Lexeme<'_>], open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (index, lexeme) in words.iter().enumerate().skip(open) {
        match lexeme.text {
            "(" => depth += 1,
            ")" if depth == 1 => return Some(index),
            ")" => depth -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rstest::rstest;

    /// The cursor at the bar of a text.
    fn cursor(text: &str) -> Cursor {
        let position = text.find('|').unwrap();
        Cursor::at(&text.replacen('|', "", 1), position)
    }

    proptest! {
        #[test]
        fn any_text_has_a_cursor(
            words in proptest::collection::vec(
                proptest::sample::select(
                    "SELECT FROM JOIN ( ) , . ; a \" ' 'f' SET = -- AS t1 1 */ /* ä"
                        .split(' ')
                        .collect::<Vec<_>>(),
                ),
                0..14,
            ),
            position in 0..60_usize,
        ) {
            let text = words.join(" ");
            let position = (0..=position.min(text.len()))
                .rev()
                .find(|at| text.is_char_boundary(*at))
                .unwrap();
            prop_assert!(Cursor::at(&text, position).start <= position);
        }
    }

    #[rstest]
    #[case("sel|", Place::Start, "sel")]
    #[case("SELECT 1; |", Place::Start, "")]
    #[case("SELECT a| FROM t", Place::Expression, "a")]
    #[case("SELECT * FROM |", Place::Table, "")]
    #[case("SELECT * FROM a, b|", Place::Table, "b")]
    #[case("SELECT a, b| FROM t", Place::Expression, "b")]
    #[case("SELECT * FROM a JOIN li|", Place::Table, "li")]
    #[case("SELECT * FROM a WHERE f(b, c|", Place::Expression, "c")]
    #[case("SELECT * FROM 'data/li|", Place::Path, "data/li")]
    #[case("SUMMARIZE |", Place::Table, "")]
    #[case("SET nearscan.push|", Place::Setting, "nearscan.push")]
    #[case("SHOW a|", Place::Setting, "a")]
    #[case(
        "SET nearscan.windows = o|",
        Place::Value { setting: "nearscan.windows".to_owned() },
        "o"
    )]
    #[case("SELECT 1 -- a|", Place::Nothing, "")]
    #[case("SELECT 12|", Place::Nothing, "")]
    #[case("SELECT 1; SET a|", Place::Setting, "a")]
    fn place_is_that_of_the_words_before(
        #[case] text: &str,
        #[case] place: Place,
        #[case] prefix: &str,
    ) {
        let cursor = cursor(text);
        assert_eq!((cursor.place, cursor.prefix.as_str()), (place, prefix));
        assert_eq!(cursor.start, text.find('|').unwrap() - prefix.len());
    }

    #[test]
    fn qualifier_is_what_stands_before_the_last_dot() {
        let at = cursor("SELECT s.\"T\".co| FROM s.\"T\"");
        assert_eq!((at.qualifier, at.prefix.as_str()), (vec!["s".into(), "T".into()], "co"));
        assert_eq!(cursor("SELECT t.| FROM t").qualifier, ["t"]);
    }

    #[test]
    fn common_table_expression_is_a_table() {
        let tables = cursor("WITH x AS (SELECT 1 AS a), y AS (SELECT 2) SELECT x.| FROM x").tables;
        let named = |index: usize| tables[index].alias.as_deref();
        assert_eq!((named(0), named(1), tables.len()), (Some("x"), Some("y"), 3));
        assert_eq!(tables[0].source, Source::Text("(SELECT 1 AS a)".to_owned()));
    }

    #[test]
    fn tables_of_the_statement_are_those_on_both_sides_of_the_cursor() {
        let text = "SELECT 1 FROM no; SELECT | FROM a, s.b AS x JOIN 'f.csv' y ON true \
                    JOIN (SELECT 1 AS c) z ON true WHERE (SELECT 1 FROM d); SELECT 1 FROM no";
        let name = |parts: &[&str]| Source::Name(parts.iter().map(|&it| it.to_owned()).collect());
        let table =
            |source, alias: Option<&str>| TableRef { source, alias: alias.map(str::to_owned) };
        let expected = [
            table(name(&["a"]), None),
            table(name(&["s", "b"]), Some("x")),
            table(Source::Text("'f.csv'".to_owned()), Some("y")),
            table(Source::Text("(SELECT 1 AS c)".to_owned()), Some("z")),
            table(name(&["d"]), None),
        ];
        assert_eq!(cursor(text).tables, expected);
    }
}
