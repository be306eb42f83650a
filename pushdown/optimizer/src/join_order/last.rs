// SPDX-License-Identifier: Apache-2.0
//! Implements [`LastPlanRule`], which keeps the plan that EXPLAIN shows, so that its joins can be
//! estimated: DataFusion's operator has only its text.

use std::sync::{Arc, Mutex, PoisonError};

use datafusion::{
    config::ConfigOptions, error::Result, execution::SessionStateBuilder,
    physical_optimizer::PhysicalOptimizerRule, physical_plan::ExecutionPlan,
};

/// A plan that may come.
type Kept = Arc<Mutex<Option<Arc<dyn ExecutionPlan>>>>;

tokio::task_local! {
    /// The plan: rules return it to the planner only, and one rule serves all queries.
    static KEPT: Kept;
}

/// Keeps the last plan, if somebody asked for it, and changes none.
#[derive(Debug, Clone, Copy, Default)]
pub struct LastPlanRule;

impl LastPlanRule {
    /// Name of the rule in EXPLAIN VERBOSE.
    pub const NAME: &'static str = "LastPlan";

    /// Puts the rule into a session that is being built, behind all rules that are there already.
    pub fn install(self, state: &mut SessionStateBuilder) {
        state.physical_optimizers().get_or_insert_default().rules.push(Arc::new(self));
    }

    /// Runs a future that plans, and returns its output with the physical plan, if one was made.
    pub async fn kept<F: Future>(planning: F) -> (F::Output, Option<Arc<dyn ExecutionPlan>>) {
        let kept = Kept::default();
        let output = KEPT.scope(Arc::clone(&kept), planning).await;
        let plan = kept.lock().unwrap_or_else(PoisonError::into_inner).take();
        (output, plan)
    }
}

impl PhysicalOptimizerRule for LastPlanRule {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if let Ok(kept) = KEPT.try_with(Arc::clone) {
            *kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&plan));
        }
        Ok(plan)
    }

    fn name(&self) -> &str {
        Self::NAME
    }

    fn schema_check(&self) -> bool {
        true
    }
}
