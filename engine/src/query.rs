// SPDX-License-Identifier: Apache-2.0
//! A planned statement, and the stream of its rows.
//!
//! A [`Query`] owns everything it needs: the settings and tables as they were when it was planned.
//! Nothing runs until its stream is polled; dropping the stream ends the query and its tasks.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use datafusion::{
    arrow::{
        array::{AsArray, RecordBatch},
        datatypes::SchemaRef,
    },
    dataframe::DataFrame,
    execution::TaskContext,
    logical_expr::LogicalPlan,
    physical_plan::{
        ExecutionPlan, SendableRecordBatchStream, display::DisplayableExecutionPlan, execute_stream,
    },
};
use futures::{FutureExt, Stream, StreamExt, TryStreamExt, future::BoxFuture};
use nearscan_corrections::depth;
use nearscan_optimizer::{Candidate, PushdownContext, context::RunningQuery, recorded};

use crate::{
    error::{Error, Result},
    panics::{caught, from_panic},
    parquet,
    profile::{OperatorProfile, QueryProfile},
    stopwatch::Stopwatch,
};

/// A statement that is ready to run.
///
/// Statements that only change the session (`CREATE`, `DROP`, `SET`) have done so already when the
/// query is made; their result has no columns. `INSERT` and `COPY` run with the stream.
#[derive(Debug, Clone)]
pub struct Query {
    frame: DataFrame,
    /// How deep its logical plan is.
    levels: usize,
}

/// The rows of a running query, batch by batch.
pub struct QueryStream {
    inner: SendableRecordBatchStream,
    plan: Arc<dyn ExecutionPlan>,
    decisions: Vec<Candidate>,
    planning: Duration,
    stopwatch: Stopwatch,
    elapsed: Duration,
    rows: u64,
    /// Counts as running, which the cost model wants to know of others, until its last batch.
    running: Option<RunningQuery>,
    /// Looks for what is wrong with the data, after an error.
    failing: Option<BoxFuture<'static, Error>>,
    /// Nothing comes behind an error.
    has_failed: bool,
}

/// All rows of a query that has run.
#[derive(Debug, Clone)]
pub struct QueryResult {
    /// Columns of the result.
    pub schema: SchemaRef,
    /// The rows.
    pub batches: Vec<RecordBatch>,
    /// What the query did.
    pub profile: QueryProfile,
}

impl Query {
    pub(crate) fn new(frame: DataFrame, levels: usize) -> Self {
        Self { frame, levels }
    }

    /// Columns of the result; none if the statement delivers no rows.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(self.frame.schema().inner())
    }

    /// The logical plan, neither analyzed nor optimized.
    #[must_use]
    pub fn logical_plan(&self) -> &LogicalPlan {
        self.frame.logical_plan()
    }

    /// Makes the physical plan and starts the query.
    ///
    /// # Errors
    /// If the plan cannot be made, or a partition cannot be opened.
    pub async fn stream(&self) -> Result<QueryStream> {
        let task = self.frame.task_ctx();
        let watch = Stopwatch::start();
        let planning = depth::with_room(self.levels, Box::pin(self.frame.create_physical_plan()));
        let (plan, decisions) = match has_drives(&task) {
            true => caught(recorded(planning)).await?,
            // Nothing is decided then, and planning takes no longer than DataFusion's.
            false => (caught(planning).await?, Vec::new()),
        };
        let (plan, planning) = (plan?, watch.elapsed());
        let stopwatch = Stopwatch::start();
        let context = task.session_config().get_extension::<PushdownContext>();
        let running = context.map(|context| context.begin_query());
        let inner = execute_stream(Arc::clone(&plan), Arc::new(task))?;
        Ok(QueryStream {
            inner,
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

    /// Plans the query without running it: a profile with plan and decisions, and nothing counted.
    ///
    /// # Errors
    /// If the plan cannot be made.
    pub async fn profile(&self) -> Result<QueryProfile> {
        let watch = Stopwatch::start();
        let planning = depth::with_room(self.levels, Box::pin(self.frame.create_physical_plan()));
        let (plan, decisions) = recorded(planning).await;
        let (plan, planning) = (plan?, watch.elapsed());
        Ok(profile(plan.as_ref(), decisions, planning))
    }

    /// Runs the query and keeps all its rows in memory.
    ///
    /// # Errors
    /// If planning or running fails.
    pub async fn collect(&self) -> Result<QueryResult> {
        let mut stream = self.stream().await?;
        let schema = stream.schema();
        let mut batches = Vec::new();
        while let Some(batch) = stream.try_next().await? {
            batches.push(batch);
        }
        Ok(QueryResult { schema, batches, profile: stream.profile() })
    }

    /// Returns the plans as `EXPLAIN` shows them: for each kind of plan its name, a colon, and
    /// below it the plan.
    ///
    /// # Errors
    /// If the statement cannot be explained, for example because it is an `EXPLAIN` itself.
    pub async fn explain(&self) -> Result<String> {
        let frame = self.frame.clone().explain(false, false)?;
        let result = Box::pin(Self::new(frame, self.levels).collect()).await?;
        let mut text = String::new();
        for batch in &result.batches {
            let kinds = batch.column(0).as_string::<i32>();
            let plans = batch.column(1).as_string::<i32>();
            for (kind, plan) in kinds.iter().zip(plans) {
                let (kind, plan) = (kind.unwrap_or_default(), plan.unwrap_or_default());
                text.push_str(&format!("{kind}:\n{}\n", plan.trim_end()));
            }
        }
        Ok(text)
    }
}

impl QueryStream {
    /// Columns of every batch.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        self.inner.schema()
    }

    /// Returns what the query has done so far, and after the last batch what it did.
    #[must_use]
    pub fn profile(&self) -> QueryProfile {
        let profile = profile(self.plan.as_ref(), self.decisions.clone(), self.planning);
        QueryProfile { rows: self.rows, elapsed: self.elapsed, ..profile }
    }

    /// The physical plan, for those who watch its metrics while the query runs.
    #[must_use]
    pub fn plan(&self) -> &Arc<dyn ExecutionPlan> {
        &self.plan
    }
}

fn has_drives(task: &TaskContext) -> bool {
    let context = task.session_config().get_extension::<PushdownContext>();
    context.is_some_and(|context| !context.drives.is_empty())
}

/// The profile of a plan that has delivered nothing yet.
fn profile(
    plan: &dyn ExecutionPlan,
    decisions: Vec<Candidate>,
    planning: Duration,
) -> QueryProfile {
    QueryProfile {
        plan: DisplayableExecutionPlan::with_metrics(plan).indent(false).to_string(),
        root: OperatorProfile::of(plan),
        decisions,
        rows: 0,
        planning,
        elapsed: Duration::ZERO,
    }
}

impl Stream for QueryStream {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if !self.has_failed {
            let polled = catch_unwind(AssertUnwindSafe(|| self.inner.poll_next_unpin(context)));
            let item = match polled {
                Ok(item) => ready!(item),
                Err(panic) => Some(Err(from_panic(&*panic))),
            };
            self.elapsed = self.stopwatch.elapsed();
            match item {
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

impl std::fmt::Debug for QueryStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("QueryStream")
            .field("rows", &self.rows)
            .field("elapsed", &self.elapsed)
            .finish_non_exhaustive()
    }
}
