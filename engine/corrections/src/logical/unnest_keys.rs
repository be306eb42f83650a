// SPDX-License-Identifier: Apache-2.0
//! Hides functional dependencies from `unnest`.
//!
//! The input of `unnest` may have unique keys, for example after `GROUP BY a` or DISTINCT.
//! DataFusion keeps this property above `unnest`, although rows are repeated there, and then
//! removes joins, sort keys and DISTINCT. So this module puts a projection of expressions between,
//! which has no functional dependencies.
//!
//! `GROUP BY a` over such rows has become `GROUP BY a, x` by then, with a column of `unnest`,
//! because `a` seemed to be a key. In SQL the end of the written keys is
//! [marked](crate::statement::group_keys), and added keys that the query does not use are removed:
//!
//! ```text
//! Aggregate: groupBy=[a, 'end of the keys', x]   =>   Aggregate: groupBy=[a]
//! ```
//!
//! Plans that were not made from SQL have no mark, so such a key is refused.

use std::sync::Arc;

use datafusion::{
    common::{
        Column, Result, not_impl_err,
        tree_node::{Transformed, TreeNode, TreeNodeRecursion},
    },
    logical_expr::{Aggregate, Expr, LogicalPlan, Projection, SubqueryAlias, Unnest},
    scalar::ScalarValue,
};

use crate::{barrier, statement::group_keys::END_OF_KEYS, walk::rewrite};

/// Hides functional dependencies from `unnest`.
///
/// # Errors
/// `NotImplemented` if a group key may have been added because of them.
pub(crate) fn hide(plan: LogicalPlan) -> Result<LogicalPlan> {
    plan.apply_with_subqueries(|node| {
        refuse_guessed_keys(node)?;
        Ok(TreeNodeRecursion::Continue)
    })?;
    let is_projection = |node: &LogicalPlan| Ok(matches!(node, LogicalPlan::Projection(_)));
    let plan = rewrite(plan, is_projection, |node| match node {
        LogicalPlan::Projection(projection) => without_added_keys(projection),
        other => Ok(Transformed::no(other)),
    })?;
    let is_unnest = |node: &LogicalPlan| Ok(matches!(node, LogicalPlan::Unnest(_)));
    rewrite(plan, is_unnest, |node| match node {
        LogicalPlan::Unnest(unnest) if has_keys(&unnest.input) => {
            let hidden = unnest.input.schema().iter().map(|(qualifier, field)| {
                let column = Expr::from((qualifier, field));
                barrier::hold(column).alias_qualified(qualifier.cloned(), field.name())
            });
            let input = Projection::try_new(hidden.collect(), Arc::clone(&unnest.input))?;
            let input = Arc::new(LogicalPlan::Projection(input));
            Ok(Transformed::yes(LogicalPlan::Unnest(Unnest { input, ..unnest })))
        }
        other => Ok(Transformed::no(other)),
    })
}

/// Removes the added keys below a projection, except those that the query uses.
fn without_added_keys(projection: Projection) -> Result<Transformed<LogicalPlan>> {
    let plan = LogicalPlan::Projection(projection);
    let mut used = plan.expressions();
    let mut between = vec![&plan];
    let mut rows = plan.inputs()[0];
    while let LogicalPlan::Filter(_) | LogicalPlan::Sort(_) | LogicalPlan::Window(_) = rows {
        used.extend(rows.expressions());
        between.push(rows);
        rows = rows.inputs()[0];
    }
    let LogicalPlan::Aggregate(aggregate) = rows else { return Ok(Transformed::no(plan)) };
    let Some(end) = end_of_keys(aggregate) else { return Ok(Transformed::no(plan)) };
    let is_used = |key: &&Expr| {
        let column = key.try_as_col();
        column.is_none_or(|column| used.iter().any(|expr| expr.column_refs().contains(column)))
    };
    let added = aggregate.group_expr[end + 1..].iter().filter(is_used);
    let keys = aggregate.group_expr[..end].iter().chain(added).cloned().collect();
    let groups =
        Aggregate::try_new(Arc::clone(&aggregate.input), keys, aggregate.aggr_expr.clone())?;
    let groups = LogicalPlan::Aggregate(groups);
    let plan = between
        .into_iter()
        .rev()
        .try_fold(groups, |below, above| above.with_new_exprs(above.expressions(), vec![below]))?;
    Ok(Transformed::yes(plan))
}

