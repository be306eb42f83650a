// SPDX-License-Identifier: Apache-2.0
//! Colours the line that is being written: keywords, functions, strings, numbers and comments.

use nu_ansi_term::{Color, Style};
use reedline::{Highlighter, StyledText};

use super::{
    is_command,
    keywords::is_keyword,
    lexer::{Kind, Lexeme, lexemes},
};

/// Colours SQL, and the word of a dot command.
pub(super) struct SqlHighlighter;

impl Highlighter for SqlHighlighter {
    fn highlight(&self, line: &str, _cursor: usize) -> StyledText {
        let mut styled = StyledText::new();
        let (command, sql) = match is_command(line) {
            true => line.split_at(line.trim_end().find(char::is_whitespace).unwrap_or(line.len())),
            false => ("", line),
        };
        if !command.is_empty() {
            styled.push((Color::Purple.bold(), command.to_owned()));
        }
        let found = lexemes(sql);
        for (index, lexeme) in found.iter().enumerate() {
            styled.push((style(lexeme, found.get(index + 1)), lexeme.text.to_owned()));
        }
        styled
    }
}

fn style(lexeme: &Lexeme<'_>, next: Option<&Lexeme<'_>>) -> Style {
    match lexeme.kind {
        Kind::Word if is_keyword(lexeme.text) => Color::Blue.bold(),
        Kind::Word if next.is_some_and(|next| next.is_symbol('(')) => Color::Cyan.normal(),
        Kind::Text => Color::Green.normal(),
        Kind::Number => Color::Yellow.normal(),
        Kind::Comment => Style::new().dimmed(),
        Kind::Space | Kind::Word | Kind::QuotedName | Kind::Symbol => Style::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn styles(line: &str) -> Vec<(String, Style)> {
        let styled = SqlHighlighter.highlight(line, 0);
        styled.buffer.into_iter().map(|(style, text)| (text, style)).collect()
    }

    #[test]
    fn parts_of_a_statement_differ_and_their_text_stays() {
        let line = "SELECT avg(a) FROM 'f' WHERE b > 1.5 -- c";
        let styles = styles(line);
        let whole: String = styles.iter().map(|(text, _)| text.as_str()).collect();
        assert_eq!(whole, line);
        let style = |text: &str| styles.iter().find(|(part, _)| part == text).unwrap().1;
        assert_eq!(style("SELECT"), style("WHERE"));
        let others = [style("a"), style("avg"), style("'f'"), style("1.5"), style("-- c")];
        for (index, one) in others.iter().enumerate() {
            assert!(others[..index].iter().all(|other| other != one), "{index}");
            assert_ne!(*one, style("SELECT"));
        }
    }

    #[test]
    fn command_is_not_coloured_as_sql() {
        assert_eq!(styles(".explain SELECT 1")[0], (".explain".to_owned(), Color::Purple.bold()));
        assert_eq!(styles(".mode")[0], (".mode".to_owned(), Color::Purple.bold()));
    }
}
