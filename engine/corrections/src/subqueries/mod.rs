// SPDX-License-Identifier: Apache-2.0
//! Corrections of subqueries in expressions, and of LATERAL, before DataFusion makes joins of them.
//!
//! | module | of |
//! |---|---|
//! | [`join_conditions`] | correlated subqueries in ON |
//! | [`ungrouped_aggregates`] | correlated subqueries over aggregates without GROUP BY |
//! | [`empty_scalars`] | scalar subqueries that may have no row |
//! | [`outer_references`] | types and nullability of outer references |
//! | [`correlated_keys`] | names of what correlated conditions compare |
//! | [`not_in`] | IN and NOT IN with NULL |
//! | [`column_names`] | names of the columns of ANY, ALL and IN |
//! | [`unsound_decorrelation`] | what remains and would change rows: it is rejected |

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

/// A plan as a subquery in an expression.
fn subquery_of(plan: LogicalPlan) -> Subquery {
    let outer_ref_columns = plan.all_out_ref_exprs();
    Subquery { subquery: Arc::new(plan), outer_ref_columns, spans: Spans::new() }
}

/// The subquery of an expression that is one.
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
pub(crate) fn lateral(side: &LogicalPlan) -> Option<&Subquery> {
    match side {
        LogicalPlan::SubqueryAlias(SubqueryAlias { input, .. }) => lateral(input),
        LogicalPlan::Subquery(subquery) => Some(subquery),
        _ => None,
    }
}
