// SPDX-License-Identifier: Apache-2.0
//! Evaluates a condition of DataFusion over the rows of a fused scan.

use std::{error::Error, sync::Arc};

use arrow::{
    array::{ArrayRef, AsArray, BooleanArray, RecordBatch, RecordBatchOptions},
    datatypes::{DataType, Schema, SchemaRef},
};
use datafusion::{
    common::{
        ScalarValue,
        tree_node::{Transformed, TreeNode, TreeNodeRecursion},
    },
    logical_expr::Operator,
    physical_expr::{
        PhysicalExpr,
        expressions::{
            BinaryExpr, Column, DynamicFilterPhysicalExpr, InListExpr, IsNotNullExpr, IsNullExpr,
            LikeExpr, Literal, NotExpr,
        },
    },
};
use nearscan_cpu::fused::RowFilter;

use crate::lower::{FragmentBuilder, Lowered};

/// A condition over some columns of a fragment.
#[derive(Debug)]
pub(super) struct ExprFilter {
    /// Over `schema`.
    expr: Arc<dyn PhysicalExpr>,
    /// Its columns in the fragment.
    columns: Vec<usize>,
    schema: SchemaRef,
    is_fallible: bool,
}

impl ExprFilter {
    /// A filter of a condition over the table; the fragment reads its columns from now on.
    pub(super) fn over_table(
        builder: &mut FragmentBuilder<'_>,
        expr: &Arc<dyn PhysicalExpr>,
        is_fallible: bool,
    ) -> Lowered<Self> {
        let table_columns = columns_of(expr);
        let mut columns = Vec::with_capacity(table_columns.len());
        for column in &table_columns {
            columns.push(usize::from(builder.column(*column)?));
        }
        let schema = builder.schema();
        let fields =
            table_columns.iter().filter_map(|column| schema.fields().get(*column).cloned());
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        Ok(Self { expr: rebased(expr, &table_columns), columns, schema, is_fallible })
    }
}

impl RowFilter for ExprFilter {
    fn columns(&self) -> &[usize] {
        &self.columns
    }

    fn is_fallible(&self) -> bool {
        self.is_fallible
    }

    fn evaluate(
        &self,
        columns: Vec<ArrayRef>,
        rows: usize,
    ) -> Result<BooleanArray, Box<dyn Error + Send + Sync>> {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?;
        let verdict = self.expr.evaluate(&batch)?.into_array(rows)?;
        match verdict.data_type() {
            DataType::Boolean => Ok(verdict.as_boolean().clone()),
            other => Err(format!("a condition is of type {other}").into()),
        }
    }
}

/// The columns of an expression, ordered by index.
pub(super) fn columns_of(expr: &Arc<dyn PhysicalExpr>) -> Vec<usize> {
    let mut columns = Vec::new();
    let visited = expr.apply(|node| {
        columns.extend(node.downcast_ref::<Column>().map(Column::index));
        Ok(TreeNodeRecursion::Continue)
    });
    debug_assert!(visited.is_ok(), "the visitor does not fail");
    columns.sort_unstable();
    columns.dedup();
    columns
}

/// The expression with each column replaced by its place in `columns`.
pub(super) fn rebased(expr: &Arc<dyn PhysicalExpr>, columns: &[usize]) -> Arc<dyn PhysicalExpr> {
    with_columns(expr, |column| {
        let place = columns.iter().position(|other| *other == column.index())?;
        Some(Column::new(column.name(), place))
    })
}

/// The expression with other columns; a column for which there is none stays.
pub(super) fn with_columns(
    expr: &Arc<dyn PhysicalExpr>,
    other: impl Fn(&Column) -> Option<Column>,
) -> Arc<dyn PhysicalExpr> {
    let changed = Arc::clone(expr).transform_up(|node| {
        match node.downcast_ref::<Column>().and_then(&other) {
            Some(column) => Ok(Transformed::yes(Arc::new(column) as _)),
            None => Ok(Transformed::no(node)),
        }
    });
    changed.map_or_else(|_| Arc::clone(expr), |changed| changed.data)
}

