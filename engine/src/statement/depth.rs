// SPDX-License-Identifier: Apache-2.0
//! How deep the expressions and queries of a statement are, before it is parsed.
//!
//! `a + b + c` is an expression in an expression, and so is each condition of a chain of ANDs; a
//! chain of UNION is a query in a query, and one of JOIN too. The parser, the planner and what
//! computes values go down into each other as deep, and a stack that is used up ends the process.
//! Parentheses have a limit of the parser's own.
//!
//! What is counted are operators in a row, up to commas and words that begin another expression,
//! and all joins and set operations. They are at least as many as the expressions and queries in
//! each other, parentheses aside, and may be more: `a * b + c * d + ..` counts twice.

use datafusion::{
    common::{Result, not_impl_err},
    sql::sqlparser::{
        keywords::Keyword,
        tokenizer::{Token, TokenWithSpan},
    },
};

/// How deep they may be, as in other engines. What runs them has [room](crate::stack) for it.
const MAX_DEPTH: usize = 1000;

/// Refuses a statement that is deeper.
///
/// # Errors
/// `NotImplemented` if it is.
pub(super) fn check(tokens: &[TokenWithSpan]) -> Result<()> {
    match of(tokens) > MAX_DEPTH {
        true => not_impl_err!(
            "more than {MAX_DEPTH} operators in a row, or joins and set operations; write IN or \
             VALUES for many values, and set parentheses"
        ),
        false => Ok(()),
    }
}

/// What stands in parentheses or in CASE, or the whole statement.
#[derive(Default)]
struct Level {
    is_case: bool,
    /// ANDs and ORs of the expression that is being read.
    terms: usize,
    /// Other operators since the last of them.
    run: usize,
    /// The most of these between two of them.
    longest_run: usize,
    /// The depth of what stands in parentheses in it.
    inside: usize,
    /// The next AND is that of a BETWEEN.
    is_between: bool,
    /// The depth of the expressions in front of it.
    before: usize,
    /// Joins and set operations.
    queries: usize,
}

impl Level {
    fn depth(&self) -> usize {
        self.queries + self.of_expressions()
    }

    fn of_expressions(&self) -> usize {
        self.before.max(self.terms + self.longest_run.max(self.run) + self.inside)
    }

    fn begin(&mut self) {
        let Self { is_case, queries, .. } = *self;
        *self = Self { is_case, queries, before: self.of_expressions(), ..Self::default() };
    }

    fn add_term(&mut self) {
        self.longest_run = self.longest_run.max(self.run);
        self.run = 0;
        self.terms += 1;
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
                Keyword::AND | Keyword::OR | Keyword::XOR => level.add_term(),
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

/// Whether a word stands behind an expression and makes another of it.
const fn is_postfix(keyword: Keyword) -> bool {
    use Keyword::{AT, COLLATE, ILIKE, IN, IS, LIKE, NOTNULL, REGEXP, RLIKE, SIMILAR};
    matches!(keyword, AT | COLLATE | ILIKE | IN | IS | LIKE | NOTNULL | REGEXP | RLIKE | SIMILAR)
}

/// Whether a word makes one query of two.
const fn joins_queries(keyword: Keyword) -> bool {
    matches!(
        keyword,
        Keyword::JOIN | Keyword::UNION | Keyword::EXCEPT | Keyword::INTERSECT | Keyword::MINUS
    )
}

/// Whether an expression begins behind a word.
const fn begins(keyword: Keyword) -> bool {
    use Keyword::{BY, ELSE, FROM, HAVING, ON, QUALIFY, SELECT, THEN, VALUES, WHEN, WHERE};
    matches!(
        keyword,
        BY | ELSE | FROM | HAVING | ON | QUALIFY | SELECT | THEN | VALUES | WHEN | WHERE
    )
}

/// Whether a token is a sign that joins expressions. There are some fifty, of all dialects.
fn is_operator(token: &Token) -> bool {
    let is_sign = |first| "+-*/%=<>!|&^~#@?:".contains(first);
    !matches!(token, Token::Whitespace(_)) && token.to_string().starts_with(is_sign)
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::sql::sqlparser::{dialect::GenericDialect, tokenizer::Tokenizer};
    use rstest::rstest;

    #[rstest]
    #[case("SELECT a FROM t", 0)]
    #[case("SELECT a + b + c, d - 1", 2)]
    #[case("SELECT a FROM t WHERE a = 1 AND b = 2 AND c = 3", 3)]
    #[case("SELECT a WHERE a BETWEEN 1 AND 2 OR a BETWEEN 5 AND 6", 1)]
    #[case("SELECT a WHERE a = 1 AND b + c + d = 2", 4)]
    #[case("SELECT (a + (b + c)) * 2", 3)]
    #[case("SELECT CASE WHEN a = 1 THEN b + c + d END + CASE a WHEN 2 THEN 3 END", 3)]
    #[case("SELECT a IS NULL IS NULL, a::INT::TEXT::INT", 3)]
    #[case("SELECT l[1][2][3]", 3)]
    #[case("SELECT -1, 'a + b + c' -- + + +", 1)]
    #[case("SELECT a ORDER BY a + 1, b || c || d", 2)]
    #[case("SELECT 1 UNION SELECT 2 + 3 EXCEPT SELECT 4 - 5 - 6", 4)]
    #[case("SELECT (SELECT 1 UNION ALL SELECT 2) + 3 FROM t JOIN u ON t.a = u.a", 3)]
    #[case("SELECT a + b) + c", 2)]
    #[case("SELECT (a + b + (c", 2)]
    fn is_that_of_the_longest_row_of_operators(#[case] text: &str, #[case] expected: usize) {
        let tokens = Tokenizer::new(&GenericDialect {}, text).tokenize_with_location().unwrap();
        assert_eq!(of(&tokens), expected);
    }
}
