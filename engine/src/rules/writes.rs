// SPDX-License-Identifier: Apache-2.0
//! DELETE and UPDATE.
//!
//! DataFusion reads their conditions back from the optimized plan, for the table to apply. What it
//! does not find there is no condition: all rows are deleted `WHERE c = 3 AND c = 0`, of which the
//! optimizer knows that there are none, and `WHERE c IN (SELECT ..)`, of which it makes a join.
//! [`Writes`] keeps conditions as they are, see [`as_is`], and refuses what is not one condition on
//! one table.

use std::sync::Arc;

use datafusion::{
    common::{Result, config::ConfigOptions, not_impl_err, tree_node::Transformed},
    logical_expr::{DmlStatement, Expr, Filter, LogicalPlan, Projection, SubqueryAlias, WriteOp},
    optimizer::AnalyzerRule,
};

use super::{
    as_is,
    plans::{has_expression, has_operator, rewrite},
    subqueries::is_subquery,
};

/// Keeps the conditions.
#[derive(Debug)]
pub(super) struct Writes;

impl AnalyzerRule for Writes {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        rewrite(plan, |node| match node {
            LogicalPlan::Dml(DmlStatement {
                op: op @ (WriteOp::Delete | WriteOp::Update),
                table_name,
                target,
                input,
                ..
            }) => {
                let input = Arc::new(kept(&input)?);
                let kept = DmlStatement::new(table_name, target, op, input);
                Ok(Transformed::yes(LogicalPlan::Dml(kept)))
            }
            other => Ok(Transformed::no(other)),
        })
    }

    fn name(&self) -> &'static str {
        "writes"
    }
}

/// Whether a plan is an UPDATE, or shows one. Its columns are read back from the last operator
/// alone, so nothing may be computed below.
pub(super) fn is_update(plan: &LogicalPlan) -> Result<bool> {
    has_operator(plan, |node| {
        matches!(node, LogicalPlan::Dml(DmlStatement { op: WriteOp::Update, .. }))
    })
}

/// The rows that are written, with their condition kept.
fn kept(rows: &LogicalPlan) -> Result<LogicalPlan> {
    if has_expression(rows, is_subquery)? {
        return not_impl_err!("a subquery in DELETE or UPDATE");
    }
    Ok(match rows {
        LogicalPlan::TableScan(_) => rows.clone(),
        LogicalPlan::Projection(Projection { expr, input, .. }) => {
            let input = Arc::new(kept(input)?);
            LogicalPlan::Projection(Projection::try_new(expr.clone(), input)?)
        }
        LogicalPlan::SubqueryAlias(SubqueryAlias { input, alias, .. }) => {
            let input = Arc::new(kept(input)?);
            LogicalPlan::SubqueryAlias(SubqueryAlias::try_new(input, alias.clone())?)
        }
        LogicalPlan::Filter(Filter { predicate, input, .. }) => {
            let column = input.schema().columns().into_iter().next();
            let predicate = match column {
                Some(column) if !as_is::is_call(predicate) => {
                    as_is::call_beside(predicate.clone(), Expr::Column(column))
                }
                _ => predicate.clone(),
            };
            LogicalPlan::Filter(Filter::try_new(predicate, Arc::new(kept(input)?))?)
        }
        _ => return not_impl_err!("DELETE or UPDATE of other rows than those of a condition"),
    })
}
