// SPDX-License-Identifier: Apache-2.0
//! Nested loop joins that run short of memory.
//!
//! DataFusion's nested loop join executes its left side once more when the rows of that do not fit,
//! to put them on disk, and then joins them part by part. But an operator gives its rows once: a
//! scan whose files are dealt out, or a repartition, has none left, and the rows of the join would
//! be lost. And not every join is right then: where several partitions are joined to the left rows,
//! each of them says which left rows match nothing; and the right rows that match nothing are
//! forgotten when it is the last part that fills the memory.
//!
//! [`Repeats`] puts a [`RepeatableExec`] between: the second time it executes the plan below as if
//! for the first time, or, where the join would be wrong, ends as the first time did.

use std::{
    fmt,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

use datafusion::{
    common::{
        DataFusionError, JoinType, Result, Statistics,
        config::ConfigOptions,
        internal_err,
        tree_node::{Transformed, TreeNode, TreeNodeRecursion},
    },
    execution::{SendableRecordBatchStream, TaskContext},
    physical_expr::PhysicalExpr,
    physical_expr_common::physical_expr,
    physical_optimizer::PhysicalOptimizerRule,
    physical_plan::{
        DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties,
        execution_plan::reset_plan_states,
        joins::{HashJoinExec, NestedLoopJoinExec},
        replace_children_if_necessary,
        statistics::{ChildStats, StatisticsArgs},
        stream::RecordBatchStreamAdapter,
        work_table::WorkTableExec,
    },
};
use futures::TryStreamExt;

use super::only_child;

/// Lets nested loop joins execute their left side again.
#[derive(Debug)]
pub(super) struct Repeats;

impl PhysicalOptimizerRule for Repeats {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let plan = plan.transform_up(|node| {
            let Some(join) = node.downcast_ref::<NestedLoopJoinExec>() else {
                return Ok(Transformed::no(node));
            };
            let is_repeatable = is_right_in_parts(join) && gives_same_rows(join.left())?;
            let left = Arc::new(RepeatableExec::new(Arc::clone(join.left()), is_repeatable));
            let children: Vec<Arc<dyn ExecutionPlan>> = vec![left, Arc::clone(join.right())];
            replace_children_if_necessary(node, children).map(Transformed::yes)
        })?;
        Ok(plan.data)
    }

    fn name(&self) -> &'static str {
        "Repeats"
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

/// Gives the rows of its input each time that it is executed, or once. What the input counts is of
/// the first time.
#[derive(Debug)]
struct RepeatableExec {
    input: Arc<dyn ExecutionPlan>,
    /// Whether it may be executed a second time.
    is_repeatable: bool,
    has_run: AtomicBool,
    /// What the first time ended with, if the input itself ran short.
    cause: Arc<OnceLock<String>>,
}

impl RepeatableExec {
    fn new(input: Arc<dyn ExecutionPlan>, is_repeatable: bool) -> Self {
        let (has_run, cause) = (AtomicBool::new(false), Arc::default());
        Self { input, is_repeatable, has_run, cause }
    }
}

impl DisplayAs for RepeatableExec {
    fn fmt_as(&self, form: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match form {
            DisplayFormatType::TreeRender => Ok(()),
            DisplayFormatType::Default | DisplayFormatType::Verbose => f.write_str(self.name()),
        }
    }
}

impl ExecutionPlan for RepeatableExec {
    fn name(&self) -> &'static str {
        "RepeatableExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(Self::new(only_child(children)?, self.is_repeatable)))
    }

    fn apply_expressions(
        &self,
        _f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        if !self.has_run.swap(true, Ordering::Relaxed) {
            let rows = self.input.execute(partition, context)?;
            let cause = Arc::clone(&self.cause);
            let rows = rows.inspect_err(move |error| {
                if let DataFusionError::ResourcesExhausted(text) = error.find_root() {
                    cause.get_or_init(|| text.clone());
                }
            });
            return Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows)));
        }
        if !self.is_repeatable {
            let own = "the left side of a nested loop join does not fit in memory";
            let cause = self.cause.get().map_or(own, String::as_str);
            return Err(DataFusionError::ResourcesExhausted(cause.to_owned()));
        }
        reset_plan_states(Arc::clone(&self.input))?.execute(partition, context)
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        vec![ChildStats::At(partition)]
    }

    fn statistics_from_inputs(
        &self,
        input: &[Arc<Statistics>],
        _args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        match input {
            [input] => Ok(Arc::clone(input)),
            _ => internal_err!("rows are repeated of one operator"),
        }
    }
}
