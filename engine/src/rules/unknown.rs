// SPDX-License-Identifier: Apache-2.0
//! Conditions that are unknown.
//!
//! DataFusion makes false of `x IN (1) AND x IN (2)`, true of `x NOT IN (1) OR x NOT IN (2)`, and
//! false or true of `x ~ '.*'`. With NULL each is unknown, which is another value in an output, and
//! below NOT, and OR. Lists of one column are hidden from one another, see [`as_is`], and of
//! `x ~ '.*'` it is said that it is true of texts and unknown of NULL.
//!
//! Where all terms of a filter must be true, unknown is as good as false: there lists of different
//! terms are left alone.

use std::collections::HashMap;

use datafusion::{
    common::{
        DFSchema, Result,
        tree_node::{Transformed, TreeNode},
    },
    logical_expr::{
        BinaryExpr, Cast, Expr, ExprSchemable, Filter, LogicalPlan, Operator,
        expr::InList,
        lit,
        utils::{conjunction, split_conjunction_owned},
    },
    scalar::ScalarValue,
};

use super::{as_is, has_expression, map_whole_expressions};

/// A plan whose conditions stay unknown where they are.
pub(super) fn keep(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    if !has_expression(&plan, may_be_unknown)? {
        return Ok(Transformed::no(plan));
    }
    if let LogicalPlan::Filter(Filter { predicate, input, .. }) = plan {
        let terms = split_conjunction_owned(predicate.clone()).into_iter();
        let terms = terms.map(|term| kept(term, input.schema()));
        let terms = terms.collect::<Result<Vec<_>>>()?;
        let is_changed = terms.iter().any(|term| term.transformed);
        let kept = conjunction(terms.into_iter().map(|term| term.data)).unwrap_or(predicate);
        let filter = LogicalPlan::Filter(Filter::try_new(kept, input)?);
        return Ok(Transformed::new_transformed(filter, is_changed));
    }
    map_whole_expressions(plan, may_be_unknown, kept)
}

/// Whether it is a list or a pattern.
const fn may_be_unknown(expr: &Expr) -> bool {
    match expr {
        Expr::InList(_) => true,
        Expr::BinaryExpr(BinaryExpr { op, .. }) => is_match(*op),
        _ => false,
    }
}

const fn is_match(operator: Operator) -> bool {
    matches!(operator, Operator::RegexMatch | Operator::RegexIMatch)
}

/// A condition in which each list of a column but the first is about another expression.
fn kept(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let mut lists: HashMap<Expr, usize> = HashMap::new();
    expr.transform_up(|expr| match expr {
        Expr::InList(list) if list.expr.nullable(schema)? => {
            let count = lists.entry(*list.expr.clone()).or_default();
            *count += 1;
            Ok(match *count {
                1 => Transformed::no(Expr::InList(list)),
                other => {
                    let hidden = (1..other).fold(*list.expr, |expr, _| as_is::call(expr));
                    Transformed::yes(Expr::InList(InList { expr: Box::new(hidden), ..list }))
                }
            })
        }
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if is_match(op) && is_any_text(&right) => {
            Ok(Transformed::yes(left.is_not_null().or(lit(ScalarValue::Boolean(None)))))
        }
        other => Ok(Transformed::no(other)),
    })
}

/// Whether it is the pattern of all texts, or will be when it is worked out.
fn is_any_text(pattern: &Expr) -> bool {
    match pattern {
        Expr::Cast(Cast { expr, .. }) => is_any_text(expr),
        other => other.as_literal().and_then(ScalarValue::try_as_str).flatten() == Some(".*"),
    }
}
