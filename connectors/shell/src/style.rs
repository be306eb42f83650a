// SPDX-License-Identifier: Apache-2.0
//! Decides whether text on the terminal is styled, and styles it.
//!
//! This is the only place that writes escape sequences of SGR (Select Graphic Rendition). Text for
//! files and pipes is never styled. It knows neither themes nor colours by number: a style says
//! what a text is, and the terminal's own colours stay.

use std::{
    env,
    ffi::OsString,
    io::{self, IsTerminal},
};

/// What a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// Name of a column
    Name,
    /// Text that explains the data and is none itself: types, NULL, rules
    Dim,
}

/// Whether text is styled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Colour {
    On,
    Off,
}

/// The sequence that ends every style.
const RESET: &str = "\x1b[0m";

/// Whether text on standard output is styled.
///
/// It is not if the output is no terminal, if `NO_COLOR` is set and not empty
/// (<https://no-color.org>), or if `TERM` is `dumb`.
pub(crate) fn is_coloured() -> bool {
    Colour::of_stdout() == Colour::On
}

impl Colour {
    /// Decides for standard output.
    pub(crate) fn of_stdout() -> Self {
        Self::of(&io::stdout(), |name| env::var_os(name))
    }

    fn of(stream: &impl IsTerminal, variable: impl Fn(&str) -> Option<OsString>) -> Self {
        if stream.is_terminal() { Self::of_terminal(variable) } else { Self::Off }
    }

    fn of_terminal(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let is_refused = variable("NO_COLOR").is_some_and(|value| !value.is_empty());
        let is_dumb = variable("TERM").is_some_and(|value| value == "dumb");
        if is_refused || is_dumb { Self::Off } else { Self::On }
    }

    /// Returns the text in a style, or as it is.
    pub(crate) fn paint(self, style: Style, text: &str) -> String {
        match self {
            // A sequence around nothing would make an empty line look as if it held something.
            Self::On if !text.is_empty() => format!("{}{text}{RESET}", style.sequence()),
            Self::On | Self::Off => text.to_owned(),
        }
    }
}

impl Style {
    fn sequence(self) -> &'static str {
        match self {
            Self::Name => "\x1b[1m",
            Self::Dim => "\x1b[2m",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::nothing_is_set(None, None, Colour::On)]
    #[case::terminal_has_colours(None, Some("xterm-256color"), Colour::On)]
    #[case::no_color_is_empty(Some(""), None, Colour::On)]
    #[case::no_color_is_set(Some("1"), None, Colour::Off)]
    #[case::no_color_is_zero(Some("0"), Some("xterm"), Colour::Off)]
    #[case::terminal_is_dumb(None, Some("dumb"), Colour::Off)]
    fn environment_decides_on_a_terminal(
        #[case] no_color: Option<&str>,
        #[case] term: Option<&str>,
        #[case] expected: Colour,
    ) {
        let variable = |name: &str| match name {
            "NO_COLOR" => no_color.map(OsString::from),
            "TERM" => term.map(OsString::from),
            _ => None,
        };
        assert_eq!(Colour::of_terminal(variable), expected);
    }

    #[test]
    fn file_is_never_coloured() {
        let file = tempfile::tempfile().unwrap();
        assert_eq!(Colour::of(&file, |_| None), Colour::Off);
    }

    #[test]
    fn text_is_wrapped_only_when_styles_are_on() {
        assert_eq!(Colour::On.paint(Style::Dim, "NULL"), "\u{1b}[2mNULL\u{1b}[0m");
        assert_eq!(Colour::On.paint(Style::Name, "n"), "\u{1b}[1mn\u{1b}[0m");
        assert_eq!(Colour::On.paint(Style::Dim, ""), "");
        assert_eq!(Colour::Off.paint(Style::Dim, "NULL"), "NULL");
    }
}
