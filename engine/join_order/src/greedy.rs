// SPDX-License-Identifier: Apache-2.0
//! Joins what gives the fewest rows, again and again: greedy operator ordering (Fegaras, "A new
//! heuristic for optimizing large queries", DEXA 1998), for graphs that are too large to enumerate.

use crate::{
    set::RelationSet,
    table::{Entry, Table},
};

/// A pair of sets that can be joined.
struct Pair {
    one: RelationSet,
    other: RelationSet,
    entry: Entry,
}

/// Fills the table with one tree over all relations, if the order of joins does not lead to sets
/// that cannot be joined.
pub(crate) fn order(relations: usize, table: &mut Table) {
    let mut parts: Vec<RelationSet> = (0..relations).map(RelationSet::of).collect();
    let mut pairs: Vec<Pair> = Vec::new();
    for (place, one) in parts.iter().enumerate() {
        pairs.extend(parts[..place].iter().filter_map(|other| pair(table, *one, *other)));
    }
    let rows = |pair: &Pair| (pair.entry.estimate.rows, pair.entry.cost);
    let compare = |one: &Pair, other: &Pair| {
        let (one, other) = (rows(one), rows(other));
        one.0.total_cmp(&other.0).then(one.1.total_cmp(&other.1))
    };
    while let Some(best) = pairs.iter().min_by(|one, other| compare(one, other)) {
        let (one, other, entry) = (best.one, best.other, best.entry.clone());
        let both = one.union(other);
        table.offer(both, entry);
        parts.retain(|part| !part.intersects(both));
        pairs.retain(|pair| !pair.one.intersects(both) && !pair.other.intersects(both));
        pairs.extend(parts.iter().filter_map(|part| pair(table, both, *part)));
        parts.push(both);
    }
}

fn pair(table: &mut Table, one: RelationSet, other: RelationSet) -> Option<Pair> {
    let entry = table.join(one, other)?;
    Some(Pair { one, other, entry })
}
