// SPDX-License-Identifier: Apache-2.0
//! Implements [`FusedScanRule`], which replaces scans as a physical optimizer rule.

use std::sync::Arc;

use datafusion::{
    config::ConfigOptions, error::Result, execution::SessionStateBuilder,
    physical_optimizer::PhysicalOptimizerRule, physical_plan::ExecutionPlan,
};

use super::{choice, decide::decide};
use crate::{
    PushdownRule,
    settings::{NearscanOptions, ScanReader},
};

/// Replaces scans that no drive has.
#[derive(Debug, Clone, Copy, Default)]
pub struct FusedScanRule;

impl FusedScanRule {
    /// Name of the rule in EXPLAIN VERBOSE.
    pub const NAME: &'static str = "FusedScan";

    /// Puts the rule into a session that is being built, directly behind [`PushdownRule`], which
    /// must be there already: drives come first, and the later rules process the operators of both.
    pub fn install(self, state: &mut SessionStateBuilder) {
        let rules = &mut state.physical_optimizers().get_or_insert_default().rules;
        let slot = rules.iter().position(|rule| rule.name() == PushdownRule::NAME);
        let slot = slot.map_or(rules.len(), |before| before + 1);
        rules.insert(slot, Arc::new(self));
    }
}

impl PhysicalOptimizerRule for FusedScanRule {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let options = config.extensions.get::<NearscanOptions>();
        if options.is_some_and(|options| options.scan == ScanReader::DataFusion) {
            return Ok(plan);
        }
        let order = options.map(|options| options.pushdown.float_order).unwrap_or_default();
        let (plan, choices) = decide(plan, order, config.execution.batch_size.get())?;
        choice::record(choices);
        Ok(plan)
    }

    fn name(&self) -> &str {
        Self::NAME
    }

    fn schema_check(&self) -> bool {
        true
    }
}
