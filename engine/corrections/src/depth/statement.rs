// SPDX-License-Identifier: Apache-2.0
//! Estimates the depth of the expressions and queries of a statement before it is parsed.
//!
//! `a + b + c` is a nested expression, and a chain of UNION is a nested query. Chains of AND and OR
//! are balanced after parsing, and joins are a list, so these do not count. The parser has its own
//! limit of nested parentheses.
//!
//! The estimate is the number of consecutive operators, up to commas, AND, OR and words that begin
//! another expression, plus all set operations. It is at least the number of nested expressions and
//! queries, apart from parentheses, and may be more: `a * b + c * d + ..` counts twice.

use datafusion::{
    common::{Result, not_impl_err},
    sql::sqlparser::{
        keywords::Keyword,
        tokenizer::{Token, TokenWithSpan},
    },
};

/// Largest depth; other engines have a similar limit.
const MAX_DEPTH: usize = 1000;

/// Largest number of terms of AND and OR in a statement: so many take seconds to plan, and a list
/// of values can replace more.
const MAX_TERMS: usize = 100_000;

/// Returns the depth of a statement: at most one level for each token. Short statements get an
/// estimate from their number of tokens.
///
/// # Errors
/// `NotImplemented` if it is too deep.
pub(crate) fn levels(tokens: &[TokenWithSpan]) -> Result<usize> {
    if tokens.len() < MAX_DEPTH {
        return Ok(tokens.len() / 4);
    }
    let is_term = |token: &&TokenWithSpan| {
        matches!(&token.token, Token::Word(word)
            if matches!(word.keyword, Keyword::AND | Keyword::OR))
    };
    if tokens.iter().filter(is_term).count() > MAX_TERMS {
        return not_impl_err!(
            "more than {MAX_TERMS} terms joined by AND or OR; use IN or VALUES for many values"
        );
    }
    match of(tokens) {
        depth if depth > MAX_DEPTH => not_impl_err!(
            "more than {MAX_DEPTH} operators or set operations in a chain; use IN or VALUES for \
             many values, or add parentheses"
        ),
        depth => Ok(depth),
    }
}

/// The contents of parentheses or of CASE, or the whole statement.
#[derive(Default)]
struct Level {
    is_case: bool,
    /// Operators in a row since the last AND or OR.
    run: usize,
    /// The longest run between two of AND and OR.
    longest_run: usize,
    /// The depth of nested parentheses.
    inside: usize,
    /// The next AND is that of a BETWEEN.
    is_between: bool,
    /// The depth of the expressions in front of it.
    before: usize,
    /// Set operations.
    queries: usize,
}

impl Level {
    fn depth(&self) -> usize {
        self.queries + self.of_expressions()
    }

    fn of_expressions(&self) -> usize {
        self.before.max(self.longest_run.max(self.run) + self.inside)
    }

    fn begin(&mut self) {
        let Self { is_case, queries, .. } = *self;
        *self = Self { is_case, queries, before: self.of_expressions(), ..Self::default() };
    }

    fn end_term(&mut self) {
        self.longest_run = self.longest_run.max(self.run);
        self.run = 0;
    }
}

fn of(tokens: &[TokenWithSpan]) -> usize {
    let mut levels = Vec::new();
    let mut level = Level::default();
    let end = |level: &mut Level, levels: &mut Vec<Level>| {
        if let Some(above) = levels.pop() {
            let inside = std::mem::replace(level, above).depth();
            level.inside = level.inside.max(inside);
        }
    };
    for token in tokens {
        match &token.token {
            Token::Word(word) => match word.keyword {
                Keyword::CASE => {
                    levels.push(std::mem::take(&mut level));
                    level.is_case = true;
                }
                Keyword::END if level.is_case => end(&mut level, &mut levels),
                Keyword::BETWEEN => level.is_between = true,
                Keyword::AND if level.is_between => level.is_between = false,
                Keyword::AND | Keyword::OR => level.end_term(),
                keyword if is_postfix(keyword) => level.run += 1,
                keyword if joins_queries(keyword) => level.queries += 1,
                keyword if begins(keyword) => level.begin(),
                _ => {}
            },
            Token::LBracket => {
                level.run += 1;
                levels.push(std::mem::take(&mut level));
            }
            Token::LParen | Token::LBrace => levels.push(std::mem::take(&mut level)),
            Token::RParen | Token::RBracket | Token::RBrace => end(&mut level, &mut levels),
            Token::Comma => level.begin(),
            other if is_operator(other) => level.run += 1,
            _ => {}
        }
    }
    while !levels.is_empty() {
        end(&mut level, &mut levels);
    }
    level.depth()
}

