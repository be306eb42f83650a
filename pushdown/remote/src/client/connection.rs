// SPDX-License-Identifier: Apache-2.0
//! Implements [`Connection`]: one connection to one run of a server, the calls over it, and the
//! task that detects its end and opens the next.

use std::{
    error::Error as _,
    os::unix::ffi::OsStrExt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use arrow_flight::{Action, flight_service_client::FlightServiceClient};
use bytes::Bytes;
use nearscan_command::layout::FORMAT_MAJOR;
use nearscan_drive::{Capabilities, CostSnapshot, FileRef, Identity, Placement, Recent, Refusal};
use prost::Message;
use tokio::sync::{Notify, watch};
use tonic::{Code, Status};
use uuid::Uuid;

use super::{
    Options, Shared, State, Watcher,
    objects::{Http1Connections, Http1Options},
    tag_file,
    transport::{self, Transport},
};
use crate::{
    address::Address,
    error::{Denial, Error, with_causes},
    link::{Link, LinkLimit},
    protocol::{
        self, Ask, Health, Hello, Locate, Located, MESSAGE_BYTES_MAX, PROTOCOL_MAJOR,
        PROTOCOL_MINOR, Welcome, action, objects::ObjectName,
    },
};

/// Files whose place is remembered.
const PLACEMENTS_MAX: usize = 1 << 16;

/// Connections of this process, so that each has a number of its own.
static GENERATIONS: AtomicU64 = AtomicU64::new(1);

/// The client of Flight over a channel; clones share the channel.
pub(super) type Flight = FlightServiceClient<Transport>;

/// One connection to one run of a server.
#[derive(Debug)]
pub(super) struct Connection {
    flight: Flight,
    /// The channel of the client of Flight.
    transport: Transport,
    /// Connections for reads of objects, where there may be such ones.
    http1: Option<Arc<Http1Connections>>,
    /// The run of the server.
    pub(super) instance: Bytes,
    /// The minor version of the server's protocol.
    pub(super) protocol_minor: u32,
    /// Distinguishes it from other connections of this client.
    pub(super) generation: u64,
    /// What the client adds to the epochs of this run, so that they are behind those of the runs
    /// before.
    epochs_before: u64,
    epoch: watch::Sender<u64>,
    /// The reason why it was lost, once it is.
    lost: watch::Sender<Option<String>>,
    /// Notified of an error on the connection: the server is then pinged at once.
    pub(super) suspect: Notify,
    placements: Mutex<Recent<FileRef, u64>>,
}

/// Why a request has no answer.
#[derive(Debug)]
pub(super) enum NoAnswer {
    /// What the server says instead.
    Status(Status),
    /// The connection was lost, for this reason.
    Lost(String),
}

/// The facts about a drive after the first messages.
pub(super) struct Opened {
    pub(super) connection: Arc<Connection>,
    pub(super) identity: Identity,
    pub(super) capabilities: Capabilities,
    pub(super) snapshot: CostSnapshot,
}

/// Opens a connection. `before` is the one that was lost.
pub(super) async fn open(
    address: &Address,
    options: &Options,
    link: &Link,
    before: Option<&Connection>,
) -> Result<Opened, Error> {
    let unreachable = |reason: String| Error::Unreachable { address: address.clone(), reason };
    let opening = try_open(address, options, link, before);
    match tokio::time::timeout(options.connect_timeout, opening).await {
        Ok(opened) => opened,
        Err(_elapsed) => {
            Err(unreachable(format!("no answer within {:?}", options.connect_timeout)))
        }
    }
}

async fn try_open(
    address: &Address,
    options: &Options,
    link: &Link,
    before: Option<&Connection>,
) -> Result<Opened, Error> {
    let unreachable = |reason: String| Error::Unreachable { address: address.clone(), reason };
    let channel = transport::open(address, options, link).await?;
    let flight = FlightServiceClient::new(channel.clone())
        .max_decoding_message_size(MESSAGE_BYTES_MAX)
        .max_encoding_message_size(MESSAGE_BYTES_MAX);
    let hello = Hello {
        protocol_major: PROTOCOL_MAJOR,
        protocol_minor: PROTOCOL_MINOR,
        format_major: FORMAT_MAJOR.into(),
    };
    let refused = |status: Status| {
        let (address, reason) = (address.clone(), status.message().to_owned());
        match status.code() {
            Code::Unauthenticated => Error::Denied { address, denial: Denial::Unknown { reason } },
            Code::PermissionDenied => {
                Error::Denied { address, denial: Denial::OutOfScope { reason } }
            }
            Code::FailedPrecondition | Code::Unimplemented | Code::InvalidArgument => {
                Error::Refused { address, reason }
            }
            _ => unreachable(reason_of(&status)),
        }
    };
    let welcome: Welcome = act(&flight, action::CONNECT, &hello).await.map_err(refused)?;
    let uuid = Uuid::from_slice(&welcome.drive_uuid).unwrap_or_default();
    let epochs_before = match before {
        None => 0,
        Some(before) if before.instance == welcome.instance => before.epochs_before,
        // The drive of another run counts from the start.
        Some(before) => before.epoch().saturating_add(1),
    };
    let connection = Connection {
        flight,
        transport: channel,
        http1: http1_of(address, options),
        instance: welcome.instance,
        protocol_minor: welcome.protocol_minor,
        generation: GENERATIONS.fetch_add(1, Ordering::Relaxed),
        epochs_before,
        epoch: watch::Sender::new(epochs_before.saturating_add(welcome.epoch)),
        lost: watch::Sender::new(None),
        suspect: Notify::new(),
        placements: Mutex::new(Recent::new(PLACEMENTS_MAX)),
    };
    let ask = connection.ask();
    let snapshot: protocol::Snapshot =
        act(&connection.flight, action::SNAPSHOT, &ask).await.map_err(refused)?;
    Ok(Opened {
        identity: Identity {
            uuid,
            kind: options.kind,
            model: format!("{} at {address}", welcome.model),
        },
        capabilities: Capabilities::from(&welcome.capabilities),
        snapshot: CostSnapshot::from(&snapshot),
        connection: Arc::new(connection),
    })
}

/// Connections for reads of objects: over TCP, if it carries the bytes as they are and as fast as
/// it can.
fn http1_of(address: &Address, options: &Options) -> Option<Arc<Http1Connections>> {
    let Address::Tcp(host_port) = address else { return None };
    let is_as_it_is = transport::tls_of(address, &options.security.tls).is_none();
    (is_as_it_is && options.link == LinkLimit::NONE).then(|| {
        let options = Http1Options {
            address: host_port.clone(),
            token: options.security.token.clone(),
            connect_timeout: options.connect_timeout,
            silence_max: options.keep_alive_timeout,
        };
        Arc::new(Http1Connections::new(options))
    })
}

/// The object that a file is, if it is one: `/COLLECTION/NAME`.
fn object_of(file: &FileRef) -> Option<ObjectName> {
    file.server.as_ref()?;
    let path = file.path.to_str().unwrap_or_default().trim_start_matches('/');
    let (collection, name) = path.split_once('/').unwrap_or((path, ""));
    let (collection, name) = (collection.to_owned(), name.to_owned());
    Some(ObjectName { collection, name, ..ObjectName::default() })
}

/// Calls an action of the server.
pub(super) async fn act<A: Default + Message>(
    flight: &Flight,
    name: &str,
    question: &impl Message,
) -> Result<A, Status> {
    let action = Action::new(name, question.encode_to_vec());
    let mut answers = flight.clone().do_action(action).await?.into_inner();
    let answer = answers.message().await?;
    let answer = answer.ok_or_else(|| Status::internal("there was no answer"))?;
    A::decode(answer.body).map_err(|error| Status::internal(error.to_string()))
}

/// The message of a status, and its cause.
pub(super) fn reason_of(status: &Status) -> String {
    match status.source() {
        Some(cause) => with_causes(cause),
        None => status.message().to_owned(),
    }
}

impl Connection {
    pub(super) fn flight(&self) -> Flight {
        self.flight.clone()
    }

    /// The channel, for requests that are made without the client of Flight.
    pub(super) fn transport(&self) -> Transport {
        self.transport.clone()
    }

    /// Connections for reads of objects, where there may be such ones.
    pub(super) fn http1(&self) -> Option<&Arc<Http1Connections>> {
        self.http1.as_ref()
    }

    pub(super) fn epoch(&self) -> u64 {
        *self.epoch.borrow()
    }

    /// The epoch, and when it changes.
    pub(super) fn epochs(&self) -> watch::Receiver<u64> {
        self.epoch.subscribe()
    }

    /// Returns the reason why the connection was lost, once it is.
    pub(super) fn losses(&self) -> watch::Receiver<Option<String>> {
        self.lost.subscribe()
    }

    /// Waits for a request until the connection is lost.
    pub(super) async fn unless_lost<T>(
        &self,
        request: impl Future<Output = Result<T, Status>>,
    ) -> Result<T, NoAnswer> {
        let mut lost = self.losses();
        tokio::select! {
            answer = request => answer.map_err(|status| {
                let code = status.code();
                if matches!(code, Code::Unavailable | Code::Cancelled | Code::DeadlineExceeded) {
                    self.suspect.notify_one();
                }
                NoAnswer::Status(status)
            }),
            reason = lost.wait_for(Option::is_some) => {
                let reason = reason.ok().and_then(|reason| reason.clone());
                Err(NoAnswer::Lost(reason.unwrap_or_else(|| "it was closed".to_owned())))
            }
        }
    }

    /// Ends what waits on the connection; the first reason stays.
    pub(super) fn lose(&self, reason: &str) {
        self.lost.send_if_modified(|lost| {
            let is_first = lost.is_none();
            if is_first {
                *lost = Some(reason.to_owned());
            }
            is_first
        });
    }

    fn ask(&self) -> Ask {
        Ask { instance: self.instance.clone() }
    }

    /// Calls an action of the server, with a timeout.
    async fn call<A: Default + Message>(
        &self,
        name: &str,
        question: &impl Message,
        limit: Duration,
    ) -> Result<A, Refusal> {
        let gone = |reason: String| Refusal::Gone { reason };
        match tokio::time::timeout(limit, act(&self.flight, name, question)).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(status)) => {
                self.suspect.notify_one();
                Err(gone(reason_of(&status)))
            }
            Err(_elapsed) => {
                self.suspect.notify_one();
                Err(gone(format!("no answer within {limit:?}")))
            }
        }
    }

    fn placements(&self) -> MutexGuard<'_, Recent<FileRef, u64>> {
        self.placements.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of a file whose place was requested before.
    pub(super) fn known_file(&self, file: &FileRef) -> Option<u64> {
        self.placements().get(file).copied()
    }

    /// Forgets the places of files by their numbers here, so that the server is asked again.
    pub(super) fn forget_files(&self, file_ids: &[u64]) {
        self.placements().retain(|_, file_id| !file_ids.contains(file_id));
    }

    pub(super) async fn locate(
        &self,
        file: FileRef,
        limit: Duration,
    ) -> Result<Placement, Refusal> {
        let question = Locate {
            instance: self.instance.clone(),
            path: file.path.as_os_str().as_bytes().to_vec(),
            size_bytes: file.version.size_bytes,
            stamp: file.version.stamp,
            object: object_of(&file),
        };
        let Located { file_id, reason } = self.call(action::LOCATE, &question, limit).await?;
        let Some(file_id) = file_id else { return Ok(Placement::NotHere { reason }) };
        let Some(file_id) = tag_file(self.generation, file_id) else {
            let reason = format!("the server's number for it is too large: {file_id}");
            return Ok(Placement::NotHere { reason });
        };
        self.placements().insert(file, file_id);
        Ok(Placement::Here { file_id })
    }

    pub(super) async fn snapshot(&self, limit: Duration) -> Result<CostSnapshot, Refusal> {
        let snapshot: protocol::Snapshot = self.call(action::SNAPSHOT, &self.ask(), limit).await?;
        Ok(CostSnapshot::from(&snapshot))
    }

    pub(super) async fn reset(&self, limit: Duration) -> Result<u64, Refusal> {
        let health: Health = self.call(action::RESET, &self.ask(), limit).await?;
        self.note_epoch(health.epoch);
        Ok(self.epoch_of(health.epoch))
    }

    /// An epoch of the server as the client counts them.
    pub(super) fn epoch_of(&self, of_server: u64) -> u64 {
        self.epochs_before.saturating_add(of_server)
    }

    /// Takes note of an epoch of the server; of two answers that cross each other the later epoch
    /// counts.
    fn note_epoch(&self, of_server: u64) {
        let epoch = self.epoch_of(of_server);
        self.epoch.send_if_modified(|known| {
            let is_later = epoch > *known;
            *known = epoch.max(*known);
            is_later
        });
    }

    /// Pings the server until it does not answer; returns the reason.
    async fn watch(&self, options: &Options) -> String {
        let mut lost = self.losses();
        loop {
            tokio::select! {
                () = tokio::time::sleep(options.keep_alive_interval) => {}
                () = self.suspect.notified() => {}
                _ = lost.changed() => return "it was closed".to_owned(),
            }
            let ask = self.ask();
            let health = act::<Health>(&self.flight, action::HEALTH, &ask);
            match tokio::time::timeout(options.keep_alive_timeout, health).await {
                Ok(Ok(health)) => {
                    self.note_epoch(health.epoch);
                    self.http1.iter().for_each(|connections| connections.close_idle());
                }
                Ok(Err(status)) => {
                    return format!("the connection was lost: {}", reason_of(&status));
                }
                Err(_elapsed) => {
                    return format!("no sign of life for {:?}", options.keep_alive_timeout);
                }
            }
        }
    }
}

