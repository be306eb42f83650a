// SPDX-License-Identifier: Apache-2.0
//! Protects the conditions of DELETE and UPDATE.
//!
//! DataFusion reads the conditions back from the optimized plan and passes them to the table. A
//! condition that is not found there is lost: `WHERE c = 3 AND c = 0` deletes all rows, because the
//! optimizer folds it to false, and so does `WHERE c IN (SELECT ..)`, which becomes a join. So the
//! condition is kept behind a [barrier](crate::barrier) until the plan is optimized, and a
//! statement that is not one condition on one table is refused.

use std::sync::Arc;

use datafusion::{
    common::{Result, not_impl_err, tree_node::Transformed},
    logical_expr::{DmlStatement, Expr, Filter, LogicalPlan, Projection, SubqueryAlias, WriteOp},
    optimizer::OptimizerConfig,
};

use crate::{
    barrier,
    registry::Correction,
    rule::LogicalRule,
    set::CorrectionSet,
    subqueries::is_subquery,
    walk::{has_expression, rewrite},
};

/// Keeps the conditions of DELETE and UPDATE as written.
///
/// # Errors
/// `NotImplemented` if the statement is not one condition on one table.
pub(crate) fn protect(plan: LogicalPlan) -> Result<LogicalPlan> {
    let is_write = |node: &LogicalPlan| Ok(matches!(node, LogicalPlan::Dml(_)));
    rewrite(plan, is_write, |node| match node {
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

/// Runs `common_sub_expression_eliminate` on a plan, except on an UPDATE: its columns are read back
/// from the last operator alone, so no expression may be moved below.
pub(crate) fn eliminate_common_expressions(
    rule: &LogicalRule,
    plan: LogicalPlan,
    config: &dyn OptimizerConfig,
    enabled: CorrectionSet,
) -> Result<Transformed<LogicalPlan>> {
    match enabled.contains(Correction::ProtectWriteConditions) && is_update(&plan) {
        true => Ok(Transformed::no(plan)),
        false => rule.rewrite(plan, config),
    }
}

/// Whether a statement is an UPDATE, or explains one.
fn is_update(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Dml(DmlStatement { op: WriteOp::Update, .. }) => true,
        LogicalPlan::Explain(explain) => is_update(&explain.plan),
        LogicalPlan::Analyze(analyze) => is_update(&analyze.input),
        _ => false,
    }
}

/// Returns the rows that are written, with their condition behind a barrier.
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
                Some(column) if !barrier::is_held(predicate) => {
                    barrier::hold_beside(predicate.clone(), Expr::Column(column))
                }
                _ => predicate.clone(),
            };
            LogicalPlan::Filter(Filter::try_new(predicate, Arc::new(kept(input)?))?)
        }
        _ => return not_impl_err!("DELETE or UPDATE whose rows are not chosen by WHERE alone"),
    })
}
