// SPDX-License-Identifier: Apache-2.0
//! Implements [`StoreDrive`]: a drive that reads the objects of a store as its files.
//!
//! Commands name an object by the number of its file at the drive, and by the version of the
//! object. The drive knows versions of files. So this remembers which version of a file stands for
//! which version of an object, and puts the one for the other in commands.
//!
//! # Invariants
//!
//! - A command reads the version of the object that its sender has seen: the bytes of that version
//!   never change in its file, and a file that another version took the place of is gone.
//! - Reasons and events name objects, and no path of this machine.

use std::{
    ffi::OsStr,
    fmt::Debug,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use nearscan_command::{InputRef, Version};
use nearscan_drive::{
    CancelOutcome, Capabilities, CostSnapshot, Drive, Failure, FileRef, FlashEvent, FlashEventKind,
    Identity, Lease, Placement, Recent, Refusal, Session, SessionSpec, Submission, Ticket, Work,
};

use crate::{
    path::{CollectionPath, ObjectPath},
    store::Store,
};

/// Versions that are remembered. One that was not used for long is forgotten: whoever names it
/// hears that it is stale, and locates it again.
const VERSIONS_MAX: usize = 1 << 16;

/// A drive over the objects of a store: a [`FileRef`] is one of them at the path
/// `/PARTITION/COLLECTION/NAME`, if its server is [`StoreDrive::SERVER`] or ends with it. It holds
/// no other files.
#[derive(Debug)]
pub struct StoreDrive {
    inner: Arc<dyn Drive>,
    store: Store,
    versions: Arc<Versions>,
}

impl StoreDrive {
    /// The server of the objects, which is the end of a name that no network has.
    pub const SERVER: &str = "objects.invalid:1";

    /// The drive that reads the files of a store on this machine.
    pub fn new(inner: Arc<dyn Drive>, store: Store) -> Self {
        Self { inner, store, versions: Arc::default() }
    }

    /// A version of an object, as [`Drive::locate`] takes it.
    #[must_use]
    pub fn file_ref(path: &ObjectPath, version: Version) -> FileRef {
        FileRef { server: Some(Self::SERVER.into()), path: format!("/{path}").into(), version }
    }

    /// The number of the file of an object at the drive.
    fn place(&self, file: &FileRef) -> Result<u64, String> {
        if !file.server.as_ref().is_some_and(|server| server.ends_with(Self::SERVER)) {
            return Err("the drive has objects, and no files".to_owned());
        }
        let path = object_at(&file.path)?;
        let local = self.store.local_file(&path).map_err(|error| error.to_string())?;
        let now = Version { size_bytes: local.info.length, stamp: local.info.version };
        if now != file.version {
            return Err(format!("object {path} has changed"));
        }
        // Why the file cannot be read is about paths of this machine, which are no one's business.
        let not_held = |reason: String| {
            tracing::info!(object = %path, reason, "the drive does not hold it");
            format!("the drive does not hold object {path}")
        };
        let of_file = FileRef::of(&local.path).map_err(|error| not_held(error.to_string()))?;
        match self.inner.locate(&of_file) {
            Placement::Here { file_id } => {
                self.versions.remember((file_id, now), &of_file, &path);
                Ok(file_id)
            }
            Placement::NotHere { reason } => Err(not_held(reason)),
        }
    }
}

/// The object at a path.
fn object_at(path: &Path) -> Result<ObjectPath, String> {
    let text = path.to_str().and_then(|text| text.strip_prefix('/'));
    let mut parts = text.unwrap_or_default().splitn(3, '/');
    let (Some(partition), Some(collection), Some(name)) =
        (parts.next(), parts.next(), parts.next())
    else {
        return Err(format!("{} names no object", path.display()));
    };
    let collection = CollectionPath::new(partition, collection);
    let object = collection.and_then(|collection| collection.object(name));
    object.map_err(|error| error.to_string())
}

impl Drive for StoreDrive {
    fn identity(&self) -> &Identity {
        self.inner.identity()
    }

    fn capabilities(&self) -> &Capabilities {
        self.inner.capabilities()
    }

    fn locate(&self, file: &FileRef) -> Placement {
        match self.place(file) {
            Ok(file_id) => Placement::Here { file_id },
            Err(reason) => Placement::NotHere { reason },
        }
    }

    fn snapshot(&self) -> CostSnapshot {
        self.inner.snapshot()
    }

    fn open_session(&self, spec: SessionSpec) -> Result<Arc<dyn Session>, Refusal> {
        let inner = self.inner.open_session(spec)?;
        Ok(Arc::new(StoreSession { inner, versions: Arc::clone(&self.versions) }))
    }

    fn reset(&self) -> Result<u64, Refusal> {
        self.inner.reset()
    }

    fn epoch(&self) -> Option<u64> {
        self.inner.epoch()
    }

    fn in_flight(&self) -> u32 {
        self.inner.in_flight()
    }

    fn lost(&self) -> Option<String> {
        self.inner.lost()
    }

    fn flash_events(&self, after: u64) -> Vec<FlashEvent> {
        let mut events = self.inner.flash_events(after);
        let hot = events.iter_mut().filter_map(|event| match &mut event.kind {
            FlashEventKind::HotBlock { file, .. } => Some(file),
            FlashEventKind::GarbageCollection { .. } => None,
        });
        let mut hot: Vec<&mut Arc<Path>> = hot.collect();
        if !hot.is_empty() {
            let names = hot.iter().filter_map(|file| file.file_name().map(OsStr::to_owned));
            let objects = self.store.objects_of_files(&names.collect());
            let no_object = match &objects {
                Ok(_) => "an object that is gone",
                Err(_) => "an object whose name cannot be read",
            };
            let objects = objects.unwrap_or_default();
            for file in &mut hot {
                let object = file.file_name().and_then(|name| objects.get(name));
                let object = object.map(|object| PathBuf::from(object.to_string()));
                **file = object.unwrap_or_else(|| PathBuf::from(no_object)).into();
            }
        }
        events
    }

    fn shutdown(&self) {
        self.inner.shutdown();
    }
}

/// A session whose commands name versions of objects.
#[derive(Debug)]
struct StoreSession {
    inner: Arc<dyn Session>,
    versions: Arc<Versions>,
}

impl Session for StoreSession {
    fn epoch(&self) -> u64 {
        self.inner.epoch()
    }

    fn lease(&self, bytes: u64) -> Result<Lease, Refusal> {
        self.inner.lease(bytes)
    }

    fn submit(&self, mut submission: Submission) -> Result<Ticket, Refusal> {
        let inputs = self.versions.translate(&mut submission.work);
        let ticket = self.inner.submit(submission)?;
        Ok(ticket.on_failure(move |failure| name_object(failure, &inputs)))
    }

    fn cancel(&self, command_id: u128) -> CancelOutcome {
        self.inner.cancel(command_id)
    }
}

/// The number of a file at the drive, and the version of the object that it was.
type Key = (u64, Version);

/// The file of a version of an object.
#[derive(Debug, Clone)]
struct ObjectFile {
    version: Version,
    /// As the drive names it in reasons.
    path: Arc<str>,
    /// As users name the object.
    object: Arc<str>,
}

/// The files of versions of objects.
#[derive(Debug)]
struct Versions(Mutex<Recent<Key, ObjectFile>>);

impl Default for Versions {
    fn default() -> Self {
        Self(Mutex::new(Recent::new(VERSIONS_MAX)))
    }
}

impl Versions {
    fn lock(&self) -> MutexGuard<'_, Recent<Key, ObjectFile>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remember(&self, key: Key, file: &FileRef, object: &ObjectPath) {
        let (path, object) = (file.path.display().to_string().into(), format!("object {object}"));
        let file = ObjectFile { version: file.version, path, object: object.into() };
        self.lock().insert(key, file);
    }

    /// Puts versions of files in the place of those of objects, and returns these files. One that
    /// is not known stays, so that the drive finds it stale.
    fn translate(&self, work: &mut Work) -> Vec<ObjectFile> {
        let mut versions = self.lock();
        let mut files = Vec::new();
        for input in work.inputs_mut() {
            match input {
                InputRef::FileRange { file_id, version, .. } => {
                    if let Some(file) = versions.get(&(*file_id, *version)) {
                        *version = file.version;
                        files.push(file.clone());
                    }
                }
                InputRef::DeviceRange { .. }
                | InputRef::ObjectRange { .. }
                | InputRef::NvmeExtents { .. }
                | InputRef::Output { .. } => {}
            }
        }
        files
    }
}

/// Names the object in the place of its file in the reason of a failure.
fn name_object(failure: &mut Failure, inputs: &[ObjectFile]) {
    let (Failure::Stale { path } | Failure::Read { path, .. }) = failure else { return };
    let file = inputs.iter().find(|file| *file.path == **path);
    *path = file.map_or_else(|| "an object".to_owned(), |file| file.object.to_string());
}
