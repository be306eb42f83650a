// SPDX-License-Identifier: Apache-2.0
//! `x < ANY(array)`, with any comparison.
//!
//! It is unknown where it is true of no value of the array and one is NULL, or `x` is. The planner
//! makes it false there. What it makes of ALL is right, so ANY is written as a list, or as what ALL
//! denies.

use std::{convert::Infallible, ops::ControlFlow};

use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, UnaryOperator, VisitMut, VisitorMut};

/// Writes all of them so.
pub(super) fn expand(syntax: &mut impl VisitMut) {
    let _ = syntax.visit(&mut Comparisons);
}

struct Comparisons;

impl VisitorMut for Comparisons {
    type Break = Infallible;

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        let Expr::AnyOp { left, compare_op, right, .. } = expr else {
            return ControlFlow::Continue(());
        };
        match (right.as_ref(), opposite(compare_op)) {
            (Expr::Subquery(_), _) | (_, None) => {}
            (Expr::Array(array), Some(BinaryOperator::NotEq)) if !array.elem.is_empty() => {
                let list = array.elem.clone();
                *expr = Expr::InList { expr: left.clone(), list, negated: false };
            }
            (_, Some(compare_op)) => {
                let all = Expr::AllOp { left: left.clone(), compare_op, right: right.clone() };
                *expr = Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(all) };
            }
        }
        ControlFlow::Continue(())
    }
}

/// The comparison that is true where another one is false.
const fn opposite(comparison: &BinaryOperator) -> Option<BinaryOperator> {
    use BinaryOperator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    Some(match comparison {
        Eq => NotEq,
        NotEq => Eq,
        Lt => GtEq,
        LtEq => Gt,
        Gt => LtEq,
        GtEq => Lt,
        _ => return None,
    })
}
