// SPDX-License-Identifier: Apache-2.0
//! Implements [`JoinOrderRule`], which orders joins as a physical optimizer rule.

use std::sync::Arc;

use datafusion::{
    config::ConfigOptions,
    error::Result,
    execution::SessionStateBuilder,
    physical_optimizer::PhysicalOptimizerRule,
    physical_plan::{ExecutionPlan, replace_children_if_necessary},
};
use nearscan_join_order::{CostModel, Order, choose};

use super::{rebuild::rebuilt, region::Region, seen::Stage};
use crate::settings::{JoinOrder, NearscanOptions};

/// DataFusion's rule that chooses the sides of single joins.
const JOIN_SELECTION: &str = "join_selection";

/// Fewer relations have one join, whose sides DataFusion has chosen.
const RELATIONS_MIN: usize = 3;

/// Orders joins by cost.
#[derive(Debug, Clone, Copy, Default)]
pub struct JoinOrderRule;

impl JoinOrderRule {
    /// Name of the rule in EXPLAIN VERBOSE.
    pub const NAME: &'static str = "JoinOrder";

    /// Puts the rule into a session that is being built, behind the rule that chooses sides and
    /// before rows are distributed.
    pub fn install(self, state: &mut SessionStateBuilder) {
        let rules = &mut state.physical_optimizers().get_or_insert_default().rules;
        let slot = rules.iter().position(|rule| rule.name() == JOIN_SELECTION);
        if let Some(slot) = slot {
            rules.insert(slot + 1, Arc::new(self));
        }
    }
}

impl PhysicalOptimizerRule for JoinOrderRule {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let options = config.extensions.get::<NearscanOptions>();
        if options.map(|options| options.join_order).unwrap_or_default() == JoinOrder::DataFusion {
            return Ok(plan);
        }
        let limits = &config.optimizer;
        #[expect(clippy::cast_precision_loss, reason = "the numbers have few digits")]
        let model = CostModel {
            collect_bytes_max: limits.hash_join_single_partition_threshold as f64,
            collect_rows_max: limits.hash_join_single_partition_threshold_rows as f64,
            threads: config.execution.target_partitions as f64,
            ..CostModel::default()
        };
        ordered(plan, &model)
    }

    fn name(&self) -> &str {
        Self::NAME
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// A plan with its joins in order, also those below relations.
fn ordered(plan: Arc<dyn ExecutionPlan>, model: &CostModel) -> Result<Arc<dyn ExecutionPlan>> {
    let Some(mut region) = Region::of(&plan, Stage::Ordering) else {
        let children = plan.children().into_iter().map(Arc::clone);
        let children = children.map(|child| ordered(child, model)).collect::<Result<Vec<_>>>()?;
        return replace_children_if_necessary(plan, children);
    };
    // Estimates are of the relations as they were, since theirs stay the same.
    let query = region.query().filter(|query| query.relations.len() >= RELATIONS_MIN);
    let order = query.and_then(|query| choose(&query, model).ok().flatten());
    if let Some(Order { method, cost, original_cost, .. }) = &order {
        let relations = region.relations.len();
        tracing::debug!(relations, ?method, cost, original_cost, "joins are ordered");
    }
    let mut is_changed = false;
    for relation in &mut region.relations {
        let inner = ordered(Arc::clone(relation), model)?;
        is_changed |= !Arc::ptr_eq(&inner, relation);
        *relation = inner;
    }
    let Some(order) = order else {
        return match is_changed {
            true => region.with_relations(plan),
            false => Ok(plan),
        };
    };
    match rebuilt(&region, &order.plan)? {
        Some(new) if new.schema() == plan.schema() => Ok(new),
        Some(_) | None => region.with_relations(plan),
    }
}
