// SPDX-License-Identifier: Apache-2.0
//! Estimates the joins of a tree as it is, without ordering them.
//!
//! Of a tree that [`choose`](crate::choose) has returned the estimates are those that it was chosen
//! by, but where several keys of the same relations meet in other joins than in the original tree.

use crate::{
    cardinality::Cardinality,
    cost::CostModel,
    graph::{Crossing, Graph},
    query::{Error, Query},
    set::RelationSet,
    table::Table,
};

/// The estimates that orders are compared by, of sets of relations of one query.
#[derive(Debug)]
pub struct Estimates<'a> {
    query: &'a Query,
    graph: Graph,
}

impl<'a> Estimates<'a> {
    /// The estimates of a query.
    ///
    /// # Errors
    /// If the query refers to what is not there.
    pub fn of(query: &'a Query) -> Result<Self, Error> {
        Ok(Self { query, graph: Graph::of(query)? })
    }

    /// Rows that relations are estimated to have when they are joined by all conditions among them;
    /// 1 at least.
    #[must_use]
    pub fn rows(&self, relations: RelationSet) -> f64 {
        Cardinality::new(self.query, &self.graph).estimate(relations).rows
    }

    /// The share of each relation's rows that the keys of the joins' build sides leave, if the
    /// joins are made as they are, with the build sides that cost least; nothing if the tree has a
    /// join that is no hash join.
    #[must_use]
    pub fn key_shares(&self, model: &CostModel) -> Option<Vec<f64>> {
        let mut table = Table::new(self.query, &self.graph, model, Crossing::Yes);
        let all = table.follow(&self.query.tree)?;
        let mut shares = vec![1.0; self.query.relations.len()];
        table.note_key_shares(all, &mut Vec::new(), &mut shares)?;
        Some(shares)
    }
}
