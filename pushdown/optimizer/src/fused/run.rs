// SPDX-License-Identifier: Apache-2.0
//! Runs the row groups of one partition as a stream.

use std::sync::Arc;

use arrow::{
    array::{ArrayRef, RecordBatch, RecordBatchOptions},
    compute::cast,
    datatypes::{Schema, SchemaRef},
};
use datafusion::{
    common::internal_err,
    error::{DataFusionError, Result},
    execution::{
        SendableRecordBatchStream, TaskContext,
        memory_pool::{MemoryConsumer, MemoryReservation},
    },
    physical_expr::PhysicalExpr,
    physical_plan::{
        ExecutionPlan, metrics::ExecutionPlanMetricsSet, stream::RecordBatchStreamAdapter,
    },
};
use futures::{TryStreamExt, stream, stream::BoxStream};
use nearscan_command::ResultView;
use nearscan_cpu::fused::{Progress, RowFilter, Scan, ScanError, ScanPlan, has_pages_at};

use super::{
    filter::DynamicFilter,
    indexes::IndexPruner,
    keys::{LinkedKeys, PartitionKeys, dynamic_ids},
    metrics::Metrics,
    prune::RowGroupPruner,
    reader::{OpenUnit, RowGroupReader},
    share::{self, Lists},
    windows::WindowFilter,
    work::Fused,
};
use crate::{
    exec::{arrays, fallback},
    executions::Executions,
    lower::aggregate::Meaning,
    units::PlannedUnit,
};

/// Batches that a stream processes, or row groups that it opens, before it gives way to other tasks
/// and can be cancelled: about a millisecond.
const STEPS_IN_TURN: usize = 8;

/// What the streams of an operator start from.
pub(super) struct Start<'a> {
    pub(super) fused: &'a Arc<Fused>,
    /// The replaced plan.
    pub(super) plan: &'a Arc<dyn ExecutionPlan>,
    /// Over the outputs.
    pub(super) dynamic_filters: &'a [Arc<dyn PhysicalExpr>],
    pub(super) keys: &'a [LinkedKeys],
    pub(super) executions: &'a Executions<Lists>,
    pub(super) metrics: &'a ExecutionPlanMetricsSet,
}

/// Runs one partition.
pub(super) fn partition_stream(
    start: Start<'_>,
    partition: usize,
    task: &Arc<TaskContext>,
) -> Result<RecordBatchStreamAdapter<BoxStream<'static, Result<RecordBatch>>>> {
    let fused = Arc::clone(start.fused);
    let schema = start.plan.schema();
    let counts: Vec<usize> = fused.partitions.iter().map(Vec::len).collect();
    let is_shared = !fused.is_ordered && fused.windows.is_none();
    let share = share::start(start.executions, task, &counts, partition, is_shared);
    let window = WindowFilter::of(&fused, partition);
    let metrics = Metrics::new(start.metrics, partition);
    let keys: Vec<_> = start.keys.iter().filter_map(|keys| keys.of(partition)).collect();
    let pruner = RowGroupPruner::new(&fused, start.dynamic_filters, &keys);
    let runner = Runner {
        scan: Scan::new(with_filters(&start, &schema, window.as_ref(), keys)),
        window,
        reader: RowGroupReader::new(&fused, share, pruner, metrics.row_groups_pruned.clone(), task),
        indexes: IndexPruner::new(&fused, start.plan),
        page_memory: MemoryConsumer::new("FusedScanExec pages").register(task.memory_pool()),
        schema: Arc::clone(&schema),
        plan: Arc::clone(start.plan),
        task: Arc::clone(task),
        metrics,
        left: fused.fetch.unwrap_or(usize::MAX),
        unit: None,
        first_rows: Vec::new(),
        fallback: None,
        only_checks: false,
        steps_in_turn: 0,
        fused,
    };
    let batches = stream::try_unfold(runner, async |mut runner| {
        let batch = runner.next().await?;
        Ok(batch.map(|batch| (batch, runner)))
    });
    Ok(RecordBatchStreamAdapter::new(schema, Box::pin(batches)))
}

