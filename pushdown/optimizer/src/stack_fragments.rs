// SPDX-License-Identifier: Apache-2.0
//! Lowers a stack, which is a scan with filters and projections, and what is above it, to a
//! fragment: rows, the first rows of a sort, or the states of a partial aggregate.
//!
//! # What this module does not do
//!
//! It chooses no drive and weighs no cost: [`decide`](crate::decide::decide) does.

use std::sync::Arc;

use arrow::datatypes::Schema;
use datafusion::{
    physical_expr::PhysicalExpr,
    physical_plan::{InputOrderMode, aggregates::AggregateExec, sorts::sort::SortExec},
};
use nearscan_command::{Fragment, Top, limits};

use crate::{
    decision::{KeepReason, Kept},
    exec::RowsShape,
    lower::{
        FragmentBuilder, Lowered,
        aggregate::{Source, States, lower_aggregate},
        builder::Target,
        keys::lower_keys,
        rows::lower_rows,
    },
    scan::{Stack, substitute, without_barriers},
    settings::FloatOrder,
    units::{FooterBounds, ScanUnits},
};

/// Whether a single conjunct over a stack's outputs, which have the schema `outputs`, lowers.
pub(crate) fn lowers(
    stack: &Stack<'_>,
    conjunct: &Arc<dyn PhysicalExpr>,
    outputs: &Schema,
) -> bool {
    let schema = stack.scan.table_schema();
    let mut builder = FragmentBuilder::new(schema, stack.scan.file_columns());
    stack
        .over_table(Arc::clone(conjunct), outputs)
        .is_some_and(|expr| builder.lower_truth(Target::Predicate, expr.as_ref()).is_ok())
}

/// Lowers the keys and slots of a partial aggregate over a stack.
pub(crate) fn lower_aggregate_states(
    builder: &mut FragmentBuilder<'_>,
    aggregate: &AggregateExec,
    stack: &Stack<'_>,
    units: &ScanUnits<'_>,
    order: FloatOrder,
) -> Lowered<States> {
    let ordering = |what: &str| Err(Kept::new(KeepReason::Ordering, what));
    if stack.fetch.is_some() {
        return ordering("rows are cut off below the aggregate");
    }
    if aggregate.group_expr().has_grouping_set() {
        return Err(Kept::new(KeepReason::Function, "grouping sets"));
    }
    if aggregate.limit_options().is_some() {
        return ordering("the aggregate stops early");
    }
    if *aggregate.input_order_mode() != InputOrderMode::Linear {
        return ordering("the aggregate uses an order of its input");
    }
    let over_table = |expr: &Arc<dyn PhysicalExpr>| match substitute(expr, &stack.outputs) {
        Some(expr) => Ok(expr),
        None => Err(Kept::new(KeepReason::Expression, expr.to_string())),
    };
    let mut states = States::default();
    let keys = aggregate.group_expr().expr().iter();
    let keys = keys.map(|(expr, _)| over_table(expr)).collect::<Lowered<Vec<_>>>()?;
    let bounds = FooterBounds { units, schema: stack.scan.table_schema() };
    lower_keys(builder, &mut states, &keys, &bounds)?;
    for (function, filter) in aggregate.aggr_expr().iter().zip(aggregate.filter_expr()) {
        let args = function.expressions();
        let args = args.iter().map(over_table).collect::<Lowered<Vec<_>>>()?;
        let filter = filter.as_ref().map(over_table).transpose()?;
        lower_aggregate(builder, &mut states, function, &args, filter.as_ref(), &bounds, order)?;
    }
    Ok(states)
}

pub(crate) fn lower_conjuncts(
    builder: &mut FragmentBuilder<'_>,
    conjuncts: &[Arc<dyn PhysicalExpr>],
) -> Lowered<()> {
    for conjunct in conjuncts {
        let conjunct = without_barriers(conjunct);
        let verdict = builder.lower_truth(Target::Predicate, conjunct.as_ref())?;
        builder.keep_where(verdict);
    }
    Ok(())
}

pub(crate) fn lower_rows_of(
    stack: &Stack<'_>,
    conjuncts: &[Arc<dyn PhysicalExpr>],
) -> Lowered<(Fragment, RowsShape)> {
    let mut builder = FragmentBuilder::new(stack.scan.table_schema(), stack.scan.file_columns());
    lower_conjuncts(&mut builder, conjuncts)?;
    let (columns, sources) = lower_rows(&mut builder, &stack.outputs)?;
    let limit = stack.fetch.map(|rows| rows as u64);
    Ok((builder.rows(columns, limit)?, rows_shape(stack, sources)))
}

/// Rows that can be among the first of a sort, by its first key.
pub(crate) fn lower_top(stack: &Stack<'_>, sort: &SortExec) -> Lowered<(Fragment, RowsShape)> {
    let ordering = |what: &str| Err(Kept::new(KeepReason::Ordering, what));
    let count = sort.fetch().and_then(|rows| u32::try_from(rows).ok());
    let Some(count) = count.filter(|rows| (1..=limits::TOP_MAX).contains(rows)) else {
        return ordering("a sort of more rows than a drive keeps");
    };
    let first = sort.expr().first();
    let Some(key) = substitute(&first.expr, &stack.outputs) else {
        return ordering("a sort of something else");
    };
    let mut builder = FragmentBuilder::new(stack.scan.table_schema(), stack.scan.file_columns());
    lower_conjuncts(&mut builder, &stack.conjuncts)?;
    let (columns, sources) = lower_rows(&mut builder, &stack.outputs)?;
    let operand = builder.lower_number(Target::Projection, key.as_ref())?.operand;
    let top = Top {
        operand,
        descending: first.options.descending,
        nulls_first: first.options.nulls_first,
        count,
    };
    Ok((builder.top_rows(columns, top)?, rows_shape(stack, sources)))
}

fn rows_shape(stack: &Stack<'_>, sources: Vec<Source>) -> RowsShape {
    RowsShape {
        sources,
        outputs: stack.outputs.clone(),
        table_schema: Arc::new(stack.scan.table_schema().clone()),
        file_columns: stack.scan.file_columns(),
        in_order: stack.scan.keeps_order(),
    }
}
