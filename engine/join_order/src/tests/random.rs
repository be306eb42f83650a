// SPDX-License-Identifier: Apache-2.0
//! Makes random queries, and all trees over them that the rules allow.

use crate::{
    Column, Condition, CostModel, Distribution, Join, Kind, Plan, Query, Relation, RelationSet,
    Tree,
    graph::{Crossing, Graph},
    table::Table,
};

/// Numbers that a seed determines: splitmix64.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % count as u64).unwrap()
    }

    pub(super) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// Columns of each relation; column `c` of relation `r` is number `r * COLUMNS + c`.
pub(super) const COLUMNS: usize = 2;

/// A condition that is no equality.
#[derive(Debug, Clone)]
pub(super) enum Other {
    /// The first column is less than the second.
    Less(usize, usize),
    /// Both are equal or both are NULL.
    NotDistinct(usize, usize),
    /// The first and the second are together the third.
    Sum(usize, usize, usize),
}

/// A query with the meaning of its conditions that are no equalities.
#[derive(Debug)]
pub(super) struct Made {
    pub(super) query: Query,
    pub(super) others: Vec<Other>,
}

/// The kinds that a random query may have.
pub(super) const ALL_KINDS: &[Kind] =
    &[Kind::Inner, Kind::Inner, Kind::LeftOuter, Kind::FullOuter, Kind::Semi, Kind::Anti];

/// A query over so many relations.
pub(super) fn query(random: &mut Random, count: usize, kinds: &[Kind]) -> Made {
    let mut relations = Vec::new();
    let mut columns = Vec::new();
    for relation in 0..count {
        let rows_unfiltered = 10_f64.powi(i32::try_from(random.below(7)).unwrap());
        let rows = rows_unfiltered / f64::from(u32::try_from(1 + random.below(20)).unwrap());
        relations.push(Relation { rows, rows_unfiltered, row_bytes: 8.0 * COLUMNS as f64 });
        for _ in 0..COLUMNS {
            let distinct = rows_unfiltered / f64::from(u32::try_from(1 + random.below(9)).unwrap());
            let range = (random.below(2) == 0).then_some((0.0, distinct));
            columns.push(Column { relation, distinct, range });
        }
    }
    let mut builder = Builder { random, kinds, others: Vec::new() };
    let order: Vec<usize> = (0..count).collect();
    let (tree, _) = builder.tree(&order);
    let others = builder.others;
    Made { query: Query { relations, columns, tree }, others }
}

struct Builder<'a> {
    random: &'a mut Random,
    kinds: &'a [Kind],
    others: Vec<Other>,
}

impl Builder<'_> {
    /// A tree over the relations, and those whose columns it has.
    fn tree(&mut self, relations: &[usize]) -> (Tree, Vec<usize>) {
        if let [relation] = relations {
            return (Tree::Relation(*relation), vec![*relation]);
        }
        let cut = 1 + self.random.below(relations.len() - 1);
        let (left, mut visible) = self.tree(&relations[..cut]);
        let (right, other) = self.tree(&relations[cut..]);
        let kind = self.random.pick(self.kinds);
        let mut conditions = Vec::new();
        // An inner join needs a key; of the other kinds some have none, and may not reject NULL.
        let keys = match (kind, self.random.below(3)) {
            (Kind::Inner, 0) | (_, 1) => 1,
            (_, 0) => 0,
            _ => 2,
        };
        for _ in 0..keys {
            conditions.push(Condition::Equal(self.column(&visible), self.column(&other)));
        }
        if keys == 0 || self.random.below(3) == 0 {
            let condition = self.other(&visible, &other);
            conditions.push(condition);
        }
        if matches!(kind, Kind::Inner | Kind::LeftOuter | Kind::FullOuter) {
            visible.extend(other);
        }
        (Tree::Join(Box::new(Join { kind, left, right, conditions })), visible)
    }

    fn column(&mut self, relations: &[usize]) -> usize {
        self.random.pick(relations) * COLUMNS + self.random.below(COLUMNS)
    }

    fn other(&mut self, left: &[usize], right: &[usize]) -> Condition {
        let (one, two) = (self.column(left), self.column(right));
        let (other, used) = match self.random.below(3) {
            0 => (Other::Less(one, two), vec![one, two]),
            1 => (Other::NotDistinct(one, two), vec![one, two]),
            _ => {
                let three = self.column(left);
                (Other::Sum(one, three, two), vec![one, three, two])
            }
        };
        let relations: RelationSet = used.iter().map(|column| column / COLUMNS).collect();
        let rejects_nulls = match other {
            Other::NotDistinct(..) => RelationSet::EMPTY,
            Other::Less(..) | Other::Sum(..) => relations,
        };
        self.others.push(other);
        let id = self.others.len() - 1;
        Condition::Other { id, relations, rejects_nulls, selectivity: 0.4 }
    }
}

/// The best trees over all sets, each of all pairs of sets that can be joined.
pub(super) fn brute<'a>(
    query: &'a Query,
    graph: &'a Graph,
    model: &'a CostModel,
    crossing: Crossing,
) -> Table<'a> {
    let mut table = Table::new(query, graph, model, crossing);
    let all = RelationSet::below(query.relations.len());
    for set in all.subsets() {
        for left in set.subsets() {
            if let Some(entry) = table.join(left, set.without(left)).filter(|_| left != set) {
                table.offer(set, entry);
            }
        }
    }
    table
}

/// All trees over a set.
pub(super) fn trees(table: &mut Table, set: RelationSet) -> Vec<Plan> {
    if set.len() == 1 {
        return set.iter().map(Plan::Relation).collect();
    }
    let mut found = Vec::new();
    for left in set.subsets().filter(|left| left.contains(set.iter().next().unwrap())) {
        let Some(entry) = table.join(left, set.without(left)).filter(|_| left != set) else {
            continue;
        };
        let last = entry.last.as_ref().unwrap();
        let (lefts, rights) = (trees(table, last.left), trees(table, last.right));
        for left in &lefts {
            for right in &rights {
                let inputs = [left.clone(), right.clone()];
                found.push(table.assemble(&entry, last, Distribution::Collected, inputs));
            }
        }
    }
    found
}
