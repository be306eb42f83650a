// SPDX-License-Identifier: Apache-2.0
//! Protects casts that lose digits or values, or do not preserve the order.
//!
//! DataFusion *unwraps* a cast from a comparison as if the cast lost nothing: it rewrites
//! `CAST(d AS DECIMAL(9, 1)) = 1.2` to `d = 1.20`, also where `d` is 1.24, and
//! `TRY_CAST(i AS TINYINT) < 5` to `i < 5`, which is true of -1000 and not unknown. It also ignores
//! a change of the time zone. Casts that lose digits or values, or change the time zone, are hidden
//! from the simplifier.
//!
//! Physical planning propagates bounds and orders through casts: if a scan's `x` is between `'1'`
//! and `'2'`, `max(CAST(x AS INT))` was 2 although there is a `'100'`. It prunes row groups by such
//! bounds (`CAST(ts AS TIME) = ..`), and assumes that rows in the order of a timestamp are in the
//! order of its time of day. That is sound for casts that preserve the order, such as those between
//! numbers; other casts are hidden from physical planning as well.

use datafusion::{
    arrow::datatypes::DataType,
    common::{
        DFSchema, Result,
        tree_node::{Transformed, TreeNode},
    },
    logical_expr::{Cast, Expr, ExprSchemable, LogicalPlan, TryCast},
};

use super::Context;
use crate::{
    barrier,
    walk::{has_expression, map_whole_expressions},
};

/// Hides a lossy cast.
pub(super) fn protect(expr: Expr, context: &Context<'_>) -> Result<Transformed<Expr>> {
    let Some((from, to)) = cast(&expr) else { return Ok(Transformed::no(expr)) };
    Ok(match is_suspect(&expr) && is_lossy(&expr, &from.get_type(context.schema)?, to) {
        true => Transformed::yes(barrier::transient(expr)),
        false => Transformed::no(expr),
    })
}

/// Whether an expression is a cast that may be lossy, without knowledge of the type that it casts
/// from. Casts of constants are folded, so they need no protection.
pub(super) fn is_suspect(expr: &Expr) -> bool {
    let Some((from, to)) = cast(expr) else { return false };
    from.as_literal().is_none() && (matches!(expr, Expr::TryCast(_)) || has_digits_or_zone(to))
}

/// Whether a cast to this type may lose digits or a time zone.
fn has_digits_or_zone(to: &DataType) -> bool {
    use DataType::{Time32, Time64, Timestamp};
    let to = value_type(to);
    matches!(to, Timestamp(..) | Time32(_) | Time64(_)) || to.is_decimal() || to.is_integer()
}

/// Whether physical planning would unsoundly propagate bounds or orders through a part of an
/// operator's expressions.
pub(super) fn is_suspect_in_planning(plan: &LogicalPlan, part: &Expr) -> bool {
    if !has_bounds_or_order(plan) || cast(part).is_none() {
        return false;
    }
    match plan.inputs().as_slice() {
        [input] => {
            let is_projection = matches!(plan, LogicalPlan::Projection(_));
            is_misread(part, is_projection, input.schema()).unwrap_or(true)
        }
        _ => true,
    }
}

/// Hides casts that are lossy, or do not preserve the order, from physical planning.
pub(super) fn hide_from_planning(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    if !has_expression(&plan, |part| is_suspect_in_planning(&plan, part))? {
        return Ok(Transformed::no(plan));
    }
    let is_projection = matches!(plan, LogicalPlan::Projection(_));
    map_whole_expressions(
        plan,
        |part| cast(part).is_some(),
        |expr, schema| {
            expr.transform_up(|part| {
                Ok(match is_misread(&part, is_projection, schema)? {
                    true => Transformed::yes(barrier::transient(part)),
                    false => Transformed::no(part),
                })
            })
        },
    )
}

/// Whether an expression is a cast that is lossy, or does not preserve the order.
fn is_misread(expr: &Expr, is_projection: bool, schema: &DFSchema) -> Result<bool> {
    let Some((from, to)) = cast(expr) else { return Ok(false) };
    let from = from.get_type(schema)?;
    // A filter above may be pushed below the projection, with a constant between two values of the
    // cast.
    Ok(is_lossy(expr, &from, to) || !keeps_order(&from, to) || is_projection && is_finer(&from, to))
}

/// Returns the argument and the type of a cast.
fn cast(expr: &Expr) -> Option<(&Expr, &DataType)> {
    match expr {
        Expr::Cast(Cast { expr, field }) | Expr::TryCast(TryCast { expr, field }) => {
            Some((expr, field.data_type()))
        }
        _ => None,
    }
}

