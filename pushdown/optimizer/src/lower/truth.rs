// SPDX-License-Identifier: Apache-2.0
//! Lowers conditions: expressions with a truth value.
//!
//! | DataFusion | command |
//! |---|---|
//! | `= <> < <= > >=`, IS [NOT] DISTINCT FROM, IN, IS [NOT] NULL, AND, OR, NOT | steps |
//! | a boolean column | `column = 1` |
//! | IS [NOT] TRUE, IS [NOT] FALSE | AND with IS NOT NULL |
//! | CASE with truth values | AND and OR of its branches |
//! | the same of a string column and literals, LIKE, starts_with, ends_with, contains | string tests |
//! | substr and left of a string column, equal to literals | string tests |

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::{
    common::ScalarValue,
    logical_expr::Operator,
    physical_expr::{
        PhysicalExpr, ScalarFunctionExpr,
        expressions::{
            BinaryExpr, CaseExpr, Column, InListExpr, IsNotNullExpr, IsNullExpr, LikeExpr, Literal,
            NotExpr,
        },
        split_conjunction,
    },
};
use nearscan_command::{Op, Operand, Step, Width};

use crate::lower::{
    FragmentBuilder, Lowered,
    builder::Target,
    expr::{data_type, lower_when, refuse},
    steps::mirror,
    strings,
    types::Number,
};

impl FragmentBuilder<'_> {
    /// Lowers an expression with a truth value.
    pub(crate) fn lower_truth(
        &mut self,
        target: Target,
        expr: &dyn PhysicalExpr,
    ) -> Lowered<Operand> {
        if let Some(binary) = expr.downcast_ref::<BinaryExpr>() {
            return lower_condition(self, target, binary);
        }
        if let Some(not) = expr.downcast_ref::<NotExpr>() {
            let inner = self.lower_truth(target, not.arg().as_ref())?;
            return self.step(target, Step::unary(Op::Not, inner));
        }
        if let Some(is_null) = expr.downcast_ref::<IsNullExpr>() {
            return lower_null_test(self, target, Op::IsNull, is_null.arg().as_ref());
        }
        if let Some(is_not_null) = expr.downcast_ref::<IsNotNullExpr>() {
            return lower_null_test(self, target, Op::IsNotNull, is_not_null.arg().as_ref());
        }
        if let Some(in_list) = expr.downcast_ref::<InListExpr>() {
            return lower_in_list(self, target, in_list);
        }
        if let Some(like) = expr.downcast_ref::<LikeExpr>() {
            return strings::lower_like(self, target, like);
        }
        if let Some(function) = expr.downcast_ref::<ScalarFunctionExpr>() {
            return strings::lower_function(self, target, function);
        }
        if let Some(case) = expr.downcast_ref::<CaseExpr>() {
            return lower_case(self, target, case);
        }
        if let Some(column) = expr.downcast_ref::<Column>() {
            if data_type(self, expr)? != DataType::Boolean {
                return refuse(expr);
            }
            let column = Operand::Column(self.column(column.index())?);
            let one = self.literal(1)?;
            return self.step(target, Step::compare(Op::Equal, column, one));
        }
        match expr.downcast_ref::<Literal>().map(Literal::value) {
            Some(ScalarValue::Boolean(None) | ScalarValue::Null) => Ok(Operand::Null),
            Some(ScalarValue::Boolean(Some(truth))) => {
                // NULL is never true, so one of the two tests of it always holds.
                let op = if *truth { Op::IsNull } else { Op::IsNotNull };
                self.step(target, Step::unary(op, Operand::Null))
            }
            _ => refuse(expr),
        }
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
        (None, DataType::Boolean) => builder.lower_truth(target, arg)?,
        (None, _) => builder.lower_number(target, arg)?.operand,
    };
    builder.step(target, Step::unary(op, operand))
}

fn lower_condition(
    builder: &mut FragmentBuilder<'_>,
    target: Target,
    expr: &BinaryExpr,
) -> Lowered<Operand> {
    let op = match expr.op() {
        Operator::And => return lower_conjunction(builder, target, expr),
        Operator::Or => Op::Or,
        Operator::Eq => Op::Equal,
        Operator::NotEq => Op::NotEqual,
        Operator::Lt => Op::Less,
        Operator::LtEq => Op::LessOrEqual,
        Operator::Gt => Op::Greater,
        Operator::GtEq => Op::GreaterOrEqual,
        Operator::IsDistinctFrom => Op::IsDistinct,
        Operator::IsNotDistinctFrom => Op::IsNotDistinct,
        _ => return refuse(expr),
    };
    let (left, right) = (expr.left().as_ref(), expr.right().as_ref());
    if op == Op::Or {
        let left = builder.lower_truth(target, left)?;
        let right = builder.lower_truth(target, right)?;
        return builder.step(target, Step::compare(op, left, right));
    }
    if let Some(truth) = lower_is_truth(builder, target, op, left, right)? {
        return Ok(truth);
    }
    if let Some(column) = strings::column_of(builder, left)? {
        return strings::lower_comparison(builder, target, op, column, right, expr);
    }
    if let Some(column) = strings::column_of(builder, right)? {
        return strings::lower_comparison(builder, target, mirror(op), column, left, expr);
    }
    if let Some(signs) = strings::signs_of(builder, left)?
        && matches!(op, Op::Equal | Op::NotEqual)
    {
        let literals = [Arc::clone(expr.right())];
        let (found, _) = strings::lower_signs_in(builder, target, &signs, &literals, expr)?;
        return match op {
            Op::NotEqual => builder.step(target, Step::unary(Op::Not, found)),
            _ => Ok(found),
        };
    }
    let left = builder.lower_number(target, left)?;
    let right = builder.lower_number(target, right)?;
    if !left.number.is_comparable_with(right.number) {
        return refuse(expr);
    }
    let (mut a, mut b) = (left.operand, right.operand);
    if matches!(left.number, Number::Float { .. }) {
        // A literal other than zero is on the same side of both zeros, so they need not be unified.
        let may_be_zero = |builder: &FragmentBuilder<'_>, operand| {
            builder.literal_value(operand).is_none_or(|place| ZEROS.contains(&place))
        };
        if may_be_zero(builder, a) && may_be_zero(builder, b) {
            (a, b) = (one_zero(builder, target, a)?, one_zero(builder, target, b)?);
        }
    }
    builder.step(target, Step::compare(op, a, b))
}

