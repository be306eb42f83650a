// SPDX-License-Identifier: Apache-2.0
//! Implements [`serve`], which offers a drive to all clients that reach an address.
//!
//! It stops in three steps: it refuses new commands, waits a while for running ones, then cancels
//! the rest and closes.

#[cfg(feature = "applications")]
mod applications;
#[cfg(not(feature = "applications"))]
#[path = "without_applications.rs"]
mod applications;
mod calls;
mod changes;
mod command;
mod flash;
mod gate;
mod http1;
mod listener;
mod objects;
mod outgoing;
mod service;
mod session;
mod uncopied;
mod upload;

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use nearscan_drive::{Budget, Drive, Refusal, SessionSpec, Unlimited};
use nearscan_store::{Store, StoreDrive};
use prost::Message;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::{Notify, watch},
};
use tokio_stream::{Stream, StreamExt, wrappers::UnixListenerStream};
use tonic::{
    Status,
    transport::{
        Certificate, Identity, Server, ServerTlsConfig,
        server::{Connected, TcpIncoming},
    },
};
use uuid::Uuid;

use crate::{
    access::Access,
    address::Address,
    audit::Audit,
    error::Error,
    link::{Link, LinkLimit},
    protocol::{CONNECTION_WINDOW_BYTES, FRAME_BYTES_MAX, STREAM_WINDOW_BYTES},
};
pub use applications::Applications;
use applications::Installed;
#[cfg(all(feature = "fuzz", feature = "applications"))]
pub(crate) use applications::handler_of;
use gate::Gate;
pub use http1::Http1Patience;
#[cfg(feature = "fuzz")]
pub(crate) use http1::{Request as Http1Request, head_of, refusal, take_head};
pub use listener::Listener;
use listener::Socket;
use objects::Objects;
use service::Service;
use uncopied::Uncopied;

/// The settings of a server.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// Interval at which a silent client is asked whether it is there.
    pub keep_alive_interval: Duration,
    /// The time that it may take to answer; then its sessions end.
    pub keep_alive_timeout: Duration,
    /// How long a client over HTTP/1.1 is waited for, which has no keep-alive.
    pub http1_patience: Http1Patience,
    /// Time for running commands to end once the server is to stop, and again for the
    /// drive to shut down.
    pub grace: Duration,
    /// Host memory for results on their way to clients, and for what else the drive charges.
    pub host_bytes_max: u64,
    /// The objects that are served too. With a store, clients name objects, and no other files of
    /// this machine.
    pub store: Option<Store>,
    /// The applications of that store. There are some only with the feature `applications`.
    pub applications: Option<Applications>,
    /// Who may do what.
    pub access: Arc<Access>,
    /// Where changes and denied requests are recorded.
    pub audit: Option<Arc<Audit>>,
    /// How connections are encrypted, if they are.
    pub tls: Option<ServerTls>,
    /// What is allowed at addresses that other machines may reach.
    pub exposure: Exposure,
    /// How fast the link to all clients together is.
    pub link: LinkLimit,
}

/// How a server encrypts connections.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerTls {
    /// The certificates of the server, its own first, in PEM.
    pub certificate: Vec<u8>,
    /// The key of its own one, in PEM.
    pub key: Vec<u8>,
    /// Certificates of the authorities that may have signed those of clients, in PEM; without them
    /// no client can be known by a certificate.
    pub client_authorities: Option<Vec<u8>>,
}

impl fmt::Debug for ServerTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ServerTls(..)")
    }
}

/// What a server may do without at an address that other machines may reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Exposure {
    /// Clients need not say who they are.
    pub anonymous: Allowed,
    /// Connections need not be encrypted.
    pub plaintext: Allowed,
}

/// Whether something was allowed in so many words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Allowed {
    /// It was not.
    #[default]
    No,
    /// It was.
    Yes,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            keep_alive_interval: Duration::from_secs(5),
            keep_alive_timeout: Duration::from_secs(10),
            http1_patience: Http1Patience::default(),
            grace: Duration::from_secs(5),
            host_bytes_max: 4 << 30,
            store: None,
            applications: None,
            access: Arc::new(Access::anyone()),
            audit: None,
            tls: None,
            exposure: Exposure::default(),
            link: LinkLimit::NONE,
        }
    }
}

