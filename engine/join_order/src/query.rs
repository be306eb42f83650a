// SPDX-License-Identifier: Apache-2.0
//! Defines what is ordered: relations, their columns, and the tree of joins over them.
//!
//! Nothing here is estimated or enumerated; the numbers are given.

use crate::set::{RELATIONS_MAX, RelationSet};

/// An input of the joins: a table after its filters, or anything else that is not looked into.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Relation {
    /// Rows, after filters.
    pub rows: f64,
    /// Rows before filters, which the distinct counts of its columns are of.
    pub rows_unfiltered: f64,
    /// Bytes of a row.
    pub row_bytes: f64,
}

/// A column of a relation, or an expression over one relation, that is a key of a join.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Column {
    /// Its relation.
    pub relation: usize,
    /// Number of different values, before filters.
    pub distinct: f64,
    /// The least and the greatest value, if they are known and numbers.
    pub range: Option<(f64, f64)>,
}

/// The kind of a join. The left input is the preserved one; joins of the right kinds are written
/// with their inputs exchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Pairs of rows that match.
    Inner,
    /// Pairs, and rows of the left without a partner.
    LeftOuter,
    /// Pairs, and rows of either side without a partner.
    FullOuter,
    /// Rows of the left with a partner.
    Semi,
    /// Rows of the left without a partner.
    Anti,
}

/// One conjunct of the condition of a join.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Condition {
    /// Two columns are equal, and not NULL. They are numbers in [`Query::columns`]. Equality has to
    /// be transitive over all columns that are compared.
    Equal(usize, usize),
    /// Anything else.
    Other {
        /// By what its user knows it.
        id: usize,
        /// The relations that it refers to.
        relations: RelationSet,
        /// Relations of which all columns being NULL makes it not true.
        rejects_nulls: RelationSet,
        /// Fraction of the pairs of rows for which it is true.
        selectivity: f64,
    },
}

/// A join of the tree.
#[derive(Debug, Clone, PartialEq)]
pub struct Join {
    /// Its kind.
    pub kind: Kind,
    /// The preserved input.
    pub left: Tree,
    /// The other input.
    pub right: Tree,
    /// All of them hold for a pair that matches; none for a cross join.
    pub conditions: Vec<Condition>,
}

/// The joins as they were written.
#[derive(Debug, Clone, PartialEq)]
pub enum Tree {
    /// A relation, by its number in [`Query::relations`].
    Relation(usize),
    /// A join.
    Join(Box<Join>),
}

impl Tree {
    /// The relations below.
    #[must_use]
    pub fn relations(&self) -> RelationSet {
        match self {
            Self::Relation(relation) => RelationSet::of(*relation),
            Self::Join(join) => join.left.relations().union(join.right.relations()),
        }
    }
}

/// Joins that are to be ordered.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// The relations, each of which is in the tree once.
    pub relations: Vec<Relation>,
    /// The columns that are compared.
    pub columns: Vec<Column>,
    /// The joins as they were written.
    pub tree: Tree,
}

/// Why joins cannot be ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// There are more relations than a set can have.
    #[error("{count} relations are joined, more than {RELATIONS_MAX}")]
    TooManyRelations {
        /// How many there are.
        count: usize,
    },
    /// A relation is in the tree twice, not at all, or is not known.
    #[error("relation {relation} is not in the tree of joins exactly once")]
    NotOnce {
        /// Its number.
        relation: usize,
    },
    /// A condition refers to a column that is not known, or whose relation is not.
    #[error("column {column} is not known")]
    UnknownColumn {
        /// Its number.
        column: usize,
    },
    /// A condition refers to relations that are not inputs of its join, or says that columns of one
    /// and the same input are equal.
    #[error("a condition does not refer to the inputs of its join")]
    OutOfReach,
}

impl Query {
    /// Checks that the tree and its conditions refer to what is there.
    ///
    /// # Errors
    /// With the first thing that is not.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let count = self.relations.len();
        if count > RELATIONS_MAX {
            return Err(Error::TooManyRelations { count });
        }
        let unknown = self.columns.iter().position(|column| column.relation >= count);
        if let Some(column) = unknown {
            return Err(Error::UnknownColumn { column });
        }
        let visible = self.check_tree(&self.tree)?;
        match RelationSet::below(count).without(visible.all).first().iter().next() {
            None => Ok(()),
            Some(relation) => Err(Error::NotOnce { relation }),
        }
    }

    fn check_tree(&self, tree: &Tree) -> Result<Visible, Error> {
        let join = match tree {
            Tree::Relation(relation) if *relation < self.relations.len() => {
                let own = RelationSet::of(*relation);
                return Ok(Visible { all: own, output: own });
            }
            Tree::Relation(relation) => return Err(Error::NotOnce { relation: *relation }),
            Tree::Join(join) => join,
        };
        let (left, right) = (self.check_tree(&join.left)?, self.check_tree(&join.right)?);
        if let Some(relation) = left.all.intersection(right.all).iter().next() {
            return Err(Error::NotOnce { relation });
        }
        for condition in &join.conditions {
            let relations = self.relations_of(condition)?;
            let is_key = matches!(condition, Condition::Equal(..));
            let links = relations.intersects(left.output) && relations.intersects(right.output);
            if !relations.is_subset_of(left.output.union(right.output)) || (is_key && !links) {
                return Err(Error::OutOfReach);
            }
        }
        let output = match join.kind {
            Kind::Inner | Kind::LeftOuter | Kind::FullOuter => left.output.union(right.output),
            Kind::Semi | Kind::Anti => left.output,
        };
        Ok(Visible { all: left.all.union(right.all), output })
    }

    /// The relations that a condition refers to.
    ///
    /// # Errors
    /// If it refers to a column that is not known.
    pub(crate) fn relations_of(&self, condition: &Condition) -> Result<RelationSet, Error> {
        let of = |column: usize| match self.columns.get(column) {
            Some(known) => Ok(RelationSet::of(known.relation)),
            None => Err(Error::UnknownColumn { column }),
        };
        match condition {
            Condition::Equal(left, right) => Ok(of(*left)?.union(of(*right)?)),
            Condition::Other { relations, .. } => Ok(*relations),
        }
    }
}

/// The relations of a subtree, and those whose columns its output has.
struct Visible {
    all: RelationSet,
    output: RelationSet,
}
