// SPDX-License-Identifier: Apache-2.0
//! Bits of negative numbers.
//!
//! DataFusion takes `-x` for the complement of `x`: it makes 0 of `x & -x`, which is its last bit,
//! and `-x | -y` of `-(x & y)`. It does not see that in `0 - x`.

use datafusion::{
    common::{DFSchema, Result, tree_node::Transformed},
    logical_expr::{BinaryExpr, Expr, ExprSchemable, LogicalPlan, Operator},
    scalar::ScalarValue,
};

use super::plans::map_expressions;

/// A plan in which negative numbers whose bits are looked at are differences.
pub(super) fn of_differences(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    map_expressions(plan, looks_at_negative, |expr, schema| match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if looks_at_negative(&expr) => {
            let [left, right] = [left, right].map(|side| difference(side, schema));
            let both = BinaryExpr { left: left?, op, right: right? };
            Ok(Transformed::yes(Expr::BinaryExpr(both)))
        }
        Expr::Negative(_) if looks_at_negative(&expr) => {
            Ok(Transformed::yes(*difference(Box::new(expr), schema)?))
        }
        other => Ok(Transformed::no(other)),
    })
}

fn looks_at_negative(expr: &Expr) -> bool {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, right, .. }) => {
            is_bitwise(expr) && (is_negated(left) || is_negated(right))
        }
        Expr::Negative(number) => is_bitwise(number),
        _ => false,
    }
}

const fn is_bitwise(expr: &Expr) -> bool {
    use Operator::{BitwiseAnd, BitwiseOr, BitwiseXor};
    matches!(expr, Expr::BinaryExpr(BinaryExpr { op: BitwiseAnd | BitwiseOr | BitwiseXor, .. }))
}

const fn is_negated(expr: &Expr) -> bool {
    matches!(expr, Expr::Negative(_))
}

fn difference(expr: Box<Expr>, schema: &DFSchema) -> Result<Box<Expr>> {
    let Expr::Negative(number) = *expr else { return Ok(expr) };
    let zero = ScalarValue::new_zero(&number.get_type(schema)?)?;
    let zero = Box::new(Expr::Literal(zero, None));
    Ok(Box::new(Expr::BinaryExpr(BinaryExpr::new(zero, Operator::Minus, number))))
}
