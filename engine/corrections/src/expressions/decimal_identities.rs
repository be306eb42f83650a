// SPDX-License-Identifier: Apache-2.0
//! Protects products of decimals with zero, and remainders by one.
//!
//! For a `d` that is not NULL, DataFusion folds `d % 1` to 0, which is right for integers only, and
//! `d * 0` to the zero in it, which has a smaller scale than the product.

use datafusion::{
    common::{Result, tree_node::Transformed},
    logical_expr::{BinaryExpr, Expr, ExprSchemable, Operator},
    scalar::ScalarValue,
};

use super::Context;
use crate::barrier;

/// Hides the constant of such a product or remainder.
pub(super) fn protect(expr: Expr, context: &Context<'_>) -> Result<Transformed<Expr>> {
    let (true, Expr::BinaryExpr(BinaryExpr { left, op, right })) = (is_suspect(&expr), &expr)
    else {
        return Ok(Transformed::no(expr));
    };
    let schema = context.schema;
    let is_decimal = left.get_type(schema)?.is_decimal() || right.get_type(schema)?.is_decimal();
    let is_hidden = |side: &Expr| {
        is_decimal
            && is_constant(side)
            && (context.evaluate)(side).is_some_and(|value| is_identity(*op, &value))
    };
    let hidden = |side: &Expr, other: &Expr| {
        Box::new(barrier::transient_beside(side.clone(), other.clone()))
    };
    let (left, right) = match (is_hidden(left), is_hidden(right)) {
        (_, true) => (left.clone(), hidden(right, left)),
        (true, _) if *op == Operator::Multiply => (hidden(left, right), right.clone()),
        _ => return Ok(Transformed::no(expr)),
    };
    Ok(Transformed::yes(Expr::BinaryExpr(BinaryExpr { left, op: *op, right })))
}

/// Whether an expression is a product or a remainder with a constant.
pub(super) fn is_suspect(expr: &Expr) -> bool {
    let Expr::BinaryExpr(BinaryExpr { left, op, right }) = expr else { return false };
    matches!(op, Operator::Multiply | Operator::Modulo) && is_constant(left) != is_constant(right)
}

fn is_constant(expr: &Expr) -> bool {
    !expr.any_column_refs() && !expr.contains_outer() && !expr.contains_scalar_subquery()
}

/// Whether DataFusion folds a product with this value, or a remainder by it.
fn is_identity(op: Operator, value: &ScalarValue) -> bool {
    let taken = match op {
        Operator::Multiply => ScalarValue::new_zero(&value.data_type()),
        _ => ScalarValue::new_one(&value.data_type()),
    };
    taken.is_ok_and(|taken| *value == taken)
}
