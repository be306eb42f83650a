// SPDX-License-Identifier: Apache-2.0
//! Estimates the rows of a set of relations that is joined.
//!
//! The estimate is of the set, not of a tree over it: the joins of the original tree are followed,
//! as far as their relations are in the set. So all trees over a set agree on it.
//!
//! An equality of columns with `m` and `n` different values is true for one pair of rows in
//! `max(m, n)` (System R), counted over the range of values that both have; values of a filtered
//! relation are assumed to be in that range. Equalities that follow from others count once. Of
//! several keys between the same two relations that are together unique on one side, that side's
//! rows count; others are damped, each by one more square root, for columns are rarely independent.
//!
//! Numbers are never NULL here: that columns have NULLs is not known.

use crate::{
    graph::{Graph, Step},
    query::{Condition, Kind, Query},
    set::RelationSet,
};

/// Smallest fraction of rows that an anti join is thought to keep: containment, which the estimate
/// assumes, would often let it keep none.
const ANTI_FRACTION_MIN: f64 = 0.05;

/// The estimate of a set of relations.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Estimate {
    pub(crate) rows: f64,
    pub(crate) row_bytes: f64,
}

impl Estimate {
    pub(crate) fn bytes(self) -> f64 {
        self.rows * self.row_bytes
    }
}

/// Estimates sets of relations of one query.
#[derive(Debug)]
pub(crate) struct Cardinality<'a> {
    query: &'a Query,
    graph: &'a Graph,
}

/// An equality with its estimates.
#[derive(Debug, Clone, Copy)]
struct Key {
    columns: (usize, usize),
    /// Relations of the columns.
    relations: (usize, usize),
    selectivity: f64,
}

impl<'a> Cardinality<'a> {
    pub(crate) fn new(query: &'a Query, graph: &'a Graph) -> Self {
        Self { query, graph }
    }

    /// All columns, none equal to another.
    pub(crate) fn classes(&self) -> Classes {
        Classes::new(self.query.columns.len())
    }

    /// The estimate of the relations, joined by all conditions among them.
    pub(crate) fn estimate(&self, relations: RelationSet) -> Estimate {
        let mut results: Vec<Option<Estimate>> = Vec::with_capacity(self.graph.steps.len());
        let mut classes = self.classes();
        for step in &self.graph.steps {
            let result = match step {
                Step::Relation(relation) if relations.contains(*relation) => {
                    let known = &self.query.relations[*relation];
                    Some(Estimate { rows: known.rows, row_bytes: known.row_bytes })
                }
                Step::Relation(_) => None,
                Step::Join(place) => {
                    let (right, left) = (results.pop().flatten(), results.pop().flatten());
                    match (left, right) {
                        (Some(left), Some(right)) => {
                            Some(self.joined(*place, relations, left, right, &mut classes))
                        }
                        (left, right) => left.or(right),
                    }
                }
            };
            results.push(result);
        }
        let found = results.pop().flatten().unwrap_or(Estimate { rows: 0.0, row_bytes: 0.0 });
        Estimate { rows: found.rows.max(1.0), ..found }
    }

    fn joined(
        &self,
        place: usize,
        relations: RelationSet,
        left: Estimate,
        right: Estimate,
        classes: &mut Classes,
    ) -> Estimate {
        let operator = &self.graph.operators[place];
        let product = left.rows * right.rows;
        let width = left.row_bytes + right.row_bytes;
        let is_reached = operator.referenced.is_subset_of(relations);
        let (keys, others) = self.conditions(place, relations);
        match operator.kind {
            Kind::Inner => {
                let rows = product * self.keys(keys, classes) * others;
                Estimate { rows, row_bytes: width }
            }
            _ if !is_reached => Estimate { rows: product, row_bytes: width },
            Kind::LeftOuter => {
                let rows = product * self.keys(keys, &mut Classes::none()) * others;
                Estimate { rows: rows.max(left.rows), row_bytes: width }
            }
            Kind::FullOuter => {
                let rows = product * self.keys(keys, &mut Classes::none()) * others;
                Estimate { rows: rows.max(left.rows).max(right.rows), row_bytes: width }
            }
            Kind::Semi => {
                let fraction = self.matching(operator.left, &keys, others, right.rows);
                Estimate { rows: left.rows * fraction, ..left }
            }
            Kind::Anti => {
                let fraction = 1.0 - self.matching(operator.left, &keys, others, right.rows);
                Estimate { rows: left.rows * fraction.max(ANTI_FRACTION_MIN), ..left }
            }
        }
    }

