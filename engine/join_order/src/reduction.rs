// SPDX-License-Identifier: Apache-2.0
//! Defines what the keys of build sides leave of the relations below their joins' probe sides.
//!
//! A join reads its build side first. The keys of it are then looked up by every scan below the
//! probe side that has a column equal to them, also by those of build sides there. So a join drops
//! rows before the joins below it see them.

use std::rc::Rc;

use crate::set::RelationSet;

/// The relations of a probe side that have a column equal to a key, for each column of the key.
pub(crate) type KeyRelations = Rc<[RelationSet]>;

/// What the keys of one build side leave.
#[derive(Debug, Clone)]
pub(crate) struct Reduction {
    pub(crate) keys: KeyRelations,
    /// The share of the rows that pass, of relations that have all the columns.
    pub(crate) passing: f64,
}

/// The share of the rows of joined relations that several reductions leave.
pub(crate) fn share_left(reductions: &[Reduction], relations: RelationSet) -> f64 {
    let has_all = |it: &&Reduction| it.keys.iter().all(|key| key.intersects(relations));
    reductions.iter().filter(has_all).map(|it| it.passing).product()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_two_columns_reduce_only_relations_that_have_both() {
        let set = |relations: &[usize]| relations.iter().copied().collect::<RelationSet>();
        let keys: KeyRelations = Rc::new([set(&[0, 1]), set(&[1, 2])]);
        let reductions = [Reduction { keys, passing: 0.25 }];
        for (relations, expected) in
            [(&[0][..], 1.0), (&[1], 0.25), (&[2], 1.0), (&[0, 2], 0.25), (&[3], 1.0)]
        {
            let left = share_left(&reductions, set(relations));
            assert!((left - expected).abs() < 1e-9, "{relations:?}: {left}");
        }
    }
}
