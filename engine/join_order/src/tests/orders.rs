// SPDX-License-Identifier: Apache-2.0
//! Tests which order is chosen: the cheapest of all there are, and the plausible one of known
//! queries.

use rstest::rstest;

use super::random::{ALL_KINDS, Random, brute, query};
use crate::{
    Column, Condition, CostModel, Join, Kind, Method, Order, Plan, Query, Relation, RelationSet,
    Side, Tree, choose,
    graph::{Crossing, Graph},
    table::Table,
};

/// Makes queries by the names of tables.
#[derive(Default)]
struct Names {
    names: Vec<&'static str>,
    relations: Vec<Relation>,
    columns: Vec<Column>,
}

impl Names {
    fn table(&mut self, name: &'static str, rows: f64, rows_unfiltered: f64) -> Tree {
        self.names.push(name);
        self.relations.push(Relation { rows, rows_unfiltered, row_bytes: 20.0 });
        Tree::Relation(self.names.len() - 1)
    }

    fn column(&mut self, table: &str, distinct: f64) -> usize {
        let relation = self.names.iter().position(|name| *name == table).unwrap();
        self.columns.push(Column { relation, distinct, range: None });
        self.columns.len() - 1
    }

    fn query(&self, tree: Tree) -> Query {
        Query { relations: self.relations.clone(), columns: self.columns.clone(), tree }
    }

    /// A plan as text; the build side is in brackets.
    fn shown(&self, plan: &Plan) -> String {
        match plan {
            Plan::Relation(relation) => self.names[*relation].to_owned(),
            Plan::Join(join) => {
                let (mut left, mut right) = (self.shown(&join.left), self.shown(&join.right));
                let built = match join.build {
                    Side::Left => &mut left,
                    Side::Right => &mut right,
                };
                *built = format!("[{built}]");
                format!("({left} {:?} {right})", join.kind)
            }
        }
    }
}

fn join(kind: Kind, left: Tree, right: Tree, keys: &[(usize, usize)]) -> Tree {
    let conditions = keys.iter().map(|(one, two)| Condition::Equal(*one, *two)).collect();
    Tree::Join(Box::new(Join { kind, left, right, conditions }))
}

fn chosen(query: &Query) -> Order {
    choose(query, &CostModel::default()).unwrap().unwrap()
}

/// The estimate of all relations.
fn rows(query: &Query) -> f64 {
    match chosen(query).plan {
        Plan::Join(join) => join.rows,
        Plan::Relation(_) => panic!("a join"),
    }
}

#[test]
fn order_is_the_cheapest_of_all() {
    let model = CostModel::default();
    for (count, seeds) in [(2, 50), (3, 300), (5, 300), (7, 60)] {
        for seed in 0..seeds {
            let query = query(&mut Random(seed), count, ALL_KINDS).query;
            let graph = Graph::of(&query).unwrap();
            let all = RelationSet::below(count);
            let table = brute(&query, &graph, &model, Crossing::No);
            let least = table.get(all).unwrap().cost;
            let mut found = Table::new(&query, &graph, &model, Crossing::No);
            crate::enumerate::enumerate(&graph, count, &mut found);
            let cost = found.get(all).unwrap().cost;
            assert!((cost - least).abs() <= least * 1e-9, "seed {seed}: {cost}, not {least}");
        }
    }
}

#[test]
fn every_condition_is_applied_once() {
    for seed in 0..300 {
        let made = query(&mut Random(seed), 6, ALL_KINDS);
        let plan = chosen(&made.query).plan;
        let mut ids = Vec::new();
        let mut stack = vec![&plan];
        while let Some(Plan::Join(join)) = stack.pop() {
            for condition in &join.conditions {
                match condition {
                    Condition::Other { id, .. } => ids.push(*id),
                    Condition::Equal(one, two) => {
                        let of = |column: usize| made.query.columns[column].relation;
                        let sides = (join.left.relations(), join.right.relations());
                        let links = |one: usize, two: usize| {
                            sides.0.contains(of(one)) && sides.1.contains(of(two))
                        };
                        assert!(links(*one, *two) || links(*two, *one), "seed {seed}");
                    }
                }
            }
            stack.extend(
                [&join.left, &join.right].into_iter().filter(|it| matches!(it, Plan::Join(_))),
            );
        }
        ids.sort_unstable();
        assert_eq!(ids, (0..made.others.len()).collect::<Vec<_>>(), "seed {seed}");
    }
}