    /// The keys of a join among the relations, the least selective first, and the selectivity of
    /// its other conditions.
    fn conditions(&self, place: usize, relations: RelationSet) -> (Vec<Key>, f64) {
        let (mut keys, mut others) = (Vec::new(), 1.0);
        for condition in &self.graph.operators[place].conditions {
            match condition {
                Condition::Equal(one, other) => {
                    let (left, right) = (&self.query.columns[*one], &self.query.columns[*other]);
                    let both = (left.relation, right.relation);
                    if relations.contains(both.0) && relations.contains(both.1) {
                        let selectivity = self.equality(*one, *other);
                        keys.push(Key { columns: (*one, *other), relations: both, selectivity });
                    }
                }
                Condition::Other { relations: needed, selectivity, .. } => {
                    if needed.is_subset_of(relations) {
                        others *= selectivity.clamp(0.0, 1.0);
                    }
                }
            }
        }
        keys.sort_by(|one, other| other.selectivity.total_cmp(&one.selectivity));
        (keys, others)
    }

    /// The fraction of pairs of rows of two relations for which columns are equal.
    fn equality(&self, one: usize, other: usize) -> f64 {
        let (one, other) = (self.in_range(one, other), self.in_range(other, one));
        (one.fraction * other.fraction / one.distinct.max(other.distinct)).min(1.0)
    }

    /// A column restricted to the range of another.
    fn in_range(&self, column: usize, other: usize) -> InRange {
        let (column, other) = (&self.query.columns[column], &self.query.columns[other]);
        let relation = &self.query.relations[column.relation];
        let part = match (column.range, other.range) {
            (Some(own), Some(range)) => overlap(own, range),
            _ => 1.0,
        };
        let unfiltered = relation.rows_unfiltered.max(relation.rows).max(1.0);
        // One value at least: the ranges may be those of other moments.
        let distinct = (column.distinct.clamp(1.0, unfiltered) * part).max(1.0);
        let fraction = (unfiltered * part).min(relation.rows) / relation.rows.max(1e-9);
        InRange { distinct, fraction: fraction.clamp(0.0, 1.0) }
    }

    /// The selectivity of keys of an inner join. Those that others imply count once.
    fn keys(&self, keys: Vec<Key>, classes: &mut Classes) -> f64 {
        if let [key] = keys.as_slice() {
            return if classes.unite(key.columns) { key.selectivity } else { 1.0 };
        }
        // Keys between the same classes say the same.
        let before: Vec<(usize, usize)> =
            keys.iter().map(|key| classes.roots(key.columns)).collect();
        let mut links: Vec<(usize, usize)> = Vec::new();
        for (key, roots) in keys.iter().zip(&before) {
            if classes.unite(key.columns) {
                links.push(*roots);
            }
        }
        let mut selectivity = 1.0;
        while let Some(group) = largest_group(&keys, &before, &links) {
            selectivity *= self.together(&group);
            links.retain(|link| !group.iter().any(|(_, roots)| roots == link));
        }
        for link in &links {
            let mut same = keys.iter().zip(&before).filter(|(_, roots)| *roots == link);
            selectivity *= same.next().map_or(1.0, |(key, _)| key.selectivity);
        }
        selectivity
    }

    /// The selectivity of several keys between the same two relations.
    fn together(&self, group: &[(Key, (usize, usize))]) -> f64 {
        let damped = damped(group.iter().map(|(key, _)| key.selectivity));
        let side = |relation: usize| {
            let of_key = |key: &Key| match key.relations.0 == relation {
                true => key.columns.0,
                false => key.columns.1,
            };
            let known = &self.query.relations[relation];
            let rows = known.rows_unfiltered.max(known.rows).max(1.0);
            let distinct = |key: &Key| self.query.columns[of_key(key)].distinct.clamp(1.0, rows);
            let combinations: f64 = group.iter().map(|(key, _)| distinct(key)).product();
            (combinations >= rows).then_some(1.0 / rows)
        };
        let Some((first, _)) = group.first() else { return 1.0 };
        let unique = [side(first.relations.0), side(first.relations.1)];
        // What is the key of both is that of the smaller one, to which the larger refers.
        let unique = unique
            .into_iter()
            .flatten()
            .fold(None, |most: Option<f64>, it| Some(most.map_or(it, |most| most.max(it))));
        unique.unwrap_or(damped)
    }

