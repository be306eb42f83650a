// SPDX-License-Identifier: Apache-2.0
//! Lowers aggregates to the states of DataFusion's partial aggregate.
//!
//! | function | slots | states |
//! |---|---|---|
//! | count(*), count(literal) | COUNT rows | count |
//! | count(x) | COUNT x | count |
//! | sum(x) | SUM x | sum |
//! | min(x), max(x) | MIN x, MAX x | value |
//! | bool_and(x), bool_or(x) | MIN x, MAX x of 0 and 1 | value |
//! | avg(x) of a decimal | COUNT x, SUM x | count, sum |
//! | avg(x) of an integer column | COUNT x, SUM x | count, sum as Float64 |
//! | sum(x), avg(x) of a float column | SUM of floats, COUNT x | sum, count; only if their order is free |
//!
//! DataFusion adds Float64 for the average of integers, in the order of rows. States are sums of
//! integers, which is the same as long as no partial sum leaves the integers that Float64 holds
//! exactly; that is certain when rows times the greatest absolute value is at most 2^53, and does
//! not matter if the order of floats is free. A sum of floats that is NaN is positive. Equal slots
//! are shared. The extremes of floats are those of the total order, which DataFusion uses
//! where it does not group.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::{
    common::ScalarValue,
    physical_expr::{
        PhysicalExpr,
        aggregate::AggregateFunctionExpr,
        expressions::{CastExpr, Column, Literal},
    },
};
use nearscan_command::{Aggregate, Function, Key, Operand, Width};

use crate::{
    decision::{KeepReason, Kept},
    lower::{
        FragmentBuilder, Lowered,
        builder::Target,
        expr::refuse,
        types::{Number, is_binary, is_string},
    },
    settings::FloatOrder,
};

/// Facts of the footers about the input of an aggregate.
pub(crate) trait ColumnBounds {
    /// Rows of all units.
    fn rows(&self) -> u64;

    /// The least and the greatest value of a table's column of integers, dates or times, if every
    /// unit has statistics of it.
    fn range(&self, table_index: usize) -> Option<(i64, i64)>;

    /// Whether a table's column has a dictionary in every unit, as far as footers tell.
    ///
    /// # Errors
    /// The reason why it cannot be grouped by.
    fn check_dictionary(&self, table_index: usize) -> Lowered<()>;
}

/// The meaning of the number of a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// Itself, in the state's type.
    Number,
    /// The float at this place of the total order.
    FloatOrder,
    /// The number of values of an average; NULL for none.
    AverageCount,
    /// The file's value of a partition column, which the drive does not return.
    FolderValue,
}

impl Meaning {
    /// Every meaning with its number in a plan that travels.
    #[cfg(feature = "proto")]
    pub(crate) const ALL: &'static [(Self, u32)] = &[
        (Self::Number, 0),
        (Self::FloatOrder, 1),
        (Self::AverageCount, 2),
        (Self::FolderValue, 3),
    ];
}

/// The source of a column of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Source {
    /// The column of the result, or which of the folder's values.
    pub(crate) column: usize,
    /// The meaning of its numbers.
    pub(crate) meaning: Meaning,
}

impl Source {
    /// The value of the folder, if `expr` is a column that only folders have.
    pub(crate) fn folder_value(
        builder: &FragmentBuilder<'_>,
        expr: &dyn PhysicalExpr,
    ) -> Option<Self> {
        let column = builder.folder_column(expr.downcast_ref::<Column>()?.index())?;
        Some(Self { column, meaning: Meaning::FolderValue })
    }

    /// A column of plain numbers.
    pub(crate) fn number(column: usize) -> Self {
        Self { column, meaning: Meaning::Number }
    }
}

/// Integers up to here are exact in Float64.
const EXACT_IN_FLOAT64: u128 = 1 << 53;

/// Keys and slots of a partial aggregate, and which output column each state comes from.
#[derive(Debug, Default)]
pub(crate) struct States {
    pub(crate) keys: Vec<Key>,
    pub(crate) slots: Vec<Aggregate>,
    /// For each column of the partial aggregate's schema where it comes from.
    pub(crate) sources: Vec<Source>,
}

