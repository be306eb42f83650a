// SPDX-License-Identifier: Apache-2.0
//! Corrects physical plans.
//!
//! | module | rule | of DataFusion |
//! |---|---|---|
//! | [`filter_pushdown`] | wraps | `FilterPushdown`, `FilterPushdown(Post)` |
//! | [`limits`] | wraps | `EnsureRequirements`, `PushdownSort` |
//! | [`null_extension`] | before | `EnsureRequirements` |
//! | [`nested_loop_restart`] | last | |
//!
//! Gates and fences, which restrict a rule, are removed after it has run. The operators that
//! [`null_extension`] and [`nested_loop_restart`] add are in plans that run.

use std::sync::Arc;

use datafusion::physical_plan::ExecutionPlan;

pub(crate) mod filter_pushdown;
pub(crate) mod limits;
pub(crate) mod nested_loop_restart;
pub(crate) mod null_extension;

/// Whether some operator of a plan is one of these. Most plans have nothing to correct, and this
/// walk builds nothing.
fn has_operator(plan: &Arc<dyn ExecutionPlan>, is_one: fn(&dyn ExecutionPlan) -> bool) -> bool {
    is_one(plan.as_ref()) || plan.children().into_iter().any(|child| has_operator(child, is_one))
}
