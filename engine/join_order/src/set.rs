// SPDX-License-Identifier: Apache-2.0
//! Defines [`RelationSet`], a set of relations of one query.

use std::fmt;

/// Most relations of a query: a set is one word.
pub const RELATIONS_MAX: usize = 64;

/// A set of relations, each below [`RELATIONS_MAX`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct RelationSet(u64);

impl RelationSet {
    /// The set without relations.
    pub const EMPTY: Self = Self(0);

    /// The set of one relation; a number that is too large gives the empty set.
    #[must_use]
    pub fn of(relation: usize) -> Self {
        match relation < RELATIONS_MAX {
            true => Self(1 << relation),
            false => Self::EMPTY,
        }
    }

    /// The relations below a number.
    #[must_use]
    pub fn below(count: usize) -> Self {
        match count < RELATIONS_MAX {
            true => Self((1 << count) - 1),
            false => Self(u64::MAX),
        }
    }

    /// The relations of either.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The relations of both.
    #[must_use]
    pub const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// The relations that the other set does not have.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Number of relations.
    #[must_use]
    pub const fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// Whether the other set has all of them.
    #[must_use]
    pub const fn is_subset_of(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    /// Whether the sets have a relation in common.
    #[must_use]
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether the relation is in the set.
    #[must_use]
    pub fn contains(self, relation: usize) -> bool {
        self.intersects(Self::of(relation))
    }

    /// The set of the first relation alone, empty if there is none.
    #[must_use]
    pub const fn first(self) -> Self {
        Self(self.0 & self.0.wrapping_neg())
    }

    /// The relations, in their order.
    pub fn iter(self) -> impl DoubleEndedIterator<Item = usize> {
        Relations(self)
    }

    /// All subsets but the empty one, smaller numbers first (Vance and Maier 1996).
    pub(crate) fn subsets(self) -> impl Iterator<Item = Self> {
        let mut next = self.first();
        std::iter::from_fn(move || {
            let current = next;
            next = Self(self.0 & current.0.wrapping_sub(self.0));
            (!current.is_empty()).then_some(current)
        })
    }
}

/// The relations of a set that are not returned yet.
struct Relations(RelationSet);

impl Relations {
    /// Takes the relation of a bit out, if there is one.
    fn take(&mut self, bit: u32) -> Option<usize> {
        let relation = usize::try_from(bit).ok().filter(|_| !self.0.is_empty())?;
        self.0 = self.0.without(RelationSet::of(relation));
        Some(relation)
    }
}

impl Iterator for Relations {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        self.take(self.0.0.trailing_zeros())
    }
}

impl DoubleEndedIterator for Relations {
    fn next_back(&mut self) -> Option<usize> {
        self.take(63_u32.saturating_sub(self.0.0.leading_zeros()))
    }
}

impl FromIterator<usize> for RelationSet {
    fn from_iter<T: IntoIterator<Item = usize>>(relations: T) -> Self {
        relations.into_iter().fold(Self::EMPTY, |set, relation| set.union(Self::of(relation)))
    }
}

impl fmt::Debug for RelationSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::RelationSet;

    #[test]
    fn subsets_are_all_but_the_empty_one_each_once() {
        let set: RelationSet = [1, 4, 63].into_iter().collect();
        let subsets: Vec<RelationSet> = set.subsets().collect();
        assert_eq!(subsets.len(), 7);
        assert!(subsets.is_sorted(), "smaller ones first: {subsets:?}");
        assert!(subsets.iter().all(|subset| subset.is_subset_of(set) && !subset.is_empty()));
        assert_eq!(RelationSet::EMPTY.subsets().count(), 0);
    }

    #[test]
    fn relations_are_returned_in_their_order_from_both_ends() {
        for relations in [vec![], vec![0], vec![63], vec![0, 1, 5, 62, 63]] {
            let set: RelationSet = relations.iter().copied().collect();
            assert!(set.iter().eq(relations.iter().copied()), "{set:?}");
            assert!(set.iter().rev().eq(relations.iter().rev().copied()), "{set:?}");
        }
    }

    #[test]
    fn number_that_is_too_large_is_in_no_set() {
        assert!(RelationSet::of(64).is_empty());
        assert_eq!(RelationSet::below(64).len(), 64);
        assert_eq!(RelationSet::below(3), [0, 1, 2].into_iter().collect());
    }
}