    /// The fraction of rows of the left that have a partner on the right.
    fn matching(&self, left: RelationSet, keys: &[Key], others: f64, right_rows: f64) -> f64 {
        let fractions = keys.iter().map(|key| {
            let (left, right) = match left.contains(key.relations.0) {
                true => key.columns,
                false => (key.columns.1, key.columns.0),
            };
            let (left, right) = (self.in_range(left, right), self.in_range(right, left));
            let present = right.distinct.min(right_rows.max(1.0));
            let fraction = left.fraction * present / left.distinct.max(right.distinct);
            // Partners of a row that has any.
            (fraction.min(1.0), (right_rows / right.distinct).max(1.0))
        });
        let (fractions, partners): (Vec<f64>, Vec<f64>) = fractions.unzip();
        let partners = partners.into_iter().fold(f64::INFINITY, f64::min);
        let any = match others < 1.0 && partners.is_finite() {
            true => 1.0 - (1.0 - others).powf(partners),
            false => others,
        };
        damped(fractions.into_iter()) * any
    }
}

/// A column restricted to the range of another.
struct InRange {
    /// Its different values there.
    distinct: f64,
    /// Fraction of its relation's rows there.
    fraction: f64,
}

/// The fraction of a range that is in another, if values are spread evenly.
fn overlap(own: (f64, f64), other: (f64, f64)) -> f64 {
    let length = own.1 - own.0;
    let common = own.1.min(other.1) - own.0.max(other.0);
    if !length.is_finite() || !common.is_finite() || length <= 0.0 || common <= 0.0 {
        return 1.0;
    }
    // Both ends are in a range of whole numbers.
    ((common + 1.0) / (length + 1.0)).min(1.0)
}

/// The most selective factor, the root of the next, the fourth root of the one after it, ...
fn damped(factors: impl Iterator<Item = f64>) -> f64 {
    let mut factors: Vec<f64> = factors.collect();
    factors.sort_by(f64::total_cmp);
    let mut exponent = 1.0;
    let mut product = 1.0;
    for factor in factors {
        product *= factor.powf(exponent);
        exponent /= 2.0;
    }
    product
}

/// The keys between the two relations that have the most of the links, two at least: one for each.
fn largest_group(
    keys: &[Key],
    roots: &[(usize, usize)],
    links: &[(usize, usize)],
) -> Option<Vec<(Key, (usize, usize))>> {
    if links.len() < 2 {
        return None;
    }
    let between = |one: usize, other: usize| {
        let mut group: Vec<(Key, (usize, usize))> = Vec::new();
        for (key, roots) in keys.iter().zip(roots).filter(|(_, roots)| links.contains(roots)) {
            let is_same = key.relations == (one, other) || key.relations == (other, one);
            if is_same && group.iter().all(|(_, known)| known != roots) {
                group.push((*key, *roots));
            }
        }
        group
    };
    let groups = keys.iter().map(|key| between(key.relations.0, key.relations.1));
    groups.filter(|group| group.len() > 1).max_by_key(Vec::len)
}

/// Classes of columns that are equal, as a forest.
#[derive(Debug)]
pub(crate) struct Classes {
    parents: Vec<usize>,
}

impl Classes {
    fn new(columns: usize) -> Self {
        Self { parents: (0..columns).collect() }
    }

    /// Columns that are all different, without end.
    fn none() -> Self {
        Self { parents: Vec::new() }
    }

    fn root(&self, mut column: usize) -> usize {
        while let Some(parent) = self.parents.get(column).filter(|parent| **parent != column) {
            column = *parent;
        }
        column
    }

    fn roots(&self, columns: (usize, usize)) -> (usize, usize) {
        let (one, other) = (self.root(columns.0), self.root(columns.1));
        (one.min(other), one.max(other))
    }

    /// Whether the columns were not equal before.
    pub(crate) fn unite(&mut self, columns: (usize, usize)) -> bool {
        let (one, other) = self.roots(columns);
        if let Some(parent) = self.parents.get_mut(other) {
            *parent = one;
        }
        one != other
    }
}
