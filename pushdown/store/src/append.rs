// SPDX-License-Identifier: Apache-2.0
//! Changes a part of an object: appends, cuts off, overwrites. Each is done as a whole, or not.
//!
//! Bytes are appended in place, behind all that any reader has open. All other changes of bytes
//! copy the object to a new file. Of neither the hash of all bytes is computed.

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
    /// [`Error::NotFound`], [`Error::Conflict`] or [`Error::Exists`] if the condition does not
    /// hold, [`Error::QuotaExceeded`], or an error of the system.
    pub fn append(
        &self,
        path: &ObjectPath,
        bytes: &[u8],
        condition: Condition,
    ) -> Result<ObjectInfo> {
        let _guard = self.lock(path);
        let row = self.changeable(path, condition)?;
        self.extend(path, row, bytes)
    }

    /// Writes bytes from an offset on, over what is there and behind it.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Range`] if the offset is behind the end, [`Error::Conflict`]
    /// or [`Error::Exists`] if the condition does not hold, [`Error::QuotaExceeded`], or an error
    /// of the system.
    pub fn write_at(
        &self,
        path: &ObjectPath,
        offset: u64,
        bytes: &[u8],
        condition: Condition,
    ) -> Result<ObjectInfo> {
        let _guard = self.lock(path);
        let row = self.changeable(path, condition)?;
        self.check_end(path, row, offset)?;
        if offset == row.length {
            return self.extend(path, row, bytes);
        }
        self.rewrite(path, row, row.length, offset, bytes)
    }

    /// Cuts an object off at a length.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Range`] if the object is shorter, [`Error::Conflict`] or
    /// [`Error::Exists`] if the condition does not hold, or an error of the system.
    pub fn truncate(
        &self,
        path: &ObjectPath,
        length: u64,
        condition: Condition,
    ) -> Result<ObjectInfo> {
        let _guard = self.lock(path);
        let row = self.changeable(path, condition)?;
        self.check_end(path, row, length)?;
        self.rewrite(path, row, length, length, &[])
    }

    /// The row of an object that is locked, if it can be changed.
    fn changeable(&self, path: &ObjectPath, condition: Condition) -> Result<ObjectRow> {
        self.catalog().check_writable()?;
        let row = self.row(path)?.ok_or_else(|| path.not_found())?;
        self.check(path, condition, Some(row))?;
        Ok(row)
    }

    fn check_end(&self, path: &ObjectPath, row: ObjectRow, end: u64) -> Result<()> {
        match end > row.length {
            true => Err(Error::Range { path: path.to_string(), end, length: row.length }),
            false => Ok(()),
        }
    }

    /// Appends in place. What an append that failed has left behind the end is overwritten, or cut
    /// off when the store is opened the next time.
    fn extend(&self, path: &ObjectPath, row: ObjectRow, bytes: &[u8]) -> Result<ObjectInfo> {
        let length = row.length.saturating_add(bytes.len() as u64);
        self.check_room(path, row, length)?;
        let file = self.file(row)?;
        let written = file.write_at(row.length, bytes).and_then(|()| file.sync());
        written.map_err(Error::io("append to", &path_of(row.file)))?;
        let stored = Stored { file: row.file, length, hash: None, attributes: BTreeMap::new() };
        self.commit(path, Condition::Version(row.version), stored)
    }

    /// Makes a file of the first bytes of an object and of others from an offset on, and has it
    /// take the place of the object's.
    fn rewrite(
        &self,
        path: &ObjectPath,
        row: ObjectRow,
        kept: u64,
        offset: u64,
        bytes: &[u8],
    ) -> Result<ObjectInfo> {
        let length = kept.max(offset.saturating_add(bytes.len() as u64));
        self.check_room(path, row, length)?;
        let from = self.file(row)?;
        let (number, file) = self.files().copy(from.as_ref(), &path_of(row.file), kept)?;
        let written = file
            .write_at(offset, bytes)
            .map_err(Error::io("write", &path_of(number)))
            .and_then(|()| self.files().sync(number, file.as_ref()));
        let stored = Stored { file: number, length, hash: None, attributes: BTreeMap::new() };
        let done =
            written.and_then(|()| self.commit(path, Condition::Version(row.version), stored));
        if done.as_ref().is_err_and(|error| !matches!(error, Error::Uncertain(_))) {
            self.files().remove(number);
        }
        done
    }

    fn check_room(&self, path: &ObjectPath, row: ObjectRow, length: u64) -> Result<()> {
        self.room(path, Some(row))?.map_or(Ok(()), |room| room.check(length))
    }

    /// The file of an object that is locked.
    fn file(&self, row: ObjectRow) -> Result<Arc<dyn DiskFile>> {
        let name = path_of(row.file);
        let damaged = |is| Error::Damaged { reason: format!("{name} is {is}") };
        let file = self.files().open(row.file)?.ok_or_else(|| damaged("missing"))?;
        match file.len().map_err(Error::io("read", &name))? < row.length {
            true => Err(damaged("too short")),
            false => Ok(file),
        }
    }
}
