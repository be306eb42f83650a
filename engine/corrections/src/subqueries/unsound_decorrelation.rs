// SPDX-License-Identifier: Apache-2.0
//! Rejects correlated subqueries whose decorrelation would change rows.
//!
//! DataFusion pulls correlated conditions up to the top of a subquery, and joins by them. The
//! operators in between then process the rows of all outer rows, not those of one:
//!
//! - a window function numbers and sums over all of them;
//! - an outer join loses the NULL-extended rows of rows without a match;
//! - a union has no column for the keys of a single input;
//! - LIMIT and OFFSET are removed from EXISTS, although only a LIMIT at the top is redundant;
//! - an aggregate without GROUP BY returns no row for an empty input, unless
//!   [`ungrouped_aggregates`](super::ungrouped_aggregates) or DataFusion handles it: in parts of
//!   EXISTS and IN, with HAVING in LATERAL, and for columns of LATERAL that do not depend on an
//!   aggregate;
//! - DISTINCT in LATERAL processes them too, unless each group belongs to one outer row.

use datafusion::{
    common::{
        JoinType, Result, not_impl_err,
        tree_node::{TreeNode, TreeNodeRecursion},
    },
    logical_expr::{
        Aggregate, BinaryExpr, Expr, FetchType, Join, Limit, LogicalPlan, Operator, SkipType,
        Subquery, utils::split_conjunction,
    },
};

use super::{lateral, subquery, ungrouped_aggregates::OneRow};

