// SPDX-License-Identifier: Apache-2.0
//! Runs a merge as a stream, window by window.
//!
//! ```text
//! one unit         like any unit of its scan: drive, fallback, replaced plan
//! several units    one command that scans and merges them
//!   refused, failed, corrupted, or a status other than ok
//! host             each unit by itself, merged by DataFusion
//! ```

use std::sync::Arc;

use arrow::{array::RecordBatch, datatypes::SchemaRef};
use datafusion::{
    common::internal_err,
    error::Result,
    execution::{SendableRecordBatchStream, TaskContext, memory_pool::MemoryReservation},
    physical_expr::PhysicalExpr,
    physical_plan::{
        ExecutionPlan, filter::batch_filter, sorts::streaming_merge::StreamingMergeBuilder,
        stream::RecordBatchStreamAdapter,
    },
};
use futures::{
    StreamExt, TryStreamExt,
    stream::{self, BoxStream},
};
use nearscan_command::{Command, Envelope, Fragment, MergeCommand};
use nearscan_drive::{Completion, Fault, Kernel, Load, Observation};

use crate::{
    exec::{
        arrays,
        dynamic::Narrowing,
        fallback,
        merge::{
            MergeWindow, Merged, PushdownMergeExec, UnitPlace, WindowInput, distinct::Distinct,
            verify,
        },
        metrics::{PushBack, PushdownMetrics},
        pushed::Pushed,
        run::{UNITS_IN_FLIGHT, limit, unit_runner},
        trial::Filters,
        unit::{Charged, Cost, Returned, UnitRows, UnitRunner, fault_reason, row_count},
    },
    merge::part,
    settings::Verify,
    units::PlannedUnit,
};

/// Runs a merge.
pub(super) fn merged_stream(
    exec: &PushdownMergeExec,
    task: &Arc<TaskContext>,
) -> Result<RecordBatchStreamAdapter<BoxStream<'static, Result<RecordBatch>>>> {
    let metrics = Arc::new(PushdownMetrics::new(&exec.metrics, 0));
    if let Some(costs) = &exec.merged().costs {
        PushdownMetrics::expected(&exec.metrics, 0, costs);
    }
    let scans = exec.scans().map(|scan| -> Result<MergedScan> {
        let runner = unit_runner(scan, 0, task, Arc::clone(&metrics))?;
        Ok(MergedScan { narrowing: scan.narrowing(), runner })
    });
    let scans = scans.collect::<Result<Vec<_>>>()?;
    let counters = Arc::clone(&metrics);
    let runner = Arc::new(MergeRunner {
        merged: Arc::clone(exec.merged()),
        quarantine_hash: exec.quarantine_hash(),
        schema: exec.schema(),
        memory: scans.first().map(|scan| scan.runner.memory.new_empty()),
        scans,
        metrics,
        batch_size: task.session_config().batch_size(),
    });
    let fetch = runner.merged.fetch;
    let windows = runner.merged.windows.clone();
    let batches = stream::iter(windows)
        .map(move |window| Arc::clone(&runner).run(window))
        .buffered(UNITS_IN_FLIGHT)
        .map_ok(UnitRows::release)
        .try_flatten();
    let limited: BoxStream<'static, Result<RecordBatch>> = match fetch {
        Some(rows) => Box::pin(limit(batches, rows)),
        None => Box::pin(batches),
    };
    let counted = limited.inspect_ok(move |batch| counters.delivered(batch)).boxed();
    Ok(RecordBatchStreamAdapter::new(exec.schema(), counted))
}

/// A scan below a merge.
struct MergedScan {
    runner: Arc<UnitRunner>,
    narrowing: Narrowing,
}

/// The state shared by the windows of a merge.
struct MergeRunner {
    merged: Arc<Merged>,
    quarantine_hash: u64,
    schema: SchemaRef,
    scans: Vec<MergedScan>,
    metrics: Arc<PushdownMetrics>,
    memory: Option<MemoryReservation>,
    batch_size: usize,
}

/// A unit of a window, with its current fragment.
struct Input {
    runner: Arc<UnitRunner>,
    unit: PlannedUnit,
    /// Narrowed by dynamic filters, and to the part.
    fragment: Arc<Fragment>,
    /// Whether dynamic filters leave out rows.
    is_narrowed: bool,
    /// Whether the fragment keeps to the part.
    is_exact: bool,
    /// Rows that belong to the window; all without.
    part: Option<Arc<dyn PhysicalExpr>>,
}

