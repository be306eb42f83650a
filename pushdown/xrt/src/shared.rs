// SPDX-License-Identifier: Apache-2.0
//! Holds what a drive, its sessions and its threads share: the card, and the jobs that wait or run.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64},
};

use nearscan_command::MergeCut;
use nearscan_drive::{
    Budget, CardModel, DriveTime, FileTable, JobQueue, Lease, Measured, Modelled, Work,
};

use crate::{
    card::Card,
    running::{Pending, Running},
};

/// The state that drive, sessions and threads share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) card: Card,
    pub(crate) files: FileTable,
    pub(crate) running: Running,
    pub(crate) model: Option<Arc<dyn CardModel>>,
    /// One for each unit that scans.
    pub(crate) queues: Vec<JobQueue<Job>>,
    pub(crate) in_flight_max: u32,
    pub(crate) free_bytes: Arc<AtomicU64>,
    pub(crate) epoch: AtomicU64,
    pub(crate) snapshots: AtomicU64,
}

impl Shared {
    /// The limits by which merges are cut into parts.
    pub(crate) fn merge_cut(&self) -> MergeCut {
        let units = u32::try_from(self.card.merges.len()).unwrap_or(u32::MAX);
        let cut = MergeCut { units, part_rows: MergeCut::PART_ROWS };
        self.model.as_ref().map_or(cut, |model| MergeCut { units, ..model.merge_cut() })
    }

    /// Gives the card up.
    pub(crate) fn lose(&self, reason: &str) {
        self.running.lose(reason, || self.no_time());
    }

    /// The time of a command that was given up.
    pub(crate) fn no_time(&self) -> DriveTime {
        match &self.model {
            Some(model) => DriveTime::Modelled(model.clock().idle()),
            None => DriveTime::Measured(Measured::default()),
        }
    }

    /// The time of a command: measured on a card, modelled in emulation.
    pub(crate) fn time_of(
        &self,
        modelled: Option<Modelled>,
        link_bytes: u64,
        measured: Measured,
    ) -> DriveTime {
        match &self.model {
            None => DriveTime::Measured(measured),
            Some(model) => {
                let clock = model.clock();
                let link_ns = clock.link_ns(link_bytes);
                let time = modelled.unwrap_or_else(|| clock.idle());
                DriveTime::Modelled(Modelled { link_ns, ..time })
            }
        }
    }
}

/// Work with all that it needs to run.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) work: Work,
    /// Released when the job ends, not before.
    pub(crate) lease: Lease,
    pub(crate) pending: Arc<Pending>,
    /// The budget to which the result's host memory is charged.
    pub(crate) budget: Arc<dyn Budget>,
    /// Set when the drive is lost for the session that sent this.
    pub(crate) session_gone: Arc<AtomicBool>,
}
