// SPDX-License-Identifier: Apache-2.0
//! Conditions of which DataFusion concludes too much.
//!
//! What a filter keeps of each column DataFusion works out with intervals, and a column of which
//! one value is left is a constant for what stands above: sorts and keys go without it. For columns
//! and constants in comparisons that is right. It is not where an expression gives one value for
//! several of a column (`id / 2 = 10`, `CAST(ts AS DATE) = d`), where sums wrap, and where truth
//! values are compared; and for `-x` of the least number, or a difference of dates, the query is
//! refused.
//!
//! All but columns and constants is hidden there: it is cast to the type that it has already, by
//! `TRY_CAST`, through which intervals do not see. That costs nothing, row groups are still ruled
//! out through it, and [`nearscan_optimizer`] looks past it. What a condition then leaves of the
//! rows is estimated without intervals.

use std::sync::Arc;

use datafusion::{
    arrow::datatypes::{DataType, Field},
    common::{DFSchema, Result, tree_node::Transformed},
    execution::context::ExecutionProps,
    logical_expr::{
        BinaryExpr, Cast, Expr, ExprSchemable, Filter, LogicalPlan, Operator, TryCast,
        physical_planning_context::PhysicalPlanningContext,
        utils::{conjunction, split_conjunction_owned},
    },
    physical_expr::{create_physical_expr, intervals::utils::check_support},
};

/// Hides what the condition of a filter has besides columns and constants.
pub(super) fn hide(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    match plan {
        LogicalPlan::Filter(filter) if has_intervals(&filter) => {
            let Filter { predicate, input, .. } = filter;
            let terms = split_conjunction_owned(predicate.clone()).into_iter();
            let terms = terms.map(|term| hidden_in(term, input.schema()));
            let terms = terms.collect::<Result<Vec<Expr>>>()?;
            let predicate = conjunction(terms).unwrap_or(predicate);
            Ok(Transformed::yes(LogicalPlan::Filter(Filter::try_new(predicate, input)?)))
        }
        other => Ok(Transformed::no(other)),
    }
}

/// Whether DataFusion works out intervals for a filter.
fn has_intervals(Filter { predicate, input, .. }: &Filter) -> bool {
    let schema = input.schema();
    let (now, context) = (ExecutionProps::new(), PhysicalPlanningContext::default());
    // What needs more to be made, such as a subquery, has none.
    create_physical_expr(predicate, schema, &now, &context)
        .is_ok_and(|predicate| check_support(&predicate, schema.inner()))
}

/// One of the conditions that must all be true.
fn hidden_in(term: Expr, schema: &DFSchema) -> Result<Expr> {
    match term {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if is_comparison(op) => {
            let [left, right] = [left, right].map(|side| hidden(*side, schema));
            let both = BinaryExpr::new(Box::new(left?), op, Box::new(right?));
            Ok(Expr::BinaryExpr(both))
        }
        other => hidden(other, schema),
    }
}

const fn is_comparison(operator: Operator) -> bool {
    matches!(operator, Operator::Eq | Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq)
}

fn hidden(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    if is_plain(&expr, schema)? {
        return Ok(expr);
    }
    // A cast to a field with a name is not left out.
    let same = Field::new("same", expr.get_type(schema)?, true);
    Ok(Expr::TryCast(TryCast::new_from_field(Box::new(expr), Arc::new(same))))
}

/// Whether it is a constant, or a column in a type that has all its values.
fn is_plain(expr: &Expr, schema: &DFSchema) -> Result<bool> {
    Ok(match expr {
        Expr::Column(_) | Expr::Literal(..) => true,
        Expr::Cast(Cast { expr, field }) => {
            is_plain(expr, schema)? && keeps_values(&expr.get_type(schema)?, field.data_type())
        }
        _ => false,
    })
}

/// Whether a cast gives different values for different values, as far as this is needed: casts
/// that it does not know may be one to one as well.
pub(super) fn keeps_values(from: &DataType, to: &DataType) -> bool {
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

/// The width of an integer and whether it has a sign.
fn integer_bits(of: &DataType) -> Option<(usize, bool)> {
    let bits = of.is_integer().then(|| of.primitive_width())??;
    Some((bits * 8, of.is_signed_integer()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::datatypes::{DataType::*, TimeUnit};
    use rstest::rstest;

    #[rstest]
    #[case(Int32, Int64)]
    #[case(UInt32, Int64)]
    #[case(UInt8, UInt16)]
    #[case(Int32, Float64)]
    #[case(Int16, Float32)]
    #[case(Float32, Float64)]
    #[case(Date32, Timestamp(TimeUnit::Second, None))]
    #[case(Timestamp(TimeUnit::Second, None), Timestamp(TimeUnit::Nanosecond, None))]
    fn widening_casts_keep_values(#[case] from: DataType, #[case] to: DataType) {
        assert!(keeps_values(&from, &to));
        assert!(!keeps_values(&to, &from));
    }

    #[rstest]
    #[case(Int64, Float64)]
    #[case(Int32, Float32)]
    #[case(Int32, UInt32)]
    #[case(Int32, UInt64)]
    #[case(Timestamp(TimeUnit::Second, None), Date32)]
    #[case(Timestamp(TimeUnit::Second, None), Timestamp(TimeUnit::Second, Some("UTC".into())))]
    fn other_casts_may_not(#[case] from: DataType, #[case] to: DataType) {
        assert!(!keeps_values(&from, &to));
    }
}
