// SPDX-License-Identifier: Apache-2.0
//! Implements [`FusedScanRule`], which replaces scans as a physical optimizer rule.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use datafusion::{
    config::ConfigOptions, error::Result, execution::SessionStateBuilder,
    physical_optimizer::PhysicalOptimizerRule, physical_plan::ExecutionPlan,
};

use super::decide::decide;
use crate::{
    PushdownRule,
    decision::Kept,
    settings::{NearscanOptions, ScanReader},
};

/// Which reader a scan has.
#[derive(Debug, Clone, PartialEq)]
pub struct ScanChoice {
    /// Name of the table.
    pub table: String,
    /// The reason why DataFusion reads it; none if the fused scan does.
    pub kept: Option<Kept>,
    /// Row groups that DataFusion reads all the same, and the reason of the first.
    pub row_groups_kept: Option<(usize, Kept)>,
}

impl fmt::Display for ScanChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kept {
            Some(kept) => write!(f, "{}: reader=datafusion ({})", self.table, reason(kept)),
            None => write!(f, "{}: reader=fused", self.table),
        }?;
        match &self.row_groups_kept {
            Some((count, kept)) => {
                write!(f, ", of {count} row groups datafusion ({})", reason(kept))
            }
            None => Ok(()),
        }
    }
}

fn reason(kept: &Kept) -> String {
    match kept.detail.as_str() {
        "" => kept.reason.word().to_owned(),
        detail => format!("{}: {detail}", kept.reason.word()),
    }
}

tokio::task_local! {
    /// The choices of the rule: rules return nothing but a plan, and one rule serves all queries.
    static CHOSEN: Arc<Mutex<Vec<ScanChoice>>>;
}

impl ScanChoice {
    /// Runs a future that plans, and returns its output with the choices of the rule.
    pub async fn recorded<F: Future>(planning: F) -> (F::Output, Vec<Self>) {
        let chosen = Arc::new(Mutex::default());
        let output = CHOSEN.scope(Arc::clone(&chosen), planning).await;
        let choices = std::mem::take(&mut *chosen.lock().unwrap_or_else(PoisonError::into_inner));
        (output, choices)
    }
}

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
        if let Ok(record) = CHOSEN.try_with(Arc::clone) {
            record.lock().unwrap_or_else(PoisonError::into_inner).extend(choices);
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
