// SPDX-License-Identifier: Apache-2.0
//! Rewrites IN and NOT IN with NULL to three-valued logic.
//!
//! `x NOT IN (SELECT y ..)` is unknown if `x` or one of the `y` is NULL, unless a `y` matches or
//! there is no row. DataFusion implements this for a column and an uncorrelated subquery; for
//! constants, for correlated subqueries, and inside of OR, CASE or IS NULL it treats unknown as
//! true. In these cases [`rewrite_all`] expresses the condition by EXISTS, which is never unknown:
//!
//! ```text
//! some row has y = x                                       -> it is in
//! some row has NULL, or x is NULL and there is a row       -> unknown
//! ```

use std::sync::Arc;

use datafusion::{
    common::{
        DFSchema, ExprSchema, Result,
        tree_node::{Transformed, TreeNode},
    },
    logical_expr::{
        BinaryExpr, Expr, ExprSchemable, Filter, LogicalPlan, LogicalPlanBuilder, Operator,
        Subquery,
        expr::{Exists, InSubquery},
        lit, not, when,
    },
    scalar::ScalarValue,
};

use super::{column_names, is_correlated, subquery_of};
use crate::walk::{has_expression, rewrite};

/// Rewrites IN and NOT IN where DataFusion ignores NULL.
pub(crate) fn rewrite_all(plan: LogicalPlan) -> Result<LogicalPlan> {
    let has_in = |node: &LogicalPlan| match node {
        LogicalPlan::Filter(_) => has_expression(node, |part| matches!(part, Expr::InSubquery(_))),
        _ => Ok(false),
    };
    rewrite(plan, has_in, |node| {
        let LogicalPlan::Filter(Filter { predicate, input, .. }) = node else {
            return Ok(Transformed::no(node));
        };
        let rewritten = condition(predicate, input.schema(), Place::Top)?;
        let filter = LogicalPlan::Filter(Filter::try_new(rewritten.data, input)?);
        Ok(Transformed::new_transformed(filter, rewritten.transformed))
    })
}

/// The place of a condition for which unknown has the effect of false.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// It is a term of the conjunction of a filter.
    Top,
    /// It is below another operator.
    Or,
}

/// Rewrites a condition for which unknown has the effect of false.
fn condition(expr: Expr, schema: &DFSchema, place: Place) -> Result<Transformed<Expr>> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op: op @ (Operator::And | Operator::Or), right }) => {
            let place = if op == Operator::Or { Place::Or } else { place };
            let left = condition(*left, schema, place)?;
            let right = condition(*right, schema, place)?;
            let is_changed = left.transformed || right.transformed;
            let both = BinaryExpr::new(Box::new(left.data), op, Box::new(right.data));
            Ok(Transformed::new_transformed(Expr::BinaryExpr(both), is_changed))
        }
        Expr::Not(inner) => match *inner {
            Expr::InSubquery(inside) => {
                let turned = InSubquery { negated: !inside.negated, ..inside };
                Ok(Transformed::yes(condition(Expr::InSubquery(turned), schema, place)?.data))
            }
            other => value(not(other), schema),
        },
        Expr::InSubquery(inside) if !inside.negated || inside.expr.contains_outer() => {
            Ok(Transformed::no(Expr::InSubquery(inside)))
        }
        Expr::InSubquery(inside) => {
            let terms = Terms::of(&inside, schema)?;
            let is_plain =
                !is_correlated(&inside.subquery) && !inside.expr.column_refs().is_empty();
            // An anti-join handles NULL, a mark join does not.
            let is_right = match place {
                Place::Top => is_plain,
                Place::Or => is_plain && !terms.may_be_unknown(),
            };
            match is_right {
                true => Ok(Transformed::no(Expr::InSubquery(inside))),
                false => terms.is_not_in().map(Transformed::yes),
            }
        }
        other => value(other, schema),
    }
}

/// Rewrites an expression for which unknown differs from false.
fn value(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    expr.transform_up(|expr| {
        let Expr::InSubquery(inside) = expr else { return Ok(Transformed::no(expr)) };
        let terms = Terms::of(&inside, schema)?;
        // The outer query of a subquery is not that of a nested one.
        match terms.may_be_unknown() && !inside.expr.contains_outer() {
            true => terms.is_in(inside.negated).map(Transformed::yes),
            false => Ok(Transformed::no(Expr::InSubquery(inside))),
        }
    })
}

/// The terms of `x IN (SELECT y ..)`.
struct Terms<'a> {
    x: &'a Expr,
    subquery: &'a Subquery,
    /// The schema of the outer query.
    schema: &'a DFSchema,
    x_may_be_null: bool,
    y_may_be_null: bool,
}

impl<'a> Terms<'a> {
    fn of(inside: &'a InSubquery, schema: &'a DFSchema) -> Result<Self> {
        let columns = inside.subquery.subquery.schema();
        Ok(Self {
            x: &inside.expr,
            subquery: &inside.subquery,
            schema,
            x_may_be_null: inside.expr.nullable(schema)?,
            y_may_be_null: columns.field(0).is_nullable(),
        })
    }

    fn may_be_unknown(&self) -> bool {
        self.x_may_be_null || self.y_may_be_null
    }

    /// Makes an expression that is true if `NOT IN` is, otherwise false.
    fn is_not_in(&self) -> Result<Expr> {
        let mut all = not(self.has_match()?);
        if self.y_may_be_null {
            all = all.and(not(self.has_null()?));
        }
        if self.x_may_be_null {
            all = all.and(self.x.clone().is_not_null().or(not(self.exists(None)?)));
        }
        Ok(all)
    }

    /// Makes an expression with the value of IN, or NOT IN.
    fn is_in(&self, negated: bool) -> Result<Expr> {
        let mut unknown = self.x.clone().is_null().and(self.exists(None)?);
        if self.y_may_be_null {
            unknown = unknown.or(self.has_null()?);
        }
        when(self.has_match()?, lit(!negated))
            .when(unknown, lit(ScalarValue::Boolean(None)))
            .otherwise(lit(negated))
    }

    fn has_match(&self) -> Result<Expr> {
        self.exists(Some(column_names::column().eq(self.referred_to(self.x)?)))
    }

    fn has_null(&self) -> Result<Expr> {
        self.exists(Some(column_names::column().is_null()))
    }

    /// Makes EXISTS over the rows of the subquery that satisfy `test`.
    fn exists(&self, test: Option<Expr>) -> Result<Expr> {
        let mut rows = LogicalPlanBuilder::from(column_names::named(&self.subquery.subquery)?);
        if let Some(test) = test {
            rows = rows.filter(test)?;
        }
        Ok(Expr::Exists(Exists { subquery: subquery_of(rows.build()?), negated: false }))
    }

    /// Converts an expression of the outer query to outer references in the subquery.
    fn referred_to(&self, expr: &Expr) -> Result<Expr> {
        let referred = expr.clone().transform_up(|expr| {
            let Expr::Column(column) = expr else { return Ok(Transformed::no(expr)) };
            let field = Arc::clone(self.schema.field_from_column(&column)?);
            Ok(Transformed::yes(Expr::OuterReferenceColumn(field, column)))
        })?;
        Ok(referred.data)
    }
}
