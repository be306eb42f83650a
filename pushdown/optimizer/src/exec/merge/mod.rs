// SPDX-License-Identifier: Apache-2.0
//! Implements [`PushdownMergeExec`], which merges the sorted rows of pushed scans on their drive.
//!
//! Its children are the scans; it does not execute them but runs their units, window by window
//! ([`run`]). If the drive refuses or fails to merge a window, the host merges it, over the rows of
//! each unit, which may come from the drive.
//!
//! # Invariants
//!
//! - Windows follow one another in the order of the keys, and leave in that order.
//! - Rows of a window leave after all of them were checked, or from the host's merge.
//! - Rows that tie leave in the order of the inputs, and of the units within an input.

mod distinct;
mod run;
mod verify;

use std::{fmt, sync::Arc};

#[cfg(feature = "proto")]
use arrow::datatypes::SchemaRef;
use datafusion::{
    common::{internal_err, tree_node::TreeNodeRecursion},
    config::ConfigOptions,
    error::Result,
    execution::{SendableRecordBatchStream, TaskContext},
    physical_expr::{EquivalenceProperties, LexOrdering, PhysicalExpr},
    physical_plan::{
        DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties,
        ReplaceChildrenOptions,
        coop::cooperative,
        execution_plan::{Boundedness, EmissionType, SchedulingType},
        filter_pushdown::{FilterDescription, FilterPushdownPhase},
        metrics::{ExecutionPlanMetricsSet, MetricsSet},
    },
};
use nearscan_command::Merge;

use crate::{decision::Costs, exec::PushdownExec, merge::windows::Span};

/// Which unit of the scans below.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct UnitPlace {
    /// Which scan.
    pub(crate) input: usize,
    /// Which of its partitions.
    pub(crate) partition: usize,
    /// Which unit of the partition.
    pub(crate) unit: usize,
}

/// A unit in a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WindowInput {
    pub(crate) place: UnitPlace,
    /// Of its rows only those whose first key is in here; all of them without.
    pub(crate) part: Option<Span>,
}

/// Units that are merged at a time, in the order in which their rows leave where they tie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MergeWindow {
    pub(crate) inputs: Vec<WindowInput>,
}

/// The work of a [`PushdownMergeExec`].
#[derive(Debug, Clone)]
pub(crate) struct Merged {
    /// Name of the drive.
    pub(crate) drive: String,
    /// The fragment of the drive.
    pub(crate) merge: Merge,
    /// The same order, as the host has it.
    pub(crate) ordering: LexOrdering,
    /// Rows after which it may stop.
    pub(crate) fetch: Option<usize>,
    /// The windows, in the order of their keys.
    pub(crate) windows: Vec<MergeWindow>,
    /// The estimates, if the cost model was asked.
    pub(crate) costs: Option<Costs>,
}

/// Merges sorted rows on a drive.
#[derive(Debug, Clone)]
pub struct PushdownMergeExec {
    merged: Arc<Merged>,
    /// The scans: each a [`PushdownExec`].
    inputs: Vec<Arc<dyn ExecutionPlan>>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl PushdownMergeExec {
    /// An operator over `inputs` in place of a plan with this schema and these `equivalences`.
    pub(crate) fn new(
        merged: Merged,
        inputs: Vec<Arc<dyn ExecutionPlan>>,
        equivalences: EquivalenceProperties,
    ) -> Self {
        let properties = PlanProperties::new(
            equivalences,
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            Boundedness::Bounded,
        )
        .with_scheduling_type(SchedulingType::Cooperative);
        Self {
            merged: Arc::new(merged),
            inputs,
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }

    /// The operator with the estimates that decided for it.
    pub(crate) fn with_costs(mut self, costs: Costs) -> Self {
        let merged = Merged { costs: Some(costs), ..Merged::clone(&self.merged) };
        self.merged = Arc::new(merged);
        self
    }

    pub(crate) fn merged(&self) -> &Arc<Merged> {
        &self.merged
    }

    /// The scans whose units are merged.
    pub(crate) fn scans(&self) -> impl Iterator<Item = &PushdownExec> {
        self.inputs.iter().filter_map(|input| input.downcast_ref::<PushdownExec>())
    }

    /// Returns the hash of the merge for quarantine. It covers the fragments of the plan, without
    /// the changes by windows and dynamic filters, so all its commands have the same hash.
    pub(crate) fn quarantine_hash(&self) -> u64 {
        self.merged.merge.hash_over(self.scans().map(|scan| scan.pushed().fragment.hash()))
    }

    /// The most units that any merge has.
    fn fan_in(&self) -> usize {
        self.merged.windows.iter().map(|window| window.inputs.len()).max().unwrap_or(0)
    }

    fn with_inputs(&self, inputs: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        let is_scan =
            |input: &Arc<dyn ExecutionPlan>| input.downcast_ref::<PushdownExec>().is_some();
        if inputs.len() != self.inputs.len() || !inputs.iter().all(is_scan) {
            return internal_err!("a merge on a drive must have scans on the drive below it");
        }
        Ok(Arc::new(Self { inputs, ..self.clone() }))
    }
}

impl DisplayAs for PushdownMergeExec {
    fn fmt_as(&self, t: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Merged { drive, merge, ordering, fetch, .. } = &*self.merged;
        let fan_in = self.fan_in();
        match t {
            DisplayFormatType::Default | DisplayFormatType::Verbose => {
                write!(f, "PushdownMergeExec: drive={drive}, keys=[{ordering}], ")?;
                write!(f, "distinct={}, fan_in={fan_in}", merge.distinct)?;
                fetch.map_or(Ok(()), |fetch| write!(f, ", fetch={fetch}"))
            }
            DisplayFormatType::TreeRender => {
                writeln!(f, "drive={drive}")?;
                writeln!(f, "keys=[{ordering}]")?;
                writeln!(f, "distinct={}", merge.distinct)?;
                writeln!(f, "fan_in={fan_in}")
            }
        }
    }
}

impl ExecutionPlan for PushdownMergeExec {
    fn name(&self) -> &str {
        "PushdownMergeExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.inputs.iter().collect()
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false; self.inputs.len()]
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.with_inputs(children)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.with_inputs(children)
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        let mut recursion = TreeNodeRecursion::Continue;
        for sort in &self.merged.ordering {
            recursion = f(&sort.expr)?;
            if recursion == TreeNodeRecursion::Stop {
                break;
            }
        }
        Ok(recursion)
    }

    fn reset_state(self: Arc<Self>) -> Result<Arc<dyn ExecutionPlan>> {
        let metrics = ExecutionPlanMetricsSet::new();
        Ok(Arc::new(Self { metrics, ..Self::clone(&self) }))
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        if partition != 0 {
            return internal_err!("a merge has one partition, not {}", partition + 1);
        }
        Ok(Box::pin(cooperative(run::merged_stream(self, &context)?)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn fetch(&self) -> Option<usize> {
        self.merged.fetch
    }

    fn gather_filters_for_pushdown(
        &self,
        _phase: FilterPushdownPhase,
        parent_filters: Vec<Arc<dyn PhysicalExpr>>,
        _config: &ConfigOptions,
    ) -> Result<FilterDescription> {
        FilterDescription::from_children(parent_filters, &self.children())
    }
}

/// The properties of an operator whose rows have `schema` and are sorted by `ordering`.
#[cfg(feature = "proto")]
pub(crate) fn sorted_properties(
    schema: SchemaRef,
    ordering: &LexOrdering,
) -> EquivalenceProperties {
    EquivalenceProperties::new_with_orderings(schema, [ordering.clone()])
}
