// SPDX-License-Identifier: Apache-2.0
//! Columns that share a name.
//!
//! DataFusion moves filters down through a plan by the names of their columns. Two columns of one
//! schema may have one name (`l.k` and `r.k` behind a join), and then a filter of one ends up as a
//! filter of the other: wrong rows. So it does below a semi join, where a filter of a key goes to
//! the other side too, by its name, whatever the name of the key there is.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use datafusion::{
    common::JoinType,
    physical_expr::{PhysicalExprRef, expressions::Column},
    physical_plan::{ExecutionPlan, joins::HashJoinExec},
};

/// The columns of an operator that their names tell apart, where these are not all.
pub(super) fn clear_columns(plan: &Arc<dyn ExecutionPlan>) -> Option<HashSet<usize>> {
    let schema = plan.schema();
    let fields = schema.fields();
    let mut counts: HashMap<&str, usize> = HashMap::with_capacity(fields.len());
    for field in fields {
        *counts.entry(field.name()).or_default() += 1;
    }
    if counts.len() == fields.len() && !plan.is::<HashJoinExec>() {
        return None;
    }
    let is_clear = |name: &str| counts.get(name) == Some(&1) && !is_misnamed_key(plan, name);
    let clear = fields.iter().enumerate().filter(|(_, field)| is_clear(field.name()));
    let clear: HashSet<usize> = clear.map(|(index, _)| index).collect();
    (clear.len() < fields.len()).then_some(clear)
}

/// Whether a column is a key of a semi join whose other side has another column of that name.
fn is_misnamed_key(plan: &Arc<dyn ExecutionPlan>, name: &str) -> bool {
    let Some(join) = plan.downcast_ref::<HashJoinExec>() else { return false };
    let on = |(left, right): &(PhysicalExprRef, PhysicalExprRef)| match join.join_type() {
        JoinType::LeftSemi => Some((Arc::clone(left), Arc::clone(right))),
        JoinType::RightSemi => Some((Arc::clone(right), Arc::clone(left))),
        _ => None,
    };
    let other = match join.join_type() {
        JoinType::LeftSemi => join.right(),
        _ => join.left(),
    };
    let is_named =
        |key: &PhysicalExprRef| key.downcast_ref::<Column>().is_some_and(|it| it.name() == name);
    let keys: Vec<_> = join.on().iter().filter_map(on).filter(|(own, _)| is_named(own)).collect();
    !keys.is_empty()
        && !keys.iter().any(|(_, others)| is_named(others))
        && other.schema().index_of(name).is_ok()
}
