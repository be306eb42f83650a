// SPDX-License-Identifier: Apache-2.0
//! Corrects plans between the logical and the physical optimizer.
//!
//! It removes the barriers of the logical optimizer, and hides what physical planning would
//! misread: casts and constants ([`expressions`](crate::expressions)), and intervals
//! ([`predicate_intervals`]). Most plans have none of these, and are planned without a copy.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use datafusion::{
    catalog::Session,
    common::Result,
    execution::{SessionState, context::QueryPlanner},
    logical_expr::{Expr, LogicalPlan},
    physical_plan::ExecutionPlan,
    physical_planner::{DefaultPhysicalPlanner, PhysicalPlanner},
};

use crate::{
    barrier, expressions,
    logical::predicate_intervals,
    registry::Correction,
    rule::{ReadCorrections, enabled_by},
    set::CorrectionSet,
    walk::{Rewrite, Schemas, has_expression},
};

/// Corrects a plan, and passes it to another planner.
pub(crate) struct CorrectingPlanner {
    inner: Option<Arc<dyn QueryPlanner + Send + Sync>>,
    enabled: ReadCorrections,
}

impl CorrectingPlanner {
    /// Wraps a planner, or DataFusion's default.
    pub(crate) fn around(
        inner: Option<Arc<dyn QueryPlanner + Send + Sync>>,
        enabled: ReadCorrections,
    ) -> Self {
        Self { inner, enabled }
    }

    async fn plan(
        &self,
        plan: &LogicalPlan,
        session: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match &self.inner {
            Some(planner) => planner.create_physical_plan(plan, session).await,
            None => DefaultPhysicalPlanner::default().create_physical_plan(plan, session).await,
        }
    }
}

#[async_trait]
impl QueryPlanner for CorrectingPlanner {
    async fn create_physical_plan(
        &self,
        plan: &LogicalPlan,
        session: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let enabled = enabled_by(self.enabled, session.config_options());
        let other_session = without_piecewise_merge_join(session, enabled);
        let session = other_session.as_ref().map_or(session, |state| state as &dyn Session);
        match corrected(plan, enabled)? {
            Some(plan) => self.plan(&plan, session).await,
            None => self.plan(plan, session).await,
        }
    }
}

impl fmt::Debug for CorrectingPlanner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CorrectingPlanner").field("inner", &self.inner).finish_non_exhaustive()
    }
}

/// Returns a session without `PiecewiseMergeJoinExec`, if this one enables it. That operator treats
/// the sides of `a <= b` as equal, and in several partitions outer joins lose unmatched rows.
fn without_piecewise_merge_join(
    session: &dyn Session,
    enabled: CorrectionSet,
) -> Option<SessionState> {
    if !session.config_options().optimizer.enable_piecewise_merge_join
        || !enabled.contains(Correction::DisablePiecewiseMergeJoin)
    {
        return None;
    }
    tracing::warn!(
        correction = %Correction::DisablePiecewiseMergeJoin,
        "datafusion.optimizer.enable_piecewise_merge_join has no effect"
    );
    let mut state = session.as_any().downcast_ref::<SessionState>()?.clone();
    let options = state.config_mut().options_mut();
    options.optimizer.enable_piecewise_merge_join = false;
    Some(state)
}

/// Returns the corrected plan for physical planning; nothing if the plan needs no change.
fn corrected(plan: &LogicalPlan, enabled: CorrectionSet) -> Result<Option<LogicalPlan>> {
    if enabled.is_empty() {
        return Ok(None);
    }
    let mut change = |node| {
        let node = barrier::remove_held(node)?
            .transform_data(|node| expressions::hide_from_planning(node, enabled))?;
        match enabled.contains(Correction::HidePredicateIntervals) {
            true => node.transform_data(predicate_intervals::hide),
            false => Ok(node),
        }
    };
    Rewrite { may_change: &is_suspect, change: &mut change, schemas: Schemas::Kept }.plan(plan)
}

/// Whether an operator has a barrier, or something to hide.
fn is_suspect(node: &LogicalPlan) -> Result<bool> {
    let is_suspect_part =
        |part: &Expr| barrier::is_held(part) || expressions::is_suspect_in_planning(node, part);
    Ok(predicate_intervals::is_suspect(node) || has_expression(node, is_suspect_part)?)
}
