// SPDX-License-Identifier: Apache-2.0
//! Finds which joins may not change places: conflict detection C (CD-C) of Moerkotte, Fender and
//! Eich, "On the correct and complete enumeration of the core search space" (SIGMOD 2013).
//!
//! Two joins of the tree, one below the other, may change places in up to three ways, depending on
//! their kinds and on whether their conditions reject NULL:
//!
//! ```text
//! associative         (e1 a e2) b e3  =  e1 a (e2 b e3)
//! left asscommutative (e1 a e2) b e3  =  (e1 b e3) a e2
//! right asscommutative e1 a (e2 b e3) =  e2 b (e1 a e3)
//! ```
//!
//! Where one of them does not hold, the upper join gets a [`Rule`]: if it is applied to some of
//! these relations, it is applied to all of those.
//!
//! # Invariants
//!
//! - A tree in which every join obeys its rules returns the rows of the original one.

use crate::{
    query::{Condition, Kind},
    set::RelationSet,
};

/// A join of the tree.
#[derive(Debug)]
pub(crate) struct Operator {
    pub(crate) kind: Kind,
    /// All relations of its inputs.
    pub(crate) left: RelationSet,
    pub(crate) right: RelationSet,
    /// Those that its conditions refer to.
    pub(crate) referenced: RelationSet,
    /// Those of which all columns being NULL makes its condition not true.
    pub(crate) rejects_nulls: RelationSet,
    /// Its conditions, and those that follow from equalities below.
    pub(crate) conditions: Vec<Condition>,
}

impl Operator {
    fn relations(&self) -> RelationSet {
        self.left.union(self.right)
    }

    fn rejects(&self, relations: RelationSet) -> bool {
        self.rejects_nulls.intersects(relations)
    }
}

/// If a join is applied to any of some relations, it is applied to all of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rule {
    pub(crate) any: RelationSet,
    pub(crate) all: RelationSet,
}

impl Rule {
    pub(crate) fn holds(&self, relations: RelationSet) -> bool {
        !relations.intersects(self.any) || self.all.is_subset_of(relations)
    }
}

/// The rules of one operator, against all below it.
pub(crate) fn rules(operators: &[Operator], place: usize) -> Vec<Rule> {
    let upper = &operators[place];
    let mut rules = Vec::new();
    let mut add = |any: RelationSet, all: RelationSet, referenced: RelationSet| {
        let needed = all.intersection(referenced);
        let all = if needed.is_empty() { all } else { needed };
        let rule = Rule { any, all };
        if !rules.contains(&rule) {
            rules.push(rule);
        }
    };
    for lower in &operators[..place] {
        if lower.relations().is_subset_of(upper.left) {
            if !is_associative(lower, upper, lower.right) {
                add(lower.right, lower.left, lower.referenced);
            }
            if !is_left_asscommutative(lower, upper) {
                add(lower.left, lower.right, lower.referenced);
            }
        } else if lower.relations().is_subset_of(upper.right) {
            if !is_associative(upper, lower, lower.left) {
                add(lower.left, lower.right, lower.referenced);
            }
            if !is_right_asscommutative(upper, lower) {
                add(lower.right, lower.left, lower.referenced);
            }
        }
    }
    rules
}

/// Whether `(e1 first e2) second e3 = e1 first (e2 second e3)`; `middle` is `e2`.
fn is_associative(first: &Operator, second: &Operator, middle: RelationSet) -> bool {
    match (first.kind, second.kind) {
        (Kind::Inner, Kind::Inner | Kind::LeftOuter | Kind::Semi | Kind::Anti) => true,
        (Kind::LeftOuter | Kind::FullOuter, Kind::LeftOuter) => second.rejects(middle),
        (Kind::FullOuter, Kind::FullOuter) => first.rejects(middle) && second.rejects(middle),
        (Kind::Inner | Kind::LeftOuter, Kind::FullOuter)
        | (Kind::LeftOuter | Kind::FullOuter, Kind::Inner | Kind::Semi | Kind::Anti)
        | (Kind::Semi | Kind::Anti, _) => false,
    }
}

/// Whether `(e1 lower e2) upper e3 = (e1 upper e3) lower e2`.
fn is_left_asscommutative(lower: &Operator, upper: &Operator) -> bool {
    match (lower.kind, upper.kind) {
        (Kind::LeftOuter, Kind::FullOuter) => lower.rejects(lower.left),
        (Kind::FullOuter, Kind::LeftOuter) => upper.rejects(lower.left),
        (Kind::FullOuter, Kind::FullOuter) => {
            lower.rejects(lower.left) && upper.rejects(lower.left)
        }
        (Kind::Inner | Kind::Semi | Kind::Anti, Kind::FullOuter)
        | (Kind::FullOuter, Kind::Inner | Kind::Semi | Kind::Anti) => false,
        (Kind::Inner | Kind::LeftOuter | Kind::Semi | Kind::Anti, _) => true,
    }
}

/// Whether `e1 upper (e2 lower e3) = e2 lower (e1 upper e3)`.
fn is_right_asscommutative(upper: &Operator, lower: &Operator) -> bool {
    match (upper.kind, lower.kind) {
        (Kind::Inner, Kind::Inner) => true,
        (Kind::FullOuter, Kind::FullOuter) => {
            upper.rejects(lower.right) && lower.rejects(lower.right)
        }
        (Kind::Inner | Kind::FullOuter, _) | (Kind::LeftOuter | Kind::Semi | Kind::Anti, _) => {
            false
        }
    }
}
