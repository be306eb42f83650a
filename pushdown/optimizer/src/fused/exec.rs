// SPDX-License-Identifier: Apache-2.0
//! Implements [`FusedScanExec`], which scans row groups on the host.
//!
//! The operator has no children: the subplan that it replaces is a field, and is not shown.

use std::{fmt, sync::Arc};

use datafusion::{
    common::{Statistics, internal_err, tree_node::TreeNodeRecursion},
    config::ConfigOptions,
    error::Result,
    execution::{SendableRecordBatchStream, TaskContext},
    physical_expr::{PhysicalExpr, utils::conjunction_opt},
    physical_expr_common::physical_expr::fmt_sql,
    physical_plan::{
        DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties,
        ReplaceChildrenOptions,
        coop::cooperative,
        execution_plan::{EmissionType, SchedulingType},
        filter_pushdown::{
            ChildPushdownResult, FilterPushdownPhase, FilterPushdownPropagation, PushedDown,
        },
        metrics::{ExecutionPlanMetricsSet, MetricsSet},
        statistics::StatisticsArgs,
    },
};
use nearscan_command::Output;

use super::{
    cuts::{Cuts, Windows},
    filter::columns_of,
    keys::{LinkedKeys, dynamic_ids},
    run::{self, Start},
    share::Lists,
    work::Fused,
};
use crate::{
    exec::{is_dynamic, show, statistics_of_replaced},
    executions::Executions,
    scan::without_barriers,
};

