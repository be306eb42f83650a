// SPDX-License-Identifier: Apache-2.0
//! Gives the columns of compared subqueries unique names.
//!
//! When DataFusion decorrelates a subquery into a join, it confuses a column of the outer query
//! with one of the subquery that has the same name. SQL cannot express this, but rules can, which
//! compare values of the outer query with the column of a subquery over the same table: with
//! `FROM t WHERE i > ALL (SELECT i FROM t)`, each value was compared with itself. [`name`] gives a
//! unique name to the columns of ANY and ALL; [`not_in`](super::not_in) uses one too. IN below OR
//! and similar operators becomes a join with a duplicate column name if the column is an aggregate,
//! which DataFusion refuses; there the column gets a unique name as well.

use std::sync::Arc;

use datafusion::{
    common::{
        Column, Result,
        tree_node::{Transformed, TreeNode},
    },
    logical_expr::{
        BinaryExpr, Expr, LogicalPlan, LogicalPlanBuilder, Operator, Subquery,
        expr::{InSubquery, SetComparison},
    },
};

use crate::walk::{has_expression, map_whole_expressions, rewrite};

/// Name of the column.
const COLUMN: &str = "value of a subquery";

/// Gives unique names to the columns of subqueries of ANY, ALL, and IN below other operators.
pub(crate) fn name(plan: LogicalPlan) -> Result<LogicalPlan> {
    let is_filter = |node: &LogicalPlan| matches!(node, LogicalPlan::Filter(_));
    let compares = |expr: &Expr, is_filter| {
        matches!(expr, Expr::SetComparison(_)) || is_filter && matches!(expr, Expr::InSubquery(_))
    };
    let has_one = |node: &LogicalPlan| has_expression(node, |part| compares(part, is_filter(node)));
    rewrite(plan, has_one, |node| {
        let is_filter = is_filter(&node);
        map_whole_expressions(
            node,
            |part| compares(part, is_filter),
            |expr, _| match is_filter {
                true => of_condition(expr),
                false => expr.transform_up(of_all_and_any),
            },
        )
    })
}

/// Names the columns of subqueries in a condition that must be true.
fn of_condition(expr: Expr) -> Result<Transformed<Expr>> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => {
            let (left, right) = (of_condition(*left)?, of_condition(*right)?);
            let is_changed = left.transformed || right.transformed;
            let both = BinaryExpr::new(Box::new(left.data), Operator::And, Box::new(right.data));
            Ok(Transformed::new_transformed(Expr::BinaryExpr(both), is_changed))
        }
        Expr::InSubquery(_) => Ok(Transformed::no(expr)),
        other => other.transform_up(|part| match part {
            Expr::InSubquery(inside) => {
                let subquery = with_name(inside.subquery)?;
                Ok(Transformed::yes(Expr::InSubquery(InSubquery { subquery, ..inside })))
            }
            other => of_all_and_any(other),
        }),
    }
}

fn of_all_and_any(expr: Expr) -> Result<Transformed<Expr>> {
    let Expr::SetComparison(comparison) = expr else { return Ok(Transformed::no(expr)) };
    let subquery = with_name(comparison.subquery)?;
    Ok(Transformed::yes(Expr::SetComparison(SetComparison { subquery, ..comparison })))
}

fn with_name(subquery: Subquery) -> Result<Subquery> {
    let rows = Arc::new(named(&subquery.subquery)?);
    Ok(Subquery { subquery: rows, ..subquery })
}

/// Projects a subquery to its first column, renamed to [`column`].
pub(crate) fn named(subquery: &LogicalPlan) -> Result<LogicalPlan> {
    let first = Expr::Column(subquery.schema().columns().swap_remove(0)).alias(COLUMN);
    LogicalPlanBuilder::from(subquery.clone()).project([first])?.build()
}

/// Returns the renamed column of a subquery.
pub(crate) fn column() -> Expr {
    Expr::Column(Column::new_unqualified(COLUMN))
}
