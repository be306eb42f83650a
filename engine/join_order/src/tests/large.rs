// SPDX-License-Identifier: Apache-2.0
//! Tests graphs of many relations: the search is bounded, and finds an order all the same.

use rstest::rstest;

use crate::{
    Column, Condition, CostModel, Join, Kind, Method, Plan, Query, RELATIONS_MAX, Relation,
    RelationSet, Tree, choose,
};

/// What each relation after the first is joined with.
#[derive(Debug, Clone, Copy)]
enum Shape {
    /// The one before.
    Chain,
    /// The first.
    Star,
    /// All before, which are equal to one another.
    Clique,
}

fn query(shape: Shape, count: usize) -> Query {
    // Larger ones first, which is a bad order.
    let rows = |place: usize| 1e6 * 0.8_f64.powi(i32::try_from(place).unwrap());
    let relations: Vec<Relation> = (0..count)
        .map(|place| Relation { rows: rows(place), rows_unfiltered: 1e6, row_bytes: 16.0 })
        .collect();
    // Two columns each: one to be joined with those before, and one for those after.
    let columns = 0..2 * count;
    let columns = columns.map(|place| Column { relation: place / 2, distinct: 1e6, range: None });
    let tree = (1..count).fold(Tree::Relation(0), |left, place| {
        let key = match shape {
            Shape::Chain => Condition::Equal(2 * place - 1, 2 * place),
            Shape::Star => Condition::Equal(1, 2 * place),
            Shape::Clique => Condition::Equal(2 * place - 2, 2 * place),
        };
        let right = Tree::Relation(place);
        Tree::Join(Box::new(Join { kind: Kind::Inner, left, right, conditions: vec![key] }))
    });
    Query { relations, columns: columns.collect(), tree }
}

#[rstest]
#[case::chain(Shape::Chain, 17, Method::Enumerated)]
#[case::long_chain(Shape::Chain, RELATIONS_MAX, Method::Greedy)]
#[case::clique(Shape::Clique, 17, Method::Greedy)]
#[case::largest_clique(Shape::Clique, RELATIONS_MAX, Method::Greedy)]
#[case::small_clique(Shape::Clique, 8, Method::Enumerated)]
fn order_of_many_relations_is_found_in_bounded_steps(
    #[case] shape: Shape,
    #[case] count: usize,
    #[case] method: Method,
) {
    let query = query(shape, count);
    let order = choose(&query, &CostModel::default()).unwrap().unwrap();
    assert_eq!(order.plan.relations(), RelationSet::below(count));
    // With keys the order of a clique matters little: those of the smallest reach all others.
    let without_keys = CostModel { keys_rows_max: 0.0, ..CostModel::default() };
    let order = choose(&query, &without_keys).unwrap().unwrap();
    assert_eq!(order.plan.relations(), RelationSet::below(count));
    assert_eq!(order.method, method);
    assert!(order.cost < order.original_cost, "{} of {}", order.cost, order.original_cost);
}

/// A star whose first relation has a column for each of the others.
fn star(count: usize) -> Query {
    let mut query = query(Shape::Star, count);
    query.columns.extend((1..count).map(|_| Column { relation: 0, distinct: 1e6, range: None }));
    let mut at = &mut query.tree;
    let mut place = count - 1;
    while let Tree::Join(join) = at {
        join.conditions = vec![Condition::Equal(2 * count + place - 1, 2 * place)];
        place -= 1;
        at = &mut join.left;
    }
    query
}

#[rstest]
#[case::of_twelve(12, Method::Enumerated)]
#[case::of_thirteen(13, Method::Greedy)]
#[case::largest(RELATIONS_MAX, Method::Greedy)]
fn star_is_enumerated_if_that_is_short(#[case] count: usize, #[case] method: Method) {
    let order = choose(&star(count), &CostModel::default()).unwrap().unwrap();
    assert_eq!((order.method, order.plan.relations()), (method, RelationSet::below(count)));
}

#[test]
fn large_star_starts_with_the_smallest_dimension() {
    let order = choose(&star(17), &CostModel::default()).unwrap().unwrap();
    assert_eq!(order.method, Method::Greedy);
    let mut at = &order.plan;
    let mut lowest = RelationSet::EMPTY;
    while let Plan::Join(join) = at {
        lowest = join.left.relations().union(join.right.relations());
        at = if matches!(join.left, Plan::Join(_)) { &join.left } else { &join.right };
    }
    assert_eq!(lowest, [0, 16].into_iter().collect());
}
