// SPDX-License-Identifier: Apache-2.0
//! Blanks out comments and literals of Rust source, so that a search finds code only.
//!
//! A small scanner, not a parser: it knows line comments, nested block comments, plain and raw
//! strings (also of bytes), characters, and that `'a` may be a lifetime. Every character outside of
//! those is kept in its place, and so is every line end.

/// Rust source, blanked.
#[derive(Debug)]
pub(super) struct Blanked {
    /// As many lines as the source, and in each as many characters.
    pub(super) code: String,
    /// Per line, whether it begins inside a string.
    pub(super) begins_in_string: Vec<bool>,
}

/// Blanks comments, strings and characters of `text`.
pub(super) fn blank(text: &str) -> Blanked {
    let mut scanner = Scanner {
        characters: text.chars().collect(),
        position: 0,
        blanked: Blanked { code: String::with_capacity(text.len()), begins_in_string: vec![false] },
    };
    scanner.scan();
    scanner.blanked
}

/// Whether `code` holds `word` with no letter, digit or `_` on either side.
pub(super) fn has_word(code: &str, word: &str) -> bool {
    let is_part = |character: char| character.is_alphanumeric() || character == '_';
    code.match_indices(word).any(|(start, _)| {
        let before = code[..start].chars().next_back();
        let after = code[start + word.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

struct Scanner {
    characters: Vec<char>,
    position: usize,
    blanked: Blanked,
}

impl Scanner {
    fn scan(&mut self) {
        while let Some(character) = self.peek(0) {
            match (character, self.peek(1)) {
                ('/', Some('/')) => self.line_comment(),
                ('/', Some('*')) => self.block_comment(),
                ('"', _) => self.string(),
                ('\'', _) => self.character_or_lifetime(),
                ('r', Some('"' | '#')) if self.starts_raw_string() => self.raw_string(),
                _ => self.keep(),
            }
        }
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.characters.get(self.position + ahead).copied()
    }

    fn keep(&mut self) {
        if let Some(character) = self.peek(0) {
            self.write(character, character, false);
        }
    }

    fn blank(&mut self, in_string: bool) {
        if let Some(character) = self.peek(0) {
            self.write(character, ' ', in_string);
        }
    }

    fn write(&mut self, read: char, written: char, in_string: bool) {
        self.position += 1;
        if read == '\n' {
            self.blanked.code.push('\n');
            self.blanked.begins_in_string.push(in_string);
        } else {
            self.blanked.code.push(written);
        }
    }

    fn line_comment(&mut self) {
        while self.peek(0).is_some_and(|character| character != '\n') {
            self.blank(false);
        }
    }

    fn block_comment(&mut self) {
        let mut depth = 0_usize;
        loop {
            let step = match (self.peek(0), self.peek(1)) {
                (None, _) => return,
                (Some('/'), Some('*')) => {
                    depth += 1;
                    2
                }
                (Some('*'), Some('/')) => {
                    depth -= 1;
                    2
                }
                (Some(_), _) => 1,
            };
            for _ in 0..step {
                self.blank(false);
            }
            if depth == 0 {
                return;
            }
        }
    }

    fn string(&mut self) {
        self.blank(false);
        while let Some(character) = self.peek(0) {
            if character == '\\' {
                self.blank(true);
            }
            self.blank(character != '"');
            if character == '"' {
                return;
            }
        }
    }

    /// At an `r`: not the end of a name, and followed by hashes and a quote (`r#type` is a name).
    fn starts_raw_string(&self) -> bool {
        let is_name = |character: char| character.is_alphanumeric() || character == '_';
        let before = |back: usize| self.position.checked_sub(back).map(|at| self.characters[at]);
        let prefixed = matches!(before(1), Some('b' | 'c'));
        let name_before = if prefixed { before(2) } else { before(1) };
        if name_before.is_some_and(is_name) {
            return false;
        }
        let mut ahead = 1;
        while self.peek(ahead) == Some('#') {
            ahead += 1;
        }
        self.peek(ahead) == Some('"')
    }

    fn raw_string(&mut self) {
        let mut hashes = 0;
        self.blank(false);
        while self.peek(0) == Some('#') {
            hashes += 1;
            self.blank(false);
        }
        self.blank(false);
        while let Some(character) = self.peek(0) {
            let ends = character == '"' && (1..=hashes).all(|ahead| self.peek(ahead) == Some('#'));
            self.blank(true);
            if ends {
                for _ in 0..hashes {
                    self.blank(false);
                }
                return;
            }
        }
    }

    fn character_or_lifetime(&mut self) {
        match (self.peek(1), self.peek(2)) {
            (Some('\\'), _) => {
                // The quote, the backslash and what it escapes; then up to the closing quote.
                for _ in 0..3 {
                    self.blank(false);
                }
                while self.peek(0).is_some_and(|character| character != '\'') {
                    self.blank(false);
                }
                self.blank(false);
            }
            (Some(_), Some('\'')) => {
                for _ in 0..3 {
                    self.blank(false);
                }
            }
            _ => self.keep(),
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::line_comment("a // b\nc", "a     \nc")]
    #[case::nested_comment("a /* b /* c */ d */ e", "a                   e")]
    #[case::string(r#"a "b \" c" d"#, "a          d")]
    #[case::raw_string(r##"a r#"b " c"# d"##, "a            d")]
    #[case::raw_name("r#type + 1", "r#type + 1")]
    #[case::name_that_ends_in_r("for\"x\"", "for   ")]
    #[case::byte_string("br\"x\" y", "b     y")]
    #[case::character("'x' + '\\'' + '\"' y", "    +      +     y")]
    #[case::unicode_escape("'\\u{1F600}' y", "            y")]
    #[case::lifetime("&'a str + '\"' y", "&'a str +     y")]
    #[case::comment_in_string("\"// no\" yes", "        yes")]
    fn blanks(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(blank(text).code, expected);
    }

    #[test]
    fn knows_which_lines_begin_inside_a_string() {
        let blanked = blank("a\n\"b\nc\"\nd\n/* \n */");
        assert_eq!(blanked.begins_in_string, [false, false, true, false, false, false]);
    }

    #[test]
    fn finds_whole_words_only() {
        assert!(has_word("x unsafe { }", "unsafe"));
        assert!(!has_word("forbid(unsafe_code)", "unsafe"));
        assert!(!has_word("an_unsafe", "unsafe"));
    }
}
