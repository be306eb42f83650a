// SPDX-License-Identifier: Apache-2.0
//! Implements `nearscan drive serve`: it offers one drive over Arrow Flight until SIGINT or
//! SIGTERM.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use clap::{Args, ValueHint};
use nearscan::serving::{leave, open_drive};
use nearscan_drive::Drive;
use nearscan_remote::{Address, Listener, ServerOptions, serve as serve_drive, serve_hosted};
use nearscan_store::Store;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::{
    engine_args::EngineArgs,
    failure::{Failure, Result, print, say},
};

/// The drive of a store, if no other is named.
const DRIVE_OF_STORES: &str = "cpu:";

/// The time between two checks whether the drive is lost.
const LOOK_AFTER: Duration = Duration::from_millis(100);

/// Options for serving a drive.
#[derive(Debug, Clone, Args)]
pub(crate) struct ServeArgs {
    /// Address for clients; with port 0 the system chooses one. There is no authentication: every
    /// client that reaches the address may read the files of the drive
    #[arg(long, value_name = "unix:PATH|HOST:PORT")]
    listen: Address,

    /// Folder of a store of objects, made if it is not there; clients read and write its objects,
    /// drive://HOST:PORT/COLLECTION/NAME in SQL, and scans of them run here
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    store: Option<PathBuf>,

    /// End when standard input does, as the drives do that another process has started
    #[arg(long, hide = true)]
    end_with_stdin: bool,
}

/// Serves the drive.
pub(crate) async fn serve(engine: &EngineArgs, arguments: &ServeArgs) -> Result<()> {
    let url = match (engine.drive.as_slice(), &arguments.store) {
        ([url], _) => url,
        ([], Some(_)) => DRIVE_OF_STORES,
        _ => {
            let text = "error: a server has one drive\n  hint: name it with --drive [NAME=]URL";
            return Err(Failure::Usage(text.to_owned()));
        }
    };
    let store = match &arguments.store {
        Some(folder) => Some(open_store(folder)?),
        None => None,
    };
    let threads = engine.threads.map(std::num::NonZero::get);
    let drive = open_drive(url, threads).map_err(|error| Failure::usage(&error))?;
    // Before the address is printed, because its reader may send a signal at once.
    let (mut interrupt, mut terminate) =
        (on(SignalKind::interrupt())?, on(SignalKind::terminate())?);
    let failed = |error: nearscan_remote::Error| Failure::work(&error);
    let listener = Listener::bind(&arguments.listen).await.map_err(failed)?;
    if is_public(listener.address()) {
        say("warning: there is no authentication, and the address may be reached from elsewhere");
    }
    print(&format!("listening on {}", listener.address()))?;
    let stop = async {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    };
    let options = ServerOptions { store, ..ServerOptions::default() };
    let served = async {
        let drive = Arc::clone(&drive);
        match arguments.end_with_stdin {
            true => serve_hosted(drive, listener, options, stop).await,
            false => serve_drive(drive, listener, options, stop).await,
        }
    };
    tokio::select! {
        served = served => served.map_err(failed),
        reason = lost(drive.as_ref()) => {
            say(&format!("error: the drive is lost\n  detail: {reason}"));
            leave(1)
        }
    }
}

/// Opens the store of a folder.
fn open_store(folder: &Path) -> Result<Store> {
    let failed = |error: nearscan_store::Error| {
        let hint = error.hint().map_or_else(String::new, |hint| format!("\n  hint: {hint}"));
        let shown = folder.display();
        Failure::Usage(format!("error: no store in {shown}\n  detail: {error}{hint}"))
    };
    // The drive is told absolute paths of files.
    let folder = std::path::absolute(folder).map_err(|error| Failure::work(&error))?;
    let store = Store::open(&folder).map_err(failed)?;
    for path in store.damaged() {
        say(&format!("warning: object {path} is damaged, and can only be replaced or removed"));
    }
    Ok(store)
}

/// Waits until the drive is lost for this process, and says why.
async fn lost(drive: &dyn Drive) -> String {
    loop {
        if let Some(reason) = drive.lost() {
            return reason;
        }
        tokio::time::sleep(LOOK_AFTER).await;
    }
}

fn on(kind: SignalKind) -> Result<Signal> {
    signal(kind).map_err(|error: io::Error| Failure::work(&error))
}

/// Whether an address is more than this machine's own.
fn is_public(address: &Address) -> bool {
    match address {
        Address::Unix(_) => false,
        Address::Tcp(host_port) => {
            let address: Result<std::net::SocketAddr, _> = host_port.parse();
            address.is_ok_and(|address| !address.ip().is_loopback())
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("127.0.0.1:7000", false)]
    #[case("[::1]:7000", false)]
    #[case("0.0.0.0:7000", true)]
    #[case("[::]:7000", true)]
    #[case("unix:/run/drive", false)]
    fn knows_who_can_reach_an_address(#[case] address: &str, #[case] expected: bool) {
        assert_eq!(is_public(&address.parse().unwrap()), expected);
    }
}
