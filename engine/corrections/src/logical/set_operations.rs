// SPDX-License-Identifier: Apache-2.0
//! Rewrites EXCEPT ALL and INTERSECT ALL so that they preserve multiplicity.
//!
//! A row that occurs `m` times on the left and `n` times on the right occurs `max(m - n, 0)` times
//! in EXCEPT ALL, and `min(m, n)` times in INTERSECT ALL. DataFusion plans a semi- or anti-join, so
//! that it occurs `m` times or not at all. This module numbers equal rows on each side, and joins
//! by the number too.

use std::sync::Arc;

use datafusion::{
    common::{Column, JoinType, NullEquality, Result, tree_node::Transformed},
    functions_window::row_number::row_number,
    logical_expr::{Distinct, Expr, ExprFunctionExt, Join, LogicalPlan, LogicalPlanBuilder},
};

use crate::walk::rewrite;

/// Rewrites EXCEPT ALL and INTERSECT ALL.
pub(crate) fn preserve(plan: LogicalPlan) -> Result<LogicalPlan> {
    let is_one =
        |node: &LogicalPlan| Ok(matches!(node, LogicalPlan::Join(join) if is_of_all(join)));
    rewrite(plan, is_one, |node| match node {
        LogicalPlan::Join(join) if is_of_all(&join) => numbered(&join).map(Transformed::yes),
        other => Ok(Transformed::no(other)),
    })
}

/// Names of the columns that number equal rows.
const LEFT_NUMBER: &str = "number among equal rows on the left";
const RIGHT_NUMBER: &str = "number among equal rows on the right";

fn number(name: &str) -> Expr {
    Expr::Column(Column::new_unqualified(name))
}

/// Whether a join represents EXCEPT ALL or INTERSECT ALL, and has not been rewritten yet. No other
/// join is null-equal before filters become keys; without ALL the left side is DISTINCT.
fn is_of_all(join: &Join) -> bool {
    matches!(join.join_type, JoinType::LeftSemi | JoinType::LeftAnti)
        && join.null_equality == NullEquality::NullEqualsNull
        && !matches!(join.left.as_ref(), LogicalPlan::Distinct(Distinct::All(_)))
        && !join.on.iter().any(|(left, _)| *left == number(LEFT_NUMBER))
}

fn numbered(join: &Join) -> Result<LogicalPlan> {
    let (left_keys, right_keys): (Vec<Expr>, Vec<Expr>) = join.on.iter().cloned().unzip();
    let left = with_number(&join.left, left_keys.clone(), LEFT_NUMBER)?;
    let right = with_number(&join.right, right_keys.clone(), RIGHT_NUMBER)?;
    let left_keys = [left_keys, vec![number(LEFT_NUMBER)]].concat();
    let right_keys = [right_keys, vec![number(RIGHT_NUMBER)]].concat();
    let joined = Join::try_new(
        Arc::new(left),
        Arc::new(right),
        left_keys.into_iter().zip(right_keys).collect(),
        join.filter.clone(),
        join.join_type,
        join.join_constraint,
        join.null_equality,
        join.null_aware,
    )?;
    let outputs = join.schema.columns().into_iter().map(Expr::Column);
    LogicalPlanBuilder::from(LogicalPlan::Join(joined)).project(outputs)?.build()
}

/// Adds a column that numbers rows with equal keys from 1 on.
fn with_number(plan: &LogicalPlan, keys: Vec<Expr>, name: &str) -> Result<LogicalPlan> {
    let number = row_number().partition_by(keys).build()?.alias(name);
    LogicalPlanBuilder::from(plan.clone()).window([number])?.build()
}
