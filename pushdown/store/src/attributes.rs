// SPDX-License-Identifier: Apache-2.0
//! Reads and changes the attributes of partitions, collections and objects: at most a hundred, of
//! at most 64 KiB. No quota counts them.

use std::collections::BTreeMap;

use bytes::Bytes;
use redb::ReadableTable;

use crate::{
    catalog::{ATTRIBUTES, COLLECTIONS, OBJECTS, PARTITIONS, Transaction},
    change::ChangeKind,
    error::{Error, Result},
    object::check_attribute,
    owner::Owner,
    store::Store,
};

impl Store {
    /// Returns all attributes of a partition, a collection or an object.
    ///
    /// # Errors
    /// [`Error::NotFound`], or an error of the catalog.
    pub fn attributes<'a>(&self, of: impl Into<Owner<'a>>) -> Result<BTreeMap<String, Bytes>> {
        let of = of.into();
        let reading = self.catalog().read()?;
        let is_there = match of {
            Owner::Partition(name) => reading.open_table(PARTITIONS)?.get(name)?.is_some(),
            Owner::Collection(path) => reading.open_table(COLLECTIONS)?.get(path.key())?.is_some(),
            Owner::Object(path) => reading.open_table(OBJECTS)?.get(path.key())?.is_some(),
        };
        if !is_there {
            return Err(of.not_found());
        }
        let attributes = reading.open_table(ATTRIBUTES)?;
        let (partition, collection, object) = of.key();
        let mut found = BTreeMap::new();
        for row in attributes.range((partition, collection, object, "")..)? {
            let (key, value) = row?;
            let (in_partition, in_collection, of_object, name) = key.value();
            if (in_partition, in_collection, of_object) != of.key() {
                break;
            }
            found.insert(name.to_owned(), Bytes::copy_from_slice(value.value()));
        }
        Ok(found)
    }

    /// Sets an attribute of a partition, a collection or an object, whose version stays.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Name`], [`Error::TooLong`], [`Error::TooManyAttributes`], or
    /// an error of the catalog.
    pub fn set_attribute<'a>(
        &self,
        of: impl Into<Owner<'a>>,
        name: &str,
        value: &[u8],
    ) -> Result<()> {
        check_attribute(name, value)?;
        let of = of.into();
        self.catalog().change(|transaction| {
            check_owner(transaction, of)?;
            transaction.set_attribute(of, name, value)?;
            log(transaction, of)
        })
    }

    /// Removes an attribute of a partition, a collection or an object, whose version stays.
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is no such owner or attribute, or an error of the catalog.
    pub fn remove_attribute<'a>(&self, of: impl Into<Owner<'a>>, name: &str) -> Result<()> {
        let of = of.into();
        self.catalog().change(|transaction| {
            check_owner(transaction, of)?;
            let (partition, collection, object) = of.key();
            let mut attributes = transaction.open_table(ATTRIBUTES)?;
            if attributes.remove((partition, collection, object, name))?.is_none() {
                return Err(Error::NotFound { what: format!("attribute {name:?} of {of}") });
            }
            drop(attributes);
            log(transaction, of)
        })
    }
}

fn check_owner(transaction: &Transaction, of: Owner<'_>) -> Result<()> {
    let is_there = match of {
        Owner::Partition(name) => transaction.open_table(PARTITIONS)?.get(name)?.is_some(),
        Owner::Collection(path) => transaction.open_table(COLLECTIONS)?.get(path.key())?.is_some(),
        Owner::Object(path) => transaction.object(path)?.is_some(),
    };
    if is_there { Ok(()) } else { Err(of.not_found()) }
}

/// The log is of objects.
fn log(transaction: &Transaction, of: Owner<'_>) -> Result<()> {
    if let Owner::Object(path) = of {
        transaction.log(ChangeKind::AttributesChanged, path)?;
    }
    Ok(())
}
