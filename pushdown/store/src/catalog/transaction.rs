// SPDX-License-Identifier: Apache-2.0
//! Changes the catalog: rows, usage and log together.

use nearscan_drive::clock::unix_ns;
use redb::{ReadableTable, Table, TableDefinition, WriteTransaction};

use super::{
    ATTRIBUTES, CHANGES, COLLECTIONS, ContainerRow, FORMAT, FORMAT_NUMBER, HASHES, NUMBERS,
    OBJECTS, ObjectRow, PARTITIONS, SEQUENCE_NUMBER,
};
use crate::{
    change::ChangeKind,
    content::ContentHash,
    error::{Error, Limit, Result},
    object::{ATTRIBUTE_NAME_MAX, ATTRIBUTES_MAX},
    owner::Owner,
    path::{CollectionPath, DEFAULT_PARTITION, ObjectPath},
};

/// A transaction that writes.
pub(crate) struct Transaction {
    inner: WriteTransaction,
    now_ns: u64,
}

impl Transaction {
    pub(super) fn new(inner: WriteTransaction) -> Self {
        Self { inner, now_ns: unix_ns() }
    }

    pub(super) fn commit(self) -> Result<()> {
        self.inner.commit().map_err(|error| Error::Uncertain(error.into()))
    }

    pub(super) fn abort(self) -> Result<()> {
        Ok(self.inner.abort()?)
    }

    /// Makes the tables of a new store.
    pub(super) fn make_tables(&self) -> Result<()> {
        self.open_table(COLLECTIONS)?;
        self.open_table(OBJECTS)?;
        self.open_table(ATTRIBUTES)?;
        self.open_table(CHANGES)?;
        let default = ContainerRow::default().value();
        self.open_table(PARTITIONS)?.insert(DEFAULT_PARTITION, default)?;
        self.open_table(NUMBERS)?.insert(FORMAT_NUMBER, FORMAT)?;
        Ok(())
    }

    /// Opens a table; one at a time of each.
    pub(crate) fn open_table<K: redb::Key + 'static, V: redb::Value + 'static>(
        &self,
        table: TableDefinition<'_, K, V>,
    ) -> Result<Table<'_, K, V>> {
        Ok(self.inner.open_table(table)?)
    }

    /// The time of the transaction, in ns since 1970.
    pub(crate) fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// The row of an object.
    pub(crate) fn object(&self, path: &ObjectPath) -> Result<Option<ObjectRow>> {
        let found = self.open_table(OBJECTS)?.get(path.key())?.map(|row| row.value());
        Ok(found.map(ObjectRow::of))
    }

    /// Adds a change to the log, and returns its number, which is larger than all before it and is
    /// the version of what was written.
    pub(crate) fn log(&self, kind: ChangeKind, path: &ObjectPath) -> Result<u64> {
        let mut numbers = self.open_table(NUMBERS)?;
        let last = numbers.get(SEQUENCE_NUMBER)?.map_or(0, |number| number.value());
        numbers.insert(SEQUENCE_NUMBER, last + 1)?;
        let (partition, collection, name) = path.key();
        let row = (kind.code(), partition, collection, name, self.now_ns);
        self.open_table(CHANGES)?.insert(last + 1, row)?;
        Ok(last + 1)
    }

    /// Keeps the hash of a version of an object, or removes that of the one before.
    pub(crate) fn set_hash(
        &self,
        path: &ObjectPath,
        version: u64,
        hash: Option<ContentHash>,
    ) -> Result<()> {
        let mut hashes = self.open_table(HASHES)?;
        match hash {
            Some(ContentHash(hash)) => drop(hashes.insert(path.key(), (version, hash))?),
            None => drop(hashes.remove(path.key())?),
        }
        Ok(())
    }

    /// Sets an attribute.
    pub(crate) fn set_attribute(&self, of: Owner<'_>, name: &str, value: &[u8]) -> Result<()> {
        let (partition, collection, object) = of.key();
        let mut attributes = self.open_table(ATTRIBUTES)?;
        attributes.insert((partition, collection, object, name), value)?;
        let last = last_name();
        let all = (partition, collection, object, "")..=(partition, collection, object, &*last);
        if attributes.range(all)?.count() > ATTRIBUTES_MAX {
            return Err(Error::TooManyAttributes { what: of.to_string(), limit: ATTRIBUTES_MAX });
        }
        Ok(())
    }

    /// Removes all attributes of an object or a container.
    pub(crate) fn clear_attributes(&self, of: Owner<'_>) -> Result<()> {
        let (partition, collection, object) = of.key();
        let last = last_name();
        let all = (partition, collection, object, "")..=(partition, collection, object, &*last);
        self.open_table(ATTRIBUTES)?.retain_in(all, |_, _| false)?;
        Ok(())
    }

    /// Counts bytes and objects in place of others, in a collection and in its partition.
    ///
    /// # Errors
    /// [`Error::QuotaExceeded`] if either would have more than it may; [`Error::NotFound`] if there
    /// is no such collection.
    pub(crate) fn charge(
        &self,
        to: &CollectionPath,
        bytes: Replaced,
        objects: Replaced,
    ) -> Result<()> {
        let mut collections = self.open_table(COLLECTIONS)?;
        let found = collections.get(to.key())?.map(|row| row.value());
        let what = || format!("collection {to}");
        let row = ContainerRow::of(found.ok_or_else(|| Error::NotFound { what: what() })?);
        collections.insert(to.key(), charged(row, bytes, objects, what)?.value())?;
        let mut partitions = self.open_table(PARTITIONS)?;
        let found = partitions.get(to.partition())?.map(|row| row.value());
        let what = || format!("partition {}", to.partition());
        let row = ContainerRow::of(found.ok_or_else(|| Error::NotFound { what: what() })?);
        partitions.insert(to.partition(), charged(row, bytes, objects, what)?.value())?;
        Ok(())
    }
}

/// A name that no attribute has, and that is behind those of all.
fn last_name() -> String {
    "\u{10ffff}".repeat(ATTRIBUTE_NAME_MAX)
}

/// What was there, and what is there now.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Replaced {
    pub(crate) old: u64,
    pub(crate) new: u64,
}

fn charged(
    mut row: ContainerRow,
    bytes: Replaced,
    objects: Replaced,
    what: impl Fn() -> String,
) -> Result<ContainerRow> {
    let add = |count: u64, replaced: Replaced, allowed: Option<u64>, limit: Limit| {
        let needed = count.saturating_sub(replaced.old).saturating_add(replaced.new);
        match allowed {
            // A quota that was lowered still lets objects become smaller.
            Some(allowed) if needed > allowed && replaced.new > replaced.old => {
                Err(Error::QuotaExceeded { what: what(), limit, allowed, needed })
            }
            _ => Ok(needed),
        }
    };
    row.usage.bytes = add(row.usage.bytes, bytes, row.quota.bytes, Limit::Bytes)?;
    row.usage.objects = add(row.usage.objects, objects, row.quota.objects, Limit::Objects)?;
    Ok(row)
}
