// SPDX-License-Identifier: Apache-2.0
//! Filters that aggregates without groups send down while they run.
//!
//! Of `min(a), max(b)` only rows below the least `a` or above the greatest `b` so far still matter,
//! and DataFusion tells the scan so. It leaves out of that condition what it has no bound for: an
//! aggregate of an expression (`min(a + b)`), and one that has seen nothing but NULL, also when
//! that was in another partition. Rows that these need are then lost. A condition of one aggregate
//! is right: without a bound there is none.

use std::sync::Arc;

use datafusion::physical_plan::{ExecutionPlan, aggregates::AggregateExec};

/// Whether the filter that an operator sends down may lose rows which it needs.
pub(super) fn loses_rows(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let sends_filter = !plan.dynamic_expressions_produced().is_empty();
    sends_filter && plan.downcast_ref::<AggregateExec>().is_some_and(|it| it.aggr_expr().len() > 1)
}
