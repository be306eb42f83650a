// SPDX-License-Identifier: Apache-2.0
//! Opens a store, and finds, lists and removes its objects.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    ffi::OsString,
    hash::{BuildHasher, RandomState},
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use redb::{AccessGuard, ReadableTable};

use crate::{
    catalog::{
        COLLECTIONS, Catalog, ContainerRow, OBJECTS, ObjectRow, PARTITIONS, Reading, Replaced,
    },
    change::ChangeKind,
    content::ContentHash,
    disk::Disk,
    error::{Error, Limit, Result},
    files::{Files, path_of},
    local::LocalDisk,
    object::{Condition, ObjectInfo},
    path::{CollectionPath, ObjectPath},
};

/// Locks of objects; those whose names have the same hash share one.
const LOCK_COUNT: usize = 64;

/// An open store; clones are the same one.
#[derive(Debug, Clone)]
pub struct Store(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    catalog: Catalog,
    files: Files,
    damaged: Vec<ObjectPath>,
    /// Held by whoever changes the bytes of an object.
    locks: Vec<Mutex<()>>,
    hasher: RandomState,
}

/// The bytes of an object, which are synced already, and attributes that it gets.
pub(crate) struct Stored {
    pub(crate) file: u64,
    pub(crate) length: u64,
    pub(crate) hash: Option<ContentHash>,
    pub(crate) attributes: BTreeMap<String, Vec<u8>>,
}

impl Store {
    /// Opens the store in a folder, or makes one.
    ///
    /// # Errors
    /// [`Error::Locked`], [`Error::Format`], [`Error::Damaged`], or an error of the system.
    pub fn open(root: &Path) -> Result<Self> {
        Self::open_on(LocalDisk::open(root)?)
    }

    /// Opens the store on a disk, or makes one. The disk is this store's alone.
    ///
    /// # Errors
    /// Those of [`Store::open`].
    pub fn open_on(disk: impl Disk) -> Result<Self> {
        let disk: Arc<dyn Disk> = Arc::new(disk);
        let catalog = Catalog::open(disk.as_ref())?;
        let mut lengths = HashMap::new();
        let mut names = HashMap::new();
        for row in catalog.read()?.open_table(OBJECTS)?.iter()? {
            let (key, row) = row?;
            let ObjectRow { file, length, .. } = ObjectRow::of(row.value());
            let (partition, collection, name) = key.value();
            lengths.insert(file, length);
            names.insert(file, CollectionPath::new(partition, collection)?.object(name)?);
        }
        let (files, damaged) = Files::recover(disk, &lengths)?;
        let mut damaged: Vec<ObjectPath> =
            damaged.iter().filter_map(|file| names.remove(file)).collect();
        damaged.sort_unstable();
        let locks = (0..LOCK_COUNT).map(|_| Mutex::default()).collect();
        let hasher = RandomState::new();
        Ok(Self(Arc::new(Inner { catalog, files, damaged, locks, hasher })))
    }

    /// Lists the objects whose files were missing or too short when the store was opened. They can
    /// be replaced and removed; all others are whole.
    #[must_use]
    pub fn damaged(&self) -> &[ObjectPath] {
        &self.0.damaged
    }

    pub(crate) fn catalog(&self) -> &Catalog {
        &self.0.catalog
    }

    pub(crate) fn files(&self) -> &Files {
        &self.0.files
    }

    /// Locks an object against concurrent changes of its bytes.
    pub(crate) fn lock(&self, path: &ObjectPath) -> MutexGuard<'_, ()> {
        let locks = &self.0.locks;
        let hash = self.0.hasher.hash_one(path) % locks.len() as u64;
        let lock = usize::try_from(hash).map_or(&locks[0], |index| &locks[index]);
        lock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The row of an object.
    pub(crate) fn row(&self, path: &ObjectPath) -> Result<Option<ObjectRow>> {
        self.row_in(&self.catalog().read()?, path)
    }

