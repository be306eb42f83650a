// SPDX-License-Identifier: Apache-2.0
//! Protects regular expressions that DataFusion rewrites to another condition.
//!
//! DataFusion folds `x ~ '.*'` to a literal, ignoring NULL. It rewrites `x ~ 'a\\b'` to
//! `x LIKE '%a\b%'`, where the backslash is an escape character, and likewise `\x5C`, which also
//! matches a backslash.

use datafusion::{
    common::{Result, tree_node::Transformed},
    logical_expr::{BinaryExpr, Cast, Expr, Operator, expr::ScalarFunction},
    scalar::ScalarValue,
};

use super::Context;
use crate::barrier;

/// Hides such a pattern.
pub(super) fn protect(expr: Expr, _context: &Context<'_>) -> Result<Transformed<Expr>> {
    Ok(match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if is_match(op, &right) => {
            let right = Box::new(barrier::transient_beside(*right, *left.clone()));
            Transformed::yes(Expr::BinaryExpr(BinaryExpr { left, op, right }))
        }
        Expr::ScalarFunction(ScalarFunction { func, mut args })
            if is_match_function(func.name(), &args) =>
        {
            args[1] = barrier::transient_beside(args[1].clone(), args[0].clone());
            Transformed::yes(Expr::ScalarFunction(ScalarFunction { func, args }))
        }
        other => Transformed::no(other),
    })
}

/// Whether an expression is a match with such a pattern.
pub(super) fn is_suspect(expr: &Expr) -> bool {
    match expr {
        Expr::BinaryExpr(BinaryExpr { op, right, .. }) => is_match(*op, right),
        Expr::ScalarFunction(ScalarFunction { func, args }) => is_match_function(func.name(), args),
        _ => false,
    }
}

fn is_match(operator: Operator, pattern: &Expr) -> bool {
    use Operator::{RegexIMatch, RegexMatch, RegexNotIMatch, RegexNotMatch};
    matches!(operator, RegexMatch | RegexIMatch | RegexNotMatch | RegexNotIMatch)
        && is_misread(pattern)
}

fn is_match_function(name: &str, arguments: &[Expr]) -> bool {
    name == "regexp_like" && arguments.get(1).is_some_and(is_misread)
}

/// Whether an expression is such a pattern, or folds to one.
fn is_misread(pattern: &Expr) -> bool {
    match pattern {
        Expr::Cast(Cast { expr, .. }) => is_misread(expr),
        other => {
            let text = other.as_literal().and_then(ScalarValue::try_as_str).flatten();
            text.is_some_and(|text| text == ".*" || may_be_backslash(text))
        }
    }
}

/// Whether a pattern has an escape sequence that may match a backslash.
fn may_be_backslash(pattern: &str) -> bool {
    [r"\\", r"\x", r"\u", r"\U"].iter().any(|escape| pattern.contains(escape))
}