/// The plan of the scan with the filter of its window, and the dynamic filters of its operator, but
/// for those of a join whose keys it has: these drop the same rows, and cost much less.
fn with_filters(
    start: &Start<'_>,
    outputs: &Schema,
    window: Option<&Arc<WindowFilter>>,
    keys: Vec<PartitionKeys>,
) -> Arc<ScanPlan> {
    let fused = start.fused;
    if start.dynamic_filters.is_empty() && start.keys.is_empty() && window.is_none() {
        return Arc::clone(&fused.scan);
    }
    let mut plan = ScanPlan::clone(&fused.scan);
    if let Some(window) = window {
        plan.filters.insert(0, Arc::clone(window) as Arc<dyn RowFilter>);
    }
    plan.keys = keys.into_iter().map(|PartitionKeys { columns, keys }| (columns, keys)).collect();
    let has_keys = |filter: &&Arc<dyn PhysicalExpr>| {
        let joins = dynamic_ids(filter);
        joins.iter().all(|join| start.keys.iter().any(|it| it.join == *join))
    };
    for filter in start.dynamic_filters.iter().filter(|filter| !has_keys(filter)) {
        let columns = |output| fused.column_of_output(output);
        if let Some(filter) = DynamicFilter::over_outputs(filter, outputs, columns) {
            // Before the filters that can fail, which stay last.
            plan.filters.insert(0, Arc::new(filter));
        }
    }
    Arc::new(plan)
}

struct Runner {
    fused: Arc<Fused>,
    scan: Scan,
    /// The window that the partition is.
    window: Option<Arc<WindowFilter>>,
    reader: RowGroupReader,
    indexes: IndexPruner,
    page_memory: MemoryReservation,
    schema: SchemaRef,
    /// The replaced plan.
    plan: Arc<dyn ExecutionPlan>,
    task: Arc<TaskContext>,
    metrics: Metrics,
    unit: Option<OpenUnit>,
    /// The first row of each page, of the columns whose page index has ruled rows out.
    first_rows: Vec<(usize, Vec<u64>)>,
    /// The replaced plan over the rest of the row group.
    fallback: Option<SendableRecordBatchStream>,
    /// Whether its rows were returned already, so that only its error counts.
    only_checks: bool,
    /// Batches and row groups since the stream last gave way to other tasks.
    steps_in_turn: usize,
    /// Rows still wanted.
    left: usize,
}

