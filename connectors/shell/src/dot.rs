// SPDX-License-Identifier: Apache-2.0
//! Parses the commands of the shell: a dot, a word, and its arguments, on one line.
//!
//! [`COMMANDS`] lists them; `.help` and completion read it.

use std::{path::PathBuf, time::Duration};

use clap::ValueEnum;

use crate::{
    choices::{EditKeys, Timer},
    output::{Format, Paging},
};

/// What a command takes, for completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Argument {
    Nothing,
    Statement,
    Table,
    Path,
    /// A path, then the name of a table.
    PathThenTable,
    OneOf(&'static [&'static str]),
}

/// A command as `.help` shows it.
#[derive(Debug)]
pub(crate) struct Entry {
    /// The word with its dot.
    pub(crate) word: &'static str,
    /// Names of its arguments, the optional ones in brackets.
    pub(crate) arguments: &'static str,
    pub(crate) about: &'static str,
    pub(crate) argument: Argument,
}

const fn entry(
    word: &'static str,
    arguments: &'static str,
    about: &'static str,
    argument: Argument,
) -> Entry {
    Entry { word, arguments, about, argument }
}

const ON_OFF: Argument = Argument::OneOf(&["on", "off"]);

/// Every command.
pub(crate) const COMMANDS: [Entry; 20] = [
    entry(".tables", "", "list the tables", Argument::Nothing),
    entry(".schema", "[TABLE]", "list the columns of a table, or of all", Argument::Table),
    entry(".drives", "", "list the drives", Argument::Nothing),
    entry(".open", "PATH ...", "make tables of files, folders or URLs", Argument::Path),
    entry(".import", "FILE TABLE", "copy a file into a table, new or not", Argument::PathThenTable),
    entry(".read", "FILE", "run a script", Argument::Path),
    entry(".explain", "STATEMENT", "show the plans of a statement", Argument::Statement),
    entry(".profile", "", "show what the last statement did, as a tree", Argument::Nothing),
    entry(".bar", "STATEMENT", "draw a result of labels and numbers as bars", Argument::Statement),
    entry(
        ".watch",
        "[SECONDS [TIMES]] STATEMENT",
        "run a statement again and again, until Ctrl-C",
        Argument::Statement,
    ),
    entry(
        ".mode",
        "FORMAT",
        "table, vertical, csv, tsv, json, ndjson, arrow, parquet, markdown or none",
        Argument::OneOf(&[
            "table", "vertical", "csv", "tsv", "json", "ndjson", "arrow", "parquet", "markdown",
            "none",
        ]),
    ),
    entry("\\x", "", "change between table and vertical", Argument::Nothing),
    entry(
        ".pager",
        "on|off|auto",
        "when results go to the pager",
        Argument::OneOf(&["on", "off", "auto"]),
    ),
    entry(".output", "[FILE]", "write results to a file, or back to the terminal", Argument::Path),
    entry(".timer", "on|off", "print the time of each statement", ON_OFF),
    entry(".keys", "emacs|vi", "the keys that edit a line", Argument::OneOf(&["emacs", "vi"])),
    entry(".help", "", "show this", Argument::Nothing),
    entry(".quit", "", "leave; so does Ctrl-D", Argument::Nothing),
    entry(".exit", "", "leave", Argument::Nothing),
    entry(".version", "", "show the version", Argument::Nothing),
];

/// The text that `.help` prints.
pub(crate) fn help() -> String {
    let usage = |entry: &Entry| format!("{} {}", entry.word, entry.arguments);
    let width = COMMANDS.iter().map(|entry| usage(entry).len()).max().unwrap_or(0);
    let mut text = String::new();
    for entry in &COMMANDS {
        text.push_str(&format!("{:width$}  {}\n", usage(entry), entry.about));
    }
    text.push_str(
        "\nStatements end with a semicolon and may take several lines. Tab completes, Ctrl-R searches \
         the history.\nCtrl-C ends a running statement; a second one within a second leaves.",
    );
    text
}

/// A command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DotCommand {
    Tables,
    Schema(Option<String>),
    Drives,
    Open(Vec<PathBuf>),
    Import {
        file: String,
        table: String,
    },
    Read(PathBuf),
    Explain(String),
    Profile,
    Bar(String),
    Watch(Watch),
    Mode(Format),
    /// The other one of table and vertical.
    ChangeMode,
    Pager(Paging),
    Output(Option<PathBuf>),
    Timer(Timer),
    Keys(EditKeys),
    Help,
    Version,
    Quit,
}