impl MergeRunner {
    /// Runs one window.
    async fn run(self: Arc<Self>, window: MergeWindow) -> Result<UnitRows> {
        let inputs = window.inputs.iter().map(|input| self.input(*input));
        let mut inputs = inputs.collect::<Result<Vec<Input>>>()?;
        if inputs.len() == 1
            && !self.merged.merge.distinct
            && let Some(alone) = inputs.pop()
        {
            return Self::unit_rows(alone).await;
        }
        if inputs.iter().any(|input| input.unit.kept.is_some()) {
            return self.merged_by_host(inputs);
        }
        match self.on_drive(&inputs).await {
            Ok((charged, cost)) => {
                self.metrics.units_drive.add(inputs.len());
                for input in &inputs {
                    self.metrics.reads(input.unit.rows, input.fragment.columns.len());
                }
                if self.verifies() && !inputs.iter().any(|input| input.is_narrowed) {
                    let expected = self.expected(&inputs)?;
                    verify::compare(&self.merged, inputs.len(), &charged.batches, expected).await?;
                }
                self.log(&inputs, cost, row_count(&charged.batches));
                Ok(UnitRows::Batches(charged))
            }
            Err(Returned { reason, .. }) => {
                self.metrics.pushed_back(reason);
                self.merged_by_host(inputs)
            }
        }
    }

    fn verifies(&self) -> bool {
        self.scans.iter().any(|scan| scan.runner.verify == Verify::Compare)
    }

    /// Returns a unit with its current fragment.
    fn input(&self, input: WindowInput) -> Result<Input> {
        let UnitPlace { input: scan, partition, unit } = input.place;
        let scan = self.scans.get(scan);
        let units = scan.and_then(|scan| scan.runner.pushed.partitions.get(partition));
        let (Some(scan), Some(unit)) = (scan, units.and_then(|units| units.get(unit))) else {
            return internal_err!("a merge is about a row group that its scans do not have");
        };
        let Pushed { fragment, replaced, .. } = &*scan.runner.pushed;
        let shape = replaced.rows_shape();
        let current = scan.narrowing.current(shape, |_, _| false);
        let mut found = Input {
            runner: Arc::clone(&scan.runner),
            unit: unit.clone(),
            is_narrowed: current.predicate != fragment.predicate,
            fragment: current,
            is_exact: true,
            part: None,
        };
        if let Some(span) = input.part {
            let key = self.merged.ordering.first();
            let Some(part) = part::predicate(key, &key.expr.data_type(&self.schema)?, span) else {
                return internal_err!("a merge is cut where {} has no value", key.expr);
            };
            match shape.and_then(|shape| Narrowing::exactly(&found.fragment, &part, shape)) {
                Some(fragment) => found.fragment = Arc::new(fragment),
                None => found.is_exact = false,
            }
            found.part = Some(part);
        }
        Ok(found)
    }

    /// The rows of a unit that belong to its window.
    async fn unit_rows(input: Input) -> Result<UnitRows> {
        let Input { runner, unit, fragment, part, .. } = input;
        let rows = runner.run(unit, fragment, Filters::default()).await?;
        let Some(part) = part else { return Ok(rows) };
        Ok(match rows {
            UnitRows::Batches(Charged { batches, memory }) => {
                let kept = batches.iter().map(|batch| batch_filter(batch, &part));
                let batches = kept.collect::<Result<Vec<_>>>()?;
                UnitRows::Batches(Charged { batches, memory })
            }
            UnitRows::Stream(stream) => UnitRows::Stream(only(stream, part)),
        })
    }

