// SPDX-License-Identifier: Apache-2.0
//! Keeps sorts from being pushed below limits.
//!
//! `EnsureRequirements` pushes a sort below a limit that has no sort of its own, with the limit's
//! count as the number of rows to keep. If the limit also skips rows, too few are left
//! (`(.. LIMIT 4 OFFSET 3) ORDER BY a`); otherwise the whole table is sorted for four of its rows.
//! So a [`Fence`], an operator that the rule does not know, replaces each limit while the rule
//! runs.
//!
//! ```text
//! SortExec: a                       SortExec: a
//!   GlobalLimitExec: 3, 4     =>      Fence
//!     DataSourceExec                    DataSourceExec
//! ```
//!
//! - It also pushes a sort with a limit below window functions, which then see only the first rows:
//!   `count(*) OVER () .. ORDER BY a LIMIT 4` was 4. So that limit becomes a separate operator,
//!   with a fence.
//! - It pushes the limit of a sort to the input of the final step of an aggregate. There a group
//!   may have rows in several partitions, so that the first rows are of fewer groups. No limit of a
//!   query is between two steps of an aggregate, so limits there are removed.
//! - It sorts each input of a union by the keys that are not constant in it, and then may not
//!   recognise the order of the union, so that the sanity check refuses the query. Inputs that do
//!   not have the order that an operator requires are sorted here.
//!
//! `PushdownSort` pushes the order of a sort to a scan, which it reverses. A scan below a limit
//! must return its first rows in its own order, so `(.. ORDER BY a LIMIT 4) ORDER BY a DESC` over a
//! sorted file returned the last rows. While that rule runs, a fence replaces each operator with a
//! limit, except sorts ([`KeepScanOrderBelowLimits`]).

use std::{fmt, sync::Arc};

use datafusion::{
    common::{
        Result,
        config::ConfigOptions,
        internal_err,
        tree_node::{Transformed, TreeNode, TreeNodeRecursion},
    },
    execution::{SendableRecordBatchStream, TaskContext},
    physical_expr::{LexOrdering, OrderingRequirements, PhysicalExpr},
    physical_optimizer::PhysicalOptimizerRule,
    physical_plan::{
        DisplayAs, DisplayFormatType, Distribution, ExecutionPlan, ExecutionPlanProperties,
        InputDistributionRequirements, PlanProperties,
        aggregates::{AggregateExec, AggregateMode},
        execution_plan::ReplaceChildrenOptions,
        limit::GlobalLimitExec,
        replace_children_if_necessary,
        sorts::{sort::SortExec, sort_preserving_merge::SortPreservingMergeExec},
        union::{InterleaveExec, UnionExec},
        windows::{BoundedWindowAggExec, WindowAggExec},
    },
};

use super::has_operator;
use crate::{
    registry::Correction,
    rule::{PhysicalRule, ReadCorrections, enabled_by},
};

/// Runs the rule that pushes sorts down, with fences in place of limits.
#[derive(Debug)]
pub(crate) struct ProtectLimits {
    pub(crate) rule: PhysicalRule,
    pub(crate) enabled: ReadCorrections,
}

impl PhysicalOptimizerRule for ProtectLimits {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if !enabled_by(self.enabled, config).contains(Correction::ProtectLimits) {
            return self.rule.optimize(plan, config);
        }
        let fenced = plan.transform_up(|node| {
            let limit = match node.is::<GlobalLimitExec>() {
                true => Some(Arc::clone(&node)),
                false => limit_above_windows(&node),
            };
            Ok(match limit {
                Some(limit) => Transformed::yes(Arc::new(Fence::of(limit)) as _),
                None => Transformed::no(node),
            })
        })?;
        let is_fenced = fenced.transformed;
        let plan = self.rule.optimize(fenced.data, config)?;
        let plan = if is_fenced { without_fences(plan)? } else { plan };
        let plan = match has_operator(&plan, |node| node.fetch().is_some()) {
            true => plan.transform_up(|node| match is_last_step(&node) {
                true => without_limits(node),
                false => Ok(Transformed::no(node)),
            })?,
            false => Transformed::no(plan),
        };
        match has_operator(&plan.data, |node| node.is::<UnionExec>() || node.is::<InterleaveExec>())
        {
            true => Ok(plan.data.transform_up(with_missing_sorts)?.data),
            false => Ok(plan.data),
        }
    }

    fn name(&self) -> &str {
        self.rule.name()
    }

    fn schema_check(&self) -> bool {
        self.rule.schema_check()
    }
}

/// Runs the rule that reverses scans, except scans with a limit or below one.
#[derive(Debug)]
pub(crate) struct KeepScanOrderBelowLimits {
    pub(crate) rule: PhysicalRule,
    pub(crate) enabled: ReadCorrections,
}

impl PhysicalOptimizerRule for KeepScanOrderBelowLimits {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if !enabled_by(self.enabled, config).contains(Correction::ProtectLimits) {
            return self.rule.optimize(plan, config);
        }
        // Sorts stay: the rule starts at them, and does not push an order through another sort.
        let sorts = |node: &dyn ExecutionPlan| {
            node.is::<SortExec>() || node.is::<SortPreservingMergeExec>()
        };
        let fenced = plan.transform_up(|node| {
            Ok(match node.fetch().is_some() && !sorts(node.as_ref()) {
                true => Transformed::yes(Arc::new(Fence::of(node)) as _),
                false => Transformed::no(node),
            })
        })?;
        let is_fenced = fenced.transformed;
        let plan = self.rule.optimize(fenced.data, config)?;
        if is_fenced { without_fences(plan) } else { Ok(plan) }
    }

    fn name(&self) -> &str {
        self.rule.name()
    }

    fn schema_check(&self) -> bool {
        self.rule.schema_check()
    }
}

