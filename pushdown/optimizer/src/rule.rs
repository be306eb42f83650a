// SPDX-License-Identifier: Apache-2.0
//! [`PushdownRule`]: [`decide`] as a physical optimizer rule.
//!
//! Its place is right after `PushdownSort` and before `EnsureCooperative`: all shapes are final
//! there, the post-optimisation filter pushdown still comes and hands our leaves their dynamic
//! filters, and the sanity check sees them.

use std::sync::Arc;

use datafusion::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;

use crate::context::PushdownContext;
use crate::cost::HostRates;
use crate::decide::{DriveView, Surroundings, decide};
use crate::settings::NearscanOptions;

/// Moves fragments of plans to drives.
#[derive(Debug)]
pub struct PushdownRule {
    context: Arc<PushdownContext>,
}

impl PushdownRule {
    /// Name of the rule in EXPLAIN VERBOSE.
    pub const NAME: &'static str = "Pushdown";

    /// A rule over the drives of a context.
    pub fn new(context: Arc<PushdownContext>) -> Self {
        Self { context }
    }
}

/// What a decision depends on, as it is now.
pub fn surroundings(context: &PushdownContext, config: &ConfigOptions) -> Surroundings {
    let options = config.extensions.get::<NearscanOptions>().cloned().unwrap_or_default();
    let view = |(name, drive): (String, Arc<dyn nearscan_drive::Drive>)| DriveView {
        capabilities: drive.capabilities().clone(),
        snapshot: drive.snapshot(),
        name,
    };
    Surroundings {
        options: options.pushdown,
        drives: context.drives.list().into_iter().map(view).collect(),
        host: HostRates::with_cores(config.execution.target_partitions),
        quarantined: context.quarantined(),
        query_id: context.next_query_id(),
    }
}

impl PhysicalOptimizerRule for PushdownRule {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        // Without a drive planning must cost nothing.
        if self.context.drives.is_empty() {
            return Ok(plan);
        }
        Ok(decide(plan, &surroundings(&self.context, config))?.0)
    }

    fn name(&self) -> &str {
        Self::NAME
    }

    fn schema_check(&self) -> bool {
        true
    }
}
