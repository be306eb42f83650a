// SPDX-License-Identifier: Apache-2.0
//! Keeps the best tree of each set of relations, and puts a tree together from joins of sets.
//!
//! A tree is compared with others of its set as if no join were above it. Its cost below a join
//! whose keys reduce its scans is computed anew.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::{
    cardinality::{Cardinality, Estimate},
    cost::{CostModel, JoinCost},
    graph::{Crossing, Graph, Joining},
    plan::{Distribution, Plan, PlannedJoin, Side},
    query::{Condition, Kind, Query, Tree},
    reduction::{KeyRelations, Reduction, share_left},
    set::RelationSet,
};

/// What is known of a set of relations that is joined.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) estimate: Estimate,
    /// Cost of all scans and joins.
    pub(crate) cost: f64,
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
#[derive(Debug, Clone)]
pub(crate) struct Last {
    /// Its preserved input.
    pub(crate) left: RelationSet,
    pub(crate) right: RelationSet,
    joining: Joining,
    build: Side,
    build_rows: Estimate,
    probe_rows: Estimate,
    /// The keys by which it drops rows of its probe side; none if it does not.
    keys: Option<KeyRelations>,
}

impl Last {
    /// The build side, and the probe side.
    fn build_and_probe(&self) -> (RelationSet, RelationSet) {
        match self.build {
            Side::Left => (self.left, self.right),
            Side::Right => (self.right, self.left),
        }
    }
}

