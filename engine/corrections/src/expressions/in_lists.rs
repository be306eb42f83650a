// SPDX-License-Identifier: Apache-2.0
//! Keeps several IN lists of one value from being merged.
//!
//! DataFusion merges two IN lists of one value, and compares their items as they are written: it
//! rewrites `x IN (y, 1) AND x IN (z, 1)` to `x IN (1)`, though `y` may equal `z`, and
//! `x IN (1) AND x NOT IN (NULL)`, which no row passes, to `x IN (1)`. It folds
//! `x IN (1) AND x IN (2)` to false, and `x NOT IN (1) OR x NOT IN (2)` to true, where each is
//! unknown if `x` is NULL; that is another value in an output, and below NOT and OR.
//!
//! A barrier hides such lists from one another. In a conjunction of a filter, unknown has the
//! effect of false, so lists of constants in different terms stay unchanged.

use std::collections::{HashMap, HashSet};

use datafusion::{
    common::{
        DFSchema, Result,
        tree_node::{Transformed, TreeNode, TreeNodeRecursion},
    },
    logical_expr::{
        BinaryExpr, Cast, Expr, ExprSchemable, Filter, LogicalPlan, Operator, TryCast,
        expr::InList,
        utils::{conjunction, split_conjunction, split_conjunction_owned},
    },
};

use crate::{
    barrier,
    walk::{has_expression, map_whole_expressions},
};

/// Separates the lists of an operator whose merge would be another condition.
pub(super) fn separate(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let has_others = has_expression(&plan, is_list_of_others)?;
    match plan {
        LogicalPlan::Filter(filter) if !has_others => separate_in_terms(filter),
        other => map_whole_expressions(other, is_suspect, apart),
    }
}

/// Separates the lists within each term of a filter.
fn separate_in_terms(filter: Filter) -> Result<Transformed<LogicalPlan>> {
    let schema = filter.input.schema();
    let has_several = split_conjunction(&filter.predicate)
        .into_iter()
        .map(|term| Ok(!of_several_lists(term, schema)?.is_empty()))
        .collect::<Result<Vec<bool>>>()?;
    if !has_several.contains(&true) {
        return Ok(Transformed::no(LogicalPlan::Filter(filter)));
    }
    let Filter { predicate, input, .. } = filter;
    let terms = split_conjunction_owned(predicate.clone()).into_iter();
    let terms = terms.map(|term| Ok(apart(term, input.schema())?.data));
    let separated = conjunction(terms.collect::<Result<Vec<_>>>()?).unwrap_or(predicate);
    Ok(Transformed::yes(LogicalPlan::Filter(Filter::try_new(separated, input)?)))
}

/// Whether an expression is an IN list, or may be merged into one.
pub(super) fn is_suspect(expr: &Expr) -> bool {
    match expr {
        Expr::InList(_) | Expr::BinaryExpr(BinaryExpr { op: Operator::Or, .. }) => true,
        Expr::Not(below) => {
            matches!(**below, Expr::BinaryExpr(BinaryExpr { op: Operator::And, .. }))
        }
        _ => false,
    }
}

/// Whether an expression is a list with an item that is NULL or not constant.
fn is_list_of_others(expr: &Expr) -> bool {
    matches!(expr, Expr::InList(InList { list, .. }) if !list.iter().all(is_value))
}

/// Whether an expression is a constant that is not NULL, or folds to one.
fn is_value(expr: &Expr) -> bool {
    match expr {
        Expr::Cast(Cast { expr, .. }) => is_value(expr),
        other => other.as_literal().is_some_and(|value| !value.is_null()),
    }
}

/// Hides the value of the second and later lists of a value, if one merged list would be another
/// condition.
fn apart(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let split = of_several_lists(&expr, schema)?;
    if split.is_empty() {
        return Ok(Transformed::no(expr));
    }
    let mut counts: HashMap<Expr, usize> = HashMap::new();
    expr.transform_down(|part| {
        let Some(value) = listed(&part).filter(|value| split.contains(value)).cloned() else {
            return Ok(Transformed::no(part));
        };
        let below = below(&part);
        let count = counts.entry(value.clone()).or_default();
        let other = other_than(&value, &part);
        let hidden = (0..*count).fold(value.clone(), |expr, _| match &other {
            Some(other) => barrier::transient_beside(expr, other.clone()),
            None => barrier::transient(expr),
        });
        *count += 1;
        let part = part.transform_up(|expr| {
            Ok(match expr == value {
                true => Transformed::yes(hidden.clone()),
                false => Transformed::no(expr),
            })
        })?;
        Ok(Transformed::new(part.data, true, below))
    })
}

/// Returns the values that have several lists which must not be merged.
fn of_several_lists(expr: &Expr, schema: &DFSchema) -> Result<HashSet<Expr>> {
    let mut lists: HashMap<&Expr, (usize, bool)> = HashMap::new();
    expr.apply(|part| {
        let Some(value) = listed(part) else { return Ok(TreeNodeRecursion::Continue) };
        let (count, may_differ) = lists.entry(value).or_default();
        *count += 1;
        *may_differ |= part.exists(|it| Ok(is_list_of_others(it)))? || value.nullable(schema)?;
        Ok(below(part))
    })?;
    let several = lists.into_iter().filter(|(_, (count, may_differ))| *count > 1 && *may_differ);
    Ok(several.map(|(value, _)| value.clone()).collect())
}

/// Decides where the walk continues: equalities that are merged into a list are not lists
/// themselves.
const fn below(list: &Expr) -> TreeNodeRecursion {
    match list {
        Expr::InList(_) => TreeNodeRecursion::Continue,
        _ => TreeNodeRecursion::Jump,
    }
}

/// Returns the non-constant item of a list whose value is constant.
fn other_than(value: &Expr, list: &Expr) -> Option<Expr> {
    match list {
        Expr::InList(InList { list, .. }) if is_value(value) => {
            list.iter().find(|it| !is_value(it)).cloned()
        }
        _ => None,
    }
}

/// Returns the value of a list, or of `x = 1 OR x = 2`, which DataFusion merges into a list first,
/// or of `x <> 1 AND x <> 2`, which becomes such a disjunction below NOT.
fn listed(expr: &Expr) -> Option<&Expr> {
    let (left, right, is_negated) = match expr {
        Expr::InList(InList { expr, .. }) => return Some(without_casts(expr)),
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) => (left, right, false),
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => (left, right, true),
        _ => return None,
    };
    let (one, other) = (chosen(left, is_negated)?, chosen(right, is_negated)?);
    (one == other).then_some(one)
}

/// Returns the column that must equal one of some values, or none of them.
fn chosen(expr: &Expr, is_negated: bool) -> Option<&Expr> {
    let (equality, joined) = match is_negated {
        false => (Operator::Eq, Operator::Or),
        true => (Operator::NotEq, Operator::And),
    };
    let value = match expr {
        Expr::InList(list) if list.negated == is_negated => listed(expr),
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if *op == equality => {
            match (is_value(left), is_value(right)) {
                (false, true) => Some(without_casts(left)),
                (true, false) => Some(without_casts(right)),
                _ => None,
            }
        }
        Expr::BinaryExpr(BinaryExpr { op, .. }) if *op == joined => listed(expr),
        _ => None,
    };
    value.filter(|value| matches!(value, Expr::Column(_)))
}

/// Returns the value below casts, which DataFusion unwraps.
fn without_casts(expr: &Expr) -> &Expr {
    match expr {
        Expr::Cast(Cast { expr, .. }) | Expr::TryCast(TryCast { expr, .. }) => without_casts(expr),
        other => other,
    }
}
