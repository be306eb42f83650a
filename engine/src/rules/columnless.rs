// SPDX-License-Identifier: Apache-2.0
//! Conditions without columns, above an aggregate that has a row for no rows.
//!
//! DataFusion moves a condition below an aggregate when all its columns are keys. So does one that
//! has none, as `(SELECT max(a) FROM u) > 100`. Where it is not true the aggregate then has no rows
//! to count, but `SELECT count(*) .. HAVING ..` still has its row. Such a condition stays where it
//! is.

use datafusion::logical_expr::{Aggregate, Expr, Filter, LogicalPlan, utils::split_conjunction};

/// Whether a plan is such a condition above such an aggregate, or has one in filters that the rule
/// makes one of.
pub(super) fn is_one(plan: &LogicalPlan) -> bool {
    let (mut plan, mut has_one) = (plan, false);
    while let LogicalPlan::Filter(Filter { predicate, input, .. }) = plan {
        has_one |= has_term_without_columns(predicate);
        plan = input;
    }
    has_one && matches!(plan, LogicalPlan::Aggregate(aggregate) if always_has_a_row(aggregate))
}

fn always_has_a_row(aggregate: &Aggregate) -> bool {
    let keys = &aggregate.group_expr;
    keys.is_empty() || keys.iter().any(|key| matches!(key, Expr::GroupingSet(_)))
}

fn has_term_without_columns(predicate: &Expr) -> bool {
    split_conjunction(predicate).into_iter().any(|term| term.column_refs().is_empty())
}