/// TPC-H Q18: few orders have so many lines that they pass the subquery.
#[test]
fn selective_semi_join_is_done_first() {
    let mut names = Names::default();
    let [customer, orders, lineitem, large] = [
        ("customer", 150_000.0, 150_000.0),
        ("orders", 1.5e6, 1.5e6),
        ("lineitem", 6e6, 6e6),
        ("large", 600.0, 1.5e6),
    ]
    .map(|(name, rows, all)| names.table(name, rows, all));
    let c_custkey = names.column("customer", 150_000.0);
    let o_custkey = names.column("orders", 100_000.0);
    let o_orderkey = names.column("orders", 1.5e6);
    let l_orderkey = names.column("lineitem", 1.5e6);
    let key = names.column("large", 1.5e6);
    let tree = join(Kind::Inner, customer, orders, &[(c_custkey, o_custkey)]);
    let tree = join(Kind::Inner, tree, lineitem, &[(o_orderkey, l_orderkey)]);
    let tree = join(Kind::Semi, tree, large, &[(o_orderkey, key)]);
    let order = chosen(&names.query(tree));
    assert_eq!(
        names.shown(&order.plan),
        "([(customer Inner [(orders Semi [large])])] Inner lineitem)"
    );
    assert!(order.cost < order.original_cost / 2.0, "{order:?}");
}

/// A filtered dimension is joined with the facts before the one that keeps all of them.
#[test]
fn bad_order_of_a_star_is_turned() {
    let mut names = Names::default();
    let sales = names.table("sales", 1e7, 1e7);
    let item = names.table("item", 1e5, 1e5);
    let store = names.table("store", 2.0, 200.0);
    let (s_item, s_store) = (names.column("sales", 1e5), names.column("sales", 200.0));
    let (i_item, st_store) = (names.column("item", 1e5), names.column("store", 200.0));
    let tree = join(Kind::Inner, sales, item, &[(s_item, i_item)]);
    let tree = join(Kind::Inner, tree, store, &[(s_store, st_store)]);
    let order = chosen(&names.query(tree));
    assert_eq!(order.method, Method::Enumerated);
    assert_eq!(names.shown(&order.plan), "((sales Inner [store]) Inner [item])");
}

/// `few` is joined with `orders`, of which the join below builds its table.
#[test]
fn keys_of_a_join_make_the_build_sides_below_cheaper() {
    let mut names = Names::default();
    let [few, orders, lines] = [("few", 10.0, 1e3), ("orders", 1e6, 1e6), ("lines", 4e6, 4e6)]
        .map(|(name, rows, all)| names.table(name, rows, all));
    let (of_few, to_few) = (names.column("few", 1e3), names.column("orders", 1e3));
    let (of_orders, to_orders) = (names.column("orders", 1e6), names.column("lines", 1e6));
    let tree = join(Kind::Inner, orders, lines, &[(of_orders, to_orders)]);
    let query = names.query(join(Kind::Inner, few, tree, &[(of_few, to_few)]));
    let cost = |keys_rows_max| {
        let model = CostModel { keys_rows_max, ..CostModel::default() };
        choose(&query, &model).unwrap().unwrap().original_cost
    };
    let (with, without) = (cost(CostModel::default().keys_rows_max), cost(0.0));
    // A tenth of the rows without a partner passes.
    assert!(with < without / 8.0, "{with} of {without}");
}

#[test]
fn columns_that_are_equal_to_a_third_are_joined_with_one_another() {
    let mut names = Names::default();
    let [a, b, c] =
        [("a", 1e6), ("b", 1e6), ("c", 10.0)].map(|(name, rows)| names.table(name, rows, 1e6));
    let [of_a, of_b, of_c] = ["a", "b", "c"].map(|name| names.column(name, 1e6));
    // Not c = a, which follows.
    let tree = join(Kind::Inner, a, b, &[(of_a, of_b)]);
    let tree = join(Kind::Inner, tree, c, &[(of_b, of_c)]);
    let query = names.query(tree);
    let graph = Graph::of(&query).unwrap();
    assert_eq!(graph.edges.len(), 3);
    assert!((rows(&query) - 10.0).abs() < 1e-6, "an equality that follows counts once");
    let plan = chosen(&query).plan;
    let mut keys = 0;
    let mut at = &plan;
    while let Plan::Join(join) = at {
        keys += join.conditions.len();
        at = if matches!(join.left, Plan::Join(_)) { &join.left } else { &join.right };
    }
    assert_eq!(keys, 2, "an equality that follows is not applied: {plan:?}");
}

/// Rows of lineitem refer to partsupp by two columns, which are its key together.
#[test]
fn two_columns_that_are_a_key_together_select_one_row() {
    let mut names = Names::default();
    let lineitem = names.table("lineitem", 6e6, 6e6);
    let partsupp = names.table("partsupp", 8e5, 8e5);
    let keys = [
        (names.column("lineitem", 2e5), names.column("partsupp", 2e5)),
        (names.column("lineitem", 1e4), names.column("partsupp", 1e4)),
    ];
    let query = names.query(join(Kind::Inner, lineitem, partsupp, &keys));
    assert!((rows(&query) / 6e6 - 1.0).abs() < 1e-6, "{}", rows(&query));
}

