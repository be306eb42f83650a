// SPDX-License-Identifier: Apache-2.0
//! Holds the keys of a join's build side, so that scans below its probe side can drop rows without
//! a partner.
//!
//! The build side adds its keys while it is read; when its last partition has ended, they become a
//! [`KeySet`]: a bitmap over the range of the scans' values if that is short enough, else a
//! blocked Bloom filter ([Putze et al. 2007](https://doi.org/10.1007/978-3-540-72845-0_9)). A set
//! may hold more keys than were added, never fewer.
//!
//! # What this module does not do
//!
//! It does not join: rows that it keeps may have no partner. It knows no NULL keys: the caller
//! leaves them out, and keeps rows whose key is NULL.

use std::{
    ops::RangeInclusive,
    sync::{
        Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use nearscan_command::KeyBits;

use crate::key_set::{Bitmap, Bloom, KeySet};

/// Keys of a Bloom filter: with more, a build side hardly drops a row, and while they are collected
/// they take 64 MiB.
const BLOOM_KEYS_MAX: usize = 8 << 20;

/// Keys of one build side.
#[derive(Debug)]
pub struct JoinKeys {
    collected: Mutex<Collected>,
    /// `None` in it if the keys are not all known.
    set: OnceLock<Option<KeySet>>,
    /// Whether a partition of the build side has begun again, so that the set is of the past.
    is_outdated: AtomicBool,
}

#[derive(Debug)]
struct Collected {
    /// The values of all scans.
    probed: Probed,
    /// Which partitions of the build side have begun, and how many of all have ended.
    has_begun: Vec<bool>,
    ended: usize,
    keys: Keys,
}

/// The range of the values that are looked up.
#[derive(Debug)]
enum Probed {
    /// There is no scan yet.
    Nothing,
    Range(RangeInclusive<i64>),
    /// That of a scan is not known.
    Anything,
}

#[derive(Debug)]
enum Keys {
    /// No partition has begun.
    Awaited,
    Bitmap(Bitmap),
    List(Vec<i64>),
    /// There were too many, or there was no memory.
    GivenUp,
}

impl JoinKeys {
    /// Of a build side of so many partitions.
    pub fn new(partitions: usize) -> Self {
        let collected = Collected {
            probed: Probed::Nothing,
            has_begun: vec![false; partitions],
            ended: 0,
            keys: Keys::Awaited,
        };
        Self {
            collected: Mutex::new(collected),
            set: OnceLock::new(),
            is_outdated: AtomicBool::new(false),
        }
    }

    /// Adds a scan that looks its values up, before the build side is read. `range` is that of the
    /// values, if it is known; a value outside of it is kept.
    pub fn add_scan(&self, range: Option<RangeInclusive<i64>>) {
        let mut collected = self.lock();
        let before = std::mem::replace(&mut collected.probed, Probed::Anything);
        collected.probed = match (before, range) {
            (Probed::Anything, _) | (_, None) => Probed::Anything,
            (Probed::Nothing, Some(range)) => Probed::Range(range),
            (Probed::Range(before), Some(range)) => {
                let first = *before.start().min(range.start());
                Probed::Range(first..=*before.end().max(range.end()))
            }
        };
    }

    /// Begins a partition. When one begins again, its rows may be others than before, so the keys
    /// are given up.
    pub fn begin(&self, partition: usize) {
        let mut collected = self.lock();
        match collected.has_begun.get_mut(partition) {
            Some(has_begun) if !*has_begun => *has_begun = true,
            _ => {
                collected.keys = Keys::GivenUp;
                self.is_outdated.store(true, Ordering::Release);
            }
        }
        if matches!(collected.keys, Keys::Awaited) {
            let bitmap = match &collected.probed {
                Probed::Range(range) => Bitmap::over(range),
                Probed::Nothing | Probed::Anything => None,
            };
            collected.keys = bitmap.map_or_else(|| Keys::List(Vec::new()), Keys::Bitmap);
        }
    }

    /// Adds keys.
    pub fn add(&self, keys: impl Iterator<Item = i64>) {
        let mut collected = self.lock();
        match &mut collected.keys {
            Keys::Bitmap(bitmap) => keys.for_each(|key| bitmap.insert(key)),
            Keys::List(list) => {
                list.extend(keys);
                if list.len() > BLOOM_KEYS_MAX {
                    collected.keys = Keys::GivenUp;
                }
            }
            Keys::Awaited | Keys::GivenUp => {}
        }
    }

    /// Bytes of memory that the keys take.
    pub fn bytes(&self) -> usize {
        match &self.lock().keys {
            Keys::Bitmap(bitmap) => bitmap.bytes(),
            Keys::List(list) => size_of_val(list.as_slice()),
            Keys::Awaited | Keys::GivenUp => 0,
        }
    }

    /// Gives the keys up, so that every row of the probe side passes.
    pub fn give_up(&self) {
        self.lock().keys = Keys::GivenUp;
    }

    /// Ends a partition, after its last key.
    pub fn end(&self) {
        let mut collected = self.lock();
        collected.ended += 1;
        if collected.ended == collected.has_begun.len() {
            let keys = std::mem::replace(&mut collected.keys, Keys::GivenUp);
            self.set.get_or_init(|| match keys {
                Keys::Bitmap(bitmap) => Some(KeySet::Bitmap(bitmap)),
                Keys::List(keys) => Some(KeySet::Bloom(Bloom::of(&keys))),
                Keys::Awaited | Keys::GivenUp => None,
            });
        }
    }

    /// Whether a key may be in a range; as long as not all keys are known, one may.
    pub fn may_have(&self, range: &RangeInclusive<i64>) -> bool {
        self.set().is_none_or(|set| set.may_have(range))
    }

    /// The set for a drive that takes so many bytes, of a scan of values in `range` if that is
    /// known. None as long as not all keys are known, if they do not fit, or if they would drop
    /// hardly a row.
    pub fn bits(&self, range: Option<&RangeInclusive<i64>>, bytes_max: u64) -> Option<KeyBits> {
        self.set()?.bits(range, bytes_max)
    }

    /// Whether the keys are known, and nearly all values of `range` are among them.
    pub fn drop_few(&self, range: Option<&RangeInclusive<i64>>) -> bool {
        self.set().is_some_and(|set| set.drops_few(range))
    }

    /// The set, once all keys are in it.
    pub(super) fn set(&self) -> Option<&KeySet> {
        match self.is_outdated.load(Ordering::Acquire) {
            true => None,
            false => self.set.get()?.as_ref(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Collected> {
        self.collected.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::buffer::BooleanBuffer;

    use super::*;
    use crate::{values::Numbers, vector::Vector};

    /// Keys that one scan looks up.
    fn looked_up(partitions: usize, range: Option<RangeInclusive<i64>>) -> JoinKeys {
        let keys = JoinKeys::new(partitions);
        keys.add_scan(range);
        keys
    }

    fn held(keys: &JoinKeys, values: &[i64]) -> Option<Vec<bool>> {
        let vector = Vector::Numbers(Numbers::narrow(values.to_vec(), None));
        Some(keys.set()?.holds(&vector, values.len()).iter().collect())
    }

    #[test]
    fn bitmap_holds_its_keys_and_values_outside_its_range() {
        let keys = looked_up(1, Some(-5..=100));
        keys.begin(0);
        keys.add([-5, 7, 100, 101, i64::MIN].into_iter());
        keys.end();
        let values = [-6, -5, -4, 7, 8, 100, 101, i64::MIN, i64::MAX];
        let expected = [true, true, false, true, false, true, true, true, true];
        assert_eq!(held(&keys, &values).as_deref(), Some(expected.as_slice()));
    }

    #[test]
    fn bloom_filter_holds_its_keys_and_few_others() {
        let keys = looked_up(1, None);
        keys.begin(0);
        keys.add((0..10_000).map(|key| key * 7));
        keys.end();
        let own: Vec<i64> = (0..10_000).map(|key| key * 7).collect();
        assert!(held(&keys, &own).is_some_and(|held| held.iter().all(|is_held| *is_held)));
        let others: Vec<i64> = (0..10_000).map(|key| key * 7 + 3).collect();
        let passed = held(&keys, &others).map(|held| held.iter().filter(|it| **it).count());
        assert!(passed.is_some_and(|passed| passed < 300), "{passed:?} of 10,000 pass");
    }

    #[test]
    fn row_with_null_key_is_kept() {
        let keys = looked_up(1, Some(0..=10));
        keys.begin(0);
        keys.end();
        let validity = BooleanBuffer::from(vec![true, false]);
        let vector = Vector::Numbers(Numbers::narrow(vec![3, 0], Some(validity)));
        let held = keys.set().map(|set| set.holds(&vector, 2).iter().collect::<Vec<_>>());
        assert_eq!(held, Some(vec![false, true]));
    }

    #[test]
    fn keys_are_a_set_only_after_all_partitions_have_ended() {
        let keys = Arc::new(looked_up(2, Some(0..=10)));
        keys.begin(0);
        keys.add([1].into_iter());
        keys.end();
        assert_eq!(held(&keys, &[1, 2]), None);
        keys.begin(1);
        keys.end();
        assert_eq!(held(&keys, &[1, 2]), Some(vec![true, false]));
    }

    #[test]
    fn keys_are_given_up_when_a_partition_begins_again() {
        for partitions in [1, 2] {
            let keys = looked_up(partitions, Some(0..=10));
            keys.begin(0);
            keys.end();
            assert_eq!(held(&keys, &[1]).is_some(), partitions == 1);
            keys.begin(0);
            keys.end();
            assert_eq!(held(&keys, &[1]), None);
        }
    }

    #[test]
    fn keys_are_given_up_when_they_are_too_many() {
        let keys = looked_up(1, None);
        keys.begin(0);
        keys.add((0..).take(BLOOM_KEYS_MAX + 1));
        keys.end();
        assert_eq!(held(&keys, &[1]), None);
    }

    #[test]
    fn bitmap_is_over_the_values_of_all_scans() {
        let keys = looked_up(1, Some(0..=10));
        keys.add_scan(Some(-100..=-90));
        keys.begin(0);
        keys.add([-95, 3].into_iter());
        keys.end();
        let expected = [true, false, false, true, true, true];
        let held = held(&keys, &[-95, -90, 0, 3, 200, -101]);
        assert_eq!(held.as_deref(), Some(expected.as_slice()));
    }

    #[test]
    fn range_may_have_a_key_if_one_is_in_it_or_values_are_not_known() {
        let bitmap = looked_up(1, Some(0..=1000));
        let bloom = looked_up(1, None);
        let asked = [
            0..=2,
            3..=3,
            4..=64,
            65..=699,
            64..=700,
            701..=1000,
            990..=1100,
            -5..=-1,
            -5..=5,
            600..=900,
        ];
        let expected = [
            (bitmap, [false, true, false, false, true, false, true, true, true, true]),
            // By the least and the greatest key alone.
            (bloom, [false, true, true, true, true, false, false, false, true, true]),
        ];
        for (keys, expected) in expected {
            assert!(keys.may_have(&asked[0]));
            keys.begin(0);
            keys.add([3, 700].into_iter());
            keys.end();
            assert_eq!(asked.each_ref().map(|range| keys.may_have(range)), expected);
        }
    }

    #[test]
    fn no_range_has_a_key_if_there_is_none() {
        for range in [Some(0..=1000), None] {
            let keys = looked_up(1, range);
            keys.begin(0);
            keys.end();
            assert!(!keys.may_have(&(0..=1000)));
        }
    }
}
