// SPDX-License-Identifier: Apache-2.0
//! Generates smaller queries, each without one part of a query, larger parts first.
//!
//! A candidate need not be valid; the caller finds out. None has a LIMIT without an order, whose
//! rows would be up to the engine.

use std::ops::ControlFlow;

use sqlparser::{
    ast::{
        Expr, GroupByExpr, Query, Select, SetExpr, Statement, TableFactor, VisitMut, VisitorMut,
    },
    dialect::GenericDialect,
    parser::Parser,
};

/// Whether the rows of a query have an order.
pub(super) fn is_ordered(sql: &str) -> bool {
    matches!(parse(sql), Some(Statement::Query(query)) if query.order_by.is_some())
}

/// All queries that are smaller by one part; none of what is no query.
pub(super) fn smaller(sql: &str) -> Vec<String> {
    let Some(statement) = parse(sql) else { return Vec::new() };
    let mut made = Vec::new();
    for target in 0.. {
        let mut any = false;
        for variant in 0.. {
            let mut copy = statement.clone();
            let mut edit = Edit { target, variant, seen: 0, outcome: Outcome::NotReached };
            let _: ControlFlow<()> = copy.visit(&mut edit);
            match edit.outcome {
                Outcome::NotReached => break,
                Outcome::NoSuchVariant => {
                    any = true;
                    break;
                }
                Outcome::Made => {
                    any = true;
                    let text = copy.to_string();
                    if text.len() < sql.len() && has_sound_limits(&copy) {
                        made.push(text);
                    }
                }
            }
        }
        if !any {
            break;
        }
    }
    made
}

fn parse(sql: &str) -> Option<Statement> {
    Parser::parse_sql(&GenericDialect {}, sql).ok()?.pop()
}

fn has_sound_limits(statement: &Statement) -> bool {
    struct Limits(bool);
    impl VisitorMut for Limits {
        type Break = ();
        fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
            self.0 &= query.limit_clause.is_none() || query.order_by.is_some();
            ControlFlow::Continue(())
        }
    }
    let mut limits = Limits(true);
    let _: ControlFlow<()> = statement.clone().visit(&mut limits);
    limits.0
}

/// The outcome of an edit.
#[derive(PartialEq, Eq)]
enum Outcome {
    /// There are fewer nodes.
    NotReached,
    /// The node has fewer ways to get smaller.
    NoSuchVariant,
    Made,
}

/// Makes one node smaller, in one of the ways that it has.
struct Edit {
    target: u32,
    variant: u32,
    seen: u32,
    outcome: Outcome,
}

impl Edit {
    /// Whether this node is the one.
    fn is_here(&mut self) -> bool {
        self.seen += 1;
        self.seen - 1 == self.target
    }

    fn end(&mut self, is_made: bool) -> ControlFlow<()> {
        self.outcome = if is_made { Outcome::Made } else { Outcome::NoSuchVariant };
        ControlFlow::Break(())
    }
}

impl VisitorMut for Edit {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        if !self.is_here() {
            return ControlFlow::Continue(());
        }
        let is_made = smaller_query(query, self.variant);
        self.end(is_made)
    }

    fn pre_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<()> {
        if !self.is_here() {
            return ControlFlow::Continue(());
        }
        let parts = parts(expression);
        let part = usize::try_from(self.variant).ok().and_then(|at| parts.into_iter().nth(at));
        let is_made = part.is_some();
        if let Some(part) = part {
            *expression = part;
        }
        self.end(is_made)
    }
}

/// Returns the expressions that an expression may be replaced by.
fn parts(expression: &Expr) -> Vec<Expr> {
    let copy = |parts: &[&Expr]| parts.iter().map(|part| (*part).clone()).collect();
    match expression {
        Expr::BinaryOp { left, right, .. } => copy(&[left, right]),
        Expr::UnaryOp { expr, .. }
        | Expr::Nested(expr)
        | Expr::IsNull(expr)
        | Expr::IsNotNull(expr)
        | Expr::IsTrue(expr)
        | Expr::IsNotTrue(expr)
        | Expr::IsFalse(expr)
        | Expr::IsNotFalse(expr)
        | Expr::IsUnknown(expr)
        | Expr::IsNotUnknown(expr) => copy(&[expr]),
        Expr::InList { expr, list, negated } => {
            let without = |gone: usize| {
                let kept = list.iter().enumerate().filter(|(at, _)| *at != gone);
                let list = kept.map(|(_, item)| item.clone()).collect();
                Expr::InList { expr: expr.clone(), list, negated: *negated }
            };
            let first = Expr::InList {
                expr: expr.clone(),
                list: list.iter().take(list.len() / 2).cloned().collect(),
                negated: *negated,
            };
            let halves = (list.len() > 3).then_some(first);
            halves
                .into_iter()
                .chain((0..list.len()).filter(|_| list.len() > 1).map(without))
                .collect()
        }
        Expr::Case { conditions, else_result, .. } => {
            let results = conditions.iter().map(|when| when.result.clone());
            results.chain(else_result.as_deref().cloned()).collect()
        }
        _ => Vec::new(),
    }
}