/// Rejects subqueries whose decorrelation would change rows.
///
/// # Errors
/// `NotImplemented`, with the operator that prevents the decorrelation.
pub(crate) fn reject(plan: LogicalPlan) -> Result<LogicalPlan> {
    plan.apply_with_subqueries(|node| {
        if let LogicalPlan::Join(join) = node {
            for lateral in [&join.left, &join.right].into_iter().filter_map(|side| lateral(side)) {
                Place::of(Kind::Lateral).check(&lateral.subquery)?;
            }
        }
        let is_condition = matches!(node, LogicalPlan::Filter(_));
        node.apply_expressions(|expr| {
            expr.apply(|part| {
                if matches!(part, Expr::SetComparison(_)) && !is_condition {
                    return not_impl_err!("ANY or ALL over a subquery outside of WHERE or HAVING");
                }
                if let Some(Subquery { subquery, .. }) = subquery(part) {
                    Place::of(Kind::of(part)).check(subquery)?;
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })?;
    Ok(plan)
}

/// The use of a subquery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Whether it has a row is tested.
    Exists,
    /// A value is compared with one of its rows, or all.
    Compared,
    /// Its value is used.
    Scalar,
    /// Its rows are joined to each outer row.
    Lateral,
}

impl Kind {
    const fn of(expr: &Expr) -> Self {
        match expr {
            Expr::Exists(_) => Self::Exists,
            Expr::ScalarSubquery(_) => Self::Scalar,
            _ => Self::Compared,
        }
    }
}

/// A place in a subquery, for the check of its operators.
#[derive(Debug, Clone, Copy)]
struct Place {
    kind: Kind,
    /// Whether the rows here are the result of the subquery.
    is_top: bool,
}

impl Place {
    const fn of(kind: Kind) -> Self {
        Self { kind, is_top: true }
    }

    /// Returns an error if an operator would process more rows than those of one outer row.
    fn check(self, plan: &LogicalPlan) -> Result<()> {
        if !refers_outside(plan) {
            return Ok(());
        }
        let below = Self { is_top: false, ..self };
        match plan {
            LogicalPlan::Projection(_)
                if self.kind == Kind::Lateral
                    && OneRow::of(plan).is_some_and(|row| row.has_constant()) =>
            {
                refused(
                    "an aggregate without GROUP BY next to a column that does not depend on it,",
                )
            }
            // DataFusion does not find an aggregate below.
            LogicalPlan::SubqueryAlias(alias) if self.kind == Kind::Lateral => {
                below.check(&alias.input)
            }
            LogicalPlan::Projection(_) | LogicalPlan::SubqueryAlias(_) | LogicalPlan::Sort(_) => {
                self.check(plan.inputs()[0])
            }
            LogicalPlan::Distinct(_) if self.groups_by_more(plan)? => refused("DISTINCT"),
            LogicalPlan::Limit(limit) => match self.kind == Kind::Exists && self.is_top {
                true if !skips(limit)? => self.check(&limit.input),
                _ => refused("LIMIT or OFFSET"),
            },
            LogicalPlan::Window(_) => refused("a window function"),
            LogicalPlan::Union(_) => refused("UNION"),
            LogicalPlan::Aggregate(aggregate) => {
                let is_known = self.is_top && matches!(self.kind, Kind::Scalar | Kind::Lateral);
                let has_one_row = aggregate.group_expr.is_empty();
                if has_one_row && !is_known || has_total(aggregate) {
                    return refused("an aggregate without GROUP BY or with grouping sets");
                }
                if aggregate.aggr_expr.is_empty() && self.groups_by_more(plan)? {
                    return refused("GROUP BY without aggregates");
                }
                below.check(&aggregate.input)
            }
            LogicalPlan::Join(join) => {
                if loses_rows_of_nulls(join) {
                    return refused("an outer join, EXCEPT or INTERSECT");
                }
                below.check(&join.left)?;
                below.check(&join.right)
            }
            // A nested subquery is checked separately.
            LogicalPlan::Subquery(_) => Ok(()),
            other => other.inputs().into_iter().try_for_each(|input| below.check(input)),
        }
    }

    /// Whether a group may belong to several outer rows, because a correlated condition is not an
    /// equality.
    fn groups_by_more(self, plan: &LogicalPlan) -> Result<bool> {
        if !matches!(self.kind, Kind::Scalar | Kind::Lateral) {
            return Ok(false);
        }
        plan.exists(|node| {
            let LogicalPlan::Filter(filter) = node else { return Ok(false) };
            let mut terms = split_conjunction(&filter.predicate).into_iter();
            Ok(terms.any(|term| term.contains_outer() && !is_equality(term)))
        })
    }
}

/// Whether a condition is an equality of a column with a value of the outer query.
fn is_equality(term: &Expr) -> bool {
    let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) = term else { return false };
    let is_pair = |column: &Expr, outside: &Expr| {
        matches!(column, Expr::Column(_))
            && outside.contains_outer()
            && outside.column_refs().is_empty()
    };
    is_pair(left, right) || is_pair(right, left)
}

fn refused(what: &str) -> Result<()> {
    not_impl_err!("{what} in a correlated subquery")
}

/// Whether the operators of a subquery refer to the outer query.
fn refers_outside(plan: &LogicalPlan) -> bool {
    let mut refers = false;
    let walk = plan.apply(|node| {
        if matches!(node, LogicalPlan::Subquery(_)) {
            return Ok(TreeNodeRecursion::Jump);
        }
        refers |= refers_outside_itself(node)?;
        Ok(if refers { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    });
    refers || walk.is_err()
}

fn refers_outside_itself(node: &LogicalPlan) -> Result<bool> {
    let mut refers = false;
    node.apply_expressions(|expr| {
        refers |= expr.contains_outer();
        Ok(if refers { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(refers)
}

/// Whether the unmatched rows of an outer join or a set operation depend on the outer query.
fn loses_rows_of_nulls(join: &Join) -> bool {
    let (left, right) = (refers_outside(&join.left), refers_outside(&join.right));
    let depends = match join.join_type {
        JoinType::Inner => return false,
        JoinType::Left | JoinType::LeftSemi | JoinType::LeftAnti | JoinType::LeftMark => right,
        JoinType::Right | JoinType::RightSemi | JoinType::RightAnti | JoinType::RightMark => left,
        JoinType::Full => left || right,
    };
    depends || join.filter.as_ref().is_some_and(Expr::contains_outer)
}

fn has_total(aggregate: &Aggregate) -> bool {
    aggregate.group_expr.iter().any(|key| matches!(key, Expr::GroupingSet(_)))
}

fn skips(limit: &Limit) -> Result<bool> {
    let skips = !matches!(limit.get_skip_type()?, SkipType::Literal(0));
    Ok(skips || matches!(limit.get_fetch_type()?, FetchType::UnsupportedExpr))
}
