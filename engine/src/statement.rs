// SPDX-License-Identifier: Apache-2.0
//! Splits a text into statements, with DataFusion's tokenizer and parser.
//!
//! A semicolon inside a string, a quoted name or a comment does not end a statement, because the
//! tokenizer recognises these. Each statement is parsed separately, so a syntax error in one does
//! not affect the others; it takes the place of its statement in the result.

use datafusion::{
    common::DataFusionError,
    config::{Dialect as DialectName, SqlParserOptions},
    sql::{
        parser::Statement as Parsed,
        sqlparser::{
            dialect::{Dialect, GenericDialect, dialect_from_str},
            parser::ParserError,
            tokenizer::{Location, Token, TokenWithSpan, Tokenizer},
        },
    },
};
use nearscan_corrections::{CorrectionSet, parse_and_rewrite};
use nearscan_dialect::{NearscanDialect, prepare, rewrite};

use crate::error::{ErrorContext, Result};

/// One statement of a text.
#[derive(Debug, Clone)]
pub struct Statement {
    pub(crate) parsed: Parsed,
    levels: usize,
    text: String,
}

impl Statement {
    /// Returns the statement as written, without the semicolon and the white space around it.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns an upper limit of its depth.
    pub(crate) fn levels(&self) -> usize {
        self.levels
    }
}

/// The state of the last statement of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// There is no statement, only white space and comments.
    Blank,
    /// The text ends with a semicolon.
    Closed,
    /// More may follow: no semicolon yet, or a string or comment is still open.
    Open,
}

/// Splits `text` into statements, in order; empty ones are omitted.
pub(crate) fn split(
    text: &str,
    options: &SqlParserOptions,
    corrections: CorrectionSet,
) -> Vec<Result<Statement>> {
    let dialect = dialect_of(options);
    let mut tokens = Vec::with_capacity(text.len() / BYTES_OF_A_TOKEN);
    let broken =
        Tokenizer::new(dialect.as_ref(), text).tokenize_with_location_into_buf(&mut tokens).err();
    number_parameters(&mut tokens);
    let mut groups = split_at_semicolons(tokens);
    // Tokens after the last semicolon belong to the statement with the invalid character.
    if broken.is_some() {
        groups.pop();
    }
    let context = ErrorContext { text: Some(text), ..ErrorContext::default() };
    let mut statements: Vec<Result<Statement>> = groups
        .into_iter()
        .filter(|group| !is_blank(group))
        .map(|group| {
            let source = source(text, &group);
            // The error of an incomplete statement is at the end of the statement, not of the text.
            let context = ErrorContext { end: end(&group), ..context.clone() };
            let prepared = match is_ours(options) {
                true => prepare(group),
                false => Ok(group),
            };
            prepared
                .and_then(|group| {
                    parse_and_rewrite(group, dialect.as_ref(), options, corrections, rewrite)
                })
                .map(|(parsed, levels)| Statement { parsed, levels, text: source.to_owned() })
                .map_err(|error| context.classify(error))
        })
        .collect();
    statements.extend(broken.map(|error| {
        let error = DataFusionError::SQL(Box::new(ParserError::from(error)), None);
        Err(context.classify(error))
    }));
    statements
}

/// Bytes of text that a token has, on average and with the white space around it, which is a token
/// too; room is reserved for so many tokens.
const BYTES_OF_A_TOKEN: usize = 3;

/// Splits tokens at semicolons, which belong to no group; there is at least one group.
fn split_at_semicolons(tokens: Vec<TokenWithSpan>) -> Vec<Vec<TokenWithSpan>> {
    let ends = tokens.iter().enumerate().filter(|(_, token)| token.token == Token::SemiColon);
    let ends: Vec<usize> = ends.map(|(index, _)| index).collect();
    // From the last one, so that the tokens before it stay where they are.
    let mut rest = tokens;
    let mut groups: Vec<Vec<TokenWithSpan>> = Vec::with_capacity(ends.len() + 1);
    for end in ends.into_iter().rev() {
        groups.push(rest.split_off(end + 1));
        rest.pop();
    }
    groups.push(rest);
    groups.reverse();
    groups
}

/// Numbers the parameters `?` of each statement, from 1.
fn number_parameters(tokens: &mut [TokenWithSpan]) {
    let mut number = 0;
    for TokenWithSpan { token, .. } in tokens {
        match token {
            Token::SemiColon => number = 0,
            Token::Placeholder(name) if name == "?" => {
                number += 1;
                *name = format!("${number}");
            }
            _ => {}
        }
    }
}

