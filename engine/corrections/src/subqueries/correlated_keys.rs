// SPDX-License-Identifier: Apache-2.0
//! Gives unique names to the keys that correlated subqueries are joined by.
//!
//! DataFusion adds the columns of correlated conditions to the output of the subquery, and
//! qualifies all of them with one alias: the keys of `u.k = t.p AND v.k = t.q` both became `sq.k`,
//! and one of them was compared twice. Of an expression such as `CAST(v.ts AS DATE) = t.d` it adds
//! the column, so an aggregate had a group for each `ts`. [`name`] computes the keys below the
//! condition, under unique names.

use std::sync::Arc;

use datafusion::{
    arrow::datatypes::FieldRef,
    common::{
        Column, JoinType, Result,
        tree_node::{Transformed, TreeNode},
    },
    logical_expr::{
        BinaryExpr, Expr, Filter, LogicalPlan, LogicalPlanBuilder, Projection, Subquery,
        utils::{conjunction, split_conjunction},
    },
};

use super::is_correlated;
use crate::walk::{is_comparison, rewrite, with_recomputed_schema};

/// Computes the keys of correlated conditions under unique names.
pub(crate) fn name(plan: LogicalPlan) -> Result<LogicalPlan> {
    let mut count = 0;
    let has_one = |node: &LogicalPlan| {
        Ok(matches!(node, LogicalPlan::Subquery(subquery)
            if is_correlated(subquery) && has_unnamed_key(&subquery.subquery)))
    };
    rewrite(plan, has_one, |node| match node {
        LogicalPlan::Subquery(subquery) if is_correlated(&subquery) => {
            let named = named(&subquery.subquery, &mut count)?;
            Ok(named.update_data(|plan| {
                LogicalPlan::Subquery(Subquery { subquery: Arc::new(plan), ..subquery })
            }))
        }
        other => Ok(Transformed::no(other)),
    })
}

/// Gives unique names to the keys of a subquery, if they need them.
fn named(subquery: &LogicalPlan, count: &mut usize) -> Result<Transformed<LogicalPlan>> {
    let is_shared = |column: &Column| is_shared_in(subquery, column);
    let columns = subquery.schema().columns();
    let named = below(subquery.clone(), false, &mut |filter, is_in_parts| {
        with_keys(filter, |column| is_in_parts || is_shared(column), count)
    })?;
    // An operator above may depend on the number of columns.
    named.map_data(|plan| match plan.schema().columns() == columns {
        true => Ok(plan),
        false => {
            let columns = columns.into_iter().map(Expr::Column);
            LogicalPlanBuilder::from(plan).project(columns)?.build()
        }
    })
}

/// Whether a key of a subquery needs a unique name.
fn has_unnamed_key(subquery: &LogicalPlan) -> bool {
    has_unnamed_key_below(subquery, false, &|column| is_shared_in(subquery, column))
}

fn has_unnamed_key_below(
    plan: &LogicalPlan,
    is_in_parts: bool,
    is_shared: &dyn Fn(&Column) -> bool,
) -> bool {
    if !has_keys(plan) {
        return false;
    }
    let is_alias = matches!(plan, LogicalPlan::SubqueryAlias(_));
    let is_unnamed = |term: &Expr| {
        let needs = |side: &Expr| needs_name(side, |column| is_in_parts || is_shared(column));
        let is_computed = matches!(term, Expr::BinaryExpr(BinaryExpr { left, op, right })
            if is_comparison(*op) && (needs(left) || needs(right)));
        let is_column = |part: &Expr| matches!(part, Expr::Column(_)) && needs(part);
        term.contains_outer()
            && (is_computed || term.exists(|part| Ok(is_column(part))).unwrap_or(true))
    };
    matches!(plan, LogicalPlan::Filter(filter)
        if split_conjunction(&filter.predicate).into_iter().any(is_unnamed))
        || plan
            .inputs()
            .into_iter()
            .any(|input| has_unnamed_key_below(input, is_in_parts || is_alias, is_shared))
}

/// Whether the filters of an operator, and below it, get keys. Inputs of a union must have the same
/// columns, so they get no keys; correlated unions are rejected.
const fn has_keys(plan: &LogicalPlan) -> bool {
    !matches!(plan, LogicalPlan::Subquery(_) | LogicalPlan::Union(_))
}

/// The change of a filter; the second argument is that of [`below`].
type Change<'a> = &'a mut dyn FnMut(Filter, bool) -> Result<Transformed<LogicalPlan>>;

/// Changes the correlated filters of a plan, except those of nested subqueries. `is_in_parts` is
/// whether an alias is above, as of a table in FROM: it exposes only the columns of its query, so
/// the filters below it need keys too.
fn below(
    plan: LogicalPlan,
    is_in_parts: bool,
    change: Change<'_>,
) -> Result<Transformed<LogicalPlan>> {
    if !has_keys(&plan) {
        return Ok(Transformed::no(plan));
    }
    let is_alias = matches!(plan, LogicalPlan::SubqueryAlias(_));
    let plan = plan.map_children(|input| below(input, is_in_parts || is_alias, change))?;
    let plan = match plan.transformed {
        true => plan.map_data(with_recomputed_schema)?,
        false => plan,
    };
    plan.transform_data(|plan| match plan {
        LogicalPlan::Filter(filter) if filter.predicate.contains_outer() => {
            change(filter, is_in_parts)
        }
        LogicalPlan::Projection(projection) if is_in_parts => with_keys_of_input(projection),
        other => Ok(Transformed::no(other)),
    })
}