impl States {
    /// Adds a state that comes from a slot.
    fn push(&mut self, slot: Aggregate, meaning: Meaning) {
        let column = self.slot(slot);
        self.sources.push(Source { column, meaning });
    }

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

/// Lowers one aggregate. `args` and `filter` are over the table's columns.
pub(crate) fn lower_aggregate(
    builder: &mut FragmentBuilder<'_>,
    states: &mut States,
    aggregate: &AggregateFunctionExpr,
    args: &[Arc<dyn PhysicalExpr>],
    filter: Option<&Arc<dyn PhysicalExpr>>,
    bounds: &dyn ColumnBounds,
    order: FloatOrder,
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
        Some(filter) => builder.lower_truth(Target::Projection, filter.as_ref())?,
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
            states.push(slot(function, counted, Width::W64), Meaning::Number);
        }
        "sum" if is_float(builder, arg) => {
            let operand = float_column(builder, arg, aggregate, order)?;
            states.push(slot(Function::SumFloat, operand, Width::W64), Meaning::FloatOrder);
        }
        "sum" => {
            let value = builder.lower_number(Target::Projection, arg.as_ref())?;
            let width = sum_width(value.number)?;
            states.push(slot(Function::Sum, value.operand, width), Meaning::Number);
        }
        "min" | "max" => {
            let extreme = if function == "min" { Function::Min } else { Function::Max };
            let (operand, width, meaning) = extreme_operand(builder, states, arg, aggregate)?;
            states.push(slot(extreme, operand, width), meaning);
        }
        "bool_and" | "bool_or" => {
            let extreme = if function == "bool_and" { Function::Min } else { Function::Max };
            let value = builder.lower_number(Target::Projection, arg.as_ref())?;
            states.push(slot(extreme, value.operand, value.number.width()), Meaning::Number);
        }
        "avg" => {
            let (operand, sum, meaning) = average_operand(builder, arg, aggregate, bounds, order)?;
            states.push(slot(Function::Count, operand, Width::W64), Meaning::AverageCount);
            let width = if sum == Function::SumFloat { Width::W64 } else { Width::W128 };
            states.push(slot(sum, operand, width), meaning);
        }
        _ => return Err(Kept::new(KeepReason::Function, aggregate.name())),
    }
    Ok(())
}

/// Returns the operand of a minimum or maximum, the width of its state, and its meaning.
fn extreme_operand(
    builder: &mut FragmentBuilder<'_>,
    states: &States,
    arg: &Arc<dyn PhysicalExpr>,
    aggregate: &AggregateFunctionExpr,
) -> Lowered<(Operand, Width, Meaning)> {
    let data_type = arg.data_type(builder.schema());
    if let (Some(column), Ok(bytes)) = (arg.downcast_ref::<Column>(), &data_type)
        && (is_string(bytes) || is_binary(bytes))
    {
        let operand = Operand::Column(builder.column(column.index())?);
        return Ok((operand, Width::Bytes, Meaning::Number));
    }
    let value = builder
        .lower_number(Target::Projection, arg.as_ref())
        .or_else(|kept| refuse_type_as_function(kept, aggregate))?;
    let meaning = match value.number {
        // DataFusion's grouped MIN and MAX compare floats differently, which is visible for NaN.
        Number::Float { .. } if !states.keys.is_empty() => {
            let detail = format!("{}: the extremes of floats in groups", aggregate.name());
            return Err(Kept::new(KeepReason::FloatOrder, detail));
        }
        Number::Float { .. } => Meaning::FloatOrder,
        _ => Meaning::Number,
    };
    Ok((value.operand, value.number.width(), meaning))
}

/// Returns the operand that is counted; [`Operand::None`] for every row.
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
    match (arg.downcast_ref::<Column>(), arg.data_type(builder.schema())) {
        (Some(column), _) => Ok(Operand::Column(builder.column(column.index())?)),
        (None, Ok(DataType::Boolean)) => builder.lower_truth(Target::Projection, arg.as_ref()),
        (None, _) => Ok(builder.lower_number(Target::Projection, arg.as_ref())?.operand),
    }
}

