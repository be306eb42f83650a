// SPDX-License-Identifier: Apache-2.0
//! Reads the options of COPY in parentheses behind its target, and writes them as the parser knows
//! them: `STORED AS`, `PARTITIONED BY` and `OPTIONS`.
//!
//! Options whose names have a dot are DataFusion's, and stay as they are.

use std::path::Path;

use datafusion::sql::sqlparser::{
    keywords::Keyword,
    tokenizer::{Token, TokenWithSpan, Whitespace, Word},
};

use super::{at, is_space, is_word, significant};
use crate::error::DialectError;

/// The values that an option takes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// True without a value.
    Switch,
    Number,
    Text,
}

/// The options, each with the name that DataFusion has for it.
const OPTIONS: [(&str, &str, Kind); 12] = [
    ("header", "format.has_header", Kind::Switch),
    ("delimiter", "format.delimiter", Kind::Text),
    ("delim", "format.delimiter", Kind::Text),
    ("sep", "format.delimiter", Kind::Text),
    ("quote", "format.quote", Kind::Text),
    ("escape", "format.escape", Kind::Text),
    ("null", "format.null_value", Kind::Text),
    ("nullstr", "format.null_value", Kind::Text),
    ("dateformat", "format.date_format", Kind::Text),
    ("timestampformat", "format.timestamp_format", Kind::Text),
    ("row_group_size", "format.max_row_group_size", Kind::Number),
    ("write_partition_columns", "execution.keep_partition_by_columns", Kind::Switch),
];

/// Options that are more than a key of DataFusion.
const FORMAT: &str = "format";
const PARTITION_BY: &str = "partition_by";
const COMPRESSION: &str = "compression";
const COMPRESSION_LEVEL: &str = "compression_level";

impl Kind {
    /// Returns a value as DataFusion reads it; none if the option does not take it.
    fn value(self, given: Option<String>) -> Option<String> {
        match self {
            Self::Text => given,
            Self::Number => given.filter(|text| text.parse::<u64>().is_ok()),
            Self::Switch => {
                let is_on = match given.unwrap_or_default().to_lowercase().as_str() {
                    "" | "true" | "on" | "1" => true,
                    "false" | "off" | "0" => false,
                    _ => return None,
                };
                Some(is_on.to_string())
            }
        }
    }
}

/// Returns the name that DataFusion has for an option, and the values that it takes.
fn key_of(name: &str) -> Option<(&str, Kind)> {
    let option = OPTIONS.iter().find(|(other, ..)| *other == name);
    let own = option.map(|(_, key, kind)| (*key, *kind));
    own.or_else(|| name.contains('.').then_some((name, Kind::Text)))
}

/// An option that there is not.
fn unknown(name: String) -> DialectError {
    let others = OPTIONS.into_iter().map(|(name, ..)| name);
    let options = [FORMAT, PARTITION_BY, COMPRESSION, COMPRESSION_LEVEL].into_iter().chain(others);
    DialectError::CopyOption { name, options: options.collect() }
}

/// Rewrites the options, if the statement is a COPY that has some.
///
/// # Errors
/// If there is no such option, it has no value or an invalid one, or it is given twice.
pub(super) fn rewrite(mut tokens: Vec<TokenWithSpan>) -> Result<Vec<TokenWithSpan>, DialectError> {
    let Some(list) = find(&tokens) else { return Ok(tokens) };
    let options = Options::read(&tokens[list.first..list.last], &list.target)?;
    let span = tokens[list.start].span;
    tokens.truncate(list.start);
    tokens.extend(options.tokens().into_iter().map(|token| at(span, token)));
    Ok(tokens)
}

/// Where the options are.
struct List {
    /// The target of the statement.
    target: String,
    /// The place of WITH, or of the parenthesis without it.
    start: usize,
    /// The places of the first token inside the parentheses, and of the closing one.
    first: usize,
    last: usize,
}

/// Returns the place of the options; none if the statement has none at its end.
fn find(tokens: &[TokenWithSpan]) -> Option<List> {
    if !tokens.iter().any(|token| is_word(token, Keyword::COPY)) {
        return None;
    }
    let places = significant(tokens);
    let token = |place: usize| places.get(place).map(|&index| &tokens[index]);
    let is = |place: usize, keyword| token(place).is_some_and(|token| is_word(token, keyword));
    let explain = [Keyword::EXPLAIN, Keyword::ANALYZE, Keyword::VERBOSE];
    let begin = (0..places.len()).find(|&place| !explain.iter().any(|&word| is(place, word)))?;
    if !is(begin, Keyword::COPY) {
        return None;
    }
    let depths = depths(places.iter().map(|&index| &tokens[index]));
    let to = (begin..places.len()).find(|&place| depths[place] == 0 && is(place, Keyword::TO))?;
    let Token::SingleQuotedString(target) = &token(to + 1)?.token else { return None };
    let open = to + 2 + usize::from(is(to + 2, Keyword::WITH));
    let is_list = token(open)?.token == Token::LParen;
    // Behind the list there may be nothing.
    let close = (open..places.len()).find(|&place| depths[place] == 0)?;
    (is_list && close + 1 == places.len()).then(|| List {
        target: target.clone(),
        start: places[to + 2],
        first: places[open] + 1,
        last: places[close],
    })
}

