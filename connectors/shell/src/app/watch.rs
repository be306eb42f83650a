// SPDX-License-Identifier: Apache-2.0
//! Implements `nearscan app watch`: a line for each thing that happens.

use nearscan_remote::{
    RemoteApplications,
    applications::{Event, Level, Notice, Watched, What},
};

use super::server::unanswered;
use crate::failure::{Result, print};

/// Prints notices until the server ends.
pub(super) async fn watch(applications: &RemoteApplications, after: u64) -> Result<()> {
    let what = "watch the applications";
    let watching = applications.watch(after).await;
    let mut watching = watching.map_err(|error| unanswered(what, &error))?;
    while let Some(watched) = watching.next().await.map_err(|error| unanswered(what, &error))? {
        match watched {
            Watched::Notice(notice) => print(&line(&notice))?,
            Watched::Missed(count) => print(&format!("{count} notices were missed"))?,
        }
    }
    Ok(())
}

/// A notice as a line: its number, whom it is about, and what.
fn line(notice: &Notice) -> String {
    let Notice { number, name, what, .. } = notice;
    let what = match what {
        What::Installed { version } => format!("installed {version}"),
        What::Removed => "removed".to_owned(),
        What::Started => "started".to_owned(),
        What::Stopped => "stopped".to_owned(),
        What::Faulted { kind, detail } => format!("fault {kind}: {detail}"),
        What::Logged { level, line } => format!("{}: {line}", level_name(*level)),
        What::Registered => "handler registered".to_owned(),
        What::Unregistered => "handler unregistered".to_owned(),
        What::Published(event) => format!("published {}", event_text(event)),
        What::Handled { sequence, attempt } => {
            format!("handled event {sequence} at attempt {attempt}")
        }
        What::DeadLetter { sequence, reason } => {
            format!("event {sequence} is a dead letter: {reason}")
        }
        What::Held => "held: there are too many dead letters".to_owned(),
        What::Forgotten { up_to } => format!("events up to {up_to} were forgotten unseen"),
        What::Failed { reason } => format!("failed: {reason}"),
        What::Unknown => "something that this program does not know".to_owned(),
    };
    let name = if name.is_empty() { "-" } else { name };
    format!("{number} {name} {what}")
}

fn level_name(level: Level) -> &'static str {
    match level {
        Level::Error => "error",
        Level::Warn => "warning",
        Level::Info => "info",
        Level::Debug => "debug",
    }
}

fn event_text(event: &Event) -> String {
    let parts = [event.kind.name(), &event.of, &event.name, &event.detail];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join(" ")
}
