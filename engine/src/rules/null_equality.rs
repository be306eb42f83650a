// SPDX-License-Identifier: Apache-2.0
//! Joins that take NULL for equal to NULL.
//!
//! A join by `a IS NOT DISTINCT FROM b` has keys that do, one by `a = b` has keys that do not, and
//! no join has both. DataFusion puts inner joins in another order, and makes keys of the conditions
//! above them: each has any of the keys then, and all have the kind of the one at the top. So where
//! two kinds meet, a projection that changes nothing stands between, which the rule does not look
//! through and a later one leaves out. Another rule makes keys of the conditions of a join; where
//! its keys take NULL for equal to NULL, `c = d` remains a condition.

use std::sync::Arc;

use datafusion::{
    common::{JoinType, NullEquality, Result, tree_node::Transformed},
    logical_expr::{Filter, Join, LogicalPlan, Projection},
};

use super::plans::has_operator;

/// Puts a projection where two kinds meet.
pub(super) fn keep_apart(plan: LogicalPlan) -> Result<LogicalPlan> {
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

/// Whether no condition of an operator may become a key.
pub(super) fn is_fixed(plan: &LogicalPlan) -> bool {
    matches!(plan, LogicalPlan::Join(Join { on, null_equality, .. })
        if !on.is_empty() && *null_equality == NullEquality::NullEqualsNull)
}

fn is_of_another(plan: &LogicalPlan, kind: NullEquality) -> bool {
    matches!(plan, LogicalPlan::Join(Join { join_type: JoinType::Inner, null_equality, .. })
        if *null_equality != kind)
}
