// SPDX-License-Identifier: Apache-2.0
//! Implements the hash table from keys to groups, numbered in the order in which they were found.

use std::ops::Range;

use crate::keys::Keys;

/// Slots of a new table.
const SLOTS_MIN: usize = 1024;

/// A hash table with open addressing, at most half full.
#[derive(Debug)]
pub(crate) struct Table<K> {
    /// The number of the group plus one, or 0; the length is a power of two.
    slots: Vec<u32>,
    /// The key of each group.
    keys: K,
}

impl<K: Keys> Default for Table<K> {
    fn default() -> Self {
        Self { slots: vec![0; SLOTS_MIN], keys: K::default() }
    }
}

impl<K: Keys> Table<K> {
    /// The key of each group.
    pub(crate) const fn keys(&self) -> &K {
        &self.keys
    }

    /// Bytes of memory.
    pub(crate) fn memory_bytes(&self) -> usize {
        size_of_val(&self.slots[..]) + self.keys.memory_bytes()
    }

    /// Removes all groups, and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.slots.fill(0);
        self.keys.clear();
    }

    /// Takes the groups out.
    pub(crate) fn into_keys(self) -> K {
        self.keys
    }

    /// Replaces `groups` by the groups of the rows of a range, which are added if they are new.
    pub(crate) fn groups_of(&mut self, rows: &K, range: Range<usize>, groups: &mut Vec<u32>) {
        groups.clear();
        // So many at a time that growing need not be checked at each row.
        for start in range.clone().step_by(SLOTS_MIN / 4) {
            let end = range.end.min(start + SLOTS_MIN / 4);
            while (self.keys.len() + end - start) * 2 > self.slots.len() {
                self.grow();
            }
            groups.extend((start..end).map(|row| self.group_of(rows, row)));
        }
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "there are fewer than 2^31 groups")]
    fn group_of(&mut self, rows: &K, row: usize) -> u32 {
        let mask = self.slots.len() - 1;
        let mut place = place_of(rows.hash(row), self.slots.len());
        loop {
            let slot = &mut self.slots[place & mask];
            match *slot {
                0 => {
                    let group = self.keys.len() as u32;
                    *slot = group + 1;
                    self.keys.push_key(rows, row);
                    return group;
                }
                group if self.keys.is_same(group as usize - 1, rows, row) => return group - 1,
                _ => place += 1,
            }
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "there are fewer than 2^31 groups")]
    fn grow(&mut self) {
        let length = self.slots.len() * 4;
        assert!(length <= 1 << 32, "a partition has fewer than 2^31 groups");
        let mut slots = vec![0; length];
        for group in 0..self.keys.len() {
            let mut place = place_of(self.keys.hash(group), length);
            while slots[place & (length - 1)] != 0 {
                place += 1;
            }
            slots[place & (length - 1)] = group as u32 + 1;
        }
        self.slots = slots;
    }
}

/// The first slot of a hash, from its high bits.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the result is less than the length")]
const fn place_of(hash: u64, length: usize) -> usize {
    (hash >> (u64::BITS - length.trailing_zeros())) as usize
}
