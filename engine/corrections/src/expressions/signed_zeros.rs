// SPDX-License-Identifier: Apache-2.0
//! Unifies the constants `0.0` and `-0.0`.
//!
//! Both are equal in comparisons of rows. But DataFusion compares constants by their bits: it folds
//! `x = 0.0 AND x = -0.0` to false, assumes that `x > -0.0` is weaker than `x >= 0.0`, and searches
//! a list of more than three constants for one of the zeros only. So this module removes the sign
//! of a zero in a comparison, adds the other zero to a list with one, and rewrites lists with
//! columns as comparisons.

use datafusion::{
    common::{Result, tree_node::Transformed},
    logical_expr::{
        BinaryExpr, Expr, ExprSchemable, LogicalPlan, expr::InList, lit, not, utils::disjunction,
    },
    scalar::ScalarValue,
};

use crate::walk::map_expressions;

/// Rewrites the expressions of an operator so that the sign of a constant zero has no effect.
pub(super) fn unify(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    map_expressions(plan, is_suspect, |expr, schema| {
        if is_list_of_columns(&expr)
            && let Expr::InList(InList { expr, list, negated }) = &expr
            && expr.get_type(schema)?.is_floating()
        {
            let any = list.iter().map(|item| expr.as_ref().clone().eq(item.clone()));
            let any = disjunction(any).unwrap_or_else(|| lit(false));
            return Ok(Transformed::yes(if *negated { not(any) } else { any }));
        }
        Ok(match expr {
            Expr::BinaryExpr(BinaryExpr { left, op, right })
                if op.swap().is_some() && (is_negative(&left) || is_negative(&right)) =>
            {
                let [left, right] = [left, right].map(positive);
                Transformed::yes(Expr::BinaryExpr(BinaryExpr { left, op, right }))
            }
            Expr::InList(InList { expr, mut list, negated }) => {
                let missing = list.iter().filter_map(opposite).find(|zero| !list.contains(zero));
                let is_changed = missing.is_some();
                list.extend(missing);
                let list = Expr::InList(InList { expr, list, negated });
                Transformed::new_transformed(list, is_changed)
            }
            other => Transformed::no(other),
        })
    })
}

/// Whether an expression is a zero, or a list with columns.
pub(super) fn is_suspect(expr: &Expr) -> bool {
    opposite(expr).is_some() || is_list_of_columns(expr)
}

/// Whether an expression is a list with items that are not constant; these are compared by their
/// bits.
fn is_list_of_columns(expr: &Expr) -> bool {
    matches!(expr, Expr::InList(InList { list, .. }) if list.iter().any(Expr::any_column_refs))
}

fn is_negative(expr: &Expr) -> bool {
    match expr.as_literal() {
        Some(ScalarValue::Float32(Some(zero))) => *zero == 0.0 && zero.is_sign_negative(),
        Some(ScalarValue::Float64(Some(zero))) => *zero == 0.0 && zero.is_sign_negative(),
        _ => false,
    }
}

fn positive(expr: Box<Expr>) -> Box<Expr> {
    match opposite(&expr) {
        Some(zero) if is_negative(&expr) => Box::new(zero),
        _ => expr,
    }
}

/// Returns the zero with the other sign.
fn opposite(expr: &Expr) -> Option<Expr> {
    let zero = match expr.as_literal()? {
        ScalarValue::Float32(Some(zero)) if *zero == 0.0 => ScalarValue::from(-zero),
        ScalarValue::Float64(Some(zero)) if *zero == 0.0 => ScalarValue::from(-zero),
        _ => return None,
    };
    Some(Expr::Literal(zero, None))
}
