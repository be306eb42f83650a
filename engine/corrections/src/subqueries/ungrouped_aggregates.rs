// SPDX-License-Identifier: Apache-2.0
//! Rewrites correlated subqueries over aggregates without GROUP BY.
//!
//! Such an aggregate returns one row, also for an empty input. DataFusion groups its input by the
//! correlated keys, and if no row matches there is no group:
//! `EXISTS (SELECT count(*) FROM u WHERE u.a = t.a)` lost rows, and so did `0 IN (..)`. For scalar
//! subqueries it substitutes the values of aggregates over an empty input, but not with HAVING, nor
//! for a value that does not depend on an aggregate (`SELECT 5 ..`).
//!
//! So [`rewrite_all`] moves everything except the aggregates out of the subquery. With `v` and `h`
//! over aggregates, and `v'` and `h'` the same over scalar subqueries of one aggregate each:
//!
//! ```text
//! EXISTS (SELECT v .. [HAVING h])     h' IS TRUE, or true
//! x = ANY (SELECT v .. [HAVING h])    CASE WHEN h' IS TRUE THEN x = v' ELSE false END, or x = v'
//! (SELECT v .. [HAVING h])            CASE WHEN h' THEN v' END, or v'
//! ```

use std::sync::Arc;

use datafusion::{
    common::{
        DFSchema, ExprSchema, Result,
        tree_node::{Transformed, TreeNode},
    },
    logical_expr::{
        BinaryExpr, Cast, Distinct, Expr, FetchType, Filter, Limit, LogicalPlan,
        LogicalPlanBuilder, Operator, Projection, SkipType, Sort, SubqueryAlias, TryCast,
        expr::{Alias, Exists, InSubquery, SetComparison, SetQuantifier},
        lit,
        simplify::SimplifyContext,
        when,
    },
    optimizer::simplify_expressions::ExprSimplifier,
    scalar::ScalarValue,
};

use super::{is_correlated, subquery, subquery_of};
use crate::walk::{has_expression, map_expressions, rewrite};

/// Moves everything except the aggregates out of such subqueries.
pub(crate) fn rewrite_all(plan: LogicalPlan) -> Result<LogicalPlan> {
    let has_one = |node: &LogicalPlan| has_expression(node, is_one);
    rewrite(plan, has_one, |node| {
        let may_have_scalars = matches!(
            node,
            LogicalPlan::Projection(_) | LogicalPlan::Filter(_) | LogicalPlan::Aggregate(_)
        );
        map_expressions(node, is_one, |expr, schema| {
            let Some(row) = OneRow::in_expression(&expr) else {
                return Ok(Transformed::no(expr));
            };
            let outside = row.instead_of(expr.clone(), schema)?;
            Ok(match may_have_scalars || !outside.contains_scalar_subquery() {
                true => Transformed::yes(outside),
                false => Transformed::no(expr),
            })
        })
    })
}

fn is_one(expr: &Expr) -> bool {
    OneRow::in_expression(expr).is_some()
}

/// A subquery of at most one row, as expressions over one row of aggregates.
pub(crate) struct OneRow {
    aggregate: LogicalPlan,
    /// The condition of the row; without one the row always exists.
    having: Option<Expr>,
    /// The output columns.
    values: Vec<Expr>,
    /// Whether DataFusion finds the aggregate: below DISTINCT, LIMIT and others it does not.
    is_seen: bool,
}

/// Name of the column of a scalar subquery of one aggregate.
const AGGREGATE: &str = "aggregate of a subquery";

impl OneRow {
    /// Returns the row of a subquery that DataFusion would decorrelate wrongly.
    fn in_expression(expr: &Expr) -> Option<Self> {
        let subquery = subquery(expr)?;
        if !is_correlated(subquery) {
            return None;
        }
        let row = Self::of(&subquery.subquery)?;
        let is_right = matches!(expr, Expr::ScalarSubquery(_))
            && row.having.is_none()
            && row.is_seen
            && row.values.first().is_some_and(depends_on_aggregates);
        (!is_right).then_some(row)
    }

    /// Returns the row of a plan, if it has at most one row for any input of its aggregate.
    pub(crate) fn of(plan: &LogicalPlan) -> Option<Self> {
        match plan {
            LogicalPlan::Aggregate(aggregate) if aggregate.group_expr.is_empty() => Some(Self {
                aggregate: plan.clone(),
                having: None,
                is_seen: true,
                values: plan.schema().columns().into_iter().map(Expr::Column).collect(),
            }),
            LogicalPlan::Projection(Projection { expr, input, .. }) => {
                let row = Self::of(input)?;
                let values = expr.iter().map(|value| row.over_aggregates(value, input.schema()));
                Some(Self { values: values.collect::<Option<_>>()?, ..row })
            }
            LogicalPlan::Filter(Filter { predicate, input, .. }) => {
                let mut row = Self::of(input)?;
                let having = row.over_aggregates(predicate, input.schema())?;
                row.having = Some(match row.having {
                    Some(below) => below.and(having),
                    None => having,
                });
                Some(row)
            }
            LogicalPlan::Limit(limit) => {
                let row = keeps_a_row(limit).then(|| Self::of(&limit.input)).flatten();
                row.map(|row| Self { is_seen: false, ..row })
            }
            LogicalPlan::SubqueryAlias(SubqueryAlias { input, .. })
            | LogicalPlan::Sort(Sort { input, fetch: None, .. })
            | LogicalPlan::Distinct(Distinct::All(input)) => {
                Self::of(input).map(|row| Self { is_seen: false, ..row })
            }
            _ => None,
        }
    }

