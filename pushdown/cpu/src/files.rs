// SPDX-License-Identifier: Apache-2.0
//! The files that commands name by number, and their versions.

use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

use bytes::Bytes;
use nearscan_command::Version;
use nearscan_drive::{Failure, FileRef, Placement};

/// Paths by number, and back.
#[derive(Debug, Default)]
pub(crate) struct Files {
    known: RwLock<Known>,
}

#[derive(Debug, Default)]
struct Known {
    paths: Vec<PathBuf>,
    numbers: HashMap<PathBuf, u64>,
}

impl Files {
    /// The number of a file that can be read; the same path has the same number for ever.
    pub(crate) fn locate(&self, file: &FileRef) -> Placement {
        match std::fs::metadata(&file.path) {
            Ok(metadata) if metadata.is_file() => {}
            Ok(_) => return Placement::NotHere { reason: "it is not a file".to_owned() },
            Err(error) => return Placement::NotHere { reason: error.to_string() },
        }
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let next = known.paths.len() as u64;
        let file_id = *known.numbers.entry(file.path.clone()).or_insert(next);
        if file_id == next {
            known.paths.push(file.path.clone());
        }
        Placement::Here { file_id }
    }

    fn path(&self, file_id: u64) -> Option<PathBuf> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.paths.get(usize::try_from(file_id).ok()?).cloned()
    }

    /// Opens the file of this number, if it is what `version` says.
    ///
    /// # Errors
    /// [`Failure::Stale`] for another version, [`Failure::Read`] when it cannot be opened.
    pub(crate) fn open(&self, file_id: u64, version: Version) -> Result<OpenFile, Failure> {
        let path = self.path(file_id).ok_or_else(|| Failure::Read {
            path: format!("file {file_id}"),
            reason: "no file has this number".to_owned(),
        })?;
        let file = File::open(&path).map_err(|error| read_failure(&path, &error))?;
        let open = OpenFile { file, path, version };
        open.check_version()?;
        Ok(open)
    }
}

/// A file whose version has been checked.
#[derive(Debug)]
pub(crate) struct OpenFile {
    file: File,
    path: PathBuf,
    version: Version,
}

impl OpenFile {
    /// Reads `length` bytes from `offset`.
    ///
    /// # Errors
    /// [`Failure::Read`].
    pub(crate) fn read(&self, offset: u64, length: usize) -> Result<Bytes, Failure> {
        let mut bytes = vec![0; length];
        self.file
            .read_exact_at(&mut bytes, offset)
            .map_err(|error| read_failure(&self.path, &error))?;
        Ok(Bytes::from(bytes))
    }

    /// Whether the file is still what it was. Asked after reading too: bytes that were overwritten
    /// in the meantime are of no version.
    ///
    /// # Errors
    /// [`Failure::Stale`], or [`Failure::Read`] when that cannot be told.
    pub(crate) fn check_version(&self) -> Result<(), Failure> {
        let metadata = self.file.metadata().map_err(|error| read_failure(&self.path, &error))?;
        if version_of(&metadata) == self.version {
            Ok(())
        } else {
            Err(Failure::Stale { path: self.path.display().to_string() })
        }
    }
}

fn version_of(metadata: &Metadata) -> Version {
    let ns = i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec());
    Version { size_bytes: metadata.len(), stamp: u64::try_from(ns).unwrap_or(0) }
}

fn read_failure(path: &Path, error: &std::io::Error) -> Failure {
    Failure::Read { path: path.display().to_string(), reason: error.to_string() }
}
