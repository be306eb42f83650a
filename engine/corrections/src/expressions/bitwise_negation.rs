// SPDX-License-Identifier: Apache-2.0
//! Rewrites bitwise operators over negated numbers.
//!
//! DataFusion's simplifier takes `-x` for the complement of `x`: it folds `x & -x`, the lowest set
//! bit, to 0, and `-x | -y` to `-(x & y)`. It does not recognise the negation in `0 - x`.

use datafusion::{
    common::{DFSchema, Result, tree_node::Transformed},
    logical_expr::{BinaryExpr, Expr, ExprSchemable, Operator},
    scalar::ScalarValue,
};

use super::Context;

/// Writes a negation below a bitwise operator as a subtraction from zero.
pub(super) fn rewrite(expr: Expr, context: &Context<'_>) -> Result<Transformed<Expr>> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if is_suspect(&expr) => {
            let [left, right] = [left, right].map(|side| subtraction(side, context.schema));
            let both = BinaryExpr { left: left?, op, right: right? };
            Ok(Transformed::yes(Expr::BinaryExpr(both)))
        }
        Expr::Negative(_) if is_suspect(&expr) => {
            Ok(Transformed::yes(*subtraction(Box::new(expr), context.schema)?))
        }
        other => Ok(Transformed::no(other)),
    }
}

/// Whether an expression is a bitwise operator over a negation.
pub(super) fn is_suspect(expr: &Expr) -> bool {
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

/// Rewrites `-x` to `0 - x`; other expressions stay unchanged.
fn subtraction(expr: Box<Expr>, schema: &DFSchema) -> Result<Box<Expr>> {
    let Expr::Negative(number) = *expr else { return Ok(expr) };
    let zero = ScalarValue::new_zero(&number.get_type(schema)?)?;
    let zero = Box::new(Expr::Literal(zero, None));
    Ok(Box::new(Expr::BinaryExpr(BinaryExpr::new(zero, Operator::Minus, number))))
}
