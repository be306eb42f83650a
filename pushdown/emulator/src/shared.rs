// SPDX-License-Identifier: Apache-2.0
//! Holds what an emulated drive, its sessions and its threads share: its files and memory, and the
//! jobs that wait or run.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use futures::channel::oneshot;
use nearscan_drive::{
    Budget, CancelWord, Completion, Failure, FileTable, ImageSlot, JobQueue, Lease, LentImage,
    Refusal, Work,
};

use crate::{
    build::Build,
    config::Config,
    device::Memory,
    faults::{ABSENT_REQUESTS, Fault, INJECTED},
    flash::Flash,
    strikes::Strikes,
};

/// The state that drive, sessions and threads share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) config: Config,
    pub(crate) files: FileTable,
    pub(crate) flash: Flash,
    pub(crate) memory: Memory,
    /// The build that the FPGA holds.
    pub(crate) image: ImageSlot<Build>,
    pub(crate) queue: JobQueue<Job>,
    pub(crate) epoch: AtomicU64,
    pub(crate) snapshots: AtomicU64,
    pub(crate) strikes: Strikes,
    /// Requests that are refused until a drive that is gone is back.
    pub(crate) absent_requests: AtomicU64,
    /// Cancel words of commands that have not ended, by command.
    pub(crate) running: Mutex<Vec<(u128, CancelWord)>>,
}

impl Shared {
    pub(crate) fn running(&self) -> std::sync::MutexGuard<'_, Vec<(u128, CancelWord)>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    pub(crate) fn files(&self) -> &FileTable {
        &self.files
    }

    /// The image that runs a command, loaded if it was not there.
    ///
    /// # Errors
    /// [`Failure::Cancelled`] if the command is cancelled before.
    pub(crate) fn image_for(
        &self,
        work: &Work,
        cancel: &CancelWord,
    ) -> Result<LentImage<'_, Build>, Failure> {
        let Config { builds, .. } = &self.config;
        let suits = |loaded: &Build| builds.needed(work, loaded).is_none();
        let load = |before: Option<Arc<Build>>| {
            let before = before.map_or(builds.first, |build| *build);
            Ok(builds.needed(work, &before).unwrap_or(before))
        };
        self.image.lend(suits, || cancel.is_set().then_some(Failure::Cancelled), load)
    }

    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// Whether a fault strikes the command that was submitted as the `place`-th.
    pub(crate) fn strikes(&self, fault: Fault, work: &Work, place: u64) -> bool {
        self.strikes.strikes(&self.config, fault, work, place)
    }

    /// The fault that strikes the kernel of a command, if one does.
    pub(crate) fn strikes_kernel(&self, work: &Work, place: u64) -> Option<Fault> {
        self.strikes.of_kernel(&self.config, work, place)
    }

    /// Starts an epoch and stops what runs. Gives the new epoch.
    pub(crate) fn start_anew(&self) -> u64 {
        let epoch = self.epoch.fetch_add(1, Ordering::AcqRel) + 1;
        for (_, cancel) in self.running().iter() {
            cancel.set();
        }
        epoch
    }

    /// The drive is gone for every session, until it has refused enough requests.
    pub(crate) fn leave_for_a_while(&self) {
        self.absent_requests.store(ABSENT_REQUESTS, Ordering::Release);
        self.start_anew();
    }

    /// Whether the drive is gone; each call counts as a request that brings it back.
    pub(crate) fn is_absent(&self) -> Option<Refusal> {
        let nearer = |left: u64| left.checked_sub(1);
        let asked = self.absent_requests.fetch_update(Ordering::AcqRel, Ordering::Acquire, nearer);
        asked.is_ok().then(|| Refusal::Gone { reason: INJECTED.to_owned() })
    }
}

/// Work with all that it needs to run.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) work: Work,
    /// Its place in the order of submission.
    pub(crate) place: u64,
    /// Released when the job ends, not before.
    pub(crate) lease: Lease,
    pub(crate) cancel: CancelWord,
    /// The budget to which the result's host memory is charged.
    pub(crate) budget: Arc<dyn Budget>,
    /// The epoch of its session.
    pub(crate) epoch: u64,
    /// Set when the drive is lost for the session that sent this.
    pub(crate) session_gone: Arc<AtomicBool>,
    pub(crate) reply: oneshot::Sender<Completion>,
}
