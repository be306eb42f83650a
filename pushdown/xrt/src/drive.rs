// SPDX-License-Identifier: Apache-2.0
//! Implements [`XrtDrive`]: the drive, its sessions and its threads.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::JoinHandle,
};

use nearscan_drive::{
    Budget, CancelOutcome, CancelWord, Capabilities, CardModel, CostSnapshot, Drive, FileRef,
    FileTable, Identity, ImageSlot, JobQueue, Lease, Placement, RatesByRequest, Refusal, Session,
    SessionSpec, Submission, Ticket, clock::Stopwatch,
};
use nearscan_link::{Kernel, Target, description::BANK_BYTES};
use uuid::Uuid;

use crate::{
    card::{Card, UNITS_BYTES},
    config::Config,
    error::OpenError,
    images::Images,
    running::{Pending, Running},
    shared::{Job, Shared},
    unit::starts_in_flight,
};

/// Threads for each unit that scans: while those wait that have started the kernel, another reads.
const THREADS_PER_UNIT: usize = starts_in_flight(Kernel::Scan) + 1;

/// Device memory that is leased: buffers are up to a quarter larger than what they are for, and the
/// units hold some for themselves.
const LEASED_BYTES: u64 = (BANK_BYTES - 2 * UNITS_BYTES) / 5 * 4;

/// A card, reached through XRT.
#[derive(Debug)]
pub struct XrtDrive {
    identity: Identity,
    capabilities: Capabilities,
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl XrtDrive {
    /// Opens a card; if its image is for software emulation, `model` replaces the card.
    ///
    /// # Errors
    /// [`OpenError`]: what is missing, and what to do about it.
    pub fn open(config: &Config, model: Option<Arc<dyn CardModel>>) -> Result<Self, OpenError> {
        let images = Images::read(config)?;
        let target = images.first.image.target;
        // A card has its own clock.
        let model = model.filter(|_| target == Target::SoftwareEmulation);
        if target == Target::SoftwareEmulation && model.is_none() {
            return Err(OpenError::NoModel);
        }
        let watch = Stopwatch::start();
        let card = Card::open(config, &images.first, model.clone())?;
        let load_time = watch.measured();
        let memory_bytes = LEASED_BYTES;
        let capabilities =
            Capabilities { memory_bytes, emulated: card.is_emulated(), ..images.capabilities() };
        let name = format!("nearscan xrt {} {:?}", config.target, config.root);
        let identity = Identity {
            uuid: Uuid::new_v5(&Uuid::NAMESPACE_URL, name.as_bytes()),
            kind: "xrt",
            model: format!("SmartSSD, {}", images.in_words()),
        };
        let queues = card.scans.iter().map(|_| JobQueue::unbounded()).collect();
        let shared = Arc::new(Shared {
            queues,
            config: config.clone(),
            images,
            slot: ImageSlot::new(card),
            load_ns: AtomicU64::new(load_time.ns),
            files: FileTable::new(config.root.clone()),
            running: Running::default(),
            model,
            in_flight_max: capabilities.in_flight_max,
            free_bytes: Arc::new(AtomicU64::new(memory_bytes)),
            epoch: AtomicU64::new(1),
            snapshots: AtomicU64::new(0),
        });
        let drive = Self { identity, capabilities, shared, threads: Mutex::default() };
        drive.start(config).map_err(OpenError::Thread)?;
        Ok(drive)
    }

    fn start(&self, config: &Config) -> std::io::Result<()> {
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        let (shared, grace) = (Arc::clone(&self.shared), config.grace);
        let watch = move || shared.running.watch(grace, || shared.no_time());
        threads.push(std::thread::Builder::new().name("xrt watch".to_owned()).spawn(watch)?);
        for index in 0..self.shared.queues.len() * THREADS_PER_UNIT {
            let (shared, unit) = (Arc::clone(&self.shared), index / THREADS_PER_UNIT);
            let name = format!("xrt unit {unit}");
            let work = move || work_on(&shared, unit);
            threads.push(std::thread::Builder::new().name(name).spawn(work)?);
        }
        Ok(())
    }

    /// Whether every lease of device memory was released.
    pub fn memory_is_whole(&self) -> bool {
        self.shared.free_bytes.load(Ordering::Acquire) == self.capabilities.memory_bytes
    }

    /// The reason why files are copied through the host instead of going straight to the card, if
    /// they are.
    pub fn copies_because(&self) -> Option<String> {
        self.shared.slot.loaded().and_then(|card| card.peer_to_peer.clone().err())
    }
}

/// Does the jobs of a unit until its queue is closed.
fn work_on(shared: &Shared, index: usize) {
    let Some(queue) = shared.queues.get(index) else { return };
    while let Some(job) = queue.next() {
        job.run(shared, index);
        queue.finish();
    }
}

impl Drive for XrtDrive {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn locate(&self, file: &FileRef) -> Placement {
        self.shared.files.locate(file)
    }

    fn snapshot(&self) -> CostSnapshot {
        let unknown = || CostSnapshot {
            id: self.shared.snapshots.fetch_add(1, Ordering::Relaxed),
            lanes: u32::try_from(self.shared.queues.len()).unwrap_or(u32::MAX),
            start_ns: 0.0,
            media: None,
            link_bytes_per_s: None,
            dictionary_bytes_per_s: None,
            scan: RatesByRequest::UNKNOWN,
            merge: RatesByRequest::UNKNOWN,
            queue_depth: 0,
            free_bytes: 0,
            image: None,
        };
        let image = self.shared.images.second.as_ref().map(|_| self.shared.loaded_image());
        let known = self.shared.model.as_ref().map(|model| model.clock().snapshot());
        CostSnapshot {
            queue_depth: self.in_flight(),
            free_bytes: self.shared.free_bytes.load(Ordering::Acquire),
            image,
            ..known.unwrap_or_else(unknown)
        }
    }

