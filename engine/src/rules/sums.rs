// SPDX-License-Identifier: Apache-2.0
//! Sums of an expression and a constant.
//!
//! Where two aggregates are of `x` and a constant, DataFusion makes `sum(x) + 6 * count(x)` of
//! `sum(x + 6)`, so that the sums share their work. It refuses the query where `x` is converted
//! first and the query counts `x` too, because both counts have one name; the count of rows may not
//! fit in the type of the constant; and of floating-point numbers that is another sum. There, what
//! it looks for is hidden from it.

use datafusion::{
    arrow::datatypes::DataType,
    common::{
        Result,
        tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion},
    },
    logical_expr::{
        Aggregate, BinaryExpr, Expr, LogicalPlan, Operator,
        expr::{AggregateFunction, Alias},
    },
    optimizer::OptimizerConfig,
};

use super::LogicalRule;

/// What the rule makes of a plan.
pub(super) fn rewrite(
    rule: &LogicalRule,
    plan: LogicalPlan,
    config: &dyn OptimizerConfig,
) -> Result<Transformed<LogicalPlan>> {
    let LogicalPlan::Aggregate(aggregate) = &plan else {
        return rule.rewrite(plan, config);
    };
    let constants = || aggregate.aggr_expr.iter().filter_map(constant);
    if constants().all(|constant| holds_counts(&constant)) {
        match rule.rewrite(plan.clone(), config) {
            Err(_) if constants().next().is_some() => {}
            ended => return ended,
        }
    }
    let hidden = map_arguments(plan, &hide)?;
    rule.rewrite(hidden.data, config)?.transform_data(|plan| map_arguments(plan, &show))
}

/// The type of the constant in `sum(x + constant)`.
fn constant(aggregate: &Expr) -> Option<DataType> {
    match aggregate {
        Expr::Alias(alias) => constant(&alias.expr),
        Expr::AggregateFunction(AggregateFunction { params, .. }) => match params.args.as_slice() {
            [Expr::BinaryExpr(BinaryExpr { left, op: Operator::Plus, right })] => {
                let value = left.as_literal().or_else(|| right.as_literal());
                value.map(|value| value.data_type())
            }
            _ => None,
        },
        _ => None,
    }
}

/// Whether a type has every count of rows, exactly.
const fn holds_counts(constant: &DataType) -> bool {
    matches!(constant, DataType::Int64 | DataType::UInt64)
}

/// The arguments of the aggregates of a plan, changed; what the aggregates read is left alone.
fn map_arguments(
    plan: LogicalPlan,
    change: &dyn Fn(Expr) -> Result<Transformed<Expr>>,
) -> Result<Transformed<LogicalPlan>> {
    plan.transform_down(|node| {
        let LogicalPlan::Aggregate(Aggregate { input, group_expr, aggr_expr, schema, .. }) = node
        else {
            return Ok(Transformed::no(node));
        };
        let aggregates = aggr_expr.into_iter().map(|aggregate| {
            let name = aggregate.schema_name().to_string();
            let changed = aggregate.transform_down(|expr| match expr {
                Expr::AggregateFunction(_) => expr.map_children(change),
                other => Ok(Transformed::no(other)),
            });
            changed.data()?.alias_if_changed(name)
        });
        let aggregates = aggregates.collect::<Result<_>>()?;
        let node = Aggregate::try_new_with_schema(input, group_expr, aggregates, schema)?;
        Ok(Transformed::new(LogicalPlan::Aggregate(node), true, TreeNodeRecursion::Jump))
    })
}

/// A name of its own keeps the rule from seeing a sum.
fn hide(argument: Expr) -> Result<Transformed<Expr>> {
    if !matches!(argument, Expr::BinaryExpr(BinaryExpr { op: Operator::Plus, .. })) {
        return Ok(Transformed::no(argument));
    }
    let name = argument.schema_name().to_string();
    Ok(Transformed::yes(argument.alias(name)))
}

/// Takes the name off.
fn show(argument: Expr) -> Result<Transformed<Expr>> {
    Ok(match argument {
        Expr::Alias(Alias { expr, .. }) => Transformed::yes(*expr),
        other => Transformed::no(other),
    })
}
