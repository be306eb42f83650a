// SPDX-License-Identifier: Apache-2.0
//! Implements the interactive loop: it reads statements from the terminal until the user leaves.
//!
//! A statement may take several lines and ends with a semicolon; a line that begins with a dot is a
//! command of the shell. A failure is reported, and the loop continues. Ctrl-C clears the line that
//! is being written, and ends the statement that is running.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use nearscan::{Ending, Engine};
use rustyline::{
    Completer, Config, Editor, Helper, Highlighter, Hinter,
    error::ReadlineError,
    history::FileHistory,
    validate::{ValidationContext, ValidationResult, Validator},
};

use crate::{
    args::Cli,
    dot::{self, DotCommand},
    drive,
    failure::{Failure, Result, say},
    interrupt::{self, Runtimes},
    session::Session,
};

const PROMPT: &str = "nearscan> ";

/// Statements kept in the history.
const HISTORY_MAX: usize = 10_000;

/// Whether the loop goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Read,
    Leave,
}

/// Tells the line editor when a statement is complete.
#[derive(Completer, Helper, Highlighter, Hinter)]
struct Statements {
    engine: Engine,
}

impl Validator for Statements {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let text = context.input();
        let is_complete = is_command(text) || self.engine.ending(text) != Ending::Open;
        Ok(if is_complete { ValidationResult::Valid(None) } else { ValidationResult::Incomplete })
    }
}

/// Runs the loop until the user leaves or the terminal goes away.
pub(crate) fn run(runtimes: &mut Runtimes, mut session: Session, cli: &Cli) -> Result<()> {
    let mut editor = editor(&session.engine).map_err(|error| terminal_failure(&error))?;
    let history = history_file();
    if let Some(path) = &history {
        // The first time there is none.
        let _none_yet = editor.load_history(path);
    }
    session
        .output
        .line(&format!("nearscan {}, .help lists commands", env!("CARGO_PKG_VERSION")))?;
    if !cli.no_init {
        run_init_file(runtimes, &mut session)?;
    }
    loop {
        let text = match editor.readline(PROMPT) {
            Ok(text) => text,
            Err(ReadlineError::Interrupted) => continue,
            Err(ReadlineError::Eof) => return Ok(()),
            Err(error) => return Err(terminal_failure(&error)),
        };
        if text.trim().is_empty() {
            continue;
        }
        remember(&mut editor, &text, history.as_deref());
        match step(runtimes, &mut session, &text) {
            Ok(Next::Read) => {}
            Ok(Next::Leave) => return Ok(()),
            Err(Failure::OutputClosed) => return Err(Failure::OutputClosed),
            Err(Failure::Interrupted) => {
                runtimes.renew().map_err(|error| Failure::threads(&error))?;
                session.queries = runtimes.queries().clone();
                say("interrupted");
            }
            Err(failure) => failure.print(),
        }
    }
}

/// Runs one command or some statements.
fn step(runtimes: &Runtimes, session: &mut Session, text: &str) -> Result<Next> {
    if !is_command(text) {
        interrupt::run_to_end(runtimes, session.run_text(text))?;
        return Ok(Next::Read);
    }
    if matches!(text.trim(), "exit" | "quit") {
        return Ok(Next::Leave);
    }
    match DotCommand::parse(text).map_err(Failure::Statement)? {
        DotCommand::Tables => {
            let query = "SELECT table_schema, table_name, table_type FROM information_schema.tables \
                         WHERE table_schema <> 'information_schema' ORDER BY 1, 2";
            interrupt::run_to_end(runtimes, session.run_text(query))?;
        }
        DotCommand::Schema(table) => {
            let query = schema_query(table.as_deref());
            interrupt::run_to_end(runtimes, session.run_text(&query))?;
        }
        DotCommand::Timer(timer) => session.timer = timer,
        DotCommand::Mode(format) => session.set_format(format)?,
        DotCommand::Drives if session.engine.drive_specs().is_empty() => {
            session.output.line("no drives: attach one with --drive")?;
        }
        DotCommand::Drives => interrupt::run_to_end(runtimes, session.run_text(drive::LIST))?,
        DotCommand::Explain(statement) => {
            let plans = interrupt::run_to_end(runtimes, explain(&session.engine, &statement))?;
            session.output.line(plans.trim_end())?;
        }
        DotCommand::Read(path) => interrupt::run_to_end(runtimes, session.run_file(&path))?,
        DotCommand::Output(path) => session.redirect(path)?,
        DotCommand::Help => session.output.line(dot::HELP)?,
        DotCommand::Quit => return Ok(Next::Leave),
    }
    Ok(Next::Read)
}

