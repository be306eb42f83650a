// SPDX-License-Identifier: Apache-2.0
//! Keeps everything but the bytes of objects, in an embedded database: one file, transactions that
//! are synced when they are committed, one writer and any number of readers.
//!
//! | table | key | value |
//! |---|---|---|
//! | partitions | name | quota and usage |
//! | collections | partition, name | quota and usage |
//! | objects | partition, collection, name | file, length, version, times |
//! | hashes | partition, collection, name | version, and the hash of its bytes |
//! | attributes | partition, collection, object, name; a container has empty names | bytes |
//! | changes | sequence number | what happened to which object |
//! | numbers | name | format; last sequence number; last one that was forgotten |

mod backend;
mod rows;
mod transaction;

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use redb::{Database, ReadOnlyTable, ReadTransaction, ReadableDatabase, TableDefinition};

pub(crate) use rows::{ContainerRow, ObjectRow};
pub(crate) use transaction::{Replaced, Transaction};

use self::backend::FileBackend;
use crate::{
    content::ContentHash,
    disk::{Disk, DiskFile},
    error::{Error, Result},
    files,
};

/// The file of the catalog, and the one that becomes it.
const FILE: &str = "catalog";
const NEW_FILE: &str = "catalog.new";

/// The format of the tables.
const FORMAT: u64 = 1;

/// Bytes of pages that are kept in memory.
const CACHE_BYTES: usize = 64 << 20;

