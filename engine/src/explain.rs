// SPDX-License-Identifier: Apache-2.0
//! Adds two rows to EXPLAIN and EXPLAIN ANALYZE: `pushdown`, a line for each candidate scan, with
//! its drive or the reason why it was kept; and `scan`, a line for each Parquet scan of the host,
//! with its reader and the reason.
//!
//! DataFusion's list of plan types is closed and its explain operator holds finished text, so the
//! planner wraps that operator in an [`ExplainScansExec`], which appends the rows. The scans are
//! those that our rules visited while they planned the inner statement. Formats that show only the
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
        stream::RecordBatchStreamAdapter,
    },
    physical_planner::{DefaultPhysicalPlanner, PhysicalPlanner},
};
use futures::{StreamExt, future::BoxFuture, stream};
use nearscan_optimizer::{GraceJoinRule, ScanChoice, recorded};

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
        let ((plan, candidates), choices) = ScanChoice::recorded(recorded(planning)).await;
        let rows: Vec<(&'static str, String)> =
            [("pushdown", lines(&candidates)), ("scan", lines(&choices))]
                .into_iter()
                .filter(|(_, lines)| !lines.is_empty())
                .collect();
        match rows.is_empty() {
            true => plan,
            false => Ok(Arc::new(ExplainScansExec { input: plan?, rows })),
        }
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

/// Adds rows to the output of an explaining operator.
#[derive(Debug)]
struct ExplainScansExec {
    input: Arc<dyn ExecutionPlan>,
    /// Type and text of each row.
    rows: Vec<(&'static str, String)>,
}

impl DisplayAs for ExplainScansExec {
    fn fmt_as(&self, _t: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ExplainScansExec")
    }
}

impl ExecutionPlan for ExplainScansExec {
    fn name(&self) -> &'static str {
        "ExplainScansExec"
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
            (Some(input), 0) => Ok(Arc::new(Self { input, rows: self.rows.clone() })),
            _ => internal_err!("ExplainScansExec has one child"),
        }
    }

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match (children.pop(), children.len()) {
            (Some(input), 0) => Ok(Arc::new(Self { input, rows: self.rows.clone() })),
            _ => internal_err!("ExplainScansExec has one child"),
        }
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let schema = self.schema();
        let rows = explain_rows(&schema, &self.rows);
        let rows = self.input.execute(partition, context)?.chain(stream::once(async { rows }));
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
