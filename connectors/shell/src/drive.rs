// SPDX-License-Identifier: Apache-2.0
//! Implements `nearscan drive`: it lists and describes drives, checks and benchmarks one, and
//! serves one to other programs.

mod bench;
mod check;
mod grant;
mod replicate;
mod serve;

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use nearscan::{DriveScheme, DriveSpec};
use tokio::runtime::Handle;

use crate::{
    engine_args::EngineArgs,
    failure::{Failure, Result},
    interrupt::{self, Runtimes},
    output::{Format, Output},
    session::Session,
};

use bench::BenchCommand;
use check::CheckArgs;
use grant::{GrantArgs, grant};
use replicate::ReplicateArgs;
use serve::{ServeArgs, serve};

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum DriveCommand {
    /// List the drives that this machine can attach, and those of --drive
    List(Shown),
    /// Show what a drive is, how fast it says it is, and what it can run
    Info {
        /// The drive
        #[arg(value_name = "[NAME=]URL")]
        url: String,

        #[command(flatten)]
        shown: Shown,
    },
    /// Check that a drive does what it should, and measure the parameters of the time model
    ///
    /// Runs the conformance suite, then micro-benchmarks, and prints each parameter beside what was
    /// found. Files are made below the drive's root, or in the system's folder of temporary files,
    /// and removed. Exit status 0 says that no case of the suite and no
    /// benchmark failed.
    Check(CheckArgs),
    /// Run benchmarks of what is on a drive
    #[command(subcommand)]
    Bench(BenchCommand),
    /// Offer the drive of --drive, and a store of objects, to other processes and machines, until
    /// it is interrupted
    Serve(ServeArgs),
    /// Add a client to the access file of a server, and print its token
    ///
    /// A server that runs reads the file again at SIGHUP.
    Grant(GrantArgs),
    /// Copy the objects of a collection to another server, which stands in while the first is gone
    ///
    /// Only what is missing or has other bytes is copied, so it is repeated after changes. A query
    /// reads an object from the replica only if its bytes are the same. A server that asks for a
    /// token is named with it by --drive remote://HOST:PORT?token_file=FILE.
    Replicate(ReplicateArgs),
}

/// Options of the output of an answer.
#[derive(Debug, Clone, Args)]
pub(crate) struct Shown {
    /// Form of the answer [default: table on a terminal, what FILE of --output says, else csv]
    #[arg(long, value_enum)]
    pub(crate) format: Option<Format>,

    /// Write the answer to a file instead of standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
}

/// The drives that are attached, for people.
pub(crate) const LIST: &str = "SELECT name, kind, model, memory_bytes, in_flight_max, rates_modelled \
                    FROM nearscan.drives";

const FUNCTIONS: &str = "SELECT function, \"type\", offloadable, reason \
                         FROM nearscan.pushdown_functions ORDER BY function, \"type\"";

/// Runs a subcommand.
pub(crate) fn run(runtimes: &Runtimes, engine: &EngineArgs, command: &DriveCommand) -> Result<()> {
    let work = work(engine, command, runtimes.queries());
    match command {
        // It has its own way to end, so Ctrl-C must not drop it.
        DriveCommand::Serve(_) => runtimes.queries().block_on(work),
        DriveCommand::List(_)
        | DriveCommand::Grant(_)
        | DriveCommand::Replicate(_)
        | DriveCommand::Info { .. }
        | DriveCommand::Check(_)
        | DriveCommand::Bench(_) => interrupt::run_to_end(runtimes, work),
    }
}

async fn work(engine: &EngineArgs, command: &DriveCommand, queries: &Handle) -> Result<()> {
    match command {
        DriveCommand::List(shown) => {
            let drive = with_those_of_the_machine(&engine.drive);
            let mut session = open(&EngineArgs { drive, ..engine.clone() }, shown, queries).await?;
            session.run_statements(LIST).await
        }
        DriveCommand::Info { url, shown } => {
            let drive = vec![url.clone()];
            let mut session = open(&EngineArgs { drive, ..engine.clone() }, shown, queries).await?;
            let properties = properties(&session).await?;
            session.run_statements(&properties).await?;
            session.run_statements(FUNCTIONS).await
        }
        DriveCommand::Check(arguments) => check::run(engine, arguments, queries).await,
        DriveCommand::Bench(command) => bench::run(command, engine.progress, queries).await,
        DriveCommand::Serve(arguments) => serve(engine, arguments).await,
        DriveCommand::Grant(arguments) => grant(arguments),
        DriveCommand::Replicate(arguments) => {
            replicate::run(&engine.drive, arguments, queries).await
        }
    }
}

async fn open(engine: &EngineArgs, shown: &Shown, queries: &Handle) -> Result<Session> {
    let output = Output::open(shown.format, shown.output.as_deref())?;
    let progress = engine.progress;
    let engine = engine.open().await.map_err(|error| Failure::usage(&error))?;
    Ok(Session::over(engine, output, progress, queries))
}

/// The drives asked for, behind those that need nothing but this machine.
fn with_those_of_the_machine(asked: &[String]) -> Vec<String> {
    // An invalid URL is refused when the engine is made, with the reason.
    let specs: Vec<DriveSpec> = asked.iter().filter_map(|url| DriveSpec::parse(url).ok()).collect();
    let own = [DriveScheme::Cpu, DriveScheme::Emulated].map(DriveScheme::as_str);
    let is_free = |name: &&str| specs.iter().all(|spec| spec.name != *name);
    let free = own.iter().filter(|name| is_free(name)).map(|name| format!("{name}:"));
    free.chain(asked.iter().cloned()).collect()
}

/// A statement with a row for each column of the one drive.
async fn properties(session: &Session) -> Result<String> {
    let failed = |error: nearscan::Error| Failure::statement(&error);
    let drives = session.engine.sql("SELECT * FROM nearscan.drives").await.map_err(failed)?;
    let schema = drives.schema();
    let names: Vec<String> =
        schema.fields().iter().map(|field| format!("'{}'", field.name())).collect();
    let values: Vec<String> =
        schema.fields().iter().map(|field| format!("CAST({} AS VARCHAR)", field.name())).collect();
    Ok(format!(
        "SELECT unnest([{}]) AS property, unnest([{}]) AS value FROM nearscan.drives",
        names.join(", "),
        values.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requested_drive_replaces_the_default_one_of_its_name() {
        let list = |asked: &[&str]| {
            let asked: Vec<String> = asked.iter().map(|url| (*url).to_owned()).collect();
            with_those_of_the_machine(&asked).join(" ")
        };
        assert_eq!(list(&[]), "cpu: emulated:");
        assert_eq!(list(&["emulated:?seed=7"]), "cpu: emulated:?seed=7");
        assert_eq!(list(&["fast=emulated:?seed=7"]), "cpu: emulated: fast=emulated:?seed=7");
    }
}
