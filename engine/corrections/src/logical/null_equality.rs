// SPDX-License-Identifier: Apache-2.0
//! Keeps the keys of null-equal joins apart from those of other joins.
//!
//! The keys of a join by `a IS NOT DISTINCT FROM b` treat NULL as equal to NULL, those of a join by
//! `a = b` do not, and all keys of one join are of one kind. `eliminate_cross_join` flattens inner
//! joins and the filters above them into one list of keys, and gives all joins the kind of the top
//! one. So this module puts an identity projection between joins of different kinds; the rule does
//! not look through it, and `optimize_projections` removes it. `extract_equijoin_predicate` turns
//! conditions of a join into keys; if the join is null-equal, `c = d` stays a condition.

use std::sync::Arc;

use datafusion::{
    common::{JoinType, NullEquality, Result, tree_node::Transformed},
    logical_expr::{Filter, Join, LogicalPlan, Projection},
    optimizer::OptimizerConfig,
};

use crate::{registry::Correction, rule::LogicalRule, set::CorrectionSet, walk::has_operator};

/// Runs `eliminate_cross_join` on a plan.
pub(crate) fn eliminate_cross_join(
    rule: &LogicalRule,
    plan: LogicalPlan,
    config: &dyn OptimizerConfig,
    enabled: CorrectionSet,
) -> Result<Transformed<LogicalPlan>> {
    match enabled.contains(Correction::SeparateNullEquality) {
        true => rule.rewrite(separated(plan)?, config),
        false => rule.rewrite(plan, config),
    }
}

/// Runs `extract_equijoin_predicate` on an operator.
pub(crate) fn extract_equijoin_predicate(
    rule: &LogicalRule,
    plan: LogicalPlan,
    config: &dyn OptimizerConfig,
    enabled: CorrectionSet,
) -> Result<Transformed<LogicalPlan>> {
    match enabled.contains(Correction::SeparateNullEquality) && has_null_equal_keys(&plan) {
        true => Ok(Transformed::no(plan)),
        false => rule.rewrite(plan, config),
    }
}

/// Puts a projection between joins of two kinds.
fn separated(plan: LogicalPlan) -> Result<LogicalPlan> {
    if !has_operator(&plan, |node| is_of_another(node, NullEquality::NullEqualsNothing))? {
        return Ok(plan);
    }
    let plan = plan.transform_up_with_subqueries(|node| {
        let kind = match &node {
            LogicalPlan::Filter(_) => NullEquality::NullEqualsNothing,
            LogicalPlan::Join(Join { join_type: JoinType::Inner, null_equality, .. }) => {
                *null_equality
            }
            _ => return Ok(Transformed::no(node)),
        };
        if !node.inputs().into_iter().any(|input| is_of_another(input, kind)) {
            return Ok(Transformed::no(node));
        }
        let fenced = |input: Arc<LogicalPlan>| match is_of_another(&input, kind) {
            true => {
                let schema = Arc::clone(input.schema());
                Arc::new(LogicalPlan::Projection(Projection::new_from_schema(input, schema)))
            }
            false => input,
        };
        Ok(Transformed::yes(match node {
            LogicalPlan::Filter(filter) => {
                LogicalPlan::Filter(Filter::try_new(filter.predicate, fenced(filter.input))?)
            }
            LogicalPlan::Join(join) => LogicalPlan::Join(Join {
                left: fenced(join.left),
                right: fenced(join.right),
                ..join
            }),
            other => other,
        }))
    })?;
    Ok(plan.data)
}

/// Whether a join has null-equal keys, so that none of its conditions may become a key.
fn has_null_equal_keys(plan: &LogicalPlan) -> bool {
    matches!(plan, LogicalPlan::Join(Join { on, null_equality, .. })
        if !on.is_empty() && *null_equality == NullEquality::NullEqualsNull)
}

fn is_of_another(plan: &LogicalPlan, kind: NullEquality) -> bool {
    matches!(plan, LogicalPlan::Join(Join { join_type: JoinType::Inner, null_equality, .. })
        if *null_equality != kind)
}
