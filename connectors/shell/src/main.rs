// SPDX-License-Identifier: Apache-2.0
//! Implements the program `nearscan`: SQL from the command line, from scripts and from a terminal.
//!
//! Results go to standard output or a file, everything else to standard error. Exit status: 0 all
//! statements succeeded, 1 a statement failed, 2 bad usage, 130 interrupted.

#![forbid(unsafe_code)]

mod app;
mod args;
mod choices;
mod commands;
mod completions;
mod data;
mod dot;
mod drive;
mod engine_args;
mod explain_json;
mod failure;
mod interrupt;
mod output;
mod profile_tree;
mod progress;
mod repl;
mod script;
mod session;
mod style;
mod timer;
mod tpch;

use std::{
    io::{self, IsTerminal, Read},
    num::NonZero,
    process::ExitCode,
};

use tokio::task::JoinSet;

use crate::{
    args::{Cli, Command, Input},
    choices::Next,
    drive::DriveCommand,
    failure::{Failure, Result},
    interrupt::Runtimes,
    session::Session,
};

fn main() -> ExitCode {
    let cli = Cli::read();
    if let Err(failure) = prepare_process(&cli) {
        failure.print();
        return failure.exit_code();
    }
    let threads = cli.engine.threads.map(NonZero::get);
    let result = match Runtimes::start(threads) {
        Ok(mut runtimes) => {
            let result = run(&mut runtimes, &cli);
            runtimes.shut_down();
            result
        }
        Err(error) => Err(Failure::threads(&error)),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.print();
            failure.exit_code()
        }
    }
}

/// Makes this process one that can hold a drive, if it is to serve one: before there are threads.
fn prepare_process(cli: &Cli) -> Result<()> {
    match (&cli.command, cli.engine.drive.as_slice()) {
        (Some(Command::Drive(DriveCommand::Serve(_))), [url]) => {
            nearscan::serving::prepare_process(url).map_err(|error| Failure::usage(&error))
        }
        _ => Ok(()),
    }
}

fn run(runtimes: &mut Runtimes, cli: &Cli) -> Result<()> {
    let engine = || cli.engine.clone();
    match cli.command.clone() {
        Some(Command::Tpch(command)) => {
            return run_subcommand(runtimes, tpch::run(engine(), command));
        }
        Some(Command::ExplainJson(arguments)) => {
            return run_subcommand(runtimes, explain_json::run(engine(), arguments));
        }
        Some(Command::Drive(command)) => return drive::run(runtimes, &cli.engine, &command),
        Some(Command::App(command)) => return app::run(runtimes, &cli.engine, &command),
        Some(Command::Completions { shell }) => return completions::print_script(shell),
        Some(Command::Man) => return completions::print_manual(),
        None => {}
    }
    let session = interrupt::run_to_end(runtimes, cli.session(runtimes.queries()))?;
    let inputs = cli.inputs();
    let is_interactive = inputs.is_empty() && io::stdin().is_terminal();
    if is_interactive {
        return repl::run(runtimes, session, cli);
    }
    let inputs = if inputs.is_empty() { vec![Input::Command(read_stdin()?)] } else { inputs };
    interrupt::run_to_end(runtimes, run_inputs(session, inputs))
}

/// Runs a subcommand on the threads of queries, so that this one stays free for Ctrl-C.
fn run_subcommand(
    runtimes: &mut Runtimes,
    work: impl Future<Output = Result<()>> + Send + 'static,
) -> Result<()> {
    interrupt::run_to_end(runtimes, async {
        let mut tasks = JoinSet::new();
        tasks.spawn_on(work, runtimes.queries());
        match tasks.join_next().await {
            Some(Ok(result)) => result,
            Some(Err(error)) => Err(Failure::panicked(&error)),
            None => Ok(()),
        }
    })
}

/// Reads all of standard input, outside of the work that Ctrl-C drops: a read that waits cannot be
/// dropped, but until a query has run Ctrl-C ends the process.
fn read_stdin() -> Result<String> {
    let mut text = String::new();
    match io::stdin().read_to_string(&mut text) {
        Ok(_) => Ok(text),
        Err(error) => Err(Failure::input("-", &error)),
    }
}

/// Runs what `-c` and `-f` say, in the order of the command line.
async fn run_inputs(mut session: Session, inputs: Vec<Input>) -> Result<()> {
    for input in inputs {
        let next = match input {
            Input::Command(text) => session.run_text(&text).await?,
            Input::File(path) => session.run_file(&path).await?,
        };
        if next == Next::Leave {
            break;
        }
    }
    session.finish()
}
