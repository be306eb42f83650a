// SPDX-License-Identifier: Apache-2.0
//! Lowers expressions with a numeric value.
//!
//! | DataFusion | command |
//! |---|---|
//! | column, literal of a type of [`Number`] | operand |
//! | `+ - *` of 32- and 64-bit integers and of decimals, `-x` | steps; decimals are rescaled first |
//! | `/ %` of 32- and 64-bit integers by a literal | `Divide`, `Remainder` |
//! | CAST that cannot fail | nothing, a multiplication, or a division that rounds as Arrow does |
//! | CASE | `Select`, from the last branch to the first |
//! | date_part of a date or a timestamp without zone | a division to days, then `Year`, `Month`, `Day` |
//! | a condition as a number | `Select` of 1, 0 and NULL |
//!
//! Everything else is kept: divisions of decimals have other scales, casts that can fail return
//! NULL or an error, and other functions have no counterpart.

use arrow::datatypes::DataType;
use datafusion::{
    logical_expr::Operator,
    physical_expr::{
        PhysicalExpr, ScalarFunctionExpr,
        expressions::{BinaryExpr, CaseExpr, CastExpr, Column, Literal, NegativeExpr},
    },
};
use nearscan_command::{Op, Operand, Step, Width};

use crate::{
    decision::{KeepReason, Kept},
    lower::{
        FragmentBuilder, Lowered,
        builder::Target,
        types::{HasZone, Number, per_second},
    },
};

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

pub(crate) fn data_type(
    builder: &FragmentBuilder<'_>,
    expr: &dyn PhysicalExpr,
) -> Lowered<DataType> {
    match expr.data_type(builder.schema()) {
        Ok(data_type) => Ok(data_type),
        Err(_) => refuse(expr),
    }
}

impl FragmentBuilder<'_> {
    /// Lowers an expression with a numeric value.
    pub(crate) fn lower_number(
        &mut self,
        target: Target,
        expr: &dyn PhysicalExpr,
    ) -> Lowered<Value> {
        if let Some(column) = expr.downcast_ref::<Column>() {
            let number = Number::of(&data_type(self, expr)?)?;
            let operand = Operand::Column(self.column(column.index())?);
            return Ok(Value { operand, number });
        }
        if let Some(literal) = expr.downcast_ref::<Literal>() {
            let number = Number::of(&literal.value().data_type())?;
            let operand = match Number::of_literal(literal.value())? {
                Some(value) => self.literal(value)?,
                None => Operand::Null,
            };
            return Ok(Value { operand, number });
        }
        if let Some(cast) = expr.downcast_ref::<CastExpr>() {
            return lower_cast(self, target, cast);
        }
        if let Some(binary) = expr.downcast_ref::<BinaryExpr>()
            && is_arithmetic(*binary.op())
        {
            return lower_arithmetic(self, target, binary);
        }
        if let Some(negative) = expr.downcast_ref::<NegativeExpr>() {
            return lower_negative(self, target, negative);
        }
        if data_type(self, expr)? == DataType::Boolean {
            let truth = self.lower_truth(target, expr)?;
            return number_of_truth(self, target, truth);
        }
        if let Some(case) = expr.downcast_ref::<CaseExpr>() {
            return lower_case(self, target, case);
        }
        match expr.downcast_ref::<ScalarFunctionExpr>() {
            Some(function) => lower_function(self, target, function),
            None => refuse(expr),
        }
    }
}

fn is_arithmetic(operator: Operator) -> bool {
    matches!(
        operator,
        Operator::Plus | Operator::Minus | Operator::Multiply | Operator::Divide | Operator::Modulo
    )
}

/// A truth value as 0, 1 or NULL.
fn number_of_truth(
    builder: &mut FragmentBuilder<'_>,
    target: Target,
    truth: Operand,
) -> Lowered<Value> {
    let (one, zero) = (builder.literal(1)?, builder.literal(0)?);
    let known = builder.step(target, Step::unary(Op::IsNotNull, truth))?;
    let number = builder.step(target, Step::select(Width::W32, truth, one, zero))?;
    let step = Step::select(Width::W32, known, number, Operand::Null);
    Ok(Value { operand: builder.step(target, step)?, number: Number::Boolean })
}

/// The effect of a cast on the integer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Recast {
    Multiply(i128),
    Divide(Op, i128),
}

