// SPDX-License-Identifier: Apache-2.0
//! Lowers conditions on byte strings to tests of a column against literals.
//!
//! A test is run once for each dictionary entry, so that an IN list or a pattern costs little
//! however many rows there are. Patterns of LIKE become items, where `\` has Arrow's meaning: it
//! escapes the next character, and at the end it matches itself.

use std::sync::Arc;

use datafusion::{
    common::ScalarValue,
    physical_expr::{
        PhysicalExpr, ScalarFunctionExpr,
        expressions::{BinaryExpr, CastExpr, Column, InListExpr, LikeExpr, Literal},
    },
};
use nearscan_command::{Op, Operand, Step, TestOp, pattern};

use crate::lower::{
    FragmentBuilder, Lowered,
    builder::Target,
    expr::{data_type, refuse},
    types::{is_binary, is_string},
};

/// The column's place in the table, if the expression is a column of byte strings, possibly cast
/// between string types.
pub(crate) fn column_of(
    builder: &FragmentBuilder<'_>,
    expr: &dyn PhysicalExpr,
) -> Lowered<Option<usize>> {
    if let Some(cast) = expr.downcast_ref::<CastExpr>() {
        let inner = cast.expr().as_ref();
        let between_strings = is_string(cast.cast_type()) && is_string(&data_type(builder, inner)?);
        let between_bytes = is_binary(cast.cast_type()) && is_binary(&data_type(builder, inner)?);
        return match between_strings || between_bytes {
            true => column_of(builder, inner),
            false => Ok(None),
        };
    }
    let Some(column) = expr.downcast_ref::<Column>() else { return Ok(None) };
    let data_type = data_type(builder, expr)?;
    Ok((is_string(&data_type) || is_binary(&data_type)).then_some(column.index()))
}

/// The bytes of a literal; `None` for NULL.
fn literal(expr: &dyn PhysicalExpr) -> Lowered<Option<Vec<u8>>> {
    match expr.downcast_ref::<Literal>().map(Literal::value) {
        Some(
            ScalarValue::Utf8(text) | ScalarValue::LargeUtf8(text) | ScalarValue::Utf8View(text),
        ) => Ok(text.as_ref().map(|text| text.clone().into_bytes())),
        Some(
            ScalarValue::Binary(bytes)
            | ScalarValue::LargeBinary(bytes)
            | ScalarValue::BinaryView(bytes),
        ) => Ok(bytes.clone()),
        _ => refuse(expr),
    }
}

/// `column op literal`.
pub(crate) fn lower_comparison(
    builder: &mut FragmentBuilder<'_>,
    target: Target,
    op: Op,
    column: usize,
    other: &dyn PhysicalExpr,
    expr: &BinaryExpr,
) -> Lowered<Operand> {
    let text = literal(other)?;
    if let (Op::IsDistinct | Op::IsNotDistinct, None) = (op, &text) {
        let column = Operand::Column(builder.column(column)?);
        let test = if op == Op::IsDistinct { Op::IsNotNull } else { Op::IsNull };
        return builder.step(target, Step::unary(test, column));
    }
    let Some(text) = text else { return Ok(Operand::Null) };
    let test = match op {
        Op::Equal | Op::NotEqual | Op::IsDistinct | Op::IsNotDistinct => TestOp::In,
        Op::Less => TestOp::Less,
        Op::LessOrEqual => TestOp::LessOrEqual,
        Op::Greater => TestOp::Greater,
        Op::GreaterOrEqual => TestOp::GreaterOrEqual,
        _ => return refuse(expr),
    };
    let column = builder.column(column)?;
    let mut outcome = builder.test(target, column, test, vec![text])?;
    if matches!(op, Op::IsDistinct | Op::IsNotDistinct) {
        outcome = builder.two_valued(target, outcome)?;
    }
    match op {
        Op::NotEqual | Op::IsDistinct => builder.step(target, Step::unary(Op::Not, outcome)),
        _ => Ok(outcome),
    }
}