/// Leaves one part of a query out; whether there is a part of that number.
fn smaller_query(query: &mut Query, variant: u32) -> bool {
    let mut left = variant;
    let mut is_turn = |is_there: bool| {
        let is_it = is_there && left == 0;
        left = left.wrapping_sub(u32::from(is_there));
        is_it
    };
    if is_turn(query.limit_clause.is_some()) {
        query.limit_clause = None;
        return true;
    }
    if is_turn(query.order_by.is_some()) {
        (query.order_by, query.limit_clause) = (None, None);
        return true;
    }
    match query.body.as_mut() {
        SetExpr::SetOperation { left: one, right: other, .. } => {
            let sides = [one.as_ref().clone(), other.as_ref().clone()];
            for side in sides {
                if is_turn(true) {
                    *query.body = side;
                    return true;
                }
            }
            false
        }
        SetExpr::Select(select) => smaller_select(select, is_turn),
        _ => false,
    }
}

fn smaller_select(select: &mut Select, mut is_turn: impl FnMut(bool) -> bool) -> bool {
    if is_turn(select.selection.is_some()) {
        select.selection = None;
        return true;
    }
    if is_turn(select.having.is_some()) {
        select.having = None;
        return true;
    }
    if is_turn(select.distinct.is_some()) {
        select.distinct = None;
        return true;
    }
    let joins = select.from.first().map_or(0, |from| from.joins.len());
    for join in 0..joins {
        if is_turn(true) {
            select.from.iter_mut().take(1).for_each(|from| drop(from.joins.remove(join)));
            return true;
        }
    }
    let is_derived =
        matches!(select.from.first().map(|from| &from.relation), Some(TableFactor::Derived { .. }));
    // `SELECT * FROM (..)` may be all that is left around it.
    let outputs = if is_derived { 0 } else { select.projection.len() };
    for output in 0..outputs {
        if is_turn(outputs > 1) {
            drop(select.projection.remove(output));
            return true;
        }
    }
    let GroupByExpr::Expressions(keys, _) = &mut select.group_by else { return false };
    for key in 0..keys.len() {
        if is_turn(true) {
            drop(keys.remove(key));
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_is_left_out_once() {
        let found =
            smaller("SELECT a, b FROM t WHERE x = 1 AND NOT (y IN (1, 2)) ORDER BY a LIMIT 3");
        for expected in [
            "SELECT a, b FROM t WHERE x = 1 AND NOT (y IN (1, 2)) ORDER BY a",
            "SELECT a, b FROM t WHERE x = 1 AND NOT (y IN (1, 2))",
            "SELECT a, b FROM t ORDER BY a LIMIT 3",
            "SELECT b FROM t WHERE x = 1 AND NOT (y IN (1, 2)) ORDER BY a LIMIT 3",
            "SELECT a, b FROM t WHERE x = 1 ORDER BY a LIMIT 3",
            "SELECT a, b FROM t WHERE NOT (y IN (1, 2)) ORDER BY a LIMIT 3",
            "SELECT a, b FROM t WHERE x = 1 AND (y IN (1, 2)) ORDER BY a LIMIT 3",
            "SELECT a, b FROM t WHERE x = 1 AND NOT (y IN (2)) ORDER BY a LIMIT 3",
        ] {
            assert!(found.iter().any(|sql| sql == expected), "{expected} is not in {found:#?}");
        }
        assert!(found.iter().all(|sql| !sql.contains("LIMIT") || sql.contains("ORDER")));
    }

    #[test]
    fn unions_joins_and_groups_get_smaller() {
        let found = smaller("SELECT a FROM t UNION ALL SELECT b FROM s");
        assert!(found.contains(&"SELECT a FROM t".to_owned()), "{found:?}");
        assert!(found.contains(&"SELECT b FROM s".to_owned()), "{found:?}");
        let found =
            smaller("SELECT count(*), l.k FROM t AS l JOIN s AS r ON l.k = r.k GROUP BY l.k");
        assert!(
            found.contains(&"SELECT count(*), l.k FROM t AS l GROUP BY l.k".to_owned()),
            "{found:?}"
        );
        assert!(found.iter().any(|sql| !sql.contains("GROUP BY")), "{found:?}");
    }

    #[test]
    fn minimal_query_or_other_text_has_no_candidates() {
        assert_eq!(smaller("SELECT a FROM t"), Vec::<String>::new());
        assert_eq!(smaller("SELEC a FROM t"), Vec::<String>::new());
    }

    #[test]
    fn order_is_that_of_the_whole_query() {
        assert!(is_ordered("SELECT a FROM t ORDER BY a"));
        assert!(!is_ordered("SELECT count(*) FROM (SELECT a FROM t ORDER BY a LIMIT 1) AS s"));
    }
}
