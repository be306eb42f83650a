// SPDX-License-Identifier: Apache-2.0
//! Sees in a finished plan the operators that joins were ordered over.
//!
//! After joins are ordered, rows are distributed and sorted, and scans, aggregates and joins are
//! replaced by operators of ours, which still have what they replace.

use std::sync::Arc;

use datafusion::physical_plan::{
    ExecutionPlan,
    coalesce_partitions::CoalescePartitionsExec,
    coop::CooperativeExec,
    joins::HashJoinExec,
    repartition::RepartitionExec,
    sorts::{sort::SortExec, sort_preserving_merge::SortPreservingMergeExec},
};
use nearscan_corrections::input_of_unchanged;

use crate::{
    aggregate::{DirectAggregateExec, PartitionedAggregateExec},
    clustered::WindowsExec,
    exec::PushdownExec,
    fused::{FusedScanExec, input_of_collector},
    grace::GraceHashJoinExec,
};

/// When a plan is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// While its joins are ordered.
    Ordering,
    /// When all rules have run.
    Planned,
}

impl Stage {
    /// The operator that counts: in a finished plan the first that does not just pass rows on.
    pub(super) fn seen(self, mut plan: &Arc<dyn ExecutionPlan>) -> &Arc<dyn ExecutionPlan> {
        while let (Self::Planned, Some(input)) = (self, input_of_passing(plan)) {
            plan = input;
        }
        plan
    }
}

/// The input of an operator that returns all rows of it and no others.
fn input_of_passing(plan: &Arc<dyn ExecutionPlan>) -> Option<&Arc<dyn ExecutionPlan>> {
    let passes_on = plan.is::<CoalescePartitionsExec>()
        || plan.is::<RepartitionExec>()
        || plan.is::<SortExec>()
        || plan.is::<SortPreservingMergeExec>()
        || plan.is::<CooperativeExec>()
        || plan.is::<WindowsExec>();
    match passes_on && plan.fetch().is_none() {
        true => plan.children().into_iter().next(),
        false => input_of_unchanged(plan).or_else(|| input_of_collector(plan)),
    }
}

/// The hash join that an operator is or replaces.
pub(super) fn as_join(plan: &Arc<dyn ExecutionPlan>) -> Option<&HashJoinExec> {
    let replaced = plan.downcast_ref::<GraceHashJoinExec>().map(|join| join.replaced().as_ref());
    replaced.or_else(|| plan.downcast_ref::<HashJoinExec>())
}

/// What an operator of ours has in its place of, or the operator itself.
pub(super) fn replaced(plan: &Arc<dyn ExecutionPlan>) -> &Arc<dyn ExecutionPlan> {
    let fused = plan.downcast_ref::<FusedScanExec>().map(FusedScanExec::replaced);
    let pushed = || plan.downcast_ref::<PushdownExec>().map(PushdownExec::replaced);
    let groups = || {
        let groups = plan.downcast_ref::<PartitionedAggregateExec>();
        groups.map(PartitionedAggregateExec::replaced)
    };
    let windows = || {
        let groups = plan.downcast_ref::<DirectAggregateExec>();
        groups.map(DirectAggregateExec::replaced)
    };
    fused.or_else(pushed).or_else(groups).or_else(windows).unwrap_or(plan)
}
