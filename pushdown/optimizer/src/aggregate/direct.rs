// SPDX-License-Identifier: Apache-2.0
//! Implements [`DirectAggregateExec`], which groups the rows of each window of a key by the place
//! of the key in the window.
//!
//! ```text
//! WindowsExec: windows=61, key=k             WindowsExec: windows=61, key=k
//!   AggregateExec: mode=SinglePartitioned =>   DirectAggregateExec: gby=[k@0 as k], aggr=[..]
//!     FusedScanExec: windows=61                  FusedScanExec: windows=61
//! ```
//!
//! The keys of a window are in a range that its cuts and the footers of its row groups bound. Where
//! it is short in relation to the rows, an array over the range is smaller than a hash table, and
//! rows in the order of the key touch it in order.
//!
//! # Invariants
//!
//! - The index of a window is charged to the memory pool before the window is read, for as many
//!   groups as there can be. If the pool refuses it, or the range is long, the replaced aggregate
//!   runs over the window instead.
//! - Scans compare every key with the bounds of its row group, so a key beyond the range is an
//!   error of this crate, which ends the query.
//! - The output has the schema and the partitions of the replaced node.

use std::{fmt, sync::Arc};

use arrow::{array::RecordBatch, datatypes::SchemaRef};
use datafusion::{
    common::{Statistics, tree_node::TreeNodeRecursion},
    error::Result,
    execution::{
        SendableRecordBatchStream, TaskContext,
        memory_pool::{MemoryConsumer, MemoryReservation},
    },
    physical_expr::{PhysicalExpr, expressions::Column},
    physical_expr_common::utils::evaluate_expressions_to_arrays,
    physical_plan::{
        DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties,
        ReplaceChildrenOptions,
        aggregates::{AggregateExec, AggregateMode},
        coalesce_partitions::CoalescePartitionsExec,
        coop::cooperative,
        metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricBuilder, MetricsSet},
        repartition::RepartitionExec,
        replace_children_if_necessary,
        sorts::sort_preserving_merge::SortPreservingMergeExec,
        statistics::{StatisticsArgs, StatisticsContext},
        stream::RecordBatchStreamAdapter,
        union::{InterleaveExec, UnionExec},
    },
};
use futures::{
    TryStreamExt,
    stream::{self, BoxStream},
};
use nearscan_aggregate::{DirectGroups, DirectKeys, Groups};
use nearscan_corrections::{input_of_unchanged, pass_through::only_child};

use super::{
    plan::{Computed, aggregate_of},
    run::batch_of,
    spill::external,
};
use crate::{
    clustered::WindowsExec,
    fused::{FusedScanExec, WindowKeys, input_of_collector, origins},
    settings::FloatOrder,
};

/// Places of an index for each row that is read, at most: its bytes are then no more than those of
/// a hash table of as many groups, which has a slot and a hash for each of them.
const PLACES_PER_ROW_MAX: u64 = 8;

/// Places of an index, at most: 64 MiB. Windows have about a million rows.
const PLACES_MAX: usize = 1 << 24;

/// Groups the rows of each partition of its input, which are windows of the key.
#[derive(Debug)]
pub struct DirectAggregateExec {
    input: Arc<dyn ExecutionPlan>,
    /// The column of the input that is the key.
    column: usize,
    computed: Arc<Computed>,
    /// The aggregate that this node replaces, over the same input.
    plan: Arc<dyn ExecutionPlan>,
    metrics: ExecutionPlanMetricsSet,
}

impl DirectAggregateExec {
    /// What replaces an aggregate; nothing if that stays.
    pub(super) fn of(node: &Arc<dyn ExecutionPlan>) -> Option<Self> {
        let aggregate = aggregate_of(node, AggregateMode::SinglePartitioned)?;
        let (column, computed) = computed_of(aggregate)?;
        let input = aggregate.input();
        keys_of_window(input, column, 0)?;
        Some(Self {
            input: Arc::clone(input),
            column,
            computed: Arc::new(computed),
            plan: Arc::clone(node),
            metrics: ExecutionPlanMetricsSet::new(),
        })
    }

    /// Whether an operator of this kind computes an aggregate if its key has windows.
    pub(crate) fn computes(aggregate: &AggregateExec) -> bool {
        aggregate.filter_expr().iter().all(Option::is_none) && computed_of(aggregate).is_some()
    }

    /// The aggregate that this node replaces, over this node's input.
    pub fn replaced(&self) -> &Arc<dyn ExecutionPlan> {
        &self.plan
    }

    /// The node over another input.
    fn over(&self, input: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
        let plan = replace_children_if_necessary(Arc::clone(&self.plan), vec![Arc::clone(&input)])?;
        let (computed, metrics) = (Arc::clone(&self.computed), ExecutionPlanMetricsSet::new());
        Ok(Arc::new(Self { input, column: self.column, computed, plan, metrics }))
    }

    /// The index of a window, and its memory; none if it would take too much.
    fn index(
        &self,
        partition: usize,
        task: &TaskContext,
    ) -> Option<(DirectGroups, MemoryReservation)> {
        let keys = keys_of_window(&self.input, self.column, partition)?;
        let places_max = keys.rows.saturating_mul(PLACES_PER_ROW_MAX);
        let keys_max = usize::try_from(keys.rows).ok()?;
        let keys = DirectKeys { span: keys.span, keys_max };
        let places = keys.places().filter(|places| *places <= PLACES_MAX)?;
        if u64::try_from(places).ok()? > places_max {
            return None;
        }
        let bytes = keys.memory_bytes(&self.computed.shape)?;
        let memory = MemoryConsumer::new(format!("DirectAggregateExec[{partition}]"));
        let memory = memory.register(task.memory_pool());
        memory.try_grow(bytes).ok()?;
        Some((DirectGroups::new(Arc::clone(&self.computed.shape), keys)?, memory))
    }
}