    /// The window as one command.
    async fn on_drive(&self, inputs: &[Input]) -> Result<(Charged, Cost), Returned> {
        let back = |reason| Returned { reason, cost: Cost::default() };
        let first = inputs.first().ok_or_else(|| back(PushBack::Fault))?;
        if !inputs.iter().all(|input| input.is_exact) {
            return Err(back(PushBack::Encoding));
        }
        let UnitRunner { pushed, context, timeout, .. } = &*first.runner;
        // The scans of a merge have one drive.
        let name = pushed.first_drive();
        let open = first.runner.drive(0).ok_or_else(|| back(PushBack::Fault))?;
        // Its timeout is the sum over its units.
        let timeout = timeout.saturating_mul(u32::try_from(inputs.len()).unwrap_or(u32::MAX));
        let scan = |input: &Input| input.runner.bind(open, &input.fragment, &input.unit, timeout);
        let scans: Option<Vec<Command>> = inputs.iter().map(scan).collect();
        let scans = scans.ok_or_else(|| back(PushBack::Fault))?;
        let envelope = Envelope {
            command_id: context.next_command_id(),
            query_id: pushed.query_id,
            epoch: open.epoch(),
            deadline_ns: u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX),
            ..Envelope::default()
        };
        let command = MergeCommand::bind(scans, self.merged.merge.clone(), envelope);
        let command = command.map_err(|error| {
            tracing::debug!(%error, "a merge does not fit in a command");
            back(PushBack::Encoding)
        })?;
        let pass = context.admit(name, self.quarantine_hash, open.epoch());
        let pass = pass.ok_or_else(|| back(PushBack::Quarantine))?;
        let completion = match open.complete(command.clone(), timeout).await {
            Ok(completion) => completion,
            Err(reason) => {
                if reason == PushBack::Timeout {
                    pass.failed(context.now());
                }
                return Err(back(reason));
            }
        };
        self.metrics.moved(&completion);
        let cost = Cost::of(&completion);
        match self.checked(&completion, &command, first) {
            Ok((batches, rows)) => {
                pass.succeeded();
                let load = Load { rows, ..Load::default() };
                let observed = Observation::of(Kernel::Merge, &command.scans, load, &completion);
                context.note_command(name, &observed);
                let low_memory = || Returned { reason: PushBack::LowMemory, cost };
                Ok((first.runner.charge(batches).ok_or_else(low_memory)?, cost))
            }
            Err(fault) => {
                tracing::debug!(drive = name, %fault, "a merge was pushed back");
                pass.ended(&fault, context.now());
                Err(Returned { reason: fault_reason(&fault), cost })
            }
        }
    }

    /// The batches of a completion, once it has been checked, and how many rows it merged.
    fn checked(
        &self,
        completion: &Completion,
        command: &MergeCommand,
        first: &Input,
    ) -> Result<(Vec<RecordBatch>, u64), Fault> {
        let view = completion.check_merge(command)?;
        let replaced = &first.runner.pushed.replaced;
        let batches = arrays::to_batches(&view, replaced, &[], &self.schema);
        let batches = batches.map_err(|error| {
            tracing::warn!(%error, "a drive's merge does not fit its schema");
            Fault::Accounting("its values do not fit the schema")
        })?;
        Ok((batches, view.header.rows_kept))
    }

    /// The window, each unit by itself, merged by DataFusion.
    fn merged_by_host(&self, inputs: Vec<Input>) -> Result<UnitRows> {
        let rows = inputs.into_iter().map(|input| {
            let rows = stream::once(Self::unit_rows(input)).map_ok(UnitRows::release).try_flatten();
            self.stream_of(rows.boxed())
        });
        let rows: Vec<SendableRecordBatchStream> = rows.collect();
        Ok(UnitRows::Stream(self.merge_streams(rows)?))
    }

    /// Runs the replaced plans over the units of a window, merged by DataFusion.
    fn expected(&self, inputs: &[Input]) -> Result<SendableRecordBatchStream> {
        let rows = inputs.iter().map(|input| -> Result<SendableRecordBatchStream> {
            let task = Arc::clone(&input.runner.task);
            let rows = fallback::execute_whole_unit(&input.runner.plan, &input.unit, task)?;
            Ok(match &input.part {
                Some(part) => only(rows, Arc::clone(part)),
                None => rows,
            })
        });
        self.merge_streams(rows.collect::<Result<_>>()?)
    }

    fn stream_of(
        &self,
        rows: BoxStream<'static, Result<RecordBatch>>,
    ) -> SendableRecordBatchStream {
        Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), rows))
    }

    /// Sorted streams as one; rows that tie in the order of the streams.
    fn merge_streams(
        &self,
        streams: Vec<SendableRecordBatchStream>,
    ) -> Result<SendableRecordBatchStream> {
        let Some(memory) = self.memory.as_ref().filter(|_| !streams.is_empty()) else {
            return Ok(self.stream_of(stream::empty().boxed()));
        };
        let metrics = datafusion::physical_plan::metrics::ExecutionPlanMetricsSet::new();
        let merged = StreamingMergeBuilder::new()
            .with_streams(streams)
            .with_schema(Arc::clone(&self.schema))
            .with_expressions(&self.merged.ordering)
            .with_metrics(datafusion::physical_plan::metrics::BaselineMetrics::new(&metrics, 0))
            .with_batch_size(self.batch_size)
            .with_reservation(memory.new_empty())
            .with_round_robin_tie_breaker(false)
            .build()?;
        if !self.merged.merge.distinct {
            return Ok(merged);
        }
        let mut distinct = Distinct::new(&self.schema)?;
        Ok(self.stream_of(merged.map(move |batch| distinct.keep(&batch?)).boxed()))
    }

    /// An entry for each unit of a window: its own media bytes and rows; what the merge sent and
    /// took as a whole is in the first.
    fn log(&self, inputs: &[Input], cost: Cost, rows_out: u64) {
        for (at, input) in inputs.iter().enumerate() {
            let media_bytes = input.unit.chunks.iter().map(|chunk| chunk.length).sum();
            let mut own = Cost { traffic: cost.traffic, time: None };
            own.traffic.media_bytes = media_bytes;
            own.traffic.link_bytes = 0;
            let mut own_rows = 0;
            if at == 0 {
                own.traffic.link_bytes = cost.traffic.link_bytes;
                own.time = cost.time;
                own_rows = rows_out;
            }
            input.runner.log(&input.unit, &self.merged.drive, "", own, own_rows);
        }
    }
}

/// The rows of a stream for which a predicate is true.
fn only(
    rows: SendableRecordBatchStream,
    predicate: Arc<dyn PhysicalExpr>,
) -> SendableRecordBatchStream {
    let schema = rows.schema();
    let kept = rows.map(move |batch| batch_filter(&batch?, &predicate));
    Box::pin(RecordBatchStreamAdapter::new(schema, kept))
}
