// SPDX-License-Identifier: Apache-2.0
//! Comparisons with constants.
//!
//! Of several comparisons of one column with constants DataFusion keeps the narrowest. It takes
//! `1 > a` for no narrower than `a <= 1`, and `1 = a` for another condition than `a = 1`, so that
//! no row has both. Most constants stand on the right by then, but not those that had to be worked
//! out, as in `CAST('1' AS INT) > a`. They are put there.

use std::sync::Arc;

use datafusion::{
    common::Result,
    logical_expr::{
        BinaryExpr, Expr, Filter, LogicalPlan, Operator,
        utils::{conjunction, split_conjunction, split_conjunction_owned},
    },
};

/// A filter with its constants on the right, and those directly below, of which DataFusion makes
/// one.
pub(super) fn to_the_right(plan: LogicalPlan) -> Result<LogicalPlan> {
    if !has_term_to_turn(&plan) {
        return Ok(plan);
    }
    let LogicalPlan::Filter(Filter { predicate, input, .. }) = plan else { return Ok(plan) };
    let input = match input.as_ref() {
        LogicalPlan::Filter(_) => Arc::new(to_the_right(Arc::unwrap_or_clone(input))?),
        _ => input,
    };
    let terms = split_conjunction_owned(predicate.clone()).into_iter().map(turned);
    let predicate = conjunction(terms).unwrap_or(predicate);
    Ok(LogicalPlan::Filter(Filter::try_new(predicate, input)?))
}

fn has_term_to_turn(plan: &LogicalPlan) -> bool {
    let LogicalPlan::Filter(Filter { predicate, input, .. }) = plan else { return false };
    let is_turned = |term: &&Expr| swapped(term).is_some();
    split_conjunction(predicate).iter().any(is_turned) || has_term_to_turn(input)
}

/// A comparison with its constant on the right.
fn turned(term: Expr) -> Expr {
    match (swapped(&term), term) {
        (Some(op), Expr::BinaryExpr(BinaryExpr { left, right, .. })) => {
            Expr::BinaryExpr(BinaryExpr { left: right, op, right: left })
        }
        (_, term) => term,
    }
}

/// How a comparison is said from the right to the left, where its constant is on the left.
fn swapped(term: &Expr) -> Option<Operator> {
    let Expr::BinaryExpr(BinaryExpr { left, op, right }) = term else { return None };
    let is_turned = left.as_literal().is_some() && right.as_literal().is_none();
    is_turned.then(|| op.swap()).flatten()
}
