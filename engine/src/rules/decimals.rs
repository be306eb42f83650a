// SPDX-License-Identifier: Apache-2.0
//! Products with zero and remainders of one, of decimals.
//!
//! Where `d` is not NULL, DataFusion makes 0 of `d % 1`, which is right of integers alone, and of
//! `d * 0` the zero, with fewer digits than the product. There the constant is hidden, see
//! [`as_is`].

use datafusion::{
    common::{Result, tree_node::Transformed},
    logical_expr::{BinaryExpr, Expr, ExprSchemable, LogicalPlan, Operator},
    scalar::ScalarValue,
};

use super::{as_is, plans::map_expressions};

/// Hides them; `value_of` works a constant out.
pub(super) fn hide(
    plan: LogicalPlan,
    value_of: impl Fn(&Expr) -> Option<ScalarValue>,
) -> Result<Transformed<LogicalPlan>> {
    map_expressions(plan, may_be_one, |expr, schema| {
        let (true, Expr::BinaryExpr(BinaryExpr { left, op, right })) = (may_be_one(&expr), &expr)
        else {
            return Ok(Transformed::no(expr));
        };
        let is_decimal =
            left.get_type(schema)?.is_decimal() || right.get_type(schema)?.is_decimal();
        let is_hidden = |side: &Expr| {
            is_decimal && is_constant(side) && value_of(side).is_some_and(|it| is_taken(*op, &it))
        };
        let hidden =
            |side: &Expr, other: &Expr| Box::new(as_is::call_beside(side.clone(), other.clone()));
        let (left, right) = match (is_hidden(left), is_hidden(right)) {
            (_, true) => (left.clone(), hidden(right, left)),
            (true, _) if *op == Operator::Multiply => (hidden(left, right), right.clone()),
            _ => return Ok(Transformed::no(expr)),
        };
        Ok(Transformed::yes(Expr::BinaryExpr(BinaryExpr { left, op: *op, right })))
    })
}

fn may_be_one(expr: &Expr) -> bool {
    let Expr::BinaryExpr(BinaryExpr { left, op, right }) = expr else { return false };
    matches!(op, Operator::Multiply | Operator::Modulo) && is_constant(left) != is_constant(right)
}

fn is_constant(expr: &Expr) -> bool {
    expr.column_refs().is_empty() && !expr.contains_outer() && !expr.contains_scalar_subquery()
}

/// Whether DataFusion leaves out what is multiplied with this, or divided by it.
fn is_taken(op: Operator, value: &ScalarValue) -> bool {
    let taken = match op {
        Operator::Multiply => ScalarValue::new_zero(&value.data_type()),
        _ => ScalarValue::new_one(&value.data_type()),
    };
    taken.is_ok_and(|taken| *value == taken)
}
