// SPDX-License-Identifier: Apache-2.0
//! Plans and runs a statement whose names and types are resolved.
//!
//! A [`Query`] owns everything it needs: the settings and tables at the time it was made.
//! [`Query::stream`] plans and runs it; [`Query::plan`] plans it for several runs.

use std::{sync::Arc, time::Duration};

use datafusion::{
    arrow::{
        array::{AsArray, RecordBatch},
        datatypes::SchemaRef,
    },
    common::ParamValues,
    dataframe::DataFrame,
    execution::TaskContext,
    logical_expr::LogicalPlan,
    physical_plan::ExecutionPlan,
};
use futures::TryStreamExt;
use nearscan_corrections::depth;
use nearscan_dialect::DisplayNames;
use nearscan_drive::clock::Stopwatch;
use nearscan_optimizer::{Candidate, PushdownContext, recorded};

use crate::{
    error::Result,
    interrupt::{CancelHandle, Interrupts, until},
    panics::caught,
    parameters,
    profile::{QueryProfile, profile},
    stream::{Planned, QueryStream},
};

/// A statement that is ready to be planned and run.
///
/// Statements that only change the session (`CREATE`, `DROP`, `SET`) have done so already when the
/// query is made; their result has no columns. `INSERT` and `COPY` run with the stream.
#[derive(Debug, Clone)]
pub struct Query {
    pub(crate) frame: DataFrame,
    /// Depth of its logical plan.
    levels: usize,
    /// How its columns are shown.
    names: DisplayNames,
    pub(crate) interrupts: Interrupts,
}

/// All rows of a query that has run.
#[derive(Debug, Clone)]
pub struct QueryResult {
    /// Columns of the result.
    pub schema: SchemaRef,
    /// The rows.
    pub batches: Vec<RecordBatch>,
    /// The profile of the run.
    pub profile: QueryProfile,
}

impl Query {
    pub(crate) fn new(frame: DataFrame, levels: usize) -> Self {
        Self { frame, levels, names: DisplayNames::default(), interrupts: Interrupts::default() }
    }

    /// Shows the columns of the result by other names.
    pub(crate) fn named(self, names: DisplayNames) -> Self {
        Self { names, ..self }
    }

    /// Columns of the result; none if the statement returns no rows.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        let schema = self.frame.schema().inner();
        self.names.rename(schema).unwrap_or_else(|| Arc::clone(schema))
    }

    /// Returns the logical plan, neither analyzed nor optimized.
    #[must_use]
    pub fn logical_plan(&self) -> &LogicalPlan {
        self.frame.logical_plan()
    }

    /// Binds values to the parameters of the statement: a list for `$1, $2` and `?`, pairs of name
    /// and value for `$name`. A value is cast to the type that the statement needs.
    ///
    /// # Errors
    /// [`Error::Parameter`](crate::Error::Parameter) if a parameter has no value, or a value has no
    /// parameter or the wrong type.
    pub fn bind(self, values: impl Into<ParamValues>) -> Result<Self> {
        let Self { frame, levels, names, interrupts } = self;
        let (state, plan) = frame.into_parts();
        let plan = parameters::bind(plan, values.into())?;
        Ok(Self { frame: DataFrame::new(state, plan), levels, names, interrupts })
    }

    /// Leaves out the first rows, and returns at most so many of the others. An order of the query
    /// is kept, which a LIMIT around it as a subquery would not do.
    ///
    /// # Errors
    /// [`Error::Plan`](crate::Error::Plan) if the statement returns no rows.
    pub fn limit(&self, offset: usize, count: Option<usize>) -> Result<Self> {
        let frame = self.frame.clone().limit(offset, count)?;
        let (levels, names) = (self.levels + 1, self.names.clone());
        Ok(Self { frame, levels, names, interrupts: Interrupts::default() })
    }

    /// Limits the time of each run, including planning; a run that exceeds it ends with
    /// [`Error::Timeout`](crate::Error::Timeout). The runtime needs its timer (`enable_time`).
    #[must_use]
    pub fn timeout(mut self, after: Duration) -> Self {
        self.interrupts.timeout = Some(after);
        self
    }

    /// Returns a handle that cancels the query: its planning, and all of its runs.
    #[must_use]
    pub fn cancel_handle(&self) -> CancelHandle {
        self.interrupts.cancel.clone()
    }

    /// Makes the physical plan and starts the query.
    ///
    /// # Errors
    /// If the plan cannot be made, or a partition cannot be opened.
    pub async fn stream(&self) -> Result<QueryStream> {
        let mut interrupt = self.interrupts.first();
        let task = self.frame.task_ctx();
        let planned = until(&mut interrupt, self.planned(&self.frame, &task)).await??;
        QueryStream::start(planned, task, interrupt)
    }

    pub(crate) async fn planned(&self, frame: &DataFrame, task: &TaskContext) -> Result<Planned> {
        let watch = Stopwatch::start();
        let planning =
            depth::with_enough_stack(self.levels, Box::pin(frame.create_physical_plan()));
        let (plan, decisions) = match has_drives(task) {
            true => caught(recorded(planning)).await?,
            // Without drives there is nothing to decide, and planning takes no longer than
            // DataFusion's.
            false => (caught(planning).await?, Vec::new()),
        };
        let names = self.names.clone();
        Ok(Planned { plan: plan?, decisions, time: watch.elapsed(), names })
    }

    /// Plans the query without running it; the profile has the plan and the decisions, and no
    /// counters.
    ///
    /// # Errors
    /// If the plan cannot be made.
    pub async fn profile(&self) -> Result<QueryProfile> {
        let watch = Stopwatch::start();
        let planning =
            depth::with_enough_stack(self.levels, Box::pin(self.frame.create_physical_plan()));
        let (plan, decisions): (_, Vec<Candidate>) = recorded(planning).await;
        let (plan, planning): (Arc<dyn ExecutionPlan>, _) = (plan?, watch.elapsed());
        Ok(profile(plan.as_ref(), decisions, planning))
    }

    /// Runs the query and keeps all its rows in memory.
    ///
    /// # Errors
    /// If planning or running fails.
    pub async fn collect(&self) -> Result<QueryResult> {
        collect(self.stream().await?).await
    }

    /// Returns the plans as `EXPLAIN` shows them: for each kind of plan its name, a colon, and the
    /// plan below it.
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

/// Collects all rows of a stream.
pub(crate) async fn collect(mut stream: QueryStream) -> Result<QueryResult> {
    let schema = stream.schema();
    let mut batches = Vec::new();
    while let Some(batch) = stream.try_next().await? {
        batches.push(batch);
    }
    Ok(QueryResult { schema, batches, profile: stream.profile() })
}

fn has_drives(task: &TaskContext) -> bool {
    let context = task.session_config().get_extension::<PushdownContext>();
    context.is_some_and(|context| !context.drives.is_empty())
}
