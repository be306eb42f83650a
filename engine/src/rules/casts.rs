// SPDX-License-Identifier: Apache-2.0
//! Casts that do not keep the order of values, or not all of their digits.
//!
//! DataFusion takes the bounds of `CAST(x AS t)` to be those of `x`, cast: where a scan's `x` is
//! between `'1'` and `'2'`, `max(CAST(x AS INT))` was 2 though there is a `'100'`. It rules row
//! groups out by such bounds (`CAST(ts AS TIME) = ..`), and takes rows in the order of a timestamp
//! to be in that of its time of day. That is right for casts from numbers to numbers, and the like;
//! others are hidden when the physical plan is made, see [`as_is`].
//!
//! And it compares what was cast as if nothing had been lost: of `CAST(d AS DECIMAL(9, 1)) = 1.2`
//! it makes `d = 1.20`, also where `d` is 1.24; of `TRY_CAST(i AS TINYINT) < 5` it makes `i < 5`,
//! which is true of -1000 and not unknown; and noon is noon for it, whether here or in Paris. Casts
//! that lose digits or values, or change the time zone, are hidden before, too.

use datafusion::{
    arrow::datatypes::DataType,
    common::{Result, tree_node::Transformed},
    logical_expr::{Cast, Expr, ExprSchemable, LogicalPlan, TryCast},
};

use super::{as_is, intervals, plans::map_expressions};

/// Hides casts from what makes the physical plan.
pub(super) fn hide(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    if !concludes_from_casts(&plan) {
        return Ok(Transformed::no(plan));
    }
    // A filter above may come to where it is computed, with a constant between two of its values.
    let is_projection = matches!(plan, LogicalPlan::Projection(_));
    hide_those(plan, |cast, from, to| {
        is_lossy(cast, from, to) || !keeps_order(from, to) || is_projection && is_finer(from, to)
    })
}

/// Hides casts that lose something from what makes other comparisons of those with them.
pub(super) fn hide_losses(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    hide_those(plan, is_lossy)
}

/// Whether a constant that the result is compared with cannot be cast back instead.
fn is_lossy(cast: &Expr, from: &DataType, to: &DataType) -> bool {
    let may_fail = matches!(cast, Expr::TryCast(_)) && !intervals::keeps_values(from, to);
    may_fail || loses_digits(from, to) || changes_zone(from, to)
}

fn hide_those(
    plan: LogicalPlan,
    is_hidden: impl Fn(&Expr, &DataType, &DataType) -> bool,
) -> Result<Transformed<LogicalPlan>> {
    let is_cast = |expr: &Expr| matches!(expr, Expr::Cast(_) | Expr::TryCast(_));
    map_expressions(plan, is_cast, |expr, schema| {
        let (Expr::Cast(Cast { expr: inner, field })
        | Expr::TryCast(TryCast { expr: inner, field })) = &expr
        else {
            return Ok(Transformed::no(expr));
        };
        Ok(match is_hidden(&expr, &inner.get_type(schema)?, field.data_type()) {
            true => Transformed::yes(as_is::call(expr)),
            false => Transformed::no(expr),
        })
    })
}

/// Whether bounds or orders of an operator's expressions are made use of.
const fn concludes_from_casts(plan: &LogicalPlan) -> bool {
    matches!(
        plan,
        LogicalPlan::Projection(_)
            | LogicalPlan::Filter(_)
            | LogicalPlan::Aggregate(_)
            | LogicalPlan::Sort(_)
            | LogicalPlan::Window(_)
    )
}

/// Whether of two values the one that is not less is not less when both are cast.
fn keeps_order(from: &DataType, to: &DataType) -> bool {
    use DataType::{Boolean, Date32, Date64, Duration, Null, Timestamp};
    let (from, to) = (of_codes(from), of_codes(to));
    // Nothing has bounds of these.
    if from.is_nested() || to.is_nested() {
        return true;
    }
    match (from, to) {
        (Null, _) | (Duration(_), Duration(_)) => true,
        (Timestamp(_, one), Timestamp(_, other)) if one.is_some() == other.is_some() => true,
        (Timestamp(_, None) | Date32 | Date64, Timestamp(_, Some(zone)))
        | (Timestamp(_, Some(zone)), Timestamp(_, None) | Date32 | Date64) => is_steady(zone),
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

/// Whether a cast leaves out digits behind the point, or of a second.
fn loses_digits(from: &DataType, to: &DataType) -> bool {
    use DataType::{Time32, Time64, Timestamp};
    match (of_codes(from), of_codes(to)) {
        (Timestamp(from, _), Timestamp(to, _))
        | (Time32(from) | Time64(from), Time32(to) | Time64(to)) => from > to,
        (from, to) => match (scale(from), scale(to)) {
            (Some(from), Some(to)) => from > to,
            (Some(from), None) => from > 0 && to.is_integer(),
            _ => false,
        },
    }
}

/// Whether a moment is counted in a finer unit.
pub(super) fn is_finer(from: &DataType, to: &DataType) -> bool {
    use DataType::Timestamp;
    matches!((from, to), (Timestamp(coarse, _), Timestamp(fine, _)) if coarse < fine)
}

/// Whether the same number means another time.
fn changes_zone(from: &DataType, to: &DataType) -> bool {
    match (of_codes(from), of_codes(to)) {
        (DataType::Timestamp(_, None), DataType::Timestamp(_, Some(zone)))
        | (DataType::Timestamp(_, Some(zone)), DataType::Timestamp(_, None)) => !is_utc(zone),
        _ => false,
    }
}

/// Digits behind the point of a decimal.
const fn scale(data_type: &DataType) -> Option<i8> {
    use DataType::{Decimal32, Decimal64, Decimal128, Decimal256};
    match data_type {
        Decimal32(_, scale) | Decimal64(_, scale) | Decimal128(_, scale) | Decimal256(_, scale) => {
            Some(*scale)
        }
        _ => None,
    }
}

/// The type of the values that a dictionary has, or the type.
fn of_codes(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Dictionary(_, values) => values,
        other => other,
    }
}

/// Whether a time zone is always as far from UTC. Others go back an hour every year.
fn is_steady(zone: &str) -> bool {
    zone.starts_with(['+', '-']) || is_utc(zone)
}

fn is_utc(zone: &str) -> bool {
    ["UTC", "Z", "Etc/UTC", "GMT", "+00:00", "+00"].contains(&zone)
}

/// Whether values are numbers of days, seconds or the like.
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

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::datatypes::{DataType::*, TimeUnit::*};
    use rstest::rstest;

    fn codes(of: DataType) -> DataType {
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
    #[case(codes(Utf8), Utf8View, true)]
    #[case(Int32, codes(Int64), true)]
    #[case(codes(Utf8), codes(Int64), false)]
    #[case(codes(Utf8), Int64, false)]
    #[case(Int32, codes(Utf8), false)]
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
    fn order(#[case] from: DataType, #[case] to: DataType, #[case] expected: bool) {
        assert_eq!(keeps_order(&from, &to), expected);
    }
}
