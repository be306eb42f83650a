// SPDX-License-Identifier: Apache-2.0
//! Changes a part of an object: appends, cuts off, overwrites. Each is done as a whole, or not.
//!
//! Bytes are appended in place where the object ends with its file. All other changes of bytes, and
//! appending to an object that was cut, make a file of their own, because readers may have the old
//! bytes open.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    catalog::ObjectRow,
    disk::DiskFile,
    error::{Error, Result},
    files::path_of,
    object::{Condition, ObjectInfo},
    path::ObjectPath,
    store::{Store, Stored},
};

impl Store {
    /// Appends bytes to an object.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::QuotaExceeded`], or an error of the system.
    pub fn append(&self, path: &ObjectPath, bytes: &[u8]) -> Result<ObjectInfo> {
        let _guard = self.lock(path);
        let row = self.row(path)?.ok_or_else(|| path.not_found())?;
        self.extend(path, row, bytes)
    }

    /// Writes bytes from an offset on, over what is there and behind it.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Range`] if the offset is behind the end,
    /// [`Error::QuotaExceeded`], or an error of the system.
    pub fn write_at(&self, path: &ObjectPath, offset: u64, bytes: &[u8]) -> Result<ObjectInfo> {
        let _guard = self.lock(path);
        let row = self.row(path)?.ok_or_else(|| path.not_found())?;
        if offset > row.length {
            let (path, length) = (path.to_string(), row.length);
            return Err(Error::Range { path, end: offset, length });
        }
        if offset == row.length {
            return self.extend(path, row, bytes);
        }
        let end = offset.saturating_add(bytes.len() as u64);
        self.rewrite(path, row, offset, bytes, end.max(row.length))
    }

    /// Cuts an object off at a length.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Range`] if the object is shorter, or an error of the catalog.
    pub fn truncate(&self, path: &ObjectPath, length: u64) -> Result<ObjectInfo> {
        let _guard = self.lock(path);
        let row = self.row(path)?.ok_or_else(|| path.not_found())?;
        if length > row.length {
            let (path, end, length) = (path.to_string(), length, row.length);
            return Err(Error::Range { path, end, length });
        }
        let stored = Stored { file: row.file, length, attributes: BTreeMap::new() };
        self.commit(path, Condition::Version(row.version), stored)
    }

    fn extend(&self, path: &ObjectPath, row: ObjectRow, bytes: &[u8]) -> Result<ObjectInfo> {
        let length = row.length.saturating_add(bytes.len() as u64);
        let file = self.file(row)?;
        // It is longer if the object was cut, or an append has failed.
        let is_end = file.len().is_ok_and(|of_file| of_file == row.length);
        if !is_end {
            return self.rewrite(path, row, row.length, bytes, length);
        }
        let name = path_of(row.file);
        let extended = file
            .write_at(row.length, bytes)
            .and_then(|()| file.sync())
            .map_err(Error::io("append to", &name));
        let stored = Stored { file: row.file, length, attributes: BTreeMap::new() };
        let done =
            extended.and_then(|()| self.commit(path, Condition::Version(row.version), stored));
        if done.as_ref().is_err_and(|error| !matches!(error, Error::Catalog(_))) {
            // If that fails too, the next append finds the file too long, and copies it.
            file.set_len(row.length).unwrap_or(());
        }
        done
    }

    /// Makes a file of the bytes of an object and of others from an offset on, and has it take the
    /// place of the object's.
    fn rewrite(
        &self,
        path: &ObjectPath,
        row: ObjectRow,
        offset: u64,
        bytes: &[u8],
        length: u64,
    ) -> Result<ObjectInfo> {
        let from = self.file(row)?;
        let (number, file) = self.files().copy(from.as_ref(), &path_of(row.file), row.length)?;
        let written = file
            .write_at(offset, bytes)
            .map_err(Error::io("write", &path_of(number)))
            .and_then(|()| self.files().sync(number, file.as_ref()));
        let stored = Stored { file: number, length, attributes: BTreeMap::new() };
        let done =
            written.and_then(|()| self.commit(path, Condition::Version(row.version), stored));
        if done.as_ref().is_err_and(|error| !matches!(error, Error::Catalog(_))) {
            self.files().remove(number);
        }
        done
    }

    /// The file of an object that is locked.
    fn file(&self, row: ObjectRow) -> Result<Arc<dyn DiskFile>> {
        let missing = || Error::Damaged { reason: format!("{} is missing", path_of(row.file)) };
        self.files().open(row.file)?.ok_or_else(missing)
    }
}
