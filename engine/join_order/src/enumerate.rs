// SPDX-License-Identifier: Apache-2.0
//! Enumerates the connected subgraphs of the join graph and their connected complements: DPhyp of
//! Moerkotte and Neumann, "Dynamic programming strikes back" (SIGMOD 2008).
//!
//! Every pair of sets that can be joined is visited once, after all pairs within either set. How
//! the sets are joined, and whether they may be, is left to who takes them in ([`Pairs`]).

use rustc_hash::FxHashSet;

use crate::{
    graph::{Crossing, Graph},
    set::RelationSet,
    table::Table,
};

/// Whether the enumeration takes at most so many steps. To find out takes a fraction of its time,
/// since nothing is estimated.
pub(crate) fn is_short(
    graph: &Graph,
    relations: usize,
    crossing: Crossing,
    steps_max: usize,
) -> bool {
    let connected = (0..relations).map(RelationSet::of).collect();
    walk(graph, relations, crossing, &mut Connected(connected), steps_max).is_ok()
}

/// Fills the table with the best trees over all sets.
pub(crate) fn enumerate(graph: &Graph, relations: usize, table: &mut Table) {
    let crossing = table.crossing;
    let walked = walk(graph, relations, crossing, table, usize::MAX);
    debug_assert!(walked.is_ok(), "there is no limit");
}

fn walk(
    graph: &Graph,
    relations: usize,
    crossing: Crossing,
    pairs: &mut impl Pairs,
    steps_max: usize,
) -> Result<(), BudgetSpent> {
    let own = graph.edges.iter();
    let crossed = graph.cross.iter().filter(|_| crossing == Crossing::Yes);
    let edges = own.chain(crossed).map(|edge| Hyperedge { left: edge.left, right: edge.right });
    let mut walk = Walk { edges: edges.collect(), pairs, steps_left: steps_max };
    for relation in (0..relations).rev() {
        let single = RelationSet::of(relation);
        walk.subgraph(single)?;
        walk.grow_subgraph(single, RelationSet::below(relation + 1))?;
    }
    Ok(())
}

/// Ends an enumeration that takes too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct BudgetSpent;

/// Takes in the pairs of an enumeration.
trait Pairs {
    /// Whether a set of relations can be joined, by the pairs so far.
    fn are_joined(&self, relations: RelationSet) -> bool;

    fn take(&mut self, one: RelationSet, other: RelationSet);
}

impl Pairs for Table<'_> {
    fn are_joined(&self, relations: RelationSet) -> bool {
        self.get(relations).is_some()
    }

    fn take(&mut self, one: RelationSet, other: RelationSet) {
        if let Some(entry) = self.join(one, other) {
            self.offer(one.union(other), entry);
        }
    }
}

/// Sets that edges connect, whether or not the rules of these allow to join them.
struct Connected(FxHashSet<RelationSet>);

impl Pairs for Connected {
    fn are_joined(&self, relations: RelationSet) -> bool {
        self.0.contains(&relations)
    }

    fn take(&mut self, one: RelationSet, other: RelationSet) {
        self.0.insert(one.union(other));
    }
}

struct Hyperedge {
    left: RelationSet,
    right: RelationSet,
}

struct Walk<'w, P> {
    edges: Vec<Hyperedge>,
    pairs: &'w mut P,
    steps_left: usize,
}

impl<P: Pairs> Walk<'_, P> {
    fn step(&mut self) -> Result<(), BudgetSpent> {
        self.steps_left = self.steps_left.checked_sub(1).ok_or(BudgetSpent)?;
        Ok(())
    }

    /// Adds to a subgraph what it is connected with.
    fn grow_subgraph(
        &mut self,
        subgraph: RelationSet,
        excluded: RelationSet,
    ) -> Result<(), BudgetSpent> {
        let neighbours = self.neighbours(subgraph, excluded);
        for added in neighbours.subsets() {
            self.step()?;
            let grown = subgraph.union(added);
            if self.pairs.are_joined(grown) {
                self.subgraph(grown)?;
            }
        }
        let excluded = excluded.union(neighbours);
        for added in neighbours.subsets() {
            self.step()?;
            self.grow_subgraph(subgraph.union(added), excluded)?;
        }
        Ok(())
    }

    /// Finds the complements of a subgraph.
    fn subgraph(&mut self, subgraph: RelationSet) -> Result<(), BudgetSpent> {
        let Some(first) = subgraph.iter().next() else { return Ok(()) };
        let excluded = subgraph.union(RelationSet::below(first + 1));
        let neighbours = self.neighbours(subgraph, excluded);
        for relation in neighbours.iter().rev() {
            let complement = RelationSet::of(relation);
            if self.are_connected(subgraph, complement) {
                self.pair(subgraph, complement)?;
            }
            let smaller = RelationSet::below(relation + 1).intersection(neighbours);
            self.grow_complement(subgraph, complement, excluded.union(smaller))?;
        }
        Ok(())
    }

    /// Adds to a complement what it is connected with.
    fn grow_complement(
        &mut self,
        subgraph: RelationSet,
        complement: RelationSet,
        excluded: RelationSet,
    ) -> Result<(), BudgetSpent> {
        let neighbours = self.neighbours(complement, excluded);
        for added in neighbours.subsets() {
            self.step()?;
            let grown = complement.union(added);
            if self.pairs.are_joined(grown) && self.are_connected(subgraph, grown) {
                self.pair(subgraph, grown)?;
            }
        }
        let excluded = excluded.union(neighbours);
        for added in neighbours.subsets() {
            self.step()?;
            self.grow_complement(subgraph, complement.union(added), excluded)?;
        }
        Ok(())
    }

    fn pair(&mut self, one: RelationSet, other: RelationSet) -> Result<(), BudgetSpent> {
        self.step()?;
        self.pairs.take(one, other);
        Ok(())
    }

    fn are_connected(&self, one: RelationSet, other: RelationSet) -> bool {
        self.edges.iter().any(|edge| {
            (edge.left.is_subset_of(one) && edge.right.is_subset_of(other))
                || (edge.left.is_subset_of(other) && edge.right.is_subset_of(one))
        })
    }

    /// The first relation of every minimal set that an edge leads to.
    fn neighbours(&self, from: RelationSet, excluded: RelationSet) -> RelationSet {
        let barred = from.union(excluded);
        let ends = self.edges.iter().flat_map(|edge| {
            let forth = edge.left.is_subset_of(from).then_some(edge.right);
            let back = edge.right.is_subset_of(from).then_some(edge.left);
            forth.into_iter().chain(back)
        });
        let ends = ends.filter(|end| !end.intersects(barred));
        ends.fold(RelationSet::EMPTY, |found, end| found.union(end.first()))
    }
}