/// Whether a text is for the shell and not for the engine.
fn is_command(text: &str) -> bool {
    let text = text.trim();
    text.starts_with('.') || matches!(text, "exit" | "quit")
}

fn schema_query(table: Option<&str>) -> String {
    let filter = match table {
        Some(table) => {
            let (schema, name) = table.rsplit_once('.').unwrap_or(("public", table));
            let quote = |text: &str| text.trim_matches('"').replace('\'', "''");
            format!("table_schema = '{}' AND table_name = '{}'", quote(schema), quote(name))
        }
        None => "table_schema NOT IN ('information_schema', 'nearscan')".to_owned(),
    };
    format!(
        "SELECT table_name, column_name, data_type, is_nullable FROM information_schema.columns \
         WHERE {filter} ORDER BY table_schema, table_name, ordinal_position"
    )
}

async fn explain(engine: &Engine, statement: &str) -> Result<String> {
    let query = engine.sql(statement).await.map_err(|error| Failure::statement(&error))?;
    query.explain().await.map_err(|error| Failure::statement(&error))
}

fn editor(engine: &Engine) -> rustyline::Result<Editor<Statements, FileHistory>> {
    let config = Config::builder()
        .max_history_size(HISTORY_MAX)?
        .history_ignore_dups(true)?
        .history_ignore_space(true)
        .build();
    let mut editor = Editor::with_config(config)?;
    editor.set_helper(Some(Statements { engine: engine.clone() }));
    Ok(editor)
}

/// Puts a text into the history, and into its file at once: a shell that is killed keeps it.
fn remember(editor: &mut Editor<Statements, FileHistory>, text: &str, file: Option<&Path>) {
    let is_new = editor.add_history_entry(text).unwrap_or(false);
    if let Some(file) = file
        && is_new
        && let Err(error) = editor.append_history(file)
    {
        say(&format!("error: cannot write history '{}'\n  detail: {error}", file.display()));
    }
}

/// Runs the start-up file, if there is one.
fn run_init_file(runtimes: &Runtimes, session: &mut Session) -> Result<()> {
    let Some(path) = folder("XDG_CONFIG_HOME", ".config").map(|it| it.join("init.sql")) else {
        return Ok(());
    };
    if !path.is_file() {
        return Ok(());
    }
    match interrupt::run_to_end(runtimes, session.run_file(&path)) {
        Err(Failure::Reported) => {
            say(&format!("  hint: the statement is in '{}'", path.display()));
            Ok(())
        }
        result => result,
    }
}

/// Returns the file of the history, in a folder that exists.
fn history_file() -> Option<PathBuf> {
    let folder = folder("XDG_STATE_HOME", ".local/state")?;
    fs::create_dir_all(&folder).ok()?;
    Some(folder.join("history"))
}

/// Returns the program's folder in one of the base folders of the XDG specification.
fn folder(variable: &str, below_home: &str) -> Option<PathBuf> {
    let base = env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = base.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(below_home)))?;
    Some(base.join("nearscan"))
}

fn terminal_failure(error: &ReadlineError) -> Failure {
    Failure::Usage(format!("error: cannot read from the terminal\n  detail: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case(".tables", true)]
    #[case("  .help", true)]
    #[case("quit", true)]
    #[case("SELECT .5", false)]
    #[case("quit;", false)]
    fn distinguishes_commands_from_statements(#[case] text: &str, #[case] expected: bool) {
        assert_eq!(is_command(text), expected);
    }

    #[test]
    fn schema_names_are_quoted() {
        let query = schema_query(Some("s.o'x"));
        assert!(query.contains("table_schema = 's' AND table_name = 'o''x'"), "{query}");
    }
}
