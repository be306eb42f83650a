// SPDX-License-Identifier: Apache-2.0
//! Implements [`RemoteDrive`], a drive that another process or machine serves.
//!
//! Its connection has its own runtime thread, since the methods of a drive are called from any
//! thread. Their calls to the server take at most [`Options::call_timeout`]; submitting a command
//! never waits.

mod answer;
mod applications;
mod command;
mod connection;
mod meter;
mod objects;
mod session;
mod shared;
mod transport;
mod waiting;

use std::{fmt::Debug, sync::Arc, time::Duration};

use nearscan_command::InputRef;
use nearscan_drive::{
    Capabilities, CostSnapshot, Drive, FileRef, Identity, Placement, Refusal, Session, SessionSpec,
    Work,
};
use tokio::runtime::{Builder, Handle, Runtime};

use crate::{
    address::Address,
    error::Error,
    link::{Link, LinkLimit},
};
pub use applications::{
    ApplicationError, ApplicationErrorKind, RemoteApplications, TableReading, Watching,
};
#[cfg(feature = "fuzz")]
pub(crate) use objects::{Http1Answer, read_head, request_of};
pub use objects::{More, ObjectError, ObjectErrorKind, ObjectUpload, Objects, Reading};
use shared::{Place, Shared, State};
pub use transport::{Security, Tls, TlsOptions};

/// Hears of the connections of a drive.
pub(crate) trait Watcher: Debug + Send + Sync {
    /// There is one.
    fn connected(&self);

    /// The last one was lost.
    fn lost(&self);
}

/// Files about which a server is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FilesOf {
    /// Those of this machine, which the server has under the same paths, and its objects.
    #[default]
    Both,
    /// Its objects only: it hears of no other file.
    Server,
}

/// The settings of a connection to a drive.
#[derive(Debug, Clone)]
pub struct Options {
    /// Kind of drive that its identity shows.
    pub kind: &'static str,
    /// Longest wait for a connection.
    pub connect_timeout: Duration,
    /// Longest wait for the answer to a call.
    pub call_timeout: Duration,
    /// Interval of the keep-alive pings.
    pub keep_alive_interval: Duration,
    /// Timeout of an answer, after which the server counts as gone.
    pub keep_alive_timeout: Duration,
    /// Extra time of the client's timeout of a command over the server's.
    pub deadline_grace: Duration,
    /// Wait before the first attempt to connect again; each one waits twice as long.
    pub reconnect_min: Duration,
    /// Longest wait between two attempts.
    pub reconnect_max: Duration,
    /// Longest wait for what runs when the drive is shut down.
    pub shutdown_timeout: Duration,
    /// What the client shows to the server, and demands of it.
    pub security: Security,
    /// How fast the link to the server is.
    pub link: LinkLimit,
    /// Files about which the server is asked.
    pub files: FilesOf,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            kind: "remote",
            connect_timeout: Duration::from_secs(10),
            call_timeout: Duration::from_secs(2),
            keep_alive_interval: Duration::from_secs(1),
            keep_alive_timeout: Duration::from_secs(4),
            deadline_grace: Duration::from_secs(2),
            reconnect_min: Duration::from_millis(50),
            reconnect_max: Duration::from_secs(5),
            shutdown_timeout: Duration::from_secs(30),
            security: Security::default(),
            link: LinkLimit::NONE,
            files: FilesOf::Both,
        }
    }
}

/// A drive that is served elsewhere.
#[derive(Debug)]
pub struct RemoteDrive {
    shared: Arc<Shared>,
    handle: Handle,
    /// There until the drive is dropped.
    runtime: Option<Runtime>,
}

impl RemoteDrive {
    /// Connects to a drive.
    ///
    /// # Errors
    /// [`Error::Unreachable`] if no server answers in time, [`Error::Denied`] if it does not know
    /// the client, [`Error::Refused`] when the versions do not fit.
    pub fn connect(address: &Address, options: Options) -> Result<Self, Error> {
        Self::connect_with(address, options, None)
    }