/// Whether it is unsound to cast a constant of a comparison back instead of the column.
fn is_lossy(cast: &Expr, from: &DataType, to: &DataType) -> bool {
    let may_fail = matches!(cast, Expr::TryCast(_)) && !keeps_values(from, to);
    may_fail || loses_digits(from, to) || changes_zone(from, to)
}

/// Whether physical planning uses bounds or orders of an operator's expressions.
const fn has_bounds_or_order(plan: &LogicalPlan) -> bool {
    matches!(
        plan,
        LogicalPlan::Projection(_)
            | LogicalPlan::Filter(_)
            | LogicalPlan::Aggregate(_)
            | LogicalPlan::Sort(_)
            | LogicalPlan::Window(_)
    )
}

/// Whether a cast is monotonic: of two values, the result of the greater one is not less.
fn keeps_order(from: &DataType, to: &DataType) -> bool {
    use DataType::{Boolean, Date32, Date64, Duration, Null, Timestamp};
    let (from, to) = (value_type(from), value_type(to));
    // Nested values have no bounds.
    if from.is_nested() || to.is_nested() {
        return true;
    }
    match (from, to) {
        (Null, _) | (Duration(_), Duration(_)) => true,
        (Timestamp(_, one), Timestamp(_, other)) if one.is_some() == other.is_some() => true,
        (Timestamp(_, None) | Date32 | Date64, Timestamp(_, Some(zone)))
        | (Timestamp(_, Some(zone)), Timestamp(_, None) | Date32 | Date64) => has_one_offset(zone),
        (Timestamp(..) | Date32 | Date64, Timestamp(..) | Date32 | Date64) => true,
        (Boolean, _) => to == from || to.is_numeric(),
        _ => {
            from == to
                || from.is_numeric() && (to.is_numeric() || counts(to) && from.is_integer())
                || counts(from) && to.is_integer()
                || is_text_or_bytes(from) && is_text_or_bytes(to)
                || is_time(from) && is_time(to)
        }
    }
}

/// Whether a cast drops decimal digits, or fractions of a second.
fn loses_digits(from: &DataType, to: &DataType) -> bool {
    use DataType::{Time32, Time64, Timestamp};
    match (value_type(from), value_type(to)) {
        (Timestamp(from, _), Timestamp(to, _))
        | (Time32(from) | Time64(from), Time32(to) | Time64(to)) => from > to,
        (from, to) => match (scale(from), scale(to)) {
            (Some(from), Some(to)) => from > to,
            (Some(from), None) => from > 0 && to.is_integer(),
            _ => false,
        },
    }
}

/// Whether a cast is to a timestamp of a finer unit.
pub(super) fn is_finer(from: &DataType, to: &DataType) -> bool {
    use DataType::Timestamp;
    matches!((from, to), (Timestamp(coarse, _), Timestamp(fine, _)) if coarse < fine)
}

/// Whether a cast changes the moment that a number represents.
fn changes_zone(from: &DataType, to: &DataType) -> bool {
    match (value_type(from), value_type(to)) {
        (DataType::Timestamp(_, None), DataType::Timestamp(_, Some(zone)))
        | (DataType::Timestamp(_, Some(zone)), DataType::Timestamp(_, None)) => !is_utc(zone),
        _ => false,
    }
}

/// Returns the scale of a decimal type.
const fn scale(data_type: &DataType) -> Option<i8> {
    use DataType::{Decimal32, Decimal64, Decimal128, Decimal256};
    match data_type {
        Decimal32(_, scale) | Decimal64(_, scale) | Decimal128(_, scale) | Decimal256(_, scale) => {
            Some(*scale)
        }
        _ => None,
    }
}

/// The type of the values of a dictionary, or the type itself.
fn value_type(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Dictionary(_, values) => values,
        other => other,
    }
}

/// Whether a time zone has a fixed offset from UTC. Others go back an hour every year.
fn has_one_offset(zone: &str) -> bool {
    zone.starts_with(['+', '-']) || is_utc(zone)
}

fn is_utc(zone: &str) -> bool {
    ["UTC", "Z", "Etc/UTC", "GMT", "+00:00", "+00"].contains(&zone)
}

/// Whether values are counts of days, seconds or the like.
const fn counts(data_type: &DataType) -> bool {
    use DataType::{Date32, Date64, Duration, Time32, Time64, Timestamp};
    matches!(data_type, Date32 | Date64 | Timestamp(..) | Time32(_) | Time64(_) | Duration(_))
}

