// SPDX-License-Identifier: Apache-2.0
//! Walks logical plans and their expressions.

use datafusion::{
    common::{
        DFSchema, Result,
        tree_node::{Transformed, TreeNode, TreeNodeRecursion},
    },
    logical_expr::{
        Expr, LogicalPlan, Operator, Union, expr_rewriter::NamePreserver, utils::merge_schema,
    },
};

/// Rewrites each operator of a plan and of its subqueries, bottom-up. Schemas above a change are
/// recomputed.
pub(crate) fn rewrite(
    plan: LogicalPlan,
    mut change: impl FnMut(LogicalPlan) -> Result<Transformed<LogicalPlan>>,
) -> Result<LogicalPlan> {
    let mut is_changed = false;
    let plan = plan.transform_up_with_subqueries(|node| {
        let node = change(node)?;
        is_changed |= node.transformed;
        match is_changed {
            true => node.map_data(with_recomputed_schema),
            false => Ok(node),
        }
    })?;
    Ok(plan.data)
}

pub(crate) fn with_recomputed_schema(plan: LogicalPlan) -> Result<LogicalPlan> {
    match plan {
        // DataFusion recomputes the schema of a union only if its number of columns changes.
        LogicalPlan::Union(union) => Union::try_new(union.inputs).map(LogicalPlan::Union),
        other => other.recompute_schema(),
    }
}

/// Returns the input columns of an operator's expressions.
pub(crate) fn input_schema(plan: &LogicalPlan) -> Result<DFSchema> {
    match plan {
        LogicalPlan::TableScan(scan) => {
            DFSchema::try_from_qualified_schema(scan.table_name.clone(), &scan.source.schema())
        }
        other => Ok(merge_schema(&other.inputs())),
    }
}

/// Changes the expressions of an operator in all their parts, and keeps their names.
///
/// `may_change` selects parts in a first pass, because most plans have nothing to change, and
/// computing names and columns takes longer than the rest. `change` is given the input columns.
pub(crate) fn map_expressions(
    plan: LogicalPlan,
    may_change: impl Fn(&Expr) -> bool,
    change: impl Fn(Expr, &DFSchema) -> Result<Transformed<Expr>>,
) -> Result<Transformed<LogicalPlan>> {
    map_whole_expressions(plan, may_change, |expr, schema| {
        expr.transform_up(|expr| change(expr, schema))
    })
}

/// Changes the expressions of an operator, each as a whole, and keeps their names.
pub(crate) fn map_whole_expressions(
    plan: LogicalPlan,
    may_change: impl Fn(&Expr) -> bool,
    change: impl Fn(Expr, &DFSchema) -> Result<Transformed<Expr>>,
) -> Result<Transformed<LogicalPlan>> {
    if !has_expression(&plan, may_change)? {
        return Ok(Transformed::no(plan));
    }
    let (schema, names) = (input_schema(&plan)?, NamePreserver::new(&plan));
    plan.map_expressions(|expr| {
        let name = names.save(&expr);
        let changed = change(expr, &schema)?;
        Ok(match changed.transformed {
            true => changed.update_data(|expr| name.restore(expr)),
            false => changed,
        })
    })
}

/// Whether a part of an operator's expressions satisfies `is_one`.
pub(crate) fn has_expression(plan: &LogicalPlan, is_one: impl Fn(&Expr) -> bool) -> Result<bool> {
    let mut has_one = false;
    plan.apply_expressions(|expr| {
        has_one = expr.exists(|part| Ok(is_one(part)))?;
        Ok(if has_one { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(has_one)
}

/// Whether an operator of a plan, or of its subqueries, satisfies the predicate.
pub(crate) fn has_operator(
    plan: &LogicalPlan,
    is_one: impl Fn(&LogicalPlan) -> bool,
) -> Result<bool> {
    let mut has_one = false;
    plan.apply_with_subqueries(|node| {
        has_one = is_one(node);
        Ok(if has_one { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(has_one)
}

/// Whether an operator compares two values of one type.
pub(crate) const fn is_comparison(operator: Operator) -> bool {
    use Operator::{Eq, Gt, GtEq, IsDistinctFrom, IsNotDistinctFrom, Lt, LtEq, NotEq};
    matches!(operator, Eq | NotEq | Lt | LtEq | Gt | GtEq | IsDistinctFrom | IsNotDistinctFrom)
}
