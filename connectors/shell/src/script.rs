// SPDX-License-Identifier: Apache-2.0
//! Separates the commands of the shell in a script from its statements.
//!
//! A command is a line that begins with a dot where a statement could begin. Statements keep the
//! numbers of their lines, for errors.

use std::borrow::Cow;

use nearscan::{Ending, Engine};

/// A part of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part<'a> {
    /// Some statements.
    Statements(Cow<'a, str>),
    /// A line for the shell.
    Command(&'a str),
}

/// Returns the parts of a script in their order.
pub(crate) fn parts<'a>(engine: &Engine, text: &'a str) -> Vec<Part<'a>> {
    if !text.lines().any(is_command) {
        return vec![Part::Statements(Cow::Borrowed(text))];
    }
    let mut found = Vec::new();
    let mut pending = String::new();
    // The line at which the pending statements begin.
    let mut start = 0;
    for (index, line) in text.split_inclusive('\n').enumerate() {
        if is_command(line) && engine.ending(&pending) != Ending::Open {
            take(&mut pending, start, &mut found);
            found.push(Part::Command(line.trim()));
            start = index + 1;
        } else {
            pending.push_str(line);
        }
    }
    take(&mut pending, start, &mut found);
    found
}

/// Whether the last part of a text is a command.
pub(crate) fn ends_with_command(engine: &Engine, text: &str) -> bool {
    matches!(parts(engine, text).last(), Some(Part::Command(_)))
}

/// Whether a line is for the shell, if it begins a statement.
pub(crate) fn is_command(line: &str) -> bool {
    let line = line.trim().trim_end_matches(';').trim_end();
    let behind_dot = line.strip_prefix('.');
    line == "\\x"
        || behind_dot.is_some_and(|rest| !rest.starts_with(|it: char| it.is_ascii_digit()))
}

/// Ends the statements so far, which begin behind `lines_before` lines.
fn take<'a>(pending: &mut String, lines_before: usize, found: &mut Vec<Part<'a>>) {
    if !pending.trim().is_empty() {
        let text = format!("{}{pending}", "\n".repeat(lines_before));
        found.push(Part::Statements(Cow::Owned(text)));
    }
    pending.clear();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn commands_stand_between_statements_which_keep_their_lines() {
        let engine = Engine::builder().build().await.unwrap();
        let sql = |text: &str| Part::Statements(Cow::Owned(text.to_owned()));
        let text = ".timer on\nSELECT 1,\n.5;\n\\x\n\nSELECT '\n.x'";
        let expected = [
            Part::Command(".timer on"),
            sql("\nSELECT 1,\n.5;\n"),
            Part::Command("\\x"),
            sql("\n\n\n\n\nSELECT '\n.x'"),
        ];
        assert_eq!(parts(&engine, text), expected);
        let whole = "SELECT 1;\nSELECT .5";
        assert_eq!(parts(&engine, whole), [Part::Statements(Cow::Borrowed(whole))]);
        assert_eq!(parts(&engine, "SELECT a\n.b FROM t"), [sql("SELECT a\n.b FROM t")]);
    }
}
