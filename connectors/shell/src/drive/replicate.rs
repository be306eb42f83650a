// SPDX-License-Identifier: Apache-2.0
//! Implements `nearscan drive replicate`: it makes a collection a replica of one at another server.

use std::sync::Arc;

use clap::Args;
use nearscan::serving::connect_server;
use nearscan_remote::{ObjectErrorKind, RemoteDrive, Replica, Replicated, Side, replicate};
use tokio::runtime::Handle;

use crate::failure::{Failure, Result, in_parts, print};

/// The two collections.
#[derive(Debug, Clone, Args)]
pub(crate) struct ReplicateArgs {
    /// The collection that is copied
    #[arg(value_name = "drive://HOST:PORT/COLLECTION")]
    from: String,

    /// The collection that becomes its replica, made if there is none
    #[arg(value_name = "drive://HOST:PORT/COLLECTION")]
    to: String,
}

/// Copies what the replica lacks, and prints what was done. `drives` are those of `--drive`, which
/// say how their servers are reached.
pub(crate) async fn run(
    drives: &[String],
    arguments: &ReplicateArgs,
    queries: &Handle,
) -> Result<()> {
    let ReplicateArgs { from, to } = arguments;
    // The connections end with the drives.
    let (from, _from_drive) = side(drives, from, queries).await?;
    let (to, _to_drive) = side(drives, to, queries).await?;
    if from.replica == to.replica {
        let text = "error: a collection is no replica of itself\n  hint: name another one";
        return Err(Failure::Usage(text.to_owned()));
    }
    let Replicated { copied, bytes, same, without_hash } =
        replicate(&from, &to).await.map_err(|error| {
            let primary = format!("cannot replicate {} to {}", from.replica, to.replica);
            let hint = match error.kind {
                ObjectErrorKind::Conflict | ObjectErrorKind::Unreachable => {
                    Some("repeat it: what was copied stays")
                }
                ObjectErrorKind::Denied => {
                    Some("it takes the scope read at the first server, and write at both")
                }
                ObjectErrorKind::Unauthenticated => Some(
                    "name the server with its token: --drive remote://HOST:PORT?token_file=FILE",
                ),
                ObjectErrorKind::NotFound
                | ObjectErrorKind::Exists
                | ObjectErrorKind::Range
                | ObjectErrorKind::Exhausted
                | ObjectErrorKind::Invalid
                | ObjectErrorKind::Refused
                | ObjectErrorKind::NoObjects
                | ObjectErrorKind::Failed => None,
            };
            Failure::Statement(in_parts(&primary, Some(error.to_string()), hint))
        })?;
    let mut text = format!("objects copied: {copied} ({bytes} bytes), unchanged: {same}");
    if without_hash > 0 {
        text.push_str(&format!(
            "; the replica cannot stand in for {without_hash} of them: no hash is known of objects \
             that were changed in part, or of a server of an older version"
        ));
    }
    print(&text)
}

/// Connects to the server of a collection, as `--drive` says if it names the server.
async fn side(drives: &[String], url: &str, queries: &Handle) -> Result<(Side, Arc<RemoteDrive>)> {
    let replica: Replica = url.parse().map_err(|error: String| {
        let hint = Some("objects are copied between collections of servers");
        Failure::Usage(in_parts(&error, None, hint))
    })?;
    let plain = format!("remote://{}", replica.address);
    let is_meant = |drive: &&String| {
        let url = drive.split_once("remote://").map(|(_, rest)| rest);
        url.is_some_and(|rest| rest.split('?').next() == Some(&*replica.address))
    };
    let server = drives.iter().find(is_meant).unwrap_or(&plain).clone();
    let connected = queries.spawn_blocking(move || connect_server(&server)).await;
    let drive = connected
        .map_err(|error| Failure::panicked(&error))?
        .map_err(|error| Failure::usage(&error))?;
    Ok((Side { replica, objects: drive.objects() }, drive))
}
