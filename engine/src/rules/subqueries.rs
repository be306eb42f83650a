// SPDX-License-Identifier: Apache-2.0
//! Subqueries in expressions, and LATERAL, before DataFusion makes joins of them.
//!
//! What a subquery means is kept where a join means something else: [`aggregated`] for those of one
//! row, [`keys`] for what they are compared by, [`not_in`] for NOT IN, [`named`] for ANY and ALL,
//! [`optional`] for those of no row. What remains that would lose or add rows is refused by
//! [`correlated`].

mod aggregated;
mod correlated;
mod keys;
mod named;
mod not_in;
mod optional;

use std::sync::Arc;

use datafusion::{
    common::Spans,
    logical_expr::{
        Expr, LogicalPlan, Subquery,
        expr::{Exists, InSubquery, SetComparison},
    },
};

pub(super) use aggregated::Aggregated;
pub(super) use correlated::Correlated;
pub(super) use keys::Keys;
pub(super) use named::Named;
pub(super) use not_in::NotIn;
pub(super) use optional::Optional;

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
