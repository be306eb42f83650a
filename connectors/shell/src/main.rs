// SPDX-License-Identifier: Apache-2.0
//! The program `nearscan`: SQL from the command line, from scripts and from a terminal.
//!
//! Results go to standard output or a file, everything else to standard error. Exit status: 0 all
//! statements succeeded, 1 a statement failed, 2 bad usage, 130 interrupted.

#![forbid(unsafe_code)]

mod args;
mod data;
mod dot;
mod failure;
mod interrupt;
mod output;
mod progress;
mod repl;
mod session;
mod tpch;

use std::{
    io::{self, IsTerminal, Read},
    process::ExitCode,
    time::Duration,
};

use tokio::runtime::{Builder, Runtime};

use crate::{
    args::{Cli, Command, Input},
    failure::{Failure, Result},
    session::Session,
};

/// Longest wait for work that was ended and has not yet noticed.
const PATIENCE: Duration = Duration::from_secs(2);

fn main() -> ExitCode {
    let cli = Cli::read();
    let result = runtime(&cli).and_then(|runtime| {
        let result = run(&runtime, &cli);
        runtime.shutdown_timeout(PATIENCE);
        result
    });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.print();
            failure.exit_code()
        }
    }
}

fn run(runtime: &Runtime, cli: &Cli) -> Result<()> {
    if let Some(command) = &cli.command {
        let Command::Tpch(command) = command;
        return interrupt::run_to_end(runtime, tpch::run(&cli.engine, command));
    }
    let session = interrupt::run_to_end(runtime, Session::open(cli))?;
    let inputs = cli.inputs();
    let is_interactive = inputs.is_empty() && io::stdin().is_terminal();
    if is_interactive {
        return repl::run(runtime, session, cli);
    }
    let inputs = if inputs.is_empty() { vec![Input::Command(read_stdin()?)] } else { inputs };
    interrupt::run_to_end(runtime, run_inputs(session, inputs))
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
        match input {
            Input::Command(text) => session.run_text(&text).await?,
            Input::File(path) => session.run_file(&path).await?,
        }
    }
    session.finish()
}

fn runtime(cli: &Cli) -> Result<Runtime> {
    let mut builder = Builder::new_multi_thread();
    if let Some(threads) = cli.engine.threads {
        builder.worker_threads(threads.get());
    }
    builder
        .enable_all()
        .build()
        .map_err(|error| Failure::Usage(format!("error: cannot start threads\n  detail: {error}")))
}
