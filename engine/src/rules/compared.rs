// SPDX-License-Identifier: Apache-2.0
//! Values that are compared with constants which they cannot be.
//!
//! DataFusion converts the constant instead of the value. Of milliseconds `ms` and
//! `ms = TIMESTAMP '2020-01-01 00:00:00.0005'` it makes `ms = '2020-01-01 00:00:00'`, which is
//! another condition. Of `extract(year FROM ts) < 2300` it makes that `ts` is less than the
//! beginning of the year, which is NULL where `ts` counts nanoseconds: these end in 2262.
//!
//! There the value is hidden, see [`as_is`]. With other constants row groups are still ruled out.

use datafusion::{
    arrow::datatypes::{DataType, TimeUnit},
    common::{DFSchema, Result, tree_node::Transformed},
    logical_expr::{
        Between, BinaryExpr, Cast, Expr, ExprSchemable, LogicalPlan, TryCast,
        expr::{InList, ScalarFunction},
    },
    scalar::ScalarValue,
};

use super::{
    as_is, casts,
    plans::{is_comparison, map_expressions},
};

/// Years all of whose moments are numbers of nanoseconds.
const YEARS_OF_NANOSECONDS: std::ops::RangeInclusive<i64> = 1678..=2261;

/// Hides them. `worked_out` is the value of an expression without columns.
pub(super) fn hide(
    plan: LogicalPlan,
    worked_out: impl Fn(&Expr) -> Option<ScalarValue>,
) -> Result<Transformed<LogicalPlan>> {
    map_expressions(plan, is_converted, |expr, schema| {
        let hidden = |value: Box<Expr>, constants: &[&Expr]| -> Result<Transformed<Box<Expr>>> {
            let cannot_be = cannot_be(&value, constants, schema, &worked_out)?;
            Ok(match cannot_be {
                true => Transformed::yes(Box::new(as_is::call(*value))),
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
    })
}

/// Whether it is one of the expressions for which constants are converted.
fn is_converted(expr: &Expr) -> bool {
    match expr {
        Expr::Cast(Cast { field, .. }) | Expr::TryCast(TryCast { field, .. }) => {
            matches!(field.data_type(), DataType::Timestamp(..))
        }
        other => year_of(other).is_some(),
    }
}

/// Whether one of the constants is none of the values.
fn cannot_be(
    value: &Expr,
    constants: &[&Expr],
    schema: &DFSchema,
    worked_out: &impl Fn(&Expr) -> Option<ScalarValue>,
) -> Result<bool> {
    let has_other = |is_one: &dyn Fn(&ScalarValue) -> Option<bool>| {
        let mut constants = constants.iter().filter(|it| !it.any_column_refs());
        constants
            .any(|it| !worked_out(it).is_some_and(|it| it.is_null() || is_one(&it) == Some(true)))
    };
    if let Some(moment) = year_of(value) {
        let counts_nanoseconds =
            matches!(moment.get_type(schema)?, DataType::Timestamp(TimeUnit::Nanosecond, _));
        return Ok(counts_nanoseconds && has_other(&is_year_of_nanoseconds));
    }
    let (Expr::Cast(Cast { expr, field }) | Expr::TryCast(TryCast { expr, field })) = value else {
        return Ok(false);
    };
    let from = expr.get_type(schema)?;
    let is_finer = casts::is_finer(&from, field.data_type());
    Ok(is_finer && has_other(&|constant| is_one_of(constant, &from)))
}

/// The moment of which it is the year.
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

/// Whether a constant is one of the values of a type.
fn is_one_of(constant: &ScalarValue, of: &DataType) -> Option<bool> {
    let value = constant.cast_to(of).ok()?;
    Some(value.cast_to(&constant.data_type()).ok()? == *constant)
}
