// SPDX-License-Identifier: Apache-2.0
//! Sorts that are left out.
//!
//! DataFusion sorts the parts of a union each by the keys that are not constant in it, and then may
//! not see that the union has the order: the query is refused as not sane. What is not sorted as an
//! operator needs it, by what is known of it, is sorted here.

use std::sync::Arc;

use datafusion::{
    common::{
        Result,
        tree_node::{Transformed, TreeNode},
    },
    physical_expr::LexOrdering,
    physical_plan::{
        ExecutionPlan, ExecutionPlanProperties, replace_children_if_necessary,
        sorts::sort::SortExec,
    },
};

/// `plan` with a sort below each operator that needs one.
///
/// # Errors
/// Where an operator does not take the sort.
pub(super) fn add_missing(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let sorted = plan.transform_up(|node| {
        let mut is_changed = false;
        let mut children = Vec::new();
        for (child, needed) in node.children().into_iter().zip(node.required_input_ordering()) {
            let mut child = Arc::clone(child);
            if let Some(needed) = needed.map(|needed| needed.into_single())
                && !child.equivalence_properties().ordering_satisfy_requirement(needed.clone())?
            {
                let is_split = child.output_partitioning().partition_count() > 1;
                let sort = SortExec::new(LexOrdering::from(needed), child);
                child = Arc::new(sort.with_preserve_partitioning(is_split));
                is_changed = true;
            }
            children.push(child);
        }
        Ok(match is_changed {
            true => Transformed::yes(replace_children_if_necessary(node, children)?),
            false => Transformed::no(node),
        })
    })?;
    Ok(sorted.data)
}