/// Decodes, filters and aggregates Parquet row groups in one pass.
#[derive(Debug, Clone)]
pub struct FusedScanExec {
    fused: Arc<Fused>,
    /// The subplan that this node replaces.
    plan: Arc<dyn ExecutionPlan>,
    /// Dynamic filters of operators above, over the outputs.
    dynamic_filters: Vec<Arc<dyn PhysicalExpr>>,
    /// Keys of joins above.
    keys: Vec<LinkedKeys>,
    executions: Arc<Executions<Lists>>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl FusedScanExec {
    /// An operator that does `fused` in place of `plan`.
    pub(super) fn new(fused: Fused, plan: Arc<dyn ExecutionPlan>) -> Self {
        let properties = properties_over(&plan, fused.partitions.len());
        Self {
            fused: Arc::new(fused),
            plan,
            dynamic_filters: Vec::new(),
            keys: Vec::new(),
            executions: Arc::default(),
            properties,
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }

    /// The subplan that this node replaces; not a child.
    pub fn replaced(&self) -> &Arc<dyn ExecutionPlan> {
        &self.plan
    }

    /// Row groups of all partitions.
    pub fn row_group_count(&self) -> usize {
        self.fused.partitions.iter().map(Vec::len).sum()
    }

    /// The joins above that give it keys, by the identities of their dynamic filters.
    pub(crate) fn joins(&self) -> impl Iterator<Item = u64> {
        self.keys.iter().map(|keys| keys.join)
    }

    /// The work of the scan.
    pub(crate) fn fused(&self) -> &Fused {
        &self.fused
    }

    /// The scan with a partition for each window of an output.
    ///
    /// # Errors
    /// If it cannot be cut by that output.
    pub(crate) fn windowed(&self, output: usize, cuts: Cuts) -> Result<Self> {
        let fused = self.fused.windowed(output, cuts)?;
        let properties = match &fused.windows {
            Some(windows) => properties_of_windows(&self.properties, &self.plan, windows)?,
            None => Arc::clone(&self.properties),
        };
        let (fused, executions) = (Arc::new(fused), Arc::default());
        Ok(Self { fused, executions, properties, ..self.clone() })
    }

    /// The scan without the dynamic filters of some joins, by their identities.
    pub(crate) fn without_filters_of(&self, joins: &[u64]) -> Self {
        let is_of = |filter: &Arc<dyn PhysicalExpr>| {
            dynamic_ids(filter).iter().any(|join| joins.contains(join))
        };
        let mut node = self.clone();
        node.dynamic_filters.retain(|filter| !is_of(filter));
        node.executions = Arc::default();
        node
    }

    /// The scan with keys of one more join.
    pub(super) fn with_keys(&self, keys: impl IntoIterator<Item = LinkedKeys>) -> Self {
        let mut node = self.clone();
        node.keys.extend(keys);
        node.executions = Arc::default();
        node
    }

    fn fmt_scan(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fragment = &self.fused.scan.fragment;
        let columns: Vec<&str> =
            fragment.columns.iter().map(|column| column.name.as_str()).collect();
        write!(f, "table={}, columns=[{}]", self.fused.table, columns.join(", "))?;
        let filter = conjunction_opt(self.fused.conjuncts.iter().map(without_barriers));
        if let Some(filter) = filter {
            write!(f, ", filter={}", fmt_sql(filter.as_ref()))?;
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
        if let Some(computed) = self.fused.rows.as_ref().and_then(|rows| rows.computed.as_ref()) {
            let shown: Vec<String> = computed.iter().map(ToString::to_string).collect();
            write!(f, ", projection=[{}]", shown.join(", "))?;
        }
        if let Some(fetch) = self.fused.fetch {
            write!(f, ", fetch={fetch}")?;
        }
        write!(f, ", row_groups={}", self.row_group_count())?;
        if let Some(windows) = &self.fused.windows {
            write!(f, ", windows={}", windows.count())?;
        }
        if !self.dynamic_filters.is_empty() {
            f.write_str(", dynamic_filter=true")?;
        }
        let name = |column: &usize| fragment.columns.get(*column).map(|it| it.name.as_str());
        let keys = self.keys.iter().map(|keys| {
            let names: Vec<&str> = keys.columns.iter().filter_map(name).collect();
            match names.as_slice() {
                [name] => (*name).to_owned(),
                names => format!("({})", names.join(", ")),
            }
        });
        let keys: Vec<String> = keys.collect();
        match keys.is_empty() {
            true => Ok(()),
            false => write!(f, ", join_keys=[{}]", keys.join(", ")),
        }
    }
}

/// The properties of a scan in place of `plan`: its rows are the same, so what holds of them still
/// holds.
fn properties_over(plan: &Arc<dyn ExecutionPlan>, partitions: usize) -> Arc<PlanProperties> {
    let of_plan = plan.properties();
    let is_dealt = matches!(
        of_plan.output_partitioning(),
        Partitioning::UnknownPartitioning(count) if *count == partitions
    );
    if is_dealt
        && of_plan.emission_type == EmissionType::Incremental
        && of_plan.scheduling_type == SchedulingType::Cooperative
    {
        return Arc::clone(of_plan);
    }
    let properties = PlanProperties::new(
        of_plan.equivalence_properties().clone(),
        Partitioning::UnknownPartitioning(partitions),
        EmissionType::Incremental,
        of_plan.boundedness,
    );
    Arc::new(properties.with_scheduling_type(SchedulingType::Cooperative))
}

/// The properties of a scan whose partitions are windows, each of which has its row groups in the
/// order of the files, but not their rows.
fn properties_of_windows(
    before: &PlanProperties,
    plan: &Arc<dyn ExecutionPlan>,
    windows: &Windows,
) -> Result<Arc<PlanProperties>> {
    let mut rows = before.equivalence_properties().clone();
    rows.clear_orderings();
    let partitioning = windows.partitioning(&plan.schema())?;
    let properties =
        PlanProperties::new(rows, partitioning, before.emission_type, before.boundedness);
    Ok(Arc::new(properties.with_scheduling_type(SchedulingType::Cooperative)))
}

impl DisplayAs for FusedScanExec {
    fn fmt_as(&self, t: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match t {
            DisplayFormatType::Default | DisplayFormatType::Verbose => {
                f.write_str("FusedScanExec: ")?;
                self.fmt_scan(f)
            }
            DisplayFormatType::TreeRender => {
                writeln!(f, "table={}", self.fused.table)?;
                writeln!(f, "row_groups={}", self.row_group_count())
            }
        }
    }
}

impl ExecutionPlan for FusedScanExec {
    fn name(&self) -> &str {
        "FusedScanExec"
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
            count => internal_err!("FusedScanExec has no children, {count} were given"),
        }
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match children.len() {
            0 => Ok(self),
            count => internal_err!("FusedScanExec has no children, {count} were given"),
        }
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        // A join updates its dynamic filter, and waits for all of its build side, only if it finds
        // the filter below itself.
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
        // The operators that made the filters make others next time, or none: those of the past
        // must not drop rows of the future.
        let (dynamic_filters, keys) = (Vec::new(), Vec::new());
        let (executions, metrics) = (Arc::default(), ExecutionPlanMetricsSet::new());
        let node = Self { dynamic_filters, keys, executions, metrics, ..Self::clone(&self) };
        Ok(Arc::new(node))
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let start = Start {
            fused: &self.fused,
            plan: &self.plan,
            dynamic_filters: &self.dynamic_filters,
            keys: &self.keys,
            executions: &self.executions,
            metrics: &self.metrics,
        };
        Ok(Box::pin(cooperative(run::partition_stream(start, partition, &context)?)))
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
        self.fused.fetch
    }

    fn handle_child_pushdown_result(
        &self,
        phase: FilterPushdownPhase,
        child_pushdown_result: ChildPushdownResult,
        _config: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn ExecutionPlan>>> {
        let offered = child_pushdown_result.parent_filters;
        // The answer is always no: a filter may be left out, and the operator above still checks.
        let filters = vec![PushedDown::No; offered.len()];
        let is_evaluable = |filter: &Arc<dyn PhysicalExpr>| {
            let columns = columns_of(filter);
            is_dynamic(filter)
                // Not before rows are counted.
                && self.fused.fetch.is_none()
                && columns.iter().all(|column| self.fused.column_of_output(*column).is_some())
        };
        let taken: Vec<_> = match phase {
            FilterPushdownPhase::Post => {
                offered.into_iter().map(|offer| offer.filter).filter(is_evaluable).collect()
            }
            FilterPushdownPhase::Pre => Vec::new(),
        };
        if taken.is_empty() {
            return Ok(FilterPushdownPropagation { filters, updated_node: None });
        }
        let executions = Arc::default();
        let node = Self { dynamic_filters: taken, executions, ..self.clone() };
        Ok(FilterPushdownPropagation { filters, updated_node: Some(Arc::new(node)) })
    }
}
