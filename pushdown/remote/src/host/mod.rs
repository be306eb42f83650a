// SPDX-License-Identifier: Apache-2.0
//! Runs drives in separate processes: [`HostedDrive`] starts the process, which runs
//! [`serve_hosted`].
//!
//! A crash of a vendor's runtime ends only that process, and is a push-back. The process is
//! restarted when it dies; if it does not answer, it is killed first.
//!
//! # Invariants
//!
//! - The process ends with its parent, however that ends: its standard input is a pipe of which
//!   only the parent has the other end.
//! - Each start is another run of the server, so it has a new epoch.

mod child;

use std::{ffi::OsString, path::PathBuf, sync::Arc, time::Duration};

use nearscan_drive::{
    Capabilities, CostSnapshot, Drive, FileRef, Identity, Placement, Refusal, Session, SessionSpec,
};

use crate::{
    address::Address,
    client::{Options, RemoteDrive, Watcher},
    error::Error,
};
use child::Host;
pub use child::serve_hosted;

/// The program that serves a drive. It is given `--listen unix:PATH --end-with-stdin` behind its
/// arguments; it writes a line that begins with `listening` to standard output once clients can
/// connect, and serves with [`serve_hosted`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The program.
    pub path: PathBuf,
    /// Arguments in front of the added ones.
    pub arguments: Vec<OsString>,
}

/// The settings of a hosted drive.
#[derive(Debug, Clone)]
pub struct HostOptions {
    /// The settings of the connection to the drive.
    pub remote: Options,
    /// The time that the first start may take.
    pub start_timeout: Duration,
    /// The time that the process may take to end before it is killed.
    pub end_timeout: Duration,
    /// Wait before it is started again; each time it dies soon, twice as long.
    pub restart_min: Duration,
    /// Longest wait before it is started again.
    pub restart_max: Duration,
}

impl Default for HostOptions {
    fn default() -> Self {
        Self {
            remote: Options { reconnect_max: Duration::from_millis(500), ..Options::default() },
            // A card is programmed first.
            start_timeout: Duration::from_secs(60),
            end_timeout: Duration::from_secs(15),
            restart_min: Duration::from_millis(100),
            restart_max: Duration::from_secs(30),
        }
    }
}

/// A drive in a separate process.
#[derive(Debug)]
pub struct HostedDrive {
    // Declared before the host: the connection is closed before the process is ended.
    drive: RemoteDrive,
    host: Stopped,
}

/// The host, ended on drop.
#[derive(Debug)]
struct Stopped(Arc<Host>);

impl Drop for Stopped {
    fn drop(&mut self) {
        self.0.stop();
    }
}

impl Watcher for Host {
    fn connected(&self) {
        self.note_connection();
    }

    fn lost(&self) {
        self.kill_silent();
    }
}

impl HostedDrive {
    /// Starts a process and connects to the drive that it serves.
    ///
    /// # Errors
    /// [`Error::Host`] if the process does not start serving, with its last output;
    /// [`Error::Unreachable`] or [`Error::Refused`] when the drive in it does not answer.
    pub fn start(program: Program, options: HostOptions) -> Result<Self, Error> {
        let host = Stopped(Host::start(program, &options)?);
        host.0.wait_until_ready(options.start_timeout)?;
        let address = Address::Unix(host.0.socket());
        let watcher: Arc<dyn Watcher> = Arc::<Host>::clone(&host.0);
        let drive = RemoteDrive::connect_with(&address, options.remote, Some(watcher))?;
        Ok(Self { drive, host })
    }

    /// The connection to the drive.
    pub fn remote(&self) -> &RemoteDrive {
        &self.drive
    }

    /// The process that serves the drive right now.
    pub fn process_id(&self) -> Option<u32> {
        self.host.0.process_id()
    }
}

impl Drive for HostedDrive {
    fn identity(&self) -> &Identity {
        self.drive.identity()
    }

    fn capabilities(&self) -> &Capabilities {
        self.drive.capabilities()
    }

    fn locate(&self, file: &FileRef) -> Placement {
        self.drive.locate(file)
    }

    fn snapshot(&self) -> CostSnapshot {
        self.drive.snapshot()
    }

    fn open_session(&self, spec: SessionSpec) -> Result<Arc<dyn Session>, Refusal> {
        self.drive.open_session(spec)
    }

    fn reset(&self) -> Result<u64, Refusal> {
        self.drive.reset()
    }

    fn epoch(&self) -> Option<u64> {
        Drive::epoch(&self.drive)
    }

    fn in_flight(&self) -> u32 {
        self.drive.in_flight()
    }

    fn shutdown(&self) {
        self.drive.shutdown();
        self.host.0.stop();
    }
}
