// SPDX-License-Identifier: Apache-2.0
//! Lists of what a value may be.
//!
//! DataFusion makes one list of two that are about one value. It compares what is in them as it is
//! written: of `x IN (y, 1) AND x IN (z, 1)` it makes `x IN (1)`, though `y` may be what `z` is,
//! and of `x IN (1) AND x NOT IN (NULL)`, which no row passes, it makes `x IN (1)`. And it makes
//! false of `x IN (1) AND x IN (2)`, and true of `x NOT IN (1) OR x NOT IN (2)`. With NULL for `x`
//! each is unknown, which is another value in an output, and below NOT, and OR.
//!
//! There, such lists are hidden from one another, see [`as_is`]. Where all terms of a filter must
//! be true, unknown is as good as false: lists of constants in different terms are left alone.

use std::collections::{HashMap, HashSet};

use datafusion::{
    common::{
        DFSchema, Result,
        tree_node::{Transformed, TreeNode, TreeNodeRecursion},
    },
    logical_expr::{
        BinaryExpr, Cast, Expr, ExprSchemable, Filter, LogicalPlan, Operator, TryCast,
        expr::InList,
        utils::{conjunction, split_conjunction_owned},
    },
};

use super::{
    as_is,
    plans::{has_expression, map_whole_expressions},
};

/// A plan whose lists stay apart where one list would be another condition.
pub(super) fn keep_apart(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    if !has_expression(&plan, is_list)? {
        return Ok(Transformed::no(plan));
    }
    let has_others = has_expression(&plan, is_list_of_others)?;
    match plan {
        LogicalPlan::Filter(Filter { predicate, input, .. }) if !has_others => {
            let terms = split_conjunction_owned(predicate.clone()).into_iter();
            let terms = terms.map(|term| apart(term, input.schema()));
            let terms = terms.collect::<Result<Vec<_>>>()?;
            let is_changed = terms.iter().any(|term| term.transformed);
            let all = conjunction(terms.into_iter().map(|term| term.data)).unwrap_or(predicate);
            let filter = LogicalPlan::Filter(Filter::try_new(all, input)?);
            Ok(Transformed::new_transformed(filter, is_changed))
        }
        other => map_whole_expressions(other, is_list, apart),
    }
}

/// Whether it is a list, or may be made one.
const fn is_list(expr: &Expr) -> bool {
    match expr {
        Expr::InList(_) | Expr::BinaryExpr(BinaryExpr { op: Operator::Or, .. }) => true,
        Expr::Not(below) => {
            matches!(**below, Expr::BinaryExpr(BinaryExpr { op: Operator::And, .. }))
        }
        _ => false,
    }
}

/// Whether it is a list with something that is not a constant, or NULL.
fn is_list_of_others(expr: &Expr) -> bool {
    matches!(expr, Expr::InList(InList { list, .. }) if !list.iter().all(is_value))
}

/// Whether it is a constant that is not NULL, or will be when it is worked out.
fn is_value(expr: &Expr) -> bool {
    match expr {
        Expr::Cast(Cast { expr, .. }) => is_value(expr),
        other => other.as_literal().is_some_and(|value| !value.is_null()),
    }
}

/// An expression in which each list of a value but the first is about another expression, if one
/// list would not be the same condition.
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
            Some(other) => as_is::call_beside(expr, other.clone()),
            None => as_is::call(expr),
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

/// What several lists are about of which one must not be made.
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

/// Where to look for the next list: equalities of which one list is made are no lists of their own.
const fn below(list: &Expr) -> TreeNodeRecursion {
    match list {
        Expr::InList(_) => TreeNodeRecursion::Continue,
        _ => TreeNodeRecursion::Jump,
    }
}

/// What a list has that is not constant, where the value that it is about is.
fn other_than(value: &Expr, list: &Expr) -> Option<Expr> {
    match list {
        Expr::InList(InList { list, .. }) if is_value(value) => {
            list.iter().find(|it| !is_value(it)).cloned()
        }
        _ => None,
    }
}

/// What a list is about, or `x = 1 OR x = 2`, of which DataFusion makes one before the others, or
/// `x <> 1 AND x <> 2`, of which below NOT it makes that.
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

/// The column that must be one of some values, or this value, or none of them.
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

/// DataFusion compares what was cast with other constants instead, where it can.
fn without_casts(expr: &Expr) -> &Expr {
    match expr {
        Expr::Cast(Cast { expr, .. }) | Expr::TryCast(TryCast { expr, .. }) => without_casts(expr),
        other => other,
    }
}