impl Runner {
    /// The next batch; none at the end.
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        if self.left == 0 {
            return Ok(None);
        }
        let batch = self.next_uncut().await?;
        let batch = batch.map(|batch| batch.slice(0, batch.num_rows().min(self.left)));
        if let Some(batch) = &batch {
            self.left -= batch.num_rows();
            self.metrics.baseline.record_output(batch.num_rows());
        }
        Ok(batch)
    }

    async fn next_uncut(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(stream) = &mut self.fallback {
                match stream.try_next().await? {
                    Some(_) if self.only_checks => continue,
                    Some(batch) => return self.in_window(batch).map(Some),
                    None => self.fallback = None,
                }
            }
            if self.unit.is_none() {
                match self.reader.next() {
                    Some(unit) => self.open(unit).await?,
                    None if self.scan.rows_ready() > 0 => return self.take_rows(),
                    None => return Ok(None),
                }
            } else if let Some(batch) = self.advance().await? {
                return Ok(Some(batch));
            }
            self.steps_in_turn += 1;
            if self.steps_in_turn == STEPS_IN_TURN {
                self.steps_in_turn = 0;
                tokio::task::yield_now().await;
            }
        }
    }

    /// The rows of a batch that are in the window.
    fn in_window(&self, batch: RecordBatch) -> Result<RecordBatch> {
        match &self.window {
            Some(window) => window.keep(&batch),
            None => Ok(batch),
        }
    }

    /// Begins a row group, unless its Bloom filters or its page index rule all rows out.
    async fn open(&mut self, open: OpenUnit) -> Result<()> {
        let fused = Arc::clone(&self.fused);
        let Some(unit) = fused.unit(open.at) else {
            return internal_err!("the scan has no row group {:?}", open.at);
        };
        if let Some(window) = &self.window {
            window.begin(&fused, unit);
        }
        let planned = &unit.planned;
        if !open.is_readable() {
            self.metrics.begin(planned.rows);
            // It reports what is wrong with the file.
            return self.fall_back(planned, 0);
        }
        if self.indexes.is_ruled_out(unit, &open, &self.reader).await {
            self.metrics.row_groups_pruned_bloom_filter.add(1);
            return Ok(());
        }
        let mut rows = None;
        self.first_rows.clear();
        if let Some(candidates) = self.indexes.candidates(unit).await {
            let left: u64 = candidates.rows.iter().map(|range| range.end - range.start).sum();
            let pruned = usize::try_from(planned.rows.saturating_sub(left));
            self.metrics.page_index_rows_pruned.add(pruned.unwrap_or(usize::MAX));
            if left == 0 {
                return Ok(());
            }
            rows = Some(candidates.rows);
            self.first_rows = candidates.first_rows;
        }
        self.metrics.begin(planned.rows);
        self.scan.open(planned.rows, planned.chunks.clone(), rows);
        self.unit = Some(open);
        Ok(())
    }

    /// Reads the rows from `first` on of a row group by the replaced plan.
    fn fall_back(&mut self, unit: &PlannedUnit, first: u64) -> Result<()> {
        self.metrics.row_groups_datafusion.add(1);
        self.scan.close();
        self.unit = None;
        // If every row was returned, the plan runs over all of them, to report what is wrong.
        self.only_checks = first > 0 && first == unit.rows;
        let first = if self.only_checks { 0 } else { first };
        let task = Arc::clone(&self.task);
        self.fallback = Some(fallback::execute_rest(&self.plan, unit, first, task)?);
        Ok(())
    }

    /// Processes a batch; returns rows if there are enough.
    async fn advance(&mut self) -> Result<Option<RecordBatch>> {
        let Some(open) = &self.unit else { return Ok(None) };
        let at = open.at;
        let timer = self.metrics.baseline.elapsed_compute().clone();
        let timer = timer.timer();
        let progress = self.scan.advance();
        drop(timer);
        if let Err(error) = self.charge_pages() {
            tracing::debug!(table = self.fused.table, %error, "DataFusion reads a row group");
            return self.give_up(at, self.scan.rows_done());
        }
        match progress {
            Ok(Progress::NeedsBytes) => match self.read().await {
                Ok(true) => Ok(None),
                // No row of the row group was kept yet: these columns are read before one is.
                Ok(false) => self.give_up(at, 0),
                Err(error) => {
                    let detail = error.detail();
                    tracing::debug!(table = self.fused.table, %error, detail, "not read here");
                    self.give_up(at, self.scan.rows_done())
                }
            },
            Ok(Progress::Batch) => match self.scan.rows_ready() >= self.fused.batch_rows {
                true => self.take_rows(),
                false => Ok(None),
            },
            Ok(Progress::Done) => self.finish_unit(at),
            Err(ScanError::Filter(error)) => Err(from_filter(error)),
            Err(error) => {
                tracing::debug!(table = self.fused.table, %error, "DataFusion reads a row group");
                self.give_up(at, self.scan.rows_done())
            }
        }
    }

    /// Leaves a row group, from `first` on, to the replaced plan; returns the rows that are ready.
    fn give_up(&mut self, at: (usize, usize), first: u64) -> Result<Option<RecordBatch>> {
        let fused = Arc::clone(&self.fused);
        let Some(unit) = fused.unit(at) else {
            return internal_err!("the scan has no row group {at:?}");
        };
        let unit = &unit.planned;
        let first = if fused.states.is_some() { 0 } else { first };
        let ready = match self.scan.rows_ready() > 0 {
            true => self.take_rows_of(unit)?,
            false => None,
        };
        self.fall_back(unit, first)?;
        Ok(ready)
    }

    /// Charges what pages take, once more without what is kept for later pages.
    fn charge_pages(&self) -> Result<()> {
        let buffers = self.scan.buffers();
        if buffers.all_bytes() == self.page_memory.size() {
            return Ok(());
        }
        self.page_memory.try_resize(buffers.all_bytes()).or_else(|_| {
            buffers.free_kept();
            self.page_memory.try_resize(buffers.all_bytes())
        })
    }

    /// Reads the chunks that the scan needs; returns whether their pages are those of the page
    /// index, if it has ruled rows out.
    async fn read(&mut self) -> Result<bool, nearscan_io::Error> {
        let Some(open) = &mut self.unit else { return Ok(true) };
        let timer = self.metrics.read_time.timer();
        let read = self.reader.read(open, &self.scan.needs()).await?;
        drop(timer);
        let unit = self.fused.unit(open.at).map(|unit| &unit.planned);
        for (column, bytes) in read {
            self.metrics.bytes_scanned.add(bytes.len());
            let first_rows = self.first_rows.iter().find(|(of, _)| *of == column);
            if let Some((_, first_rows)) = first_rows
                && let Some(unit) = unit
                && !has_pages_at(&unit.chunks[column], &bytes, unit.rows, first_rows)
            {
                return Ok(false);
            }
            self.scan.give(column, bytes);
        }
        Ok(true)
    }

    /// Ends a row group; returns its states, or the rows that must not mix with those of another.
    fn finish_unit(&mut self, at: (usize, usize)) -> Result<Option<RecordBatch>> {
        self.unit = None;
        self.scan.close();
        let skipped = usize::try_from(self.scan.take_pages_skipped()).unwrap_or(usize::MAX);
        self.metrics.pages_skipped.add(skipped);
        let fused = Arc::clone(&self.fused);
        let Some(unit) = fused.unit(at) else {
            return internal_err!("the scan has no row group {at:?}");
        };
        let unit = &unit.planned;
        if let Some(states) = &fused.states {
            let bytes = match self.scan.take_states() {
                Ok(bytes) => bytes,
                Err(ScanError::Status(_)) => return self.fall_back(unit, 0).map(|()| None),
                Err(error) => return Err(DataFusionError::External(Box::new(error))),
            };
            let widths = fused.scan.fragment.output_widths();
            let view = ResultView::parse(&bytes, &widths)
                .map_err(|error| DataFusionError::External(Box::new(error)))?;
            let batches = arrays::to_batches(&view, states, &unit.folder_values, &self.schema)?;
            let batch = arrow::compute::concat_batches(&self.schema, &batches)?;
            return Ok((batch.num_rows() > 0).then_some(batch));
        }
        let has_folder_values = self.fused.rows.as_ref().is_some_and(|rows| {
            rows.sources.iter().any(|source| source.meaning == Meaning::FolderValue)
        });
        let ready = self.scan.rows_ready();
        match ready >= self.fused.batch_rows || has_folder_values && ready > 0 {
            true => self.take_rows_of(unit),
            false => Ok(None),
        }
    }

    fn take_rows(&mut self) -> Result<Option<RecordBatch>> {
        let fused = Arc::clone(&self.fused);
        let at = self.unit.as_ref().map(|open| open.at);
        let unit = at.and_then(|at| fused.unit(at));
        match unit.or_else(|| fused.partitions.iter().flatten().next()) {
            Some(unit) => self.take_rows_of(&unit.planned),
            None => Ok(None),
        }
    }

    /// The rows that are ready, of `unit` if values of its folder are among them.
    fn take_rows_of(&mut self, unit: &PlannedUnit) -> Result<Option<RecordBatch>> {
        let Some(output) = &self.fused.rows else { return Ok(None) };
        let (read, rows) = match self.scan.take_rows() {
            Ok(taken) => taken,
            Err(error) => return Err(DataFusionError::External(Box::new(error))),
        };
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let column = |(source, field): (&_, &Arc<arrow::datatypes::Field>)| -> Result<ArrayRef> {
            let source: &crate::lower::aggregate::Source = source;
            if source.meaning == Meaning::FolderValue {
                let Some(value) = unit.folder_values.get(source.column) else {
                    return internal_err!("the folder has no value for {}", field.name());
                };
                return Ok(cast(&value.to_array_of_size(rows)?, field.data_type())?);
            }
            match read.get(source.column) {
                Some(array) => Ok(Arc::clone(array)),
                None => internal_err!("the scan has no column for {}", field.name()),
            }
        };
        let columns = output.sources.iter().zip(&output.fields).map(column);
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let Some(computed) = &output.computed else {
            let schema = Arc::clone(&self.schema);
            return Ok(Some(RecordBatch::try_new_with_options(schema, columns, &options)?));
        };
        let schema = Arc::new(Schema::new(output.fields.clone()));
        let batch = RecordBatch::try_new_with_options(schema, columns, &options)?;
        let columns = computed.iter().map(|expr| expr.evaluate(&batch)?.into_array(rows));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let schema = Arc::clone(&self.schema);
        Ok(Some(RecordBatch::try_new_with_options(schema, columns, &options)?))
    }
}

/// The error of a condition as DataFusion's own.
fn from_filter(error: Box<dyn std::error::Error + Send + Sync>) -> DataFusionError {
    match error.downcast::<DataFusionError>() {
        Ok(error) => *error,
        Err(error) => DataFusionError::External(error),
    }
}
