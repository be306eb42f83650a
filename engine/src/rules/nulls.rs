// SPDX-License-Identifier: Apache-2.0
//! NULL in the place of values.
//!
//! Grouping sets put NULL in the place of keys, outer joins in that of a side without a match.
//! DataFusion says of such rows what it knows of the input: that a column is a constant (`WHERE k =
//! 1 GROUP BY ROLLUP(k)`), and of keys that they are equal, in order, or what rows are dealt out
//! by. So rows were not sorted, and groups could come in two partitions. [`Nulls`] puts an operator
//! between that knows nothing.

use std::{fmt, sync::Arc};

use datafusion::{
    common::{
        JoinType, Result,
        config::ConfigOptions,
        tree_node::{Transformed, TreeNode, TreeNodeRecursion},
    },
    execution::{SendableRecordBatchStream, TaskContext},
    physical_expr::{EquivalenceProperties, PhysicalExpr},
    physical_optimizer::PhysicalOptimizerRule,
    physical_plan::{
        DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, Partitioning,
        PlanProperties,
        aggregates::{AggregateExec, AggregateInputMode},
        filter_pushdown::{FilterDescription, FilterPushdownPhase},
        joins::{HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec},
        replace_children_if_necessary,
    },
};

use super::only_child;

/// Keeps such operators from what is known of their input.
#[derive(Debug)]
pub(super) struct Nulls;

impl PhysicalOptimizerRule for Nulls {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let plan = plan.transform_up(|node| {
            let hidden = replaced_children(&node);
            if !hidden.contains(&true) {
                return Ok(Transformed::no(node));
            }
            let children = node.children().into_iter().zip(hidden).map(|(child, is_hidden)| {
                let child = Arc::clone(child);
                if is_hidden { Arc::new(UnknownExec::new(child)) } else { child }
            });
            let children = children.collect();
            replace_children_if_necessary(node, children).map(Transformed::yes)
        })?;
        Ok(plan.data)
    }

    fn name(&self) -> &'static str {
        "Nulls"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// For each child whether NULL takes the place of its values, and something is known of these.
fn replaced_children(plan: &Arc<dyn ExecutionPlan>) -> Vec<bool> {
    if let Some(aggregate) = plan.downcast_ref::<AggregateExec>() {
        let is_first = aggregate.mode().input_mode() == AggregateInputMode::Raw;
        return vec![is_first && aggregate.group_expr().has_grouping_set()];
    }
    let (left, right) = match join_type(plan) {
        Some(JoinType::Left) => (false, true),
        Some(JoinType::Right) => (true, false),
        Some(JoinType::Full) => (true, true),
        _ => return Vec::new(),
    };
    let has_constants =
        |child: &Arc<dyn ExecutionPlan>| !child.equivalence_properties().constants().is_empty();
    let sides = plan.children().into_iter().zip([left, right]);
    sides.map(|(side, is_outer)| is_outer && has_constants(side)).collect()
}

fn join_type(plan: &Arc<dyn ExecutionPlan>) -> Option<JoinType> {
    let hash = plan.downcast_ref::<HashJoinExec>().map(HashJoinExec::join_type);
    let nested = plan.downcast_ref::<NestedLoopJoinExec>().map(NestedLoopJoinExec::join_type);
    let merged = plan.downcast_ref::<SortMergeJoinExec>().map(SortMergeJoinExec::join_type);
    hash.or(nested).copied().or(merged)
}

/// Gives the rows of its input, of which nothing is known.
#[derive(Debug)]
struct UnknownExec {
    input: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
}

impl UnknownExec {
    fn new(input: Arc<dyn ExecutionPlan>) -> Self {
        let partitions = input.output_partitioning().partition_count();
        let properties = PlanProperties::new(
            EquivalenceProperties::new(input.schema()),
            Partitioning::UnknownPartitioning(partitions),
            input.pipeline_behavior(),
            input.boundedness(),
        );
        Self { input, properties: Arc::new(properties) }
    }
}

impl DisplayAs for UnknownExec {
    fn fmt_as(&self, form: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match form {
            DisplayFormatType::TreeRender => Ok(()),
            DisplayFormatType::Default | DisplayFormatType::Verbose => f.write_str(self.name()),
        }
    }
}

impl ExecutionPlan for UnknownExec {
    fn name(&self) -> &'static str {
        "UnknownExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
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
        Ok(Arc::new(Self::new(only_child(children)?)))
    }

    fn apply_expressions(
        &self,
        _f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn gather_filters_for_pushdown(
        &self,
        _phase: FilterPushdownPhase,
        parent_filters: Vec<Arc<dyn PhysicalExpr>>,
        _config: &ConfigOptions,
    ) -> Result<FilterDescription> {
        FilterDescription::from_children(parent_filters, &self.children())
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        self.input.execute(partition, context)
    }
}
