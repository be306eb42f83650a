// SPDX-License-Identifier: Apache-2.0
//! Reads samples: `USING SAMPLE` of a query, and `TABLESAMPLE` of a table.
//!
//! The parser knows `TABLESAMPLE SYSTEM (10 PERCENT)` only, so other spellings are written so.
//! It knows no clause of a query for a sample: that becomes a comment after SELECT, which the
//! parser attaches to the query as a hint. Samples are recognised by what follows the words, so
//! that `sample` stays a name.

use std::collections::BTreeMap;

use datafusion::sql::sqlparser::{
    keywords::Keyword,
    tokenizer::{Token, TokenWithSpan, Whitespace},
};

use super::{at, is_named, is_word, significant};
use crate::error::DialectError;

/// The prefix of the hint that holds the sample of a query.
pub(crate) const HINT: &str = "nearscanSample";

/// The size of a sample.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Size {
    /// Each row with this probability in percent, as written by the user.
    Percent(String),
    /// So many rows, all if there are fewer.
    Rows(u64),
}

/// The sample of a table or of a query.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sample {
    pub(crate) size: Size,
}

/// Removes comments of the user that would be taken for the hint of a sample.
pub(super) fn without_hints(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    for TokenWithSpan { token, .. } in &mut tokens {
        if let Token::Whitespace(Whitespace::MultiLineComment(text)) = token
            && text.starts_with(HINT)
        {
            *token = Token::Whitespace(Whitespace::Space);
        }
    }
    tokens
}

/// Rewrites all samples.
///
/// # Errors
/// If a sample has an impossible size, an unknown method, or a seed.
pub(super) fn rewrite(tokens: Vec<TokenWithSpan>) -> Result<Vec<TokenWithSpan>, DialectError> {
    let is_sample = |token: &TokenWithSpan| {
        is_word(token, Keyword::SAMPLE) || is_word(token, Keyword::TABLESAMPLE)
    };
    if !tokens.iter().any(is_sample) {
        return Ok(tokens);
    }
    let places = significant(&tokens);
    let mut edits = Edits::new();
    for (place, &index) in places.iter().enumerate() {
        let of_table = is_word(&tokens[index], Keyword::TABLESAMPLE);
        let of_query = is_word(&tokens[index], Keyword::SAMPLE)
            && place > 0
            && is_word(&tokens[places[place - 1]], Keyword::USING);
        if !of_table && !of_query {
            continue;
        }
        let mut reader = Reader { tokens: &tokens, places: &places, place: place + 1 };
        if !reader.is_at_sample() {
            continue;
        }
        let sample = reader.sample()?;
        let end = reader.places.get(reader.place).copied().unwrap_or(tokens.len());
        let span = tokens[index].span;
        if of_table {
            let written = sample.tokens().map(|token| at(span, token));
            edits.insert(index + 1, (end, written.collect()));
        } else if let Some(select) = select_before(&tokens, &places[..place - 1])
            // A second sample of the query is left to the parser, which refuses it.
            && !edits.contains_key(&(select + 1))
        {
            edits.insert(places[place - 1], (end, Vec::new()));
            let comment = format!("{HINT}+{}", sample.text());
            let hint = Token::Whitespace(Whitespace::MultiLineComment(comment));
            edits.insert(select + 1, (select + 1, vec![at(span, hint)]));
        }
    }
    Ok(edited(tokens, edits))
}

/// What stands in place of the tokens from a place to another, by the first of the two.
type Edits = BTreeMap<usize, (usize, Vec<TokenWithSpan>)>;

fn edited(tokens: Vec<TokenWithSpan>, edits: Edits) -> Vec<TokenWithSpan> {
    let mut result = Vec::with_capacity(tokens.len());
    let mut rest = tokens.into_iter();
    let mut next = 0;
    for (start, (end, written)) in edits {
        result.extend(rest.by_ref().take(start - next));
        result.extend(written);
        next = end.max(start);
        rest.by_ref().take(next - start).for_each(drop);
    }
    result.extend(rest);
    result
}

/// Returns the place of the SELECT that a clause belongs to.
fn select_before(tokens: &[TokenWithSpan], places: &[usize]) -> Option<usize> {
    let mut depth = 0_usize;
    for &index in places.iter().rev() {
        match &tokens[index].token {
            Token::RParen => depth += 1,
            Token::LParen => depth = depth.checked_sub(1)?,
            _ if depth == 0 && is_word(&tokens[index], Keyword::SELECT) => return Some(index),
            _ => {}
        }
    }
    None
}

impl Sample {
    /// Reads the text of a hint.
    pub(crate) fn of_hint(text: &str) -> Option<Self> {
        let (number, unit) = text.trim().split_once(' ')?;
        let size = match unit {
            "PERCENT" => Size::Percent(number.to_owned()),
            _ => Size::Rows(number.parse().ok()?),
        };
        Some(Self { size })
    }