/// Returns how many parentheses are open behind each token.
fn depths<'a>(tokens: impl Iterator<Item = &'a TokenWithSpan>) -> Vec<usize> {
    let depths = tokens.scan(0_usize, |depth, token| {
        match token.token {
            Token::LParen => *depth += 1,
            Token::RParen => *depth = depth.saturating_sub(1),
            _ => {}
        }
        Some(*depth)
    });
    depths.collect()
}

/// The options of a statement.
#[derive(Default)]
struct Options {
    format: Option<String>,
    partitions: Option<Vec<String>>,
    /// Keys and values of DataFusion.
    others: Vec<(String, String)>,
}

impl Options {
    fn read(tokens: &[TokenWithSpan], target: &str) -> Result<Self, DialectError> {
        let mut options = Self::default();
        let (mut codec, mut level) = (None, None);
        let tokens: Vec<&TokenWithSpan> = tokens.iter().filter(|it| !is_space(it)).collect();
        for tokens in split(&tokens) {
            let (name, value) = entry(tokens)?;
            let given = value.text();
            let invalid = || DialectError::CopyValue { name: name.clone(), found: value.found() };
            let is_first = match name.as_str() {
                FORMAT => options.format.replace(given.ok_or_else(invalid)?).is_none(),
                PARTITION_BY => {
                    options.partitions.replace(value.columns().ok_or_else(invalid)?).is_none()
                }
                COMPRESSION => codec.replace(given.ok_or_else(invalid)?.to_lowercase()).is_none(),
                COMPRESSION_LEVEL => {
                    level.replace(Kind::Number.value(given).ok_or_else(invalid)?).is_none()
                }
                other => {
                    let (key, kind) = key_of(other).ok_or_else(|| unknown(name.clone()))?;
                    let is_first = options.others.iter().all(|(other, _)| other != key);
                    let value = kind.value(given).ok_or_else(invalid)?;
                    options.others.push((key.to_owned(), value));
                    is_first
                }
            };
            if !is_first {
                return Err(DialectError::CopyOptionTwice { name });
            }
        }
        let extension = Path::new(target).extension().and_then(|it| it.to_str());
        let format = options.format.as_deref().or(extension).unwrap_or_default();
        let is_parquet = format.eq_ignore_ascii_case("parquet");
        options.others.extend(compression(codec, level, is_parquet)?);
        Ok(options)
    }

    /// The options as the parser knows them.
    fn tokens(self) -> Vec<Token> {
        let mut tokens = Vec::new();
        if let Some(format) = self.format {
            tokens.extend(words("STORED AS"));
            tokens.push(Token::make_word(&format, None));
        }
        if let Some(columns) = self.partitions {
            tokens.extend(words("PARTITIONED BY"));
            let columns = columns.into_iter().map(|name| vec![Token::make_word(&name, None)]);
            tokens.extend(list(columns));
        }
        if !self.others.is_empty() {
            tokens.extend(words("OPTIONS"));
            tokens.extend(list(self.others.into_iter().map(|(key, value)| {
                let space = Token::Whitespace(Whitespace::Space);
                vec![Token::SingleQuotedString(key), space, Token::SingleQuotedString(value)]
            })));
        }
        tokens
    }
}

