// SPDX-License-Identifier: Apache-2.0
//! Lowering of expressions.
//!
//! | DataFusion | command |
//! |---|---|
//! | column, literal of Int32, Int64, Date32, Decimal128 | operand |
//! | `+ - *` on integers and decimals | steps; decimals are rescaled by a multiplication first |
//! | widening CAST of integers and decimals | nothing, or a multiplication |
//! | `= <> < <= > >=`, IN, IS NULL, IS NOT NULL, AND, OR, NOT | steps |
//! | the same of a string column and literals | string tests |
//!
//! Everything else is kept: `/` and `%` round, narrowing casts can fail, functions have no
//! counterpart.

use arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{
    BinaryExpr, CastExpr, Column, InListExpr, IsNotNullExpr, IsNullExpr, Literal, NotExpr,
};
use nearscan_command::{Op, Operand, Step, TestOp};

use crate::decision::{KeepReason, Kept};
use crate::lower::builder::Target;
use crate::lower::types::{Number, is_string, unsupported};
use crate::lower::{FragmentBuilder, Lowered};

/// A lowered number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Value {
    pub(crate) operand: Operand,
    pub(crate) number: Number,
}

/// Refuses an expression.
pub(crate) fn refuse<T>(expr: &dyn PhysicalExpr) -> Lowered<T> {
    Err(Kept::new(KeepReason::Expression, expr.to_string()))
}

fn data_type(builder: &FragmentBuilder<'_>, expr: &dyn PhysicalExpr) -> Lowered<DataType> {
    match expr.data_type(builder.schema()) {
        Ok(data_type) => Ok(data_type),
        Err(_) => refuse(expr),
    }
}

/// Lowers an expression with a numeric value.
pub(crate) fn lower_number(
    builder: &mut FragmentBuilder<'_>,
    target: Target,
    expr: &dyn PhysicalExpr,
) -> Lowered<Value> {
    if let Some(column) = expr.downcast_ref::<Column>() {
        let number = Number::of(&data_type(builder, expr)?)?;
        let operand = Operand::Column(builder.column(column.index())?);
        return Ok(Value { operand, number });
    }
    if let Some(literal) = expr.downcast_ref::<Literal>() {
        let number = Number::of(&literal.value().data_type())?;
        let operand = match integer_of(literal.value())? {
            Some(value) => builder.literal(value)?,
            None => Operand::Null,
        };
        return Ok(Value { operand, number });
    }
    if let Some(cast) = expr.downcast_ref::<CastExpr>() {
        let inner = lower_number(builder, target, cast.expr().as_ref())?;
        let wanted = Number::of(cast.cast_type())?;
        return match widening_shift(inner.number, wanted) {
            Some(shift) => rescale(builder, target, inner, wanted, shift),
            None => refuse(expr),
        };
    }
    match expr.downcast_ref::<BinaryExpr>() {
        Some(binary) => lower_arithmetic(builder, target, binary),
        None => refuse(expr),
    }
}

/// The unscaled integer of a literal; `None` for NULL.
fn integer_of(value: &ScalarValue) -> Lowered<Option<i128>> {
    match value {
        ScalarValue::Int32(value) | ScalarValue::Date32(value) => Ok(value.map(i128::from)),
        ScalarValue::Int64(value) => Ok(value.map(i128::from)),
        ScalarValue::Decimal128(value, _, _) => Ok(*value),
        other => Err(unsupported(&other.data_type())),
    }
}

/// Digits to append for a cast that cannot fail; `None` when it can, or changes the meaning.
fn widening_shift(from: Number, to: Number) -> Option<u32> {
    // Digits that every value of the type fits in.
    let digits = |number| match number {
        Number::Int32 => Some(10),
        Number::Int64 => Some(19),
        Number::Decimal { precision, scale } => Some(i16::from(precision) - i16::from(scale)),
        Number::Date32 => None,
    };
    match (from, to) {
        (a, b) if a == b => Some(0),
        (Number::Int32, Number::Int64) => Some(0),
        (_, Number::Decimal { scale, .. }) if digits(to)? >= digits(from)? => {
            u32::try_from(i16::from(scale) - i16::from(from.scale())).ok()
        }
        _ => None,
    }
}

/// Appends `digits` to a number.
fn rescale(
    builder: &mut FragmentBuilder<'_>,
    target: Target,
    value: Value,
    number: Number,
    digits: u32,
) -> Lowered<Value> {
    if digits == 0 || value.operand == Operand::Null {
        return Ok(Value { operand: value.operand, number });
    }
    let Some(factor) = 10i128.checked_pow(digits) else {
        return Err(Kept::new(KeepReason::Expression, "a scale beyond 38 digits"));
    };
    let factor = builder.literal(factor)?;
    let step = Step::arithmetic(Op::Multiply, number.width(), value.operand, factor);
    Ok(Value { operand: builder.step(target, step)?, number })
}

