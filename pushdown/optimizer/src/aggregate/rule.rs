// SPDX-License-Identifier: Apache-2.0
//! Implements [`PartitionedAggregateRule`], which replaces aggregates as a physical optimizer rule.

use std::sync::Arc;

use datafusion::{
    common::tree_node::{Transformed, TransformedResult, TreeNode},
    config::ConfigOptions,
    error::Result,
    execution::SessionStateBuilder,
    physical_optimizer::PhysicalOptimizerRule,
    physical_plan::ExecutionPlan,
};

use super::{direct::DirectAggregateExec, exec::PartitionedAggregateExec, plan::Planned};
use crate::settings::{AggregateOperator, NearscanOptions};

/// Replaces grouped aggregates in two phases, and those over windows.
#[derive(Debug, Clone, Copy, Default)]
pub struct PartitionedAggregateRule;

impl PartitionedAggregateRule {
    /// Name of the rule in EXPLAIN VERBOSE.
    pub const NAME: &'static str = "PartitionedAggregate";

    /// Puts the rule into a session that is being built, behind all rules that are there already:
    /// they know the operators that it replaces, and not its own.
    pub fn install(self, state: &mut SessionStateBuilder) {
        state.physical_optimizers().get_or_insert_default().rules.push(Arc::new(self));
    }
}

impl PhysicalOptimizerRule for PartitionedAggregateRule {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let options = config.extensions.get::<NearscanOptions>();
        if options.is_some_and(|options| options.aggregate == AggregateOperator::DataFusion) {
            return Ok(plan);
        }
        let order = options.map(|options| options.pushdown.float_order).unwrap_or_default();
        let replaced = plan.transform_up(|node| {
            if let Some(planned) = Planned::of(&node, order) {
                let aggregate = PartitionedAggregateExec::new(planned, node);
                return Ok(Transformed::yes(Arc::new(aggregate) as _));
            }
            Ok(match DirectAggregateExec::of(&node) {
                Some(aggregate) => Transformed::yes(Arc::new(aggregate) as _),
                None => Transformed::no(node),
            })
        });
        replaced.data()
    }

    fn name(&self) -> &str {
        Self::NAME
    }

    fn schema_check(&self) -> bool {
        true
    }
}
