// SPDX-License-Identifier: Apache-2.0
//! Implements `nearscan app handler` and `nearscan app dead-letter`.

use clap::{Args, Subcommand, builder::PossibleValuesParser};
use nearscan_remote::{
    RemoteApplications,
    applications::{Beginning, EventKind, Filter, Handler},
};
use tokio::runtime::Handle;

use super::server::{Table, failed, unanswered};
use crate::{drive::Shown, failure::Result};

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum HandlerCommand {
    /// Have an application called with the events that a filter lets through
    Add(AddArgs),
    /// Remove a handler; its dead letters stay
    Remove {
        /// The handler
        name: String,
    },
    /// List the handlers, and how far each has come
    List(Shown),
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum DeadLetterCommand {
    /// List the dead letters of a handler
    List {
        /// The handler
        handler: String,

        #[command(flatten)]
        shown: Shown,
    },
    /// Have a handler try one again, once
    Retry(Letter),
    /// Remove one
    Clear(Letter),
}

/// The name of a dead letter.
#[derive(Debug, Clone, Args)]
pub(crate) struct Letter {
    /// The handler
    handler: String,

    /// The number of the event
    number: u64,
}

/// Options of a new handler.
#[derive(Debug, Clone, Args)]
pub(crate) struct AddArgs {
    /// Name of the handler
    name: String,

    /// The application
    #[arg(long)]
    application: String,

    /// Kinds of events; may repeat
    #[arg(long = "on", value_name = "KIND", required = true, value_delimiter = ',')]
    #[arg(value_parser = PossibleValuesParser::new(EventKind::ALL.map(EventKind::name)))]
    kinds: Vec<String>,

    /// Of objects in this collection, PARTITION/* or * [default: all]
    #[arg(long)]
    collection: Option<String>,

    /// Of objects whose names start so
    #[arg(long, default_value = "", hide_default_value = true)]
    prefix: String,

    /// Of objects whose names end so, such as .csv; may repeat
    #[arg(long, value_delimiter = ',')]
    suffix: Vec<String>,

    /// Of an application, if it makes them
    #[arg(long, value_name = "NAME")]
    of_application: Option<String>,

    /// Of this name, if an application makes them, or kind, if they are of the flash or faults
    #[arg(long, value_name = "NAME")]
    event: Option<String>,

    /// Also the events that the server still knows
    #[arg(long)]
    from_oldest: bool,
}

impl AddArgs {
    fn handler(&self) -> Handler {
        let kind = |name: &String| EventKind::ALL.into_iter().find(|kind| kind.name() == name);
        let filter = Filter {
            kinds: self.kinds.iter().filter_map(kind).collect(),
            collection: self.collection.clone(),
            prefix: self.prefix.clone(),
            suffixes: self.suffix.clone(),
            application: self.of_application.clone(),
            name: self.event.clone(),
        };
        Handler { name: self.name.clone(), application: self.application.clone(), filter }
    }
}

/// Runs a subcommand about handlers.
pub(super) async fn run(
    applications: &RemoteApplications,
    command: &HandlerCommand,
    queries: &Handle,
) -> Result<()> {
    match command {
        HandlerCommand::Add(arguments) => {
            let from = if arguments.from_oldest { Beginning::Oldest } else { Beginning::Now };
            let added = applications.register(&arguments.handler(), from).await;
            added.map_err(|error| failed("add handler", &arguments.name, &error))
        }
        HandlerCommand::Remove { name } => {
            let removed = applications.unregister(name).await;
            removed.map_err(|error| failed("remove handler", name, &error))
        }
        HandlerCommand::List(shown) => {
            let found = applications.handlers().await;
            let found = found.map_err(|error| unanswered("list the handlers", &error))?;
            let mut table = Table::new([
                "name",
                "application",
                "events",
                "collection",
                "prefix",
                "suffixes",
                "seen",
            ]);
            for (Handler { name, application, filter }, seen) in found {
                let kinds: Vec<&str> = filter.kinds.iter().map(|kind| kind.name()).collect();
                let collection = filter.collection.unwrap_or_else(|| "*".to_owned());
                let (suffixes, seen) = (filter.suffixes.join(", "), seen.to_string());
                let events = kinds.join(", ");
                table.row([name, application, events, collection, filter.prefix, suffixes, seen]);
            }
            table.show(shown, queries).await
        }
    }
}

/// Runs a subcommand about dead letters.
pub(super) async fn run_dead_letters(
    applications: &RemoteApplications,
    command: &DeadLetterCommand,
    queries: &Handle,
) -> Result<()> {
    match command {
        DeadLetterCommand::List { handler, shown } => {
            let found = applications.dead_letters(handler).await;
            let what = format!("list the dead letters of '{handler}'");
            let found = found.map_err(|error| unanswered(&what, &error))?;
            let mut table = Table::new(["number", "event", "of", "name", "attempts", "reason"]);
            for letter in found {
                let (event, attempts) = (letter.event, letter.attempts.to_string());
                let (number, kind) = (event.sequence.to_string(), event.kind.name().to_owned());
                table.row([number, kind, event.of, event.name, attempts, letter.reason]);
            }
            table.show(shown, queries).await
        }
        DeadLetterCommand::Retry(Letter { handler, number }) => {
            let what = format!("handle event {number} by '{handler}'");
            let tried = applications.retry(handler, *number).await;
            tried.map_err(|error| unanswered(&what, &error))
        }
        DeadLetterCommand::Clear(Letter { handler, number }) => {
            let what = format!("remove event {number} of '{handler}'");
            let cleared = applications.clear(handler, *number).await;
            cleared.map_err(|error| unanswered(&what, &error))
        }
    }
}
