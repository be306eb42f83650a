// SPDX-License-Identifier: Apache-2.0
//! Nested loop joins that run short of memory.
//!
//! DataFusion's nested loop join executes its left side once more when the rows of that do not fit,
//! to put them on disk. But an operator gives its rows once: a scan whose files are dealt out, or a
//! repartition, has none left, and the rows of the join would be lost. And only inner joins are
//! right then: of the others rows that match nothing, or only some of the left rows, come more than
//! once or not at all.
//!
//! [`Repeats`] puts a [`RepeatableExec`] between: the second time it executes the plan below as if
//! for the first time, or, where the join would be wrong, says that memory is short.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use datafusion::{
    common::{
        JoinType, Result, Statistics,
        config::ConfigOptions,
        internal_err, resources_err,
        tree_node::{Transformed, TreeNode, TreeNodeRecursion},
    },
    execution::{SendableRecordBatchStream, TaskContext},
    physical_expr::PhysicalExpr,
    physical_optimizer::PhysicalOptimizerRule,
    physical_plan::{
        DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties,
        execution_plan::{ReplaceChildrenOptions, reset_plan_states},
        joins::NestedLoopJoinExec,
        replace_children_if_necessary,
        statistics::{ChildStats, StatisticsArgs},
    },
};

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
            let is_repeatable =
                *join.join_type() == JoinType::Inner && !produces_filters(join.left())?;
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

/// Whether an operator tells others below it which rows still matter: what it told the first time
/// leaves out rows that matter the second time.
fn produces_filters(plan: &Arc<dyn ExecutionPlan>) -> Result<bool> {
    plan.exists(|node| Ok(!node.dynamic_expressions_produced().is_empty()))
}

/// Gives the rows of its input each time that it is executed, or once.
#[derive(Debug)]
struct RepeatableExec {
    input: Arc<dyn ExecutionPlan>,
    /// Whether it may be executed a second time.
    is_repeatable: bool,
    has_run: AtomicBool,
}

impl RepeatableExec {
    const fn new(input: Arc<dyn ExecutionPlan>, is_repeatable: bool) -> Self {
        Self { input, is_repeatable, has_run: AtomicBool::new(false) }
    }

    fn above(&self, mut children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        match (children.pop(), children.is_empty()) {
            (Some(input), true) => Ok(Arc::new(Self::new(input, self.is_repeatable))),
            _ => internal_err!("rows are repeated of one operator"),
        }
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
        self.above(children)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.above(children)
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
            return self.input.execute(partition, context);
        }
        if !self.is_repeatable {
            return resources_err!("the left side of a nested loop join does not fit in memory");
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
