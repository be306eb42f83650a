// SPDX-License-Identifier: Apache-2.0
//! How deep plans are.
//!
//! Operators open their inputs and ask them for rows, down to the scans, and a stack that is used
//! up ends the process. A statement of a few words can have a deep plan, for views may be over
//! views. So a plan that is too deep is refused before it runs. What [planning](crate::stack) needs
//! is bounded by [what statements may have](crate::statement).

use std::sync::Arc;

use datafusion::{
    common::{Result, config::ConfigOptions, not_impl_err},
    physical_optimizer::PhysicalOptimizerRule,
    physical_plan::ExecutionPlan,
};

/// How many operators may stand above each other. In a release build the two megabytes that a
/// thread has as a rule are enough for more.
const MAX_DEPTH: usize = 1000;

/// What an operator with several inputs counts. A hash join takes ten kilobytes of the stack, a
/// limit or a sort less than two.
const JOIN: usize = 8;

/// Refuses plans that are deeper.
#[derive(Debug)]
pub(super) struct Depth;

impl PhysicalOptimizerRule for Depth {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match of(plan.as_ref()) > MAX_DEPTH {
            true => not_impl_err!(
                "a plan of more than {} joins, or {MAX_DEPTH} other operators, above each other",
                MAX_DEPTH / JOIN
            ),
            false => Ok(plan),
        }
    }

    fn name(&self) -> &'static str {
        "Depth"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn of(plan: &dyn ExecutionPlan) -> usize {
    let children = plan.children();
    let own = if children.len() > 1 { JOIN } else { 1 };
    own + children.into_iter().map(|child| of(child.as_ref())).max().unwrap_or_default()
}