/// Returns whether `text` ends with a semicolon outside of strings and comments.
pub(crate) fn ending(text: &str, options: &SqlParserOptions) -> Ending {
    let dialect = dialect_of(options);
    match Tokenizer::new(dialect.as_ref(), text).tokenize() {
        Err(_) => Ending::Open,
        Ok(tokens) => {
            match tokens.iter().rev().find(|token| !matches!(token, Token::Whitespace(_))) {
                None => Ending::Blank,
                Some(Token::SemiColon) => Ending::Closed,
                Some(_) => Ending::Open,
            }
        }
    }
}

/// Returns the dialect of the settings; the default is ours.
fn dialect_of(options: &SqlParserOptions) -> Box<dyn Dialect> {
    if is_ours(options) {
        return Box::new(NearscanDialect);
    }
    dialect_from_str(options.dialect).unwrap_or_else(|| Box::new(GenericDialect {}))
}

/// Whether the dialect is ours, and not one that a user has chosen.
fn is_ours(options: &SqlParserOptions) -> bool {
    options.dialect == DialectName::Generic
}

fn is_blank(tokens: &[TokenWithSpan]) -> bool {
    tokens.iter().all(|token| matches!(token.token, Token::Whitespace(_)))
}

/// Returns the source of the statement, without white space and comments around it.
fn source<'a>(text: &'a str, tokens: &[TokenWithSpan]) -> &'a str {
    let words = || tokens.iter().filter(|token| !matches!(token.token, Token::Whitespace(_)));
    match (words().next(), words().next_back()) {
        (Some(first), Some(last)) => {
            let start = offset(text, first.span.start);
            &text[start..offset(text, last.span.end).max(start)]
        }
        _ => "",
    }
}

/// Returns the place after the last token of a statement, line and column from 1.
fn end(tokens: &[TokenWithSpan]) -> Option<(u64, u64)> {
    let last = tokens.iter().rev().find(|token| !matches!(token.token, Token::Whitespace(_)))?;
    Some((last.span.end.line, last.span.end.column))
}

/// Converts a line and a column, both from 1 and in characters, to an offset in bytes.
fn offset(text: &str, location: Location) -> usize {
    let line = usize::try_from(location.line).unwrap_or(1).saturating_sub(1);
    let column = usize::try_from(location.column).unwrap_or(1).saturating_sub(1);
    let start = match line {
        0 => 0,
        _ => text.match_indices('\n').nth(line - 1).map_or(text.len(), |(at, _)| at + 1),
    };
    let rest = &text[start..];
    start + rest.char_indices().nth(column).map_or(rest.len(), |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn texts(text: &str) -> Vec<String> {
        split(text, &SqlParserOptions::default(), CorrectionSet::ALL)
            .into_iter()
            .map(|statement| match statement {
                Ok(statement) => statement.text().to_owned(),
                Err(error) => format!("! {error}"),
            })
            .collect()
    }

    #[rstest]
    #[case("", &[])]
    #[case(" ;; -- nothing\n ; /* ; */", &[])]
    #[case("SELECT 1", &["SELECT 1"])]
    #[case("SELECT 1; SELECT 2;", &["SELECT 1", "SELECT 2"])]
    #[case("SELECT ';' AS \"a;b\"; -- one; two\nSELECT 2", &["SELECT ';' AS \"a;b\"", "SELECT 2"])]
    #[case("SELECT 'é\n;' ; /* a */ SELECT 2 /* b */ ;", &["SELECT 'é\n;'", "SELECT 2"])]
    #[case("CREATE EXTERNAL TABLE t STORED AS PARQUET LOCATION 'a;b';SET a.b = 1",
           &["CREATE EXTERNAL TABLE t STORED AS PARQUET LOCATION 'a;b'", "SET a.b = 1"])]
    #[case("SELECT 1; SELECT FROM; SELECT 3",
           &["SELECT 1", "! syntax error at line 1, column 22", "SELECT 3"])]
    #[case("SELECT 1;\nSELECT 2 +;\nSELECT 3",
           &["SELECT 1", "! syntax error at line 2, column 11", "SELECT 3"])]
    #[case("SELECT 1;\nSELECT 'open", &["SELECT 1", "! syntax error at line 2, column 8"])]
    #[case("SELECT 1 SELECT 2", &["! syntax error at line 1, column 10"])]
    fn splits_at_the_end_of_each_statement(#[case] text: &str, #[case] expected: &[&str]) {
        assert_eq!(texts(text), expected);
    }

    #[rstest]
    #[case("", Ending::Blank)]
    #[case("-- only a comment", Ending::Blank)]
    #[case("SELECT 1", Ending::Open)]
    #[case("SELECT 1; -- done", Ending::Closed)]
    #[case("SELECT ';", Ending::Open)]
    #[case("SELECT 1 /* ;", Ending::Open)]
    #[case("SELECT 1 -- ;", Ending::Open)]
    fn ending_reports_whether_more_may_follow(#[case] text: &str, #[case] expected: Ending) {
        assert_eq!(ending(text, &SqlParserOptions::default()), expected);
    }
}