    pub(crate) fn connect_with(
        address: &Address,
        options: Options,
        watcher: Option<Arc<dyn Watcher>>,
    ) -> Result<Self, Error> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("remote drive")
            .enable_all()
            .build()
            .map_err(Error::Threads)?;
        let handle = runtime.handle().clone();
        let link = Link::new(options.link);
        let opened = {
            let (address, options, link) = (address.clone(), options.clone(), link.clone());
            wait(&handle, async move { connection::open(&address, &options, &link, None).await })
        };
        let opened = match opened {
            Some(Ok(opened)) => opened,
            ended => {
                runtime.shutdown_background();
                let reason = "its runtime ended".to_owned();
                let gone = Error::Unreachable { address: address.clone(), reason };
                return Err(ended.and_then(Result::err).unwrap_or(gone));
            }
        };
        let connection = Arc::clone(&opened.connection);
        let shared = Arc::new(Shared::new(address, options, link, opened));
        // The task ends with the runtime.
        drop(handle.spawn(connection::keep(Arc::clone(&shared), connection, watcher)));
        Ok(Self { shared, handle, runtime: Some(runtime) })
    }

    /// Whether there is a connection right now.
    pub fn is_connected(&self) -> bool {
        self.shared.connection().is_ok()
    }

    /// The address of the server.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.shared.address
    }

    /// Bytes that have come from the server so far, without those of objects that were read over
    /// HTTP/1.1.
    #[must_use]
    pub fn received_bytes(&self) -> u64 {
        self.shared.link.read_bytes()
    }

    /// The objects of the server, if it has any.
    #[must_use]
    pub fn objects(&self) -> Objects {
        Objects::new(Arc::clone(&self.shared))
    }

    /// The applications of the server, if it has any.
    #[must_use]
    pub fn applications(&self) -> RemoteApplications {
        RemoteApplications::new(Arc::clone(&self.shared))
    }

    /// The schema of an application's table, as [`RemoteApplications::schema`] does, for callers
    /// that are not asynchronous. It waits on this thread, at most as long as the application may
    /// take.
    ///
    /// # Errors
    /// Those of [`RemoteApplications::run`].
    pub fn application_schema(
        &self,
        name: &str,
        arguments: &[String],
    ) -> Result<Vec<u8>, ApplicationError> {
        let (applications, name) = (self.applications(), name.to_owned());
        let arguments = arguments.to_vec();
        let asked = wait(&self.handle, async move { applications.schema(&name, &arguments).await });
        asked.unwrap_or_else(|| Err(ApplicationError::unreachable(no_answer().to_string())))
    }

    /// The epoch that the drive is known to be in.
    ///
    /// # Errors
    /// [`Refusal::Gone`] when there is no connection.
    pub fn epoch(&self) -> Result<u64, Refusal> {
        self.shared.connection().map(|connection| connection.epoch())
    }

    /// Ends the connection and everything that waits on it.
    fn close(&self, reason: &str) {
        let connection = self.shared.connection();
        self.shared.set(State::Closed);
        if let Ok(connection) = connection {
            connection.lose(reason);
        }
    }
}

/// Waits on this thread for what a runtime does, which has to end by itself; nothing when the
/// runtime ended before.
fn wait<T: Send + 'static>(
    handle: &Handle,
    work: impl Future<Output = T> + Send + 'static,
) -> Option<T> {
    let (sender, receiver) = std::sync::mpsc::sync_channel(1);
    drop(handle.spawn(async move { drop(sender.send(work.await)) }));
    receiver.recv().ok()
}

/// The refusal for a call without an answer.
fn no_answer() -> Refusal {
    Refusal::Gone { reason: "its runtime ended".to_owned() }
}

impl Drive for RemoteDrive {
    fn identity(&self) -> &Identity {
        &self.shared.identity
    }

    fn capabilities(&self) -> &Capabilities {
        &self.shared.capabilities
    }

    fn locate(&self, file: &FileRef) -> Placement {
        if file.server.as_ref().is_some_and(|server| **server != *self.shared.address.to_string()) {
            let reason = format!("{file} is an object of another server");
            return Placement::NotHere { reason };
        }
        if file.server.is_none() && self.shared.options.files == FilesOf::Server {
            let reason = format!("{file} is no object of {}", self.shared.address);
            return Placement::NotHere { reason };
        }
        let located = self.shared.connection().and_then(|connection| {
            if let Some(file_id) = connection.known_file(file) {
                return Ok(Placement::Here { file_id });
            }
            let (file, limit) = (file.clone(), self.shared.options.call_timeout);
            wait(&self.handle, async move { connection.locate(file, limit).await })
                .unwrap_or_else(|| Err(no_answer()))
        });
        located.unwrap_or_else(|refusal| Placement::NotHere { reason: refusal.to_string() })
    }

