// SPDX-License-Identifier: Apache-2.0
//! Adds the row `pushdown` to EXPLAIN and EXPLAIN ANALYZE: a line for each candidate scan, with its
//! drive or the reason why it was kept.
//!
//! DataFusion's list of plan types is closed and its explain operator holds finished text, so the
//! planner wraps that operator in an [`ExplainPushdownExec`], which appends a row. The candidates
//! are the scans that our rule visited while it planned the inner statement. Formats that show only
//! the logical plan (PGJSON, GRAPHVIZ) stay unchanged.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use datafusion::{
    arrow::{
        array::{ArrayRef, RecordBatch, StringArray},
        datatypes::SchemaRef,
    },
    catalog::Session,
    common::{Result, format::ExplainFormat, internal_err, tree_node::TreeNodeRecursion},
    execution::{SendableRecordBatchStream, TaskContext, context::QueryPlanner},
    logical_expr::LogicalPlan,
    physical_expr::PhysicalExpr,
    physical_plan::{
        DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, ReplaceChildrenOptions,
        stream::RecordBatchStreamAdapter,
    },
    physical_planner::{DefaultPhysicalPlanner, PhysicalPlanner},
};
use futures::{StreamExt, stream};
use nearscan_optimizer::recorded;

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
        let planning = Box::pin(planner.create_physical_plan(logical_plan, session));
        let shows_operators = match logical_plan {
            LogicalPlan::Explain(explain) => shows_operators(&explain.explain_format),
            LogicalPlan::Analyze(_) => true,
            _ => false,
        };
        if !shows_operators {
            return planning.await;
        }
        let (plan, candidates) = recorded(planning).await;
        let lines: Vec<String> = candidates.iter().map(ToString::to_string).collect();
        match lines.is_empty() {
            true => plan,
            false => Ok(Arc::new(ExplainPushdownExec { input: plan?, lines: lines.join("\n") })),
        }
    }
}

fn shows_operators(format: &ExplainFormat) -> bool {
    match format {
        ExplainFormat::Indent | ExplainFormat::Tree => true,
        ExplainFormat::PostgresJSON | ExplainFormat::Graphviz => false,
    }
}

/// Adds a row to the output of an explaining operator.
#[derive(Debug)]
struct ExplainPushdownExec {
    input: Arc<dyn ExecutionPlan>,
    lines: String,
}

impl DisplayAs for ExplainPushdownExec {
    fn fmt_as(&self, _t: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ExplainPushdownExec")
    }
}

impl ExecutionPlan for ExplainPushdownExec {
    fn name(&self) -> &'static str {
        "ExplainPushdownExec"
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
            (Some(input), 0) => Ok(Arc::new(Self { input, lines: self.lines.clone() })),
            _ => internal_err!("ExplainPushdownExec has one child"),
        }
    }

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match (children.pop(), children.len()) {
            (Some(input), 0) => Ok(Arc::new(Self { input, lines: self.lines.clone() })),
            _ => internal_err!("ExplainPushdownExec has one child"),
        }
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let schema = self.schema();
        let row = explain_row(&schema, &self.lines);
        let rows = self.input.execute(partition, context)?.chain(stream::once(async { row }));
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
    }
}

/// The row `pushdown`.
fn explain_row(schema: &SchemaRef, lines: &str) -> Result<RecordBatch> {
    let columns: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from(vec!["pushdown"])),
        Arc::new(StringArray::from(vec![lines])),
    ];
    Ok(RecordBatch::try_new(Arc::clone(schema), columns)?)
}
