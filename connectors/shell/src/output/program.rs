// SPDX-License-Identifier: Apache-2.0
//! Chooses the program that shows long results, and starts it.

use std::{
    ffi::OsString,
    io,
    path::Path,
    process::{Child, Command, Stdio},
};

/// The program of a user who has not chosen one.
const DEFAULT: &str = "less";

/// The variables that choose the program, the first one that is set.
const VARIABLES: [&str; 2] = ["NEARSCAN_PAGER", "PAGER"];

/// Options of less: ends by itself at a short text (F), shows styles (R), cuts lines rather than
/// continuing them (S), and leaves the text on the screen (X).
const LESS_OPTIONS: &str = "FRSX";

/// A pager's program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Program {
    name: String,
    arguments: Vec<String>,
    /// The user's options of less, if there are any.
    less: Option<String>,
}

impl Program {
    /// Chooses by the environment; none if the user has asked for none by an empty variable.
    pub(super) fn chosen(variable: impl Fn(&str) -> Option<OsString>) -> Option<Self> {
        let text = |name| variable(name).map(|value| value.to_string_lossy().into_owned());
        let line = VARIABLES.into_iter().find_map(text).unwrap_or_else(|| DEFAULT.to_owned());
        let mut words = line.split_whitespace().map(str::to_owned);
        Some(Self { name: words.next()?, arguments: words.collect(), less: text("LESS") })
    }

    /// Whether it shows styles rather than the bytes of their sequences; only less is known to.
    pub(super) fn shows_styles(&self) -> bool {
        let is_less = Path::new(&self.name).file_name().is_some_and(|name| name == DEFAULT);
        let mut options = self.arguments.iter().chain(&self.less);
        is_less && (self.less.is_none() || options.any(|it| it.contains(['R', 'r'])))
    }

    /// Starts it on the terminal, with a pipe for the text.
    pub(super) fn start(&self) -> io::Result<Child> {
        let mut command = Command::new(&self.name);
        command.args(&self.arguments).stdin(Stdio::piped());
        if self.less.is_none() {
            command.env("LESS", LESS_OPTIONS);
        }
        command.spawn()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn chosen(own: Option<&str>, common: Option<&str>, less: Option<&str>) -> Option<Program> {
        Program::chosen(|name| {
            let value = match name {
                "NEARSCAN_PAGER" => own,
                "PAGER" => common,
                "LESS" => less,
                _ => None,
            };
            value.map(OsString::from)
        })
    }

    #[rstest]
    #[case::nothing_is_set(None, None, Some("less"))]
    #[case::common(None, Some("more"), Some("more"))]
    #[case::own_goes_first(Some("bat -p  --wrap never"), Some("more"), Some("bat -p --wrap never"))]
    #[case::common_is_empty(None, Some(""), None)]
    #[case::own_is_blank(Some(" "), Some("more"), None)]
    fn environment_chooses_the_program(
        #[case] own: Option<&str>,
        #[case] common: Option<&str>,
        #[case] expected: Option<&str>,
    ) {
        let words = |it: Program| [vec![it.name], it.arguments].concat().join(" ");
        assert_eq!(chosen(own, common, None).map(words).as_deref(), expected);
    }

    #[rstest]
    #[case::ours("less", None, true)]
    #[case::path("/usr/bin/less", None, true)]
    #[case::option_of_the_user("less", Some("-iMR"), true)]
    #[case::argument("less -R", Some("-i"), true)]
    #[case::user_has_not_asked("less", Some("-i"), false)]
    #[case::other("more", None, false)]
    fn only_less_shows_styles(
        #[case] line: &str,
        #[case] less: Option<&str>,
        #[case] expected: bool,
    ) {
        assert_eq!(chosen(None, Some(line), less).unwrap().shows_styles(), expected);
    }
}