    /// The rates and load of the drive, as they were a moment ago; while there is no connection,
    /// the last known ones.
    fn snapshot(&self) -> CostSnapshot {
        if self.shared.has_old_snapshot()
            && let Ok(connection) = self.shared.connection()
        {
            let limit = self.shared.options.call_timeout;
            let asked = wait(&self.handle, async move { connection.snapshot(limit).await });
            if let Some(Ok(snapshot)) = asked {
                self.shared.note(snapshot);
            }
        }
        self.shared.snapshot()
    }

    fn open_session(&self, spec: SessionSpec) -> Result<Arc<dyn Session>, Refusal> {
        let connection = self.shared.connection()?;
        let (shared, handle) = (Arc::clone(&self.shared), self.handle.clone());
        let session = wait(&self.handle, session::open(shared, connection, handle, spec))
            .unwrap_or_else(|| Err(no_answer()))?;
        Ok(Arc::new(session))
    }

    fn reset(&self) -> Result<u64, Refusal> {
        let connection = self.shared.connection()?;
        let limit = self.shared.options.connect_timeout;
        wait(&self.handle, async move { connection.reset(limit).await })
            .unwrap_or_else(|| Err(no_answer()))
    }

    fn epoch(&self) -> Option<u64> {
        Self::epoch(self).ok()
    }

    fn in_flight(&self) -> u32 {
        *self.shared.in_flight.borrow()
    }

    /// Waits for what runs, for as long as [`Options::shutdown_timeout`]. The drive itself goes on:
    /// it may have other clients.
    fn shutdown(&self) {
        // Sessions ask for the connection before they hand anything over.
        let connection = self.shared.connection();
        self.shared.set(State::Closed);
        let mut in_flight = self.shared.in_flight.subscribe();
        let limit = self.shared.options.shutdown_timeout;
        let waiting = async move {
            drop(tokio::time::timeout(limit, in_flight.wait_for(|count| *count == 0)).await);
        };
        if wait(&self.handle, waiting).is_none() {
            tracing::debug!("the runtime of a remote drive ended before its commands");
        }
        if let Ok(connection) = connection {
            connection.lose("it was shut down");
        }
    }
}

impl Drop for RemoteDrive {
    fn drop(&mut self) {
        self.close("it was dropped");
        if let Some(runtime) = self.runtime.take() {
            // A drive may be dropped on the thread of a runtime, which must not wait for another.
            runtime.shutdown_background();
        }
    }
}

/// Bits of a file's number that the server gives.
const FILE_BITS: u32 = 48;

/// The number of a file by which commands name it here: that of the server, and in the upper bits
/// of which connection it is. Another run of the server may give the number to another file.
fn tag_file(generation: u64, file_id: u64) -> Option<u64> {
    (file_id >> FILE_BITS == 0).then_some(generation << FILE_BITS | file_id)
}

/// The number of the file that an input is of.
fn file_of(input: &InputRef) -> Option<u64> {
    match input {
        InputRef::FileRange { file_id, .. } => Some(*file_id),
        InputRef::DeviceRange { .. }
        | InputRef::ObjectRange { .. }
        | InputRef::NvmeExtents { .. }
        | InputRef::Output { .. } => None,
    }
}

/// Changes the numbers of files to those of the server; false when one is of another connection.
fn untag_files(work: &mut Work, generation: u64) -> bool {
    work.inputs_mut().all(|input| match input {
        InputRef::FileRange { file_id, .. } => {
            let is_of_it = *file_id >> FILE_BITS == generation << FILE_BITS >> FILE_BITS;
            *file_id &= (1 << FILE_BITS) - 1;
            is_of_it
        }
        InputRef::DeviceRange { .. }
        | InputRef::ObjectRange { .. }
        | InputRef::NvmeExtents { .. }
        | InputRef::Output { .. } => true,
    })
}