/// Watches a connection, and opens another each time it is lost, until the drive is shut down.
pub(super) async fn keep(
    shared: Arc<Shared>,
    mut connection: Arc<Connection>,
    watcher: Option<Arc<dyn Watcher>>,
) {
    loop {
        if let Some(watcher) = &watcher {
            watcher.connected();
        }
        let reason = connection.watch(&shared.options).await;
        if !shared.set(State::Lost(reason.clone())) {
            return;
        }
        tracing::info!(address = %shared.address, reason, "a remote drive is gone");
        connection.lose(&reason);
        if let Some(watcher) = &watcher {
            watcher.lost();
        }
        let Some(next) = seek(&shared, &connection, reason).await else { return };
        connection = next;
        tracing::info!(address = %shared.address, "a remote drive is there again");
    }
}

/// Tries to connect until it succeeds; nothing once the drive was shut down.
async fn seek(shared: &Shared, lost: &Connection, reason: String) -> Option<Arc<Connection>> {
    let Options { reconnect_min, reconnect_max, .. } = shared.options;
    let mut pause = reconnect_min;
    loop {
        tokio::time::sleep(pause).await;
        pause = pause.saturating_mul(2).min(reconnect_max);
        let why_not = match open(&shared.address, &shared.options, &shared.link, Some(lost)).await {
            Ok(opened) => {
                let is_same = opened.identity.uuid == shared.identity.uuid
                    && opened.capabilities == shared.capabilities;
                if is_same {
                    shared.note(opened.snapshot);
                    let connection = opened.connection;
                    let next = State::Connected(Arc::clone(&connection));
                    return shared.set(next).then_some(connection);
                }
                "another drive answers there".to_owned()
            }
            Err(error) => error.to_string(),
        };
        tracing::debug!(address = %shared.address, why_not, "no connection yet");
        if !shared.set(State::Lost(format!("{reason}; since then: {why_not}"))) {
            return None;
        }
    }
}
