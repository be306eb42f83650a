// SPDX-License-Identifier: Apache-2.0
//! Adds rows to EXPLAIN and EXPLAIN ANALYZE: `pushdown`, a line for each candidate scan, with its
//! drive or the reason why it was kept; `scan`, a line for each Parquet scan of the host, with its
//! reader and the reason; and `joins`, a line for each join and each of its inputs, with estimated
//! rows, and after a run with the actual ones and the error of the estimate.
//!
//! DataFusion's list of plan types is closed and its explain operator holds finished text, so the
//! planner wraps that operator in an [`ExplainedExec`], which appends the rows. The scans are
//! those that our rules visited while they planned the inner statement, the joins those of the plan
//! that runs; nothing is recorded or estimated for other statements. Formats that show only the
//! logical plan (PGJSON, GRAPHVIZ) stay unchanged.
//!
//! The planner also tells the tables which columns the statement's plan depends on ([`Wanted`]).

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use datafusion::{
    arrow::{
        array::{ArrayRef, RecordBatch, StringArray},
        datatypes::SchemaRef,
    },
    catalog::Session,
    common::{Result, format::ExplainFormat, internal_err, tree_node::TreeNodeRecursion},
    execution::{
        SendableRecordBatchStream, TaskContext, context::QueryPlanner, memory_pool::MemoryLimit,
    },
    logical_expr::LogicalPlan,
    physical_expr::PhysicalExpr,
    physical_plan::{
        DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, ReplaceChildrenOptions,
        analyze::AnalyzeExec, stream::RecordBatchStreamAdapter,
    },
    physical_planner::{DefaultPhysicalPlanner, PhysicalPlanner},
};
use futures::{StreamExt, future::BoxFuture, stream};
use nearscan_optimizer::{GraceJoinRule, JoinRows, LastPlanRule, ScanChoice, recorded};

use crate::parquet::Wanted;

/// Plans as DataFusion does, and wraps explaining operators.
#[derive(Debug)]
pub(crate) struct Planner;

#[async_trait]
impl QueryPlanner for Planner {
    async fn create_physical_plan(
        &self,
        logical_plan: &LogicalPlan,
        session: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let planner = DefaultPhysicalPlanner::default();
        let planning = planner.create_physical_plan(logical_plan, session);
        let planning = Wanted::of(logical_plan).scope(planning);
        let limit = session.runtime_env().memory_pool.memory_limit();
        let planning: BoxFuture<'_, _> = match limit {
            MemoryLimit::Finite(_) => Box::pin(GraceJoinRule::with_limit(planning)),
            MemoryLimit::Infinite | MemoryLimit::Unknown => Box::pin(planning),
        };
        let shows_operators = match logical_plan {
            LogicalPlan::Explain(explain) => shows_operators(&explain.explain_format),
            LogicalPlan::Analyze(_) => true,
            _ => false,
        };
        if !shows_operators {
            return planning.await;
        }
        let planning = ScanChoice::recorded(recorded(planning));
        let (((plan, candidates), choices), last) = LastPlanRule::kept(planning).await;
        let plan = plan?;
        let joins = match plan.is::<AnalyzeExec>() {
            true => String::new(),
            false => last.map(|plan| JoinRows::of(&plan).estimated()).unwrap_or_default(),
        };
        let rows = [("pushdown", lines(&candidates)), ("scan", lines(&choices)), ("joins", joins)];
        let explained = ExplainedExec::new(plan, with_text(rows));
        Ok(match explained.is_changed() {
            true => Arc::new(explained),
            false => explained.input,
        })
    }
}

fn shows_operators(format: &ExplainFormat) -> bool {
    match format {
        ExplainFormat::Indent | ExplainFormat::Tree => true,
        ExplainFormat::PostgresJSON | ExplainFormat::Graphviz => false,
    }
}

fn lines(scans: &[impl ToString]) -> String {
    scans.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

fn with_text<const N: usize>(rows: [(&'static str, String); N]) -> Vec<(&'static str, String)> {
    rows.into_iter().filter(|(_, text)| !text.is_empty()).collect()
}

/// Adds rows to the output of an explaining operator.
#[derive(Debug)]
struct ExplainedExec {
    input: Arc<dyn ExecutionPlan>,
    /// Type and text of each row.
    rows: Vec<(&'static str, String)>,
    /// The joins that the input runs; none if it only shows a plan.
    analyzed: Option<JoinRows>,
}

impl ExplainedExec {
    fn new(input: Arc<dyn ExecutionPlan>, rows: Vec<(&'static str, String)>) -> Self {
        let analyze = input.downcast_ref::<AnalyzeExec>();
        let analyzed = analyze.map(|analyze| JoinRows::of(analyze.input()));
        Self { input, rows, analyzed: analyzed.filter(|joins| !joins.is_empty()) }
    }

    /// Whether it adds anything.
    fn is_changed(&self) -> bool {
        !self.rows.is_empty() || self.analyzed.is_some()
    }
}

impl DisplayAs for ExplainedExec {
    fn fmt_as(&self, _t: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ExplainedExec")
    }
}

impl ExecutionPlan for ExplainedExec {
    fn name(&self) -> &'static str {
        "ExplainedExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match (children.pop(), children.len()) {
            (Some(input), 0) => Ok(Arc::new(Self::new(input, self.rows.clone()))),
            _ => internal_err!("ExplainedExec has one child"),
        }
    }

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match (children.pop(), children.len()) {
            (Some(input), 0) => Ok(Arc::new(Self::new(input, self.rows.clone()))),
            _ => internal_err!("ExplainedExec has one child"),
        }
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let schema = self.schema();
        let (mut rows, analyzed) = (self.rows.clone(), self.analyzed.clone());
        let of_rows = Arc::clone(&schema);
        // The joins have run when the rows of the input are all there.
        let last = stream::once(async move {
            rows.extend(analyzed.map(|joins| ("joins", joins.analyzed())));
            explain_rows(&of_rows, &rows)
        });
        let rows = self.input.execute(partition, context)?.chain(last);
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
    }
}

fn explain_rows(schema: &SchemaRef, rows: &[(&'static str, String)]) -> Result<RecordBatch> {
    let columns: Vec<ArrayRef> = vec![
        Arc::new(rows.iter().map(|(kind, _)| Some(*kind)).collect::<StringArray>()),
        Arc::new(rows.iter().map(|(_, lines)| Some(lines)).collect::<StringArray>()),
    ];
    Ok(RecordBatch::try_new(Arc::clone(schema), columns)?)
}
