// SPDX-License-Identifier: Apache-2.0
//! Prepares patterns of LIKE: nearly every pattern is a few pieces of text with wildcards in
//! between.
//!
//! ```text
//! forest%      starts with         %green%     contains
//! %BRASS       ends with           %a%b%       contains, one behind the other
//! ```
//!
//! Up to eight bytes that a text starts with are compared as one number.
//!
//! A wildcard matches whole characters. A piece that begins with the first byte of a character can
//! only be found where a character begins, so such pieces are looked for byte by byte. Patterns
//! with other pieces, or with a place for one character, are matched as they are defined.

use memchr::memmem::Finder;
use nearscan_command::{StringTest, TestOp, pattern};

use crate::values::head;

/// A pattern made ready.
#[derive(Debug)]
pub(crate) enum Like {
    /// No more than this text.
    Exact(Box<[u8]>),
    /// A few bytes, and anything behind them.
    Starts(Start),
    /// Text, and anything in between.
    Pieces {
        /// The bytes that a match starts with.
        prefix: Box<[u8]>,
        /// The pieces that follow the prefix, in this order.
        middle: Vec<Finder<'static>>,
        /// The bytes that a match ends with.
        suffix: Box<[u8]>,
    },
    /// Anything else.
    General(StringTest),
}

/// At most eight bytes that a text starts with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Start {
    /// The bytes as a little-endian number, zeros behind them.
    bytes: u64,
    /// The bits of that number that are of them.
    mask: u64,
    length: usize,
}

impl Start {
    fn of(text: &[u8]) -> Option<Self> {
        let mut bytes = [0; 8];
        bytes.get_mut(..text.len())?.copy_from_slice(text);
        // No bit for no byte.
        let mask = u64::MAX.checked_shr(64 - 8 * u32::try_from(text.len()).ok()?).unwrap_or(0);
        Some(Self { bytes: u64::from_le_bytes(bytes), mask, length: text.len() })
    }

    /// Whether a text starts with it that has these first eight bytes and this length.
    #[inline]
    pub(crate) fn is_of(self, head: u64, length: usize) -> bool {
        head & self.mask == self.bytes && length >= self.length
    }
}

impl Like {
    /// The pattern of a test, if it is one of LIKE.
    pub(crate) fn of(test: &StringTest) -> Option<Self> {
        if test.op != TestOp::Like {
            return None;
        }
        let text = test.strings.first()?.as_slice();
        let mut pieces = text.split(|byte| *byte == pattern::ANY);
        let prefix = pieces.next().unwrap_or_default();
        let mut middle: Vec<&[u8]> = pieces.collect();
        if text.contains(&pattern::ONE) || !middle.iter().all(|piece| starts_character(piece)) {
            return Some(Self::General(test.clone()));
        }
        let Some(suffix) = middle.pop() else {
            return Some(Self::Exact(text.into()));
        };
        middle.retain(|piece| !piece.is_empty());
        let start = Start::of(prefix).filter(|_| middle.is_empty() && suffix.is_empty());
        if let Some(start) = start {
            return Some(Self::Starts(start));
        }
        let middle = middle.into_iter().map(|piece| Finder::new(piece).into_owned()).collect();
        Some(Self::Pieces { prefix: prefix.into(), middle, suffix: suffix.into() })
    }

    /// A piece that every match holds, beside beginning and end: the longest.
    pub(crate) fn piece(&self) -> Option<&Finder<'static>> {
        match self {
            Self::Pieces { middle, .. } => middle.iter().max_by_key(|piece| piece.needle().len()),
            Self::Exact(_) | Self::Starts(_) | Self::General(_) => None,
        }
    }

    /// Whether `value` is like the pattern.
    pub(crate) fn matches(&self, value: &[u8]) -> bool {
        match self {
            Self::Exact(text) => *value == **text,
            Self::Starts(start) => start.is_of(head(value), value.len()),
            Self::Pieces { prefix, middle, suffix } => {
                let Some(mut rest) = between(value, prefix, suffix) else { return false };
                middle.iter().all(|piece| match piece.find(rest) {
                    Some(at) => {
                        rest = &rest[at + piece.needle().len()..];
                        true
                    }
                    None => false,
                })
            }
            Self::General(test) => test.passes(value),
        }
    }
}

