// SPDX-License-Identifier: Apache-2.0
//! Balances long chains of AND and OR.
//!
//! The parser parses `a AND b AND c AND d` as `((a AND b) AND c) AND d`, whose depth is the length
//! of the chain. AND and OR are associative, also over NULL, so a long chain is rewritten as a
//! balanced tree of the same terms in the same order.

use std::{convert::Infallible, ops::ControlFlow};

use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, Value, VisitMut, VisitorMut};

/// A chain of fewer terms stays unchanged.
pub(crate) const MIN_TERMS: usize = 64;

/// Balances all long chains.
pub(crate) fn balance(syntax: &mut impl VisitMut) {
    let _ = syntax.visit(&mut Chains);
}

/// Visits the top of a chain first, and balances it before its terms are visited.
struct Chains;

impl VisitorMut for Chains {
    type Break = Infallible;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        if let Expr::BinaryOp { op: op @ (BinaryOperator::And | BinaryOperator::Or), .. } = expr {
            let op = op.clone();
            if terms_of(expr, &op) >= MIN_TERMS {
                *expr = balanced(take_terms(expr, &op), &op);
            }
        }
        ControlFlow::Continue(())
    }
}

/// Returns the number of terms of a chain.
fn terms_of(mut expr: &Expr, chain: &BinaryOperator) -> usize {
    let mut terms = 1;
    while let Expr::BinaryOp { left, op, .. } = expr
        && op == chain
    {
        terms += 1;
        expr = left;
    }
    terms
}

/// Takes a chain apart, from its end.
fn take_terms(expr: &mut Expr, chain: &BinaryOperator) -> Vec<Expr> {
    let mut terms = Vec::new();
    let mut rest = std::mem::replace(expr, nothing());
    loop {
        match rest {
            Expr::BinaryOp { left, op, right } if op == *chain => {
                terms.push(*right);
                rest = *left;
            }
            first => {
                terms.push(first);
                terms.reverse();
                return terms;
            }
        }
    }
}

/// Combines the terms by an operator to a balanced tree.
pub(crate) fn balanced(mut terms: Vec<Expr>, op: &BinaryOperator) -> Expr {
    while terms.len() > 1 {
        let mut pairs = Vec::with_capacity(terms.len().div_ceil(2));
        let mut rest = terms.into_iter();
        while let Some(left) = rest.next() {
            pairs.push(match rest.next() {
                Some(right) => {
                    Expr::BinaryOp { left: Box::new(left), op: op.clone(), right: Box::new(right) }
                }
                None => left,
            });
        }
        terms = pairs;
    }
    terms.pop().unwrap_or_else(nothing)
}

/// Returns a placeholder for an expression that was taken.
fn nothing() -> Expr {
    Expr::Value(Value::Null.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::sql::sqlparser::{dialect::GenericDialect, parser::Parser};

    fn depth(expr: &Expr) -> usize {
        match expr {
            Expr::BinaryOp { left, op: BinaryOperator::And | BinaryOperator::Or, right } => {
                1 + depth(left).max(depth(right))
            }
            Expr::Nested(inner) => depth(inner),
            _ => 0,
        }
    }

    #[test]
    fn long_chain_is_balanced_and_keeps_its_terms() {
        for operator in ["AND", "OR"] {
            let terms: Vec<String> = (0..1000).map(|term| format!("a = {term}")).collect();
            let text = terms.join(&format!(" {operator} "));
            let mut parser = Parser::new(&GenericDialect {}).try_with_sql(&text).unwrap();
            let mut expr = parser.parse_expr().unwrap();
            assert_eq!(depth(&expr), 999);
            balance(&mut expr);
            assert_eq!(depth(&expr), 10);
            assert_eq!(expr.to_string(), text);
        }
    }

    #[test]
    fn chain_in_parentheses_is_balanced_too() {
        let inner = vec!["b"; 200].join(" OR ");
        let text = format!("a AND ({inner}) AND c");
        let mut parser = Parser::new(&GenericDialect {}).try_with_sql(&text).unwrap();
        let mut expr = parser.parse_expr().unwrap();
        balance(&mut expr);
        assert!(depth(&expr) < 12);
        assert_eq!(expr.to_string(), text);
    }
}
