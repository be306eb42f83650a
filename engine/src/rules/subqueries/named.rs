// SPDX-License-Identifier: Apache-2.0
//! Subqueries whose column has a name of its own.
//!
//! When DataFusion makes a join of a subquery, it takes a column of the query outside for one of
//! the subquery that is called the same. SQL cannot say such a thing, but rules can, that compare
//! values from outside with the column of a subquery over the same table: with
//! `FROM t WHERE i > ALL (SELECT i FROM t)`, each value was compared with itself. [`Quantified`]
//! gives a name to the columns of ANY and ALL; [`not_in`](super::not_in) asks for one too.

use std::sync::Arc;

use datafusion::{
    common::{Column, Result, config::ConfigOptions, tree_node::Transformed},
    logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, Subquery, expr::SetComparison},
    optimizer::AnalyzerRule,
};

use crate::rules::map_expressions;

/// What the column is called.
const COLUMN: &str = "value of a subquery";

/// Gives a name to the columns that ANY and ALL compare with.
#[derive(Debug)]
pub(in crate::rules) struct Quantified;

impl AnalyzerRule for Quantified {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        let plan = plan.transform_up_with_subqueries(|node| {
            let compares = |expr: &Expr| matches!(expr, Expr::SetComparison(_));
            map_expressions(node, compares, |expr, _| {
                let Expr::SetComparison(comparison) = expr else {
                    return Ok(Transformed::no(expr));
                };
                let rows = Arc::new(named(&comparison.subquery.subquery)?);
                let subquery = Subquery { subquery: rows, ..comparison.subquery };
                let named = SetComparison { subquery, ..comparison };
                Ok(Transformed::yes(Expr::SetComparison(named)))
            })
        })?;
        Ok(plan.data)
    }

    fn name(&self) -> &'static str {
        "quantified"
    }
}

/// The rows of a subquery with its first column alone, which is [`column`] then.
pub(super) fn named(subquery: &LogicalPlan) -> Result<LogicalPlan> {
    let first = Expr::Column(subquery.schema().columns().swap_remove(0)).alias(COLUMN);
    LogicalPlanBuilder::from(subquery.clone()).project([first])?.build()
}

/// The column of a subquery that has its name.
pub(super) fn column() -> Expr {
    Expr::Column(Column::new_unqualified(COLUMN))
}
