// SPDX-License-Identifier: Apache-2.0
//! Protects comparisons with constants that the type of the column cannot represent.
//!
//! DataFusion casts the constant instead of the column. With milliseconds `ms` it rewrites
//! `ms = TIMESTAMP '2020-01-01 00:00:00.0005'` to `ms = '2020-01-01 00:00:00'`, which is another
//! condition. It rewrites `extract(year FROM ts) < 2300` to a comparison of `ts` with the beginning
//! of that year, which is NULL if `ts` counts nanoseconds: these end in 2262.
//!
//! Such a column is hidden behind a barrier. Comparisons with other constants still prune row
//! groups.

use datafusion::{
    arrow::datatypes::{DataType, TimeUnit},
    common::{Result, tree_node::Transformed},
    logical_expr::{
        Between, BinaryExpr, Cast, Expr, ExprSchemable, TryCast,
        expr::{InList, ScalarFunction},
    },
    scalar::ScalarValue,
};

use super::{Context, casts};
use crate::{barrier, walk::is_comparison};

/// Years all of whose moments are representable in nanoseconds.
const YEARS_OF_NANOSECONDS: std::ops::RangeInclusive<i64> = 1678..=2261;

/// Hides the column of such a comparison.
pub(super) fn protect(expr: Expr, context: &Context<'_>) -> Result<Transformed<Expr>> {
    let hidden = |value: Box<Expr>, constants: &[&Expr]| -> Result<Transformed<Box<Expr>>> {
        Ok(match is_suspect(&value) && lacks_one(&value, constants, context)? {
            true => Transformed::yes(Box::new(barrier::transient(*value))),
            false => Transformed::no(value),
        })
    };
    Ok(match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if is_comparison(op) => {
            let right_of = right.clone();
            let right = hidden(right, &[&left])?;
            let left = hidden(left, &[&right_of])?;
            let is_changed = left.transformed || right.transformed;
            let both = BinaryExpr::new(left.data, op, right.data);
            Transformed::new_transformed(Expr::BinaryExpr(both), is_changed)
        }
        Expr::Between(Between { expr, negated, low, high }) => {
            let expr = hidden(expr, &[&low, &high])?;
            expr.update_data(|expr| Expr::Between(Between { expr, negated, low, high }))
        }
        Expr::InList(InList { expr, list, negated }) => {
            let expr = hidden(expr, &list.iter().collect::<Vec<_>>())?;
            expr.update_data(|expr| Expr::InList(InList { expr, list, negated }))
        }
        other => Transformed::no(other),
    })
}

/// Whether an expression is a comparison of which DataFusion casts constants.
pub(super) fn is_suspect(expr: &Expr) -> bool {
    let is_to_timestamp = match expr {
        Expr::Cast(Cast { field, .. }) | Expr::TryCast(TryCast { field, .. }) => {
            matches!(field.data_type(), DataType::Timestamp(..))
        }
        _ => false,
    };
    is_to_timestamp || year_of(expr).is_some()
}

/// Whether the column's type cannot represent one of the constants.
fn lacks_one(value: &Expr, constants: &[&Expr], context: &Context<'_>) -> Result<bool> {
    let lacks = |is_value: &dyn Fn(&ScalarValue) -> Option<bool>| {
        let mut constants = constants.iter().filter(|constant| !constant.any_column_refs());
        constants.any(|constant| {
            let value = (context.evaluate)(constant);
            !value.is_some_and(|value| value.is_null() || is_value(&value) == Some(true))
        })
    };
    if let Some(moment) = year_of(value) {
        let counts_nanoseconds = matches!(
            moment.get_type(context.schema)?,
            DataType::Timestamp(TimeUnit::Nanosecond, _)
        );
        return Ok(counts_nanoseconds && lacks(&is_year_of_nanoseconds));
    }
    let (Expr::Cast(Cast { expr, field }) | Expr::TryCast(TryCast { expr, field })) = value else {
        return Ok(false);
    };
    let from = expr.get_type(context.schema)?;
    let is_finer = casts::is_finer(&from, field.data_type());
    Ok(is_finer && lacks(&|constant| is_one_of(constant, &from)))
}

/// Returns the timestamp of which an expression is the year.
fn year_of(expr: &Expr) -> Option<&Expr> {
    match expr {
        Expr::Cast(Cast { expr, .. }) | Expr::TryCast(TryCast { expr, .. }) => year_of(expr),
        Expr::ScalarFunction(ScalarFunction { func, args }) if func.name() == "date_part" => {
            let [part, moment] = args.as_slice() else { return None };
            let part = part.as_literal()?.try_as_str()??;
            part.eq_ignore_ascii_case("year").then_some(moment)
        }
        _ => None,
    }
}

fn is_year_of_nanoseconds(year: &ScalarValue) -> Option<bool> {
    match year.cast_to(&DataType::Int64) {
        Ok(ScalarValue::Int64(Some(year))) => Some(YEARS_OF_NANOSECONDS.contains(&year)),
        _ => None,
    }
}

/// Whether a type can represent a constant.
fn is_one_of(constant: &ScalarValue, of: &DataType) -> Option<bool> {
    let value = constant.cast_to(of).ok()?;
    Some(value.cast_to(&constant.data_type()).ok()? == *constant)
}
