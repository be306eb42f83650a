// SPDX-License-Identifier: Apache-2.0
//! Implements [`PushdownExec`], which runs a fragment on a drive, unit by unit, and on the host the
//! units that the drive pushes back. If the files are on several drives, each unit runs on the one
//! that has its file.
//!
//! The operator has no children: the subplan that it replaces is a field, and is not shown. For
//! each unit of work ([`unit`]):
//!
//! ```text
//! drive          the command is submitted; a completion is checked before any row leaves
//!   refused, failed, corrupted, or a status other than ok
//! fallback       the same command on the CPU drive
//!   failed, or a status other than ok (an overflow, say)
//! replaced plan  DataFusion's own subplan, restricted to this row group: its rows, or its error
//! ```
//!
//! Units run concurrently, but their rows are returned in order, so rows are in the order of the
//! replaced plan.
//!
//! # Invariants
//!
//! - The rows of a unit come from exactly one of the three, and are returned after the unit is
//!   complete (or from DataFusion's own stream, which is not started before).
//! - The drive's name is resolved in `execute`, so a deserialised plan uses the drives of its
//!   machine.
//! - Every byte is counted once: operator metrics are the sums over completions.

pub(crate) mod arrays;
mod dynamic;
pub(crate) mod fallback;
pub(crate) mod keys;
mod merge;
mod metrics;
mod modelled;
mod pushed;
mod run;
pub(crate) mod show;
mod trial;
mod unit;
mod verify;

use std::{fmt, sync::Arc};

use datafusion::{
    common::{
        Statistics, internal_err,
        tree_node::{Transformed, TreeNode, TreeNodeRecursion},
    },
    config::ConfigOptions,
    error::Result,
    execution::{SendableRecordBatchStream, TaskContext},
    physical_expr::PhysicalExpr,
    physical_plan::{
        DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, Partitioning,
        PlanProperties, ReplaceChildrenOptions,
        coop::cooperative,
        execution_plan::{EmissionType, SchedulingType},
        filter_pushdown::{
            ChildPushdownResult, FilterPushdownPhase, FilterPushdownPropagation, PushedDown,
        },
        metrics::{ExecutionPlanMetricsSet, MetricsSet},
        statistics::{StatisticsArgs, StatisticsContext},
    },
};
use nearscan_command::{Fragment, Output};

pub use merge::PushdownMergeExec;
#[cfg(feature = "proto")]
pub(crate) use merge::sorted_properties;
pub(crate) use merge::{MergeWindow, Merged, UnitPlace, WindowInput};
pub use modelled::ModelledTime;
pub(crate) use pushed::{Pushed, Replaced, RowsShape};
pub(crate) use unit::bound_unit;

use dynamic::Narrowing;
pub(crate) use dynamic::is_dynamic;
use keys::UnitKeys;
use trial::KeyTrials;

use crate::decision::drives_shown;

/// Returns the plan with the id of another query, under which the log records its units.
///
/// # Errors
/// If an operator cannot be rebuilt over other inputs.
pub fn with_query_id(
    plan: Arc<dyn ExecutionPlan>,
    query_id: u128,
) -> Result<Arc<dyn ExecutionPlan>> {
    let plan = plan.transform_up(|node| {
        Ok(match node.downcast_ref::<PushdownExec>() {
            Some(exec) => Transformed::yes(Arc::new(exec.in_query(query_id))),
            None => Transformed::no(node),
        })
    })?;
    Ok(plan.data)
}