/// The column that is the key of an aggregate, and what is computed; nothing if that is of another
/// kind.
fn computed_of(aggregate: &AggregateExec) -> Option<(usize, Computed)> {
    let [(key, _)] = aggregate.group_expr().expr() else { return None };
    let column = key.downcast_ref::<Column>()?.index();
    // Each group has its rows in their order, as in the replaced node.
    let computed = Computed::of(aggregate, aggregate.aggr_expr(), FloatOrder::Free, 1)?;
    DirectGroups::takes(&computed.shape).then_some((column, computed))
}

/// The keys that rows of a partition may have in a column, if it is a window of that.
fn keys_of_window(
    plan: &Arc<dyn ExecutionPlan>,
    column: usize,
    partition: usize,
) -> Option<WindowKeys> {
    if let Some(scan) = plan.downcast_ref::<FusedScanExec>() {
        return scan.fused().keys_of_window(column, partition);
    }
    if let Some(input) = input_of_unchanged(plan).or_else(|| input_of_collector(plan)) {
        return keys_of_window(input, column, partition);
    }
    let plan = match plan.downcast_ref::<DirectAggregateExec>() {
        Some(aggregate) => aggregate.replaced(),
        None => plan,
    };
    let moves_rows = plan.is::<RepartitionExec>()
        || plan.is::<CoalescePartitionsExec>()
        || plan.is::<SortPreservingMergeExec>()
        || plan.is::<UnionExec>()
        || plan.is::<InterleaveExec>()
        || plan.is::<WindowsExec>();
    if moves_rows {
        return None;
    }
    let (partitions, inputs) = (plan.output_partitioning().partition_count(), plan.children());
    origins(plan, column).into_iter().find_map(|origin| {
        let input = inputs.get(origin.input)?;
        // A side that is collected is no window.
        let is_alike = input.output_partitioning().partition_count() == partitions;
        is_alike.then(|| keys_of_window(input, origin.column, partition))?
    })
}

impl DisplayAs for DirectAggregateExec {
    fn fmt_as(&self, t: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if matches!(t, DisplayFormatType::Default | DisplayFormatType::Verbose) {
            f.write_str("DirectAggregateExec: ")?;
        }
        self.computed.write_names(&self.plan, f)
    }
}

impl ExecutionPlan for DirectAggregateExec {
    fn name(&self) -> &str {
        "DirectAggregateExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.plan.properties()
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.over(only_child(children)?)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.over(only_child(children)?)
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.computed.apply_expressions(f)
    }

    fn reset_state(self: Arc<Self>) -> Result<Arc<dyn ExecutionPlan>> {
        self.over(Arc::clone(&self.input))
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let Some((groups, memory)) = self.index(partition, &context) else {
            MetricBuilder::new(&self.metrics).counter("windows_hashed", partition).add(1);
            return Arc::clone(&self.plan).execute(partition, context);
        };
        let running = Running {
            computed: Arc::clone(&self.computed),
            schema: self.schema(),
            batch_rows: context.session_config().batch_size(),
            metrics: BaselineMetrics::new(&self.metrics, partition),
            stage: Stage::Reading(Box::new(groups), self.input.execute(partition, context)?),
            _memory: memory,
        };
        Ok(Box::pin(cooperative(running.into_stream())))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn statistics_from_inputs(
        &self,
        _inputs: &[Arc<Statistics>],
        args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        StatisticsContext::new().compute(self.plan.as_ref(), args)
    }
}

/// A window that is grouped.
struct Running {
    computed: Arc<Computed>,
    schema: SchemaRef,
    batch_rows: usize,
    metrics: BaselineMetrics,
    stage: Stage,
    /// That of the index.
    _memory: MemoryReservation,
}

enum Stage {
    Reading(Box<DirectGroups>, SendableRecordBatchStream),
    /// Of the groups so many were returned.
    Returning(Box<Groups>, usize),
    Done,
}

impl Running {
    fn into_stream(self) -> RecordBatchStreamAdapter<BoxStream<'static, Result<RecordBatch>>> {
        let schema = Arc::clone(&self.schema);
        let batches = stream::try_unfold(self, async |mut running| {
            let batch = running.next().await?;
            Ok(batch.map(|batch| (batch, running)))
        });
        RecordBatchStreamAdapter::new(schema, Box::pin(batches))
    }

    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        let time = self.metrics.elapsed_compute().clone();
        let (groups, returned) = match std::mem::replace(&mut self.stage, Stage::Done) {
            Stage::Reading(mut groups, mut input) => {
                while let Some(batch) = input.try_next().await? {
                    let _timer = time.timer();
                    push(&self.computed, &mut groups, &batch)?;
                }
                let _timer = time.timer();
                (Box::new(groups.into_groups().map_err(external)?), 0)
            }
            Stage::Returning(groups, returned) => (groups, returned),
            Stage::Done => return Ok(None),
        };
        if returned == groups.len() {
            return Ok(None);
        }
        let _timer = time.timer();
        let end = groups.len().min(returned + self.batch_rows);
        let batch = batch_of(&self.computed, &self.schema, &groups, returned..end)?;
        self.metrics.record_output(batch.num_rows());
        self.stage = Stage::Returning(groups, end);
        Ok(Some(batch))
    }
}

/// Adds the rows of a batch to groups.
fn push(computed: &Computed, groups: &mut DirectGroups, batch: &RecordBatch) -> Result<()> {
    let keys = evaluate_expressions_to_arrays(&computed.keys, batch)?;
    let arguments = evaluate_expressions_to_arrays(&computed.arguments, batch)?;
    keys.iter().try_for_each(|keys| groups.push(keys, &arguments)).map_err(external)
}
