// SPDX-License-Identifier: Apache-2.0
//! Completes queries that begin with FROM and have no SELECT: `FROM t WHERE a > 1`.
//!
//! The parser knows `FROM t SELECT a` and `FROM t`, but no clause after the latter. Such a query
//! gets `SELECT *` in front. A query begins at the start of a statement, after `(`, AS, EXPLAIN and
//! the like, after UNION, INTERSECT and EXCEPT, and after the common table expressions of WITH.

use datafusion::sql::sqlparser::{
    keywords::Keyword,
    tokenizer::{Token, TokenWithSpan},
};

use super::{at, is_named, is_word, significant};

/// Adds `SELECT *` to them.
pub(super) fn complete(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens.iter().any(|token| is_word(token, Keyword::FROM)) {
        return tokens;
    }
    let places = significant(&tokens);
    let mut starts = Vec::new();
    // Of each open parenthesis, and the statement.
    let mut levels = vec![Level::default()];
    for (place, &index) in places.iter().enumerate() {
        let token = &tokens[index];
        let depth = levels.len();
        let Some(level) = levels.last_mut() else { return tokens };
        match &token.token {
            Token::LParen => levels.push(Level::default()),
            // Without a partner the parser reports it.
            Token::RParen if depth > 1 => drop(levels.pop()),
            _ if is_word(token, Keyword::SELECT) => level.has_select = true,
            _ if is_word(token, Keyword::WITH) => level.has_with = true,
            _ if is_word(token, Keyword::FROM) => {
                let before = Before { tokens: &tokens, places: &places[..place] };
                if before.begins_query(level) && !has_select(&tokens, &places[place + 1..]) {
                    starts.push(index);
                }
            }
            _ => {}
        }
    }
    for index in starts.into_iter().rev() {
        let span = tokens[index].span;
        let select = [Token::make_keyword("SELECT"), Token::Mul].map(|token| at(span, token));
        tokens.splice(index..index, select);
    }
    tokens
}

/// What was seen of a query, without its subqueries.
#[derive(Debug, Default)]
struct Level {
    has_select: bool,
    has_with: bool,
}

/// The tokens in front of FROM.
struct Before<'a> {
    tokens: &'a [TokenWithSpan],
    places: &'a [usize],
}

impl Before<'_> {
    fn nth(&self, distance: usize) -> Option<&TokenWithSpan> {
        let place = self.places.len().checked_sub(distance)?;
        self.places.get(place).map(|&index| &self.tokens[index])
    }

    fn begins_query(&self, level: &Level) -> bool {
        let Some(last) = self.nth(1) else { return true };
        let is = |keyword| is_word(last, keyword);
        match &last.token {
            Token::LParen => !self.nth(2).is_some_and(|token| is_named(token, "trim")),
            Token::RParen => level.has_with && !level.has_select,
            _ if is_set_operator(last) => true,
            _ if is(Keyword::ALL) || is(Keyword::DISTINCT) => {
                self.nth(2).is_some_and(is_set_operator)
            }
            _ if level.has_select => false,
            _ => {
                is(Keyword::AS)
                    || is(Keyword::EXPLAIN)
                    || is(Keyword::ANALYZE)
                    || is(Keyword::VERBOSE)
                    || is(Keyword::DESCRIBE)
                    || is_named(last, "summarize")
            }
        }
    }
}

/// Whether SELECT follows in the same query.
fn has_select(tokens: &[TokenWithSpan], rest: &[usize]) -> bool {
    let mut depth = 0_usize;
    for &index in rest {
        let token = &tokens[index];
        match &token.token {
            Token::LParen => depth += 1,
            Token::RParen if depth == 0 => return false,
            Token::RParen => depth -= 1,
            _ if depth > 0 => {}
            _ if is_word(token, Keyword::SELECT) => return true,
            _ if is_set_operator(token) => return false,
            _ => {}
        }
    }
    false
}

fn is_set_operator(token: &TokenWithSpan) -> bool {
    [Keyword::UNION, Keyword::INTERSECT, Keyword::EXCEPT]
        .iter()
        .any(|keyword| is_word(token, *keyword))
}
