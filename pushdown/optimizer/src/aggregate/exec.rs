// SPDX-License-Identifier: Apache-2.0
//! Implements [`PartitionedAggregateExec`], which groups and aggregates rows.

use std::{fmt, sync::Arc};

use datafusion::{
    common::{Statistics, internal_err, tree_node::TreeNodeRecursion},
    error::Result,
    execution::{SendableRecordBatchStream, TaskContext},
    physical_expr::PhysicalExpr,
    physical_plan::{
        DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, ReplaceChildrenOptions,
        coop::cooperative,
        metrics::{ExecutionPlanMetricsSet, MetricsSet},
        replace_children_if_necessary,
        statistics::{StatisticsArgs, StatisticsContext},
    },
};

use nearscan_corrections::pass_through::only_child;

use super::{
    collect::Collection,
    plan::Planned,
    run::{self, Start},
};
use crate::executions::Executions;

/// Groups and aggregates the rows of all partitions of its input, in one step.
#[derive(Debug)]
pub struct PartitionedAggregateExec {
    planned: Arc<Planned>,
    /// The subplan that this node replaces; its innermost input is that of this node.
    plan: Arc<dyn ExecutionPlan>,
    executions: Executions<Collection>,
    metrics: ExecutionPlanMetricsSet,
}

impl PartitionedAggregateExec {
    /// An operator that does what was planned in place of `plan`.
    pub(super) fn new(planned: Planned, plan: Arc<dyn ExecutionPlan>) -> Self {
        let (executions, metrics) = (Executions::default(), ExecutionPlanMetricsSet::new());
        Self { planned: Arc::new(planned), plan, executions, metrics }
    }

    /// The subplan that this node replaces, over this node's input.
    pub fn replaced(&self) -> &Arc<dyn ExecutionPlan> {
        &self.plan
    }

    /// The node over another input.
    fn over(&self, input: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
        let plan = replaced_over(&self.plan, &input)?;
        let planned = Planned { input, ..Planned::clone(&self.planned) };
        Ok(Arc::new(Self::new(planned, plan)))
    }
}

/// What a node replaces, over another input: final aggregate, repartitioning and first aggregate.
///
/// # Errors
/// If the plan is none that was replaced.
pub(crate) fn replaced_over(
    plan: &Arc<dyn ExecutionPlan>,
    input: &Arc<dyn ExecutionPlan>,
) -> Result<Arc<dyn ExecutionPlan>> {
    with_innermost_input(plan, 3, input)
}

/// A chain of nodes over another input.
fn with_innermost_input(
    node: &Arc<dyn ExecutionPlan>,
    depth: usize,
    input: &Arc<dyn ExecutionPlan>,
) -> Result<Arc<dyn ExecutionPlan>> {
    if depth == 0 {
        return Ok(Arc::clone(input));
    }
    let children = node.children();
    let [child] = children.as_slice() else {
        return internal_err!("an aggregate has one input");
    };
    let child = with_innermost_input(child, depth - 1, input)?;
    replace_children_if_necessary(Arc::clone(node), vec![child])
}

impl DisplayAs for PartitionedAggregateExec {
    fn fmt_as(&self, t: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if matches!(t, DisplayFormatType::Default | DisplayFormatType::Verbose) {
            f.write_str("PartitionedAggregateExec: ")?;
        }
        self.planned.computed.write_names(&self.plan, f)
    }
}

impl ExecutionPlan for PartitionedAggregateExec {
    fn name(&self) -> &str {
        "PartitionedAggregateExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.plan.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.planned.input]
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.over(only_child(children)?)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.over(only_child(children)?)
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.planned.computed.apply_expressions(f)
    }

    fn reset_state(self: Arc<Self>) -> Result<Arc<dyn ExecutionPlan>> {
        self.over(Arc::clone(&self.planned.input))
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let start = Start {
            planned: &self.planned,
            schema: self.plan.schema(),
            executions: &self.executions,
            metrics: &self.metrics,
        };
        Ok(Box::pin(cooperative(run::partition_stream(start, partition, &context))))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn statistics_from_inputs(
        &self,
        _inputs: &[Arc<Statistics>],
        args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        StatisticsContext::new().compute(self.plan.as_ref(), args)
    }
}
