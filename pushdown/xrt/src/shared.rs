// SPDX-License-Identifier: Apache-2.0
//! Holds what a drive, its sessions and its threads share: the card, and the jobs that wait or run.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64},
    },
    time::Duration,
};

use nearscan_command::MergeCut;
use nearscan_drive::{
    Budget, CardModel, DriveTime, Failure, FileTable, ImageSlot, JobQueue, Lease, LentImage,
    LoadedImage, Measured, Modelled, Work,
};

use crate::{
    card::Card,
    config::Config,
    images::{ImageFile, Images},
    running::{Pending, Running},
    unit::kernel,
};

/// The state that drive, sessions and threads share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) config: Config,
    pub(crate) images: Images,
    /// The open card, with the image that it has loaded.
    pub(crate) slot: ImageSlot<Card>,
    /// Time of opening the card with its first image.
    pub(crate) load_time: Measured,
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
    /// The card with the image that runs a command. If another one is loaded, the card is closed
    /// and opened again with this one.
    ///
    /// # Errors
    /// [`Failure::Kernel`] if it cannot be opened again, and the next command tries anew;
    /// [`Failure::Gone`] if the card is lost.
    pub(crate) fn card_for(&self, work: &Work) -> Result<LentImage<'_, Card>, Failure> {
        let needed = |loaded: &ImageFile| self.images.needed(work, loaded);
        let suits = |card: &Card| needed(&card.image).is_none();
        let load = |before: Option<Arc<Card>>| {
            let image = match &before {
                Some(card) => needed(&card.image).unwrap_or(&self.images.first),
                None => needed(&self.images.first).unwrap_or(&self.images.first),
            };
            // A card that is lost is not touched.
            self.check_lost()?;
            if let Some(card) = &before {
                card.close();
            }
            tracing::info!(image = image.image.name, "another image is loaded");
            let opened = Card::open(&self.config, image, self.model.clone());
            opened.map_err(|error| kernel(format!("another image cannot be loaded: {error}")))
        };
        self.check_lost()?;
        self.slot.lend(suits, load)
    }

    /// # Errors
    /// [`Failure::Gone`] if the card is lost.
    pub(crate) fn check_lost(&self) -> Result<(), Failure> {
        match self.running.lost() {
            Some(reason) => Err(Failure::Gone { reason: reason.to_owned() }),
            None => Ok(()),
        }
    }

    /// The image that is loaded, for estimates.
    pub(crate) fn loaded_image(&self) -> LoadedImage {
        let card = self.slot.loaded();
        let image = card.as_ref().map_or(&self.images.first, |card| &card.image);
        let exchange_ns = match &self.model {
            Some(model) => model.clock().exchange_ns(),
            None => self.load_time.ns,
        };
        LoadedImage {
            columns_max: image.image.lanes,
            merges: image.merges(),
            exchange_ns: Duration::from_nanos(exchange_ns).as_secs_f64() * 1e9,
        }
    }

    /// The limits by which merges are cut into parts for a card.
    pub(crate) fn merge_cut(&self, card: &Card) -> MergeCut {
        let units = u32::try_from(card.merges.len()).unwrap_or(u32::MAX);
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
        exchange_ns: u64,
        link_bytes: u64,
        measured: Measured,
    ) -> DriveTime {
        match &self.model {
            None => DriveTime::Measured(measured),
            Some(model) => {
                let clock = model.clock();
                let link_ns = clock.link_ns(link_bytes);
                let time = modelled.unwrap_or_else(|| clock.idle());
                DriveTime::Modelled(Modelled { link_ns, exchange_ns, ..time })
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
