// SPDX-License-Identifier: Apache-2.0
//! Lets the drive read objects as files.
//!
//! Commands of clients name an object by the number of its file at the drive, and by the version of
//! the object. The drive knows versions of files. So [`Files`] remembers which version of a file
//! stands for which version of an object, and puts the one for the other in commands.
//!
//! # Invariants
//!
//! - A command reads the version of the object that its client has seen: the bytes of that version
//!   never change in its file, and a file that another version took the place of is gone.
//! - Clients hear of objects only, and of no path of this machine.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nearscan_command::{InputRef, Version};
use nearscan_drive::{Drive, Failure, FileRef, Placement, Work};
use nearscan_store::Error;
use tonic::Status;

use super::{Objects, blocking};
use crate::{
    protocol::{Located, objects::ObjectName},
    recent::Recent,
};

/// Versions that are remembered. One that was not used for long is forgotten: its clients hear that
/// it is stale, and locate it again.
const VERSIONS_MAX: usize = 1 << 16;

/// The number of a file at the drive, and the version of the object that it was.
type Key = (u64, Version);

/// The file of a version of an object.
#[derive(Debug, Clone)]
struct ObjectFile {
    version: Version,
    /// As the drive names it.
    path: Arc<str>,
    /// The object, as clients do.
    object: Arc<str>,
}

/// The files of versions of objects.
#[derive(Debug)]
pub(in crate::server) struct Files {
    versions: Mutex<Recent<Key, ObjectFile>>,
}

/// The objects that a command reads.
#[derive(Debug, Default)]
pub(in crate::server) struct Inputs(Vec<ObjectFile>);

impl Inputs {
    /// Names objects in the place of their files in the reason of a failure.
    pub(in crate::server) fn name(&self, failure: &mut Failure) {
        let (Failure::Stale { path } | Failure::Read { path, .. }) = failure else { return };
        let of_it = self.0.iter().find(|file| *file.path == **path);
        *path = of_it.map_or_else(|| "an object".to_owned(), |file| file.object.to_string());
    }
}

impl Default for Files {
    fn default() -> Self {
        Self { versions: Mutex::new(Recent::new(VERSIONS_MAX)) }
    }
}

impl Files {
    fn lock(&self) -> MutexGuard<'_, Recent<Key, ObjectFile>> {
        self.versions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts versions of files in the place of those of objects. One that is not known stays, so
    /// that the drive finds it stale.
    pub(in crate::server) fn translate(&self, work: &mut Work) -> Inputs {
        let mut versions = self.lock();
        let mut inputs = Vec::new();
        for input in work.inputs_mut() {
            match input {
                InputRef::FileRange { file_id, version, .. } => {
                    if let Some(file) = versions.get(&(*file_id, *version)) {
                        *version = file.version;
                        inputs.push(file.clone());
                    }
                }
                InputRef::DeviceRange { .. }
                | InputRef::ObjectRange { .. }
                | InputRef::NvmeExtents { .. }
                | InputRef::Output { .. } => {}
            }
        }
        Inputs(inputs)
    }
}

impl Objects {
    /// Returns the number of an object's file at the drive.
    pub(in crate::server) async fn locate(
        &self,
        drive: Arc<dyn Drive>,
        name: ObjectName,
        version: Version,
    ) -> Result<Located, Status> {
        let store = self.store.clone();
        let found = blocking(move || {
            let path = name.object_path()?;
            let local = match store.local_file(&path) {
                Ok(local) => local,
                Err(error @ (Error::NotFound { .. } | Error::NotLocal { .. })) => {
                    return Ok(Err(error.to_string()));
                }
                Err(error) => return Err(error),
            };
            let now = Version { size_bytes: local.info.length, stamp: local.info.version };
            if now != version {
                return Ok(Err(format!("object {path} has changed")));
            }
            let file = match FileRef::of(&local.path) {
                Ok(file) => file,
                Err(error) => return Ok(Err(format!("the file of object {path}: {error}"))),
            };
            Ok(match drive.locate(&file) {
                Placement::Here { file_id } => {
                    let object = format!("object {path}").into();
                    let path = file.path.display().to_string().into();
                    Ok((file_id, ObjectFile { version: file.version, path, object }))
                }
                Placement::NotHere { reason } => {
                    // It is about files of this machine, which are no one's business.
                    tracing::info!(object = %path, reason, "the drive does not hold it");
                    Err(format!("the drive of the server does not hold object {path}"))
                }
            })
        })
        .await?;
        Ok(match found {
            Ok((file_id, of_file)) => {
                self.files.lock().insert((file_id, version), of_file);
                Located { file_id: Some(file_id), reason: String::new() }
            }
            Err(reason) => Located { file_id: None, reason },
        })
    }
}
