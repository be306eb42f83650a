// SPDX-License-Identifier: Apache-2.0
//! Analyses a stack of operators over one Parquet scan: its outputs and its predicate, as
//! expressions over the table's columns.
//!
//! ```text
//! ProjectionExec                     outputs: expressions over the table, substituted
//!   FilterExec (projection, fetch)   conjuncts: its predicate, substituted
//!     RepartitionExec: RoundRobin    skipped: the units are redistributed
//!       DataSourceExec: Parquet      outputs: its projection, which may hold arithmetic
//! ```
//!
//! With `pushdown_filters` off the scan's own predicate only prunes; with it on it filters, and
//! there may be no FilterExec. Anything else on the way ends the stack.

use std::sync::Arc;

use arrow::datatypes::Schema;
use datafusion::{
    common::tree_node::{Transformed, TreeNode},
    datasource::{
        physical_plan::{FileScanConfig, FileSource, ParquetSource},
        source::DataSourceExec,
    },
    physical_expr::{
        PhysicalExpr,
        expressions::{Column, TryCastExpr},
        utils::split_conjunction,
    },
    physical_plan::{
        ExecutionPlan, ExecutionPlanProperties, Partitioning, filter::FilterExec,
        projection::ProjectionExec, repartition::RepartitionExec,
    },
};

use nearscan_corrections::behind_barrier;

use crate::{
    decision::{KeepReason, Kept},
    lower::Lowered,
};

/// A Parquet scan.
#[derive(Clone, Copy)]
pub(crate) struct Scan<'a> {
    pub(crate) config: &'a FileScanConfig,
    pub(crate) source: &'a ParquetSource,
}

impl<'a> Scan<'a> {
    /// The scan in a plan node, if it is one of Parquet files.
    pub(crate) fn of(plan: &'a Arc<dyn ExecutionPlan>) -> Option<Self> {
        let exec = plan.downcast_ref::<DataSourceExec>()?;
        let (config, source) = exec.downcast_to_file_source::<ParquetSource>()?;
        Some(Self { config, source })
    }

    /// The table's schema: file columns, then partition columns.
    pub(crate) fn table_schema(&self) -> &'a Schema {
        self.config.file_source().table_schema().table_schema()
    }

    /// Returns the number of the table's columns that are in the files.
    pub(crate) fn file_columns(&self) -> usize {
        self.config.file_schema().fields().len()
    }

    /// Whether its rows have an order that an operator above may rely on.
    pub(crate) fn keeps_order(&self) -> bool {
        self.config.preserve_order || !self.config.output_ordering.is_empty()
    }

    /// The table's name as the query knows it.
    pub(crate) fn table_name(&self) -> String {
        let files = self.config.file_groups.iter().flat_map(|group| group.files());
        let mut names = files.map(|file| &file.table_reference);
        match names.next() {
            Some(Some(name)) => name.table().to_owned(),
            _ => "parquet".to_owned(),
        }
    }

    /// Whether the scan's predicate filters rows, and is not only a hint.
    fn filters_rows(&self) -> bool {
        self.source.table_parquet_options().global.pushdown_filters
    }

    /// The expressions that the scan outputs, over the table's columns.
    pub(crate) fn outputs(&self) -> Vec<Arc<dyn PhysicalExpr>> {
        match self.source.projection() {
            Some(projection) => projection.expr_iter().collect(),
            None => columns_of(self.table_schema()),
        }
    }
}

fn columns_of(schema: &Schema) -> Vec<Arc<dyn PhysicalExpr>> {
    let column = |(index, name)| Arc::new(Column::new(name, index)) as Arc<dyn PhysicalExpr>;
    schema.fields().iter().map(|field| field.name().as_str()).enumerate().map(column).collect()
}

/// A stack of operators over one scan.
pub(crate) struct Stack<'a> {
    pub(crate) scan: Scan<'a>,
    /// The outputs of the top of the stack, over the table's columns.
    pub(crate) outputs: Vec<Arc<dyn PhysicalExpr>>,
    /// Rows are kept where all of these are true; over the table's columns.
    pub(crate) conjuncts: Vec<Arc<dyn PhysicalExpr>>,
    /// Rows after which a partition may stop.
    pub(crate) fetch: Option<usize>,
    /// Partitions of the top of the stack.
    pub(crate) partitions: usize,
}

impl<'a> Stack<'a> {
    /// Reads the stack whose top is `plan`; nothing when it is no such stack.
    pub(crate) fn read(plan: &'a Arc<dyn ExecutionPlan>) -> Option<Self> {
        let mut stack = Self::read_below(plan)?;
        stack.partitions = plan.output_partitioning().partition_count();
        Some(stack)
    }

