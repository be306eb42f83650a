// SPDX-License-Identifier: Apache-2.0
//! Lowers group keys.
//!
//! A drive numbers groups without hashing: by the codes of a dictionary, or by the position of a
//! number in a range that the footers promise. So a key is
//!
//! - a column whose numbers are in a narrow range in all files: small integers, dates, truths;
//! - a computed number of which a narrow range is known: a part of a date, a remainder, a CASE of
//!   literals;
//! - else a column with a dictionary in every row group.
//!
//! or a column that only folders have, which the host adds to the groups of each file.
//!
//! A range is only a promise: a number outside of it ends the unit, and the host does it.

use std::sync::Arc;

use datafusion::{
    logical_expr::Operator,
    physical_expr::{
        PhysicalExpr, ScalarFunctionExpr,
        expressions::{BinaryExpr, CaseExpr, CastExpr, Column, Literal},
    },
};
use nearscan_command::{Key, Operand, limits};

use crate::{
    decision::{KeepReason, Kept},
    lower::{
        FragmentBuilder, Lowered,
        aggregate::{ColumnBounds, Source, States},
        builder::Target,
        expr::data_type,
        types::{Number, column_kind},
    },
};

/// Lowers group keys, each over the table's columns.
pub(crate) fn lower_keys(
    builder: &mut FragmentBuilder<'_>,
    states: &mut States,
    keys: &[Arc<dyn PhysicalExpr>],
    bounds: &dyn ColumnBounds,
) -> Lowered<()> {
    for expr in keys {
        // All rows of a unit have the same value, so the drive does not need it.
        if let Some(source) = Source::folder_value(builder, expr.as_ref()) {
            states.sources.push(source);
            continue;
        }
        let key = lower_key(builder, expr.as_ref(), bounds)?;
        let at = match states.keys.iter().position(|other| *other == key) {
            Some(at) => at,
            None => {
                states.keys.push(key);
                states.keys.len() - 1
            }
        };
        states.sources.push(Source::number(at));
    }
    Ok(())
}

fn lower_key(
    builder: &mut FragmentBuilder<'_>,
    expr: &dyn PhysicalExpr,
    bounds: &dyn ColumnBounds,
) -> Lowered<Key> {
    let range = range_of(builder, expr, bounds);
    if let (Some((first, last)), Ok(number)) = (range, number_of(builder, expr))
        && number.is_groupable()
        && let Some(count) = count_of(first, last)
    {
        let operand = builder.lower_number(Target::Projection, expr)?.operand;
        if matches!(operand, Operand::Column(_) | Operand::Step(_)) {
            return Ok(Key::range(operand, first, count));
        }
    }
    let Some(column) = expr.downcast_ref::<Column>() else {
        let detail = format!("no narrow range is known of {expr}");
        return Err(Kept::new(KeepReason::GroupCardinality, detail));
    };
    if let Some(field) = builder.schema().fields().get(column.index()) {
        column_kind(field)?;
    }
    if !number_of(builder, expr).map_or(true, Number::is_groupable) {
        let detail = format!("group key {expr} is a float, or has more than 63 bits");
        return Err(Kept::new(KeepReason::Type, detail));
    }
    bounds.check_dictionary(column.index())?;
    Ok(Key::column(builder.column(column.index())?))
}

fn number_of(builder: &FragmentBuilder<'_>, expr: &dyn PhysicalExpr) -> Lowered<Number> {
    Number::of(&data_type(builder, expr)?)
}

/// Returns the number of integers from `first` to `last`, if a drive has groups for them.
fn count_of(first: i64, last: i64) -> Option<u32> {
    let count = u32::try_from(last.checked_sub(first)?.checked_add(1)?).ok()?;
    (1..limits::GROUPS_MAX).contains(&count).then_some(count)
}

