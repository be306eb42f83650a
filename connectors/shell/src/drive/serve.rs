// SPDX-License-Identifier: Apache-2.0
//! Implements `nearscan drive serve`: it offers one drive over Arrow Flight until SIGINT or
//! SIGTERM.

use std::{
    io,
    num::NonZeroU64,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use clap::{Args, ValueHint};
use nearscan::serving::{leave, open_drive};
use nearscan_drive::Drive;
use nearscan_hosting::Hosted;
use nearscan_remote::{
    Address, Allowed, Exposure, LinkLimit, Listener, ServerOptions, ServerTls, access::Access,
    audit::Audit, serve as serve_drive, serve_hosted,
};
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
    /// Address for clients; with port 0 the system chooses one
    #[arg(long, value_name = "unix:PATH|HOST:PORT")]
    listen: Address,

    /// Encrypt connections: the server's certificates and its key, in PEM
    #[arg(long, value_names = ["CERTIFICATE", "KEY"], num_args = 2)]
    #[arg(value_hint = ValueHint::FilePath)]
    tls: Option<Vec<PathBuf>>,

    /// Certificates of the authorities of clients that are known by a certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "tls", value_hint = ValueHint::FilePath)]
    client_ca: Option<PathBuf>,

    /// File of the clients and what each may do, written by `nearscan drive grant`; without it
    /// everyone may do everything
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    access: Option<PathBuf>,

    /// Record changes and denied requests there, as JSON lines
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    audit_log: Option<PathBuf>,

    /// Listen beyond this machine although everyone may do everything
    #[arg(long)]
    allow_anonymous: bool,

    /// Listen beyond this machine although connections are not encrypted
    #[arg(long)]
    allow_plaintext: bool,

    /// Be as slow as a link of this rate, such as 3Gbit or 375MB a second
    #[arg(long, value_name = "RATE", value_parser = LinkLimit::parse_rate)]
    link_rate: Option<NonZeroU64>,

    /// Be as slow as a link of this latency in each direction, such as 1ms
    #[arg(long, value_name = "TIME", value_parser = LinkLimit::parse_latency)]
    link_latency: Option<Duration>,

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
    let hangup = on(SignalKind::hangup())?;
    let failed =
        |error: nearscan_remote::Error| exposed(&error).unwrap_or_else(|| Failure::work(&error));
    let mut options = options_of(arguments, store)?;
    let hosted = match &options.store {
        Some(store) => {
            let opened = Hosted::open(engine.builder(), threads, store, &drive).await;
            Some(opened.map_err(|error| wrong(&error))?)
        }
        None => None,
    };
    options.applications = hosted.as_ref().and_then(Hosted::applications);
    tokio::spawn(renew(hangup, Arc::clone(&options.access), options.audit.clone()));
    let listener = Listener::bind(&arguments.listen).await.map_err(failed)?;
    options.check_exposure(listener.address()).map_err(failed)?;
    print(&format!("listening on {}", listener.address()))?;
    let stop = async {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    };
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

/// The settings of the server.
fn options_of(arguments: &ServeArgs, store: Option<Store>) -> Result<ServerOptions> {
    let access = match &arguments.access {
        Some(path) => Access::read(path).map_err(|error| wrong(&error))?,
        None => Access::anyone(),
    };
    let audit = match &arguments.audit_log {
        Some(path) => Some(Audit::open(path).map_err(|error| wrong(&error))?),
        None => None,
    };
    let tls = match arguments.tls.as_deref() {
        Some([certificate, key]) => Some(ServerTls {
            certificate: read(certificate)?,
            key: read(key)?,
            client_authorities: arguments.client_ca.as_deref().map(read).transpose()?,
        }),
        _ => None,
    };
    let allowed = |is_allowed: bool| if is_allowed { Allowed::Yes } else { Allowed::No };
    Ok(ServerOptions {
        store,
        access: Arc::new(access),
        audit: audit.map(Arc::new),
        tls,
        exposure: Exposure {
            anonymous: allowed(arguments.allow_anonymous),
            plaintext: allowed(arguments.allow_plaintext),
        },
        link: LinkLimit {
            bytes_per_s: arguments.link_rate,
            latency: arguments.link_latency.unwrap_or_default(),
        },
        ..ServerOptions::default()
    })
}

fn wrong(error: &dyn std::error::Error) -> Failure {
    Failure::Usage(format!("error: {error}"))
}

fn read(path: &Path) -> Result<Vec<u8>> {
    let failed = |error: io::Error| {
        Failure::Usage(format!("error: cannot read {}\n  detail: {error}", path.display()))
    };
    std::fs::read(path).map_err(failed)
}

/// Reads the access file again and opens the audit log anew at each SIGHUP.
async fn renew(mut hangup: Signal, access: Arc<Access>, audit: Option<Arc<Audit>>) {
    while hangup.recv().await.is_some() {
        if let Err(error) = access.reload() {
            say(&format!("warning: the access file stays as it was\n  detail: {error}"));
        }
        if let Some(audit) = &audit
            && let Err(error) = audit.reopen().await
        {
            say(&format!("warning: the audit log stays where it was\n  detail: {error}"));
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

/// The failure of a server that would be exposed, with what to do about it.
fn exposed(error: &nearscan_remote::Error) -> Option<Failure> {
    let nearscan_remote::Error::Exposed { .. } = error else { return None };
    let hint = "add --access FILE and --tls CERTIFICATE KEY, or say --allow-anonymous and \
                --allow-plaintext";
    Some(Failure::Usage(format!("error: {error}\n  hint: {hint}")))
}
