// SPDX-License-Identifier: Apache-2.0
//! A query that is planned once and run several times.

use std::{sync::Arc, time::Duration};

use datafusion::{
    arrow::datatypes::SchemaRef,
    common::tree_node::TreeNode,
    execution::TaskContext,
    physical_plan::{
        ExecutionPlan, execution_plan::reset_plan_states, recursive_query::RecursiveQueryExec,
        scalar_subquery::ScalarSubqueryExec,
    },
};
use nearscan_optimizer::Candidate;

use crate::{
    error::Result,
    interrupt::{CancelHandle, Interrupts},
    profile::{QueryProfile, profile},
    query::{Query, QueryResult, collect},
    stream::QueryStream,
};

/// A physical plan, and how it came about.
#[derive(Debug, Clone)]
pub(crate) struct Planned {
    pub(crate) plan: Arc<dyn ExecutionPlan>,
    /// What was decided about each scan.
    pub(crate) decisions: Vec<Candidate>,
    /// What planning took.
    pub(crate) time: Duration,
}

/// A query with its physical plan, which any number of runs share, also at the same time.
///
/// It reads the files that there were when it was planned, and ends with an error where one of them
/// has changed. `now()` is the time of planning. Counters of scans in profiles add up over the runs.
///
/// Plans with a scalar subquery or `WITH RECURSIVE` keep the rows of a run in themselves; such a
/// plan is made anew for each run.
#[derive(Debug, Clone)]
pub struct PlannedQuery {
    query: Query,
    planned: Planned,
    task: Arc<TaskContext>,
    interrupts: Interrupts,
}

impl PlannedQuery {
    pub(crate) fn new(
        query: Query,
        planned: Planned,
        task: TaskContext,
        interrupts: Interrupts,
    ) -> Self {
        Self { query, planned, task: Arc::new(task), interrupts }
    }

    /// Columns of the result; none if the statement delivers no rows.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        self.planned.plan.schema()
    }

    /// Starts a run, with the timeout of the query.
    ///
    /// # Errors
    /// If a partition cannot be opened, or a plan that is made anew cannot be made.
    pub async fn execute(&self) -> Result<QueryStream> {
        if keeps_rows(&self.planned.plan) {
            return self.query.stream().await;
        }
        let interrupt = self.interrupts.first();
        // Operators keep what they have read and counted in the plan.
        let plan = reset_plan_states(Arc::clone(&self.planned.plan))?;
        let planned = Planned { plan, ..self.planned.clone() };
        QueryStream::start(planned, Arc::clone(&self.task), interrupt)
    }

    /// Runs the query and keeps all its rows in memory.
    ///
    /// # Errors
    /// If running fails.
    pub async fn collect(&self) -> Result<QueryResult> {
        collect(self.execute().await?).await
    }

    /// What cancels all runs of the query.
    #[must_use]
    pub fn cancel_handle(&self) -> CancelHandle {
        self.interrupts.cancel.clone()
    }

    /// The plan and what was decided about each scan, with nothing counted.
    #[must_use]
    pub fn profile(&self) -> QueryProfile {
        let Planned { plan, decisions, time } = &self.planned;
        profile(plan.as_ref(), decisions.clone(), *time)
    }
}

/// Whether a plan keeps rows of a run where another run would find them.
fn keeps_rows(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let keeps = |node: &Arc<dyn ExecutionPlan>| {
        Ok(node.is::<ScalarSubqueryExec>() || node.is::<RecursiveQueryExec>())
    };
    plan.exists(keeps).unwrap_or(true)
}
