// SPDX-License-Identifier: Apache-2.0
//! Writes an object as a whole: nobody sees it before it is committed, and then it is in place of
//! the object of its name.

use std::{collections::BTreeMap, mem, sync::Arc};

use crate::{
    catalog::COLLECTIONS,
    disk::DiskFile,
    error::{Error, Limit, Result},
    files::path_of,
    object::{Condition, ObjectInfo, check_attribute},
    path::ObjectPath,
    store::{Store, Stored},
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
    attributes: BTreeMap<String, Vec<u8>>,
    is_committed: bool,
}

impl Store {
    /// Begins to write an object. Its attributes are those of the object that it replaces, but for
    /// what the writer sets.
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is no such collection, [`Error::Conflict`] if the condition
    /// does not hold, or an error of the system.
    pub fn writer(&self, path: &ObjectPath, condition: Condition) -> Result<Writer> {
        let reading = self.catalog().read()?;
        let collection = path.collection();
        if reading.open_table(COLLECTIONS)?.get(collection.key())?.is_none() {
            return Err(Error::NotFound { what: format!("collection {collection}") });
        }
        self.check(path, condition, self.row(path)?)?;
        let (number, file) = self.files().create()?;
        Ok(Writer {
            store: self.clone(),
            path: path.clone(),
            condition,
            number,
            file,
            length: 0,
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
    /// [`Error::QuotaExceeded`] if so many cannot be committed, or an error of the system.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let length = self.length.saturating_add(bytes.len() as u64);
        if let Some((what, allowed)) = self.store.smallest_quota(&self.path)?
            && length > allowed
        {
            let limit = Limit::Bytes;
            return Err(Error::QuotaExceeded { what, limit, allowed, needed: length });
        }
        let written = self.file.write_at(self.length, bytes);
        written.map_err(Error::io("write", &path_of(self.number)))?;
        self.length = length;
        Ok(())
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
    /// [`Error::Conflict`] if the condition does not hold any more, [`Error::QuotaExceeded`], or an
    /// error of the system.
    pub fn commit(mut self) -> Result<ObjectInfo> {
        self.store.files().sync(self.number, self.file.as_ref())?;
        let attributes = mem::take(&mut self.attributes);
        let stored = Stored { file: self.number, length: self.length, attributes };
        let _guard = self.store.lock(&self.path);
        let committed = self.store.commit(&self.path, self.condition, stored);
        // A commit that failed may be done all the same, so the file stays.
        self.is_committed = committed.is_ok() || matches!(committed, Err(Error::Catalog(_)));
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
