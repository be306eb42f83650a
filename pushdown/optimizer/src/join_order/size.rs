// SPDX-License-Identifier: Apache-2.0
//! Estimates the rows of operators, for rules that come later than the order of joins.
//!
//! A wrong estimate changes how rows are computed, and no row.

use std::sync::Arc;

use datafusion::physical_plan::ExecutionPlan;
use nearscan_join_order::{Estimates, RelationSet};

use super::{
    estimate,
    region::Region,
    seen::{Stage, as_join},
};

/// The rows that an operator is estimated to return; none if they are not known.
pub(crate) fn rows_of(plan: &Arc<dyn ExecutionPlan>) -> Option<f64> {
    let plan = Stage::Planned.seen(plan);
    let Some(region) = as_join(plan).and_then(|_| Region::of(plan, Stage::Planned)) else {
        return Some(estimate::of_plan(plan)?.rows);
    };
    let query = region.query()?;
    let all = (0..query.relations.len()).map(RelationSet::of);
    let all = all.fold(RelationSet::EMPTY, RelationSet::union);
    Some(Estimates::of(&query).ok()?.rows(all))
}

/// How many different values a column of an operator is estimated to have.
pub(crate) fn distinct_of(plan: &Arc<dyn ExecutionPlan>, column: usize) -> Option<f64> {
    Some(estimate::of_plan(plan)?.column(column).distinct)
}

/// Bytes of a row of an operator.
pub(crate) fn row_bytes_of(plan: &Arc<dyn ExecutionPlan>) -> f64 {
    estimate::row_bytes(&plan.schema())
}