/// DataFusion sums integers in 64 bits and decimals in 128, wrapping; a drive reports an overflow.
fn sum_width(number: Number) -> Lowered<Width> {
    match number {
        Number::Integer { bits: 64, .. } => Ok(Width::W64),
        Number::Decimal { .. } => Ok(Width::W128),
        _ => Err(Kept::new(KeepReason::Function, "a sum of other than 64-bit numbers")),
    }
}

fn is_float(builder: &FragmentBuilder<'_>, arg: &Arc<dyn PhysicalExpr>) -> bool {
    let data_type = arg.data_type(builder.schema());
    matches!(data_type, Ok(DataType::Float16 | DataType::Float32 | DataType::Float64))
}

/// A column of floats to be summed up, which depends on the order of the terms.
fn float_column(
    builder: &mut FragmentBuilder<'_>,
    arg: &Arc<dyn PhysicalExpr>,
    aggregate: &AggregateFunctionExpr,
    order: FloatOrder,
) -> Lowered<Operand> {
    if order == FloatOrder::Keep {
        return Err(Kept::new(KeepReason::FloatOrder, aggregate.name()));
    }
    let value = builder.lower_number(Target::Projection, arg.as_ref())?;
    match (value.operand, value.number) {
        (Operand::Column(_), Number::Float { .. }) => Ok(value.operand),
        _ => Err(Kept::new(KeepReason::FloatOrder, aggregate.name())),
    }
}

/// Reports a type without a counterpart as an unsupported function, under MIN and MAX.
fn refuse_type_as_function<T>(kept: Kept, aggregate: &AggregateFunctionExpr) -> Lowered<T> {
    match kept.reason {
        KeepReason::Type | KeepReason::Expression => {
            let detail = format!("{}: {}", aggregate.name(), kept.detail);
            Err(Kept::new(KeepReason::Function, detail))
        }
        _ => Err(kept),
    }
}

/// Returns the operands of an average, the width, and the meaning of the sum.
fn average_operand(
    builder: &mut FragmentBuilder<'_>,
    arg: &Arc<dyn PhysicalExpr>,
    aggregate: &AggregateFunctionExpr,
    bounds: &dyn ColumnBounds,
    order: FloatOrder,
) -> Lowered<(Operand, Function, Meaning)> {
    let float_order =
        |why: &str| Err(Kept::new(KeepReason::FloatOrder, format!("{}: {why}", aggregate.name())));
    match arg.data_type(builder.schema()) {
        Ok(DataType::Decimal128(_, _)) => {
            let value = builder.lower_number(Target::Projection, arg.as_ref())?;
            return Ok((value.operand, Function::Sum, Meaning::Number));
        }
        Ok(DataType::Float64) => {}
        _ => return refuse(arg.as_ref()),
    }
    let inner = match arg.downcast_ref::<CastExpr>() {
        Some(cast) if !is_float(builder, cast.expr()) => cast.expr(),
        _ => {
            let operand = float_column(builder, arg, aggregate, order)?;
            return Ok((operand, Function::SumFloat, Meaning::FloatOrder));
        }
    };
    let Some(column) = inner.downcast_ref::<Column>() else {
        return float_order("an average of an expression");
    };
    let number = inner.data_type(builder.schema()).ok().and_then(|it| Number::of(&it).ok());
    if !matches!(number, Some(Number::Integer { .. })) {
        return float_order("a sum of floating point");
    }
    let operand = Operand::Column(builder.column(column.index())?);
    if order == FloatOrder::Free {
        return Ok((operand, Function::Sum, Meaning::Number));
    }
    let Some((least, greatest)) = bounds.range(column.index()) else {
        return float_order("the files have no statistics of the column");
    };
    let magnitude = u128::from(least.unsigned_abs().max(greatest.unsigned_abs()));
    if u128::from(bounds.rows()).saturating_mul(magnitude) > EXACT_IN_FLOAT64 {
        return float_order("the sum may leave the integers that Float64 holds exactly");
    }
    Ok((operand, Function::Sum, Meaning::Number))
}
