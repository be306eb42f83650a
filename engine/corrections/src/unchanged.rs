// SPDX-License-Identifier: Apache-2.0
//! Looks through the operators that corrections leave in plans that run.

use std::sync::Arc;

use datafusion::physical_plan::ExecutionPlan;

use crate::{
    depth::plan::Piece,
    pass_through::{PassThrough, PassThroughExec},
    physical::{nested_loop_restart::Restartable, null_extension::PropertyBarrier},
};

/// Returns the input of an operator of a correction that returns the rows of its input as they are;
/// none for any other operator.
#[must_use]
pub fn input_of_unchanged(plan: &Arc<dyn ExecutionPlan>) -> Option<&Arc<dyn ExecutionPlan>> {
    input::<PropertyBarrier>(plan)
        .or_else(|| input::<Restartable>(plan))
        .or_else(|| input::<Piece>(plan))
}

fn input<P: PassThrough>(plan: &Arc<dyn ExecutionPlan>) -> Option<&Arc<dyn ExecutionPlan>> {
    plan.downcast_ref::<PassThroughExec<P>>().map(PassThroughExec::input)
}