/// Returns the position of the mark among the keys of an aggregate.
fn end_of_keys(aggregate: &Aggregate) -> Option<usize> {
    let is_mark = |key: &Expr| {
        let text = key.as_literal().and_then(ScalarValue::try_as_str).flatten();
        text == Some(END_OF_KEYS)
    };
    aggregate.group_expr.iter().position(is_mark)
}

/// Whether rows may have functional dependencies, now or after DISTINCT has become an aggregate.
fn has_keys(plan: &LogicalPlan) -> bool {
    let is_distinct = |node: &LogicalPlan| Ok(matches!(node, LogicalPlan::Distinct(_)));
    !plan.schema().functional_dependencies().is_empty() || plan.exists(is_distinct).unwrap_or(true)
}

/// Returns an error if a group key may have been added that the query does not have.
fn refuse_guessed_keys(plan: &LogicalPlan) -> Result<()> {
    let LogicalPlan::Projection(Projection { expr, input, .. }) = plan else { return Ok(()) };
    let (mut used, mut rows) = (expr.clone(), input.as_ref());
    while let LogicalPlan::Filter(_) | LogicalPlan::Sort(_) | LogicalPlan::Window(_) = rows {
        used.extend(rows.expressions());
        rows = rows.inputs()[0];
    }
    let LogicalPlan::Aggregate(aggregate) = rows else { return Ok(()) };
    if end_of_keys(aggregate).is_some() {
        return Ok(());
    }
    let is_used = |column: &Column| used.iter().any(|expr| expr.column_refs().contains(column));
    match guessed_keys(aggregate).find(|column| !is_used(column)) {
        Some(column) => not_impl_err!(
            "GROUP BY above unnest of grouped rows, if it is not known whether {column} is a key; \
             group by an expression such as coalesce(key)"
        ),
        None => Ok(()),
    }
}

/// Returns the keys from `unnest` that other keys seem to determine.
fn guessed_keys(aggregate: &Aggregate) -> impl Iterator<Item = &Column> {
    let schema = aggregate.input.schema();
    let keys: Vec<&Column> = aggregate.group_expr.iter().filter_map(Expr::try_as_col).collect();
    let at = |key: &&Column| schema.maybe_index_of_column(key);
    let positions: Vec<usize> = keys.iter().filter_map(at).collect();
    let guessed: Vec<usize> = schema
        .functional_dependencies()
        .iter()
        .filter(|known| known.source_indices.iter().all(|source| positions.contains(source)))
        .flat_map(|known| {
            let is_source = |target: &usize| known.source_indices.contains(target);
            known.target_indices.iter().copied().filter(move |target| !is_source(target))
        })
        .collect();
    let is_guessed = move |key: &&Column| at(key).is_some_and(|at| guessed.contains(&at));
    keys.into_iter().filter(is_guessed).filter(|key| is_unnested(&aggregate.input, key))
}

/// Whether a column is an output of `unnest`, or depends on one.
fn is_unnested(plan: &LogicalPlan, column: &Column) -> bool {
    let Some(at) = plan.schema().maybe_index_of_column(column) else { return false };
    match plan {
        LogicalPlan::Projection(Projection { expr, input, .. }) => {
            expr[at].column_refs().into_iter().any(|part| is_unnested(input, part))
        }
        LogicalPlan::SubqueryAlias(SubqueryAlias { input, .. }) => {
            is_unnested(input, &Column::from(input.schema().qualified_field(at)))
        }
        LogicalPlan::Unnest(unnest)
            if unnest.list_type_columns.iter().any(|(_, list)| list.output_column == *column) =>
        {
            true
        }
        other => other.inputs().into_iter().any(|input| is_unnested(input, column)),
    }
}