impl ServerOptions {
    /// Checks that a server which other machines may reach knows its clients and encrypts, as
    /// [`serve`] does.
    ///
    /// # Errors
    /// [`Error::Exposed`] if it does not, and was not told that this is meant.
    pub fn check_exposure(&self, address: &Address) -> Result<(), Error> {
        if address.is_of_this_machine() {
            return Ok(());
        }
        let Exposure { anonymous, plaintext } = self.exposure;
        let lacks = match (self.access.is_anyone(), &self.tls) {
            (true, _) if anonymous == Allowed::No => "clients do not say who they are",
            (_, None) if plaintext == Allowed::No => "connections are not encrypted",
            _ => return Ok(()),
        };
        Err(Error::Exposed { address: address.clone(), lacks })
    }
}

/// Sessions and calls of one connection at once; a client waits for a place.
const STREAMS_MAX: u32 = 512;

/// The time that a connection may take to close once nothing runs on it.
const CLOSING: Duration = Duration::from_secs(1);

/// The state of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Serving,
    /// No more commands are taken.
    Draining,
    /// Everything ends.
    Ending,
}

/// The state that all connections share.
#[derive(Debug)]
struct Served {
    drive: Arc<dyn Drive>,
    objects: Option<Objects>,
    applications: Installed,
    /// This run of the server.
    instance: Bytes,
    budget: Arc<dyn Budget>,
    stage: watch::Receiver<Stage>,
    /// Commands that were taken and are not answered.
    running: watch::Sender<u32>,
    /// Told when a command has ended: others that wait for a place try again.
    ended: Notify,
}

impl Served {
    /// The drive's epoch.
    fn epoch(&self) -> Result<u64, Refusal> {
        let spec = SessionSpec { query_id: 0, tenant: 0, budget: Arc::new(Unlimited) };
        self.drive.open_session(spec).map(|session| session.epoch())
    }

    fn stage(&self) -> Stage {
        *self.stage.borrow()
    }

    /// Ends once the server has come as far as `stage`.
    async fn reached(&self, stage: Stage) {
        let mut stages = self.stage.clone();
        // The sender is gone only when the server is.
        drop(stages.wait_for(|now| *now >= stage).await);
    }
}

/// Host memory of the server, for all clients together.
#[derive(Debug)]
struct HostMemory {
    free: AtomicU64,
}

impl Budget for HostMemory {
    fn try_grow(&self, bytes: u64) -> bool {
        let take = |free: u64| free.checked_sub(bytes);
        self.free.fetch_update(Ordering::AcqRel, Ordering::Acquire, take).is_ok()
    }

    fn shrink(&self, bytes: u64) {
        self.free.fetch_add(bytes, Ordering::AcqRel);
    }
}

/// Reads a message of a client.
fn read<T: Message + Default>(bytes: &Bytes) -> Result<T, Status> {
    T::decode(bytes.clone()).map_err(|error| Status::invalid_argument(error.to_string()))
}

