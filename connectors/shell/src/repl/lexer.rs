// SPDX-License-Identifier: Apache-2.0
//! Splits a line that is being written into lexemes, for highlighting and completion.
//!
//! The text need not be valid: a quote or a comment that is still open reaches to its end. Every
//! byte belongs to exactly one lexeme, in order. What a statement means is the parser's business.

/// The kind of a lexeme.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Space,
    Comment,
    /// A name or a keyword.
    Word,
    /// A name in double quotes.
    QuotedName,
    /// A string: in single quotes, `E'..'` with escapes, or between dollar signs.
    Text,
    Number,
    /// One character that is none of the others.
    Symbol,
}

/// A part of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lexeme<'a> {
    pub(super) kind: Kind,
    /// Byte at which it begins.
    pub(super) start: usize,
    pub(super) text: &'a str,
    /// Whether the quote or comment lacks its end.
    pub(super) is_open: bool,
}

impl Lexeme<'_> {
    /// Byte behind the last one.
    pub(super) fn end(&self) -> usize {
        self.start + self.text.len()
    }

    /// Whether it says anything to the parser.
    pub(super) fn is_significant(&self) -> bool {
        !matches!(self.kind, Kind::Space | Kind::Comment)
    }

    /// Whether it is this word, in any case.
    pub(super) fn is_word(&self, word: &str) -> bool {
        self.kind == Kind::Word && self.text.eq_ignore_ascii_case(word)
    }

    /// Whether it is this character.
    pub(super) fn is_symbol(&self, symbol: char) -> bool {
        self.kind == Kind::Symbol && self.text.starts_with(symbol)
    }

    /// The name or the string without its quotes, or the text as it is.
    pub(super) fn content(&self) -> String {
        let quote = match self.kind {
            Kind::QuotedName => '"',
            Kind::Text => '\'',
            _ => return self.text.to_owned(),
        };
        let inner = self.text.strip_prefix(quote).unwrap_or(self.text);
        let inner = if self.is_open { inner } else { inner.strip_suffix(quote).unwrap_or(inner) };
        inner.replace(&format!("{quote}{quote}"), &quote.to_string())
    }
}

/// Returns the lexemes of a text.
pub(super) fn lexemes(text: &str) -> Vec<Lexeme<'_>> {
    let mut found = Vec::new();
    let mut start = 0;
    while let Some(rest) = text.get(start..).filter(|rest| !rest.is_empty()) {
        let (kind, length, is_open) = first(rest);
        found.push(Lexeme { kind, start, text: &rest[..length], is_open });
        start += length;
    }
    found
}

/// Returns how many parentheses, brackets and braces of a text are open at its end.
pub(super) fn open_brackets(text: &str) -> usize {
    let symbols = lexemes(text).into_iter().filter(|lexeme| lexeme.kind == Kind::Symbol);
    symbols.fold(0_usize, |open, symbol| match symbol.text {
        "(" | "[" | "{" => open + 1,
        ")" | "]" | "}" => open.saturating_sub(1),
        _ => open,
    })
}

/// Returns the kind and the length in bytes of the first lexeme, and whether it is open.
fn first(text: &str) -> (Kind, usize, bool) {
    let Some(sign) = text.chars().next() else { return (Kind::Space, 0, false) };
    match sign {
        '\'' => quoted(text, Kind::Text, '\''),
        'E' | 'e' if text[1..].starts_with('\'') => escaped(text),
        '$' => dollars(text),
        '"' => quoted(text, Kind::QuotedName, '"'),
        '-' if text.starts_with("--") => {
            (Kind::Comment, text.find('\n').unwrap_or(text.len()), false)
        }
        '/' if text.starts_with("/*") => comment(text),
        _ if sign.is_whitespace() => (Kind::Space, while_is(text, char::is_whitespace), false),
        _ if sign.is_alphabetic() || sign == '_' => (Kind::Word, while_is(text, in_word), false),
        _ if sign.is_ascii_digit() => {
            let in_number = |sign: char| sign == '.' || in_word(sign);
            (Kind::Number, while_is(text, in_number), false)
        }
        _ => (Kind::Symbol, sign.len_utf8(), false),
    }
}

fn in_word(sign: char) -> bool {
    sign.is_alphanumeric() || matches!(sign, '_' | '$')
}