/// Whether a condition cannot fail, whatever the values of its columns are, and depends on nothing
/// but them: so it may be evaluated for rows that another condition drops.
pub(super) fn is_infallible(expr: &Arc<dyn PhysicalExpr>) -> bool {
    let node_is = |node: &Arc<dyn PhysicalExpr>| {
        if let Some(binary) = node.downcast_ref::<BinaryExpr>() {
            return matches!(
                binary.op(),
                Operator::Eq
                    | Operator::NotEq
                    | Operator::Lt
                    | Operator::LtEq
                    | Operator::Gt
                    | Operator::GtEq
                    | Operator::And
                    | Operator::Or
                    | Operator::IsDistinctFrom
                    | Operator::IsNotDistinctFrom
            );
        }
        node.downcast_ref::<Column>().is_some()
            || node.downcast_ref::<Literal>().is_some()
            || node.downcast_ref::<InListExpr>().is_some()
            || node.downcast_ref::<IsNullExpr>().is_some()
            || node.downcast_ref::<IsNotNullExpr>().is_some()
            || node.downcast_ref::<LikeExpr>().is_some()
            || node.downcast_ref::<NotExpr>().is_some()
            || node.downcast_ref::<DynamicFilterPhysicalExpr>().is_some()
    };
    let mut all = true;
    let visited = expr.apply(|node| {
        all &= node_is(node);
        Ok(if all { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
    });
    all && visited.is_ok()
}

/// A filter that an operator above updates while it runs, such as a join by the keys of its other
/// side. It only saves work, because the operator checks each row again.
#[derive(Debug)]
pub(super) struct DynamicFilter {
    filter: ExprFilter,
    /// The parts of `filter` that change.
    parts: Vec<Arc<dyn PhysicalExpr>>,
}

impl DynamicFilter {
    /// A filter over outputs of a scan; `column_of` tells the column of the fragment that an output
    /// is. Nothing if it refers to another output.
    pub(super) fn over_outputs(
        expr: &Arc<dyn PhysicalExpr>,
        outputs: &Schema,
        column_of: impl Fn(usize) -> Option<usize>,
    ) -> Option<Self> {
        let read = columns_of(expr);
        let columns = read.iter().map(|output| column_of(*output)).collect::<Option<_>>()?;
        let schema = Arc::new(outputs.project(&read).ok()?);
        let expr = rebased(expr, &read);
        let mut parts = Vec::new();
        let visited = expr.apply(|node| {
            if node.downcast_ref::<DynamicFilterPhysicalExpr>().is_some() {
                parts.push(Arc::clone(node));
            }
            Ok(TreeNodeRecursion::Continue)
        });
        visited.ok()?;
        let filter = ExprFilter { expr, columns, schema, is_fallible: false };
        Some(Self { filter, parts })
    }
}

impl RowFilter for DynamicFilter {
    fn columns(&self) -> &[usize] {
        self.filter.columns()
    }

    fn is_fallible(&self) -> bool {
        false
    }

    fn is_optional(&self) -> bool {
        true
    }

    fn is_idle(&self) -> bool {
        let is_true = |part: &Arc<dyn PhysicalExpr>| {
            let dynamic = part.downcast_ref::<DynamicFilterPhysicalExpr>();
            let current = dynamic.and_then(|dynamic| dynamic.current().ok());
            current.is_some_and(|current| is_literal_true(&current))
        };
        self.parts.iter().all(is_true)
    }

    fn evaluate(
        &self,
        columns: Vec<ArrayRef>,
        rows: usize,
    ) -> Result<BooleanArray, Box<dyn Error + Send + Sync>> {
        self.filter.evaluate(columns, rows)
    }
}

fn is_literal_true(expr: &Arc<dyn PhysicalExpr>) -> bool {
    let literal = expr.downcast_ref::<Literal>().map(Literal::value);
    matches!(literal, Some(ScalarValue::Boolean(Some(true))))
}
