// SPDX-License-Identifier: Apache-2.0
//! Implements [`WindowsRule`], which cuts parts of a plan into windows.

use std::sync::Arc;

use datafusion::{
    common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion},
    config::ConfigOptions,
    error::Result,
    execution::SessionStateBuilder,
    physical_expr::{Distribution, Partitioning},
    physical_optimizer::PhysicalOptimizerRule,
    physical_plan::{
        ExecutionPlan, ExecutionPlanProperties, coalesce_partitions::CoalescePartitionsExec,
        execution_plan::InvariantLevel, repartition::RepartitionExec,
        replace_children_if_necessary, sorts::sort_preserving_merge::SortPreservingMergeExec,
        union::InterleaveExec,
    },
};

use super::{
    chain::{Rebuild, groups, links_of_distributed},
    cut::cuts,
    exec::WindowsExec,
    gain::is_expected,
};
use crate::{
    fused::{FusedScanExec, dynamic_ids},
    settings::{NearscanOptions, WindowMode},
};

/// Cuts joins and aggregates over files that are written in the order of their key.
#[derive(Debug, Clone, Copy, Default)]
pub struct WindowsRule;

impl WindowsRule {
    /// Name of the rule in EXPLAIN VERBOSE.
    pub const NAME: &'static str = "Windows";

    /// Puts the rule into a session that is being built, behind all rules that are there already:
    /// the scans must be fused, and dynamic filters pushed down. The rules that link keys of joins,
    /// and those that replace aggregates and joins, come later.
    pub fn install(self, state: &mut SessionStateBuilder) {
        state.physical_optimizers().get_or_insert_default().rules.push(Arc::new(self));
    }
}

impl PhysicalOptimizerRule for WindowsRule {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let options = config.extensions.get::<NearscanOptions>();
        match options.map(|options| options.windows).unwrap_or_default() {
            WindowMode::Auto => visit(plan, Place::Any, Wanted::WhereExpectedToPay),
            WindowMode::On => visit(plan, Place::Any, Wanted::Everywhere),
            WindowMode::Off => Ok(plan),
        }
    }

    fn name(&self) -> &str {
        Self::NAME
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// In which partition an operator above wants a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Any,
    /// In the one that the operator's partitioning says.
    OfItsHash,
}

/// Where windows are wanted, of those places where there can be any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Everywhere,
    WhereExpectedToPay,
}

fn visit(
    plan: Arc<dyn ExecutionPlan>,
    place: Place,
    wanted: Wanted,
) -> Result<Arc<dyn ExecutionPlan>> {
    if let Some(windows) = cut(&plan, wanted)? {
        return match (place, plan.output_partitioning()) {
            (Place::OfItsHash, hash @ Partitioning::Hash(..)) => {
                Ok(Arc::new(RepartitionExec::try_new(windows, hash.clone())?))
            }
            _ => Ok(windows),
        };
    }
    let places = places_of_inputs(&plan, place);
    let children = plan.children().into_iter().map(Arc::clone).zip(places);
    let children =
        children.map(|(child, place)| visit(child, place, wanted)).collect::<Result<_>>()?;
    replace_children_if_necessary(plan, children)
}

/// Where an operator wants the rows of its inputs.
fn places_of_inputs(plan: &Arc<dyn ExecutionPlan>, place: Place) -> Vec<Place> {
    let distributes = plan.is::<RepartitionExec>()
        || plan.is::<CoalescePartitionsExec>()
        || plan.is::<SortPreservingMergeExec>();
    // It relies on the same partitioning of all inputs, and does not require it.
    let interleaves = plan.is::<InterleaveExec>();
    let passed_on = if distributes { Place::Any } else { place };
    let required = plan.input_distribution_requirements().into_per_child();
    let of_input = |required: Distribution| match required {
        Distribution::UnspecifiedDistribution if interleaves => Place::OfItsHash,
        Distribution::UnspecifiedDistribution | Distribution::SinglePartition => passed_on,
        #[expect(deprecated, reason = "operators may still ask for it")]
        Distribution::HashPartitioned(_) | Distribution::KeyPartitioned(_) => Place::OfItsHash,
    };
    required.into_iter().map(of_input).collect()
}

/// What replaces an operator that has its rows distributed by keys, if windows of one of these
/// spare that.
fn cut(plan: &Arc<dyn ExecutionPlan>, wanted: Wanted) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let partitions = plan.output_partitioning().partition_count();
    // Operators above may rely on the order in which a single partition has its rows.
    if partitions < 2 {
        return Ok(None);
    }
    for (link, key) in links_of_distributed(plan) {
        let cuts = groups(plan, &link).and_then(|groups| cuts(&groups, partitions));
        let Some(cuts) = cuts else { continue };
        if wanted == Wanted::WhereExpectedToPay && !is_expected(plan, &link) {
            continue;
        }
        let others = |input| visit(input, Place::Any, wanted);
        let mut rebuild = Rebuild { cuts: &cuts, others: &others, joins: Vec::new() };
        let windows = rebuild.rebuilt(plan, &link)?;
        let windows = without_filters_of(windows, &rebuild.joins)?;
        let can_run = windows.schema() == plan.schema()
            && !waits(&windows, &rebuild.joins)?
            && is_valid(&windows);
        if can_run {
            return Ok(Some(Arc::new(WindowsExec::new(windows, Arc::clone(plan), key))));
        }
    }
    Ok(None)
}

/// The plan without the dynamic filters of joins in its windows: such a join waits until all of its
/// partitions have read their build side, and windows run one after the other. The scans get the
/// keys of the build side by the rule `JoinKeys`.
fn without_filters_of(
    plan: Arc<dyn ExecutionPlan>,
    joins: &[u64],
) -> Result<Arc<dyn ExecutionPlan>> {
    let without = plan.transform_up(|node| {
        let scan = node.downcast_ref::<FusedScanExec>();
        Ok(match scan.filter(|_| !joins.is_empty()) {
            Some(scan) => Transformed::yes(Arc::new(scan.without_filters_of(joins)) as _),
            None => Transformed::no(node),
        })
    });
    without.data()
}

/// Whether DataFusion takes the operators of a plan as they are. A join of several columns wants to
/// see its inputs partitioned by all of them, and some operators hide how their rows are.
fn is_valid(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let checked = plan.apply(|node| {
        node.check_invariants(InvariantLevel::Executable)?;
        Ok(TreeNodeRecursion::Continue)
    });
    checked.is_ok()
}

/// Whether an operator still has one of these filters, so that the join would wait.
fn waits(plan: &Arc<dyn ExecutionPlan>, joins: &[u64]) -> Result<bool> {
    let mut waits = false;
    plan.apply(|node| {
        let produced = node.dynamic_expressions_produced();
        let produced: Vec<u64> = produced.iter().filter_map(|it| it.expression_id()).collect();
        node.apply_expressions(&mut |expr| {
            let mut ids = dynamic_ids(expr).into_iter();
            waits |= ids.any(|id| joins.contains(&id) && !produced.contains(&id));
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(if waits { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(waits)
}
