// SPDX-License-Identifier: Apache-2.0
//! Holds what a drive, its sessions and its threads share: the card, and the jobs that wait or run.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use nearscan_command::MergeCut;
use nearscan_drive::{
    Budget, CardModel, DriveTime, Failure, FileTable, ImageSlot, JobQueue, Lease, LentImage,
    LoadedImage, Measured, Modelled, Work,
};

use crate::{
    card::Card,
    config::Config,
    images::Images,
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
    /// Time of opening the card with an image, the last time, in ns.
    pub(crate) load_ns: AtomicU64,
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
    /// [`Failure::Gone`] if the card is lost, [`Failure::Timeout`] and [`Failure::Cancelled`] if
    /// the command was given up before its image was there.
    pub(crate) fn card_for(
        &self,
        work: &Work,
        pending: &Pending,
    ) -> Result<LentImage<'_, Card>, Failure> {
        let suits = |card: &Card| self.images.needed(work, &card.image).is_none();
        let load = |before: Option<Arc<Card>>| {
            let from = before.as_ref().map_or(&self.images.first, |card| &card.image);
            let image = self.images.needed(work, from).unwrap_or(from);
            let exchange = self.running.begin_exchange();
            if let Some(card) = &before {
                card.close();
            }
            let opened = Card::open(&self.config, image, self.model.clone());
            let opened =
                opened.map_err(|error| kernel(format!("another image cannot be loaded: {error}")));
            let load_time = exchange.end();
            if opened.is_ok() {
                self.load_ns.store(load_time.ns, Ordering::Release);
                tracing::info!(image = image.image.name, ns = load_time.ns, "an image was loaded");
            }
            opened
        };
        // A card that is lost is not touched.
        let give_up = || self.check_lost().and_then(|()| pending.check()).err();
        if let Some(reason) = give_up() {
            return Err(reason);
        }
        self.slot.lend(suits, give_up, load)
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
        let ability = self.slot.loaded().map(|card| card.image.ability());
        let exchange_ns = match &self.model {
            Some(model) => model.clock().exchange_ns(),
            None => self.load_ns.load(Ordering::Acquire),
        };
        LoadedImage::of(ability, exchange_ns)
    }

    /// The limits by which merges are cut into parts for a card.
    pub(crate) fn merge_cut(&self, card: &Card) -> MergeCut {
        let units = u32::try_from(card.merges.len()).unwrap_or(u32::MAX);
        let of_model = self.model.as_ref().map(|model| model.merge_part_rows());
        MergeCut { units, part_rows: of_model.unwrap_or(MergeCut::PART_ROWS) }
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

    /// The time of a command, for which an image was loaded or not: measured on a card, modelled in
    /// emulation.
    pub(crate) fn time_of(
        &self,
        modelled: Option<Modelled>,
        was_loaded: bool,
        link_bytes: u64,
        measured: Measured,
    ) -> DriveTime {
        match &self.model {
            None => DriveTime::Measured(measured),
            Some(model) => {
                let clock = model.clock();
                let link_ns = clock.link_ns(link_bytes);
                let exchange_ns = if was_loaded { clock.exchange_ns() } else { 0 };
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