fn lower_cast(
    builder: &mut FragmentBuilder<'_>,
    target: Target,
    cast: &CastExpr,
) -> Lowered<Value> {
    let inner = builder.lower_number(target, cast.expr().as_ref())?;
    let number = Number::of(cast.cast_type())?;
    let Some(recast) = recast(inner.number, number) else { return refuse(cast) };
    if inner.operand == Operand::Null || recast == Recast::Multiply(1) {
        return Ok(Value { operand: inner.operand, number });
    }
    let (op, factor) = match recast {
        Recast::Multiply(factor) => (Op::Multiply, factor),
        Recast::Divide(op, divisor) => (op, divisor),
    };
    let factor = builder.literal(factor)?;
    let step = Step::arithmetic(op, number.width(), inner.operand, factor);
    Ok(Value { operand: builder.step(target, step)?, number })
}

/// Returns the effect of a cast that cannot fail; `None` for the others.
fn recast(from: Number, to: Number) -> Option<Recast> {
    use Number::{Boolean, Date32, Decimal, Float, Integer, Timestamp};
    if from == to {
        return Some(Recast::Multiply(1));
    }
    match (from, to) {
        (Integer { bits: a, signed: x }, Integer { bits: b, signed: y }) => {
            let holds = if x == y { b >= a } else { y && b > a };
            holds.then_some(Recast::Multiply(1))
        }
        (Boolean, Integer { .. }) => Some(Recast::Multiply(1)),
        // Every float of 4 bytes is one of 8 bytes, and both are in the same order.
        (Float { bits: 32 }, Float { bits: 64 }) => Some(Recast::Multiply(1)),
        (Decimal { precision, scale }, Integer { bits, signed: true }) if scale >= 0 => {
            // Arrow cuts the digits behind the point off.
            let whole = i16::from(precision) - i16::from(scale);
            let divisor = 10i128.checked_pow(u32::from(scale.unsigned_abs()))?;
            (whole < safe_digits(bits)).then_some(match divisor {
                1 => Recast::Multiply(1),
                _ => Recast::Divide(Op::Divide, divisor),
            })
        }
        (_, Decimal { precision, scale }) => {
            let (have, room) = (whole_digits(from)?, i16::from(precision) - i16::from(scale));
            let shift = i16::from(scale) - i16::from(from.scale());
            let factor = 10i128.checked_pow(u32::from(shift.unsigned_abs()))?;
            match shift {
                0.. if room >= have => Some(Recast::Multiply(factor)),
                // Rounding up may take a digit more.
                ..0 if room > have => Some(Recast::Divide(Op::DivideRound, factor)),
                _ => None,
            }
        }
        (Date32, Timestamp { unit, has_zone: HasZone::No }) => {
            Some(Recast::Multiply(i128::from(per_second(unit)) * 86_400))
        }
        (Timestamp { unit: a, has_zone: x }, Timestamp { unit: b, has_zone: y })
            if x == y && per_second(b) >= per_second(a) =>
        {
            Some(Recast::Multiply(i128::from(per_second(b) / per_second(a))))
        }
        _ => None,
    }
}

/// Digits in front of the point that every number of a type fits in.
fn whole_digits(number: Number) -> Option<i16> {
    match number {
        Number::Integer { bits: 8, .. } => Some(3),
        Number::Integer { bits: 16, .. } => Some(5),
        Number::Integer { bits: 32, .. } => Some(10),
        Number::Integer { signed: true, .. } => Some(19),
        Number::Integer { signed: false, .. } => Some(20),
        Number::Decimal { precision, scale } => Some(i16::from(precision) - i16::from(scale)),
        _ => None,
    }
}