fn lower_conjunction(
    builder: &mut FragmentBuilder<'_>,
    target: Target,
    expr: &BinaryExpr,
) -> Lowered<Operand> {
    let sides = [expr.left(), expr.right()];
    let conjuncts = sides.into_iter().flat_map(split_conjunction);
    let verdicts: Vec<Operand> = conjuncts
        .map(|conjunct| builder.lower_truth(target, conjunct.as_ref()))
        .collect::<Lowered<_>>()?;
    builder.conjunction(target, &verdicts)
}

/// The places of -0.0 and 0.0 in the total order.
const ZEROS: [i128; 2] = [-1, 0];

/// A float with 0.0 in place of -0.0: DataFusion compares the two as equal.
fn one_zero(
    builder: &mut FragmentBuilder<'_>,
    target: Target,
    operand: Operand,
) -> Lowered<Operand> {
    let [negative, zero] = ZEROS;
    let zero = builder.literal(zero)?;
    if let Some(place) = builder.literal_value(operand) {
        return Ok(if place == negative { zero } else { operand });
    }
    let negative = builder.literal(negative)?;
    let is_negative = builder.step(target, Step::compare(Op::Equal, operand, negative))?;
    builder.step(target, Step::select(Width::W64, is_negative, zero, operand))
}

/// `x IS [NOT] TRUE` and `x IS [NOT] FALSE`, which arrive as tests for being distinct from a
/// literal; nothing for anything else.
fn lower_is_truth(
    builder: &mut FragmentBuilder<'_>,
    target: Target,
    op: Op,
    left: &dyn PhysicalExpr,
    right: &dyn PhysicalExpr,
) -> Lowered<Option<Operand>> {
    if !matches!(op, Op::IsDistinct | Op::IsNotDistinct) {
        return Ok(None);
    }
    let Some(ScalarValue::Boolean(Some(wanted))) =
        right.downcast_ref::<Literal>().map(Literal::value)
    else {
        return Ok(None);
    };
    let mut truth = builder.lower_truth(target, left)?;
    if !*wanted {
        truth = builder.step(target, Step::unary(Op::Not, truth))?;
    }
    let is_that = builder.two_valued(target, truth)?;
    Ok(Some(match op {
        Op::IsDistinct => builder.step(target, Step::unary(Op::Not, is_that))?,
        _ => is_that,
    }))
}

/// The first branch whose condition is true, as a chain of AND and OR from the last to the first.
fn lower_case(
    builder: &mut FragmentBuilder<'_>,
    target: Target,
    case: &CaseExpr,
) -> Lowered<Operand> {
    let mut result = match case.else_expr() {
        Some(expr) => builder.lower_truth(target, expr.as_ref())?,
        None => Operand::Null,
    };
    for (when, then) in case.when_then_expr().iter().rev() {
        let condition = lower_when(builder, target, case, when.as_ref())?;
        let condition = builder.two_valued(target, condition)?;
        let otherwise = builder.step(target, Step::unary(Op::Not, condition))?;
        let then = builder.lower_truth(target, then.as_ref())?;
        let taken = builder.step(target, Step::compare(Op::And, condition, then))?;
        let left = builder.step(target, Step::compare(Op::And, otherwise, result))?;
        result = builder.step(target, Step::compare(Op::Or, taken, left))?;
    }
    Ok(result)
}

fn lower_in_list(
    builder: &mut FragmentBuilder<'_>,
    target: Target,
    expr: &InListExpr,
) -> Lowered<Operand> {
    let arg = expr.expr().as_ref();
    let (found, has_null) = if let Some(column) = strings::column_of(builder, arg)? {
        strings::lower_in(builder, target, column, expr)?
    } else if let Some(signs) = strings::signs_of(builder, arg)? {
        strings::lower_signs_in(builder, target, &signs, expr.list(), expr)?
    } else {
        lower_number_in(builder, target, expr)?
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

fn lower_number_in(
    builder: &mut FragmentBuilder<'_>,
    target: Target,
    expr: &InListExpr,
) -> Lowered<(Operand, bool)> {
    let value = builder.lower_number(target, expr.expr().as_ref())?;
    // A set of floats is one of bits, in which two zeros are two numbers or one, as it happens.
    if matches!(value.number, Number::Float { .. }) {
        return refuse(expr);
    }
    let mut numbers = Vec::new();
    let mut has_null = false;
    for item in expr.list() {
        let Some(literal) = item.downcast_ref::<Literal>() else { return refuse(expr) };
        if !Number::of(&literal.value().data_type())?.is_comparable_with(value.number) {
            return refuse(expr);
        }
        match Number::of_literal(literal.value())? {
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
