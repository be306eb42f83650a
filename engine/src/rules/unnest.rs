// SPDX-License-Identifier: Apache-2.0
//! Rows that `unnest` makes several of.
//!
//! Of what goes in DataFusion may know that no two rows have the same keys, of `GROUP BY a` as of
//! DISTINCT or a primary key. It says so of what comes out too, where each row may be there several
//! times, and then leaves out joins, keys of sorts and DISTINCT. So what goes in are expressions,
//! of which nothing is known.
//!
//! `GROUP BY a` over such rows has become `GROUP BY a, x` by then, with what `unnest` made, because
//! `a` seemed to be a key. Whether the query says so cannot be seen. Where it does not use `x` it
//! is refused.

use std::sync::Arc;

use datafusion::{
    common::{
        Column, Result,
        config::ConfigOptions,
        not_impl_err,
        tree_node::{Transformed, TreeNode, TreeNodeRecursion},
    },
    logical_expr::{Aggregate, Expr, LogicalPlan, Projection, SubqueryAlias, Unnest},
    optimizer::AnalyzerRule,
};

use super::{as_is, plans::rewrite};

/// Keeps what is known from it.
#[derive(Debug)]
pub(super) struct Unnested;

impl AnalyzerRule for Unnested {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        plan.apply_with_subqueries(|node| {
            refuse_guessed_keys(node)?;
            Ok(TreeNodeRecursion::Continue)
        })?;
        rewrite(plan, |node| match node {
            LogicalPlan::Unnest(unnest) if has_keys(&unnest.input) => {
                let hidden = unnest.input.schema().iter().map(|(qualifier, field)| {
                    let column = Expr::from((qualifier, field));
                    as_is::call(column).alias_qualified(qualifier.cloned(), field.name())
                });
                let input = Projection::try_new(hidden.collect(), Arc::clone(&unnest.input))?;
                let input = Arc::new(LogicalPlan::Projection(input));
                Ok(Transformed::yes(LogicalPlan::Unnest(Unnest { input, ..unnest })))
            }
            other => Ok(Transformed::no(other)),
        })
    }

    fn name(&self) -> &'static str {
        "unnested"
    }
}

/// Whether something may be known of the rows, now or when DISTINCT has become an aggregate.
fn has_keys(plan: &LogicalPlan) -> bool {
    let is_distinct = |node: &LogicalPlan| Ok(matches!(node, LogicalPlan::Distinct(_)));
    !plan.schema().functional_dependencies().is_empty() || plan.exists(is_distinct).unwrap_or(true)
}

/// Errors when a query without GROUP BY of a column may have got it.
fn refuse_guessed_keys(plan: &LogicalPlan) -> Result<()> {
    let LogicalPlan::Projection(Projection { expr, input, .. }) = plan else { return Ok(()) };
    let (mut used, mut rows) = (expr.clone(), input.as_ref());
    while let LogicalPlan::Filter(_) | LogicalPlan::Sort(_) | LogicalPlan::Window(_) = rows {
        used.extend(rows.expressions());
        rows = rows.inputs()[0];
    }
    let LogicalPlan::Aggregate(aggregate) = rows else { return Ok(()) };
    let is_used = |column: &Column| used.iter().any(|expr| expr.column_refs().contains(column));
    match guessed_keys(aggregate).find(|column| !is_used(column)) {
        Some(column) => not_impl_err!(
            "GROUP BY over unnest of grouped rows, where {column} may or may not be a key; \
             group by an expression, as coalesce(key)"
        ),
        None => Ok(()),
    }
}

/// The keys that other keys seem to determine, among what `unnest` has made.
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

/// Whether a column is what `unnest` made, or depends on it.
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
