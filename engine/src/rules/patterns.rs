// SPDX-License-Identifier: Apache-2.0
//! Patterns of which DataFusion makes another condition.
//!
//! Of `x ~ '.*'` it makes true or false. With NULL it is unknown, which is another value in an
//! output, and below NOT, and OR. Of `x ~ 'a\\b'` it makes `x LIKE '%a\b%'`, where the backslash
//! does not stand for itself, and of `\x5C`, which is one too. Such patterns are hidden, see
//! [`as_is`].

use datafusion::{
    common::{Result, tree_node::Transformed},
    logical_expr::{BinaryExpr, Cast, Expr, LogicalPlan, Operator, expr::ScalarFunction},
    scalar::ScalarValue,
};

use super::{as_is, plans::map_expressions};

/// Hides them.
pub(super) fn hide(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    map_expressions(plan, has_pattern, |expr, _| {
        Ok(match expr {
            Expr::BinaryExpr(BinaryExpr { left, op, right }) if is_match(op, &right) => {
                let right = Box::new(as_is::call_beside(*right, *left.clone()));
                Transformed::yes(Expr::BinaryExpr(BinaryExpr { left, op, right }))
            }
            Expr::ScalarFunction(ScalarFunction { func, mut args })
                if is_match_function(func.name(), &args) =>
            {
                args[1] = as_is::call_beside(args[1].clone(), args[0].clone());
                Transformed::yes(Expr::ScalarFunction(ScalarFunction { func, args }))
            }
            other => Transformed::no(other),
        })
    })
}

fn has_pattern(expr: &Expr) -> bool {
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

/// Whether it is such a pattern, or will be when it is worked out.
fn is_misread(pattern: &Expr) -> bool {
    match pattern {
        Expr::Cast(Cast { expr, .. }) => is_misread(expr),
        other => {
            let text = other.as_literal().and_then(ScalarValue::try_as_str).flatten();
            text.is_some_and(|text| text == ".*" || may_be_backslash(text))
        }
    }
}

/// Whether it has a character in an escape that may be a backslash.
fn may_be_backslash(pattern: &str) -> bool {
    [r"\\", r"\x", r"\u", r"\U"].iter().any(|escape| pattern.contains(escape))
}
