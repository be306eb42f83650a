// SPDX-License-Identifier: Apache-2.0
//! The pattern of all texts.
//!
//! Of `x ~ '.*'` DataFusion makes true or false. With NULL it is unknown, which is another value in
//! an output, and below NOT, and OR. It is said that it is true of texts and unknown of NULL.

use datafusion::{
    common::{Result, tree_node::Transformed},
    logical_expr::{BinaryExpr, Cast, Expr, LogicalPlan, Operator, lit},
    scalar::ScalarValue,
};

use super::map_expressions;

/// A plan in which that pattern is unknown of NULL.
pub(super) fn of_null(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    map_expressions(plan, is_of_all, |expr, _| {
        Ok(match expr {
            Expr::BinaryExpr(BinaryExpr { left, .. }) if is_of_all(&expr) => {
                Transformed::yes(left.is_not_null().or(lit(ScalarValue::Boolean(None))))
            }
            other => Transformed::no(other),
        })
    })
}

fn is_of_all(expr: &Expr) -> bool {
    matches!(expr, Expr::BinaryExpr(BinaryExpr {
        op: Operator::RegexMatch | Operator::RegexIMatch,
        right,
        ..
    }) if is_any_text(right))
}

/// Whether it is the pattern of all texts, or will be when it is worked out.
fn is_any_text(pattern: &Expr) -> bool {
    match pattern {
        Expr::Cast(Cast { expr, .. }) => is_any_text(expr),
        other => other.as_literal().and_then(ScalarValue::try_as_str).flatten() == Some(".*"),
    }
}
