// SPDX-License-Identifier: Apache-2.0
//! Tests that a tree has the estimates by which it was chosen.

use super::random::{ALL_KINDS, Random, query};
use crate::{
    Column, Condition, CostModel, Estimates, Join, Kind, Plan, Query, Relation, RelationSet, Tree,
    choose,
};

/// A plan as a tree that was written like that.
fn tree_of(plan: &Plan) -> Tree {
    match plan {
        Plan::Relation(relation) => Tree::Relation(*relation),
        Plan::Join(join) => Tree::Join(Box::new(Join {
            kind: join.kind,
            left: tree_of(&join.left),
            right: tree_of(&join.right),
            conditions: join.conditions.clone(),
        })),
    }
}

/// The sets of relations that a plan joins, with the rows that they are estimated to have.
fn joined(plan: &Plan) -> Vec<(RelationSet, f64)> {
    let Plan::Join(join) = plan else { return Vec::new() };
    let mut all = [joined(&join.left), joined(&join.right)].concat();
    all.push((plan.relations(), join.rows));
    all
}

/// How many joins of random queries are compared, and how many of them have another estimate in the
/// tree that was chosen.
fn compared(kinds: &[Kind]) -> (usize, usize) {
    let (mut all, mut different) = (0, 0);
    for seed in 0..300 {
        let mut random = Random(seed);
        let count = 2 + random.below(5);
        let made = query(&mut random, count, kinds);
        let Some(order) = choose(&made.query, &CostModel::default()).unwrap() else { continue };
        let chosen = Query { tree: tree_of(&order.plan), ..made.query.clone() };
        // No hash join has columns of the same input for a key, so such an order is not taken.
        let Ok(estimates) = Estimates::of(&chosen) else { continue };
        for (relations, expected) in joined(&order.plan) {
            let rows = estimates.rows(relations);
            let factor = (rows / expected).max(expected / rows);
            all += 1;
            different += usize::from(factor > 1.000_001);
        }
    }
    (all, different)
}

/// What is known of several keys depends on the joins where they meet, so few joins have another.
#[test]
fn chosen_tree_has_the_estimates_it_was_chosen_by() {
    for kinds in [&[Kind::Inner], ALL_KINDS] {
        let (all, different) = compared(kinds);
        assert!(all > 800, "only {all} joins of {kinds:?}");
        assert!(different * 20 < all, "{different} of {all} joins of {kinds:?}");
    }
}

#[test]
fn single_relation_has_its_rows_and_an_empty_one_has_one() {
    let mut made = query(&mut Random(1), 3, ALL_KINDS);
    made.query.relations[1].rows = 0.0;
    let estimates = Estimates::of(&made.query).unwrap();
    let expected = made.query.relations[0].rows.max(1.0);
    assert!((estimates.rows(RelationSet::of(0)) - expected).abs() < 1e-9);
    assert!((estimates.rows(RelationSet::of(1)) - 1.0).abs() < 1e-9);
}

/// `many` rows that each have a partner among `few`, of which every tenth is left.
fn star() -> Query {
    let relation =
        |rows: f64, rows_unfiltered: f64| Relation { rows, rows_unfiltered, row_bytes: 8.0 };
    let column = |relation: usize| Column { relation, distinct: 1000.0, range: None };
    Query {
        relations: vec![relation(1e6, 1e6), relation(100.0, 1000.0)],
        columns: vec![column(0), column(1)],
        tree: Tree::Join(Box::new(Join {
            kind: Kind::Inner,
            left: Tree::Relation(0),
            right: Tree::Relation(1),
            conditions: vec![Condition::Equal(0, 1)],
        })),
    }
}

#[test]
fn keys_of_a_filtered_relation_leave_its_share_of_the_other() {
    let query = star();
    let shares = Estimates::of(&query).unwrap().key_shares(&CostModel::default()).unwrap();
    // A tenth has a partner, and a tenth of the others is taken to pass all the same.
    assert!((shares[0] - 0.19).abs() < 1e-9, "{shares:?}");
    assert!((shares[1] - 1.0).abs() < 1e-9, "the build side is read before: {shares:?}");
}

#[test]
fn keys_leave_all_rows_of_the_preserved_side_of_an_outer_join() {
    let mut query = star();
    if let Tree::Join(join) = &mut query.tree {
        join.kind = Kind::LeftOuter;
    }
    let shares = Estimates::of(&query).unwrap().key_shares(&CostModel::default()).unwrap();
    assert!((shares[0] - 1.0).abs() < 1e-9, "{shares:?}");
}

/// Such a join returns no row of its probe side, but looks the keys of it up all the same.
#[test]
fn keys_of_the_preserved_side_of_a_semi_or_anti_join_leave_rows_with_a_partner() {
    for kind in [Kind::Semi, Kind::Anti] {
        let mut query = star();
        if let Tree::Join(join) = &mut query.tree {
            join.kind = kind;
            std::mem::swap(&mut join.left, &mut join.right);
        }
        let shares = Estimates::of(&query).unwrap().key_shares(&CostModel::default()).unwrap();
        assert!((shares[0] - 0.19).abs() < 1e-9, "{kind:?}: {shares:?}");
    }
}
