// SPDX-License-Identifier: Apache-2.0
//! `x = ANY(array)`.
//!
//! It is unknown where no value of the array is `x` and one is NULL, or `x` is. The planner makes
//! `array_has` of it, which is false there. So it is written as a list, or with CASE where the
//! values are not known.

use std::{convert::Infallible, ops::ControlFlow};

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, CaseWhen, Expr, Value, VisitMut, VisitorMut,
    helpers::attached_token::AttachedToken,
};

use super::call;

/// Writes all of them so.
pub(super) fn write_out(syntax: &mut impl VisitMut) {
    let _ = syntax.visit(&mut Comparisons);
}

struct Comparisons;

impl VisitorMut for Comparisons {
    type Break = Infallible;

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        if let Expr::AnyOp { left, compare_op: BinaryOperator::Eq, right, .. } = expr {
            match right.as_ref() {
                Expr::Subquery(_) => {}
                Expr::Array(array) if !array.elem.is_empty() => {
                    let list = array.elem.clone();
                    *expr = Expr::InList { expr: left.clone(), list, negated: false };
                }
                _ => *expr = is_one_of(left, right),
            }
        }
        ControlFlow::Continue(())
    }
}

fn is_one_of(value: &Expr, array: &Expr) -> Expr {
    let when = |condition, result| CaseWhen { condition, result: literal(result) };
    let null = || literal(Value::Null);
    let is_null = |expr: &Expr| Expr::IsNull(Box::new(expr.clone()));
    let size = call("cardinality", [array.clone()]);
    let no_value = literal(Value::Number("0".to_owned(), false));
    let place_of_null = call("array_position", [array.clone(), null()]);
    let is_unknown = [is_null(array), Expr::IsNotNull(Box::new(place_of_null))]
        .into_iter()
        .fold(is_null(value), |all, one| combined(all, BinaryOperator::Or, one));
    Expr::Case {
        case_token: AttachedToken::empty(),
        end_token: AttachedToken::empty(),
        operand: None,
        conditions: vec![
            when(call("array_has", [array.clone(), value.clone()]), Value::Boolean(true)),
            when(combined(size, BinaryOperator::Eq, no_value), Value::Boolean(false)),
            when(is_unknown, Value::Null),
        ],
        else_result: Some(Box::new(literal(Value::Boolean(false)))),
    }
}

fn literal(value: Value) -> Expr {
    Expr::Value(value.with_empty_span())
}

fn combined(left: Expr, op: BinaryOperator, right: Expr) -> Expr {
    Expr::BinaryOp { left: Box::new(left), op, right: Box::new(right) }
}
