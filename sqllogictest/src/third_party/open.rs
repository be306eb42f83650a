// SPDX-License-Identifier: Apache-2.0
//! Determines what a query leaves open: which rows, and in which order.
//!
//! A query that ends with ORDER BY says no more than in which order the keys stand, and one that
//! ends with LIMIT no more than how many rows there are: two right answers may differ. Whether the
//! query leaves a difference open is not guessed. [`Open`] runs the query without its LIMIT and
//! with its keys beside its rows, and an answer is explained if each of its rows is one of those
//! that have the key of its place.
//!
//! Only the end of a query is looked at. What a LIMIT within it leaves open is not explained.

use std::{collections::HashMap, sync::Arc};

use nearscan::{
    Engine,
    arrow::datatypes::DataType,
    datafusion::{
        common::{Column, Result, tree_node::TreeNodeRecursion},
        logical_expr::{
            Distinct, Expr, ExprSchemable, FetchType, Limit, LogicalPlan, LogicalPlanBuilder,
            SkipType, Sort, SortExpr, utils::find_aggregate_exprs,
        },
    },
};

use super::{
    answer::{Answer, Cell, Precision, Rows, cells},
    value::Value,
};

/// Aggregates that give one of the values that they are given, whatever the order of the rows.
const CHOOSING: &[&str] = &["count", "max", "min"];

/// The promises of a query about its result.
#[derive(Debug)]
pub struct Promise {
    /// Whether its rows have an order.
    pub is_sorted: bool,
    /// The precision of its floating-point numbers.
    pub precision: Precision,
    /// The end of the query, if it leaves something open.
    pub open: Option<Open>,
}

/// The end of a query that leaves something open.
#[derive(Debug)]
pub struct Open {
    /// The query without its LIMIT, its keys behind its columns.
    pub whole: LogicalPlan,
    skip: usize,
    fetch: Option<usize>,
    columns: usize,
}

impl Promise {
    /// Plans a query and reads what it promises; none if it cannot be told.
    pub async fn of(engine: &Engine, sql: &str) -> Option<Self> {
        // The plan of EXECUTE is that of the statement that was prepared.
        let query = Box::pin(engine.sql(sql)).await.ok()?;
        Self::of_plan(query.logical_plan()).ok()?
    }

    fn of_plan(plan: &LogicalPlan) -> Result<Option<Self>> {
        let adds = adds_floats(plan)?;
        let precision = if adds { Precision::Digits } else { Precision::Bits };
        let (skip, fetch, plan) = match plan {
            LogicalPlan::Limit(limit) => match bounds(limit)? {
                Some((skip, fetch)) => (skip, fetch, limit.input.as_ref()),
                None => return Ok(None),
            },
            plan => (0, None, plan),
        };
        let has_limit = skip > 0 || fetch.is_some();
        let columns = plan.schema().fields().len();
        let (is_sorted, whole) = match plan {
            LogicalPlan::Sort(sort) => (true, with_keys(sort, None)?),
            LogicalPlan::Projection(projection) => match projection.input.as_ref() {
                LogicalPlan::Sort(sort) => (true, with_keys(sort, Some(&projection.expr))?),
                _ => (false, plan.clone()),
            },
            // It has an order, and which row of its keys it takes is within it.
            LogicalPlan::Distinct(Distinct::On(_)) => return Ok(None),
            _ => (false, plan.clone()),
        };
        let open = (is_sorted || has_limit).then_some(Open { whole, skip, fetch, columns });
        Ok(Some(Self { is_sorted, precision, open }))
    }
}

impl Open {
    /// Whether an answer is one of those that the query may have; `all` are the rows of
    /// [`Open::whole`].
    #[must_use]
    pub fn explains(&self, answer: &Answer, all: &[Vec<Value>], precision: Precision) -> bool {
        let mut keys: Vec<Vec<Cell>> = Vec::with_capacity(all.len());
        let mut groups: HashMap<Vec<Cell>, Rows> = HashMap::new();
        for row in all {
            let (row, key) = row.split_at(self.columns.min(row.len()));
            let key = cells(key, precision);
            groups.entry(key.clone()).or_default().add(cells(row, precision));
            keys.push(key);
        }
        let fetch = self.fetch.unwrap_or(usize::MAX);
        let wanted: Vec<&Vec<Cell>> = keys.iter().skip(self.skip).take(fetch).collect();
        let has_row = |(key, row): (&&Vec<Cell>, &Vec<Value>)| {
            groups.get_mut(*key).is_some_and(|rows| rows.take(&cells(row, precision)))
        };
        wanted.len() == answer.rows.len() && wanted.iter().zip(&answer.rows).all(has_row)
    }
}

/// Rows that a LIMIT skips and takes; none if it does not say so in numbers.
fn bounds(limit: &Limit) -> Result<Option<(usize, Option<usize>)>> {
    Ok(match (limit.get_skip_type()?, limit.get_fetch_type()?) {
        (SkipType::Literal(skip), FetchType::Literal(fetch)) => Some((skip, fetch)),
        (SkipType::UnsupportedExpr, _) | (_, FetchType::UnsupportedExpr) => None,
    })
}

/// A sort, with the projection above it if there is one, and behind its columns the keys.
fn with_keys(sort: &Sort, above: Option<&[Expr]>) -> Result<LogicalPlan> {
    let name = |index: usize| format!("key {index} of the order");
    let columns = || sort.input.schema().columns().into_iter().map(Expr::Column);
    let keys = sort.expr.iter().enumerate().map(|(index, key)| key.expr.clone().alias(name(index)));
    let key = |index: usize| Expr::Column(Column::from_name(name(index)));
    let order = sort.expr.iter().enumerate().map(|(index, of)| SortExpr {
        expr: key(index),
        asc: of.asc,
        nulls_first: of.nulls_first,
    });
    let rows = above.map_or_else(|| columns().collect(), <[Expr]>::to_vec);
    LogicalPlanBuilder::new_from_arc(Arc::clone(&sort.input))
        .project(columns().chain(keys))?
        .sort(order.collect::<Vec<_>>())?
        .project(rows.into_iter().chain((0..sort.expr.len()).map(key)))?
        .build()
}

/// Whether a query adds up floating-point numbers anywhere, which may be done in any order.
fn adds_floats(plan: &LogicalPlan) -> Result<bool> {
    let mut adds = false;
    plan.apply_with_subqueries(|node| {
        let (exprs, input) = match node {
            LogicalPlan::Aggregate(node) => (find_aggregate_exprs(&node.aggr_expr), &node.input),
            LogicalPlan::Window(node) => (node.window_expr.clone(), &node.input),
            _ => return Ok(TreeNodeRecursion::Continue),
        };
        for expr in &exprs {
            let name = match expr {
                Expr::AggregateFunction(function) => function.func.name().to_owned(),
                Expr::WindowFunction(function) => function.fun.name().to_owned(),
                other => other.schema_name().to_string(),
            };
            let data_type = expr.get_type(input.schema().as_ref())?;
            let is_float =
                matches!(data_type, DataType::Float16 | DataType::Float32 | DataType::Float64);
            adds |= is_float && !CHOOSING.contains(&name.as_str());
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(adds)
}

#[cfg(test)]
mod tests;
