// SPDX-License-Identifier: Apache-2.0
//! Implements the interactive loop: it reads statements from the terminal until the user leaves.
//!
//! - [`editor`] reads them; [`prompt`], [`history`], [`highlight`] and [`complete`] help it.
//! - [`lexer`] and [`scope`] understand what is being written; [`vocabulary`] knows the names, and
//!   [`paths`] the files, that could stand there.
//!
//! A statement may take several lines and ends with a semicolon; a line that begins with a dot is a
//! command of the shell. A failure is reported, and the loop continues. Ctrl-C clears the line that
//! is being written, and ends the statement that is running; a second one within a second ends the
//! program.

mod complete;
mod editor;
mod highlight;
mod history;
mod keywords;
mod lexer;
mod paths;
mod prompt;
mod scope;
mod vocabulary;

use std::{
    env, fs,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use nearscan::drive::clock::Stopwatch;

use self::{
    editor::{Entered, LineEditor},
    vocabulary::Vocabulary,
};
use crate::{
    args::Cli,
    choices::Next,
    dot::{Argument, COMMANDS, Entry},
    failure::{Failure, Result, say},
    interrupt::{self, Runtimes},
    output::Paging,
    script,
    session::Session,
};

/// Longest time between the Ctrl-C that ends a statement and the one that ends the program.
const TWICE: Duration = Duration::from_secs(1);

/// Runs the loop until the user leaves or the terminal goes away.
pub(crate) fn run(runtimes: &mut Runtimes, mut session: Session, cli: &Cli) -> Result<()> {
    let engine = session.engine.clone();
    let vocabulary = Vocabulary::of(engine.clone(), runtimes.queries().clone());
    let vocabulary = Arc::new(Mutex::new(vocabulary));
    let mut editor = LineEditor::open(&engine, Arc::clone(&vocabulary), history_file())?;
    session.output.set_paging(Paging::Auto);
    say(&format!("nearscan {}, .help lists commands", env!("CARGO_PKG_VERSION")));
    if !cli.no_init && run_init_file(runtimes, &mut session)? == Next::Leave {
        return Ok(());
    }
    lock(&vocabulary).run_on(runtimes.queries().clone());
    interrupt::leave_on_second(TWICE).map_err(|error| Failure::threads(&error))?;
    let mut interrupted: Option<Stopwatch> = None;
    loop {
        let text = match editor.read(session.keys)? {
            Entered::Text(text) => text,
            Entered::Cleared if interrupted.is_some_and(|since| since.elapsed() < TWICE) => {
                return Err(Failure::Interrupted);
            }
            Entered::Cleared => continue,
            Entered::End => return Ok(()),
        };
        interrupted = None;
        if text.trim().is_empty() {
            continue;
        }
        editor.save();
        session.recover();
        let result = step(runtimes, &mut session, &text);
        let mut known = lock(&vocabulary);
        known.forget();
        match result {
            Ok(Next::Continue) => {}
            Ok(Next::Leave) => return Ok(()),
            Err(Failure::OutputClosed) => return Err(Failure::OutputClosed),
            Err(Failure::Interrupted) => {
                renew(runtimes, &mut session)?;
                known.run_on(runtimes.queries().clone());
                interrupted = Some(Stopwatch::start());
                say("interrupted");
            }
            Err(failure) => failure.print(),
        }
    }
}

fn lock(vocabulary: &Mutex<Vocabulary>) -> MutexGuard<'_, Vocabulary> {
    vocabulary.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Gives the session the threads that follow those of an interrupted statement.
fn renew(runtimes: &mut Runtimes, session: &mut Session) -> Result<()> {
    runtimes.renew().map_err(|error| Failure::threads(&error))?;
    session.queries = runtimes.queries().clone();
    Ok(())
}

/// Runs one command, or some statements and commands.
fn step(runtimes: &Runtimes, session: &mut Session, text: &str) -> Result<Next> {
    if is_leaving(text) {
        return Ok(Next::Leave);
    }
    // The statement of such a command may take several lines.
    let word = text.split_whitespace().next().unwrap_or_default();
    let takes_statement =
        |entry: &Entry| entry.word == word && entry.argument == Argument::Statement;
    match COMMANDS.iter().any(takes_statement) {
        true => interrupt::run_to_end(runtimes, session.run_command(text)),
        false => interrupt::run_to_end(runtimes, session.run_text(text)),
    }
}

fn is_leaving(text: &str) -> bool {
    matches!(text.trim().trim_end_matches(';').trim_end(), "exit" | "quit")
}

/// Whether a text is for the shell and not for the engine.
fn is_command(text: &str) -> bool {
    is_leaving(text) || script::is_command(text.trim().lines().next().unwrap_or_default())
}

/// Runs the start-up file, if there is one.
fn run_init_file(runtimes: &mut Runtimes, session: &mut Session) -> Result<Next> {
    let Some(path) = folder("XDG_CONFIG_HOME", ".config").map(|it| it.join("init.sql")) else {
        return Ok(Next::Continue);
    };
    if !path.is_file() {
        return Ok(Next::Continue);
    }
    match interrupt::run_to_end(runtimes, session.run_file(&path)) {
        Ok(next) => return Ok(next),
        Err(Failure::OutputClosed) => return Err(Failure::OutputClosed),
        Err(Failure::Interrupted) => {
            renew(runtimes, session)?;
            say("interrupted");
        }
        Err(failure) => failure.print(),
    }
    say(&format!("  hint: the statement is in '{}'", path.display()));
    Ok(Next::Continue)
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

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case(".tables", true)]
    #[case("  .help", true)]
    #[case("quit", true)]
    #[case("\\x", true)]
    #[case("quit;", true)]
    #[case("\\x;", true)]
    #[case(".", true)]
    #[case("SELECT .5", false)]
    #[case(".5", false)]
    fn distinguishes_commands_from_statements(#[case] text: &str, #[case] expected: bool) {
        assert_eq!(is_command(text), expected);
    }
}
