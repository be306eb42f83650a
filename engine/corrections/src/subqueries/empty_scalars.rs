// SPDX-License-Identifier: Apache-2.0
//! Marks scalar subqueries that may have no row as nullable.
//!
//! The value of such a subquery is NULL. DataFusion takes the nullability of its column, and
//! simplifies `(SELECT 1 WHERE false) IS NULL` to false. [`mark_nullable`] declares that it may be
//! NULL.

use datafusion::{
    common::{Result, tree_node::Transformed},
    logical_expr::{
        EmptyRelation, Expr, LogicalPlan, Projection, Sort, Subquery, SubqueryAlias, Values,
    },
};

use crate::{
    barrier,
    walk::{has_expression, map_expressions, rewrite},
};

/// Marks scalar subqueries nullable that may have no row.
pub(crate) fn mark_nullable(plan: LogicalPlan) -> Result<LogicalPlan> {
    let has_one = |node: &LogicalPlan| has_expression(node, is_one);
    rewrite(plan, has_one, |node| {
        map_expressions(node, is_one, |expr, _| {
            Ok(match is_one(&expr) {
                true => Transformed::yes(barrier::nullable(expr)),
                false => Transformed::no(expr),
            })
        })
    })
}

fn is_one(expr: &Expr) -> bool {
    let Expr::ScalarSubquery(Subquery { subquery, .. }) = expr else { return false };
    !subquery.schema().fields().iter().any(|field| field.is_nullable()) && !has_a_row(subquery)
}

fn has_a_row(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Projection(Projection { input, .. })
        | LogicalPlan::SubqueryAlias(SubqueryAlias { input, .. })
        | LogicalPlan::Sort(Sort { input, fetch: None, .. }) => has_a_row(input),
        LogicalPlan::Aggregate(aggregate) => aggregate.group_expr.is_empty(),
        LogicalPlan::EmptyRelation(EmptyRelation { produce_one_row, .. }) => *produce_one_row,
        LogicalPlan::Values(Values { values, .. }) => !values.is_empty(),
        _ => false,
    }
}