/// Replaces fences by their limits.
fn without_fences(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let open = plan.transform_up(|node| match node.downcast_ref::<Fence>() {
        Some(fence) => Ok(Transformed::yes(Arc::clone(&fence.limit))),
        None => Ok(Transformed::no(node)),
    })?;
    Ok(open.data)
}

/// Splits a sort with a limit into a limit and a sort, if there are window functions below.
fn limit_above_windows(plan: &Arc<dyn ExecutionPlan>) -> Option<Arc<dyn ExecutionPlan>> {
    let sort = plan.downcast_ref::<SortExec>()?;
    let fetch = sort.fetch()?;
    has_windows(sort.input()).then(|| {
        let sorted = Arc::new(sort.with_fetch(None));
        Arc::new(GlobalLimitExec::new(sorted, 0, Some(fetch))) as _
    })
}

/// Whether there are window functions below, above the next sort or join.
fn has_windows(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let is_window = plan.is::<WindowAggExec>() || plan.is::<BoundedWindowAggExec>();
    is_window
        || match plan.children().as_slice() {
            [child] if !plan.is::<SortExec>() => has_windows(child),
            _ => false,
        }
}

fn is_last_step(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let mode = plan.downcast_ref::<AggregateExec>().map(AggregateExec::mode);
    matches!(mode, Some(AggregateMode::Final | AggregateMode::FinalPartitioned))
}

/// Removes the limits between the final step of an aggregate and the step before.
fn without_limits(plan: Arc<dyn ExecutionPlan>) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    let mut is_changed = false;
    let mut children = Vec::new();
    for child in plan.children() {
        let child = Arc::clone(child).transform_down(|node| {
            if node.is::<AggregateExec>() {
                return Ok(Transformed::new(node, false, TreeNodeRecursion::Jump));
            }
            let unlimited = node.fetch().and_then(|_| node.with_fetch(None));
            Ok(unlimited.map_or_else(|| Transformed::no(node), Transformed::yes))
        })?;
        is_changed |= child.transformed;
        children.push(child.data);
    }
    let plan = replace_children_if_necessary(plan, children)?;
    Ok(Transformed::new_transformed(plan, is_changed))
}

/// Adds a sort below an operator for each required order that its input lacks.
fn with_missing_sorts(node: Arc<dyn ExecutionPlan>) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    let required = node.required_input_ordering();
    if required.iter().all(Option::is_none) {
        return Ok(Transformed::no(node));
    }
    let mut is_changed = false;
    let mut children = Vec::new();
    for (child, required) in node.children().into_iter().zip(required) {
        let mut child = Arc::clone(child);
        if let Some(required) = required.map(|required| required.into_single())
            && !child.equivalence_properties().ordering_satisfy_requirement(required.clone())?
        {
            let is_split = child.output_partitioning().partition_count() > 1;
            let sort = SortExec::new(LexOrdering::from(required), child);
            child = Arc::new(sort.with_preserve_partitioning(is_split));
            is_changed = true;
        }
        children.push(child);
    }
    Ok(match is_changed {
        true => Transformed::yes(replace_children_if_necessary(node, children)?),
        false => Transformed::no(node),
    })
}

/// An operator in place of a limit; it is never run.
#[derive(Debug)]
struct Fence {
    limit: Arc<dyn ExecutionPlan>,
    /// The order of the limit's rows, if it comes from a sort.
    ordering: Option<LexOrdering>,
}

impl Fence {
    fn of(limit: Arc<dyn ExecutionPlan>) -> Self {
        let input = limit.children().first().copied().cloned();
        let ordering =
            input.filter(comes_from_sort).and_then(|it| it.properties().output_ordering().cloned());
        Self { limit, ordering }
    }
}

/// Whether the order of an operator's rows comes from a sort.
fn comes_from_sort(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.is::<SortExec>()
        || match (plan.children().as_slice(), plan.maintains_input_order().as_slice()) {
            ([child], [true]) => comes_from_sort(child),
            _ => false,
        }
}

impl DisplayAs for Fence {
    fn fmt_as(&self, _form: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl ExecutionPlan for Fence {
    fn name(&self) -> &'static str {
        "Fence"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.limit.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.limit.children()
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let limit = replace_children_if_necessary(Arc::clone(&self.limit), children)?;
        Ok(Arc::new(Self { limit, ordering: self.ordering.clone() }))
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let limit = Arc::clone(&self.limit).replace_children(children, options)?;
        Ok(Arc::new(Self { limit, ordering: self.ordering.clone() }))
    }

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        InputDistributionRequirements::new(vec![Distribution::SinglePartition])
    }

    fn required_input_ordering(&self) -> Vec<Option<OrderingRequirements>> {
        vec![self.ordering.clone().map(OrderingRequirements::from)]
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn apply_expressions(
        &self,
        _f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn execute(
        &self,
        _partition: usize,
        _context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        internal_err!("a fence of the planner was left in an executed plan")
    }
}
