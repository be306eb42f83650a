// SPDX-License-Identifier: Apache-2.0
//! Provides drives around others, for tests that look at what is behind them: [`InStore`] makes
//! objects of files, and [`Counted`] knows the sessions of a served drive.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicU64, Ordering},
    },
};

use nearscan_command::{InputRef, Version};
use nearscan_drive::{
    Budget, CancelOutcome, Capabilities, CostSnapshot, Drive, FileRef, FlashEvent, Identity, Lease,
    Placement, Refusal, Session, SessionSpec, Submission, Ticket,
};
use nearscan_emulator::Emulator;
use nearscan_remote::{Address, RemoteDrive};
use nearscan_store::{CollectionPath, Condition};

use crate::bench::wait;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Versions of objects by the numbers of their files and the versions of those here.
type Versions = Mutex<HashMap<(u64, Version), Version>>;

/// A drive of a server with a store: each file that is located is put there, and its commands read
/// the object.
#[derive(Debug)]
pub(crate) struct InStore {
    pub(crate) drive: RemoteDrive,
    server: Arc<str>,
    collection: CollectionPath,
    next: AtomicU64,
    versions: Arc<Versions>,
}

impl InStore {
    /// The objects are in a collection of this name.
    pub(crate) fn new(drive: RemoteDrive, address: &Address, collection: &str) -> Self {
        Self {
            drive,
            server: address.to_string().into(),
            collection: CollectionPath::in_default(collection).unwrap(),
            next: AtomicU64::new(0),
            versions: Arc::default(),
        }
    }

    /// Removes all objects.
    pub(crate) fn remove_all(&self) {
        let objects = self.drive.objects();
        wait(async {
            for number in 0..self.next.load(Ordering::SeqCst) {
                let path = self.collection.object(&number.to_string()).unwrap();
                objects.remove(&path, Condition::Always).await.unwrap();
            }
        });
    }
}

impl Drive for InStore {
    fn identity(&self) -> &Identity {
        self.drive.identity()
    }

    fn capabilities(&self) -> &Capabilities {
        self.drive.capabilities()
    }

    fn locate(&self, file: &FileRef) -> Placement {
        let bytes = match std::fs::read(&file.path) {
            Ok(bytes) => bytes,
            Err(error) => return Placement::NotHere { reason: error.to_string() },
        };
        let name = self.next.fetch_add(1, Ordering::SeqCst).to_string();
        let path = self.collection.object(&name).unwrap();
        let put = async { self.drive.objects().put(&path, bytes.into(), Condition::Absent).await };
        let info = wait(put).unwrap();
        let object = FileRef {
            server: Some(Arc::clone(&self.server)),
            path: format!("/{}/{name}", self.collection.name()).into(),
            version: Version { size_bytes: info.length, stamp: info.version },
        };
        let placement = self.drive.locate(&object);
        if let Placement::Here { file_id } = placement {
            lock(&self.versions).insert((file_id, file.version), object.version);
        }
        placement
    }

    fn snapshot(&self) -> CostSnapshot {
        self.drive.snapshot()
    }

    fn open_session(&self, spec: SessionSpec) -> Result<Arc<dyn Session>, Refusal> {
        let (session, versions) = (self.drive.open_session(spec)?, Arc::clone(&self.versions));
        Ok(Arc::new(OfObjects { session, versions }))
    }

    fn reset(&self) -> Result<u64, Refusal> {
        self.drive.reset()
    }

    fn in_flight(&self) -> u32 {
        self.drive.in_flight()
    }

    fn shutdown(&self) {
        self.drive.shutdown();
    }
}

/// A session whose commands read objects in the place of files.
#[derive(Debug)]
struct OfObjects {
    session: Arc<dyn Session>,
    versions: Arc<Versions>,
}

impl Session for OfObjects {
    fn epoch(&self) -> u64 {
        self.session.epoch()
    }

    fn lease(&self, bytes: u64) -> Result<Lease, Refusal> {
        self.session.lease(bytes)
    }

    fn submit(&self, mut submission: Submission) -> Result<Ticket, Refusal> {
        for input in submission.work.inputs_mut() {
            if let InputRef::FileRange { file_id, version, .. } = input
                && let Some(of_object) = lock(&self.versions).get(&(*file_id, *version))
            {
                *version = *of_object;
            }
        }
        self.session.submit(submission)
    }

    fn cancel(&self, command_id: u128) -> CancelOutcome {
        self.session.cancel(command_id)
    }
}

/// An emulated drive that knows its sessions, and what they charge.
#[derive(Debug)]
pub(crate) struct Counted {
    pub(crate) drive: Arc<Emulator>,
    sessions: Mutex<Vec<Weak<dyn Session>>>,
    budget: Mutex<Option<Arc<dyn Budget>>>,
    located: AtomicU64,
}

impl Counted {
    pub(crate) fn new(drive: Emulator) -> Arc<Self> {
        Arc::new(Self {
            drive: Arc::new(drive),
            sessions: Mutex::default(),
            budget: Mutex::default(),
            located: AtomicU64::new(0),
        })
    }

    /// How often it was asked where a file is.
    pub(crate) fn located(&self) -> u64 {
        self.located.load(Ordering::SeqCst)
    }

    /// Sessions of queries that are open.
    pub(crate) fn sessions(&self) -> usize {
        lock(&self.sessions).iter().filter(|session| session.strong_count() > 0).count()
    }

    /// Whether there are so many bytes of host memory for the sessions of queries, and none of them
    /// in use. Before the first session it is not known otherwise.
    pub(crate) fn has_host_memory(&self, bytes: u64) -> bool {
        let Some(budget) = lock(&self.budget).clone() else { return true };
        let has_room = budget.try_grow(bytes);
        if has_room {
            assert!(!budget.try_grow(1), "there are more than {bytes} bytes");
            budget.shrink(bytes);
        }
        has_room
    }

    /// Whether no command is left, no session, and none of their memory.
    pub(crate) fn is_idle(&self) -> bool {
        self.drive.in_flight() == 0 && self.drive.memory_is_whole() && self.sessions() == 0
    }
}

impl Drive for Counted {
    fn identity(&self) -> &Identity {
        self.drive.identity()
    }

    fn capabilities(&self) -> &Capabilities {
        self.drive.capabilities()
    }

    fn locate(&self, file: &FileRef) -> Placement {
        self.located.fetch_add(1, Ordering::SeqCst);
        self.drive.locate(file)
    }

    fn snapshot(&self) -> CostSnapshot {
        self.drive.snapshot()
    }

    fn open_session(&self, spec: SessionSpec) -> Result<Arc<dyn Session>, Refusal> {
        let (query_id, budget) = (spec.query_id, Arc::clone(&spec.budget));
        let session = self.drive.open_session(spec)?;
        // The server asks for the epoch in sessions of no query.
        if query_id > 0 {
            lock(&self.sessions).push(Arc::downgrade(&session));
            lock(&self.budget).get_or_insert(budget);
        }
        Ok(session)
    }

    fn reset(&self) -> Result<u64, Refusal> {
        self.drive.reset()
    }

    fn flash_events(&self, after: u64) -> Vec<FlashEvent> {
        self.drive.flash_events(after)
    }

    fn in_flight(&self) -> u32 {
        self.drive.in_flight()
    }

    fn shutdown(&self) {
        self.drive.shutdown();
    }
}
