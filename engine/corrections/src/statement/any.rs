// SPDX-License-Identifier: Apache-2.0
//! Rewrites `x < ANY(array)`, with any comparison.
//!
//! It is unknown if it is true for no value of the array and a value, or `x`, is NULL. The planner
//! makes it false then. ALL is planned correctly, so ANY is rewritten as an IN list, or as the
//! negation of ALL.

use std::{convert::Infallible, ops::ControlFlow};

use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, UnaryOperator, VisitMut, VisitorMut};

/// Rewrites all of them.
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

/// Returns the negation of a comparison.
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