/// Returns the largest number of digits that always fit in an integer of so many bits.
fn safe_digits(bits: u8) -> i16 {
    match bits {
        8 => 3,
        16 => 5,
        32 => 10,
        _ => 19,
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
        Operator::Divide => Op::Divide,
        _ => Op::Remainder,
    };
    let number = Number::of(&data_type(builder, expr)?)?;
    let Some(width) = number.arithmetic_width() else { return refuse(expr) };
    let mut left = builder.lower_number(target, expr.left().as_ref())?;
    let mut right = builder.lower_number(target, expr.right().as_ref())?;
    match (left.number, right.number, number) {
        (a, b, Number::Integer { .. }) if a == number && b == number => {
            if op.is_division() && !is_divisor(builder, right.operand) {
                return refuse(expr);
            }
        }
        (
            Number::Decimal { scale: a, .. },
            Number::Decimal { scale: b, .. },
            Number::Decimal { scale, .. },
        ) if !op.is_division() => {
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
    let step = Step::arithmetic(op, width, left.operand, right.operand);
    Ok(Value { operand: builder.step(target, step)?, number })
}

/// Whether a command can divide by an operand: a literal other than 0, on which DataFusion would
/// give an error.
fn is_divisor(builder: &FragmentBuilder<'_>, operand: Operand) -> bool {
    builder.literal_value(operand).is_some_and(|value| value != 0)
}

fn lower_negative(
    builder: &mut FragmentBuilder<'_>,
    target: Target,
    expr: &NegativeExpr,
) -> Lowered<Value> {
    let inner = builder.lower_number(target, expr.arg().as_ref())?;
    let Some(width) = inner.number.arithmetic_width() else { return refuse(expr) };
    let zero = builder.literal(0)?;
    let step = Step::arithmetic(Op::Subtract, width, zero, inner.operand);
    Ok(Value { operand: builder.step(target, step)?, number: inner.number })
}

fn lower_case(
    builder: &mut FragmentBuilder<'_>,
    target: Target,
    case: &CaseExpr,
) -> Lowered<Value> {
    let number = Number::of(&data_type(builder, case)?)?;
    let branch = |builder: &mut FragmentBuilder<'_>, expr: &dyn PhysicalExpr| {
        if let Some(literal) = expr.downcast_ref::<Literal>()
            && literal.value().is_null()
        {
            return Ok(Operand::Null);
        }
        let value = builder.lower_number(target, expr)?;
        if value.number == number { Ok(value.operand) } else { refuse(expr) }
    };
    let mut result = match case.else_expr() {
        Some(expr) => branch(builder, expr.as_ref())?,
        None => Operand::Null,
    };
    for (when, then) in case.when_then_expr().iter().rev() {
        let condition = lower_when(builder, target, case, when.as_ref())?;
        let taken = branch(builder, then.as_ref())?;
        let step = Step::select(number.width(), condition, taken, result);
        result = builder.step(target, step)?;
    }
    Ok(Value { operand: result, number })
}

/// The condition of a branch: of `CASE x WHEN y` it is `x = y`.
pub(crate) fn lower_when(
    builder: &mut FragmentBuilder<'_>,
    target: Target,
    case: &CaseExpr,
    when: &dyn PhysicalExpr,
) -> Lowered<Operand> {
    let Some(base) = case.expr() else { return builder.lower_truth(target, when) };
    let left = builder.lower_number(target, base.as_ref())?;
    let right = builder.lower_number(target, when)?;
    if !left.number.is_comparable_with(right.number) {
        return refuse(case);
    }
    builder.step(target, Step::compare(Op::Equal, left.operand, right.operand))
}

fn lower_function(
    builder: &mut FragmentBuilder<'_>,
    target: Target,
    function: &ScalarFunctionExpr,
) -> Lowered<Value> {
    match (function.name(), function.args()) {
        ("date_part", [part, date]) => {
            let part = part.downcast_ref::<Literal>().and_then(|it| it.value().try_as_str()?);
            let Some(part) = part else { return refuse(function) };
            let op = match part.trim_matches('\'').to_ascii_lowercase().as_str() {
                "year" => Op::Year,
                "month" => Op::Month,
                "day" => Op::Day,
                _ => return refuse(function),
            };
            let days = lower_days(builder, target, date.as_ref(), function)?;
            let operand = builder.step(target, Step::part(op, Width::W32, days))?;
            Ok(Value { operand, number: Number::INT32 })
        }
        ("nullif", [value, other]) => {
            let left = builder.lower_number(target, value.as_ref())?;
            let right = builder.lower_number(target, other.as_ref())?;
            if !left.number.is_comparable_with(right.number) {
                return refuse(function);
            }
            let equal = Step::compare(Op::Equal, left.operand, right.operand);
            let equal = builder.step(target, equal)?;
            let step = Step::select(left.number.width(), equal, Operand::Null, left.operand);
            Ok(Value { operand: builder.step(target, step)?, number: left.number })
        }
        _ => refuse(function),
    }
}

/// Days since 1970 of a date or a timestamp.
fn lower_days(
    builder: &mut FragmentBuilder<'_>,
    target: Target,
    date: &dyn PhysicalExpr,
    function: &ScalarFunctionExpr,
) -> Lowered<Operand> {
    let value = builder.lower_number(target, date)?;
    match value.number {
        Number::Date32 => Ok(value.operand),
        Number::Timestamp { has_zone: HasZone::No, .. } => {
            let Some(per_day) = value.number.per_day() else { return refuse(function) };
            let per_day = builder.literal(i128::from(per_day))?;
            let step = Step::arithmetic(Op::DivideFloor, Width::W64, value.operand, per_day);
            builder.step(target, step)
        }
        _ => refuse(function),
    }
}
