// SPDX-License-Identifier: Apache-2.0
//! Removes commas at the end of a list: before a closing bracket, a clause, or the end.
//!
//! None of these places may have a comma otherwise. A clause is recognised by two tokens, so that
//! its first word stays a name: `GROUP BY a, limit`.

use datafusion::sql::sqlparser::{
    keywords::Keyword,
    tokenizer::{Token, TokenWithSpan},
};

use super::{is_word, significant};

/// Removes them.
pub(super) fn strip(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let is_comma = |token: &TokenWithSpan| token.token == Token::Comma;
    if !tokens.iter().any(is_comma) {
        return tokens;
    }
    let places = significant(&tokens);
    let mut surplus = vec![false; tokens.len()];
    for (place, &index) in places.iter().enumerate() {
        let next = places.get(place + 1).map(|&index| &tokens[index]);
        let second = places.get(place + 2).map(|&index| &tokens[index]);
        // A comma without an element before it is an error for the parser.
        let has_element =
            place > 0 && !matches!(tokens[places[place - 1]].token, Token::Comma | Token::LParen);
        if is_comma(&tokens[index]) && has_element && ends_list(next, second) {
            surplus[index] = true;
        }
    }
    let mut surplus = surplus.into_iter();
    tokens.retain(|_| surplus.next() != Some(true));
    tokens
}

fn ends_list(next: Option<&TokenWithSpan>, second: Option<&TokenWithSpan>) -> bool {
    let Some(next) = next else { return true };
    if matches!(next.token, Token::RParen | Token::RBracket | Token::RBrace) {
        return true;
    }
    let Some(second) = second else { return false };
    let is = |keyword| is_word(next, keyword);
    let begins_value = matches!(
        second.token,
        Token::Word(_) | Token::Number(..) | Token::LParen | Token::SingleQuotedString(_)
    );
    ((is(Keyword::GROUP) || is(Keyword::ORDER)) && is_word(second, Keyword::BY))
        || ((is(Keyword::WHERE) || is(Keyword::HAVING)) && begins_value)
        || (is(Keyword::LIMIT) && matches!(second.token, Token::Number(..)))
}