    pub(crate) fn row_in(&self, reading: &Reading, path: &ObjectPath) -> Result<Option<ObjectRow>> {
        let found = reading.open_table(OBJECTS)?.get(path.key())?.map(|row| row.value());
        Ok(found.map(ObjectRow::of))
    }

    /// The row of an object, and what is known of it.
    pub(crate) fn found(&self, path: &ObjectPath) -> Result<Option<(ObjectRow, ObjectInfo)>> {
        let reading = self.catalog().read()?;
        let Some(row) = self.row_in(&reading, path)? else { return Ok(None) };
        let hash = reading.hashes()?.of(path.key(), row.version)?;
        Ok(Some((row, row.info(path.clone(), hash))))
    }

    /// Returns what is known of an object.
    ///
    /// # Errors
    /// [`Error::NotFound`], or an error of the catalog.
    pub fn info(&self, path: &ObjectPath) -> Result<ObjectInfo> {
        self.found(path)?.map(|(_, info)| info).ok_or_else(|| path.not_found())
    }

    /// Lists the objects of a collection whose names start with `prefix` and are behind `after`, in
    /// the order of the bytes of their names, and at most so many.
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is no such collection, or an error of the catalog.
    pub fn list(
        &self,
        collection: &CollectionPath,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<ObjectInfo>> {
        let reading = self.catalog().read()?;
        if reading.open_table(COLLECTIONS)?.get(collection.key())?.is_none() {
            return Err(Error::NotFound { what: format!("collection {collection}") });
        }
        let (objects, hashes) = (reading.open_table(OBJECTS)?, reading.hashes()?);
        let (partition, name) = collection.key();
        let first = after.unwrap_or(prefix).max(prefix);
        let mut found = Vec::new();
        for row in objects.range((partition, name, first)..)? {
            let (key, row) = row?;
            let (in_partition, in_collection, object) = key.value();
            let is_inside = (in_partition, in_collection) == (partition, name);
            if found.len() == limit || !is_inside || !object.starts_with(prefix) {
                break;
            }
            if after != Some(object) {
                let row = ObjectRow::of(row.value());
                let hash = hashes.of(key.value(), row.version)?;
                found.push(row.info(collection.object(object)?, hash));
            }
        }
        Ok(found)
    }

    /// Returns the objects of files by the names of these, which differ also where folders do.
    pub(crate) fn objects_of_files(
        &self,
        names: &HashSet<OsString>,
    ) -> Result<HashMap<OsString, ObjectPath>> {
        let mut found = HashMap::new();
        for row in self.catalog().read()?.open_table(OBJECTS)?.iter()? {
            let (key, row) = row?;
            let (partition, collection, name) = key.value();
            let file = path_of(ObjectRow::of(row.value()).file);
            if let Some(file) = Path::new(&file).file_name().and_then(|file| names.get(file)) {
                let object = CollectionPath::new(partition, collection)?.object(name)?;
                found.insert(file.clone(), object);
                if found.len() == names.len() {
                    break;
                }
            }
        }
        Ok(found)
    }

    /// Removes an object; whoever has it open can still read it.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Conflict`], [`Error::Exists`] if it must be absent, or an
    /// error of the catalog.
    pub fn remove(&self, path: &ObjectPath, condition: Condition) -> Result<()> {
        let _guard = self.lock(path);
        let file = self.catalog().change(|transaction| {
            let row = transaction.object(path)?.ok_or_else(|| path.not_found())?;
            self.check(path, condition, Some(row))?;
            transaction.open_table(OBJECTS)?.remove(path.key())?;
            transaction.set_hash(path, row.version, None)?;
            transaction.clear_attributes(path.into())?;
            let bytes = Replaced { old: row.length, new: 0 };
            transaction.charge(path.collection(), bytes, Replaced { old: 1, new: 0 })?;
            transaction.log(ChangeKind::Removed, path)?;
            Ok(row.file)
        })?;
        self.files().remove(file);
        Ok(())
    }

    /// Checks a condition on an object.
    pub(crate) fn check(
        &self,
        path: &ObjectPath,
        condition: Condition,
        row: Option<ObjectRow>,
    ) -> Result<()> {
        let found = row.map_or(0, |row| row.version);
        match condition {
            Condition::Absent if row.is_some() => {
                Err(Error::Exists { what: format!("object {path}") })
            }
            Condition::Version(expected) if expected != found => {
                Err(Error::Conflict { path: path.to_string(), expected, found })
            }
            _ => Ok(()),
        }
    }

    /// Has an object consist of bytes that are synced, in one transaction with its entry in the
    /// log, and removes the file that was its own before. The object is locked.
    pub(crate) fn commit(
        &self,
        path: &ObjectPath,
        condition: Condition,
        stored: Stored,
    ) -> Result<ObjectInfo> {
        let Stored { file, length, hash, attributes } = stored;
        let (info, old) = self.catalog().change(|transaction| {
            let old = transaction.object(path)?;
            self.check(path, condition, old)?;
            let bytes = Replaced { old: old.map_or(0, |old| old.length), new: length };
            let objects = Replaced { old: u64::from(old.is_some()), new: 1 };
            transaction.charge(path.collection(), bytes, objects)?;
            let kind = old.map_or(ChangeKind::Created, |_| ChangeKind::Written);
            let version = transaction.log(kind, path)?;
            let now_ns = transaction.now_ns();
            let created_ns = old.map_or(now_ns, |old| old.created_ns);
            let row = ObjectRow { file, length, version, created_ns, written_ns: now_ns };
            transaction.open_table(OBJECTS)?.insert(path.key(), row.value())?;
            transaction.set_hash(path, version, hash)?;
            for (name, value) in &attributes {
                transaction.set_attribute(path.into(), name, value)?;
            }
            let replaced = old.map(|old| old.file).filter(|old| *old != file);
            Ok((row.info(path.clone(), hash), replaced))
        })?;
        if let Some(old) = old {
            self.files().remove(old);
        }
        Ok(info)
    }

    /// The largest length that an object can be committed with, if there is a quota, and whose the
    /// quota is.
    pub(crate) fn room(&self, path: &ObjectPath, row: Option<ObjectRow>) -> Result<Option<Room>> {
        let reading = self.catalog().read()?;
        let collection = path.collection();
        let old = row.map_or(0, |row| row.length);
        let room = |what: String, value: Option<AccessGuard<'_, (u64, u64, u64, u64)>>| {
            let ContainerRow { quota, usage } = ContainerRow::of(value?.value());
            // What is there may become as long as it is, whatever the quota.
            let others = usage.bytes.saturating_sub(old);
            let allowed = quota.bytes?;
            let length = allowed.saturating_sub(others).max(old);
            Some(Room { what, allowed, others, length })
        };
        let of_collection = reading.open_table(COLLECTIONS)?.get(collection.key())?;
        let of_partition = reading.open_table(PARTITIONS)?.get(collection.partition())?;
        let rooms = [
            room(format!("collection {collection}"), of_collection),
            room(format!("partition {}", collection.partition()), of_partition),
        ];
        Ok(rooms.into_iter().flatten().min_by_key(|room| room.length))
    }
}

/// The length that an object may have.
#[derive(Debug)]
pub(crate) struct Room {
    what: String,
    /// The quota.
    allowed: u64,
    /// Bytes of other objects.
    others: u64,
    length: u64,
}

impl Room {
    /// Checks a length.
    pub(crate) fn check(&self, length: u64) -> Result<()> {
        if length <= self.length {
            return Ok(());
        }
        let (what, limit, allowed) = (self.what.clone(), Limit::Bytes, self.allowed);
        let needed = self.others.saturating_add(length);
        Err(Error::QuotaExceeded { what, limit, allowed, needed })
    }
}
