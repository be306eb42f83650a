// SPDX-License-Identifier: Apache-2.0
//! Implements [`GraceHashJoinExec`], a hash join whose sides may be larger than memory.

use std::{any::Any, fmt, sync::Arc};

use datafusion::{
    common::{Statistics, internal_err, tree_node::TreeNodeRecursion},
    error::Result,
    execution::{SendableRecordBatchStream, TaskContext, memory_pool::MemoryLimit},
    physical_expr::PhysicalExpr,
    physical_plan::{
        DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, ReplaceChildrenOptions,
        coop::cooperative,
        joins::HashJoinExec,
        metrics::{ExecutionPlanMetricsSet, MetricsSet},
        replace_children_if_necessary,
        statistics::{ChildStats, StatisticsArgs},
    },
};

use super::run::{Builds, partition_stream};
use crate::{executions::Executions, fused::collects_keys_together};

/// A hash join that writes rows to temporary files when its build side does not fit into memory.
///
/// Where the memory pool has no limit it is DataFusion's join.
#[derive(Debug)]
pub struct GraceHashJoinExec {
    join: Arc<HashJoinExec>,
    executions: Executions<Builds>,
    metrics: ExecutionPlanMetricsSet,
}

impl GraceHashJoinExec {
    /// The operator in place of a plan, if that is a hash join.
    pub(super) fn of(plan: Arc<dyn ExecutionPlan>) -> Option<Self> {
        let join = (plan as Arc<dyn Any + Send + Sync>).downcast::<HashJoinExec>().ok()?;
        let (executions, metrics) = (Executions::default(), ExecutionPlanMetricsSet::new());
        Some(Self { join, executions, metrics })
    }

    /// The join that this node replaces, over this node's inputs.
    pub const fn replaced(&self) -> &Arc<HashJoinExec> {
        &self.join
    }

    /// The node over the same join with changes.
    fn over(&self, join: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
        match Self::of(join) {
            Some(join) => Ok(Arc::new(join)),
            None => internal_err!("a hash join over other inputs is a hash join"),
        }
    }

    fn as_join(&self) -> Arc<dyn ExecutionPlan> {
        Arc::clone(&self.join) as Arc<dyn ExecutionPlan>
    }
}

impl DisplayAs for GraceHashJoinExec {
    fn fmt_as(&self, t: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match t {
            DisplayFormatType::Default | DisplayFormatType::Verbose => f.write_str("Grace")?,
            DisplayFormatType::TreeRender => {}
        }
        self.join.fmt_as(t, f)
    }
}

impl ExecutionPlan for GraceHashJoinExec {
    fn name(&self) -> &'static str {
        "GraceHashJoinExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.join.properties()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![false, false]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.join.children()
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.over(replace_children_if_necessary(self.as_join(), children)?)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.over(self.as_join().replace_children(children, options)?)
    }

    fn reset_state(self: Arc<Self>) -> Result<Arc<dyn ExecutionPlan>> {
        self.over(self.as_join().reset_state()?)
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.join.apply_expressions(f)
    }

    fn fetch(&self) -> Option<usize> {
        self.join.fetch()
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        if !matches!(context.memory_pool().memory_limit(), MemoryLimit::Finite(_)) {
            return self.join.execute(partition, context);
        }
        let partitions = self.properties().output_partitioning().partition_count();
        let builds = collects_keys_together(self.join.left()).then(|| {
            let new = || Builds::of_partitions(partitions);
            self.executions.start(&context, partitions, partition, new)
        });
        let rows = partition_stream(&self.join, builds, &self.metrics, partition, &context);
        Ok(Box::pin(cooperative(rows)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        self.join.child_stats_requests(partition)
    }

    fn statistics_from_inputs(
        &self,
        inputs: &[Arc<Statistics>],
        args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        self.join.statistics_from_inputs(inputs, args)
    }
}