fn while_is(text: &str, is: impl Fn(char) -> bool) -> usize {
    text.find(|sign| !is(sign)).unwrap_or(text.len())
}

/// A quote inside is written twice.
fn quoted(text: &str, kind: Kind, quote: char) -> (Kind, usize, bool) {
    let mut at = 1;
    loop {
        match text.get(at..).and_then(|rest| rest.find(quote)) {
            None => return (kind, text.len(), true),
            Some(found) if text[at + found + 1..].starts_with(quote) => at += found + 2,
            Some(found) => return (kind, at + found + 1, false),
        }
    }
}

/// A string whose quotes a backslash may escape.
fn escaped(text: &str) -> (Kind, usize, bool) {
    let mut is_escaped = false;
    for (at, sign) in text.char_indices().skip(2) {
        match sign {
            '\\' if !is_escaped => is_escaped = true,
            '\'' if !is_escaped => return (Kind::Text, at + 1, false),
            _ => is_escaped = false,
        }
    }
    (Kind::Text, text.len(), true)
}

/// A string between two equal tags, `$$` or `$name$`; any other dollar sign is a symbol.
fn dollars(text: &str) -> (Kind, usize, bool) {
    let name = text[1..].find(|sign: char| !sign.is_alphanumeric() && sign != '_');
    let Some(end) = name.map(|length| length + 1).filter(|end| text[*end..].starts_with('$'))
    else {
        return (Kind::Symbol, 1, false);
    };
    let (tag, rest) = text.split_at(end + 1);
    match rest.find(tag) {
        Some(at) => (Kind::Text, 2 * tag.len() + at, false),
        None => (Kind::Text, text.len(), true),
    }
}

/// Comments nest.
fn comment(text: &str) -> (Kind, usize, bool) {
    let (mut at, mut depth) = (0, 0_usize);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        if rest.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return (Kind::Comment, at, false);
            }
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    (Kind::Comment, text.len(), true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rstest::rstest;

    proptest! {
        #[test]
        fn lexemes_of_any_text_are_the_text(text in r#"[a-eE0-9 '"/*(\\$\-\n;ä.]{0,40}"#) {
            let found = lexemes(&text);
            prop_assert!(found.iter().all(|lexeme| !lexeme.text.is_empty()));
            let whole: String = found.iter().map(|lexeme| lexeme.text).collect();
            prop_assert_eq!(whole, text);
        }
    }

    #[rstest]
    #[case("a.b", &[Kind::Word, Kind::Symbol, Kind::Word])]
    #[case("1_000.5e3", &[Kind::Number])]
    #[case("'it''s' \"a\"\"b\"", &[Kind::Text, Kind::Space, Kind::QuotedName])]
    #[case("-- a\nb", &[Kind::Comment, Kind::Space, Kind::Word])]
    #[case("/* a /* b */ */c", &[Kind::Comment, Kind::Word])]
    #[case("$$a(b$$ $t$ $$ $t$", &[Kind::Text, Kind::Space, Kind::Text])]
    #[case("E'it\\'s' e'\\\\'b", &[Kind::Text, Kind::Space, Kind::Text, Kind::Word])]
    #[case("größe<>$1", &[Kind::Word, Kind::Symbol, Kind::Symbol, Kind::Symbol, Kind::Number])]
    fn text_has_lexemes(#[case] text: &str, #[case] expected: &[Kind]) {
        let kinds: Vec<Kind> = lexemes(text).iter().map(|lexeme| lexeme.kind).collect();
        assert_eq!(kinds, expected);
    }

    #[rstest]
    #[case("'a", true, "a")]
    #[case("'a''", true, "a'")]
    #[case("'a'", false, "a")]
    #[case("\"a\"\"b\"", false, "a\"b")]
    #[case("/* a", true, "/* a")]
    fn last_lexeme_may_be_open(#[case] text: &str, #[case] is_open: bool, #[case] content: &str) {
        let found = lexemes(text);
        let last = found.last().unwrap();
        assert_eq!((last.is_open, last.content().as_str()), (is_open, content));
    }

    #[rstest]
    #[case("f(a[1], {", 2)]
    #[case("f(a) ')' (", 1)]
    #[case(")))", 0)]
    fn brackets_in_quotes_are_not_open(#[case] text: &str, #[case] expected: usize) {
        assert_eq!(open_brackets(text), expected);
    }
}
