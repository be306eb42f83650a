// SPDX-License-Identifier: Apache-2.0
//! Defines the traits [`Drive`], and [`Session`] for the work of one query.

use std::{
    fmt::Debug,
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use futures::channel::oneshot;
use nearscan_command::{Command, Envelope, InputRef, MergeCommand};
use uuid::Uuid;

use crate::{
    budget::Budget,
    capabilities::{Capabilities, ImageAbility},
    completion::{Completion, Outcome},
    cost::CostSnapshot,
    error::{Failure, Refusal},
    flash::FlashEvent,
    placement::{FileRef, Placement},
};

/// Stable identity of a drive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Unique and constant for a drive.
    pub uuid: Uuid,
    /// `cpu`, `emulated`, `xrt`, `remote`; only for people to read.
    pub kind: &'static str,
    /// Model and configuration in a few words.
    pub model: String,
}

/// A device or backend that runs commands near data.
pub trait Drive: Send + Sync + Debug {
    /// Returns its identity.
    fn identity(&self) -> &Identity;

    /// Returns its capabilities; constant while the drive is open.
    fn capabilities(&self) -> &Capabilities;

    /// Returns whether it holds a file, and the file's number. May access the file system, but not
    /// the media.
    fn locate(&self, file: &FileRef) -> Placement;

    /// Returns its rates and load, as they are or were a moment ago: a drive that is far away need
    /// not be asked for each query.
    fn snapshot(&self) -> CostSnapshot;

    /// Starts the work of one query.
    ///
    /// # Errors
    /// [`Refusal::Gone`] if the drive is no longer available.
    fn open_session(&self, spec: SessionSpec) -> Result<Arc<dyn Session>, Refusal>;

    /// Stops everything that runs and starts a new epoch: completions of older ones are void.
    /// Returns the new epoch.
    ///
    /// # Errors
    /// [`Refusal::Gone`] if the drive is no longer available.
    fn reset(&self) -> Result<u64, Refusal>;

    /// Returns its epoch, if it is known without communication.
    fn epoch(&self) -> Option<u64> {
        None
    }

    /// Commands taken and not yet completed, of all sessions.
    fn in_flight(&self) -> u32;

    /// Returns the reason if the drive cannot be used again in this process, so that the process
    /// has to be replaced.
    fn lost(&self) -> Option<String> {
        None
    }

    /// Returns the events of its flash with numbers above `after` that it still keeps, in the order
    /// of their numbers, which begin with 1 when the drive is opened. A gap behind `after` is what
    /// was dropped. A drive that cannot observe its flash has none.
    fn flash_events(&self, _after: u64) -> Vec<FlashEvent> {
        Vec::new()
    }

    /// Waits for running commands, then accepts no more work.
    fn shutdown(&self);
}

/// Terms of a session.
#[derive(Debug, Clone)]
pub struct SessionSpec {
    /// The query.
    pub query_id: u128,
    /// The tenant whose quota it counts against.
    pub tenant: u32,
    /// The budget to which host memory is charged.
    pub budget: Arc<dyn Budget>,
}

/// The work of one query on one drive.
pub trait Session: Send + Sync + Debug {
    /// The drive's epoch; goes into the envelope of every command.
    fn epoch(&self) -> u64;

    /// Sets device memory aside for one command: its input, output and scratch. Never waits.
    ///
    /// # Errors
    /// [`Refusal::LowMemory`] when there is not enough now.
    fn lease(&self, bytes: u64) -> Result<Lease, Refusal>;

    /// Submits a command. Never waits.
    ///
    /// # Errors
    /// The reason why the drive did not accept it; the lease is released then.
    fn submit(&self, submission: Submission) -> Result<Ticket, Refusal>;

    /// Requests the end of a command. The drive owns its buffers until it has ended.
    fn cancel(&self, command_id: u128) -> CancelOutcome;
}

/// The outcome of a cancellation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelOutcome {
    /// The command will end soon; its completion comes.
    Acknowledged,
    /// It has ended before, or never was.
    Unknown,
    /// It does not answer: its buffers are written off.
    Lost,
}

/// Reserved device memory; released on drop, wherever the lease is then.
pub struct Lease {
    bytes: u64,
    release: Option<Box<dyn FnOnce(u64) + Send + Sync>>,
}

impl Lease {
    /// A lease that calls `release` with its size on drop.
    pub fn new(bytes: u64, release: impl FnOnce(u64) + Send + Sync + 'static) -> Self {
        Self { bytes, release: Some(Box::new(release)) }
    }

    /// Bytes set aside.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Debug for Lease {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lease").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(release) = self.release.take() {
            release(self.bytes);
        }
    }
}

/// One unit of work, which fails or succeeds as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "nearly all are scans, and few are in flight")]
pub enum Work {
    /// Scan one row group.
    Scan(Command),
    /// Scan several, and merge their sorted results.
    Merge(MergeCommand),
}

