// SPDX-License-Identifier: Apache-2.0
//! Nested loop joins that run short of memory.
//!
//! When the rows of its left side do not fit, DataFusion's nested loop join executes that side once
//! more, to spill it, and then joins it part by part. But an operator gives its rows once: a scan
//! whose files are dealt out, or a repartition, has none left, and the rows of the join would be
//! lost. And not every join is right then: where several partitions are joined to the left rows,
//! each of them says which left rows match nothing; and the right rows that match nothing are
//! forgotten when it is the last part that fills the memory.
//!
//! [`RestartNestedLoopInputs`] puts an operator between: the second time it executes the plan below
//! as if for the first time, or, where the join would be wrong, ends as the first time did.
//!
//! ```text
//! NestedLoopJoinExec                   NestedLoopJoinExec
//!   DataSourceExec               =>      RestartableExec
//!   ..                                     DataSourceExec
//!                                        ..
//! ```

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicBool, Ordering},
};

use datafusion::{
    common::{
        DataFusionError, JoinType, Result,
        config::ConfigOptions,
        tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion},
    },
    execution::{SendableRecordBatchStream, TaskContext},
    physical_expr_common::physical_expr,
    physical_optimizer::PhysicalOptimizerRule,
    physical_plan::{
        ExecutionPlan, ExecutionPlanProperties,
        execution_plan::reset_plan_states,
        joins::{HashJoinExec, NestedLoopJoinExec},
        replace_children_if_necessary,
        stream::RecordBatchStreamAdapter,
        work_table::WorkTableExec,
    },
};
use futures::TryStreamExt;

use crate::{
    install::{ReadCorrections, enabled_by},
    pass_through::{PassThrough, PassThroughExec},
    registry::Correction,
};

/// Lets nested loop joins execute their left side again.
#[derive(Debug)]
pub(crate) struct RestartNestedLoopInputs(pub(crate) ReadCorrections);

impl PhysicalOptimizerRule for RestartNestedLoopInputs {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if !enabled_by(self.0, config).contains(Correction::RestartNestedLoopInputs) {
            return Ok(plan);
        }
        plan.transform_up(|node| {
            let Some(join) = node.downcast_ref::<NestedLoopJoinExec>() else {
                return Ok(Transformed::no(node));
            };
            let restarts = is_right_in_parts(join) && gives_same_rows(join.left())?;
            let left = restartable(Arc::clone(join.left()), restarts);
            let children: Vec<Arc<dyn ExecutionPlan>> = vec![left, Arc::clone(join.right())];
            replace_children_if_necessary(node, children).map(Transformed::yes)
        })
        .data()
    }

    fn name(&self) -> &'static str {
        "RestartNestedLoopInputs"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Whether the join has its rows when the left ones come part by part.
fn is_right_in_parts(join: &NestedLoopJoinExec) -> bool {
    match join.join_type() {
        JoinType::Inner => true,
        JoinType::Left | JoinType::LeftSemi | JoinType::LeftAnti | JoinType::LeftMark => {
            join.right().output_partitioning().partition_count() == 1
        }
        _ => false,
    }
}

/// Whether a plan gives the same rows again. An operator may tell others below it which rows still
/// matter, and what it told the first time leaves out rows that matter the second time. What a hash
/// join tells is about other rows, and is true again if these are the same again. Rows of a
/// recursive query are given once.
fn gives_same_rows(plan: &Arc<dyn ExecutionPlan>) -> Result<bool> {
    let has_other_rows = plan.exists(|node| {
        let tells = !node.dynamic_expressions_produced().is_empty();
        let is_true_again = match node.downcast_ref::<HashJoinExec>() {
            Some(join) => !may_choose(join.left())?,
            None => false,
        };
        Ok(tells && !is_true_again || node.is::<WorkTableExec>())
    })?;
    Ok(!has_other_rows)
}

/// Whether other rows of a plan would be as right.
fn may_choose(plan: &Arc<dyn ExecutionPlan>) -> Result<bool> {
    plan.exists(|node| {
        let mut is_volatile = false;
        node.apply_expressions(&mut |expr| {
            is_volatile |= physical_expr::is_volatile(expr);
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(is_volatile || node.fetch().is_some())
    })
}

/// What gives the rows of its input each time that it is executed, or once. Metrics of the input
/// are those of the first time.
#[derive(Debug)]
pub(crate) struct Restartable {
    /// Whether it may be executed a second time.
    pub(crate) restarts: bool,
    has_run: AtomicBool,
    /// What the first time ended with, if the input itself ran short of memory.
    cause: Arc<OnceLock<String>>,
}

/// A `RestartableExec` over an input.
pub(crate) fn restartable(input: Arc<dyn ExecutionPlan>, restarts: bool) -> Arc<dyn ExecutionPlan> {
    let special = Restartable { restarts, has_run: AtomicBool::new(false), cause: Arc::default() };
    Arc::new(PassThroughExec::new(special, input))
}

impl PassThrough for Restartable {
    const NAME: &'static str = "RestartableExec";

    fn over(&self, input: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(restartable(input, self.restarts))
    }

    fn execute(
        &self,
        input: &Arc<dyn ExecutionPlan>,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        if !self.has_run.swap(true, Ordering::Relaxed) {
            let rows = input.execute(partition, context)?;
            let cause = Arc::clone(&self.cause);
            let rows = rows.inspect_err(move |error| {
                if let DataFusionError::ResourcesExhausted(text) = error.find_root() {
                    cause.get_or_init(|| text.clone());
                }
            });
            return Ok(Box::pin(RecordBatchStreamAdapter::new(input.schema(), rows)));
        }
        if !self.restarts {
            let own = "the left side of a nested loop join does not fit in memory";
            let cause = self.cause.get().map_or(own, String::as_str);
            return Err(DataFusionError::ResourcesExhausted(cause.to_owned()));
        }
        reset_plan_states(Arc::clone(input))?.execute(partition, context)
    }
}