    fn text(&self) -> String {
        match &self.size {
            Size::Percent(percent) => format!("{percent} PERCENT"),
            Size::Rows(rows) => format!("{rows} ROWS"),
        }
    }

    /// The sample as the parser knows it.
    fn tokens(&self) -> impl Iterator<Item = Token> {
        let (number, unit) = match &self.size {
            Size::Percent(percent) => (percent.clone(), "PERCENT"),
            Size::Rows(rows) => (rows.to_string(), "ROWS"),
        };
        [
            Token::Whitespace(Whitespace::Space),
            Token::LParen,
            Token::Number(number, false),
            Token::make_keyword(unit),
            Token::RParen,
            Token::Whitespace(Whitespace::Space),
        ]
        .into_iter()
    }
}

/// Reads a sample from tokens.
struct Reader<'a> {
    tokens: &'a [TokenWithSpan],
    places: &'a [usize],
    place: usize,
}

/// The ways to sample. All return each row with the same probability.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    Reservoir,
    /// Of single rows, or of whole blocks; both are sampled row by row here.
    Percentage,
}

impl Reader<'_> {
    fn peek(&self, distance: usize) -> Option<&TokenWithSpan> {
        self.places.get(self.place + distance).map(|&index| &self.tokens[index])
    }

    fn is_sign(&self, distance: usize, sign: &Token) -> bool {
        self.peek(distance).is_some_and(|token| token.token == *sign)
    }

    fn method(&self, distance: usize) -> Option<Method> {
        let token = self.peek(distance)?;
        if is_named(token, "reservoir") {
            return Some(Method::Reservoir);
        }
        let is_percentage = is_named(token, "bernoulli") || is_named(token, "system");
        is_percentage.then_some(Method::Percentage)
    }

    /// Whether a size or a method follows.
    fn is_at_sample(&self) -> bool {
        let is_size = |distance| {
            let token = self.peek(distance).map(|token| &token.token);
            matches!(token, Some(Token::Number(..) | Token::Minus))
        };
        let is_open = |distance| self.is_sign(distance, &Token::LParen);
        let is_any_word = matches!(self.peek(0).map(|it| &it.token), Some(Token::Word(_)));
        is_size(0) || (is_open(0) && is_size(1)) || (is_any_word && is_open(1) && is_size(2))
    }

    fn sample(&mut self) -> Result<Sample, DialectError> {
        let mut method = self.method(0);
        if let Some(Token::Word(word)) = self.peek(0).map(|it| &it.token) {
            if method.is_none() {
                return Err(problem(format!("there is no method '{}'", word.value)));
            }
            self.place += 1;
        }
        let is_open = self.is_sign(0, &Token::LParen);
        self.place += usize::from(is_open);
        let size = self.size()?;
        if self.is_sign(0, &Token::Comma) {
            return Err(DialectError::SampleSeed);
        }
        if is_open {
            self.close()?;
        } else if self.is_sign(0, &Token::LParen) && self.method(1).is_some() {
            method = self.method(1);
            self.place += 2;
            if self.is_sign(0, &Token::Comma) {
                return Err(DialectError::SampleSeed);
            }
            self.close()?;
        }
        if self.peek(0).is_some_and(|token| {
            is_word(token, Keyword::REPEATABLE) || is_word(token, Keyword::SEED)
        }) {
            return Err(DialectError::SampleSeed);
        }
        match (&size, method) {
            (Size::Rows(_), Some(Method::Percentage)) => {
                Err(problem("bernoulli and system take a percentage".to_owned()))
            }
            _ => Ok(Sample { size }),
        }
    }

    fn close(&mut self) -> Result<(), DialectError> {
        match self.is_sign(0, &Token::RParen) {
            true => {
                self.place += 1;
                Ok(())
            }
            false => Err(problem("a parenthesis is not closed".to_owned())),
        }
    }

    fn size(&mut self) -> Result<Size, DialectError> {
        let number = match self.peek(0).map(|token| &token.token) {
            Some(Token::Number(number, _)) => number.replace('_', ""),
            Some(Token::Minus) => return Err(problem("its size is negative".to_owned())),
            _ => return Err(problem("its size is no number".to_owned())),
        };
        self.place += 1;
        let unit = self.peek(0);
        let is_percent =
            unit.is_some_and(|token| token.token == Token::Mod || is_word(token, Keyword::PERCENT));
        let is_rows =
            unit.is_some_and(|token| is_word(token, Keyword::ROWS) || is_word(token, Keyword::ROW));
        self.place += usize::from(is_percent || is_rows);
        if is_percent {
            let percent: Option<f64> = number.parse().ok();
            return match percent.is_some_and(|percent| (0.0..=100.0).contains(&percent)) {
                true => Ok(Size::Percent(number)),
                false => Err(problem(format!("{number}% is not between 0% and 100%"))),
            };
        }
        let rows = number.parse().map(Size::Rows);
        rows.map_err(|_| problem(format!("{number} is no number of rows")))
    }
}

fn problem(problem: String) -> DialectError {
    DialectError::Sample { problem }
}
