// SPDX-License-Identifier: Apache-2.0
//! Defines the result: a tree of joins with its estimates.

use crate::{
    query::{Condition, Kind},
    set::RelationSet,
};

/// An input of a join.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The preserved one.
    Left,
    /// The other one.
    Right,
}

/// Whether rows of both inputs are sent to partitions by the hash of their keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Distribution {
    /// Every partition of the probe side sees the whole build side.
    Collected,
    /// Both inputs are partitioned.
    Partitioned,
}

/// A tree of joins.
#[derive(Debug, Clone, PartialEq)]
pub enum Plan {
    /// A relation, by its number.
    Relation(usize),
    /// A join.
    Join(Box<PlannedJoin>),
}

/// A join of a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedJoin {
    /// Its kind.
    pub kind: Kind,
    /// The preserved input.
    pub left: Plan,
    /// The other input.
    pub right: Plan,
    /// All of them hold for a pair that matches. An equality has a column of each input.
    pub conditions: Vec<Condition>,
    /// The input of which the table is built.
    pub build: Side,
    /// How the inputs meet.
    pub distribution: Distribution,
    /// Rows that it is estimated to return.
    pub rows: f64,
}

impl Plan {
    /// The relations below.
    #[must_use]
    pub fn relations(&self) -> RelationSet {
        match self {
            Self::Relation(relation) => RelationSet::of(*relation),
            Self::Join(join) => join.left.relations().union(join.right.relations()),
        }
    }
}
