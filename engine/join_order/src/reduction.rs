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