/// Codec and level as DataFusion reads them: for Parquet in one option, where some codecs need a
/// level; for text in two.
fn compression(
    codec: Option<String>,
    level: Option<String>,
    is_parquet: bool,
) -> Result<Vec<(String, String)>, DialectError> {
    let codec = codec.map(|codec| match codec.as_str() {
        "none" => "uncompressed".to_owned(),
        "lz4" if is_parquet => "lz4_raw".to_owned(),
        _ => codec,
    });
    let default = match codec.as_deref() {
        Some("zstd") => Some("3"),
        Some("gzip") => Some("6"),
        Some("brotli") => Some("1"),
        _ => None,
    };
    let option = |key: &str, value| (format!("format.{key}"), value);
    Ok(match (codec, default, level) {
        (None, _, None) => Vec::new(),
        (Some(codec), Some(default), level) if is_parquet => {
            let level = level.as_deref().unwrap_or(default);
            vec![option(COMPRESSION, format!("{codec}({level})"))]
        }
        (Some(codec), _, None) => vec![option(COMPRESSION, codec)],
        (Some(codec), _, Some(level)) if !is_parquet => {
            vec![option(COMPRESSION, codec), option(COMPRESSION_LEVEL, level)]
        }
        (codec, _, Some(_)) => {
            let of = codec.unwrap_or_else(|| "no codec".to_owned());
            let (name, found) = (COMPRESSION_LEVEL.to_owned(), format!("a level of {of}"));
            return Err(DialectError::CopyValue { name, found });
        }
    })
}

/// What is behind the name of an option.
struct Value<'a>(&'a [&'a TokenWithSpan]);

impl Value<'_> {
    /// The value of a single token, or of a number with its sign.
    fn text(&self) -> Option<String> {
        match self.0 {
            [one] => text(&one.token),
            [sign, number] if sign.token == Token::Minus => {
                text(&number.token).map(|number| format!("-{number}"))
            }
            _ => None,
        }
    }

    /// The names of a column, or of a list of them.
    fn columns(&self) -> Option<Vec<String>> {
        let inside = match self.0 {
            [open, inside @ .., close]
                if open.token == Token::LParen && close.token == Token::RParen =>
            {
                inside
            }
            one => one,
        };
        let name = |part: &[&TokenWithSpan]| match part {
            [TokenWithSpan { token: Token::Word(word), .. }] => Some(identifier(word)),
            _ => None,
        };
        inside.split(|token| token.token == Token::Comma).map(name).collect()
    }

    fn found(&self) -> String {
        match self.0 {
            [] => "nothing".to_owned(),
            tokens => written(tokens),
        }
    }
}

/// Splits an option into its name, in lower case, and its value.
fn entry<'a>(tokens: &'a [&'a TokenWithSpan]) -> Result<(String, Value<'a>), DialectError> {
    let is = |place: usize, sign: &Token| tokens.get(place).is_some_and(|it| it.token == *sign);
    let name = |place: usize| match &tokens.get(place)?.token {
        Token::Word(Word { value, .. }) | Token::SingleQuotedString(value) => {
            Some(value.to_lowercase())
        }
        _ => None,
    };
    let invalid = || unknown(written(tokens));
    let mut full = name(0).ok_or_else(invalid)?;
    let mut end = 1;
    while is(end, &Token::Period) {
        full = format!("{full}.{}", name(end + 1).ok_or_else(invalid)?);
        end += 2;
    }
    end += usize::from(is(end, &Token::Eq));
    Ok((full, Value(&tokens[end..])))
}

/// Splits a list at the commas that are in no parentheses.
fn split<'a>(tokens: &'a [&'a TokenWithSpan]) -> impl Iterator<Item = &'a [&'a TokenWithSpan]> {
    let mut depths = depths(tokens.iter().copied()).into_iter();
    tokens.split(move |token| depths.next() == Some(0) && token.token == Token::Comma)
}

fn written(tokens: &[&TokenWithSpan]) -> String {
    tokens.iter().map(|token| token.to_string()).collect::<Vec<_>>().join(" ")
}

fn text(token: &Token) -> Option<String> {
    match token {
        Token::Word(word) => Some(word.value.clone()),
        Token::SingleQuotedString(text) => Some(text.clone()),
        Token::EscapedStringLiteral(text) => Some(text.clone()),
        Token::Number(number, _) => Some(number.clone()),
        _ => None,
    }
}

/// A name as the planner reads it: in lower case without quotes.
fn identifier(word: &Word) -> String {
    match word.quote_style {
        Some(_) => word.value.clone(),
        None => word.value.to_lowercase(),
    }
}

/// Keywords, with a space before each.
fn words(keywords: &str) -> Vec<Token> {
    let word = |word| [Token::Whitespace(Whitespace::Space), Token::make_keyword(word)];
    let end = Token::Whitespace(Whitespace::Space);
    keywords.split(' ').flat_map(word).chain([end]).collect()
}

/// Items in parentheses, with commas between them.
fn list(items: impl Iterator<Item = Vec<Token>>) -> Vec<Token> {
    let mut tokens = vec![Token::LParen];
    for (index, item) in items.enumerate() {
        tokens.extend((index > 0).then_some(Token::Comma));
        tokens.extend(item);
    }
    tokens.push(Token::RParen);
    tokens
}
