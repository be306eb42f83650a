// SPDX-License-Identifier: Apache-2.0
//! Defines the result, a tree of joins with its estimates, and puts it together from joins of sets.

use std::collections::HashMap;

use crate::{
    cardinality::{Cardinality, Estimate},
    cost::CostModel,
    graph::{Crossing, Graph, Joining},
    query::{Condition, Kind, Query, Tree},
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
    /// Bytes that its build side is estimated to have.
    pub build_bytes: f64,
    /// Bytes that its probe side is estimated to have.
    pub probe_bytes: f64,
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

/// What is known of a set of relations that is joined.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) estimate: Estimate,
    /// Cost of all scans and joins.
    pub(crate) cost: f64,
    /// The part of it that shrinks with the rows of the scan at the end of all probe sides.
    pipeline: f64,
    /// The last join, none for a single relation.
    pub(crate) last: Option<Last>,
}

/// Which rows of its probe side a join drops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DropsRows {
    WithoutPartner,
    No,
}

/// The last join over a set.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Last {
    /// Its preserved input.
    pub(crate) left: RelationSet,
    pub(crate) right: RelationSet,
    joining: Joining,
    build: Side,
}

/// The best trees that are known.
#[derive(Debug)]
pub(crate) struct Table<'a> {
    graph: &'a Graph,
    cardinality: Cardinality<'a>,
    model: &'a CostModel,
    pub(crate) crossing: Crossing,
    entries: HashMap<RelationSet, Entry>,
    estimates: HashMap<RelationSet, Estimate>,
}

impl<'a> Table<'a> {
    /// A table of the single relations.
    pub(crate) fn new(
        query: &'a Query,
        graph: &'a Graph,
        model: &'a CostModel,
        crossing: Crossing,
    ) -> Self {
        let cardinality = Cardinality::new(query, graph);
        let entries = query.relations.iter().enumerate().map(|(place, relation)| {
            let estimate = Estimate { rows: relation.rows.max(1.0), row_bytes: relation.row_bytes };
            let cost = CostModel::returned(estimate);
            (RelationSet::of(place), Entry { estimate, cost, pipeline: cost, last: None })
        });
        let entries = entries.collect();
        Self { graph, cardinality, model, crossing, entries, estimates: HashMap::new() }
    }

    pub(crate) fn get(&self, relations: RelationSet) -> Option<&Entry> {
        self.entries.get(&relations)
    }

    /// The entry of two sets joined, if they can be and have entries.
    pub(crate) fn join(&mut self, left: RelationSet, right: RelationSet) -> Option<Entry> {
        let joining = self.graph.joining(left, right, self.crossing)?;
        let (left, right) = match joining {
            Joining::Inner | Joining::Directed(_) => (left, right),
            Joining::Exchanged(_) => (right, left),
        };
        let (one, other) = (*self.get(left)?, *self.get(right)?);
        let both = left.union(right);
        let cardinality = &self.cardinality;
        let estimate = *self.estimates.entry(both).or_insert_with(|| cardinality.estimate(both));
        let sides = [(Side::Left, one, other), (Side::Right, other, one)];
        let built = sides.map(|(build, table, rows)| {
            let drops = self.drops_rows_without_partner(joining, build);
            let (cost, pipeline) = self.costs(&table, &rows, estimate, drops);
            let last = Some(Last { left, right, joining, build });
            Entry { estimate, cost, pipeline, last }
        });
        let [left, right] = built;
        Some(if left.cost <= right.cost { left } else { right })
    }

    /// The cost of a tree with a table of `build`, and what of it is in the pipeline.
    fn costs(
        &self,
        build: &Entry,
        probe: &Entry,
        output: Estimate,
        drops: DropsRows,
    ) -> (f64, f64) {
        let model = self.model;
        let passing = match drops {
            DropsRows::WithoutPartner => {
                let matching = (output.rows / probe.estimate.rows.max(1.0)).min(1.0);
                model.passing(build.estimate, matching)
            }
            DropsRows::No => 1.0,
        };
        let rows = Estimate { rows: probe.estimate.rows * passing, ..probe.estimate };
        let pipeline = probe.pipeline * passing + model.probe(build.estimate, rows, output);
        let tables = build.cost + model.build(build.estimate) + probe.cost - probe.pipeline;
        (tables + pipeline, pipeline)
    }

