// SPDX-License-Identifier: Apache-2.0
//! Columns of `USING` in RIGHT and FULL joins, and in subqueries.
//!
//! `k` of `a FULL JOIN b USING (k)` is that of the side which has a row: `coalesce(a.k, b.k)`. For
//! DataFusion it is `a.k`, NULL where only the right side has a row. So it is written out, also for
//! `*`. What would have to be known of the tables for that is refused: NATURAL joins, sides without
//! a name, such columns of one of several joins, and subqueries that may mean the column.
//!
//! In a subquery DataFusion takes a name that two tables have, as those of USING always are, for a
//! column of the query around it, if that has one. So there the columns of other joins are written
//! out too. Beside a NATURAL join, of which the columns are not known, every name alone is refused
//! there.

mod columns;

use std::ops::ControlFlow;

use columns::{Columns, Joined};
use datafusion::{
    common::{DataFusionError, Result},
    sql::sqlparser::ast::{
        Expr, Ident, OrderByKind, Query, Select, SelectItem, SetExpr, TableFactor, VisitMut,
        VisitorMut,
    },
};

/// Writes them out.
///
/// # Errors
/// `NotImplemented` where that cannot be done.
pub(super) fn write_out(syntax: &mut impl VisitMut) -> Result<()> {
    match syntax.visit(&mut Joins { subqueries: 0 }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

/// Looks for the joins.
struct Joins {
    /// How many queries that see columns of another stand around what is looked at.
    subqueries: usize,
}

impl Joins {
    /// The columns of a query's joins that are to be written out, if there are some.
    fn columns(&self, select: &Select) -> Result<Option<Columns>> {
        let columns = Columns::of_right_sides(select)?;
        Ok(columns.or_else(|| (self.subqueries > 0).then(|| Columns::of_any(select))?))
    }
}

impl VisitorMut for Joins {
    type Break = DataFusionError;

    fn pre_visit_table_factor(&mut self, table: &mut TableFactor) -> ControlFlow<DataFusionError> {
        self.subqueries += usize::from(is_lateral(table));
        ControlFlow::Continue(())
    }

    fn post_visit_table_factor(&mut self, table: &mut TableFactor) -> ControlFlow<DataFusionError> {
        self.subqueries -= usize::from(is_lateral(table));
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<DataFusionError> {
        self.subqueries += usize::from(is_subquery(expr));
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<DataFusionError> {
        self.subqueries -= usize::from(is_subquery(expr));
        ControlFlow::Continue(())
    }

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<DataFusionError> {
        let SetExpr::Select(select) = query.body.as_ref() else { return ControlFlow::Continue(()) };
        let Some(mut columns) = found(self.columns(select))? else {
            return ControlFlow::Continue(());
        };
        let Some(order) = &mut query.order_by else { return ControlFlow::Continue(()) };
        let OrderByKind::Expressions(keys) = &mut order.kind else {
            return ControlFlow::Continue(());
        };
        for key in keys {
            if let Some(shown) = columns.shown_of_one_side(select, bare(&key.expr)) {
                key.expr = shown;
            }
            let is_output = match bare(&key.expr) {
                // Also a name of the output would be one outside.
                Expr::Identifier(name) if columns.joins == Joined::Left => is_alias(select, name),
                Expr::Identifier(name) => is_shown(select, name),
                _ => false,
            };
            if !is_output {
                key.expr.visit(&mut columns)?;
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<DataFusionError> {
        match found(self.columns(select))? {
            Some(columns) => columns.write_out(select),
            None => ControlFlow::Continue(()),
        }
    }
}

fn found<T>(result: Result<T>) -> ControlFlow<DataFusionError, T> {
    match result {
        Ok(value) => ControlFlow::Continue(value),
        Err(error) => ControlFlow::Break(error),
    }
}

/// Whether an expression holds a query of its own.
const fn is_subquery(expr: &Expr) -> bool {
    matches!(expr, Expr::Subquery(_) | Expr::Exists { .. } | Expr::InSubquery { .. })
}

/// Whether a table is a query that sees the tables in front of it.
const fn is_lateral(table: &TableFactor) -> bool {
    matches!(table, TableFactor::Derived { lateral: true, .. })
}

/// An expression without parentheses around it.
fn bare(expr: &Expr) -> &Expr {
    match expr {
        Expr::Nested(inner) => bare(inner),
        other => other,
    }
}

/// Whether a column of that name is in the output.
fn is_shown(select: &Select, name: &Ident) -> bool {
    is_alias(select, name)
        || select.projection.iter().any(|item| match item {
            SelectItem::UnnamedExpr(Expr::Identifier(shown)) => is_same(shown, name),
            SelectItem::Wildcard(_) => true,
            _ => false,
        })
}

/// Whether the output has an expression with that name.
fn is_alias(select: &Select, name: &Ident) -> bool {
    select.projection.iter().any(|item| match item {
        SelectItem::ExprWithAlias { alias, .. } => is_same(alias, name),
        _ => false,
    })
}

/// Whether two names are one; only those in quotes have capital letters.
fn is_same(one: &Ident, other: &Ident) -> bool {
    let normal = |name: &Ident| match name.quote_style {
        Some(_) => name.value.clone(),
        None => name.value.to_lowercase(),
    };
    normal(one) == normal(other)
}
