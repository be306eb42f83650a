// SPDX-License-Identifier: Apache-2.0
//! Lets nested loop joins that run out of memory execute their left input again.
//!
//! If the rows of its left side do not fit in memory, DataFusion's nested loop join executes that
//! side again, to spill it, and then joins it part by part. But an operator returns its rows once:
//! a scan whose files are shared by partitions, or a repartition, has none left, and rows of the
//! join would be lost. Some joins are also wrong in parts: each of several right partitions returns
//! the left rows that it does not match; and right rows without a match are lost if the last part
//! fills the memory.
//!
//! [`RestartNestedLoopInputs`] puts an operator between. Its second execution runs a fresh copy of
//! the plan below or, if the join would be wrong, fails for lack of memory.
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

use super::has_operator;
use crate::{
    pass_through::{PassThrough, PassThroughExec},
    registry::Correction,
    rule::{ReadCorrections, enabled_by},
};

/// Puts a `RestartableExec` below nested loop joins.
#[derive(Debug)]
pub(crate) struct RestartNestedLoopInputs(pub(crate) ReadCorrections);

impl PhysicalOptimizerRule for RestartNestedLoopInputs {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if !enabled_by(self.0, config).contains(Correction::RestartNestedLoopInputs)
            || !has_operator(&plan, |node| node.is::<NestedLoopJoinExec>())
        {
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

/// Whether the join is right if its left rows are joined part by part.
fn is_right_in_parts(join: &NestedLoopJoinExec) -> bool {
    match join.join_type() {
        JoinType::Inner => true,
        JoinType::Left | JoinType::LeftSemi | JoinType::LeftAnti | JoinType::LeftMark => {
            join.right().output_partitioning().partition_count() == 1
        }
        _ => false,
    }
}

/// Whether a plan returns the same rows again. A dynamic filter of the first execution may remove
/// rows that the second one needs. The filter of a hash join depends on its build side only, so it
/// is the same if the build side returns the same rows. A recursive query returns its rows once.
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

/// Whether other rows of a plan would be right as well.
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

/// An operator that returns the rows of its input at each execution, or only once. The metrics of
/// the input are those of the first execution.
#[derive(Debug)]
pub(crate) struct Restartable {
    /// Whether it may be executed again.
    pub(crate) restarts: bool,
    has_run: AtomicBool,
    /// The error of the first execution, if the input itself ran out of memory.
    cause: Arc<OnceLock<String>>,
}

/// Makes a `RestartableExec` over an input.
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
