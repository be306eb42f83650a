// SPDX-License-Identifier: Apache-2.0
//! Splits a single-phase aggregate into two phases: a drive returns the states of the first, and
//! the second is planned above it.

use std::sync::Arc;

use datafusion::{
    error::Result,
    physical_plan::{
        ExecutionPlan,
        aggregates::{AggregateExec, AggregateMode},
    },
};

/// The partial aggregate that a single one would start with.
pub(crate) fn partial_of(aggregate: &AggregateExec) -> Result<Arc<dyn ExecutionPlan>> {
    let partial = AggregateExec::try_new(
        AggregateMode::Partial,
        aggregate.group_expr().clone(),
        aggregate.aggr_expr().to_vec(),
        aggregate.filter_expr().to_vec(),
        Arc::clone(aggregate.input()),
        aggregate.input_schema(),
    )?;
    Ok(Arc::new(partial))
}

/// The final aggregate over states.
pub(crate) fn final_over(
    aggregate: &AggregateExec,
    states: Arc<dyn ExecutionPlan>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let functions = aggregate.aggr_expr().to_vec();
    let filters = vec![None; functions.len()];
    let finished = AggregateExec::try_new(
        AggregateMode::Final,
        aggregate.group_expr().as_final(),
        functions,
        filters,
        states,
        aggregate.input_schema(),
    )?;
    Ok(Arc::new(finished))
}
