// SPDX-License-Identifier: Apache-2.0
//! Aggregates over several grouping sets.
//!
//! ROLLUP, CUBE and GROUPING SETS give rows in which some keys are NULL. DataFusion says of them
//! what it knows of the input: that a key is a constant (`WHERE k = 1 GROUP BY ROLLUP(k)`), equal
//! to another one, in order, or what rows are dealt out by. So they were not sorted by such a key,
//! and could come in two partitions. [`Rollups`] puts an operator between that knows nothing.

use std::{fmt, sync::Arc};

use datafusion::{
    common::{
        Result,
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
        replace_children_if_necessary,
    },
};

use super::only_child;

/// Keeps aggregates over several grouping sets from what is known of their input.
#[derive(Debug)]
pub(super) struct Rollups;

impl PhysicalOptimizerRule for Rollups {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let plan = plan.transform_up(|node| {
            let Some(aggregate) = node.downcast_ref::<AggregateExec>() else {
                return Ok(Transformed::no(node));
            };
            let is_first = aggregate.mode().input_mode() == AggregateInputMode::Raw;
            if !is_first || !aggregate.group_expr().has_grouping_set() {
                return Ok(Transformed::no(node));
            }
            let input = Arc::new(UnknownExec::new(Arc::clone(aggregate.input())));
            replace_children_if_necessary(node, vec![input]).map(Transformed::yes)
        })?;
        Ok(plan.data)
    }

    fn name(&self) -> &'static str {
        "Rollups"
    }

    fn schema_check(&self) -> bool {
        true
    }
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

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        self.input.execute(partition, context)
    }
}