impl Work {
    /// Returns the request envelope.
    pub const fn envelope(&self) -> &Envelope {
        match self {
            Self::Scan(command) => &command.envelope,
            Self::Merge(command) => &command.envelope,
        }
    }

    /// Bytes of device memory that it takes in all.
    pub fn device_bytes(&self) -> u64 {
        match self {
            Self::Scan(command) => command.device_bytes(),
            Self::Merge(command) => command.device_bytes(),
        }
    }

    /// The ranges that it reads, of all scans.
    pub fn inputs_mut(&mut self) -> impl Iterator<Item = &mut InputRef> {
        let scans = match self {
            Self::Scan(command) => std::slice::from_mut(command),
            Self::Merge(command) => command.scans.as_mut_slice(),
        };
        scans.iter_mut().flat_map(|scan| &mut scan.unit.inputs)
    }

    /// Columns of its widest scan.
    pub fn columns(&self) -> usize {
        self.scans().iter().map(|scan| scan.unit.chunks.len()).max().unwrap_or(0)
    }

    /// Whether it merges the results of its scans.
    pub const fn merges(&self) -> bool {
        matches!(self, Self::Merge(_))
    }

    /// Whether an image has the lanes and the units for it.
    pub fn runs_in(&self, image: &ImageAbility) -> bool {
        let inputs = if self.merges() { self.scans().len() } else { 0 };
        self.columns() as u64 <= u64::from(image.columns_max)
            && inputs as u64 <= u64::from(image.merge_inputs_max)
    }

    /// The scans that are done for it, in the order of the inputs of a merge.
    pub fn scans(&self) -> &[Command] {
        match self {
            Self::Scan(command) => std::slice::from_ref(command),
            Self::Merge(command) => &command.scans,
        }
    }
}

impl From<Command> for Work {
    fn from(command: Command) -> Self {
        Self::Scan(command)
    }
}

impl From<MergeCommand> for Work {
    fn from(command: MergeCommand) -> Self {
        Self::Merge(command)
    }
}

/// Work on its way to a drive.
#[derive(Debug)]
pub struct Submission {
    /// The work, with inputs named by the file numbers of [`Drive::locate`].
    pub work: Work,
    /// Device memory for it.
    pub lease: Lease,
    /// Timeout, after which the drive stops it, if it can.
    pub timeout: Duration,
}

/// A word that the kernel polls once a page: not zero means stop.
#[derive(Debug, Clone, Default)]
pub struct CancelWord(Arc<AtomicU32>);

impl CancelWord {
    /// Requests the end.
    pub fn set(&self) {
        self.0.store(1, Ordering::Release);
    }

    /// Whether the end was requested.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Acquire) != 0
    }

    /// The word itself, for the kernel.
    pub fn word(&self) -> &AtomicU32 {
        &self.0
    }
}

/// A command that a drive has taken: a future of its [`Completion`]. Dropping it cancels the
/// command.
pub struct Ticket {
    command_id: u128,
    attempt: u32,
    cancel: CancelWord,
    receiver: oneshot::Receiver<Completion>,
    on_failure: Option<OnFailure>,
}

/// Called with the reason if a command fails.
type OnFailure = Box<dyn FnOnce(&mut Failure) + Send>;

impl Debug for Ticket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ticket").field("command_id", &self.command_id).finish_non_exhaustive()
    }
}

impl Ticket {
    /// A ticket for a command with this envelope, and the sender of its completion.
    pub fn new(envelope: &Envelope, cancel: CancelWord) -> (Self, oneshot::Sender<Completion>) {
        let (sender, receiver) = oneshot::channel();
        let (command_id, attempt) = (envelope.command_id, envelope.attempt);
        let ticket = Self { command_id, attempt, cancel, receiver, on_failure: None };
        (ticket, sender)
    }

    /// The command.
    pub fn command_id(&self) -> u128 {
        self.command_id
    }

    /// The same ticket, which changes the reason if the command fails: a drive over another one
    /// names files as its users do.
    #[must_use]
    pub fn on_failure(mut self, change: impl FnOnce(&mut Failure) + Send + 'static) -> Self {
        self.on_failure = Some(Box::new(change));
        self
    }
}

impl Future for Ticket {
    type Output = Completion;

    fn poll(mut self: Pin<&mut Self>, ctx: &mut Context<'_>) -> Poll<Completion> {
        match Pin::new(&mut self.receiver).poll(ctx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Ok(mut completion)) => {
                if let Outcome::Failed(failure) = &mut completion.outcome
                    && let Some(change) = self.on_failure.take()
                {
                    change(failure);
                }
                Poll::Ready(completion)
            }
            // The drive dropped the sender: it is gone.
            Poll::Ready(Err(oneshot::Canceled)) => Poll::Ready(Completion {
                command_id: self.command_id,
                attempt: self.attempt,
                outcome: Outcome::Failed(Failure::Gone {
                    reason: "it dropped the command".to_owned(),
                }),
                time: crate::DriveTime::Measured(crate::Measured::default()),
                traffic: crate::Traffic::default(),
            }),
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.cancel.set();
    }
}