fn lower_arithmetic(
    builder: &mut FragmentBuilder<'_>,
    target: Target,
    expr: &BinaryExpr,
) -> Lowered<Value> {
    let op = match expr.op() {
        Operator::Plus => Op::Add,
        Operator::Minus => Op::Subtract,
        Operator::Multiply => Op::Multiply,
        _ => return refuse(expr),
    };
    let number = Number::of(&data_type(builder, expr)?)?;
    let mut left = lower_number(builder, target, expr.left().as_ref())?;
    let mut right = lower_number(builder, target, expr.right().as_ref())?;
    match (left.number, right.number, number) {
        (Number::Int32, Number::Int32, Number::Int32)
        | (Number::Int64, Number::Int64, Number::Int64) => {}
        (
            Number::Decimal { scale: a, .. },
            Number::Decimal { scale: b, .. },
            Number::Decimal { scale, .. },
        ) => {
            if op == Op::Multiply {
                if a + b != scale {
                    return refuse(expr);
                }
            } else {
                let shift = |from: i8| u32::try_from(i16::from(scale) - i16::from(from));
                let (Ok(a), Ok(b)) = (shift(a), shift(b)) else { return refuse(expr) };
                left = rescale(builder, target, left, number, a)?;
                right = rescale(builder, target, right, number, b)?;
            }
        }
        _ => return refuse(expr),
    }
    let step = Step::arithmetic(op, number.width(), left.operand, right.operand);
    Ok(Value { operand: builder.step(target, step)?, number })
}

/// Lowers an expression with a truth value.
pub(crate) fn lower_truth(
    builder: &mut FragmentBuilder<'_>,
    target: Target,
    expr: &dyn PhysicalExpr,
) -> Lowered<Operand> {
    if let Some(binary) = expr.downcast_ref::<BinaryExpr>() {
        return lower_condition(builder, target, binary);
    }
    if let Some(not) = expr.downcast_ref::<NotExpr>() {
        let inner = lower_truth(builder, target, not.arg().as_ref())?;
        return builder.step(target, Step::unary(Op::Not, inner));
    }
    if let Some(is_null) = expr.downcast_ref::<IsNullExpr>() {
        return lower_null_test(builder, target, Op::IsNull, is_null.arg().as_ref());
    }
    if let Some(is_not_null) = expr.downcast_ref::<IsNotNullExpr>() {
        return lower_null_test(builder, target, Op::IsNotNull, is_not_null.arg().as_ref());
    }
    if let Some(in_list) = expr.downcast_ref::<InListExpr>() {
        return lower_in_list(builder, target, in_list);
    }
    match expr.downcast_ref::<Literal>().map(Literal::value) {
        Some(ScalarValue::Boolean(None)) => Ok(Operand::Null),
        _ => refuse(expr),
    }
}

fn lower_null_test(
    builder: &mut FragmentBuilder<'_>,
    target: Target,
    op: Op,
    arg: &dyn PhysicalExpr,
) -> Lowered<Operand> {
    let operand = match (arg.downcast_ref::<Column>(), data_type(builder, arg)?) {
        (Some(column), _) => Operand::Column(builder.column(column.index())?),
        (None, DataType::Boolean) => lower_truth(builder, target, arg)?,
        (None, _) => lower_number(builder, target, arg)?.operand,
    };
    builder.step(target, Step::unary(op, operand))
}

fn lower_condition(
    builder: &mut FragmentBuilder<'_>,
    target: Target,
    expr: &BinaryExpr,
) -> Lowered<Operand> {
    let op = match expr.op() {
        Operator::And => Op::And,
        Operator::Or => Op::Or,
        Operator::Eq => Op::Equal,
        Operator::NotEq => Op::NotEqual,
        Operator::Lt => Op::Less,
        Operator::LtEq => Op::LessOrEqual,
        Operator::Gt => Op::Greater,
        Operator::GtEq => Op::GreaterOrEqual,
        _ => return refuse(expr),
    };
    let (left, right) = (expr.left().as_ref(), expr.right().as_ref());
    if matches!(op, Op::And | Op::Or) {
        let left = lower_truth(builder, target, left)?;
        let right = lower_truth(builder, target, right)?;
        return builder.step(target, Step::compare(op, left, right));
    }
    if let Some(column) = string_column(builder, left)? {
        return lower_string_comparison(builder, target, op, column, right, expr);
    }
    if let Some(column) = string_column(builder, right)? {
        return lower_string_comparison(builder, target, mirror(op), column, left, expr);
    }
    let left = lower_number(builder, target, left)?;
    let right = lower_number(builder, target, right)?;
    if !left.number.is_comparable_with(right.number) {
        return refuse(expr);
    }
    builder.step(target, Step::compare(op, left.operand, right.operand))
}

