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
        BinaryExpr, Cast, Expr, ExprSchemable, Filter, LogicalPlan, Operator,
        expr::InList,
        utils::{conjunction, split_conjunction_owned},
    },
};

use super::{as_is, has_expression, map_whole_expressions};

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
    matches!(expr, Expr::InList(_) | Expr::BinaryExpr(BinaryExpr { op: Operator::Or, .. }))
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
    let in_lists = expr.clone().transform_up(|expr| Ok(as_list(expr)))?.data;
    let split = of_several_lists(&in_lists, schema)?;
    if split.is_empty() {
        return Ok(Transformed::no(expr));
    }
    let mut counts: HashMap<Expr, usize> = HashMap::new();
    in_lists.transform_up(|expr| {
        let Expr::InList(list) = expr else { return Ok(Transformed::no(expr)) };
        if !split.contains(&list.expr) {
            return Ok(Transformed::no(Expr::InList(list)));
        }
        let count = counts.entry(*list.expr.clone()).or_default();
        let hidden = (0..*count).fold(*list.expr, |expr, _| as_is::call(expr));
        *count += 1;
        Ok(Transformed::yes(Expr::InList(InList { expr: Box::new(hidden), ..list })))
    })
}

/// What several lists are about of which one must not be made.
fn of_several_lists(expr: &Expr, schema: &DFSchema) -> Result<HashSet<Expr>> {
    let mut lists: HashMap<&Expr, (usize, bool)> = HashMap::new();
    expr.apply(|part| {
        if let Expr::InList(list) = part {
            let (count, may_differ) = lists.entry(&list.expr).or_default();
            *count += 1;
            *may_differ |= is_list_of_others(part) || list.expr.nullable(schema)?;
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    let several = lists.into_iter().filter(|(_, (count, may_differ))| *count > 1 && *may_differ);
    Ok(several.map(|(expr, _)| expr.clone()).collect())
}

/// `x = 1 OR x = 2` as a list, which DataFusion makes of it first.
fn as_list(expr: Expr) -> Transformed<Expr> {
    let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) = &expr else {
        return Transformed::no(expr);
    };
    match (values(left), values(right)) {
        (Some((column, mut list)), Some((other, more))) if column == other => {
            list.extend(more);
            Transformed::yes(column.clone().in_list(list, false))
        }
        _ => Transformed::no(expr),
    }
}

/// A column and what it may be.
fn values(expr: &Expr) -> Option<(&Expr, Vec<Expr>)> {
    match expr {
        Expr::InList(InList { expr, list, negated: false }) => match expr.as_ref() {
            column @ Expr::Column(_) => Some((column, list.clone())),
            _ => None,
        },
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) => match (&**left, &**right)
        {
            (column @ Expr::Column(_), value) | (value, column @ Expr::Column(_)) => {
                is_value(value).then(|| (column, vec![value.clone()]))
            }
            _ => None,
        },
        _ => None,
    }
}