    fn open_session(&self, spec: SessionSpec) -> Result<Arc<dyn Session>, Refusal> {
        if let Some(reason) = self.lost() {
            return Err(Refusal::Gone { reason });
        }
        Ok(Arc::new(XrtSession {
            shared: Arc::clone(&self.shared),
            epoch: self.shared.epoch.load(Ordering::Acquire),
            budget: spec.budget,
            gone: Arc::default(),
        }))
    }

    fn reset(&self) -> Result<u64, Refusal> {
        if let Some(reason) = self.lost() {
            return Err(Refusal::Gone { reason });
        }
        self.shared.running.cancel_all();
        Ok(self.shared.epoch.fetch_add(1, Ordering::AcqRel) + 1)
    }

    fn epoch(&self) -> Option<u64> {
        Some(self.shared.epoch.load(Ordering::Acquire))
    }

    fn in_flight(&self) -> u32 {
        self.shared.running.count()
    }

    /// The reason why a card is lost. The runtime cannot release its resources then: the process
    /// is to be ended by [`leave`](crate::leave).
    fn lost(&self) -> Option<String> {
        self.shared.running.lost().map(str::to_owned)
    }

    fn shutdown(&self) {
        self.shared.queues.iter().for_each(JobQueue::close);
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        if threads.is_empty() {
            return;
        }
        // The first one watches the clock, and has to until the others have ended.
        let watch = threads.remove(0);
        for thread in threads.drain(..) {
            while !thread.is_finished() && self.lost().is_none() {
                nearscan_drive::clock::pause(std::time::Duration::from_millis(1));
            }
            // One that is caught in a card that is lost is left there.
            if thread.is_finished() && thread.join().is_err() {
                tracing::error!("a thread of the drive panicked");
            }
        }
        self.shared.running.close();
        if watch.join().is_err() {
            tracing::error!("the watch of the drive panicked");
        }
        match self.lost() {
            None => {
                if let Some(card) = self.shared.slot.unload() {
                    card.close();
                }
            }
            Some(reason) => {
                tracing::error!(reason, "a lost card is not closed: end the process by leave()");
            }
        }
    }
}

impl Drop for XrtDrive {
    fn drop(&mut self) {
        // Running commands have no waiting receiver.
        self.shared.running.cancel_all();
        self.shutdown();
    }
}

#[derive(Debug)]
struct XrtSession {
    shared: Arc<Shared>,
    epoch: u64,
    budget: Arc<dyn Budget>,
    gone: Arc<AtomicBool>,
}

impl XrtSession {
    fn is_void(&self) -> Option<Refusal> {
        let reason = if let Some(reason) = self.shared.running.lost() {
            reason.to_owned()
        } else if self.gone.load(Ordering::Acquire) {
            "it was lost".to_owned()
        } else if self.shared.epoch.load(Ordering::Acquire) != self.epoch {
            "it was reset".to_owned()
        } else {
            return None;
        };
        Some(Refusal::Gone { reason })
    }
}

impl Session for XrtSession {
    fn epoch(&self) -> u64 {
        self.epoch
    }

    fn lease(&self, needed_bytes: u64) -> Result<Lease, Refusal> {
        let take = |free: u64| free.checked_sub(needed_bytes);
        let taken = self.shared.free_bytes.fetch_update(Ordering::AcqRel, Ordering::Acquire, take);
        if taken.is_err() {
            return Err(Refusal::LowMemory { needed_bytes });
        }
        let free = Arc::clone(&self.shared.free_bytes);
        Ok(Lease::new(needed_bytes, move |bytes| {
            free.fetch_add(bytes, Ordering::AcqRel);
        }))
    }

    fn submit(&self, submission: Submission) -> Result<Ticket, Refusal> {
        let Submission { work, lease, timeout } = submission;
        if let Some(refusal) = self.is_void() {
            return Err(refusal);
        }
        if let Some(model) = &self.shared.model {
            model.admit(&work)?;
        }
        let forget = || {
            if let Some(model) = &self.shared.model {
                model.end(&work);
            }
        };
        let needed_bytes = work.device_bytes();
        if lease.bytes() < needed_bytes {
            forget();
            return Err(Refusal::LowMemory { needed_bytes });
        }
        let cancel = CancelWord::default();
        let (ticket, reply) = Ticket::new(work.envelope(), cancel.clone());
        let pending = Arc::new(Pending::new(work.envelope(), timeout, cancel, reply));
        if !self.shared.running.add(&pending, self.shared.in_flight_max) {
            forget();
            return Err(Refusal::Busy);
        }
        let (budget, session_gone) = (Arc::clone(&self.budget), Arc::clone(&self.gone));
        let job = Job { work, lease, pending: Arc::clone(&pending), budget, session_gone };
        let shortest = self.shared.queues.iter().min_by_key(|queue| queue.in_flight());
        if shortest.is_some_and(|queue| queue.push(job).is_ok()) {
            return Ok(ticket);
        }
        self.shared.running.remove(&pending);
        Err(Refusal::Gone { reason: "it was shut down".to_owned() })
    }

    fn cancel(&self, command_id: u128) -> CancelOutcome {
        if self.shared.running.lost().is_some() {
            return CancelOutcome::Lost;
        }
        match self.shared.running.cancel(command_id) {
            true => CancelOutcome::Acknowledged,
            false => CancelOutcome::Unknown,
        }
    }
}
