// SPDX-License-Identifier: Apache-2.0
//! Implements [`WindowsExec`], which runs the partitions of its input one after the other.
//!
//! Each partition of the output has a list of windows, and takes from the others when its own is
//! empty, as the partitions of a scan share their row groups.

use std::{fmt, sync::Arc};

use arrow::{array::RecordBatch, datatypes::SchemaRef};
use datafusion::{
    common::{Statistics, tree_node::TreeNodeRecursion},
    error::Result,
    execution::{SendableRecordBatchStream, TaskContext},
    physical_expr::PhysicalExpr,
    physical_plan::{
        DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, Partitioning,
        PlanProperties, ReplaceChildrenOptions,
        coop::cooperative,
        metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet},
        statistics::StatisticsArgs,
        stream::RecordBatchStreamAdapter,
    },
};
use futures::{
    TryStreamExt,
    stream::{self, BoxStream},
};
use nearscan_corrections::pass_through::only_child;

use crate::{
    exec::statistics_of_replaced,
    executions::Executions,
    fused::{Lists, Share, start_share},
};

/// Runs windows: the partitions of its input, of which there are more than of its own.
#[derive(Debug)]
pub struct WindowsExec {
    input: Arc<dyn ExecutionPlan>,
    /// The subplan that this node and its input replace; not a child.
    plan: Arc<dyn ExecutionPlan>,
    /// Name of the key.
    key: String,
    properties: Arc<PlanProperties>,
    executions: Executions<Lists>,
    metrics: ExecutionPlanMetricsSet,
}

impl WindowsExec {
    /// An operator that runs the windows of `input`, by a key of this name, in place of `plan`.
    pub(super) fn new(
        input: Arc<dyn ExecutionPlan>,
        plan: Arc<dyn ExecutionPlan>,
        key: String,
    ) -> Self {
        let mut rows = input.equivalence_properties().clone();
        rows.clear_orderings();
        rows.clear_per_partition_constants();
        let properties = PlanProperties::new(
            rows,
            Partitioning::UnknownPartitioning(plan.output_partitioning().partition_count()),
            input.pipeline_behavior(),
            input.boundedness(),
        );
        let (executions, metrics) = (Executions::default(), ExecutionPlanMetricsSet::new());
        Self { input, plan, key, properties: Arc::new(properties), executions, metrics }
    }

    /// The subplan that this node and its input replace.
    pub fn replaced(&self) -> &Arc<dyn ExecutionPlan> {
        &self.plan
    }

    /// The node over another input with the same rows.
    fn over(&self, input: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
        Arc::new(Self::new(input, Arc::clone(&self.plan), self.key.clone()))
    }

    fn windows(&self) -> usize {
        self.input.output_partitioning().partition_count()
    }

    fn partitions(&self) -> usize {
        self.properties.output_partitioning().partition_count()
    }
}

impl DisplayAs for WindowsExec {
    fn fmt_as(&self, t: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match t {
            DisplayFormatType::Default | DisplayFormatType::Verbose => {
                write!(f, "WindowsExec: windows={}, key={}", self.windows(), self.key)
            }
            DisplayFormatType::TreeRender => {
                writeln!(f, "windows={}", self.windows())?;
                writeln!(f, "key={}", self.key)
            }
        }
    }
}

impl ExecutionPlan for WindowsExec {
    fn name(&self) -> &str {
        "WindowsExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
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
        Ok(self.over(only_child(children)?))
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self.over(only_child(children)?))
    }

    fn reset_state(self: Arc<Self>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self.over(Arc::clone(&self.input)))
    }

    fn apply_expressions(
        &self,
        _f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let (windows, partitions) = (self.windows(), self.partitions());
        // Neighbours are of different partitions, which read the files in order together.
        let count = |partition: usize| windows.saturating_sub(partition).div_ceil(partitions);
        let counts: Vec<usize> = (0..partitions).map(count).collect();
        let running = Running {
            share: start_share(&self.executions, &context, &counts, partition, true),
            partitions,
            input: Arc::clone(&self.input),
            task: context,
            window: None,
            metrics: BaselineMetrics::new(&self.metrics, partition),
        };
        Ok(Box::pin(cooperative(running.into_stream(self.schema()))))
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
}

/// The windows of one partition.
struct Running {
    share: Share,
    /// Of the output.
    partitions: usize,
    input: Arc<dyn ExecutionPlan>,
    task: Arc<TaskContext>,
    /// The window that runs. It is dropped before the next one begins, with its memory.
    window: Option<SendableRecordBatchStream>,
    metrics: BaselineMetrics,
}

impl Running {
    fn into_stream(
        self,
        schema: SchemaRef,
    ) -> RecordBatchStreamAdapter<BoxStream<'static, Result<RecordBatch>>> {
        let batches = stream::try_unfold(self, async |mut running| {
            let batch = running.next().await?;
            Ok(batch.map(|batch| (batch, running)))
        });
        RecordBatchStreamAdapter::new(schema, Box::pin(batches))
    }

    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(window) = &mut self.window {
                if let Some(batch) = window.try_next().await? {
                    self.metrics.record_output(batch.num_rows());
                    return Ok(Some(batch));
                }
                self.window = None;
            }
            let Some((list, place)) = self.share.next() else { return Ok(None) };
            let window = place * self.partitions + list;
            self.window = Some(self.input.execute(window, Arc::clone(&self.task))?);
        }
    }
}
