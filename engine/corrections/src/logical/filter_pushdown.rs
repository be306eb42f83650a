// SPDX-License-Identifier: Apache-2.0
//! Corrects DataFusion's `push_down_filter`.
//!
//! ***Conditions without columns.** The rule pushes a condition below an aggregate if all its
//! columns are keys, so also one without columns, such as `(SELECT max(a) FROM u) > 100`. If that
//! is false, the aggregate has no input, but `SELECT count(*) .. HAVING ..` still returns its row.
//! Such a condition is not pushed down.
//!
//! ***Comparisons with constants.** Of several comparisons of one column with constants, the rule
//! keeps the narrowest. It assumes that `1 > a` is not narrower than `a <= 1`, and that `1 = a` and
//! `a = 1` exclude each other. Most constants are on the right by then, but not those that were
//! folded, as in `CAST('1' AS INT) > a`. This module swaps such comparisons.
//!
//! ***Barriers.** The rule offers conditions to table providers, which do not know our
//! [barriers](crate::barrier): barriers around columns are removed, and a condition that needs its
//! barrier is not offered.

use std::sync::Arc;

use datafusion::{
    common::{
        Result,
        tree_node::{Transformed, TreeNode},
    },
    logical_expr::{
        Aggregate, BinaryExpr, Expr, Filter, LogicalPlan, Operator,
        utils::{conjunction, split_conjunction, split_conjunction_owned},
    },
    optimizer::OptimizerConfig,
};

use crate::{barrier, registry::Correction, rule::LogicalRule, set::CorrectionSet};

/// Runs `push_down_filter` on an operator.
pub(crate) fn push_down(
    rule: &LogicalRule,
    plan: LogicalPlan,
    config: &dyn OptimizerConfig,
    enabled: CorrectionSet,
) -> Result<Transformed<LogicalPlan>> {
    if !matches!(plan, LogicalPlan::Filter(_)) {
        return rule.rewrite(plan, config);
    }
    if enabled.contains(Correction::KeepColumnlessHaving) && is_columnless_having(&plan) {
        return Ok(Transformed::no(plan));
    }
    let plan = match enabled.contains(Correction::NormalizeConstantComparisons) {
        true => with_constants_on_the_right(plan)?,
        false => plan,
    };
    match has_barrier_above_scan(&plan) {
        true => push_down_without_barriers(rule, plan, config),
        false => rule.rewrite(plan, config),
    }
}

/// Pushes down the terms of filters, except those that need their barrier.
fn push_down_without_barriers(
    rule: &LogicalRule,
    plan: LogicalPlan,
    config: &dyn OptimizerConfig,
) -> Result<Transformed<LogicalPlan>> {
    let (mut terms, mut input) = (Vec::new(), Arc::new(plan));
    while let LogicalPlan::Filter(filter) = input.as_ref() {
        terms.extend(split_conjunction_owned(filter.predicate.clone()));
        input = Arc::clone(&filter.input);
    }
    let (kept, offered): (Vec<Expr>, Vec<Expr>) = terms.into_iter().partition(needs_barrier);
    let offered = offered.into_iter().map(barrier::without_held).collect::<Result<Vec<_>>>()?;
    let below = match conjunction(offered) {
        Some(offered) => {
            rule.rewrite(LogicalPlan::Filter(Filter::try_new(offered, input)?), config)?
        }
        None => Transformed::no(Arc::unwrap_or_clone(input)),
    };
    match conjunction(kept) {
        Some(kept) => {
            below.map_data(|below| Ok(LogicalPlan::Filter(Filter::try_new(kept, Arc::new(below))?)))
        }
        None => Ok(below),
    }
}

/// Whether a plan is a scan with filters, which the rule merges, of which one has a barrier.
fn has_barrier_above_scan(plan: &LogicalPlan) -> bool {
    let is_barrier = |part: &Expr| barrier::is_held(part) || barrier::is_marked_nullable(part);
    let (mut plan, mut has_one) = (plan, false);
    while let LogicalPlan::Filter(Filter { predicate, input, .. }) = plan {
        has_one |= predicate.exists(|part| Ok(is_barrier(part))).unwrap_or(true);
        plan = input;
    }
    has_one && matches!(plan, LogicalPlan::TableScan(_))
}

/// Whether a term needs its barrier: the condition of a DELETE or UPDATE, or one on a subquery that
/// may have no row. A barrier around a column belongs to an operator above.
fn needs_barrier(term: &Expr) -> bool {
    let is_needed = |part: &Expr| {
        barrier::is_marked_nullable(part) || barrier::is_held(part) && !barrier::is_of_column(part)
    };
    term.exists(|part| Ok(is_needed(part))).unwrap_or(true)
}

/// Whether a plan is a condition without columns above an aggregate that always has a row. The rule
/// merges filters, so this inspects all of them.
fn is_columnless_having(plan: &LogicalPlan) -> bool {
    let (mut plan, mut has_one) = (plan, false);
    while let LogicalPlan::Filter(Filter { predicate, input, .. }) = plan {
        has_one |= has_term_without_columns(predicate);
        plan = input;
    }
    has_one && matches!(plan, LogicalPlan::Aggregate(aggregate) if always_has_a_row(aggregate))
}

fn always_has_a_row(aggregate: &Aggregate) -> bool {
    let keys = &aggregate.group_expr;
    keys.is_empty() || keys.iter().any(|key| matches!(key, Expr::GroupingSet(_)))
}

fn has_term_without_columns(predicate: &Expr) -> bool {
    split_conjunction(predicate).into_iter().any(|term| term.column_refs().is_empty())
}

/// Swaps comparisons so that constants are on the right, in a filter and in those directly below,
/// which the rule merges.
fn with_constants_on_the_right(plan: LogicalPlan) -> Result<LogicalPlan> {
    if !has_constant_on_the_left(&plan) {
        return Ok(plan);
    }
    let LogicalPlan::Filter(Filter { predicate, input, .. }) = plan else { return Ok(plan) };
    let input = match input.as_ref() {
        LogicalPlan::Filter(_) => {
            Arc::new(with_constants_on_the_right(Arc::unwrap_or_clone(input))?)
        }
        _ => input,
    };
    let terms = split_conjunction_owned(predicate.clone()).into_iter().map(swapped_term);
    let predicate = conjunction(terms).unwrap_or(predicate);
    Ok(LogicalPlan::Filter(Filter::try_new(predicate, input)?))
}

fn has_constant_on_the_left(plan: &LogicalPlan) -> bool {
    let LogicalPlan::Filter(Filter { predicate, input, .. }) = plan else { return false };
    let is_swapped = |term: &&Expr| swapped(term).is_some();
    split_conjunction(predicate).iter().any(is_swapped) || has_constant_on_the_left(input)
}

/// Returns a comparison with its constant on the right.
fn swapped_term(term: Expr) -> Expr {
    match (swapped(&term), term) {
        (Some(op), Expr::BinaryExpr(BinaryExpr { left, right, .. })) => {
            Expr::BinaryExpr(BinaryExpr { left: right, op, right: left })
        }
        (_, term) => term,
    }
}

/// Returns the operator for swapped sides, if the constant of a comparison is on the left.
fn swapped(term: &Expr) -> Option<Operator> {
    let Expr::BinaryExpr(BinaryExpr { left, op, right }) = term else { return None };
    let is_swapped = left.as_literal().is_some() && right.as_literal().is_none();
    is_swapped.then(|| op.swap()).flatten()
}