/// Quota of bytes and of objects, bytes and objects; a quota of `u64::MAX` is none.
type ContainerValue = (u64, u64, u64, u64);
/// File, length, version, and when it was made and last written, in ns since 1970.
type ObjectValue = (u64, u64, u64, u64, u64);
/// The version whose bytes have the hash, and the hash.
type HashValue = (u64, u128);
/// Kind, partition, collection, object, and when it was, in ns since 1970.
type ChangeValue = (u8, &'static str, &'static str, &'static str, u64);

pub(crate) const PARTITIONS: TableDefinition<'_, &str, ContainerValue> =
    TableDefinition::new("partitions");
pub(crate) const COLLECTIONS: TableDefinition<'_, (&str, &str), ContainerValue> =
    TableDefinition::new("collections");
pub(crate) const OBJECTS: TableDefinition<'_, (&str, &str, &str), ObjectValue> =
    TableDefinition::new("objects");
/// Stores of programs that kept no hashes do not have it, and such a program leaves its rows alone
/// when it replaces an object.
pub(crate) const HASHES: TableDefinition<'_, (&str, &str, &str), HashValue> =
    TableDefinition::new("hashes");
pub(crate) const ATTRIBUTES: TableDefinition<'_, (&str, &str, &str, &str), &[u8]> =
    TableDefinition::new("attributes");
pub(crate) const CHANGES: TableDefinition<'_, u64, ChangeValue> = TableDefinition::new("changes");
pub(crate) const NUMBERS: TableDefinition<'_, &str, u64> = TableDefinition::new("numbers");

/// Names of numbers.
const FORMAT_NUMBER: &str = "format";
pub(crate) const SEQUENCE_NUMBER: &str = "sequence";
/// The last change that is not in the log any more.
pub(crate) const FORGOTTEN_NUMBER: &str = "forgotten";

/// The open catalog.
#[derive(Debug)]
pub(crate) struct Catalog {
    database: Database,
    /// The database takes no more changes: one could not be written.
    has_failed: AtomicBool,
}

impl Catalog {
    /// Opens the catalog of a store, or makes it: under another name, so that a crash leaves none
    /// rather than a part of one.
    pub(crate) fn open(disk: &dyn Disk) -> Result<Self> {
        let names = disk.list("").map_err(Error::io("list", "the root"))?;
        let has = |name: &str| names.iter().any(|other| other == name);
        if has(NEW_FILE) {
            disk.remove(NEW_FILE).map_err(Error::io("remove", NEW_FILE))?;
        }
        if has(FILE) {
            let file = disk.open(FILE).map_err(Error::io("open", FILE))?;
            let catalog = Self::over(file)?;
            catalog.check_format()?;
            return Ok(catalog);
        }
        // The catalog is made before the first file, so it was lost.
        if !files::numbers(disk)?.is_empty() {
            let reason = "there are files of objects, and no catalog".to_owned();
            return Err(Error::Damaged { reason });
        }
        let file = disk.create(NEW_FILE).map_err(Error::io("create", NEW_FILE))?;
        let catalog = Self::over(file)?;
        catalog.change(Transaction::make_tables)?;
        // The new name is durable once the folders of files are made, which sync the root.
        disk.rename(NEW_FILE, FILE).map_err(Error::io("rename", NEW_FILE))?;
        Ok(catalog)
    }

    fn over(file: Arc<dyn DiskFile>) -> Result<Self> {
        let database =
            Database::builder().set_cache_size(CACHE_BYTES).create_with_backend(FileBackend(file));
        Ok(Self { database: database?, has_failed: AtomicBool::new(false) })
    }

    fn check_format(&self) -> Result<()> {
        let numbers = self.read()?.open_table(NUMBERS)?;
        let found = redb::ReadableTable::get(&numbers, FORMAT_NUMBER)?.map(|number| number.value());
        match found {
            Some(FORMAT) => Ok(()),
            other => Err(Error::Format { found: other.unwrap_or(0), known: FORMAT }),
        }
    }

    /// Begins to read the catalog as it is now.
    pub(crate) fn read(&self) -> Result<Reading> {
        Ok(Reading(self.database.begin_read()?))
    }

    /// Returns the error that a change would end with, if the database takes no more.
    pub(crate) fn check_writable(&self) -> Result<()> {
        match self.has_failed.load(Ordering::Relaxed) {
            true => Err(Error::Catalog(redb::Error::PreviousIo)),
            false => Ok(()),
        }
    }

    /// Changes the catalog. Only after [`Error::Uncertain`] it may have changed, of all errors.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&Transaction) -> Result<T>) -> Result<T> {
        self.check_writable()?;
        let changed = self.database.begin_write().map_err(Error::from).and_then(|inner| {
            let transaction = Transaction::new(inner);
            let changed = change(&transaction);
            match changed {
                Ok(_) => transaction.commit()?,
                // The first error says what is wrong; that of the abort follows from it.
                Err(_) => transaction.abort().unwrap_or(()),
            }
            changed
        });
        if let Err(Error::Catalog(_) | Error::Uncertain(_)) = changed {
            self.has_failed.store(true, Ordering::Relaxed);
        }
        changed
    }
}

/// The catalog at one time.
pub(crate) struct Reading(ReadTransaction);

impl Reading {
    /// Opens a table.
    pub(crate) fn open_table<K: redb::Key + 'static, V: redb::Value + 'static>(
        &self,
        table: TableDefinition<'_, K, V>,
    ) -> Result<ReadOnlyTable<K, V>> {
        Ok(self.0.open_table(table)?)
    }

    /// Opens the table of hashes; none of a store that has none yet.
    pub(crate) fn hashes(&self) -> Result<Hashes> {
        match self.0.open_table(HASHES) {
            Ok(table) => Ok(Hashes(Some(table))),
            Err(redb::TableError::TableDoesNotExist(_)) => Ok(Hashes(None)),
            Err(error) => Err(error.into()),
        }
    }
}

/// The hashes of objects at one time.
pub(crate) struct Hashes(
    Option<ReadOnlyTable<(&'static str, &'static str, &'static str), HashValue>>,
);

impl Hashes {
    /// The hash of a version of an object, if it is known.
    pub(crate) fn of(&self, key: (&str, &str, &str), version: u64) -> Result<Option<ContentHash>> {
        let Some(table) = &self.0 else { return Ok(None) };
        let found = redb::ReadableTable::get(table, key)?.map(|row| row.value());
        Ok(found.filter(|(of, _)| *of == version).map(|(_, hash)| ContentHash(hash)))
    }
}
