// SPDX-License-Identifier: Apache-2.0
//! Implements [`GraceJoinRule`], which replaces joins as a physical optimizer rule, in two steps.
//!
//! 1. Before data is distributed: a join that would collect its whole build side in every partition
//!    joins hash partitions instead, unless the build side is known to be small. Estimates do not
//!    count: one that is wrong is why memory runs out.
//! 2. At the end: joins of hash partitions become [`GraceHashJoinExec`], unless an operator above
//!    relies on the order of their rows.

use std::sync::Arc;

use datafusion::{
    common::{
        stats::Precision,
        tree_node::{Transformed, TransformedResult, TreeNode},
    },
    config::ConfigOptions,
    datasource::source::DataSourceExec,
    error::Result,
    execution::SessionStateBuilder,
    physical_optimizer::PhysicalOptimizerRule,
    physical_plan::{
        ExecutionPlan, ExecutionPlanProperties,
        aggregates::AggregateExec,
        coalesce_partitions::CoalescePartitionsExec,
        filter::FilterExec,
        joins::{HashJoinExec, PartitionMode},
        projection::ProjectionExec,
        repartition::RepartitionExec,
        replace_children_if_necessary,
        sorts::partial_sort::PartialSortExec,
        statistics::{StatisticsArgs, StatisticsContext},
    },
};

use super::GraceHashJoinExec;

/// DataFusion's rule in front of which builds are repartitioned.
const DISTRIBUTION: &str = "EnsureRequirements";

/// Rows of a build side that every partition may collect: of 100 bytes each they take 3 MB.
const COLLECTED_ROWS_MAX: usize = 1 << 15;

tokio::task_local! {
    /// Whether the memory of the query that is being planned has a limit. DataFusion's rules do not
    /// see the memory pool.
    static IS_LIMITED: bool;
}

/// Replaces hash joins of queries whose memory has a limit.
#[derive(Debug, Clone, Copy)]
pub struct GraceJoinRule {
    step: Step,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Partition,
    Replace,
}

impl GraceJoinRule {
    /// Names of the two steps in EXPLAIN VERBOSE.
    pub const NAMES: [&'static str; 2] = ["PartitionedBuilds", "GraceJoin"];

    /// Puts both steps into a session that is being built; the rules that join keys are linked by
    /// must be there already, because they know DataFusion's join.
    pub fn install(state: &mut SessionStateBuilder) {
        let rules = &mut state.physical_optimizers().get_or_insert_default().rules;
        let slot = rules.iter().position(|rule| rule.name() == DISTRIBUTION);
        rules.insert(slot.unwrap_or(0), Arc::new(Self { step: Step::Partition }));
        rules.push(Arc::new(Self { step: Step::Replace }));
    }

    /// Runs a future that plans a query whose memory has a limit.
    pub async fn with_limit<F: Future>(planning: F) -> F::Output {
        IS_LIMITED.scope(true, planning).await
    }
}

impl PhysicalOptimizerRule for GraceJoinRule {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if !IS_LIMITED.try_with(|is_limited| *is_limited).unwrap_or(false) {
            return Ok(plan);
        }
        match self.step {
            Step::Partition => plan.transform_up(partitioned).data(),
            Step::Replace => {
                // Rows of several partitions are in no order.
                let is_ordered = plan.output_ordering().is_some()
                    && plan.output_partitioning().partition_count() == 1;
                replaced(plan, is_ordered)
            }
        }
    }

    fn name(&self) -> &str {
        let [partition, replace] = Self::NAMES;
        match self.step {
            Step::Partition => partition,
            Step::Replace => replace,
        }
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// A join over hash partitions, if it collects a build side that may be large.
fn partitioned(plan: Arc<dyn ExecutionPlan>) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    let join = plan.downcast_ref::<HashJoinExec>().filter(|join| {
        let is_collected = *join.partition_mode() == PartitionMode::CollectLeft;
        is_collected && !join.null_aware && !is_small(join.left())
    });
    Ok(match join {
        Some(join) => {
            let builder = join.builder().with_partition_mode(PartitionMode::Partitioned);
            Transformed::yes(builder.build_exec()?)
        }
        None => Transformed::no(plan),
    })
}

/// Whether a plan is known to have few rows.
fn is_small(plan: &Arc<dyn ExecutionPlan>) -> bool {
    rows_max(plan).is_some_and(|rows| rows <= COLLECTED_ROWS_MAX)
}

/// A number of rows that a plan does not exceed, if one is known.
fn rows_max(plan: &Arc<dyn ExecutionPlan>) -> Option<usize> {
    let children = plan.children();
    if plan.is::<FilterExec>()
        || plan.is::<ProjectionExec>()
        || plan.is::<CoalescePartitionsExec>()
        || plan.is::<RepartitionExec>()
    {
        return children.first().and_then(|child| rows_max(child));
    }
    if let Some(aggregate) = plan.downcast_ref::<AggregateExec>() {
        return match aggregate.group_expr().is_empty() {
            true => Some(plan.output_partitioning().partition_count()),
            false => rows_max(aggregate.input()),
        };
    }
    if !children.is_empty() {
        return None;
    }
    let statistics = StatisticsContext::new().compute(plan.as_ref(), &StatisticsArgs::new());
    match statistics.ok()?.num_rows {
        Precision::Exact(rows) => Some(rows),
        // Of a scan with a predicate, the number before it.
        Precision::Inexact(rows) if plan.is::<DataSourceExec>() => Some(rows),
        Precision::Inexact(_) | Precision::Absent => None,
    }
}

/// The plan with its joins replaced; `is_ordered` says whether the order of its rows matters.
fn replaced(plan: Arc<dyn ExecutionPlan>, is_ordered: bool) -> Result<Arc<dyn ExecutionPlan>> {
    let (required, kept) = (plan.required_input_ordering(), plan.maintains_input_order());
    // It relies on the order of its input without saying that it requires it.
    let is_partial_sort = plan.is::<PartialSortExec>();
    let children = plan.children().into_iter().map(Arc::clone).enumerate();
    let children = children.map(|(index, child)| {
        let is_required = required.get(index).is_some_and(Option::is_some);
        let is_passed_on = is_ordered && kept.get(index).copied().unwrap_or(true);
        replaced(child, is_required || is_passed_on || is_partial_sort)
    });
    let children = children.collect::<Result<Vec<_>>>()?;
    let plan = replace_children_if_necessary(plan, children)?;
    let is_replaced = plan.downcast_ref::<HashJoinExec>().is_some_and(|join| {
        *join.partition_mode() == PartitionMode::Partitioned && !join.null_aware && !is_ordered
    });
    let replacement =
        Some(Arc::clone(&plan)).filter(|_| is_replaced).and_then(GraceHashJoinExec::of);
    Ok(replacement.map_or(plan, |join| Arc::new(join)))
}
