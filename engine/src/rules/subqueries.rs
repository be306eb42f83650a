// SPDX-License-Identifier: Apache-2.0
//! Subqueries in expressions, and LATERAL, before DataFusion makes joins of them.
//!
//! What a subquery means is kept where a join means something else: [`aggregated`] for those of one
//! row, [`conditions`] for those of joins, [`keys`] for what they are compared by, [`not_in`] for
//! NOT IN, [`named`] for ANY and ALL, [`optional`] for those of no row, [`outside`] for what they
//! know of other columns. What remains that would lose or add rows is refused by [`correlated`].

mod aggregated;
mod conditions;
mod correlated;
mod keys;
mod named;
mod not_in;
mod optional;
mod outside;

use std::sync::Arc;

use datafusion::{
    common::Spans,
    logical_expr::{
        Expr, LogicalPlan, Subquery, SubqueryAlias,
        expr::{Exists, InSubquery, SetComparison},
    },
};

pub(super) use aggregated::Aggregated;
pub(super) use conditions::Conditions;
pub(super) use correlated::Correlated;
pub(super) use keys::Keys;
pub(super) use named::Named;
pub(super) use not_in::NotIn;
pub(super) use optional::Optional;
pub(super) use outside::Outside;

/// A plan as a subquery in an expression.
fn subquery_of(plan: LogicalPlan) -> Subquery {
    let outer_ref_columns = plan.all_out_ref_exprs();
    Subquery { subquery: Arc::new(plan), outer_ref_columns, spans: Spans::new() }
}

/// The subquery of an expression that is one.
const fn subquery(expr: &Expr) -> Option<&Subquery> {
    match expr {
        Expr::Exists(Exists { subquery, .. })
        | Expr::InSubquery(InSubquery { subquery, .. })
        | Expr::SetComparison(SetComparison { subquery, .. })
        | Expr::ScalarSubquery(subquery) => Some(subquery),
        _ => None,
    }
}

/// Whether it refers to the query outside.
fn is_correlated(subquery: &Subquery) -> bool {
    !subquery.outer_ref_columns.is_empty()
}

/// Whether an expression is a subquery, or compares something with one.
pub(super) const fn is_subquery(expr: &Expr) -> bool {
    subquery(expr).is_some()
}

/// An expression with another subquery, if it is one.
fn with_subquery(expr: Expr, subquery: Subquery) -> Expr {
    match expr {
        Expr::Exists(exists) => Expr::Exists(Exists { subquery, ..exists }),
        Expr::InSubquery(inside) => Expr::InSubquery(InSubquery { subquery, ..inside }),
        Expr::SetComparison(comparison) => {
            Expr::SetComparison(SetComparison { subquery, ..comparison })
        }
        Expr::ScalarSubquery(_) => Expr::ScalarSubquery(subquery),
        other => other,
    }
}

/// The LATERAL subquery that a side of a join is.
fn lateral(side: &LogicalPlan) -> Option<&Subquery> {
    match side {
        LogicalPlan::SubqueryAlias(SubqueryAlias { input, .. }) => lateral(input),
        LogicalPlan::Subquery(subquery) => Some(subquery),
        _ => None,
    }
}
