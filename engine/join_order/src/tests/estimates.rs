// SPDX-License-Identifier: Apache-2.0
//! Tests that a tree has the estimates by which it was chosen.

use super::random::{ALL_KINDS, Random, query};
use crate::{CostModel, Estimates, Join, Kind, Plan, Query, RelationSet, Tree, choose};

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