/// The comparison with its sides swapped.
fn mirror(op: Op) -> Op {
    match op {
        Op::Less => Op::Greater,
        Op::LessOrEqual => Op::GreaterOrEqual,
        Op::Greater => Op::Less,
        Op::GreaterOrEqual => Op::LessOrEqual,
        other => other,
    }
}

/// The column's place in the table, if the expression is a string column, possibly cast between
/// string types.
fn string_column(builder: &FragmentBuilder<'_>, expr: &dyn PhysicalExpr) -> Lowered<Option<usize>> {
    if let Some(cast) = expr.downcast_ref::<CastExpr>() {
        return match is_string(cast.cast_type()) {
            true => string_column(builder, cast.expr().as_ref()),
            false => Ok(None),
        };
    }
    match expr.downcast_ref::<Column>() {
        Some(column) if is_string(&data_type(builder, expr)?) => Ok(Some(column.index())),
        _ => Ok(None),
    }
}

/// The bytes of a string literal; `None` for NULL.
fn string_literal(expr: &dyn PhysicalExpr) -> Lowered<Option<Vec<u8>>> {
    match expr.downcast_ref::<Literal>().map(Literal::value) {
        Some(
            ScalarValue::Utf8(text) | ScalarValue::LargeUtf8(text) | ScalarValue::Utf8View(text),
        ) => Ok(text.as_ref().map(|text| text.clone().into_bytes())),
        _ => refuse(expr),
    }
}

fn lower_string_comparison(
    builder: &mut FragmentBuilder<'_>,
    target: Target,
    op: Op,
    column: usize,
    literal: &dyn PhysicalExpr,
    expr: &BinaryExpr,
) -> Lowered<Operand> {
    let Some(text) = string_literal(literal)? else { return Ok(Operand::Null) };
    let test = match op {
        Op::Equal | Op::NotEqual => TestOp::In,
        Op::Less => TestOp::Less,
        Op::LessOrEqual => TestOp::LessOrEqual,
        Op::Greater => TestOp::Greater,
        Op::GreaterOrEqual => TestOp::GreaterOrEqual,
        _ => return refuse(expr),
    };
    let column = builder.column(column)?;
    let outcome = builder.test(target, column, test, vec![text])?;
    match op {
        Op::NotEqual => builder.step(target, Step::unary(Op::Not, outcome)),
        _ => Ok(outcome),
    }
}

fn lower_in_list(
    builder: &mut FragmentBuilder<'_>,
    target: Target,
    expr: &InListExpr,
) -> Lowered<Operand> {
    let arg = expr.expr().as_ref();
    let (found, has_null) = match string_column(builder, arg)? {
        Some(column) => lower_string_in(builder, target, column, expr)?,
        None => lower_number_in(builder, target, expr)?,
    };
    // With NULL in the list what is not found is unknown.
    let found = match has_null {
        true => builder.step(target, Step::compare(Op::Or, found, Operand::Null))?,
        false => found,
    };
    match expr.negated() {
        true => builder.step(target, Step::unary(Op::Not, found)),
        false => Ok(found),
    }
}

fn lower_string_in(
    builder: &mut FragmentBuilder<'_>,
    target: Target,
    column: usize,
    expr: &InListExpr,
) -> Lowered<(Operand, bool)> {
    let mut texts = Vec::new();
    let mut has_null = false;
    for item in expr.list() {
        match string_literal(item.as_ref())? {
            Some(text) => texts.push(text),
            None => has_null = true,
        }
    }
    if texts.is_empty() {
        return refuse(expr);
    }
    let column = builder.column(column)?;
    Ok((builder.test(target, column, TestOp::In, texts)?, has_null))
}

fn lower_number_in(
    builder: &mut FragmentBuilder<'_>,
    target: Target,
    expr: &InListExpr,
) -> Lowered<(Operand, bool)> {
    let value = lower_number(builder, target, expr.expr().as_ref())?;
    let mut numbers = Vec::new();
    let mut has_null = false;
    for item in expr.list() {
        let Some(literal) = item.downcast_ref::<Literal>() else { return refuse(expr) };
        if !Number::of(&literal.value().data_type())?.is_comparable_with(value.number) {
            return refuse(expr);
        }
        match integer_of(literal.value())? {
            Some(number) => numbers.push(number),
            None => has_null = true,
        }
    }
    if numbers.is_empty() {
        return refuse(expr);
    }
    let (first, last) = builder.literal_run(&numbers)?;
    Ok((builder.step(target, Step::in_literals(value.operand, first, last))?, has_null))
}
