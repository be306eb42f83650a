// SPDX-License-Identifier: Apache-2.0
//! Implements [`Emulator`]: the drive, its sessions and the threads that simulate it.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::JoinHandle,
};

use nearscan_drive::{
    Budget, CancelOutcome, CancelWord, Capabilities, CostSnapshot, Drive, FileRef, FileTable,
    FlashEvent, Identity, ImageSlot, JobQueue, Lease, NotQueued, Placement, Refusal, Session,
    SessionSpec, Submission, Ticket,
};
use uuid::Uuid;

use crate::{
    config::Config,
    device::Memory,
    faults::Fault,
    flash::Flash,
    shared::{Job, Shared},
    strikes::Strikes,
};

/// An emulated SmartSSD.
#[derive(Debug)]
pub struct Emulator {
    identity: Identity,
    capabilities: Capabilities,
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Emulator {
    /// Opens an emulated drive; its threads start at once.
    pub fn open(config: Config) -> Self {
        let capabilities = Capabilities {
            memory_bytes: config.memory_bytes,
            emulated: true,
            ..config.builds.capabilities()
        };
        let name = format!("nearscan emulated {:?} {:?}", config.root, config.seed);
        let identity = Identity {
            uuid: Uuid::new_v5(&Uuid::NAMESPACE_URL, name.as_bytes()),
            kind: "emulated",
            model: format!("SmartSSD, {}", config.builds),
        };
        let shared = Arc::new(Shared {
            files: FileTable::new(config.root.clone()),
            flash: Flash::new(config.hot_block_reads),
            memory: Memory::new(config.memory_bytes),
            queue: JobQueue::bounded(capabilities.in_flight_max as usize),
            epoch: AtomicU64::new(1),
            snapshots: AtomicU64::new(0),
            strikes: Strikes::default(),
            absent_requests: AtomicU64::new(0),
            running: Mutex::default(),
            image: ImageSlot::new(config.builds.first),
            config,
        });
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let threads =
            (0..threads).filter_map(|number| start_thread(number, Arc::clone(&shared))).collect();
        Self { identity, capabilities, shared, threads: Mutex::new(threads) }
    }

    /// Whether every lease of device memory was released.
    pub fn memory_is_whole(&self) -> bool {
        self.shared.memory.is_whole()
    }

    /// Commands that were submitted since it was opened, refused ones included: `KIND@N` strikes
    /// one only if there are more than N.
    pub fn commands_submitted(&self) -> u64 {
        self.shared.strikes.submitted()
    }

    /// Faults that have struck since it was opened.
    pub fn faults_struck(&self) -> u64 {
        self.shared.strikes.count()
    }
}

/// Starts a thread that simulates. There is one for each core, however many units there are: how
/// commands share the units is up to the modelled clock.
fn start_thread(number: usize, shared: Arc<Shared>) -> Option<JoinHandle<()>> {
    let work = move || {
        while let Some(job) = shared.queue.next() {
            let id = job.work.envelope().command_id;
            job.run(&shared);
            shared.running().retain(|(running, _)| *running != id);
            shared.queue.finish();
        }
    };
    let started = std::thread::Builder::new().name(format!("emulated drive {number}")).spawn(work);
    match started {
        Ok(handle) => Some(handle),
        Err(error) => {
            tracing::warn!(number, %error, "a thread of the emulated drive did not start");
            None
        }
    }
}

/// Jobs of a queue that is bounded by a number of 32 bits.
fn count(jobs: usize) -> u32 {
    u32::try_from(jobs).unwrap_or(u32::MAX)
}

impl Drive for Emulator {
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
        let Shared { config, memory, queue, snapshots, image, .. } = &*self.shared;
        CostSnapshot {
            id: snapshots.fetch_add(1, Ordering::Relaxed),
            queue_depth: count(queue.in_flight()),
            free_bytes: memory.free_bytes(),
            ..config.rates(image.loaded().as_deref())
        }
    }

    fn open_session(&self, spec: SessionSpec) -> Result<Arc<dyn Session>, Refusal> {
        if let Some(refusal) = self.shared.is_absent() {
            return Err(refusal);
        }
        Ok(Arc::new(EmulatedSession {
            shared: Arc::clone(&self.shared),
            epoch: self.shared.epoch(),
            budget: spec.budget,
            gone: Arc::default(),
        }))
    }

    fn reset(&self) -> Result<u64, Refusal> {
        Ok(self.shared.start_anew())
    }

    fn epoch(&self) -> Option<u64> {
        Some(self.shared.epoch())
    }

    fn in_flight(&self) -> u32 {
        count(self.shared.queue.in_flight())
    }

    fn flash_events(&self, after: u64) -> Vec<FlashEvent> {
        self.shared.flash.events(after)
    }

    fn shutdown(&self) {
        self.shared.queue.close();
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        for thread in threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a thread of the emulated drive panicked");
            }
        }
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        // Running commands have no waiting receiver.
        for (_, cancel) in self.shared.running().iter() {
            cancel.set();
        }
        self.shutdown();
    }
}

#[derive(Debug)]
struct EmulatedSession {
    shared: Arc<Shared>,
    epoch: u64,
    budget: Arc<dyn Budget>,
    gone: Arc<AtomicBool>,
}

impl EmulatedSession {
    fn is_void(&self) -> Option<Refusal> {
        if let Some(refusal) = self.shared.is_absent() {
            return Some(refusal);
        }
        let reason = if self.gone.load(Ordering::Acquire) {
            "it was lost"
        } else if self.shared.epoch() != self.epoch {
            "it was reset"
        } else {
            return None;
        };
        Some(Refusal::Gone { reason: reason.to_owned() })
    }
}

impl Session for EmulatedSession {
    fn epoch(&self) -> u64 {
        self.epoch
    }

    fn lease(&self, bytes: u64) -> Result<Lease, Refusal> {
        self.shared.memory.lease(bytes)
    }

    fn submit(&self, submission: Submission) -> Result<Ticket, Refusal> {
        let Submission { work, lease, .. } = submission;
        if let Some(refusal) = self.is_void() {
            return Err(refusal);
        }
        let place = self.shared.strikes.place();
        let strikes = |fault| self.shared.strikes(fault, &work, place);
        if strikes(Fault::QueueFull) {
            return Err(Refusal::Busy);
        }
        let needed_bytes = work.device_bytes();
        if lease.bytes() < needed_bytes || strikes(Fault::LowMemory) {
            return Err(Refusal::LowMemory { needed_bytes });
        }
        let cancel = CancelWord::default();
        let (ticket, reply) = Ticket::new(work.envelope(), cancel.clone());
        let id = work.envelope().command_id;
        let session_gone = Arc::clone(&self.gone);
        self.shared.running().push((id, cancel.clone()));
        let budget = Arc::clone(&self.budget);
        let epoch = self.epoch;
        let job = Job { work, place, lease, cancel, budget, epoch, session_gone, reply };
        let refusal = match self.shared.queue.push(job) {
            Ok(()) => return Ok(ticket),
            Err(NotQueued::Full(_)) => Refusal::Busy,
            Err(NotQueued::Closed(_)) => Refusal::Gone { reason: "it was shut down".to_owned() },
        };
        self.shared.running().retain(|(running, _)| *running != id);
        Err(refusal)
    }

    fn cancel(&self, command_id: u128) -> CancelOutcome {
        match self.shared.running().iter().find(|(id, _)| *id == command_id) {
            Some((_, cancel)) => {
                cancel.set();
                CancelOutcome::Acknowledged
            }
            None => CancelOutcome::Unknown,
        }
    }
}
