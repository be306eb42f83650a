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

use std::{
    collections::HashMap,
    fmt::Debug,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use nearscan_command::{InputRef, Version};
use nearscan_drive::{
    CancelOutcome, Capabilities, CostSnapshot, Drive, FileRef, FlashEvent, FlashEventKind,
    Identity, Lease, Placement, Refusal, Session, SessionSpec, Submission, Ticket, Work,
};

use crate::{
    path::{CollectionPath, ObjectPath},
    store::Store,
};

/// Versions that are remembered; then all are forgotten, and commands that name them are stale.
const VERSIONS_MAX: usize = 1 << 16;

/// A drive over the objects of a store: a [`FileRef`] with a server is one of them, at the path
/// `/PARTITION/COLLECTION/NAME`. It holds no other files.
#[derive(Debug)]
pub struct StoreDrive {
    inner: Arc<dyn Drive>,
    store: Store,
    versions: Arc<Versions>,
}

impl StoreDrive {
    /// The drive that reads the files of a store on this machine.
    pub fn new(inner: Arc<dyn Drive>, store: Store) -> Self {
        Self { inner, store, versions: Arc::default() }
    }

    /// The name of an object as [`Drive::locate`] reads it.
    #[must_use]
    pub fn file_ref(path: &ObjectPath, version: Version) -> FileRef {
        FileRef { server: Some("store".into()), path: format!("/{path}").into(), version }
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
    let object =
        CollectionPath::new(partition, collection).and_then(|collection| collection.object(name));
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
        let not_here = |reason: String| Placement::NotHere { reason };
        if file.server.is_none() {
            return not_here("the drive has objects, and no files".to_owned());
        }
        let path = match object_at(&file.path) {
            Ok(path) => path,
            Err(reason) => return not_here(reason),
        };
        let local = match self.store.local_file(&path) {
            Ok(local) => local,
            Err(error) => return not_here(error.to_string()),
        };
        let now = Version { size_bytes: local.info.length, stamp: local.info.version };
        if now != file.version {
            return not_here(format!("object {path} has changed"));
        }
        // The name of the file is the store's business.
        let of_file = match FileRef::of(&local.path) {
            Ok(of_file) => of_file,
            Err(error) => return not_here(format!("the file of object {path}: {error}")),
        };
        match self.inner.locate(&of_file) {
            Placement::Here { file_id } => {
                self.versions.remember(file_id, now, &of_file, &path);
                Placement::Here { file_id }
            }
            placement @ Placement::NotHere { .. } => placement,
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
        for event in &mut events {
            if let FlashEventKind::HotBlock { file, .. } = &mut event.kind {
                *file = self.versions.object_of(file);
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
        self.versions.translate(&mut submission.work);
        self.inner.submit(submission)
    }

    fn cancel(&self, command_id: u128) -> CancelOutcome {
        self.inner.cancel(command_id)
    }
}

/// The versions of files by the number of the file and the version of the object.
#[derive(Debug, Default)]
struct Versions(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    versions: HashMap<(u64, Version), Version>,
    /// The objects by their files, for people.
    objects: HashMap<PathBuf, ObjectPath>,
}

impl Versions {
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remember(&self, file_id: u64, of_object: Version, file: &FileRef, object: &ObjectPath) {
        let mut known = self.lock();
        if known.versions.len() >= VERSIONS_MAX {
            *known = Known::default();
        }
        known.versions.insert((file_id, of_object), file.version);
        known.objects.insert(file.path.clone(), object.clone());
    }

    /// The name of the object that a file is of: names of files are the server's business.
    fn object_of(&self, file: &Path) -> Arc<Path> {
        let known = self.lock();
        let object = known.objects.get(file).map(|object| PathBuf::from(object.to_string()));
        object.unwrap_or_else(|| PathBuf::from("an object that is not known")).into()
    }

    /// Puts versions of files in the place of those of objects. One that is not known stays, so
    /// that the drive finds it stale.
    fn translate(&self, work: &mut Work) {
        let versions = &self.lock().versions;
        for input in work.inputs_mut() {
            match input {
                InputRef::FileRange { file_id, version, .. } => {
                    if let Some(of_file) = versions.get(&(*file_id, *version)) {
                        *version = *of_file;
                    }
                }
                InputRef::DeviceRange { .. }
                | InputRef::ObjectRange { .. }
                | InputRef::NvmeExtents { .. }
                | InputRef::Output { .. } => {}
            }
        }
    }
}
