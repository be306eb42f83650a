// SPDX-License-Identifier: Apache-2.0
//! Streams the rows of a query while it runs.
//!
//! Nothing runs until the stream is polled; dropping it ends the query and its tasks. A stream ends
//! with its first error. A panic of an operator becomes an error.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use datafusion::{
    arrow::{
        array::{RecordBatch, RecordBatchOptions},
        datatypes::{Field, FieldRef, Schema, SchemaRef},
    },
    common::DataFusionError,
    execution::TaskContext,
    physical_plan::{
        EmptyRecordBatchStream, ExecutionPlan, SendableRecordBatchStream, execute_stream,
        stream::RecordBatchStreamAdapter,
    },
};
use futures::{FutureExt, Stream, StreamExt, TryStreamExt, future::BoxFuture};
use nearscan_dialect::DisplayNames;
use nearscan_drive::clock::Stopwatch;
use nearscan_optimizer::{Candidate, PushdownContext, context::RunningQuery, with_query_id};

use crate::{
    error::{Error, Result},
    panics::from_panic,
    parquet,
    profile::{QueryProfile, profile},
};

/// A physical plan, with the decisions and the time of planning.
#[derive(Debug, Clone)]
pub(crate) struct Planned {
    pub(crate) plan: Arc<dyn ExecutionPlan>,
    /// The decision about each scan.
    pub(crate) decisions: Vec<Candidate>,
    /// The time of planning.
    pub(crate) time: Duration,
    /// How the columns of the result are shown.
    pub(crate) names: DisplayNames,
}

/// The rows of a running query, batch by batch.
pub struct QueryStream {
    id: u128,
    /// Becomes ready when the query is interrupted.
    interrupt: BoxFuture<'static, Error>,
    inner: SendableRecordBatchStream,
    /// The columns of the result with the names that are shown.
    schema: SchemaRef,
    plan: Arc<dyn ExecutionPlan>,
    decisions: Vec<Candidate>,
    planning: Duration,
    stopwatch: Stopwatch,
    elapsed: Duration,
    rows: u64,
    /// Counts the query as running, for the cost model of other queries, until its last batch.
    running: Option<RunningQuery>,
    /// Finds the corrupt place in the data after an error.
    failing: Option<BoxFuture<'static, Error>>,
    /// An error ends the stream.
    has_failed: bool,
}

impl QueryStream {
    /// Starts the execution of a plan.
    pub(crate) fn start(
        planned: Planned,
        task: impl Into<Arc<TaskContext>>,
        interrupt: BoxFuture<'static, Error>,
    ) -> Result<Self> {
        let Planned { mut plan, decisions, time: planning, names } = planned;
        let task = task.into();
        let stopwatch = Stopwatch::start();
        let context = task.session_config().get_extension::<PushdownContext>();
        let id = context.as_ref().map_or(0, |context| context.next_query_id());
        if !decisions.is_empty() {
            plan = with_query_id(plan, id)?;
        }
        let running = context.map(|context| context.begin_query());
        let inner = execute_stream(Arc::clone(&plan), task)?;
        let schema = names.rename(&inner.schema()).unwrap_or_else(|| inner.schema());
        Ok(Self {
            id,
            interrupt,
            inner,
            schema,
            plan,
            decisions,
            planning,
            stopwatch,
            elapsed: Duration::ZERO,
            rows: 0,
            running,
            failing: None,
            has_failed: false,
        })
    }

    /// Returns the id of the run, which is unique in the engine and also in
    /// `nearscan.pushdown_log`.
    #[must_use]
    pub fn id(&self) -> u128 {
        self.id
    }

    /// Converts it to the stream type of DataFusion and its ecosystem. Its errors are
    /// [`DataFusionError::External`] around an [`Error`].
    #[must_use]
    pub fn into_record_batch_stream(self) -> SendableRecordBatchStream {
        let schema = self.schema();
        let rows = self.map_err(|error| DataFusionError::External(error.into()));
        Box::pin(RecordBatchStreamAdapter::new(schema, rows))
    }

    /// Columns of every batch.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// Returns the profile of the query so far; it is complete after the last batch.
    #[must_use]
    pub fn profile(&self) -> QueryProfile {
        let profile = profile(self.plan.as_ref(), self.decisions.clone(), self.planning);
        QueryProfile { query_id: Some(self.id), rows: self.rows, elapsed: self.elapsed, ..profile }
    }

    /// Returns the physical plan, whose metrics can be read while the query runs.
    #[must_use]
    pub fn plan(&self) -> &Arc<dyn ExecutionPlan> {
        &self.plan
    }
}

impl Stream for QueryStream {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if !self.has_failed
            && let Poll::Ready(error) = self.interrupt.poll_unpin(context)
        {
            // Running operators end here, not when the stream is dropped.
            self.inner = Box::pin(EmptyRecordBatchStream::new(self.inner.schema()));
            self.elapsed = self.stopwatch.elapsed();
            self.running = None;
            self.has_failed = true;
            return Poll::Ready(Some(Err(error)));
        }
        if !self.has_failed {
            let polled = catch_unwind(AssertUnwindSafe(|| self.inner.poll_next_unpin(context)));
            let item = match polled {
                Ok(item) => ready!(item),
                Err(panic) => Some(Err(from_panic(&*panic))),
            };
            self.elapsed = self.stopwatch.elapsed();
            match item.map(|item| item.and_then(|batch| renamed(batch, &self.schema))) {
                Some(Ok(batch)) => {
                    self.rows += u64::try_from(batch.num_rows()).unwrap_or(u64::MAX);
                    return Poll::Ready(Some(Ok(batch)));
                }
                Some(Err(error)) => {
                    let plan = Arc::clone(&self.plan);
                    self.failing = Some(parquet::explain(error, plan).boxed());
                }
                None => {}
            }
            self.running = None;
            self.has_failed = self.failing.is_some();
        }
        let Some(failing) = &mut self.failing else { return Poll::Ready(None) };
        let error = ready!(failing.poll_unpin(context));
        self.failing = None;
        Poll::Ready(Some(Err(error)))
    }
}

/// Returns a batch with the names that are shown.
fn renamed(batch: RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, DataFusionError> {
    let is_named = |(own, shown): (&FieldRef, &FieldRef)| own.name() == shown.name();
    if batch.schema_ref().fields().iter().zip(schema.fields()).all(is_named) {
        return Ok(batch);
    }
    let names = schema.fields().iter().map(|field| field.name());
    let fields = batch.schema_ref().fields().iter().zip(names);
    let fields: Vec<Field> =
        fields.map(|(field, name)| Field::clone(field).with_name(name.clone())).collect();
    let schema = Schema::new_with_metadata(fields, schema.metadata().clone());
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    let columns = batch.columns().to_vec();
    Ok(RecordBatch::try_new_with_options(Arc::new(schema), columns, &options)?)
}

impl std::fmt::Debug for QueryStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("QueryStream")
            .field("id", &self.id)
            .field("rows", &self.rows)
            .field("elapsed", &self.elapsed)
            .finish_non_exhaustive()
    }
}