/// Runs a fragment on a drive.
#[derive(Debug, Clone)]
pub struct PushdownExec {
    pushed: Arc<Pushed>,
    /// The subplan that this node replaces.
    plan: Arc<dyn ExecutionPlan>,
    /// Dynamic filters of operators above.
    dynamic_filters: Vec<Arc<dyn PhysicalExpr>>,
    /// Keys of joins above.
    keys: Vec<UnitKeys>,
    /// What their filters have dropped.
    trials: Arc<KeyTrials>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl PushdownExec {
    /// An operator that runs `pushed` in place of `plan`.
    pub(crate) fn new(pushed: Pushed, plan: Arc<dyn ExecutionPlan>) -> Self {
        let partitions = pushed.partitions.len();
        let properties = PlanProperties::new(
            // The rows are the same, so what holds of them still holds: a column that a filter made
            // constant is one, and a parent may rely on it.
            plan.equivalence_properties().clone(),
            Partitioning::UnknownPartitioning(partitions),
            EmissionType::Incremental,
            plan.boundedness(),
        )
        .with_scheduling_type(SchedulingType::Cooperative);
        Self {
            pushed: Arc::new(pushed),
            plan,
            dynamic_filters: Vec::new(),
            keys: Vec::new(),
            trials: Arc::default(),
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }

    /// The operator in another query.
    fn in_query(&self, query_id: u128) -> Self {
        let pushed = Arc::new(Pushed { query_id, ..Pushed::clone(&self.pushed) });
        Self { pushed, ..self.clone() }
    }

    pub(crate) fn pushed(&self) -> &Arc<Pushed> {
        &self.pushed
    }

    #[cfg(feature = "proto")]
    pub(crate) fn dynamic_filters(&self) -> &[Arc<dyn PhysicalExpr>] {
        &self.dynamic_filters
    }

    /// Returns the operator with dynamic filters.
    pub(crate) fn with_dynamic_filters(self, dynamic_filters: Vec<Arc<dyn PhysicalExpr>>) -> Self {
        Self { dynamic_filters, ..self }
    }

    /// The scan with keys of one more join.
    pub(crate) fn with_keys(&self, keys: impl IntoIterator<Item = UnitKeys>) -> Self {
        let mut node = Self { trials: Arc::default(), ..self.clone() };
        node.keys.extend(keys);
        node
    }

    /// Returns the narrowing of its fragment by dynamic filters.
    fn narrowing(&self) -> Narrowing {
        Narrowing::new(Arc::clone(&self.pushed.fragment), self.dynamic_filters.clone())
    }

    /// The subplan that this node replaces; not a child.
    pub fn replaced(&self) -> &Arc<dyn ExecutionPlan> {
        &self.plan
    }

    /// The joins above that give it keys, by the identities of their dynamic filters.
    pub(crate) fn joins(&self) -> impl Iterator<Item = u64> {
        self.keys.iter().map(|keys| keys.join)
    }

    /// Returns the fragment of the drive.
    pub fn fragment(&self) -> &Fragment {
        &self.pushed.fragment
    }

    /// Names of the drives of its units, at least one.
    pub fn drives(&self) -> &[String] {
        &self.pushed.drives
    }

    /// Units of work, of all partitions.
    pub fn unit_count(&self) -> usize {
        self.pushed.partitions.iter().map(Vec::len).sum()
    }

    fn fmt_fragment(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fragment = &self.pushed.fragment;
        let columns: Vec<&str> =
            fragment.columns.iter().map(|column| column.name.as_str()).collect();
        write!(f, "table={}, columns=[{}]", self.pushed.table, columns.join(", "))?;
        if !self.pushed.filter.is_empty() {
            write!(f, ", filter={}", self.pushed.filter)?;
        }
        if let Output::States { keys, aggregates } = &fragment.output {
            let shown: Vec<String> =
                aggregates.iter().map(|slot| show::aggregate(fragment, slot)).collect();
            write!(f, ", aggregates=[{}]", shown.join(", "))?;
            if !keys.is_empty() {
                let keys = keys.iter().map(|key| show::operand(fragment, key.operand));
                write!(f, ", group_by=[{}]", keys.collect::<Vec<_>>().join(", "))?;
            }
        }
        if let Output::Rows { top: Some(top), .. } = &fragment.output {
            write!(f, ", top={}", show::top(fragment, top))?;
        }
        if let Some(fetch) = self.pushed.fetch {
            write!(f, ", fetch={fetch}")?;
        }
        write!(f, ", units={}", self.unit_count())?;
        if !self.dynamic_filters.is_empty() {
            f.write_str(", dynamic_filter=true")?;
        }
        let keys = self.keys.iter().filter_map(|keys| columns.get(usize::from(keys.column)));
        let keys: Vec<&str> = keys.copied().collect();
        match keys.is_empty() {
            true => Ok(()),
            false => write!(f, ", join_keys=[{}]", keys.join(", ")),
        }
    }
}

/// Statistics of an operator in place of a plan. Row groups are dealt anew, so what is known of a
/// partition of the plan is not known of one of the operator.
///
/// # Errors
/// Those of the plan.
pub(crate) fn statistics_of_replaced(
    plan: &Arc<dyn ExecutionPlan>,
    args: &StatisticsArgs,
) -> Result<Arc<Statistics>> {
    match args.partition() {
        Some(_) => Ok(Arc::new(Statistics::new_unknown(&plan.schema()))),
        None => StatisticsContext::new().compute(plan.as_ref(), args),
    }
}

impl DisplayAs for PushdownExec {
    fn fmt_as(&self, t: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match t {
            DisplayFormatType::Default | DisplayFormatType::Verbose => {
                write!(f, "PushdownExec: {}, ", drives_shown(&self.pushed.drives))?;
                self.fmt_fragment(f)
            }
            DisplayFormatType::TreeRender => {
                writeln!(f, "{}", drives_shown(&self.pushed.drives))?;
                writeln!(f, "table={}", self.pushed.table)?;
                writeln!(f, "units={}", self.unit_count())
            }
        }
    }
}

impl ExecutionPlan for PushdownExec {
    fn name(&self) -> &str {
        "PushdownExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match children.len() {
            0 => Ok(self),
            count => internal_err!("PushdownExec has no children, {count} were given"),
        }
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match children.len() {
            0 => Ok(self),
            count => internal_err!("PushdownExec has no children, {count} were given"),
        }
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        // A join updates its dynamic filter only if it finds the filter below itself, so ours must
        // be visible.
        let mut recursion = TreeNodeRecursion::Continue;
        let of_joins = self.keys.iter().filter_map(|keys| keys.announced.as_ref());
        for filter in self.dynamic_filters.iter().chain(of_joins) {
            recursion = f(filter)?;
            if recursion == TreeNodeRecursion::Stop {
                break;
            }
        }
        Ok(recursion)
    }

    fn reset_state(self: Arc<Self>) -> Result<Arc<dyn ExecutionPlan>> {
        let metrics = ExecutionPlanMetricsSet::new();
        // Keys of the past must not drop rows of the future.
        let trials = Arc::default();
        Ok(Arc::new(Self { keys: Vec::new(), trials, metrics, ..Self::clone(&self) }))
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let stream = run::partition_stream(self, partition, context)?;
        Ok(Box::pin(cooperative(stream)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn statistics_from_inputs(
        &self,
        _inputs: &[Arc<Statistics>],
        args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        statistics_of_replaced(&self.plan, args)
    }

    fn fetch(&self) -> Option<usize> {
        self.pushed.fetch
    }

    fn handle_child_pushdown_result(
        &self,
        phase: FilterPushdownPhase,
        child_pushdown_result: ChildPushdownResult,
        _config: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn ExecutionPlan>>> {
        let offered = child_pushdown_result.parent_filters;
        // The answer is always no: a filter only reduces what is read, and the operator above still
        // applies it.
        let filters = vec![PushedDown::No; offered.len()];
        let taken: Vec<_> = match (phase, &self.pushed.replaced) {
            (FilterPushdownPhase::Post, Replaced::Rows(_)) => {
                let filters = offered.into_iter().map(|offer| offer.filter);
                filters.filter(is_dynamic).collect()
            }
            _ => Vec::new(),
        };
        if taken.is_empty() {
            return Ok(FilterPushdownPropagation { filters, updated_node: None });
        }
        let node: Arc<dyn ExecutionPlan> = Arc::new(self.clone().with_dynamic_filters(taken));
        Ok(FilterPushdownPropagation { filters, updated_node: Some(node) })
    }
}