#[test]
fn several_columns_that_are_no_key_are_damped() {
    let mut names = Names::default();
    let (one, two) = (names.table("one", 1e6, 1e6), names.table("two", 1e6, 1e6));
    let keys = [
        (names.column("one", 100.0), names.column("two", 100.0)),
        (names.column("one", 100.0), names.column("two", 100.0)),
    ];
    let query = names.query(join(Kind::Inner, one, two, &keys));
    // 1/100 and its root.
    assert!((rows(&query) / 1e9 - 1.0).abs() < 1e-6, "{}", rows(&query));
}

/// Days of two centuries, of which the facts have five years, and one year is asked for.
#[test]
fn filtered_values_are_in_the_range_that_both_have() {
    let mut names = Names::default();
    let (sales, days) = (names.table("sales", 1e6, 1e6), names.table("days", 365.0, 73_049.0));
    let (s_day, d_day) = (names.column("sales", 1823.0), names.column("days", 73_049.0));
    names.columns[s_day].range = Some((50_000.0, 51_825.0));
    names.columns[d_day].range = Some((1.0, 73_049.0));
    let query = names.query(join(Kind::Inner, sales, days, &[(s_day, d_day)]));
    let rows = rows(&query);
    assert!((1.8e5..2.2e5).contains(&rows), "a fifth: {rows}");
}

#[test]
fn anti_join_keeps_rows_without_a_partner() {
    let mut names = Names::default();
    let (customer, orders) =
        (names.table("customer", 150_000.0, 150_000.0), names.table("orders", 1.5e6, 1.5e6));
    let keys = [(names.column("customer", 150_000.0), names.column("orders", 100_000.0))];
    let query = names.query(join(Kind::Anti, customer, orders, &keys));
    assert!((rows(&query) - 50_000.0).abs() < 1.0, "{}", rows(&query));
}

/// `a` and `b` are written side by side, and only `c` connects them.
fn crossed(connects: bool) -> (Names, Query) {
    let mut names = Names::default();
    let [a, b, c] = ["a", "b", "c"].map(|name| names.table(name, 10.0, 10.0));
    let (of_a, of_b) = (names.column("a", 10.0), names.column("b", 10.0));
    let (to_a, to_b) = (names.column("c", 10.0), names.column("c", 10.0));
    let tree = join(Kind::Inner, a, b, &[]);
    let keys: &[_] = if connects { &[(of_a, to_a), (of_b, to_b)] } else { &[(of_a, to_a)] };
    let tree = join(Kind::Inner, tree, c, keys);
    let query = names.query(tree);
    (names, query)
}

fn cross_joins(plan: &Plan) -> usize {
    match plan {
        Plan::Relation(_) => 0,
        Plan::Join(join) => {
            usize::from(join.conditions.is_empty())
                + cross_joins(&join.left)
                + cross_joins(&join.right)
        }
    }
}

#[rstest]
#[case::connected(true, 0)]
#[case::not_connected(false, 1)]
fn cross_join_is_there_if_nothing_connects(#[case] connects: bool, #[case] expected: usize) {
    let (names, mut query) = crossed(connects);
    // So that the original order is not as good.
    query.relations[0].rows = 1e4;
    query.relations[1].rows = 1e4;
    let order = chosen(&query);
    assert_eq!(cross_joins(&order.plan), expected, "{}", names.shown(&order.plan));
}

#[test]
fn join_without_gain_stays_as_it_was_written() {
    let mut names = Names::default();
    let [a, b, c] = ["a", "b", "c"].map(|name| names.table(name, 100.0, 100.0));
    let [of_a, of_b, of_c] = ["a", "b", "c"].map(|name| names.column(name, 100.0));
    let tree = join(Kind::Inner, a, b, &[(of_a, of_b)]);
    let order = chosen(&names.query(join(Kind::Inner, tree, c, &[(of_b, of_c)])));
    assert_eq!(order.method, Method::Original);
    assert!(names.shown(&order.plan).contains("Inner"));
}

#[rstest]
#[case::twice(|query: &mut Query| query.tree = join(
    Kind::Inner, Tree::Relation(0), Tree::Relation(0), &[]))]
#[case::missing(|query: &mut Query| query.tree = Tree::Relation(0))]
#[case::unknown_relation(|query: &mut Query| query.tree = Tree::Relation(7))]
#[case::unknown_column(|query: &mut Query| query.columns[0].relation = 9)]
#[case::unknown_key(|query: &mut Query| query.columns.clear())]
#[case::key_of_one_side(|query: &mut Query| query.columns[2].relation = 0)]
#[case::too_many(|query: &mut Query| query.relations = vec![query.relations[0]; 65])]
fn query_that_refers_to_what_is_not_there_is_refused(#[case] damage: fn(&mut Query)) {
    let (_, mut query) = crossed(true);
    assert!(choose(&query, &CostModel::default()).is_ok());
    damage(&mut query);
    let refused = choose(&query, &CostModel::default());
    assert!(refused.is_err(), "{refused:?}");
}
