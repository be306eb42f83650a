// SPDX-License-Identifier: Apache-2.0
//! Serves a drive over a link that may break: in this process, on a runtime of its own.
//!
//! The drive scans the files of this machine, or objects of a store that has the same tables.

use std::{fmt, net::SocketAddr, sync::Arc, thread::JoinHandle, time::Duration};

use anyhow::{Context, Result};
use nearscan::drive::Drive;
use nearscan_links::{After, Direction, Fault, Link, Place, Strike};
use nearscan_remote::{
    Address, Listener, Options, RemoteDrive, ServerOptions, access::Access, serve,
};
use nearscan_store::Store;
use tokio::sync::oneshot;

/// Time after which a silent side is given up, on a machine that is busy.
const SILENCE: Duration = Duration::from_millis(500);

/// What is served, and how its link breaks.
#[derive(Debug, Clone)]
pub struct Remote {
    /// How; counted from when the engine is there.
    pub strike: Strike,
    /// The store whose objects are the tables; without it they are files of this machine.
    pub objects: Option<Store>,
}

/// The fault, and the message that it strikes.
impl fmt::Display for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Strike { fault, place: Place { direction, number }, after } = self.strike;
        f.write_str(match self.objects {
            Some(_) => "objects: ",
            None => "files: ",
        })?;
        f.write_str(match fault {
            Fault::Closes => "closes",
            Fault::FallsSilent => "falls-silent",
            Fault::IsLate(_) => "is-late",
        })?;
        f.write_str(match direction {
            Direction::ToServer => "@to-server:",
            Direction::ToClient => "@to-client:",
        })?;
        write!(f, "{number}")?;
        f.write_str(match after {
            After::Recovers => "",
            After::StaysDown => ", stays down",
        })
    }
}

/// A server, and the link to it. Dropped, both have ended.
#[derive(Debug)]
pub struct Served {
    // The link goes first, so that no connection holds the server up.
    link: Option<Link>,
    access: Arc<Access>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Served {
    /// Serves a drive, and the objects of a store if there is one.
    ///
    /// # Errors
    /// When there is no port or no thread for it.
    pub fn start(drive: Arc<dyn Drive>, store: Option<Store>) -> Result<Self> {
        let access = Arc::new(Access::anyone());
        let options = ServerOptions {
            keep_alive_interval: SILENCE / 4,
            keep_alive_timeout: SILENCE,
            grace: SILENCE,
            access: Arc::clone(&access),
            store,
            ..ServerOptions::default()
        };
        let (stop, stopped) = oneshot::channel();
        let (bound, address) = std::sync::mpsc::channel();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("served drive")
            .enable_all()
            .build()?;
        let serving = async move {
            let listener = Listener::bind(&Address::Tcp("127.0.0.1:0".to_owned())).await?;
            // Whoever waits for it has left only if this is of no use.
            drop(bound.send(listener.address().to_string()));
            serve(drive, listener, options, async { drop(stopped.await) }).await
        };
        let body = move || drop(runtime.block_on(serving));
        let thread = std::thread::Builder::new().name("served drive".to_owned()).spawn(body)?;
        let address: SocketAddr = address.recv().context("the server does not start")?.parse()?;
        let link = Link::open(address)?;
        Ok(Self { link: Some(link), access, stop: Some(stop), thread: Some(thread) })
    }

    /// Breaks the link.
    pub fn strike(&self, strike: Strike) {
        if let Some(link) = &self.link {
            link.strike(strike);
        }
    }

    /// Whether the link broke.
    pub fn has_struck(&self) -> bool {
        self.link.as_ref().is_some_and(Link::has_struck)
    }

    /// The address of the link.
    pub fn address(&self) -> String {
        self.link.as_ref().map(|link| link.address().to_string()).unwrap_or_default()
    }

    /// Connects to the drive.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn connect(&self, fault: Fault) -> Result<RemoteDrive> {
        // One that is only late is waited for.
        let patience = match fault {
            Fault::Closes | Fault::FallsSilent => SILENCE,
            Fault::IsLate(_) => 20 * SILENCE,
        };
        let options = Options {
            call_timeout: patience,
            keep_alive_interval: SILENCE / 4,
            keep_alive_timeout: patience,
            deadline_grace: patience,
            reconnect_max: SILENCE / 4,
            shutdown_timeout: SILENCE,
            ..Options::default()
        };
        Ok(RemoteDrive::connect(&self.address().parse()?, options)?)
    }

    /// Whether a client has something in flight at the server.
    pub fn is_busy(&self) -> bool {
        // There is room for all that there is only when nothing is in use.
        self.access.authenticate(None, None).and_then(|client| client.enter(u64::MAX)).is_err()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.link.take());
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}
