// SPDX-License-Identifier: Apache-2.0
//! Reassociates AND and OR after `IS [NOT] DISTINCT FROM`.
//!
//! The parser takes everything that follows as the right side, so that `a IS DISTINCT FROM b AND c`
//! becomes `a IS DISTINCT FROM (b AND c)`. The syntax tree keeps parentheses, so the terms of AND
//! and OR can be reassociated as they were written.

use std::{convert::Infallible, ops::ControlFlow};

use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, UnaryOperator, VisitMut, VisitorMut};

use crate::depth::chains::balanced;

/// Reassociates the terms of all expressions.
pub(super) fn reassociate(syntax: &mut impl VisitMut) {
    let _ = syntax.visit(&mut Expressions);
}

/// Visits outer expressions first, because terms may belong to them.
struct Expressions;

impl VisitorMut for Expressions {
    type Break = Infallible;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        if reaches_too_far(expr) {
            *expr = Terms::of(expr).together();
        }
        ControlFlow::Continue(())
    }
}

/// Whether a right side in an expression, up to parentheses, has AND or OR.
fn reaches_too_far(expr: &Expr) -> bool {
    match expr {
        Expr::IsDistinctFrom(_, right) | Expr::IsNotDistinctFrom(_, right) => {
            matches!(right.as_ref(), Expr::BinaryOp { op, .. } if is_and_or(op))
                || reaches_too_far(right)
        }
        Expr::BinaryOp { left, op, right } if is_and_or(op) => {
            reaches_too_far(left) || reaches_too_far(right)
        }
        Expr::BinaryOp { right, .. } => reaches_too_far(right),
        Expr::UnaryOp { op: UnaryOperator::Not, expr } => reaches_too_far(expr),
        _ => false,
    }
}

const fn is_and_or(operator: &BinaryOperator) -> bool {
    matches!(operator, BinaryOperator::And | BinaryOperator::Or)
}

/// Terms with AND or OR between them, as written.
struct Terms {
    first: Expr,
    rest: Vec<(BinaryOperator, Expr)>,
}

impl Terms {
    fn of(expr: &Expr) -> Self {
        match expr {
            Expr::BinaryOp { left, op, right } if is_and_or(op) => {
                let (mut terms, right) = (Self::of(left), Self::of(right));
                terms.rest.push((op.clone(), right.first));
                terms.rest.extend(right.rest);
                terms
            }
            Expr::IsDistinctFrom(left, right) => {
                Self::of(right).begun_with(|first| Expr::IsDistinctFrom(left.clone(), first))
            }
            Expr::IsNotDistinctFrom(left, right) => {
                Self::of(right).begun_with(|first| Expr::IsNotDistinctFrom(left.clone(), first))
            }
            Expr::BinaryOp { left, op, right } => Self::of(right)
                .begun_with(|right| Expr::BinaryOp { left: left.clone(), op: op.clone(), right }),
            Expr::UnaryOp { op: op @ UnaryOperator::Not, expr } => {
                Self::of(expr).begun_with(|first| Expr::UnaryOp { op: *op, expr: first })
            }
            term => Self { first: term.clone(), rest: Vec::new() },
        }
    }

    fn begun_with(self, begin: impl FnOnce(Box<Expr>) -> Expr) -> Self {
        Self { first: begin(Box::new(self.first)), ..self }
    }

    /// Builds the expression: first the conjunctions between two ORs, then the disjunction.
    fn together(self) -> Expr {
        let (mut all, mut last) = (Vec::new(), vec![self.first]);
        for (op, term) in self.rest {
            match op {
                BinaryOperator::And => last.push(term),
                _ => all
                    .push(balanced(std::mem::replace(&mut last, vec![term]), &BinaryOperator::And)),
            }
        }
        all.push(balanced(last, &BinaryOperator::And));
        balanced(all, &BinaryOperator::Or)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::sql::sqlparser::{
        ast::visit_expressions_mut, dialect::GenericDialect, parser::Parser,
    };
    use rstest::rstest;

    fn parsed(text: &str) -> Expr {
        Parser::new(&GenericDialect {}).try_with_sql(text).unwrap().parse_expr().unwrap()
    }

    #[rstest]
    #[case("a IS DISTINCT FROM b AND c", "(a IS DISTINCT FROM b) AND c")]
    #[case("a IS NOT DISTINCT FROM b OR c", "(a IS NOT DISTINCT FROM b) OR c")]
    #[case("x AND a IS DISTINCT FROM b OR c", "(x AND (a IS DISTINCT FROM b)) OR c")]
    #[case("x OR a IS DISTINCT FROM b AND c", "x OR ((a IS DISTINCT FROM b) AND c)")]
    #[case("NOT a IS DISTINCT FROM b AND c", "(NOT (a IS DISTINCT FROM b)) AND c")]
    #[case("x = NOT a IS DISTINCT FROM b AND c", "(x = NOT (a IS DISTINCT FROM b)) AND c")]
    #[case("a IS DISTINCT FROM NOT b AND c", "(a IS DISTINCT FROM (NOT b)) AND c")]
    #[case("a IS DISTINCT FROM b + 1 AND c OR d", "((a IS DISTINCT FROM b + 1) AND c) OR d")]
    #[case(
        "a IS DISTINCT FROM b AND c IS DISTINCT FROM d OR e",
        "((a IS DISTINCT FROM b) AND (c IS DISTINCT FROM d)) OR e"
    )]
    #[case("a IS DISTINCT FROM (b AND c)", "a IS DISTINCT FROM (b AND c)")]
    #[case("a IS DISTINCT FROM b = c AND d", "(a IS DISTINCT FROM b = c) AND d")]
    #[case("f(a IS DISTINCT FROM b AND c) OR d", "f((a IS DISTINCT FROM b) AND c) OR d")]
    #[case(
        "CASE WHEN a IS DISTINCT FROM b AND c THEN d END",
        "CASE WHEN (a IS DISTINCT FROM b) AND c THEN d END"
    )]
    fn right_side_ends_before_and_and_or(#[case] text: &str, #[case] meant: &str) {
        let mut found = parsed(text);
        reassociate(&mut found);
        // Parentheses are the only difference that is left.
        let mut meant = parsed(meant);
        let was_in_parentheses = text.contains("(b AND c)");
        let _: ControlFlow<()> = visit_expressions_mut(&mut meant, |expr| {
            if let Expr::Nested(inner) = expr
                && !was_in_parentheses
            {
                *expr = *inner.clone();
            }
            ControlFlow::Continue(())
        });
        assert_eq!(found, meant, "{found}");
    }
}
