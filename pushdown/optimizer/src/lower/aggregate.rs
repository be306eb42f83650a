// SPDX-License-Identifier: Apache-2.0
//! Aggregates and group keys, lowered to the states of DataFusion's partial aggregate.
//!
//! | function | slots | states |
//! |---|---|---|
//! | count(*), count(literal) | COUNT rows | count |
//! | count(x) | COUNT x | count |
//! | sum(x) | SUM x | sum |
//! | min(x), max(x) | MIN x, MAX x | value |
//! | avg(x) of a decimal | COUNT x, SUM x | count, sum |
//! | avg(x) of an integer column | COUNT x, SUM x | count, sum as Float64 |
//!
//! DataFusion adds Float64 for the average of integers, in the order of rows. The drive adds
//! integers, which is the same as long as no partial sum leaves the integers that Float64 holds
//! exactly; that is certain when rows times the greatest absolute value is at most 2^53. Equal
//! slots are shared.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::expressions::{CastExpr, Column, Literal};
use nearscan_command::{Aggregate, Function, Operand, Width};

use crate::decision::{KeepReason, Kept};
use crate::lower::builder::{Target, index};
use crate::lower::expr::{lower_number, lower_truth, refuse};
use crate::lower::types::Number;
use crate::lower::{FragmentBuilder, Lowered};

/// What the footers say of the rows that an aggregate will see.
pub(crate) trait ColumnBounds {
    /// Rows of all units.
    fn rows(&self) -> u64;

    /// The greatest absolute value of a table's column, if every unit has statistics of it.
    fn greatest_magnitude(&self, table_index: usize) -> Option<u128>;
}

/// Integers up to here are exact in Float64.
const EXACT_IN_FLOAT64: u128 = 1 << 53;

/// Keys and slots of a partial aggregate, and which output column each state comes from.
#[derive(Debug, Default)]
pub(crate) struct States {
    pub(crate) keys: Vec<u16>,
    pub(crate) slots: Vec<Aggregate>,
    /// For each column of the partial aggregate's schema its column in the result.
    pub(crate) sources: Vec<usize>,
}

impl States {
    /// The column of the result that holds a slot; equal slots are shared.
    fn slot(&mut self, slot: Aggregate) -> usize {
        let at = match self.slots.iter().position(|other| *other == slot) {
            Some(at) => at,
            None => {
                self.slots.push(slot);
                self.slots.len() - 1
            }
        };
        self.keys.len() + at
    }
}

/// Lowers group keys: plain columns.
pub(crate) fn lower_keys(
    builder: &mut FragmentBuilder<'_>,
    states: &mut States,
    keys: &[Arc<dyn PhysicalExpr>],
) -> Lowered<()> {
    for key in keys {
        let Some(column) = key.downcast_ref::<Column>() else { return refuse(key.as_ref()) };
        let column = builder.column(column.index())?;
        let at = match states.keys.iter().position(|other| *other == column) {
            Some(at) => at,
            None => {
                states.keys.push(column);
                states.keys.len() - 1
            }
        };
        states.sources.push(at);
    }
    Ok(())
}

/// Lowers one aggregate. `args` and `filter` are over the table's columns.
pub(crate) fn lower_aggregate(
    builder: &mut FragmentBuilder<'_>,
    states: &mut States,
    aggregate: &AggregateFunctionExpr,
    args: &[Arc<dyn PhysicalExpr>],
    filter: Option<&Arc<dyn PhysicalExpr>>,
    bounds: &dyn ColumnBounds,
) -> Lowered<()> {
    let refused = |what: &str| {
        Err(Kept::new(KeepReason::Function, format!("{what} of {}", aggregate.name())))
    };
    if aggregate.is_distinct() {
        return refused("DISTINCT");
    }
    if aggregate.ignore_nulls() {
        return refused("IGNORE NULLS");
    }
    if !aggregate.order_bys().is_empty() {
        return Err(Kept::new(KeepReason::Ordering, aggregate.name()));
    }
    let filter = match filter {
        Some(filter) => lower_truth(builder, Target::Projection, filter.as_ref())?,
        None => Operand::None,
    };
    let [arg] = args else { return refused("other than one argument") };
    let slot = |function, operand, width| Aggregate { function, operand, width, filter };
    let function = aggregate.fun().name();
    match function {
        "count" => {
            let counted = count_operand(builder, arg)?;
            let function = match counted {
                Operand::None => Function::CountRows,
                _ => Function::Count,
            };
            let at = states.slot(slot(function, counted, Width::W64));
            states.sources.push(at);
        }
        "sum" => {
            refuse_float(builder, arg, aggregate)?;
            let value = lower_number(builder, Target::Projection, arg.as_ref())?;
            let width = sum_width(value.number)?;
            let at = states.slot(slot(Function::Sum, value.operand, width));
            states.sources.push(at);
        }
        "min" | "max" => {
            let value = lower_number(builder, Target::Projection, arg.as_ref())
                .or_else(|kept| refuse_type_as_function(kept, aggregate))?;
            let extreme = if function == "min" { Function::Min } else { Function::Max };
            let at = states.slot(slot(extreme, value.operand, value.number.width()));
            states.sources.push(at);
        }
        "avg" => {
            let operand = average_operand(builder, arg, aggregate, bounds)?;
            let count = states.slot(slot(Function::Count, operand, Width::W64));
            let sum = states.slot(slot(Function::Sum, operand, Width::W128));
            states.sources.extend([count, sum]);
        }
        _ => return Err(Kept::new(KeepReason::Function, aggregate.name())),
    }
    Ok(())
}

