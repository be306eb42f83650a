// SPDX-License-Identifier: Apache-2.0
//! Chooses the order: enumeration while it is short, otherwise the greedy one, and the original
//! tree if nothing is clearly better.

use crate::{
    cost::CostModel,
    enumerate::{enumerate, is_short},
    graph::{Crossing, Graph},
    greedy,
    plan::Plan,
    query::{Error, Query},
    set::RelationSet,
    table::Table,
};

/// Steps of an enumeration, at most: the order of a graph that takes more is greedy. A star of 12
/// relations takes fewer, and some 20 ms, one of 13 more; a chain of 17 takes 2 ms.
pub const STEPS_MAX: usize = 20_000;

/// An order is taken if it costs at most this fraction of the original one. Were it much less, the
/// orders in which one and the same joins can be written would take different times.
const GAIN: f64 = 0.99;

/// How an order was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// All orders were enumerated.
    Enumerated,
    /// The graph is large, so the order is greedy.
    Greedy,
    /// The order is the original one; build sides and distributions are those that cost least.
    Original,
}

/// An order of joins.
#[derive(Debug, Clone, PartialEq)]
pub struct Order {
    /// The joins.
    pub plan: Plan,
    /// How they were found.
    pub method: Method,
    /// Their cost, in lookups of a small table.
    pub cost: f64,
    /// The cost of the original tree, with the better build side for each join.
    pub original_cost: f64,
}

/// Orders the joins of a query. Cross joins are in the order only if there is none without.
///
/// # Errors
/// If the query refers to what is not there.
pub fn choose(query: &Query, model: &CostModel) -> Result<Option<Order>, Error> {
    let graph = Graph::of(query)?;
    let all = RelationSet::below(query.relations.len());
    let mut original = Table::new(query, &graph, model, Crossing::Yes);
    // Not there if the tree has a join that is no hash join.
    let Some(original_cost) =
        original.follow(&query.tree).and_then(|all| original.get(all)).map(|entry| entry.cost)
    else {
        return Ok(None);
    };
    let crossings = [Crossing::No, Crossing::Yes];
    let needed = if graph.cross.is_empty() { &crossings[..1] } else { &crossings[..] };
    for crossing in needed {
        let (table, method) = best(query, &graph, model, *crossing);
        let Some(cost) = table.get(all).map(|entry| entry.cost) else { continue };
        if cost <= original_cost * GAIN
            && let Some(plan) = table.plan(all)
        {
            return Ok(Some(Order { plan, method, cost, original_cost }));
        }
        break;
    }
    let order = |plan| Order { plan, method: Method::Original, cost: original_cost, original_cost };
    Ok(original.plan(all).map(order))
}

/// The best trees that are found in time.
fn best<'a>(
    query: &'a Query,
    graph: &'a Graph,
    model: &'a CostModel,
    crossing: Crossing,
) -> (Table<'a>, Method) {
    let count = query.relations.len();
    let mut table = Table::new(query, graph, model, crossing);
    if is_short(graph, count, crossing, STEPS_MAX) {
        enumerate(graph, count, &mut table);
        return (table, Method::Enumerated);
    }
    greedy::order(count, &mut table);
    (table, Method::Greedy)
}