/// The least and the greatest number that an expression can be, as far as it is known.
fn range_of(
    builder: &FragmentBuilder<'_>,
    expr: &dyn PhysicalExpr,
    bounds: &dyn ColumnBounds,
) -> Option<(i64, i64)> {
    if number_of(builder, expr).ok()? == Number::Boolean {
        return Some((0, 1));
    }
    if let Some(column) = expr.downcast_ref::<Column>() {
        return bounds.range(column.index());
    }
    if let Some(literal) = expr.downcast_ref::<Literal>() {
        let number = i64::try_from(Number::of_literal(literal.value()).ok()??).ok()?;
        return Some((number, number));
    }
    if let Some(cast) = expr.downcast_ref::<CastExpr>() {
        let inner = number_of(builder, cast.expr().as_ref()).ok()?;
        let keeps = matches!(
            (inner, number_of(builder, expr).ok()?),
            (Number::Integer { .. } | Number::Boolean, Number::Integer { .. })
        );
        return keeps.then(|| range_of(builder, cast.expr().as_ref(), bounds))?;
    }
    if let Some(case) = expr.downcast_ref::<CaseExpr>() {
        let then = case.when_then_expr().iter().map(|(_, then)| then);
        let ranges: Option<Vec<(i64, i64)>> = then
            .chain(case.else_expr())
            .filter(|branch| !is_null(branch.as_ref()))
            .map(|branch| range_of(builder, branch.as_ref(), bounds))
            .collect();
        return ranges?.into_iter().reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
    }
    if let Some(binary) = expr.downcast_ref::<BinaryExpr>() {
        return range_of_binary(builder, binary, bounds);
    }
    let function = expr.downcast_ref::<ScalarFunctionExpr>()?;
    let ("date_part", [part, date]) = (function.name(), function.args()) else { return None };
    let part = part.downcast_ref::<Literal>()?.value().try_as_str()??.to_ascii_lowercase();
    match part.as_str() {
        "month" => Some((1, 12)),
        "day" => Some((1, 31)),
        "year" => {
            let (first, last) = range_of(builder, date.as_ref(), bounds)?;
            let per_day = number_of(builder, date.as_ref()).ok()?.per_day()?;
            let year = |number: i64| about_year_of(number.div_euclid(per_day));
            Some((year(first).checked_sub(1)?, year(last).checked_add(1)?))
        }
        _ => None,
    }
}

fn is_null(expr: &dyn PhysicalExpr) -> bool {
    expr.downcast_ref::<Literal>().is_some_and(|literal| literal.value().is_null())
}

fn range_of_binary(
    builder: &FragmentBuilder<'_>,
    expr: &BinaryExpr,
    bounds: &dyn ColumnBounds,
) -> Option<(i64, i64)> {
    // Of decimals the sides may have another scale than the result.
    if !matches!(number_of(builder, expr).ok()?, Number::Integer { .. }) {
        return None;
    }
    let range = |side: &Arc<dyn PhysicalExpr>| range_of(builder, side.as_ref(), bounds);
    match expr.op() {
        Operator::Plus => {
            let (a, b) = (range(expr.left())?, range(expr.right())?);
            Some((a.0.checked_add(b.0)?, a.1.checked_add(b.1)?))
        }
        Operator::Minus => {
            let (a, b) = (range(expr.left())?, range(expr.right())?);
            Some((a.0.checked_sub(b.1)?, a.1.checked_sub(b.0)?))
        }
        Operator::Modulo => {
            let (divisor, _) = range(expr.right())?;
            let most = divisor.checked_abs()?.checked_sub(1)?;
            // The sign is that of the dividend.
            match range(expr.left()) {
                Some((first, _)) if first >= 0 => Some((0, most)),
                _ => Some((-most, most)),
            }
        }
        Operator::Divide => {
            let (a, (divisor, last)) = (range(expr.left())?, range(expr.right())?);
            let quotients = [a.0.checked_div(divisor)?, a.1.checked_div(divisor)?];
            (divisor == last)
                .then(|| (quotients[0].min(quotients[1]), quotients[0].max(quotients[1])))
        }
        _ => None,
    }
}

/// The year of a day since 1970, give or take one.
fn about_year_of(day: i64) -> i64 {
    // 400 years have 146,097 days.
    1970 + day.saturating_mul(400).div_euclid(146_097)
}