/// What is counted; [`Operand::None`] for every row.
fn count_operand(
    builder: &mut FragmentBuilder<'_>,
    arg: &Arc<dyn PhysicalExpr>,
) -> Lowered<Operand> {
    if let Some(literal) = arg.downcast_ref::<Literal>() {
        return match literal.value() {
            ScalarValue::Null => refuse(arg.as_ref()),
            value if value.is_null() => refuse(arg.as_ref()),
            _ => Ok(Operand::None),
        };
    }
    match arg.downcast_ref::<Column>() {
        Some(column) => Ok(Operand::Column(builder.column(column.index())?)),
        None => Ok(lower_number(builder, Target::Projection, arg.as_ref())?.operand),
    }
}

/// DataFusion sums integers in 64 bits and decimals in 128, wrapping; a drive reports what would
/// wrap.
fn sum_width(number: Number) -> Lowered<Width> {
    match number {
        Number::Int64 => Ok(Width::W64),
        Number::Decimal { .. } => Ok(Width::W128),
        Number::Int32 | Number::Date32 => {
            Err(Kept::new(KeepReason::Function, "a sum of 32-bit numbers"))
        }
    }
}

/// A sum of floating point depends on the order of its terms.
fn refuse_float(
    builder: &FragmentBuilder<'_>,
    arg: &Arc<dyn PhysicalExpr>,
    aggregate: &AggregateFunctionExpr,
) -> Lowered<()> {
    match arg.data_type(builder.schema()) {
        Ok(DataType::Float16 | DataType::Float32 | DataType::Float64) => {
            Err(Kept::new(KeepReason::FloatOrder, aggregate.name()))
        }
        _ => Ok(()),
    }
}

/// A type without a counterpart is, under MIN and MAX, a matter of the function.
fn refuse_type_as_function<T>(kept: Kept, aggregate: &AggregateFunctionExpr) -> Lowered<T> {
    match kept.reason {
        KeepReason::Type | KeepReason::Expression => {
            let detail = format!("{}: {}", aggregate.name(), kept.detail);
            Err(Kept::new(KeepReason::Function, detail))
        }
        _ => Err(kept),
    }
}

/// What an average counts and sums.
fn average_operand(
    builder: &mut FragmentBuilder<'_>,
    arg: &Arc<dyn PhysicalExpr>,
    aggregate: &AggregateFunctionExpr,
    bounds: &dyn ColumnBounds,
) -> Lowered<Operand> {
    let float_order =
        |why: &str| Err(Kept::new(KeepReason::FloatOrder, format!("{}: {why}", aggregate.name())));
    match arg.data_type(builder.schema()) {
        Ok(DataType::Decimal128(_, _)) => {
            return Ok(lower_number(builder, Target::Projection, arg.as_ref())?.operand);
        }
        Ok(DataType::Float64) => {}
        _ => return refuse(arg.as_ref()),
    }
    let inner = match arg.downcast_ref::<CastExpr>() {
        Some(cast) => cast.expr(),
        None => return float_order("a sum of floating point"),
    };
    let Some(column) = inner.downcast_ref::<Column>() else {
        return float_order("an average of an expression");
    };
    match inner.data_type(builder.schema()) {
        Ok(DataType::Int32 | DataType::Int64) => {}
        _ => return float_order("a sum of floating point"),
    }
    let Some(magnitude) = bounds.greatest_magnitude(column.index()) else {
        return float_order("the files have no statistics of the column");
    };
    let greatest = u128::from(bounds.rows()).saturating_mul(magnitude);
    if greatest > EXACT_IN_FLOAT64 {
        return float_order("the sum may leave the integers that Float64 holds exactly");
    }
    Ok(Operand::Column(index(usize::from(builder.column(column.index())?))))
}
