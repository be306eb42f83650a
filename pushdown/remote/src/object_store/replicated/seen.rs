// SPDX-License-Identifier: Apache-2.0
//! Remembers what servers have said of their objects.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use ::object_store::{ObjectMeta, path::Path};
use nearscan_drive::Recent;
use nearscan_store::{CollectionPath, ObjectInfo, ObjectPath};

use crate::object_store::{paths::object_path, replica::Replica};

/// Objects that are remembered, and entries of all lists together.
const OBJECTS_MAX: usize = 1 << 18;

/// Collections, and lists, that are remembered.
const COLLECTIONS_MAX: usize = 1024;

/// The longest list that is remembered.
pub(super) const LIST_MAX: usize = 1 << 16;

/// What was seen of objects and collections, by the addresses of their servers; of each the last.
/// The least recently used are forgotten, and then a replica cannot stand in for them.
#[derive(Debug)]
pub struct Seen(Mutex<Tables>);

#[derive(Debug)]
struct Tables {
    objects: Recent<(Arc<str>, ObjectPath), ObjectInfo>,
    lists: Recent<(Arc<str>, Path), Vec<ObjectMeta>>,
    /// Entries of all lists.
    listed: usize,
    replicas: Recent<(Arc<str>, CollectionPath), Replica>,
    /// Collections for which a replica stands in.
    stood_in: Recent<(Arc<str>, CollectionPath), ()>,
}

impl Default for Seen {
    fn default() -> Self {
        Self(Mutex::new(Tables {
            objects: Recent::new(OBJECTS_MAX),
            lists: Recent::new(COLLECTIONS_MAX),
            listed: 0,
            replicas: Recent::new(COLLECTIONS_MAX),
            stood_in: Recent::new(COLLECTIONS_MAX),
        }))
    }
}

impl Tables {
    fn forget_object(&mut self, address: &Arc<str>, path: ObjectPath) {
        self.objects.remove(&(Arc::clone(address), path));
    }

    fn forget_list(&mut self, address: &Arc<str>, prefix: &Path) -> Vec<ObjectMeta> {
        let list = self.lists.remove(&(Arc::clone(address), prefix.clone())).unwrap_or_default();
        self.listed -= list.len();
        list
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

    /// Forgets an object that was changed or is gone, with the lists that have it or should.
    pub(super) fn forget(&self, address: &Arc<str>, location: &Path) {
        let Ok(path) = object_path(location) else { return };
        let mut tables = self.tables();
        tables.forget_object(address, path);
        let prefixes = tables
            .lists
            .keys()
            .filter(|(of, prefix)| of == address && location.prefix_matches(prefix));
        let prefixes: Vec<Path> = prefixes.map(|(_, prefix)| prefix.clone()).collect();
        for prefix in prefixes {
            tables.forget_list(address, &prefix);
        }
    }

    /// Remembers a list, if it is not too long; objects that it lacks and the last one had are
    /// forgotten.
    pub(super) fn list(&self, address: &Arc<str>, prefix: &Path, listed: &[ObjectMeta]) {
        let mut tables = self.tables();
        let before = tables.forget_list(address, prefix);
        let now: HashSet<&Path> = listed.iter().map(|object| &object.location).collect();
        for gone in before.iter().filter(|object| !now.contains(&object.location)) {
            if let Ok(path) = object_path(&gone.location) {
                tables.forget_object(address, path);
            }
        }
        if listed.len() > LIST_MAX {
            return;
        }
        while tables.lists.is_full() || tables.listed + listed.len() > OBJECTS_MAX {
            let Some(oldest) = tables.lists.remove_oldest() else { break };
            tables.listed -= oldest.len();
        }
        tables.listed += listed.len();
        tables.lists.insert((Arc::clone(address), prefix.clone()), listed.to_vec());
    }

    pub(super) fn list_of(&self, address: &Arc<str>, prefix: &Path) -> Option<Vec<ObjectMeta>> {
        self.tables().lists.get(&(Arc::clone(address), prefix.clone())).cloned()
    }

    /// The server of a collection has said what its replica is.
    pub(super) fn replica(
        &self,
        address: &Arc<str>,
        of: &CollectionPath,
        replica: Option<Replica>,
    ) {
        let key = (Arc::clone(address), of.clone());
        let mut tables = self.tables();
        tables.stood_in.remove(&key);
        match replica {
            Some(replica) => tables.replicas.insert(key, replica),
            None => drop(tables.replicas.remove(&key)),
        }
    }

    pub(super) fn replica_of(&self, address: &Arc<str>, of: &CollectionPath) -> Option<Replica> {
        self.tables().replicas.get(&(Arc::clone(address), of.clone())).cloned()
    }

    /// Whether a replica stands in for a collection for the first time since its server answered.
    pub(super) fn is_first_stand_in(&self, address: &Arc<str>, of: &CollectionPath) -> bool {
        let key = (Arc::clone(address), of.clone());
        let mut tables = self.tables();
        let is_first = tables.stood_in.get(&key).is_none();
        tables.stood_in.insert(key, ());
        is_first
    }
}

#[cfg(test)]
mod tests {
    use std::iter;

    use super::*;

    fn meta(name: &str) -> ObjectMeta {
        ObjectMeta {
            location: Path::from(name),
            last_modified: Default::default(),
            size: 1,
            e_tag: None,
            version: None,
        }
    }

    #[test]
    fn lists_are_remembered_up_to_a_number_of_entries_of_all() {
        let (seen, address) = (Seen::default(), Arc::<str>::from("a:1"));
        let long: Vec<ObjectMeta> = iter::repeat_n(meta("c/x"), LIST_MAX).collect();
        let prefixes = ["c/1", "c/2", "c/3", "c/4", "c/5"].map(Path::from);
        for prefix in &prefixes {
            seen.list(&address, prefix, &long);
        }
        let found = prefixes.map(|prefix| seen.list_of(&address, &prefix).is_some());
        assert_eq!(found, [false, true, true, true, true]);
        seen.list(&address, &Path::from("c/2"), &[long.as_slice(), &[meta("c/y")]].concat());
        assert_eq!(seen.list_of(&address, &Path::from("c/2")), None);
        assert_eq!(seen.tables().listed, 3 * LIST_MAX);
    }

    #[test]
    fn object_is_forgotten_with_the_lists_that_have_it_or_should() {
        let (seen, address) = (Seen::default(), Arc::<str>::from("a:1"));
        let other = Arc::<str>::from("b:1");
        for (address, prefix) in
            [(&address, "c"), (&address, "c/d"), (&address, "c/e"), (&other, "c")]
        {
            seen.list(address, &Path::from(prefix), &[meta("c/d/x")]);
        }
        seen.forget(&address, &Path::from("c/d/y"));
        let of = |address, prefix: &str| seen.list_of(address, &Path::from(prefix)).is_some();
        assert!(!of(&address, "c") && !of(&address, "c/d"));
        assert!(of(&address, "c/e") && of(&other, "c"));
    }
}
