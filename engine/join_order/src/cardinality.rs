// SPDX-License-Identifier: Apache-2.0
//! Estimates the rows of a set of relations that is joined.
//!
//! The estimate is of the set, not of a tree over it: the joins of the original tree are followed,
//! as far as their relations are in the set. So all trees over a set agree on it.
//!
//! An equality of columns with `m` and `n` different values is true for one pair of rows in
//! `max(m, n)` (System R), counted over the range of values that both have; values of a filtered
//! relation are assumed to be in that range. The keys of inner joins that follow one another are
//! taken together, whichever join has them. Equalities that follow from others count once. Of
//! several keys between the same two relations that are together unique on one side, that side's
//! rows count; others are damped, each by one more square root, for columns are rarely independent.
//!
//! Numbers are never NULL here: that columns have NULLs is not known.

use std::{cmp::Reverse, collections::BTreeMap};

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

    /// A share of the rows.
    pub(crate) fn times(self, share: f64) -> Self {
        Self { rows: self.rows * share, ..self }
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

/// Relations that inner joins join, before the keys are applied.
#[derive(Debug)]
struct Product {
    /// The logarithm of its rows, which many relations make too large a number.
    rows_ln: f64,
    row_bytes: f64,
    /// The keys of all these joins.
    keys: Vec<Key>,
}

impl Product {
    fn of(relation: Estimate) -> Self {
        Self { rows_ln: relation.rows.ln(), row_bytes: relation.row_bytes, keys: Vec::new() }
    }

    fn joined(mut self, other: Self, keys: Vec<Key>, others: f64) -> Self {
        self.rows_ln += other.rows_ln + others.ln();
        self.row_bytes += other.row_bytes;
        self.keys.extend(other.keys.into_iter().chain(keys));
        self
    }
}

impl<'a> Cardinality<'a> {
    pub(crate) fn new(query: &'a Query, graph: &'a Graph) -> Self {
        Self { query, graph }
    }

    /// The relation of a column.
    pub(crate) fn relation_of(&self, column: usize) -> usize {
        self.query.columns[column].relation
    }

    /// All columns, none equal to another.
    pub(crate) fn classes(&self) -> Classes {
        Classes::new(self.query.columns.len())
    }

    /// The estimate of the relations, joined by all conditions among them.
    pub(crate) fn estimate(&self, relations: RelationSet) -> Estimate {
        let mut results: Vec<Option<Product>> = Vec::with_capacity(self.graph.steps.len());
        let mut classes = self.classes();
        for step in &self.graph.steps {
            let result = match step {
                Step::Relation(relation) if relations.contains(*relation) => {
                    let known = &self.query.relations[*relation];
                    Some(Product::of(Estimate { rows: known.rows, row_bytes: known.row_bytes }))
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
        let none = || Product::of(Estimate { rows: 0.0, row_bytes: 0.0 });
        let found = self.of_product(results.pop().flatten().unwrap_or_else(none), &mut classes);
        Estimate { rows: found.rows.max(1.0), ..found }
    }

    /// The rows of a product for which its keys are equal.
    fn of_product(&self, product: Product, classes: &mut Classes) -> Estimate {
        let rows = product.rows_ln + self.keys(product.keys, classes).ln();
        Estimate { rows: rows.exp(), row_bytes: product.row_bytes }
    }

    fn joined(
        &self,
        place: usize,
        relations: RelationSet,
        left: Product,
        right: Product,
        classes: &mut Classes,
    ) -> Product {
        let operator = &self.graph.operators[place];
        let (keys, others) = self.conditions(place, relations);
        if operator.kind == Kind::Inner {
            return left.joined(right, keys, others);
        }
        let (left, right) = (self.of_product(left, classes), self.of_product(right, classes));
        let product = left.rows * right.rows;
        let width = left.row_bytes + right.row_bytes;
        let is_reached = operator.referenced.is_subset_of(relations);
        Product::of(match operator.kind {
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
            Kind::Inner => left,
        })
    }

    /// The keys of a join among the relations, and the selectivity of its other conditions.
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

    /// The selectivity of keys. Those that others imply count once; of the others those are chosen
    /// first that are most between the same two relations, since they are taken together.
    fn keys(&self, mut keys: Vec<Key>, classes: &mut Classes) -> f64 {
        if let [key] = keys.as_slice() {
            return if classes.unite(key.columns) { key.selectivity } else { 1.0 };
        }
        keys.sort_by(|one, other| {
            let by_selectivity = other.selectivity.total_cmp(&one.selectivity);
            by_selectivity.then(ordered(one.columns).cmp(&ordered(other.columns)))
        });
        let mut pairs: BTreeMap<(usize, usize), Vec<Key>> = BTreeMap::new();
        for key in &keys {
            pairs.entry(ordered(key.relations)).or_default().push(*key);
        }
        let mut pairs: Vec<Vec<Key>> = pairs.into_values().filter(|keys| keys.len() > 1).collect();
        // Of pairs with as many the one of the lower relations.
        pairs.sort_by_key(|keys| Reverse(keys.len()));
        let mut selectivity = 1.0;
        for mut keys in pairs {
            keys.retain(|key| classes.unite(key.columns));
            selectivity *= match keys.as_slice() {
                [] => 1.0,
                [key] => key.selectivity,
                several => self.together(several),
            };
        }
        keys.retain(|key| classes.unite(key.columns));
        selectivity * keys.iter().map(|key| key.selectivity).product::<f64>()
    }

    /// The selectivity of several keys between the same two relations.
    fn together(&self, group: &[Key]) -> f64 {
        let damped = damped(group.iter().map(|key| key.selectivity));
        let side = |relation: usize| {
            let of_key = |key: &Key| match key.relations.0 == relation {
                true => key.columns.0,
                false => key.columns.1,
            };
            let known = &self.query.relations[relation];
            let rows = known.rows_unfiltered.max(known.rows).max(1.0);
            let distinct = |key: &Key| self.query.columns[of_key(key)].distinct.clamp(1.0, rows);
            let combinations: f64 = group.iter().map(distinct).product();
            (combinations >= rows).then_some(1.0 / rows)
        };
        let Some(first) = group.first() else { return 1.0 };
        let unique = [side(first.relations.0), side(first.relations.1)];
        // What is the key of both is that of the smaller one, to which the larger refers.
        let unique = unique
            .into_iter()
            .flatten()
            .fold(None, |most: Option<f64>, it| Some(most.map_or(it, |most| most.max(it))));
        unique.unwrap_or(damped)
    }

    /// The fraction of the rows of some relations that have a partner among `other_rows` of others,
    /// if these columns have to be equal.
    pub(crate) fn with_partner(
        &self,
        relations: RelationSet,
        equal: &[(usize, usize)],
        other_rows: f64,
    ) -> f64 {
        let keys = equal.iter().map(|(one, other)| Key {
            columns: (*one, *other),
            relations: (self.relation_of(*one), self.relation_of(*other)),
            selectivity: self.equality(*one, *other),
        });
        self.matching(relations, &keys.collect::<Vec<_>>(), 1.0, other_rows).clamp(0.0, 1.0)
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

fn ordered(columns: (usize, usize)) -> (usize, usize) {
    (columns.0.min(columns.1), columns.0.max(columns.1))
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
        ordered((one, other))
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
