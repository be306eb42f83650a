// SPDX-License-Identifier: Apache-2.0
//! Removes properties of rows that are extended with NULL.
//!
//! Grouping sets replace keys by NULL, and outer joins the columns of a side without a match.
//! DataFusion keeps properties of the input for such rows: constant columns
//! (`WHERE k = 1 GROUP BY ROLLUP(k)`), equalities, orders and partitionings of keys. So rows were
//! not sorted, and a group could be in two partitions.
//!
//! A [`PropertyBarrier`] is put between, which has no properties except statistics. It stays in the
//! plan, because a sort reads the properties of its input again when it is executed:
//!
//! ```text
//! AggregateExec: gby=[(k), ()]            AggregateExec: gby=[(k), ()]
//!   FilterExec: k = 1               =>      PropertyBarrierExec
//!                                             FilterExec: k = 1
//! ```

use std::sync::Arc;

use datafusion::{
    common::{
        JoinType, Result,
        config::ConfigOptions,
        tree_node::{Transformed, TransformedResult, TreeNode},
    },
    physical_expr::EquivalenceProperties,
    physical_optimizer::PhysicalOptimizerRule,
    physical_plan::{
        ExecutionPlan, ExecutionPlanProperties, Partitioning, PlanProperties,
        aggregates::{AggregateExec, AggregateInputMode},
        joins::{HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec},
        replace_children_if_necessary,
    },
};

use super::has_operator;
use crate::{
    pass_through::{PassThrough, PassThroughExec},
    registry::Correction,
    rule::{ReadCorrections, enabled_by},
};

/// Puts barriers below operators that extend rows with NULL.
#[derive(Debug)]
pub(crate) struct ForgetNullExtendedProperties(pub(crate) ReadCorrections);

impl PhysicalOptimizerRule for ForgetNullExtendedProperties {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if !enabled_by(self.0, config).contains(Correction::ForgetNullExtendedProperties)
            || !has_operator(&plan, may_extend)
        {
            return Ok(plan);
        }
        plan.transform_up(|node| {
            let hidden = extended_children(&node);
            if !hidden.contains(&true) {
                return Ok(Transformed::no(node));
            }
            let children = node.children().into_iter().zip(hidden).map(|(child, is_hidden)| {
                let child = Arc::clone(child);
                if is_hidden { barrier_above(child) } else { child }
            });
            let children = children.collect();
            replace_children_if_necessary(node, children).map(Transformed::yes)
        })
        .data()
    }

    fn name(&self) -> &'static str {
        "ForgetNullExtendedProperties"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Returns for each child whether its values may be replaced by NULL, and have properties.
fn extended_children(plan: &Arc<dyn ExecutionPlan>) -> Vec<bool> {
    if let Some(aggregate) = plan.downcast_ref::<AggregateExec>() {
        let is_first = aggregate.mode().input_mode() == AggregateInputMode::Raw;
        return vec![is_first && aggregate.group_expr().has_grouping_set()];
    }
    let (left, right) = match join_type(plan.as_ref()) {
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

/// Whether an operator may extend rows with NULL.
fn may_extend(plan: &dyn ExecutionPlan) -> bool {
    let aggregate = plan.downcast_ref::<AggregateExec>();
    aggregate.is_some_and(|aggregate| aggregate.group_expr().has_grouping_set())
        || matches!(join_type(plan), Some(JoinType::Left | JoinType::Right | JoinType::Full))
}

fn join_type(plan: &dyn ExecutionPlan) -> Option<JoinType> {
    let hash = plan.downcast_ref::<HashJoinExec>().map(HashJoinExec::join_type);
    let nested = plan.downcast_ref::<NestedLoopJoinExec>().map(NestedLoopJoinExec::join_type);
    let merged = plan.downcast_ref::<SortMergeJoinExec>().map(SortMergeJoinExec::join_type);
    hash.or(nested).copied().or(merged)
}

/// An operator without properties of its rows, except statistics.
#[derive(Debug)]
pub(crate) struct PropertyBarrier;

/// Makes a `PropertyBarrierExec` over an input.
pub(crate) fn barrier_above(input: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
    Arc::new(PassThroughExec::new(PropertyBarrier, input))
}

/// Returns the input of a `PropertyBarrierExec`; none for any other operator.
#[must_use]
pub fn input_of_barrier(plan: &Arc<dyn ExecutionPlan>) -> Option<&Arc<dyn ExecutionPlan>> {
    plan.downcast_ref::<PassThroughExec<PropertyBarrier>>().map(PassThroughExec::input)
}

impl PassThrough for PropertyBarrier {
    const NAME: &'static str = "PropertyBarrierExec";
    const KEEPS_ORDER: bool = false;

    fn properties(&self, input: &Arc<dyn ExecutionPlan>) -> Arc<PlanProperties> {
        let partitions = input.output_partitioning().partition_count();
        Arc::new(PlanProperties::new(
            EquivalenceProperties::new(input.schema()),
            Partitioning::UnknownPartitioning(partitions),
            input.pipeline_behavior(),
            input.boundedness(),
        ))
    }

    fn over(&self, input: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(barrier_above(input))
    }
}
