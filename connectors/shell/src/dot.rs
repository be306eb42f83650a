// SPDX-License-Identifier: Apache-2.0
//! Parses the dot commands of the interactive shell: a dot, a word, and at most one argument.

use std::path::PathBuf;

use clap::ValueEnum;

use crate::{output::Format, session::Timer};

/// The text that `.help` prints.
pub(crate) const HELP: &str = "\
.tables              list the tables
.schema [TABLE]      list the columns of a table, or of all
.timer on|off        print the time of each statement
.mode FORMAT         table, csv, tsv, json, ndjson, arrow, parquet, markdown or none
.drives              list the drives
.explain STATEMENT   show the plans of a statement
.read FILE           run a script
.output [FILE]       write results to a file, or back to the terminal
.help                show this
.quit                leave; so does Ctrl-D

Statements end with a semicolon and may take several lines. Ctrl-C ends a running statement.";

/// A command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DotCommand {
    Tables,
    Schema(Option<String>),
    Timer(Timer),
    Mode(Format),
    Drives,
    Explain(String),
    Read(PathBuf),
    Output(Option<PathBuf>),
    Help,
    Quit,
}

impl DotCommand {
    /// Reads a line that begins with a dot.
    ///
    /// # Errors
    /// The rendered text of what is wrong with it.
    pub(crate) fn parse(line: &str) -> Result<Self, String> {
        let line = line.trim().trim_end_matches(';').trim_end();
        let (word, argument) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let argument = argument.trim();
        let optional = (!argument.is_empty()).then(|| argument.to_owned());
        let required =
            |what: &str| optional.clone().ok_or_else(|| format!("error: {word} needs {what}"));
        match word {
            ".schema" => return Ok(Self::Schema(optional)),
            ".output" => return Ok(Self::Output(optional.map(|path| unquote(&path).into()))),
            ".timer" => return timer(argument),
            ".mode" => return mode(argument),
            ".explain" => return required("a statement").map(Self::Explain),
            ".read" => return required("a file").map(|path| Self::Read(unquote(&path).into())),
            _ => {}
        }
        let command = match word {
            ".tables" => Self::Tables,
            ".drives" => Self::Drives,
            ".help" => Self::Help,
            ".quit" | ".exit" => Self::Quit,
            _ => {
                let hint = "  hint: .help lists the commands";
                return Err(format!("error: unknown command '{word}'\n{hint}"));
            }
        };
        match optional {
            None => Ok(command),
            Some(argument) => Err(format!("error: {word} takes no argument, found '{argument}'")),
        }
    }
}

fn timer(argument: &str) -> Result<DotCommand, String> {
    match argument {
        "on" => Ok(DotCommand::Timer(Timer::On)),
        "off" => Ok(DotCommand::Timer(Timer::Off)),
        _ => Err("error: .timer needs on or off".to_owned()),
    }
}

fn mode(argument: &str) -> Result<DotCommand, String> {
    Format::from_str(argument, true).map(DotCommand::Mode).map_err(|_| {
        let names: Vec<String> = Format::value_variants()
            .iter()
            .filter_map(|format| Some(format.to_possible_value()?.get_name().to_owned()))
            .collect();
        format!("error: unknown format '{argument}'\n  hint: formats are {}", names.join(", "))
    })
}

fn unquote(path: &str) -> &str {
    let inner = |quote| path.strip_prefix(quote)?.strip_suffix(quote);
    inner('\'').or_else(|| inner('"')).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rstest::rstest;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2048))]

        #[test]
        fn any_line_is_a_command_or_an_error(
            word in r"\.(tables|schema|timer|mode|drives|explain|read|output|help|quit|exit|\PC*)",
            argument in r#"\PC*|['"]?\PC*['"]?|on|off|csv"#,
        ) {
            let line = format!("{word} {argument}");
            let read = DotCommand::parse(&line);
            if let Err(text) = &read {
                prop_assert!(text.starts_with("error: "), "{text}");
            }
            // White space around a line says nothing.
            prop_assert_eq!(DotCommand::parse(&format!(" \t{line}  ")), read);
        }
    }

    #[rstest]
    #[case(".tables", DotCommand::Tables)]
    #[case(" .tables ; ", DotCommand::Tables)]
    #[case(".schema", DotCommand::Schema(None))]
    #[case(".schema lineitem", DotCommand::Schema(Some("lineitem".to_owned())))]
    #[case(".timer off", DotCommand::Timer(Timer::Off))]
    #[case(".mode CSV", DotCommand::Mode(Format::Csv))]
    #[case(".explain SELECT 1;", DotCommand::Explain("SELECT 1".to_owned()))]
    #[case(".read 'a b.sql'", DotCommand::Read("a b.sql".into()))]
    #[case(".output", DotCommand::Output(None))]
    #[case(".output x.csv", DotCommand::Output(Some("x.csv".into())))]
    #[case(".exit", DotCommand::Quit)]
    fn reads_commands(#[case] line: &str, #[case] expected: DotCommand) {
        assert_eq!(DotCommand::parse(line), Ok(expected));
    }

    #[rstest]
    #[case(".nothing", "error: unknown command '.nothing'\n  hint: .help lists the commands")]
    #[case(".tables x", "error: .tables takes no argument, found 'x'")]
    #[case(".timer", "error: .timer needs on or off")]
    #[case(".read", "error: .read needs a file")]
    #[case(".explain", "error: .explain needs a statement")]
    fn invalid_command_is_an_error_with_a_hint(#[case] line: &str, #[case] expected: &str) {
        assert_eq!(DotCommand::parse(line), Err(expected.to_owned()));
    }

    #[test]
    fn help_names_every_format() {
        for format in Format::value_variants() {
            let name = format.to_possible_value().unwrap();
            assert!(HELP.contains(name.get_name()), "{name:?}");
        }
        assert!(DotCommand::parse(".mode xml").unwrap_err().contains("ndjson"));
    }
}
