// SPDX-License-Identifier: Apache-2.0
//! Corrects subqueries in expressions, and LATERAL, before DataFusion decorrelates them into joins.
//!
//! | module | of |
//! |---|---|
//! | [`join_conditions`] | correlated subqueries in ON |
//! | [`ungrouped_aggregates`] | correlated subqueries over aggregates without GROUP BY |
//! | [`empty_scalars`] | scalar subqueries that may have no row |
//! | [`outer_references`] | types and nullability of outer references |
//! | [`correlated_keys`] | names of the keys of correlated conditions |
//! | [`not_in`] | IN and NOT IN with NULL |
//! | [`column_names`] | names of the columns of ANY, ALL and IN |
//! | [`unsound_decorrelation`] | rejects the other subqueries whose decorrelation would change rows |

pub(crate) mod column_names;
pub(crate) mod correlated_keys;
pub(crate) mod empty_scalars;
pub(crate) mod join_conditions;
pub(crate) mod not_in;
pub(crate) mod outer_references;
pub(crate) mod ungrouped_aggregates;
pub(crate) mod unsound_decorrelation;

use std::sync::Arc;

use datafusion::{
    common::Spans,
    logical_expr::{
        Expr, LogicalPlan, Subquery, SubqueryAlias,
        expr::{Exists, InSubquery, SetComparison},
    },
};

/// Wraps a plan as a subquery in an expression.
fn subquery_of(plan: LogicalPlan) -> Subquery {
    let outer_ref_columns = plan.all_out_ref_exprs();
    Subquery { subquery: Arc::new(plan), outer_ref_columns, spans: Spans::new() }
}

/// Returns the subquery of an expression, if it is one.
pub(crate) const fn subquery(expr: &Expr) -> Option<&Subquery> {
    match expr {
        Expr::Exists(Exists { subquery, .. })
        | Expr::InSubquery(InSubquery { subquery, .. })
        | Expr::SetComparison(SetComparison { subquery, .. })
        | Expr::ScalarSubquery(subquery) => Some(subquery),
        _ => None,
    }
}

/// Whether a subquery refers to the outer query.
pub(crate) fn is_correlated(subquery: &Subquery) -> bool {
    !subquery.outer_ref_columns.is_empty()
}

/// Whether an expression is a subquery, or compares something with one.
pub(crate) const fn is_subquery(expr: &Expr) -> bool {
    subquery(expr).is_some()
}

/// Replaces the subquery of an expression, if it is one.
pub(crate) fn with_subquery(expr: Expr, subquery: Subquery) -> Expr {
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

/// Returns the LATERAL subquery of a side of a join.
pub(crate) fn lateral(side: &LogicalPlan) -> Option<&Subquery> {
    match side {
        LogicalPlan::SubqueryAlias(SubqueryAlias { input, .. }) => lateral(input),
        LogicalPlan::Subquery(subquery) => Some(subquery),
        _ => None,
    }
}
