// SPDX-License-Identifier: Apache-2.0
//! Implements `nearscan app`: it installs applications on a storage server, calls and watches them,
//! and begins new ones.

mod handler;
mod install;
mod new;
mod server;
mod watch;

use std::{
    io::{self, Read},
    path::{Path, PathBuf},
};

use clap::{Args, Subcommand, ValueHint};
use nearscan_remote::RemoteApplications;
use tokio::runtime::Handle;

use crate::{
    drive::Shown,
    engine_args::EngineArgs,
    failure::{Failure, Result, print_bytes},
    interrupt::{self, Runtimes},
};
use handler::{DeadLetterCommand, HandlerCommand};
use install::InstallArgs;
pub(crate) use install::package;
use new::{NewArgs, PackArgs};
use server::{Table, connect, failed};

/// Subcommands; all but the last two need the server, `--drive remote://HOST:PORT`.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum AppCommand {
    /// Install a component, with the manifest beside it
    Install(InstallArgs),
    /// Remove an application; its calls that run are stopped
    Remove(Named),
    /// Let an application be called
    Start(Named),
    /// End that an application can be called; its events wait
    Stop(Named),
    /// List the applications
    List(Shown),
    /// Call an application, and print its answer
    Run(RunArgs),
    /// Print what happens to applications and handlers, until it is interrupted
    Watch {
        /// First what happened behind a notice of this number, as far as the server knows it; 0 for
        /// all [default: only what happens from now on]
        #[arg(long, value_name = "NUMBER")]
        after: Option<u64>,
    },
    /// Let an application handle events
    #[command(subcommand)]
    Handler(HandlerCommand),
    /// Look after events that a handler could not handle
    #[command(subcommand)]
    DeadLetter(DeadLetterCommand),
    /// Write the files of a new application
    New(NewArgs),
    /// Make a component of the module that a C compiler writes
    Pack(PackArgs),
}

/// The name of an application.
#[derive(Debug, Clone, Args)]
pub(crate) struct Named {
    /// The application
    name: String,
}

/// Options of a call.
#[derive(Debug, Clone, Args)]
pub(crate) struct RunArgs {
    /// The application
    name: String,

    /// What it is given as arguments
    arguments: Vec<String>,

    /// File that it is given as the body of the request; - is standard input
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    body: Option<PathBuf>,
}

/// Runs a subcommand.
pub(crate) fn run(runtimes: &Runtimes, engine: &EngineArgs, command: &AppCommand) -> Result<()> {
    match command {
        AppCommand::New(arguments) => new::new(arguments),
        AppCommand::Pack(arguments) => new::pack(arguments),
        _ => interrupt::run_to_end(runtimes, work(engine, command, runtimes.queries())),
    }
}

async fn work(engine: &EngineArgs, command: &AppCommand, queries: &Handle) -> Result<()> {
    // The connection ends with the drive.
    let drive = connect(engine, queries).await?;
    let applications = drive.applications();
    match command {
        AppCommand::Install(arguments) => install::install(&applications, arguments).await,
        AppCommand::Remove(Named { name }) => {
            applications.remove(name).await.map_err(|error| failed("remove", name, &error))
        }
        AppCommand::Start(Named { name }) => {
            applications.start(name).await.map_err(|error| failed("start", name, &error))
        }
        AppCommand::Stop(Named { name }) => {
            applications.stop(name).await.map_err(|error| failed("stop", name, &error))
        }
        AppCommand::List(shown) => list(&applications, shown, queries).await,
        AppCommand::Run(arguments) => call(&applications, arguments).await,
        AppCommand::Watch { after } => watch::watch(&applications, after.unwrap_or(u64::MAX)).await,
        AppCommand::Handler(command) => handler::run(&applications, command, queries).await,
        AppCommand::DeadLetter(command) => {
            handler::run_dead_letters(&applications, command, queries).await
        }
        // They need no server.
        AppCommand::New(_) | AppCommand::Pack(_) => Ok(()),
    }
}

async fn list(applications: &RemoteApplications, shown: &Shown, queries: &Handle) -> Result<()> {
    let found = applications.list().await;
    let found = found.map_err(|error| server::unanswered("list the applications", &error))?;
    let mut table =
        Table::new(["name", "version", "state", "entries", "rights", "signed", "sha256"]);
    for it in found {
        let signed = if it.is_signed { "yes" } else { "no" }.to_owned();
        let entries = it.entries.join(", ");
        table.row([
            it.name,
            it.version,
            it.state.to_string(),
            entries,
            it.rights,
            signed,
            it.sha256,
        ]);
    }
    table.show(shown, queries).await
}

async fn call(applications: &RemoteApplications, arguments: &RunArgs) -> Result<()> {
    let RunArgs { name, arguments, body } = arguments;
    let body = match body.clone() {
        None => Vec::new(),
        // Not on this thread, which waits for Ctrl-C.
        Some(path) => {
            let reading = tokio::task::spawn_blocking(move || read(&path));
            reading.await.map_err(|error| Failure::panicked(&error))??
        }
    };
    let answer = applications.run(name, arguments, body.into()).await;
    print_bytes(&answer.map_err(|error| failed("run", name, &error))?)
}

/// Reads a file, or standard input.
fn read(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = match path.as_os_str() == "-" {
        true => io::stdin().read_to_end(&mut bytes).map(|_| bytes),
        false => std::fs::read(path),
    };
    read.map_err(|error| Failure::input(&path.display().to_string(), &error))
}
