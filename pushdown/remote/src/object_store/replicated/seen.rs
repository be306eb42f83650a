// SPDX-License-Identifier: Apache-2.0
//! Remembers what servers have said of their objects.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ::object_store::{ObjectMeta, path::Path};
use nearscan_drive::Recent;
use nearscan_store::{CollectionPath, ObjectInfo, ObjectPath};

use crate::object_store::replica::Replica;

/// Objects that are remembered.
const OBJECTS_MAX: usize = 1 << 18;

/// Collections, and lists, that are remembered.
const COLLECTIONS_MAX: usize = 1024;

/// The longest list that is remembered.
const LIST_MAX: usize = 1 << 16;

/// What was seen of objects and collections, by the addresses of their servers; of each the last.
/// The least recently used are forgotten, and then a replica cannot stand in for them.
#[derive(Debug)]
pub struct Seen(Mutex<Tables>);

#[derive(Debug)]
struct Tables {
    objects: Recent<(Arc<str>, ObjectPath), ObjectInfo>,
    lists: Recent<(Arc<str>, Path), Vec<ObjectMeta>>,
    replicas: Recent<(Arc<str>, CollectionPath), Replica>,
}

impl Default for Seen {
    fn default() -> Self {
        Self(Mutex::new(Tables {
            objects: Recent::new(OBJECTS_MAX),
            lists: Recent::new(COLLECTIONS_MAX),
            replicas: Recent::new(COLLECTIONS_MAX),
        }))
    }
}

impl Seen {
    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn object(&self, address: &Arc<str>, info: &ObjectInfo) {
        self.tables().objects.insert((Arc::clone(address), info.path.clone()), info.clone());
    }

    pub(super) fn object_of(&self, address: &Arc<str>, path: &ObjectPath) -> Option<ObjectInfo> {
        self.tables().objects.get(&(Arc::clone(address), path.clone())).cloned()
    }

    pub(super) fn list(&self, address: &Arc<str>, prefix: &Path, listed: Vec<ObjectMeta>) {
        let key = (Arc::clone(address), prefix.clone());
        let mut tables = self.tables();
        match listed.len() > LIST_MAX {
            true => tables.lists.remove(&key),
            false => tables.lists.insert(key, listed),
        }
    }

    pub(super) fn list_of(&self, address: &Arc<str>, prefix: &Path) -> Option<Vec<ObjectMeta>> {
        self.tables().lists.get(&(Arc::clone(address), prefix.clone())).cloned()
    }

    pub(super) fn replica(
        &self,
        address: &Arc<str>,
        of: &CollectionPath,
        replica: Option<Replica>,
    ) {
        let key = (Arc::clone(address), of.clone());
        let mut tables = self.tables();
        match replica {
            Some(replica) => tables.replicas.insert(key, replica),
            None => tables.replicas.remove(&key),
        }
    }

    pub(super) fn replica_of(&self, address: &Arc<str>, of: &CollectionPath) -> Option<Replica> {
        self.tables().replicas.get(&(Arc::clone(address), of.clone())).cloned()
    }
}