/// Serves a drive until `stop` ends, then shuts the drive down. The listener's socket is removed in
/// the end.
///
/// # Errors
/// [`Error::Exposed`] when other machines may reach the address, and what protects it is missing;
/// [`Error::Serve`] when the connections failed as a whole.
pub async fn serve(
    drive: Arc<dyn Drive>,
    listener: Listener,
    options: ServerOptions,
    stop: impl Future<Output = ()>,
) -> Result<(), Error> {
    options.check_exposure(listener.address())?;
    let (stage_sender, stage) = watch::channel(Stage::Serving);
    let drive: Arc<dyn Drive> = match options.store.clone() {
        Some(store) => Arc::new(StoreDrive::new(drive, store)),
        None => drive,
    };
    let served = Arc::new(Served {
        drive: Arc::clone(&drive),
        objects: options.store.clone().map(Objects::new),
        applications: Installed::new(options.applications.clone()),
        instance: Bytes::copy_from_slice(Uuid::new_v4().as_bytes()),
        budget: Arc::new(HostMemory { free: AtomicU64::new(options.host_bytes_max) }),
        stage,
        running: watch::Sender::new(0),
        ended: Notify::new(),
    });
    let applications = served.applications.clone();
    let keeper = options.store.clone().map(|store| changes::keep_short(store, applications));
    let keeper = keeper.map(tokio::spawn);
    let flash = served
        .applications
        .are_served()
        .then(|| tokio::spawn(flash::publish(Arc::clone(&drive), served.applications.clone())));
    let gate = Gate { access: Arc::clone(&options.access), audit: options.audit.clone() };
    let service = Service::new(Arc::clone(&served), gate);
    let offers_http1 = options.tls.is_none() && options.link == LinkLimit::NONE;
    let (socket, socket_file) = listener.into_parts();
    let connections = match socket {
        Socket::Tcp(listener) => {
            let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
            match offers_http1 && options.store.is_some() {
                true => {
                    let (served, patience) = (Arc::clone(&served), options.http1_patience);
                    let incoming =
                        http1::without_http1(served, service.clone(), patience, incoming);
                    tokio::spawn(accept(service, incoming, options.clone()))
                }
                false => tokio::spawn(accept(service, incoming, options.clone())),
            }
        }
        Socket::Unix(listener) => {
            let incoming = UnixListenerStream::new(listener);
            tokio::spawn(accept(service, incoming, options.clone()))
        }
    };
    let mut connections = connections;
    let failed = |reason: String| Error::Serve { reason };
    let result = tokio::select! {
        ended = &mut connections => match ended {
            Ok(Ok(())) => Err(failed("it takes no more connections".to_owned())),
            Ok(Err(error)) => Err(failed(error.to_string())),
            Err(error) => Err(failed(error.to_string())),
        },
        () = stop => Ok(()),
    };
    stage_sender.send_replace(Stage::Draining);
    let mut running = served.running.subscribe();
    if tokio::time::timeout(options.grace, running.wait_for(|count| *count == 0)).await.is_err() {
        tracing::info!("commands were still running and are cancelled");
    }
    stage_sender.send_replace(Stage::Ending);
    if !connections.is_finished() && tokio::time::timeout(CLOSING, &mut connections).await.is_err()
    {
        connections.abort();
    }
    for task in keeper.into_iter().chain(flash) {
        task.abort();
    }
    let shut_down = tokio::task::spawn_blocking(move || drive.shutdown());
    if tokio::time::timeout(options.grace, shut_down).await.is_err() {
        tracing::warn!("the drive does not shut down");
    }
    drop(socket_file);
    result
}

/// Takes connections until the server ends.
async fn accept<IO, E>(
    service: Service,
    incoming: impl Stream<Item = Result<IO, E>>,
    options: ServerOptions,
) -> Result<(), tonic::transport::Error>
where
    IO: AsyncRead + AsyncWrite + Connected + Unpin + Send + 'static,
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let link = Link::new(options.link);
    let incoming = incoming.map(move |stream| stream.map(|stream| link.throttle(stream)));
    let served = service.served();
    let service = Uncopied::new(service);
    let mut server = Server::builder();
    if let Some(tls) = &options.tls {
        let mut config =
            ServerTlsConfig::new().identity(Identity::from_pem(&tls.certificate, &tls.key));
        if let Some(authorities) = &tls.client_authorities {
            // Who shows none has a token, or is denied.
            config = config.client_ca_root(Certificate::from_pem(authorities));
            config = config.client_auth_optional(true);
        }
        server = server.tls_config(config)?;
    }
    server
        .http2_keepalive_interval(Some(options.keep_alive_interval))
        .http2_keepalive_timeout(Some(options.keep_alive_timeout))
        .max_concurrent_streams(STREAMS_MAX)
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .max_frame_size(FRAME_BYTES_MAX)
        .add_service(service)
        .serve_with_incoming_shutdown(incoming, async move { served.reached(Stage::Ending).await })
        .await
}