/// Whether a word after an expression makes a larger expression of it.
const fn is_postfix(keyword: Keyword) -> bool {
    use Keyword::{AT, COLLATE, ILIKE, IN, IS, LIKE, NOTNULL, REGEXP, RLIKE, SIMILAR, XOR};
    matches!(
        keyword,
        AT | COLLATE | ILIKE | IN | IS | LIKE | NOTNULL | REGEXP | RLIKE | SIMILAR | XOR
    )
}

/// Whether a word combines two queries.
const fn joins_queries(keyword: Keyword) -> bool {
    matches!(keyword, Keyword::UNION | Keyword::EXCEPT | Keyword::INTERSECT | Keyword::MINUS)
}

/// Whether an expression begins after a word.
const fn begins(keyword: Keyword) -> bool {
    use Keyword::{BY, ELSE, FROM, HAVING, ON, QUALIFY, SELECT, THEN, VALUES, WHEN, WHERE};
    matches!(
        keyword,
        BY | ELSE | FROM | HAVING | ON | QUALIFY | SELECT | THEN | VALUES | WHEN | WHERE
    )
}

/// Whether a token is an operator between expressions. There are some fifty, of all dialects.
fn is_operator(token: &Token) -> bool {
    let is_sign = |first| "+-*/%=<>!|&^~#@?:".contains(first);
    let is_other = matches!(
        token,
        Token::Whitespace(_)
            | Token::Word(_)
            | Token::Number(..)
            | Token::SingleQuotedString(_)
            | Token::Comma
            | Token::Period
            | Token::SemiColon
    );
    !is_other && token.to_string().starts_with(is_sign)
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::sql::sqlparser::{dialect::GenericDialect, tokenizer::Tokenizer};
    use rstest::rstest;

    #[rstest]
    #[case("SELECT a FROM t", 0)]
    #[case("SELECT a + b + c, d - 1", 2)]
    #[case("SELECT a FROM t WHERE a = 1 AND b = 2 AND c = 3", 1)]
    #[case("SELECT a WHERE a BETWEEN 1 AND 2 OR a BETWEEN 5 AND 6", 0)]
    #[case("SELECT a WHERE a = 1 AND b + c + d = 2", 3)]
    #[case("SELECT (a + (b + c)) * 2", 3)]
    #[case("SELECT CASE WHEN a = 1 THEN b + c + d END + CASE a WHEN 2 THEN 3 END", 3)]
    #[case("SELECT a IS NULL IS NULL, a::INT::TEXT::INT", 3)]
    #[case("SELECT l[1][2][3]", 3)]
    #[case("SELECT -1, 'a + b + c' -- + + +", 1)]
    #[case("SELECT a ORDER BY a + 1, b || c || d", 2)]
    #[case("SELECT 1 UNION SELECT 2 + 3 EXCEPT SELECT 4 - 5 - 6", 4)]
    #[case("SELECT (SELECT 1 UNION ALL SELECT 2) + 3 FROM t JOIN u ON t.a = u.a", 2)]
    #[case("SELECT a + b) + c", 2)]
    #[case("SELECT (a + b + (c", 2)]
    fn depth_is_that_of_the_longest_run_of_operators(#[case] text: &str, #[case] expected: usize) {
        let tokens = Tokenizer::new(&GenericDialect {}, text).tokenize_with_location().unwrap();
        assert_eq!(of(&tokens), expected);
    }
}