const fn is_time(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Time32(_) | DataType::Time64(_))
}

fn is_text_or_bytes(data_type: &DataType) -> bool {
    data_type.is_string() || data_type.is_binary()
}

/// Whether a cast is known to be injective: different values stay different. Other casts may be
/// injective as well.
pub(crate) fn keeps_values(from: &DataType, to: &DataType) -> bool {
    if from == to {
        return true;
    }
    match (from, to) {
        (DataType::Float32, DataType::Float64)
        | (DataType::Date32, DataType::Date64 | DataType::Timestamp(_, None)) => true,
        (DataType::Timestamp(coarse, one_zone), DataType::Timestamp(fine, other_zone)) => {
            coarse <= fine && one_zone == other_zone
        }
        _ => match (integer_bits(from), to) {
            (Some((bits, _)), DataType::Float32) => bits <= 16,
            (Some((bits, _)), DataType::Float64) => bits <= 32,
            (Some((bits, signed)), _) => integer_bits(to)
                .is_some_and(|(to_bits, to_signed)| to_bits > bits && (to_signed || !signed)),
            (None, _) => false,
        },
    }
}

/// Returns the width of an integer type in bits, and whether it is signed.
fn integer_bits(of: &DataType) -> Option<(usize, bool)> {
    let bits = of.is_integer().then(|| of.primitive_width())??;
    Some((bits * 8, of.is_signed_integer()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::datatypes::{DataType::*, TimeUnit::*};
    use rstest::rstest;

    fn dictionary(of: DataType) -> DataType {
        Dictionary(Box::new(Int32), Box::new(of))
    }

    #[rstest]
    #[case(Int64, Int8, true)]
    #[case(Float64, Decimal128(9, 2), true)]
    #[case(Boolean, Int32, true)]
    #[case(Int32, Boolean, false)]
    #[case(Utf8, Int32, false)]
    #[case(Int32, Utf8View, false)]
    #[case(Date32, Utf8, false)]
    #[case(Boolean, Utf8, false)]
    #[case(Utf8, Utf8View, true)]
    #[case(Utf8, Binary, true)]
    #[case(dictionary(Utf8), Utf8View, true)]
    #[case(Int32, dictionary(Int64), true)]
    #[case(dictionary(Utf8), dictionary(Int64), false)]
    #[case(dictionary(Utf8), Int64, false)]
    #[case(Int32, dictionary(Utf8), false)]
    #[case(Timestamp(Second, None), Date32, true)]
    #[case(Date32, Timestamp(Second, None), true)]
    #[case(Timestamp(Second, None), Time64(Nanosecond), false)]
    #[case(Time32(Second), Time64(Nanosecond), true)]
    #[case(Timestamp(Second, None), Int64, true)]
    #[case(Int64, Timestamp(Second, None), true)]
    #[case(Float64, Timestamp(Second, None), false)]
    #[case(Timestamp(Second, Some("Europe/Paris".into())), Date32, false)]
    #[case(Timestamp(Second, None), Timestamp(Second, Some("Europe/Paris".into())), false)]
    #[case(Timestamp(Second, Some("+01:00".into())), Date32, true)]
    #[case(
        Timestamp(Second, Some("UTC".into())),
        Timestamp(Second, Some("Europe/Paris".into())),
        true
    )]
    fn known_casts_are_monotonic(
        #[case] from: DataType,
        #[case] to: DataType,
        #[case] expected: bool,
    ) {
        assert_eq!(keeps_order(&from, &to), expected);
    }

    #[rstest]
    #[case(Int32, Int64)]
    #[case(UInt32, Int64)]
    #[case(UInt8, UInt16)]
    #[case(Int32, Float64)]
    #[case(Int16, Float32)]
    #[case(Float32, Float64)]
    #[case(Date32, Timestamp(Second, None))]
    #[case(Timestamp(Second, None), Timestamp(Nanosecond, None))]
    fn widening_casts_are_injective(#[case] from: DataType, #[case] to: DataType) {
        assert!(keeps_values(&from, &to));
        assert!(!keeps_values(&to, &from));
    }

    #[rstest]
    #[case(Int64, Float64)]
    #[case(Int32, Float32)]
    #[case(Int32, UInt32)]
    #[case(Int32, UInt64)]
    #[case(Timestamp(Second, None), Date32)]
    #[case(Timestamp(Second, None), Timestamp(Second, Some("UTC".into())))]
    fn other_casts_are_not_known_to_be_injective(#[case] from: DataType, #[case] to: DataType) {
        assert!(!keeps_values(&from, &to));
    }
}
