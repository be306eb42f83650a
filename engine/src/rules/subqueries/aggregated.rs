// SPDX-License-Identifier: Apache-2.0
//! Subqueries of an aggregate without GROUP BY that refer to the query outside.
//!
//! Such an aggregate has one row, also where no row matches. DataFusion groups its rows by what the
//! query outside is compared with, and where no row matches there is no group: `EXISTS (SELECT
//! count(*) FROM u WHERE u.a = t.a)` lost rows, `0 IN (..)` too. For scalar subqueries it knows
//! what aggregates are of no rows, but not with HAVING. So [`Aggregated`] says it with scalar
//! subqueries without HAVING:
//!
//! ```text
//! EXISTS (SELECT v ..)            true
//! EXISTS (SELECT v .. HAVING h)   (SELECT h ..) IS TRUE
//! x = ANY (SELECT v ..)           x = (SELECT v ..)
//! x = ANY (SELECT v .. HAVING h)  CASE WHEN (SELECT h ..) IS TRUE THEN x = (SELECT v ..)
//!                                 ELSE false END
//! (SELECT v .. HAVING h)          (SELECT CASE WHEN h THEN v END ..)
//! ```

use std::sync::Arc;

use datafusion::{
    common::{Result, config::ConfigOptions, tree_node::Transformed},
    logical_expr::{
        BinaryExpr, Expr, Filter, LogicalPlan, LogicalPlanBuilder, Operator, Projection, Sort,
        Subquery, SubqueryAlias,
        expr::{Exists, InSubquery, SetComparison, SetQuantifier},
        lit, when,
    },
    optimizer::AnalyzerRule,
};

use super::{has_one_row, subquery, subquery_of};
use crate::rules::{map_expressions, rewrite};

/// Makes scalar subqueries of them.
#[derive(Debug)]
pub(in crate::rules) struct Aggregated;

impl AnalyzerRule for Aggregated {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        rewrite(plan, |node| {
            map_expressions(node, is_one, |expr, _| {
                Ok(match subquery(&expr).and_then(OneRow::of) {
                    Some(row) => Transformed::yes(row.instead_of(expr)?),
                    None => Transformed::no(expr),
                })
            })
        })
    }

    fn name(&self) -> &'static str {
        "aggregated"
    }
}

fn is_one(expr: &Expr) -> bool {
    subquery(expr).and_then(OneRow::of).is_some()
}

/// What a subquery of one row or none is made of.
struct OneRow {
    /// The rows without HAVING.
    all: Arc<LogicalPlan>,
    /// What they are narrowed to, and the aggregate that it is about.
    having: Option<(Expr, Arc<LogicalPlan>)>,
    /// The first column, over that aggregate.
    value: Expr,
}

impl OneRow {
    fn of(subquery: &Subquery) -> Option<Self> {
        if subquery.outer_ref_columns.is_empty() {
            return None;
        }
        let value = Expr::Column(subquery.subquery.schema().columns().into_iter().next()?);
        if is_of_one_row(&subquery.subquery) {
            return Some(Self { all: Arc::clone(&subquery.subquery), having: None, value });
        }
        let (value, rows) = match subquery.subquery.as_ref() {
            LogicalPlan::Projection(Projection { expr, input, .. }) => (expr.first()?, input),
            _ => (&value, &subquery.subquery),
        };
        let LogicalPlan::Filter(Filter { predicate, input, .. }) = rows.as_ref() else {
            return None;
        };
        is_of_one_row(input).then(|| Self {
            all: Arc::clone(input),
            having: Some((predicate.clone(), Arc::clone(input))),
            value: value.clone(),
        })
    }

    fn instead_of(self, expr: Expr) -> Result<Expr> {
        match expr {
            Expr::Exists(Exists { negated, .. }) => Ok(match self.is_there()? {
                None => lit(!negated),
                Some(is_there) if negated => is_there.is_not_true(),
                Some(is_there) => is_there.is_true(),
            }),
            Expr::InSubquery(InSubquery { expr, negated: false, .. }) => {
                self.compared(expr, Operator::Eq, false)
            }
            Expr::InSubquery(InSubquery { expr, .. }) => self.compared(expr, Operator::NotEq, true),
            Expr::SetComparison(SetComparison { expr, op, quantifier, .. }) => {
                self.compared(expr, op, quantifier == SetQuantifier::All)
            }
            Expr::ScalarSubquery(subquery) => match &self.having {
                None => Ok(Expr::ScalarSubquery(subquery)),
                Some((having, _)) => self.scalar(Some(having.clone())),
            },
            other => Ok(other),
        }
    }

    /// Whether there is the row, unless it always is.
    fn is_there(&self) -> Result<Option<Expr>> {
        let Some((having, rows)) = &self.having else { return Ok(None) };
        project(rows, having.clone()).map(Some)
    }

    /// The comparison with the one value, or what it is of no row.
    fn compared(self, left: Box<Expr>, op: Operator, of_none: bool) -> Result<Expr> {
        let right = Box::new(self.scalar(None)?);
        let comparison = Expr::BinaryExpr(BinaryExpr { left, op, right });
        match self.is_there()? {
            None => Ok(comparison),
            Some(is_there) => when(is_there.is_true(), comparison).otherwise(lit(of_none)),
        }
    }

    /// The value, or NULL where this is not true.
    fn scalar(&self, condition: Option<Expr>) -> Result<Expr> {
        let name = self.value.schema_name().to_string();
        match condition {
            None => project(&self.all, self.value.clone()),
            Some(condition) => {
                let value = self.value.clone().unalias_nested().data;
                project(&self.all, when(condition, value).end()?.alias(name))
            }
        }
    }
}

/// One column of rows as a scalar subquery.
fn project(rows: &LogicalPlan, column: Expr) -> Result<Expr> {
    let rows = LogicalPlanBuilder::from(rows.clone()).project([column])?.build()?;
    Ok(Expr::ScalarSubquery(subquery_of(rows)))
}

fn is_of_one_row(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Projection(Projection { input, .. })
        | LogicalPlan::SubqueryAlias(SubqueryAlias { input, .. })
        | LogicalPlan::Sort(Sort { input, fetch: None, .. }) => is_of_one_row(input),
        LogicalPlan::Aggregate(aggregate) => has_one_row(aggregate),
        _ => false,
    }
}
