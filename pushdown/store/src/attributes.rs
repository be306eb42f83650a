// SPDX-License-Identifier: Apache-2.0
//! Reads and changes the attributes of objects: small values with names.

use std::collections::BTreeMap;

use bytes::Bytes;

use crate::{
    catalog::ATTRIBUTES,
    change::ChangeKind,
    error::{Error, Result},
    object::check_attribute,
    path::ObjectPath,
    store::Store,
};

impl Store {
    /// Returns all attributes of an object.
    ///
    /// # Errors
    /// [`Error::NotFound`], or an error of the catalog.
    pub fn attributes(&self, path: &ObjectPath) -> Result<BTreeMap<String, Bytes>> {
        let reading = self.catalog().read()?;
        self.row_in(&reading, path)?.ok_or_else(|| path.not_found())?;
        let attributes = reading.open_table(ATTRIBUTES)?;
        let (partition, collection, object) = path.key();
        let mut found = BTreeMap::new();
        for row in attributes.range((partition, collection, object, "")..)? {
            let (key, value) = row?;
            let (in_partition, in_collection, of_object, name) = key.value();
            if (in_partition, in_collection, of_object) != path.key() {
                break;
            }
            found.insert(name.to_owned(), Bytes::copy_from_slice(value.value()));
        }
        Ok(found)
    }

    /// Sets an attribute of an object; its version stays.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Name`], [`Error::TooLong`], or an error of the catalog.
    pub fn set_attribute(&self, path: &ObjectPath, name: &str, value: &[u8]) -> Result<()> {
        check_attribute(name, value)?;
        self.catalog().change(|transaction| {
            transaction.object(path)?.ok_or_else(|| path.not_found())?;
            transaction.set_attribute(path, name, value)?;
            transaction.log(ChangeKind::AttributesChanged, path)?;
            Ok(())
        })
    }

    /// Removes an attribute of an object; its version stays.
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is no such object or attribute, or an error of the catalog.
    pub fn remove_attribute(&self, path: &ObjectPath, name: &str) -> Result<()> {
        self.catalog().change(|transaction| {
            transaction.object(path)?.ok_or_else(|| path.not_found())?;
            let (partition, collection, object) = path.key();
            let mut attributes = transaction.open_table(ATTRIBUTES)?;
            if attributes.remove((partition, collection, object, name))?.is_none() {
                return Err(Error::NotFound { what: format!("attribute {name:?} of {path}") });
            }
            drop(attributes);
            transaction.log(ChangeKind::AttributesChanged, path)?;
            Ok(())
        })
    }
}
