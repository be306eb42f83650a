// SPDX-License-Identifier: Apache-2.0
//! Reads one version of an object.

use std::{fs::File, io, ops::Range, path::PathBuf, sync::Arc};

use bytes::Bytes;

use crate::{
    disk::DiskFile,
    error::{Error, Result},
    files::path_of,
    object::ObjectInfo,
    path::ObjectPath,
    store::Store,
};

/// An object as it was when it was opened, whatever happens to it afterwards.
#[derive(Debug, Clone)]
pub struct Reader {
    info: ObjectInfo,
    file: Arc<dyn DiskFile>,
    /// Nobody cuts the file off while the store is open.
    _store: Store,
}

/// Tries to open a file that another thread replaces again and again.
const OPEN_TRIES: usize = 100;

impl Store {
    /// Opens an object as it is now.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Damaged`] if its file is missing or too short, or an error of
    /// the system.
    pub fn reader(&self, path: &ObjectPath) -> Result<Reader> {
        let mut last = None;
        for _ in 0..OPEN_TRIES {
            let (row, info) = self.found(path)?.ok_or_else(|| path.not_found())?;
            let name = path_of(row.file);
            match self.files().open(row.file)? {
                Some(file) if file.len().map_err(Error::io("read", &name))? < row.length => {
                    return Err(Error::Damaged { reason: format!("{name} is too short") });
                }
                Some(file) => return Ok(Reader::new(info, file, self.clone())),
                // It was replaced between the two steps, if it has another file now.
                None if last != Some(row.file) => last = Some(row.file),
                None => return Err(Error::Damaged { reason: format!("{name} is missing") }),
            }
        }
        let (path, source) = (path.to_string(), io::ErrorKind::ResourceBusy.into());
        Err(Error::Io { action: "open", path, source })
    }
}

/// The file that holds the bytes of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalFile {
    /// The object.
    pub info: ObjectInfo,
    /// Its file, which may be longer than the object. It is for reading only.
    pub path: PathBuf,
}

impl Store {
    /// Returns the file of an object as it is now, for a drive that reads it by itself. The bytes
    /// of the object do not change in it, but the file is removed once the object is replaced or
    /// removed.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::NotLocal`] if the store is on no file system, or an error of
    /// the catalog.
    pub fn local_file(&self, path: &ObjectPath) -> Result<LocalFile> {
        let (row, info) = self.found(path)?.ok_or_else(|| path.not_found())?;
        let local = self.files().local_path(row.file);
        let path_of_file = local.ok_or_else(|| Error::NotLocal { path: path.to_string() })?;
        Ok(LocalFile { info, path: path_of_file })
    }
}

impl Reader {
    fn new(info: ObjectInfo, file: Arc<dyn DiskFile>, store: Store) -> Self {
        Self { info, file, _store: store }
    }

    /// The object.
    #[must_use]
    pub fn info(&self) -> &ObjectInfo {
        &self.info
    }

    /// Reads a range of bytes.
    ///
    /// # Errors
    /// [`Error::Range`] if it ends behind the object, or an error of the system. A range that ends
    /// before it starts is empty.
    pub fn read(&self, range: Range<u64>) -> Result<Bytes> {
        let length = range.end.saturating_sub(range.start);
        self.check(range.start, length)?;
        let too_long = |_| self.behind(range.end);
        let mut bytes = vec![0; usize::try_from(length).map_err(too_long)?];
        self.read_into(range.start, &mut bytes)?;
        Ok(bytes.into())
    }

    /// Reads as many bytes as `buffer` has, from an offset on.
    ///
    /// # Errors
    /// [`Error::Range`] if the object has fewer, or an error of the system.
    pub fn read_into(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.check(offset, buffer.len() as u64)?;
        let read = self.file.read_at(offset, buffer);
        read.map_err(|error| Error::io("read", &self.info.path.to_string())(error))
    }

    /// Reads the first bytes of `buffer` from an offset on, if that takes no wait for a device, and
    /// returns how many: fewer, or none, where the rest has to be read by [`Reader::read_into`].
    ///
    /// # Errors
    /// [`Error::Range`] as that.
    pub fn read_cached_into(&self, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        self.check(offset, buffer.len() as u64)?;
        Ok(self.file.read_cached_at(offset, buffer).min(buffer.len()))
    }

    /// The file of the system that holds the bytes, if there is one, for who sends them by a call
    /// of the system. It may be longer than the object, and is for reading only.
    #[must_use]
    pub fn system_file(&self) -> Option<&File> {
        self.file.as_system_file()
    }

    /// Checks that the object has so many bytes from an offset on.
    fn check(&self, offset: u64, length: u64) -> Result<()> {
        let end = offset.saturating_add(length);
        if end > self.info.length { Err(self.behind(end)) } else { Ok(()) }
    }

    fn behind(&self, end: u64) -> Error {
        let (path, length) = (self.info.path.to_string(), self.info.length);
        Error::Range { path, end, length }
    }

    /// Reads all bytes.
    ///
    /// # Errors
    /// An error of the system.
    pub fn read_all(&self) -> Result<Bytes> {
        self.read(0..self.info.length)
    }
}