    fn read_below(plan: &'a Arc<dyn ExecutionPlan>) -> Option<Self> {
        if let Some(scan) = Scan::of(plan) {
            let predicate = scan.source.filter().filter(|_| scan.filters_rows());
            let conjuncts = predicate.iter().flat_map(split);
            let conjuncts = conjuncts.map(|conjunct| plain(conjunct, scan.table_schema()));
            return Some(Self {
                outputs: scan.outputs(),
                conjuncts: conjuncts.collect::<Option<_>>()?,
                fetch: None,
                partitions: 0,
                scan,
            });
        }
        if let Some(repartition) = plan.downcast_ref::<RepartitionExec>() {
            return match repartition.partitioning() {
                Partitioning::RoundRobinBatch(_) if !repartition.preserve_order() => {
                    Self::read_below(repartition.input())
                }
                _ => None,
            };
        }
        if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
            let mut stack = Self::read_below(projection.input())?;
            let exprs = projection.expr().iter();
            stack.outputs = exprs
                .map(|output| substitute(&output.expr, &stack.outputs))
                .collect::<Option<_>>()?;
            return Some(stack);
        }
        let filter = plan.downcast_ref::<FilterExec>()?;
        let mut stack = Self::read_below(filter.input())?;
        // Rows were cut off below: filtering before the cut would keep others.
        if stack.fetch.is_some() {
            return None;
        }
        let schema = filter.input().schema();
        for conjunct in split(filter.predicate()) {
            stack.conjuncts.push(stack.over_table(conjunct, &schema)?);
        }
        if let Some(projection) = filter.projection() {
            let pick = |index: &usize| stack.outputs.get(*index).cloned();
            stack.outputs = projection.iter().map(pick).collect::<Option<_>>()?;
        }
        stack.fetch = filter.fetch();
        Some(stack)
    }

    /// A conjunct over the outputs, which are of a schema, over the table's columns instead;
    /// nothing when it knows others.
    pub(crate) fn over_table(
        &self,
        conjunct: Arc<dyn PhysicalExpr>,
        schema: &Schema,
    ) -> Option<Arc<dyn PhysicalExpr>> {
        substitute(&plain(conjunct, schema)?, &self.outputs)
    }

    /// Refuses rows whose order an operator above may rely on: redistributed units are in another
    /// order.
    pub(crate) fn check_order(&self) -> Lowered<()> {
        let config = self.scan.config;
        if self.partitions == config.file_groups.len() {
            return Ok(());
        }
        if config.preserve_order {
            return Err(Kept::new(KeepReason::Ordering, "the scan must keep its order"));
        }
        if !config.output_ordering.is_empty() {
            return Err(Kept::new(KeepReason::Ordering, "the scan declares an order"));
        }
        Ok(())
    }

    /// Refuses scans with options that a command does not know.
    pub(crate) fn check_options(&self) -> Lowered<()> {
        let Scan { config, source } = self.scan;
        let kept = |detail: &str| Err(Kept::new(KeepReason::ScanOption, detail));
        if config.limit.is_some() {
            return kept("a limit in the scan");
        }
        if source.table_parquet_options().crypto.file_decryption.is_some()
            || source.table_parquet_options().crypto.factory_id.is_some()
        {
            return kept("encrypted files");
        }
        if config.output_partitioning.is_some() {
            return kept("partitions with a meaning");
        }
        Ok(())
    }
}

/// The conjuncts of a predicate.
pub(crate) fn split(predicate: &Arc<dyn PhysicalExpr>) -> Vec<Arc<dyn PhysicalExpr>> {
    split_conjunction(predicate).into_iter().map(Arc::clone).collect()
}

/// `expr` without the `as_is` barriers that corrections put where the operators of the host must
/// not see through an expression. For lowering only: pruning of row groups is DataFusion's, and
/// must not see through them either.
pub(crate) fn without_barriers(expr: &Arc<dyn PhysicalExpr>) -> Arc<dyn PhysicalExpr> {
    // A rewrite costs much more than a look, and hardly any expression has a barrier.
    if !expr.exists(|node| Ok(behind_barrier(node).is_some())).unwrap_or(true) {
        return Arc::clone(expr);
    }
    let bare = Arc::clone(expr).transform_up(|node| {
        Ok(match behind_barrier(&node) {
            Some(hidden) => Transformed::yes(Arc::clone(hidden)),
            None => Transformed::no(node),
        })
    });
    bare.map_or_else(|_| Arc::clone(expr), |bare| bare.data)
}

/// `expr` over `schema` without casts to the type that is there already: corrections put them where
/// the operators of the host must not see through an expression. Nothing when it has no type.
fn plain(expr: Arc<dyn PhysicalExpr>, schema: &Schema) -> Option<Arc<dyn PhysicalExpr>> {
    if !expr.exists(|node| Ok(node.downcast_ref::<TryCastExpr>().is_some())).unwrap_or(true) {
        return Some(expr);
    }
    let plain = expr.transform_up(|node| {
        let Some(cast) = node.downcast_ref::<TryCastExpr>() else {
            return Ok(Transformed::no(node));
        };
        Ok(match cast.expr().data_type(schema)? == *cast.cast_type() {
            true => Transformed::yes(Arc::clone(cast.expr())),
            false => Transformed::no(node),
        })
    });
    plain.ok().map(|plain| plain.data)
}

/// `expr` with each column replaced by the expression that computes it; nothing when one does not
/// exist.
pub(crate) fn substitute(
    expr: &Arc<dyn PhysicalExpr>,
    inputs: &[Arc<dyn PhysicalExpr>],
) -> Option<Arc<dyn PhysicalExpr>> {
    let mut complete = true;
    let replaced = Arc::clone(expr).transform_down(|node| {
        let Some(column) = node.downcast_ref::<Column>() else { return Ok(Transformed::no(node)) };
        match inputs.get(column.index()) {
            // The substituted expression is over other columns, so the walk must not enter it.
            Some(input) => Ok(Transformed::new(
                Arc::clone(input),
                true,
                datafusion::common::tree_node::TreeNodeRecursion::Jump,
            )),
            None => {
                complete = false;
                Ok(Transformed::no(node))
            }
        }
    });
    match replaced {
        Ok(replaced) if complete => Some(replaced.data),
        _ => None,
    }
}