    /// Whether a column does not depend on the aggregates once it has been simplified.
    pub(crate) fn has_constant(&self) -> bool {
        let schema = self.aggregate.schema();
        self.values.iter().any(|value| {
            let context = SimplifyContext::builder().with_schema(Arc::clone(schema)).build();
            let simplified = ExprSimplifier::new(context).simplify(value.clone());
            !simplified.is_ok_and(|value| value.any_column_refs())
        })
    }

    /// Replaces these columns in an expression by their definitions.
    fn over_aggregates(&self, expr: &Expr, schema: &DFSchema) -> Option<Expr> {
        // Nested subqueries may refer to the columns, and are decorrelated first.
        let is_taken = |part: &Expr| match part {
            Expr::ScalarSubquery(inside) => is_correlated(inside),
            other => subquery(other).is_some(),
        };
        if expr.exists(|part| Ok(is_taken(part))).unwrap_or(true) {
            return None;
        }
        let replaced = expr.clone().unalias().transform_up(|part| {
            let Expr::Column(column) = &part else { return Ok(Transformed::no(part)) };
            let at = schema.index_of_column(column)?;
            Ok(Transformed::yes(self.values[at].clone()))
        });
        replaced.ok().map(|replaced| replaced.data)
    }

    fn instead_of(self, expr: Expr, outside: &DFSchema) -> Result<Expr> {
        let having = self.having.as_ref().map(|having| self.said_outside(having, outside));
        let having = having.transpose()?;
        let compared = |left: Box<Expr>, op: Operator, of_none: bool| {
            let right = Box::new(self.value(outside)?);
            let comparison = Expr::BinaryExpr(BinaryExpr { left, op, right });
            match &having {
                Some(having) => when(having.clone().is_true(), comparison).otherwise(lit(of_none)),
                None => Ok(comparison),
            }
        };
        match expr {
            Expr::Exists(Exists { negated, .. }) => Ok(match having {
                Some(having) if negated => having.is_not_true(),
                Some(having) => having.is_true(),
                None => lit(!negated),
            }),
            Expr::InSubquery(InSubquery { expr, negated: false, .. }) => {
                compared(expr, Operator::Eq, false)
            }
            Expr::InSubquery(InSubquery { expr, .. }) => compared(expr, Operator::NotEq, true),
            Expr::SetComparison(SetComparison { expr, op, quantifier, .. }) => {
                compared(expr, op, quantifier == SetQuantifier::All)
            }
            Expr::ScalarSubquery(_) => match having {
                Some(having) => when(having, self.value(outside)?).end(),
                None => self.value(outside),
            },
            other => Ok(other),
        }
    }

    /// Returns the first column as an expression of the outer query.
    fn value(&self, outside: &DFSchema) -> Result<Expr> {
        self.said_outside(&self.values[0], outside)
    }

    /// Converts an expression over aggregates to an expression of the outer query.
    fn said_outside(&self, expr: &Expr, outside: &DFSchema) -> Result<Expr> {
        let said = expr.clone().transform_down(|part| {
            Ok(match part {
                Expr::Column(column) => {
                    let one = LogicalPlanBuilder::from(self.aggregate.clone());
                    let one = one.project([Expr::Column(column).alias(AGGREGATE)])?.build()?;
                    Transformed::yes(Expr::ScalarSubquery(subquery_of(one)))
                }
                Expr::OuterReferenceColumn(_, column)
                    if outside.field_from_column(&column).is_ok() =>
                {
                    Transformed::yes(Expr::Column(column))
                }
                other => Transformed::no(other),
            })
        })?;
        Ok(said.data)
    }
}

fn keeps_a_row(limit: &Limit) -> bool {
    let keeps_one =
        |fetch| !matches!(fetch, FetchType::Literal(Some(0)) | FetchType::UnsupportedExpr);
    matches!(limit.get_skip_type(), Ok(SkipType::Literal(0)))
        && limit.get_fetch_type().is_ok_and(keeps_one)
}

/// Whether a value still depends on aggregates after simplification, so that DataFusion computes
/// its value for an empty input.
fn depends_on_aggregates(value: &Expr) -> bool {
    let is_number = |side: &Expr| match side {
        Expr::Literal(value, _) => {
            ScalarValue::new_zero(&value.data_type()).is_ok_and(|zero| zero != *value)
                && !value.is_null()
        }
        _ => false,
    };
    match value {
        Expr::Column(_) => true,
        Expr::Alias(Alias { expr, .. })
        | Expr::Cast(Cast { expr, .. })
        | Expr::TryCast(TryCast { expr, .. }) => depends_on_aggregates(expr),
        // Other operators, and these with zero or two equal operands, may fold to a constant.
        Expr::BinaryExpr(BinaryExpr {
            left,
            op: Operator::Plus | Operator::Minus | Operator::Multiply | Operator::Divide,
            right,
        }) => match (depends_on_aggregates(left), depends_on_aggregates(right)) {
            (true, true) => left.column_refs().is_disjoint(&right.column_refs()),
            (true, false) => is_number(right),
            (false, true) => is_number(left),
            (false, false) => false,
        },
        _ => false,
    }
}
