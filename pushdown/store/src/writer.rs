// SPDX-License-Identifier: Apache-2.0
//! Writes an object atomically: it becomes visible when it is committed, and then replaces the
//! object of its name.

use std::{collections::BTreeMap, mem, sync::Arc};

use crate::{
    catalog::COLLECTIONS,
    content::Hashing,
    disk::DiskFile,
    error::{Error, Result},
    files::path_of,
    object::{Condition, ObjectInfo, check_attribute},
    path::ObjectPath,
    store::{Room, Store, Stored},
};

/// An object that is being written. Without [`Writer::commit`] nothing of it is left.
#[derive(Debug)]
pub struct Writer {
    store: Store,
    path: ObjectPath,
    condition: Condition,
    number: u64,
    file: Arc<dyn DiskFile>,
    length: u64,
    hashing: Hashing,
    room: Option<Room>,
    attributes: BTreeMap<String, Vec<u8>>,
    /// A write has failed.
    is_abandoned: bool,
    /// The file is the object's, or may be.
    is_committed: bool,
}

impl Store {
    /// Begins to write an object. Its attributes are those of the object that it replaces, but for
    /// what the writer sets.
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is no such collection, [`Error::Conflict`] or [`Error::Exists`]
    /// if the condition does not hold, or an error of the system.
    pub fn writer(&self, path: &ObjectPath, condition: Condition) -> Result<Writer> {
        self.catalog().check_writable()?;
        let reading = self.catalog().read()?;
        let collection = path.collection();
        if reading.open_table(COLLECTIONS)?.get(collection.key())?.is_none() {
            return Err(Error::NotFound { what: format!("collection {collection}") });
        }
        let row = self.row_in(&reading, path)?;
        self.check(path, condition, row)?;
        let room = self.room(path, row)?;
        let (number, file) = self.files().create()?;
        Ok(Writer {
            store: self.clone(),
            path: path.clone(),
            condition,
            number,
            file,
            length: 0,
            hashing: Hashing::default(),
            room,
            is_abandoned: false,
            attributes: BTreeMap::new(),
            is_committed: false,
        })
    }

    /// Writes an object as a whole.
    ///
    /// # Errors
    /// Those of [`Store::writer`] and of [`Writer::commit`].
    pub fn put(&self, path: &ObjectPath, bytes: &[u8], condition: Condition) -> Result<ObjectInfo> {
        let mut writer = self.writer(path, condition)?;
        writer.write(bytes)?;
        writer.commit()
    }
}

impl Writer {
    /// Writes the next bytes.
    ///
    /// # Errors
    /// [`Error::QuotaExceeded`] if so many could not have been committed when the writer was made,
    /// or an error of the system. After an error the object can only be written anew.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.check()?;
        let length = self.length.saturating_add(bytes.len() as u64);
        let written = self.room.as_ref().map_or(Ok(()), |room| room.check(length)).and_then(|()| {
            let written = self.file.write_at(self.length, bytes);
            written.map_err(Error::io("write", &path_of(self.number)))
        });
        self.length = length;
        self.hashing.update(bytes);
        self.is_abandoned = written.is_err();
        written
    }

    fn check(&self) -> Result<()> {
        match self.is_abandoned {
            true => Err(Error::Abandoned { path: self.path.to_string() }),
            false => Ok(()),
        }
    }

    /// Sets an attribute of the object, in the transaction of its bytes.
    ///
    /// # Errors
    /// [`Error::Name`] or [`Error::TooLong`].
    pub fn attribute(&mut self, name: &str, value: &[u8]) -> Result<()> {
        check_attribute(name, value)?;
        self.attributes.insert(name.to_owned(), value.to_owned());
        Ok(())
    }

    /// Puts the object in its place.
    ///
    /// # Errors
    /// [`Error::Conflict`] or [`Error::Exists`] if the condition does not hold any more,
    /// [`Error::NotFound`] if the collection is gone, [`Error::QuotaExceeded`],
    /// [`Error::Abandoned`], or an error of the system.
    pub fn commit(mut self) -> Result<ObjectInfo> {
        self.check()?;
        self.store.files().sync(self.number, self.file.as_ref())?;
        let attributes = mem::take(&mut self.attributes);
        let hash = Some(self.hashing.finish());
        let stored = Stored { file: self.number, length: self.length, hash, attributes };
        let _guard = self.store.lock(&self.path);
        let committed = self.store.commit(&self.path, self.condition, stored);
        self.is_committed = matches!(committed, Ok(_) | Err(Error::Uncertain(_)));
        committed
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if !self.is_committed {
            self.store.files().remove(self.number);
        }
    }
}