/// What is between a prefix and a suffix; nothing if one of them is missing.
///
/// Empty ones are not compared: an empty slice may point to memory that is not mapped, where the
/// masked loads of glibc's `memcmp` take 40 ns, although they read nothing.
fn between<'a>(value: &'a [u8], prefix: &[u8], suffix: &[u8]) -> Option<&'a [u8]> {
    let rest = if prefix.is_empty() { value } else { value.strip_prefix(prefix)? };
    if suffix.is_empty() { Some(rest) } else { rest.strip_suffix(suffix) }
}

/// Whether a piece, if there is anything in it, begins as a character of UTF-8 does.
fn starts_character(piece: &[u8]) -> bool {
    piece.first().is_none_or(|first| first & 0xc0 != 0x80)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(pattern: &[u8]) -> StringTest {
        let bytes = pattern.iter().map(|byte| match byte {
            b'%' => pattern::ANY,
            b'_' => pattern::ONE,
            other => *other,
        });
        StringTest { column: 0, op: TestOp::Like, strings: vec![bytes.collect()] }
    }

    #[test]
    fn prepared_pattern_matches_as_defined() {
        for (pattern, like, unlike) in [
            ("", vec![""], vec!["a"]),
            ("%", vec!["", "a", "größe"], vec![]),
            ("abc", vec!["abc"], vec!["abcd", "xabc", ""]),
            ("ab%", vec!["ab", "abc", "abcdefghij"], vec!["a", "xab"]),
            ("abcdefgh%", vec!["abcdefgh", "abcdefghi"], vec!["abcdefg", "abcdefgi", ""]),
            ("abcdefghi%", vec!["abcdefghi", "abcdefghij"], vec!["abcdefgh", "abcdefghj"]),
            ("%ab", vec!["ab", "xab", "abab"], vec!["aba", "b"]),
            ("%ab%", vec!["ab", "xabx"], vec!["a", "axb"]),
            ("a%a", vec!["aa", "aba"], vec!["a", "ab"]),
            ("%a%%b%", vec!["ab", "xaybz", "aab"], vec!["ba", "a"]),
            ("x%ab%bc%y", vec!["xabbcy", "xab_bcy"], vec!["xabcy", "xaby"]),
            ("gr__e", vec!["größe", "grabe"], vec!["gre", "grabee"]),
            ("%ß_", vec!["größe"], vec!["groß"]),
        ] {
            let test = test(pattern.as_bytes());
            let prepared = Like::of(&test).unwrap();
            for value in like {
                assert!(prepared.matches(value.as_bytes()), "{value} LIKE {pattern}");
            }
            for value in unlike {
                assert!(!prepared.matches(value.as_bytes()), "{value} NOT LIKE {pattern}");
            }
        }
    }

    #[test]
    fn part_of_a_character_does_not_match() {
        // 0xbc is the second byte of a character, which `%` does not divide.
        let test = test(b"%\xbc%");
        assert!(matches!(Like::of(&test), Some(Like::General(_))));
        let prepared = Like::of(&test).unwrap();
        assert!(!prepared.matches("ü".as_bytes()));
        assert!(prepared.matches(b"\xbc"));
        for value in [&b"\xbc"[..], "ü".as_bytes(), b"a\xbc", b""] {
            assert_eq!(prepared.matches(value), test.passes(value), "{value:x?}");
        }
    }

    #[test]
    fn only_like_tests_are_prepared() {
        let exact = StringTest { op: TestOp::In, ..test(b"a") };
        assert!(Like::of(&exact).is_none());
        assert!(matches!(Like::of(&test(b"a")), Some(Like::Exact(text)) if *text == *b"a"));
        assert!(matches!(Like::of(&test(b"a_")), Some(Like::General(_))));
    }
}