/// The best trees that are known.
#[derive(Debug)]
pub(crate) struct Table<'a> {
    graph: &'a Graph,
    cardinality: Cardinality<'a>,
    model: &'a CostModel,
    pub(crate) crossing: Crossing,
    entries: FxHashMap<RelationSet, Entry>,
    estimates: FxHashMap<RelationSet, Estimate>,
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
            (RelationSet::of(place), Entry { estimate, cost, last: None })
        });
        let entries = entries.collect();
        Self { graph, cardinality, model, crossing, entries, estimates: FxHashMap::default() }
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
        let (of_left, of_right) = (self.get(left)?.estimate, self.get(right)?.estimate);
        let both = left.union(right);
        let cardinality = &self.cardinality;
        let estimate = *self.estimates.entry(both).or_insert_with(|| cardinality.estimate(both));
        let equal = self.equal_columns(left, right);
        let mut best: Option<Entry> = None;
        let mut limit = self.get(both).map_or(f64::INFINITY, |known| known.cost);
        let sides = [(Side::Left, of_left, of_right), (Side::Right, of_right, of_left)];
        for (build, build_rows, probe_rows) in sides {
            let keys = match self.drops_rows_without_partner(joining, build) {
                DropsRows::WithoutPartner => self.key_relations(&equal, build),
                DropsRows::No => None,
            };
            let last = Last { left, right, joining, build, build_rows, probe_rows, keys };
            let cost = self.cost_of_join(estimate, &last, &mut Vec::new(), limit);
            limit = limit.min(cost);
            if best.as_ref().is_none_or(|best| cost < best.cost) {
                best = Some(Entry { estimate, cost, last: Some(last) });
            }
        }
        best
    }

    /// The columns of the one set that equal columns of the other where they are joined.
    fn equal_columns(&self, left: RelationSet, right: RelationSet) -> Vec<(usize, usize)> {
        let between = self.graph.between(left, right);
        let conditions = between.flat_map(|(_, edge)| &edge.conditions);
        let equal = conditions.filter_map(|condition| match *condition {
            Condition::Equal(one, other) => Some((one, other)),
            Condition::Other { .. } => None,
        });
        let is_left = |column| left.contains(self.cardinality.relation_of(column));
        equal.map(|(one, other)| if is_left(one) { (one, other) } else { (other, one) }).collect()
    }

    /// The relations of the probe side that have a column equal to one of the build side, for each
    /// of these; nothing if there is none.
    fn key_relations(&self, equal: &[(usize, usize)], build: Side) -> Option<KeyRelations> {
        let mut keys: Vec<(usize, RelationSet)> = Vec::new();
        for (left, right) in equal {
            let (built, probed) = match build {
                Side::Left => (*left, *right),
                Side::Right => (*right, *left),
            };
            let relation = RelationSet::of(self.cardinality.relation_of(probed));
            match keys.iter_mut().find(|(column, _)| *column == built) {
                Some((_, relations)) => *relations = relations.union(relation),
                None => keys.push((built, relation)),
            }
        }
        let relations: KeyRelations = keys.into_iter().map(|(_, relations)| relations).collect();
        (!relations.is_empty()).then_some(relations)
    }

    /// The cost of the best tree over a set with an entry, below joins whose keys reduce its scans;
    /// a part of it if that is no less than `limit`.
    fn cost_below(
        &self,
        relations: RelationSet,
        reductions: &mut Vec<Reduction>,
        limit: f64,
    ) -> f64 {
        let Some(entry) = self.get(relations) else { return f64::INFINITY };
        match &entry.last {
            _ if reductions.is_empty() => entry.cost,
            Some(last) => self.cost_of_join(entry.estimate, last, reductions, limit),
            None => CostModel::returned(entry.estimate.times(share_left(reductions, relations))),
        }
    }

    /// The cost of a join, which would return `output` without any reduction, and of its inputs; if
    /// that is no less than `limit`, only a part of it that is no less either.
    fn cost_of_join(
        &self,
        output: Estimate,
        last: &Last,
        reductions: &mut Vec<Reduction>,
        limit: f64,
    ) -> f64 {
        let (build_side, probe_side) = last.build_and_probe();
        let above = reductions.len();
        let mut cost = self.own_cost(output, last, reductions).cost;
        if cost < limit {
            cost += self.cost_below(probe_side, reductions, limit - cost);
        }
        reductions.truncate(above);
        if cost < limit {
            cost += self.cost_below(build_side, reductions, limit - cost);
        }
        cost
    }

    /// The cost of a join without its inputs; adds what its keys leave to the reductions.
    fn own_cost(&self, output: Estimate, last: &Last, reductions: &mut Vec<Reduction>) -> JoinCost {
        let (build_side, probe_side) = last.build_and_probe();
        let build = last.build_rows.times(share_left(reductions, build_side));
        let output = output.times(share_left(reductions, build_side.union(probe_side)));
        if let Some(keys) = &last.keys {
            let probe = last.probe_rows.times(share_left(reductions, probe_side));
            let matching = (output.rows / probe.rows).min(1.0);
            let passing = self.model.passing(build, matching);
            reductions.push(Reduction { keys: Rc::clone(keys), passing });
        }
        let probe = last.probe_rows.times(share_left(reductions, probe_side));
        self.model.join(build, probe, output)
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
        self.plan_below(relations, &mut Vec::new())
    }

    /// The tree over a set, below joins whose keys reduce its scans.
    fn plan_below(&self, relations: RelationSet, reductions: &mut Vec<Reduction>) -> Option<Plan> {
        let entry = self.get(relations)?;
        let Some(last) = &entry.last else {
            return relations.iter().next().map(Plan::Relation);
        };
        let (build_side, probe_side) = last.build_and_probe();
        let build = self.plan_below(build_side, reductions)?;
        let above = reductions.len();
        let own = self.own_cost(entry.estimate, last, reductions);
        let probe = self.plan_below(probe_side, reductions)?;
        reductions.truncate(above);
        let (left, right) = match last.build {
            Side::Left => (build, probe),
            Side::Right => (probe, build),
        };
        Some(self.assemble(entry, last, own.distribution, [left, right]))
    }

    /// Notes the share of the rows of each relation of a set that the keys of joins leave.
    pub(crate) fn note_key_shares(
        &self,
        relations: RelationSet,
        reductions: &mut Vec<Reduction>,
        shares: &mut [f64],
    ) -> Option<()> {
        let entry = self.get(relations)?;
        let Some(last) = &entry.last else {
            *shares.get_mut(relations.iter().next()?)? = share_left(reductions, relations);
            return Some(());
        };
        let (build_side, probe_side) = last.build_and_probe();
        self.note_key_shares(build_side, reductions, shares)?;
        let above = reductions.len();
        let looks_keys_up = match self.drops_rows_without_partner(last.joining, last.build) {
            DropsRows::WithoutPartner => true,
            // These return rows of the build side alone.
            DropsRows::No => {
                last.build == Side::Left
                    && matches!(self.kind(last.joining), Kind::Semi | Kind::Anti)
            }
        };
        let equal = self.equal_columns(last.left, last.right);
        if let Some(keys) = self.key_relations(&equal, last.build).filter(|_| looks_keys_up) {
            let build = last.build_rows.times(share_left(reductions, build_side));
            let matching = self.cardinality.with_partner(probe_side, &equal, build.rows);
            let passing = self.model.passing(build, matching);
            reductions.push(Reduction { keys, passing });
        }
        self.note_key_shares(probe_side, reductions, shares)?;
        reductions.truncate(above);
        Some(())
    }

    /// The tree whose last join is given, over trees of its left and right input.
    pub(crate) fn assemble(
        &self,
        entry: &Entry,
        last: &Last,
        distribution: Distribution,
        [left, right]: [Plan; 2],
    ) -> Plan {
        Plan::Join(Box::new(PlannedJoin {
            kind: self.kind(last.joining),
            left,
            right,
            conditions: self.conditions(last),
            build: last.build,
            distribution,
            rows: entry.estimate.rows,
        }))
    }

    /// The conditions of a join, without equalities that others imply: columns that an inner join
    /// below made equal stay equal, or both NULL.
    fn conditions(&self, last: &Last) -> Vec<Condition> {
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
