// SPDX-License-Identifier: Apache-2.0
//! Runs a query several times that is planned once.

use std::sync::Arc;

use crate::{
    error::Result,
    interrupt::{CancelHandle, Interrupts, until},
    profile::{QueryProfile, profile},
    query::{Query, QueryResult, collect},
    stream::{Planned, QueryStream},
};
use datafusion::{
    arrow::datatypes::SchemaRef,
    common::tree_node::TreeNode,
    dataframe::DataFrame,
    execution::TaskContext,
    physical_plan::{
        ExecutionPlan, execution_plan::reset_plan_states, recursive_query::RecursiveQueryExec,
        scalar_subquery::ScalarSubqueryExec,
    },
};

/// A query with its physical plan, which any number of runs share, also concurrently.
///
/// It reads the files that existed when it was planned, and ends with an error if one of them has
/// changed. `now()` is the time of planning. Counters of scans in profiles add up over runs.
///
/// Operators of scalar subqueries and `WITH RECURSIVE` keep rows of a run; a plan with one is made
/// anew for each run.
#[derive(Debug, Clone)]
pub struct PlannedQuery {
    query: Query,
    planned: Planned,
    task: Arc<TaskContext>,
    interrupts: Interrupts,
}

impl Query {
    /// Plans the query for any number of runs.
    ///
    /// Such a plan has no dynamic filters, because they hold values of a single run; a query that
    /// runs once is faster with [`Query::stream`].
    ///
    /// # Errors
    /// If the plan cannot be made.
    pub async fn plan(&self) -> Result<PlannedQuery> {
        const DYNAMIC_FILTERS: &str = "datafusion.optimizer.enable_dynamic_filter_pushdown";
        let mut interrupt = self.interrupts.first();
        let (mut state, plan) = self.frame.clone().into_parts();
        state.config_mut().options_mut().set(DYNAMIC_FILTERS, "false")?;
        let frame = DataFrame::new(state, plan);
        let task = frame.task_ctx();
        let planned = until(&mut interrupt, self.planned(&frame, &task)).await??;
        Ok(PlannedQuery::new(self.clone(), planned, task, self.interrupts.clone()))
    }
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

    /// Columns of the result; none if the statement returns no rows.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        let schema = self.planned.plan.schema();
        self.planned.names.rename(&schema).unwrap_or(schema)
    }

    /// Starts a run, with the timeout of the query.
    ///
    /// # Errors
    /// If a partition cannot be opened, or the plan cannot be made anew.
    pub async fn execute(&self) -> Result<QueryStream> {
        if keeps_rows(&self.planned.plan) {
            return self.query.stream().await;
        }
        let interrupt = self.interrupts.first();
        // Operators keep rows and counters in the plan.
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

    /// Returns a handle that cancels all runs of the query.
    #[must_use]
    pub fn cancel_handle(&self) -> CancelHandle {
        self.interrupts.cancel.clone()
    }

    /// Returns the plan and the decision about each scan, without counters.
    #[must_use]
    pub fn profile(&self) -> QueryProfile {
        let Planned { plan, decisions, time, .. } = &self.planned;
        profile(plan.as_ref(), decisions.clone(), *time)
    }
}

/// Whether a plan keeps rows that another run would see.
fn keeps_rows(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let keeps = |node: &Arc<dyn ExecutionPlan>| {
        Ok(node.is::<ScalarSubqueryExec>() || node.is::<RecursiveQueryExec>())
    };
    plan.exists(keeps).unwrap_or(true)
}
