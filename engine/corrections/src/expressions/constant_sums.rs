// SPDX-License-Identifier: Apache-2.0
//! Keeps `sum(x + constant)` from an unsound rewrite.
//!
//! If two aggregates are sums of `x` and a constant, DataFusion rewrites `sum(x + 6)` to
//! `sum(x) + 6 * count(x)`, so that they share a common subexpression. But the count of rows may
//! not fit in the type of the constant; sums of floating-point numbers differ; and if the query has
//! the same aggregate of `x` and of a cast of `x`, they get one name, because names leave casts
//! out, and the query is refused. In these cases the addition is hidden behind an alias while the
//! rule runs.

use datafusion::{
    arrow::datatypes::DataType,
    common::{
        Result, ScalarValue,
        tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion},
    },
    logical_expr::{
        Aggregate, BinaryExpr, Expr, LogicalPlan, Operator,
        expr::{AggregateFunction, Alias},
    },
    optimizer::OptimizerConfig,
};

use crate::rule::LogicalRule;

/// Whether an expression is an aggregate of a sum with a constant.
pub(super) fn is_suspect(expr: &Expr) -> bool {
    constant(expr).is_some()
}

/// Runs the rule on an operator.
pub(super) fn simplify(
    rule: &LogicalRule,
    plan: LogicalPlan,
    config: &dyn OptimizerConfig,
) -> Result<Transformed<LogicalPlan>> {
    let is_sound = match &plan {
        LogicalPlan::Aggregate(aggregate) => is_sound(&aggregate.aggr_expr),
        _ => true,
    };
    if is_sound {
        return rule.rewrite(plan, config);
    }
    let hidden = map_arguments(plan, &hide)?;
    rule.rewrite(hidden.data, config)?.transform_data(|plan| map_arguments(plan, &show))
}

/// Whether the rewritten sums are equal, and no two different aggregates get one name.
fn is_sound(aggregates: &[Expr]) -> bool {
    let holds_counts = |aggregate| {
        constant(aggregate).is_none_or(|(constant, _)| holds_counts(&constant.data_type()))
    };
    // Anything else may be simplified to what another aggregate has.
    let is_plain = |expr: &&Expr| match expr {
        Expr::Cast(cast) => matches!(*cast.expr, Expr::Column(_)),
        other => matches!(other, Expr::Column(_) | Expr::Literal(_, _)),
    };
    let is_alone = aggregates.iter().all(|aggregate| constant(aggregate).is_some());
    let mut named: Vec<(String, Vec<&Expr>)> = Vec::new();
    aggregates.iter().all(holds_counts)
        && aggregates.iter().flat_map(names).all(|(name, arguments)| {
            let is_other =
                |(other, those): &(String, Vec<&Expr>)| *other == name && *those != arguments;
            let is_unique = !named.iter().any(is_other);
            let is_known = is_alone || arguments.iter().all(is_plain);
            named.push((name, arguments));
            is_unique && is_known
        })
}

/// Returns the names, without aliases, of what an aggregate becomes once the rule has run, and the
/// arguments of each.
fn names(aggregate: &Expr) -> Vec<(String, Vec<&Expr>)> {
    if let Some((_, summed)) = constant(aggregate) {
        let name = summed.schema_name().to_string();
        let named = |function: &str| (format!("{function}({name})"), vec![summed]);
        return vec![named("sum"), named("count")];
    }
    match aggregate {
        Expr::Alias(alias) => names(&alias.expr),
        Expr::AggregateFunction(AggregateFunction { params, .. }) => {
            vec![(aggregate.schema_name().to_string(), params.args.iter().collect())]
        }
        _ => Vec::new(),
    }
}

/// Returns the constant in `sum(x + constant)`, and `x`.
fn constant(aggregate: &Expr) -> Option<(&ScalarValue, &Expr)> {
    match aggregate {
        Expr::Alias(alias) => constant(&alias.expr),
        Expr::AggregateFunction(AggregateFunction { params, .. }) => match params.args.as_slice() {
            [Expr::BinaryExpr(BinaryExpr { left, op: Operator::Plus, right })] => {
                let of_left = left.as_literal().map(|value| (value, right.as_ref()));
                of_left.or_else(|| right.as_literal().map(|value| (value, left.as_ref())))
            }
            _ => None,
        },
        _ => None,
    }
}

/// Whether a type represents every count of rows exactly.
const fn holds_counts(constant: &DataType) -> bool {
    matches!(constant, DataType::Int64 | DataType::UInt64)
}

/// Changes the arguments of the aggregates of a plan; the inputs stay unchanged.
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

/// Hides an addition from the rule behind an alias.
fn hide(argument: Expr) -> Result<Transformed<Expr>> {
    if !matches!(argument, Expr::BinaryExpr(BinaryExpr { op: Operator::Plus, .. })) {
        return Ok(Transformed::no(argument));
    }
    let name = argument.schema_name().to_string();
    Ok(Transformed::yes(argument.alias(name)))
}

/// Removes the alias.
fn show(argument: Expr) -> Result<Transformed<Expr>> {
    Ok(match argument {
        Expr::Alias(Alias { expr, .. }) => Transformed::yes(*expr),
        other => Transformed::no(other),
    })
}
