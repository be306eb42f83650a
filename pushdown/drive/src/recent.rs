// SPDX-License-Identifier: Apache-2.0
//! A map of bounded size, which forgets the least recently used entry (LRU).

use std::{
    collections::{BTreeMap, HashMap},
    hash::Hash,
};

/// A map of at most so many entries.
#[derive(Debug)]
pub struct Recent<K, V> {
    max: usize,
    entries: HashMap<K, (u64, V)>,
    /// Keys in the order of their last use.
    uses: BTreeMap<u64, K>,
    /// Uses so far.
    clock: u64,
}

impl<K: Clone + Eq + Hash, V> Recent<K, V> {
    /// A map of at most `max` entries, and of one at least.
    pub fn new(max: usize) -> Self {
        Self { max: max.max(1), entries: HashMap::new(), uses: BTreeMap::new(), clock: 0 }
    }

    /// The value of a key, which is used with it.
    pub fn get(&mut self, key: &K) -> Option<&V> {
        let (used, value) = self.entries.get_mut(key)?;
        self.clock += 1;
        if let Some(key) = self.uses.remove(used) {
            self.uses.insert(self.clock, key);
        }
        *used = self.clock;
        Some(value)
    }

    /// Sets the value of a key; if there is no room, another one is forgotten.
    pub fn insert(&mut self, key: K, value: V) {
        self.remove(&key);
        while self.is_full() {
            self.remove_oldest();
        }
        self.clock += 1;
        self.uses.insert(self.clock, key.clone());
        self.entries.insert(key, (self.clock, value));
    }

    /// Forgets a key, and returns its value.
    pub fn remove(&mut self, key: &K) -> Option<V> {
        let (used, value) = self.entries.remove(key)?;
        self.uses.remove(&used);
        Some(value)
    }

    /// Forgets the least recently used entry, and returns its value.
    pub fn remove_oldest(&mut self) -> Option<V> {
        let (_, oldest) = self.uses.pop_first()?;
        self.entries.remove(&oldest).map(|(_, value)| value)
    }

    /// Whether the next new key takes the place of another one.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.entries.len() >= self.max
    }

    /// The keys, in no order; they are not used with it.
    pub fn keys(&self) -> impl Iterator<Item = &K> {
        self.entries.keys()
    }

    /// Forgets all entries that are not as `keeps` says.
    pub fn retain(&mut self, keeps: impl Fn(&K, &V) -> bool) {
        let uses = &mut self.uses;
        self.entries.retain(|key, (used, value)| {
            let is_kept = keeps(key, value);
            if !is_kept {
                uses.remove(used);
            }
            is_kept
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entry_that_was_not_used_for_longest_is_forgotten() {
        let mut recent = Recent::new(3);
        for key in 0..3 {
            recent.insert(key, key * 10);
        }
        assert_eq!(recent.get(&0), Some(&0));
        recent.insert(1, 11);
        recent.insert(3, 30);
        let found = [0, 1, 2, 3].map(|key| recent.get(&key).copied());
        assert_eq!(found, [Some(0), Some(11), None, Some(30)]);
        assert_eq!((recent.entries.len(), recent.uses.len()), (3, 3));
    }

    #[test]
    fn removed_entries_make_room() {
        let mut recent = Recent::new(2);
        recent.insert("a", 1);
        recent.insert("b", 2);
        recent.retain(|key, _| *key != "a");
        recent.insert("c", 3);
        assert_eq!(recent.remove(&"c"), Some(3));
        recent.insert("d", 4);
        assert_eq!((recent.get(&"b").copied(), recent.get(&"d").copied()), (Some(2), Some(4)));
        assert_eq!((recent.entries.len(), recent.uses.len()), (2, 2));
        assert!(recent.is_full());
        assert_eq!([recent.remove_oldest(), recent.remove_oldest()], [Some(2), Some(4)]);
        assert_eq!(recent.remove_oldest(), None);
    }
}