/// A statement that runs again and again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Watch {
    /// Time from the end of one run to the start of the next.
    pub(crate) pause: Duration,
    /// Number of runs; until Ctrl-C if none.
    pub(crate) times: Option<u64>,
    pub(crate) statement: String,
}

/// Pause of a watched statement.
const PAUSE: Duration = Duration::from_secs(2);

/// Longest pause of a watched statement, in seconds.
const PAUSE_MAX: f64 = 86_400.0;

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
            ".pager" => return pager(argument),
            ".keys" => return keys(argument),
            ".explain" => return required("a statement").map(Self::Explain),
            ".bar" => return required("a statement").map(Self::Bar),
            ".watch" => return watch(argument).map(Self::Watch),
            ".read" => return required("a file").map(|path| Self::Read(unquote(&path).into())),
            ".open" => return required("a path").and_then(|text| open(&text)),
            ".import" => return import(argument),
            _ => {}
        }
        let command = match word {
            ".tables" => Self::Tables,
            ".drives" => Self::Drives,
            ".profile" => Self::Profile,
            "\\x" => Self::ChangeMode,
            ".help" => Self::Help,
            ".version" => Self::Version,
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

fn keys(argument: &str) -> Result<DotCommand, String> {
    match argument {
        "emacs" => Ok(DotCommand::Keys(EditKeys::Emacs)),
        "vi" => Ok(DotCommand::Keys(EditKeys::Vi)),
        _ => Err("error: .keys needs emacs or vi".to_owned()),
    }
}

fn pager(argument: &str) -> Result<DotCommand, String> {
    match argument {
        "on" => Ok(DotCommand::Pager(Paging::On)),
        "off" => Ok(DotCommand::Pager(Paging::Off)),
        "auto" => Ok(DotCommand::Pager(Paging::Auto)),
        _ => Err("error: .pager needs on, off or auto".to_owned()),
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

/// Up to two numbers, then the statement.
fn watch(argument: &str) -> Result<Watch, String> {
    let (pause, rest) = match leading::<f64>(argument) {
        Some((seconds, _)) if !(0.0..=PAUSE_MAX).contains(&seconds) => {
            return Err("error: .watch pauses for at most a day".to_owned());
        }
        Some((seconds, rest)) => (Duration::from_secs_f64(seconds), rest),
        None => (PAUSE, argument),
    };
    let (times, statement) = match leading::<u64>(rest) {
        Some((times, rest)) => (Some(times), rest),
        None => (None, rest),
    };
    match statement {
        "" => Err("error: .watch needs a statement".to_owned()),
        statement => Ok(Watch { pause, times, statement: statement.to_owned() }),
    }
}

/// The number at the beginning of a text, and what follows.
fn leading<T: std::str::FromStr>(text: &str) -> Option<(T, &str)> {
    let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let begins = first.starts_with(|sign: char| sign.is_ascii_digit());
    Some((first.parse().ok().filter(|_| begins)?, rest.trim_start()))
}

fn open(text: &str) -> Result<DotCommand, String> {
    words(text).map(|words| DotCommand::Open(words.into_iter().map(PathBuf::from).collect()))
}

fn import(argument: &str) -> Result<DotCommand, String> {
    let (file, table) = word(argument)?;
    match table.is_empty() {
        true => Err("error: .import needs a file and a table".to_owned()),
        false => Ok(DotCommand::Import { file: file.to_owned(), table: table.to_owned() }),
    }
}

/// Words, or paths in quotes.
fn words(text: &str) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (first, behind) = word(rest)?;
        found.push(first.to_owned());
        rest = behind;
    }
    Ok(found)
}

/// The first word of a text, without its quotes, and what follows.
fn word(text: &str) -> Result<(&str, &str), String> {
    let (word, rest) = match text.chars().next() {
        Some(quote @ ('\'' | '"')) => text[1..]
            .split_once(quote)
            .ok_or_else(|| format!("error: a quote is not closed: {text}"))?,
        _ => text.split_once(char::is_whitespace).unwrap_or((text, "")),
    };
    Ok((word, rest.trim_start()))
}

/// What is written of the last word of an argument: the byte at which it begins, its text, and the
/// quote that it is in. There are so many words before it.
pub(crate) fn last_word(argument: &str) -> (usize, &str, Option<char>, usize) {
    let mut rest = argument.trim_start();
    let mut count = 0;
    loop {
        let start = argument.len() - rest.len();
        let quote = rest.chars().next().filter(|first| matches!(first, '\'' | '"'));
        match word(rest) {
            Ok((word, behind)) => {
                let is_last = behind.is_empty() && !argument.ends_with(char::is_whitespace);
                if is_last || word.is_empty() {
                    return (start, &argument[start..], None, count);
                }
                count += 1;
                rest = behind;
            }
            Err(_) => return (start, rest.get(1..).unwrap_or_default(), quote, count),
        }
    }
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
            word in r"\.(tables|schema|timer|mode|explain|watch|read|open|import|help|quit|\PC*)",
            argument in r#"\PC*|['"]?\PC*['"]?|on|off|csv|[0-9.e]{0,4} [0-9]{0,2} \PC*"#,
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
    #[case(".profile", DotCommand::Profile)]
    #[case("\\x", DotCommand::ChangeMode)]
    #[case(".mode vertical", DotCommand::Mode(Format::Vertical))]
    #[case(".pager auto", DotCommand::Pager(Paging::Auto))]
    #[case(".keys vi", DotCommand::Keys(EditKeys::Vi))]
    #[case(".bar SELECT 1, 2", DotCommand::Bar("SELECT 1, 2".to_owned()))]
    #[case(".open a.csv 'b c/'", DotCommand::Open(vec!["a.csv".into(), "b c/".into()]))]
    #[case(".import 'a b.csv' t", import_of("a b.csv", "t"))]
    #[case(".import a.csv s.\"My table\"", import_of("a.csv", "s.\"My table\""))]
    #[case(".watch SELECT 1", watch_of(2000, None, "SELECT 1"))]
    #[case(".watch 0.5 SELECT 1", watch_of(500, None, "SELECT 1"))]
    #[case(".watch 1 3 SELECT 1", watch_of(1000, Some(3), "SELECT 1"))]
    fn reads_commands(#[case] line: &str, #[case] expected: DotCommand) {
        assert_eq!(DotCommand::parse(line), Ok(expected));
    }

    fn import_of(file: &str, table: &str) -> DotCommand {
        DotCommand::Import { file: file.to_owned(), table: table.to_owned() }
    }

    fn watch_of(milliseconds: u64, times: Option<u64>, statement: &str) -> DotCommand {
        let pause = Duration::from_millis(milliseconds);
        DotCommand::Watch(Watch { pause, times, statement: statement.to_owned() })
    }

    #[rstest]
    #[case(".nothing", "error: unknown command '.nothing'\n  hint: .help lists the commands")]
    #[case(".tables x", "error: .tables takes no argument, found 'x'")]
    #[case(".timer", "error: .timer needs on or off")]
    #[case(".read", "error: .read needs a file")]
    #[case(".explain", "error: .explain needs a statement")]
    #[case(".watch 1 2", "error: .watch needs a statement")]
    #[case(".watch 1e9 SELECT 1", "error: .watch pauses for at most a day")]
    #[case(".import a.csv", "error: .import needs a file and a table")]
    #[case(".open 'a", "error: a quote is not closed: 'a")]
    #[case(".pager", "error: .pager needs on, off or auto")]
    #[case(".keys", "error: .keys needs emacs or vi")]
    fn invalid_command_is_an_error_with_a_hint(#[case] line: &str, #[case] expected: &str) {
        assert_eq!(DotCommand::parse(line), Err(expected.to_owned()));
    }

    #[test]
    fn help_names_every_format() {
        let mode = COMMANDS.iter().find(|entry| entry.word == ".mode").unwrap();
        let Argument::OneOf(offered) = mode.argument else { panic!("{mode:?}") };
        for format in Format::value_variants() {
            let name = format.to_possible_value().unwrap();
            assert!(mode.about.contains(name.get_name()), "{name:?}");
            assert!(offered.contains(&name.get_name()), "{name:?}");
        }
        assert!(DotCommand::parse(".mode xml").unwrap_err().contains("ndjson"));
    }

    #[rstest]
    #[case("", (0, "", None, 0))]
    #[case("a b", (2, "b", None, 1))]
    #[case("a ", (2, "", None, 1))]
    #[case("a 'b c", (2, "b c", Some('\''), 1))]
    #[case("'a b' c", (6, "c", None, 1))]
    #[case("a\u{a0}b", (3, "b", None, 1))]
    fn last_word_is_the_one_that_is_written(
        #[case] argument: &str,
        #[case] expected: (usize, &str, Option<char>, usize),
    ) {
        assert_eq!(last_word(argument), expected);
    }

    #[test]
    fn every_listed_command_is_known() {
        for entry in &COMMANDS {
            let error = DotCommand::parse(entry.word).err().unwrap_or_default();
            assert!(!error.contains("unknown command"), "{error}");
            assert!(help().contains(entry.about));
        }
    }
}
