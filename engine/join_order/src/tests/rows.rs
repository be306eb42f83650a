// SPDX-License-Identifier: Apache-2.0
//! Evaluates every tree that the rules allow over small relations with NULLs and duplicates, and
//! compares its rows with those of the original tree.

use super::random::{ALL_KINDS, COLUMNS, Made, Other, Random, query, trees};
use crate::{
    Condition, CostModel, Kind, Plan, Query, RelationSet, Tree,
    graph::{Crossing, Graph},
};

/// A value for each column of the query; NULL also for columns that are not there.
type Row = Vec<Option<i64>>;

/// The rows of each relation.
fn data(random: &mut Random, query: &Query) -> Vec<Vec<Row>> {
    let width = query.columns.len();
    let relation = |relation: usize, random: &mut Random| {
        let row = |random: &mut Random| {
            let mut row = vec![None; width];
            for column in 0..COLUMNS {
                row[relation * COLUMNS + column] = random.pick(&[None, Some(0), Some(1), Some(2)]);
            }
            row
        };
        (0..random.below(5)).map(|_| row(random)).collect()
    };
    (0..query.relations.len()).map(|place| relation(place, random)).collect()
}

fn is_true(condition: &Condition, others: &[Other], row: &Row) -> bool {
    let both = |one: usize, two: usize| row[one].zip(row[two]);
    match condition {
        Condition::Equal(one, two) => both(*one, *two).is_some_and(|(one, two)| one == two),
        Condition::Other { id, .. } => match others[*id] {
            Other::Less(one, two) => both(one, two).is_some_and(|(one, two)| one < two),
            Other::NotDistinct(one, two) => row[one] == row[two],
            Other::Sum(one, two, three) => {
                both(one, two).zip(row[three]).is_some_and(|((one, two), three)| one + two == three)
            }
        },
    }
}

/// What a join of a kind means.
fn join(
    kind: Kind,
    left: &[Row],
    right: &[Row],
    conditions: &[Condition],
    others: &[Other],
) -> Vec<Row> {
    let together = |one: &Row, two: &Row| -> Row {
        one.iter().zip(two).map(|(one, two)| one.or(*two)).collect()
    };
    let mut rows = Vec::new();
    let mut has_partner = vec![false; right.len()];
    for one in left {
        let pairs = right.iter().enumerate().map(|(place, two)| (place, together(one, two)));
        let matches = |(_, row): &(usize, Row)| {
            conditions.iter().all(|condition| is_true(condition, others, row))
        };
        let pairs: Vec<(usize, Row)> = pairs.filter(matches).collect();
        for (place, _) in &pairs {
            has_partner[*place] = true;
        }
        match kind {
            Kind::Semi if !pairs.is_empty() => rows.push(one.clone()),
            Kind::Anti | Kind::LeftOuter | Kind::FullOuter if pairs.is_empty() => {
                rows.push(one.clone());
            }
            Kind::Semi | Kind::Anti => {}
            Kind::Inner | Kind::LeftOuter | Kind::FullOuter => {
                rows.extend(pairs.into_iter().map(|(_, row)| row));
            }
        }
    }
    if kind == Kind::FullOuter {
        let alone = right.iter().zip(&has_partner).filter(|(_, has_partner)| !**has_partner);
        rows.extend(alone.map(|(row, _)| row.clone()));
    }
    rows
}

fn of_tree(tree: &Tree, data: &[Vec<Row>], others: &[Other]) -> Vec<Row> {
    match tree {
        Tree::Relation(relation) => data[*relation].clone(),
        Tree::Join(it) => {
            let (left, right) = (of_tree(&it.left, data, others), of_tree(&it.right, data, others));
            join(it.kind, &left, &right, &it.conditions, others)
        }
    }
}

fn of_plan(plan: &Plan, data: &[Vec<Row>], others: &[Other]) -> Vec<Row> {
    match plan {
        Plan::Relation(relation) => data[*relation].clone(),
        Plan::Join(it) => {
            let (left, right) = (of_plan(&it.left, data, others), of_plan(&it.right, data, others));
            join(it.kind, &left, &right, &it.conditions, others)
        }
    }
}

fn sorted(mut rows: Vec<Row>) -> Vec<Row> {
    rows.sort();
    rows
}

/// Number of trees that were compared, the original ones included.
fn check(seed: u64, count: usize, kinds: &[Kind]) -> usize {
    let mut random = Random(seed);
    let Made { query, others } = query(&mut random, count, kinds);
    let graph = Graph::of(&query).unwrap();
    let model = CostModel::default();
    let mut table = super::random::brute(&query, &graph, &model, Crossing::No);
    let plans = trees(&mut table, RelationSet::below(count));
    let is_there = table.follow(&query.tree).is_some();
    assert!(is_there, "the original tree is allowed, seed {seed}: {query:?}");
    for _ in 0..6 {
        let data = data(&mut random, &query);
        let expected = sorted(of_tree(&query.tree, &data, &others));
        for plan in &plans {
            let rows = sorted(of_plan(plan, &data, &others));
            assert_eq!(
                rows, expected,
                "seed {seed}\n{:#?}\n{plan:#?}\n{others:?}\n{data:?}",
                query.tree
            );
        }
    }
    plans.len()
}

#[test]
fn every_tree_that_the_rules_allow_returns_the_rows_of_the_original() {
    let mut reordered = 0;
    for count in 2..=5 {
        for seed in 0..400 {
            let trees = check(seed, count, ALL_KINDS);
            reordered += usize::from(trees > 1);
        }
    }
    // The rules allow something at all.
    assert!(reordered > 600, "{reordered} queries with more than one tree");
}

#[test]
fn every_tree_of_inner_and_outer_joins_returns_the_rows_of_the_original() {
    let kinds = [Kind::Inner, Kind::LeftOuter];
    let trees: usize = (0..400).map(|seed| check(seed, 5, &kinds)).sum();
    assert!(trees > 2_000, "{trees}");
}

#[test]
fn every_tree_of_full_outer_joins_returns_the_rows_of_the_original() {
    let kinds = [Kind::FullOuter, Kind::LeftOuter];
    let trees: usize = (0..400).map(|seed| check(seed, 4, &kinds)).sum();
    assert!(trees > 600, "{trees}");
}
