// SPDX-License-Identifier: Apache-2.0
//! Lifts correlated conditions of inner joins into filters.
//!
//! DataFusion decorrelates subqueries above joins, but not in their conditions, and it pulls
//! correlated conditions up from filters only. [`lift`] turns such conditions of an inner join into
//! filters above it.

use datafusion::{
    common::{
        JoinType, Result,
        tree_node::{Transformed, TreeNode},
    },
    logical_expr::{
        Expr, LogicalPlan, LogicalPlanBuilder,
        utils::{conjunction, split_conjunction_owned},
    },
};

use super::{is_correlated, subquery};
use crate::walk::rewrite;

/// Turns such conditions of inner joins into filters above them.
pub(crate) fn lift(plan: LogicalPlan) -> Result<LogicalPlan> {
    let has_one = |node: &LogicalPlan| {
        Ok(matches!(node, LogicalPlan::Join(join)
            if join.join_type == JoinType::Inner && join.filter.as_ref().is_some_and(refers)))
    };
    rewrite(plan, has_one, |node| match node {
        LogicalPlan::Join(mut join) if join.join_type == JoinType::Inner => {
            let Some(filter) = join.filter.take_if(|filter| refers(filter)) else {
                return Ok(Transformed::no(LogicalPlan::Join(join)));
            };
            let (above, kept): (Vec<_>, Vec<_>) =
                split_conjunction_owned(filter).into_iter().partition(refers);
            join.filter = conjunction(kept);
            let joined = LogicalPlanBuilder::from(LogicalPlan::Join(join));
            let filtered = match conjunction(above) {
                Some(above) => joined.filter(above)?,
                None => joined,
            };
            Ok(Transformed::yes(filtered.build()?))
        }
        other => Ok(Transformed::no(other)),
    })
}

/// Whether a term has a correlated subquery, or refers to an outer query itself.
fn refers(term: &Expr) -> bool {
    let refers = |part: &Expr| {
        subquery(part).is_some_and(is_correlated) || matches!(part, Expr::OuterReferenceColumn(..))
    };
    term.exists(|part| Ok(refers(part))).unwrap_or(true)
}