    fn kind(&self, joining: Joining) -> Kind {
        match joining {
            Joining::Inner => Kind::Inner,
            Joining::Directed(edge) | Joining::Exchanged(edge) => self.graph.edges[edge].kind,
        }
    }

    /// Whether a join returns nothing for a row of its probe side that has no partner. Of the right
    /// side of a semi- or anti-join the estimates do not say how many have one.
    fn drops_rows_without_partner(&self, joining: Joining, build: Side) -> DropsRows {
        match (self.kind(joining), build) {
            (Kind::Inner, _) | (Kind::Semi, Side::Right) | (Kind::LeftOuter, Side::Left) => {
                DropsRows::WithoutPartner
            }
            (Kind::LeftOuter, Side::Right)
            | (Kind::Semi, Side::Left)
            | (Kind::Anti | Kind::FullOuter, _) => DropsRows::No,
        }
    }

    /// Keeps an entry if it is the best of its set.
    pub(crate) fn offer(&mut self, relations: RelationSet, entry: Entry) {
        let known = self.entries.get(&relations);
        if known.is_none_or(|known| entry.cost < known.cost) {
            self.entries.insert(relations, entry);
        }
    }

    /// Makes the table hold the tree as it was written, and nothing else.
    pub(crate) fn follow(&mut self, tree: &Tree) -> Option<RelationSet> {
        let join = match tree {
            Tree::Relation(relation) => return Some(RelationSet::of(*relation)),
            Tree::Join(join) => join,
        };
        let (left, right) = (self.follow(&join.left)?, self.follow(&join.right)?);
        let entry = self.join(left, right)?;
        self.offer(left.union(right), entry);
        Some(left.union(right))
    }

    /// The tree over a set.
    pub(crate) fn plan(&self, relations: RelationSet) -> Option<Plan> {
        let entry = self.get(relations)?;
        let Some(last) = entry.last else {
            return relations.iter().next().map(Plan::Relation);
        };
        self.assemble(entry, last, self.plan(last.left)?, self.plan(last.right)?)
    }

    /// The tree whose last join is given, over trees of its inputs.
    pub(crate) fn assemble(
        &self,
        entry: &Entry,
        last: Last,
        left_plan: Plan,
        right_plan: Plan,
    ) -> Option<Plan> {
        let kind = self.kind(last.joining);
        let (left, right) = (self.get(last.left)?.estimate, self.get(last.right)?.estimate);
        let (build, probe) = match last.build {
            Side::Left => (left, right),
            Side::Right => (right, left),
        };
        Some(Plan::Join(Box::new(PlannedJoin {
            kind,
            left: left_plan,
            right: right_plan,
            conditions: self.conditions(last),
            build: last.build,
            distribution: match self.model.is_partitioned(build) {
                true => Distribution::Partitioned,
                false => Distribution::Collected,
            },
            rows: entry.estimate.rows,
            build_bytes: build.bytes(),
            probe_bytes: probe.bytes(),
        })))
    }

    /// The conditions of a join, without equalities that others imply: columns that an inner join
    /// below made equal stay equal, or both NULL.
    fn conditions(&self, last: Last) -> Vec<Condition> {
        let between = self.graph.between(last.left, last.right);
        let conditions = between.flat_map(|(_, edge)| edge.conditions.iter().copied());
        if last.joining != Joining::Inner {
            return conditions.collect();
        }
        let is_inside = |relations: RelationSet| {
            relations.is_subset_of(last.left) || relations.is_subset_of(last.right)
        };
        let inner = self.graph.edges.iter().filter(|edge| edge.kind == Kind::Inner);
        let below = inner.filter(|edge| is_inside(edge.relations()));
        let mut classes = self.cardinality.classes();
        for condition in below.flat_map(|edge| &edge.conditions) {
            if let Condition::Equal(one, other) = condition {
                classes.unite((*one, *other));
            }
        }
        let is_new = |condition: &Condition| match condition {
            Condition::Equal(one, other) => classes.unite((*one, *other)),
            Condition::Other { .. } => true,
        };
        conditions.filter(is_new).collect()
    }
}
