// SPDX-License-Identifier: Apache-2.0
//! Implements [`PushdownRule`], which calls [`decide`] as a physical optimizer rule.
//!
//! Its place in the list of rules is that of [`PushdownRule::install`].

use std::sync::{Arc, Mutex, PoisonError};

use datafusion::{
    config::ConfigOptions, error::Result, execution::SessionStateBuilder,
    physical_optimizer::PhysicalOptimizerRule, physical_plan::ExecutionPlan,
};

use crate::{
    context::PushdownContext,
    cost::{CoreRates, HostRates},
    decide::decide,
    decision::Candidate,
    planning::{DriveView, PlanningContext},
    settings::{HostOptions, NearscanOptions},
};

tokio::task_local! {
    /// The decisions of the rule. DataFusion's rules return nothing but a plan, and one rule serves
    /// all queries of a session.
    static DECIDED: Arc<Mutex<Vec<Candidate>>>;
}

/// Runs a future that plans, and returns its output with the decisions of the rule, also if no
/// drive is attached.
pub async fn recorded<F: Future>(planning: F) -> (F::Output, Vec<Candidate>) {
    let decided = Arc::new(Mutex::default());
    let output = DECIDED.scope(Arc::clone(&decided), planning).await;
    let candidates = std::mem::take(&mut *decided.lock().unwrap_or_else(PoisonError::into_inner));
    (output, candidates)
}

/// DataFusion's rule in front of ours.
const PUSHDOWN_SORT: &str = "PushdownSort";

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

    /// Puts the rule into a session that is being built, after `PushdownSort`: all rules that shape
    /// the plan have run, and the later ones still process our operators. `EnsureCooperative` wraps
    /// them, the second filter pushdown gives them dynamic filters, and the sanity check covers
    /// them. A rule appended at the end would have none of that.
    pub fn install(self, state: &mut SessionStateBuilder) {
        // The builder's own `physical_optimizer_rules` are those that it appends.
        let rules = &mut state.physical_optimizers().get_or_insert_default().rules;
        let slot = rules.iter().position(|rule| rule.name() == PUSHDOWN_SORT);
        let slot = slot.map_or(rules.len(), |before| before + 1);
        rules.insert(slot, Arc::new(self));
    }
}

/// Returns the current inputs of a decision.
pub fn planning_context(context: &PushdownContext, config: &ConfigOptions) -> PlanningContext {
    let options = config.extensions.get::<NearscanOptions>().cloned().unwrap_or_default();
    let view = |(name, drive): (String, Arc<dyn nearscan_drive::Drive>)| DriveView {
        capabilities: drive.capabilities().clone(),
        snapshot: context.snapshot(&name, drive.as_ref()),
        name,
    };
    let core = core_rates(context.core_rates(), &options.host);
    PlanningContext {
        options: options.pushdown,
        drives: context.drives.list().into_iter().map(view).collect(),
        host: HostRates {
            queries: context.running_queries(),
            ..HostRates::new(config.execution.target_partitions, core)
        },
        quarantined: context.quarantined(),
        query_id: context.next_query_id(),
    }
}

/// Returns the rates of a core: those of the settings, otherwise measured or typical ones.
#[expect(clippy::cast_precision_loss, reason = "a rate has few digits")]
pub fn core_rates(measured: Option<CoreRates>, options: &HostOptions) -> CoreRates {
    let found = measured.unwrap_or(CoreRates::TYPICAL);
    let rate = |set: Option<u64>, found: f64| set.map_or(found, |rate| rate as f64);
    CoreRates {
        decode_bytes_per_s: rate(options.decode_bytes_per_s, found.decode_bytes_per_s),
        decode_values_per_s: rate(options.decode_values_per_s, found.decode_values_per_s),
        merge_rows_per_s: rate(options.merge_rows_per_s, found.merge_rows_per_s),
        result_bytes_per_s: rate(options.result_bytes_per_s, found.result_bytes_per_s),
    }
}

impl PhysicalOptimizerRule for PushdownRule {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let record = DECIDED.try_with(Arc::clone).ok();
        // Without a drive planning must cost nothing, unless candidates are recorded.
        if self.context.drives.is_empty() && record.is_none() {
            return Ok(plan);
        }
        let (plan, candidates) = decide(plan, &planning_context(&self.context, config))?;
        if let Some(record) = record {
            record.lock().unwrap_or_else(PoisonError::into_inner).extend(candidates);
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