/// Prefix of the names of keys.
const KEY: &str = "key of a subquery ";

fn is_key(column: &Column) -> bool {
    column.name.starts_with(KEY)
}

/// Adds the keys that are computed below to a projection. Operators above could not refer to them
/// otherwise.
fn with_keys_of_input(projection: Projection) -> Result<Transformed<LogicalPlan>> {
    let is_there = |key: &Column| projection.expr.iter().any(|expr| expr.try_as_col() == Some(key));
    let columns = projection.input.schema().columns().into_iter();
    let missing: Vec<Expr> =
        columns.filter(|column| is_key(column) && !is_there(column)).map(Expr::Column).collect();
    if missing.is_empty() {
        return Ok(Transformed::no(LogicalPlan::Projection(projection)));
    }
    let expr = [projection.expr, missing].concat();
    Projection::try_new(expr, projection.input).map(LogicalPlan::Projection).map(Transformed::yes)
}

/// Adds the keys of a filter as columns to its input, if a key is shared or computed.
fn with_keys(
    filter: Filter,
    is_shared: impl Fn(&Column) -> bool,
    count: &mut usize,
) -> Result<Transformed<LogicalPlan>> {
    let mut keys: Vec<Expr> = Vec::new();
    let mut named = |key: &Expr| {
        *count += 1;
        let name = format!("{KEY}{count}");
        keys.push(key.clone().alias(&name));
        Expr::Column(Column::new_unqualified(name))
    };
    let mut terms = Vec::new();
    for term in split_conjunction(&filter.predicate) {
        let term = match term {
            Expr::BinaryExpr(BinaryExpr { left, op, right }) if is_comparison(*op) => {
                let mut side = |side: &Expr| match needs_name(side, &is_shared) {
                    true => named(side),
                    false => side.clone(),
                };
                let (left, right) = match (left.contains_outer(), right.contains_outer()) {
                    (true, false) => (left.as_ref().clone(), side(right)),
                    (false, true) => (side(left), right.as_ref().clone()),
                    _ => (left.as_ref().clone(), right.as_ref().clone()),
                };
                Expr::BinaryExpr(BinaryExpr {
                    left: Box::new(left),
                    op: *op,
                    right: Box::new(right),
                })
            }
            other => other.clone(),
        };
        let term = match term.contains_outer() {
            false => term,
            true => {
                let columns = term.transform_down(|part| {
                    Ok(match &part {
                        Expr::Column(column) if is_shared(column) && !is_key(column) => {
                            Transformed::yes(named(&part))
                        }
                        _ => Transformed::no(part),
                    })
                })?;
                columns.data
            }
        };
        terms.push(term);
    }
    match conjunction(terms) {
        Some(predicate) if !keys.is_empty() => {
            let columns = filter.input.schema().columns().into_iter().map(Expr::Column);
            let rows = LogicalPlanBuilder::from(filter.input.as_ref().clone());
            let rows = rows.project(columns.chain(keys))?.filter(predicate)?;
            Ok(Transformed::yes(rows.build()?))
        }
        _ => Ok(Transformed::no(LogicalPlan::Filter(filter))),
    }
}

/// Whether the inner side of a correlated comparison is not a column with a unique name.
fn needs_name(side: &Expr, is_shared: impl Fn(&Column) -> bool) -> bool {
    match side {
        Expr::Column(column) => is_shared(column),
        other => !other.column_refs().is_empty() && !other.is_volatile(),
    }
}

/// Whether a subquery has several columns of a name, each counted where it is read or computed.
fn is_shared_in(subquery: &LogicalPlan, column: &Column) -> bool {
    count_sources(subquery, &column.name) > 1
}

fn count_sources(plan: &LogicalPlan, name: &str) -> usize {
    let fields = plan.schema().fields().iter();
    let is_of_input =
        || plan.inputs().iter().any(|input| input.schema().has_column_with_unqualified_name(name));
    let is_named = |field: &FieldRef| field.name() == name;
    let made = match plan {
        LogicalPlan::Projection(projection) => {
            let is_passed_on =
                |expr: &Expr| matches!(expr, Expr::Column(column) if column.name == name);
            let outputs = projection.expr.iter().zip(fields);
            outputs.filter(|(expr, field)| is_named(field) && !is_passed_on(expr)).count()
        }
        LogicalPlan::Aggregate(_) | LogicalPlan::Window(_) | LogicalPlan::Unnest(_)
            if is_of_input() =>
        {
            0
        }
        LogicalPlan::Aggregate(_) | LogicalPlan::Window(_) | LogicalPlan::Unnest(_) => {
            fields.filter(|field| is_named(field)).count()
        }
        source if source.inputs().is_empty() => fields.filter(|field| is_named(field)).count(),
        _ => 0,
    };
    let seen = match plan {
        // Operators above do not see the columns of the other side.
        LogicalPlan::Join(join) => match join.join_type {
            JoinType::LeftSemi | JoinType::LeftAnti | JoinType::LeftMark => {
                vec![join.left.as_ref()]
            }
            JoinType::RightSemi | JoinType::RightAnti | JoinType::RightMark => {
                vec![join.right.as_ref()]
            }
            JoinType::Inner | JoinType::Left | JoinType::Right | JoinType::Full => plan.inputs(),
        },
        _ => plan.inputs(),
    };
    made + seen.into_iter().map(|input| count_sources(input, name)).sum::<usize>()
}