/// `column IN (literals)`, and whether NULL is among them.
pub(crate) fn lower_in(
    builder: &mut FragmentBuilder<'_>,
    target: Target,
    column: usize,
    expr: &InListExpr,
) -> Lowered<(Operand, bool)> {
    let mut texts = Vec::new();
    let mut has_null = false;
    for item in expr.list() {
        match literal(item.as_ref())? {
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

/// `column LIKE 'pattern'`.
pub(crate) fn lower_like(
    builder: &mut FragmentBuilder<'_>,
    target: Target,
    expr: &LikeExpr,
) -> Lowered<Operand> {
    let column = column_of(builder, expr.expr().as_ref())?;
    let (Some(column), false) = (column, expr.case_insensitive()) else { return refuse(expr) };
    let Some(text) = literal(expr.pattern().as_ref())? else { return Ok(Operand::Null) };
    let Ok(text) = String::from_utf8(text) else { return refuse(expr) };
    let column = builder.column(column)?;
    let outcome = builder.test(target, column, TestOp::Like, vec![items(&text)])?;
    match expr.negated() {
        true => builder.step(target, Step::unary(Op::Not, outcome)),
        false => Ok(outcome),
    }
}

/// A substring of a column of strings: `substr(column, before + 1, count)`.
pub(crate) struct Signs {
    column: usize,
    before: usize,
    count: usize,
}

/// Returns the substring of a column that an expression computes, if it is `substr` or `left`.
pub(crate) fn signs_of(
    builder: &FragmentBuilder<'_>,
    expr: &dyn PhysicalExpr,
) -> Lowered<Option<Signs>> {
    if let Some(cast) = expr.downcast_ref::<CastExpr>() {
        let between = is_string(cast.cast_type()) && is_string(&data_type(builder, expr)?);
        return if between { signs_of(builder, cast.expr().as_ref()) } else { Ok(None) };
    }
    let Some(function) = expr.downcast_ref::<ScalarFunctionExpr>() else { return Ok(None) };
    let number = |expr: &dyn PhysicalExpr| match expr.downcast_ref::<Literal>()?.value() {
        ScalarValue::Int64(Some(number)) => usize::try_from(*number).ok(),
        _ => None,
    };
    let (arg, first, count) = match (function.name(), function.args()) {
        ("substr", [arg, first, count]) => (arg, number(first.as_ref()), number(count.as_ref())),
        ("left", [arg, count]) => (arg, Some(1), number(count.as_ref())),
        _ => return Ok(None),
    };
    let Some(column) = column_of(builder, arg.as_ref())? else { return Ok(None) };
    // A start before the first character reduces the count.
    let before = first.and_then(|first| first.checked_sub(1));
    let is_text = is_string(builder.schema().field(column).data_type());
    Ok(before.zip(count).filter(|_| is_text).map(|(before, count)| Signs { column, before, count }))
}

/// `signs IN (literals)`, one test each, and whether NULL is among them.
pub(crate) fn lower_signs_in(
    builder: &mut FragmentBuilder<'_>,
    target: Target,
    signs: &Signs,
    literals: &[Arc<dyn PhysicalExpr>],
    expr: &dyn PhysicalExpr,
) -> Lowered<(Operand, bool)> {
    let mut found = None;
    let mut has_null = false;
    let column = builder.column(signs.column)?;
    for item in literals {
        let Some(text) = literal(item.as_ref())? else {
            has_null = true;
            continue;
        };
        let Ok(text) = String::from_utf8(text) else { return refuse(expr) };
        let mut pattern = vec![pattern::ONE; signs.before];
        pattern.extend_from_slice(text.as_bytes());
        match text.chars().count() {
            // A longer literal never matches, and an empty substring has strings of several
            // lengths.
            0 => return refuse(expr),
            count if count > signs.count => return refuse(expr),
            // A shorter literal matches at the end of the string only.
            count if count < signs.count => {}
            _ => pattern.push(pattern::ANY),
        }
        let test = builder.test(target, column, TestOp::Like, vec![pattern])?;
        found = Some(match found {
            Some(before) => builder.step(target, Step::compare(Op::Or, before, test))?,
            None => test,
        });
    }
    found.map_or_else(|| refuse(expr), |found| Ok((found, has_null)))
}

/// The items of a pattern of LIKE.
fn items(text: &str) -> Vec<u8> {
    let mut items = Vec::with_capacity(text.len());
    let mut signs = text.chars();
    while let Some(sign) = signs.next() {
        match sign {
            // Several in a row have the meaning of one.
            '%' if items.last() == Some(&pattern::ANY) => {}
            '%' => items.push(pattern::ANY),
            '_' => items.push(pattern::ONE),
            '\\' => push(&mut items, signs.next().unwrap_or('\\')),
            other => push(&mut items, other),
        }
    }
    items
}

fn push(items: &mut Vec<u8>, sign: char) {
    items.extend_from_slice(sign.encode_utf8(&mut [0; 4]).as_bytes());
}

/// `starts_with(column, 'text')` and its like.
pub(crate) fn lower_function(
    builder: &mut FragmentBuilder<'_>,
    target: Target,
    function: &ScalarFunctionExpr,
) -> Lowered<Operand> {
    let [arg, text] = function.args() else { return refuse(function) };
    let (before, behind): (&[u8], &[u8]) = match function.name() {
        "starts_with" => (&[], &[pattern::ANY]),
        "ends_with" => (&[pattern::ANY], &[]),
        "contains" => (&[pattern::ANY], &[pattern::ANY]),
        _ => return refuse(function),
    };
    let Some(column) = column_of(builder, arg.as_ref())? else { return refuse(function) };
    let Some(text) = literal(text.as_ref())? else { return Ok(Operand::Null) };
    let column = builder.column(column)?;
    let pattern = [before, text.as_slice(), behind].concat();
    builder.test(target, column, TestOp::Like, vec![pattern])
}
