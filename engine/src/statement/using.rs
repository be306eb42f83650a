// SPDX-License-Identifier: Apache-2.0
//! Columns of `USING` in RIGHT and FULL joins.
//!
//! `k` of `a FULL JOIN b USING (k)` is that of the side which has a row: `coalesce(a.k, b.k)`. For
//! DataFusion it is `a.k`, NULL where only the right side has a row. So it is written out, also for
//! `*`. What would have to be known of the tables for that is refused: NATURAL joins, sides without
//! a name, such columns of one of several joins, and subqueries that may mean the column.

use std::ops::ControlFlow;

use datafusion::{
    common::{DataFusionError, Result},
    sql::sqlparser::ast::{
        Expr, Ident, JoinConstraint, JoinOperator, ObjectName, ObjectNamePart, OrderByKind, Query,
        ReplaceSelectElement, ReplaceSelectItem, Select, SelectItem, SetExpr, TableFactor,
        TableWithJoins, VisitMut, VisitorMut,
    },
};

use super::call;

/// Writes them out.
///
/// # Errors
/// `NotImplemented` where that cannot be done.
pub(super) fn write_out(syntax: &mut impl VisitMut) -> Result<()> {
    match syntax.visit(&mut Joins) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

/// Looks for the joins.
struct Joins;

impl VisitorMut for Joins {
    type Break = DataFusionError;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<DataFusionError> {
        let SetExpr::Select(select) = query.body.as_ref() else { return ControlFlow::Continue(()) };
        let Some(mut columns) = found(Columns::of(select))? else {
            return ControlFlow::Continue(());
        };
        let Some(order) = &mut query.order_by else { return ControlFlow::Continue(()) };
        let OrderByKind::Expressions(keys) = &mut order.kind else {
            return ControlFlow::Continue(());
        };
        for key in keys {
            let key_itself = bare(&key.expr);
            let is_output = columns.column(key_itself).is_some_and(|name| is_shown(select, &name));
            if !is_output {
                key.expr.visit(&mut columns)?;
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<DataFusionError> {
        match found(Columns::of(select))? {
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

/// An expression without parentheses around it.
fn bare(expr: &Expr) -> &Expr {
    match expr {
        Expr::Nested(inner) => bare(inner),
        other => other,
    }
}

/// Joins without parentheses around them.
fn without_parentheses(table: &TableWithJoins) -> &TableWithJoins {
    match &table.relation {
        TableFactor::NestedJoin { table_with_joins, alias: None } if table.joins.is_empty() => {
            without_parentheses(table_with_joins)
        }
        _ => table,
    }
}

/// Whether a RIGHT or FULL join by columns of one name stands in parentheses among others.
fn has_one_inside(table: &TableWithJoins) -> bool {
    let factors = table.joins.iter().map(|join| &join.relation).chain([&table.relation]);
    factors.into_iter().any(|factor| match factor {
        TableFactor::NestedJoin { table_with_joins, .. } => {
            let mut joins = table_with_joins.joins.iter();
            joins.any(|join| of_right_side(&join.join_operator).is_some())
                || has_one_inside(table_with_joins)
        }
        _ => false,
    })
}

/// Whether a column of that name is in the output.
fn is_shown(select: &Select, name: &Ident) -> bool {
    select.projection.iter().any(|item| match item {
        SelectItem::UnnamedExpr(Expr::Identifier(shown)) => is_same(shown, name),
        SelectItem::ExprWithAlias { alias, .. } => is_same(alias, name),
        SelectItem::Wildcard(_) => true,
        _ => false,
    })
}

/// The columns of a join, in the expressions of one query.
struct Columns {
    names: Vec<Ident>,
    /// What stands in front of them: the names of both sides, or of the right one. Beside other
    /// joins it is not known.
    sides: Option<Vec<Vec<Ident>>>,
    /// How many queries stand around what is looked at.
    depth: usize,
}

impl Columns {
    /// Those of the join of a query, if it is a RIGHT or FULL one and has some.
    fn of(select: &Select) -> Result<Option<Self>> {
        let tables: Vec<&TableWithJoins> = select.from.iter().map(without_parentheses).collect();
        if tables.iter().any(|table| has_one_inside(table)) {
            return refused("USING or NATURAL in a RIGHT or FULL JOIN in parentheses; write ON");
        }
        let mut joins = tables.iter().flat_map(|table| &table.joins);
        let Some((relation, constraint, is_full)) = joins.find_map(|join| {
            let (constraint, is_full) = of_right_side(&join.join_operator)?;
            Some((&join.relation, constraint, is_full))
        }) else {
            return Ok(None);
        };
        let JoinConstraint::Using(columns) = constraint else {
            return refused("NATURAL in a RIGHT or FULL JOIN; name the columns with USING");
        };
        let names = columns.iter().filter_map(last_name).cloned().collect();
        let [TableWithJoins { relation: left, joins }] = tables.as_slice() else {
            return Ok(Some(Self { names, sides: None, depth: 0 }));
        };
        let sides = match joins.as_slice() {
            [_] if is_full => Some(vec![name_of(left)?, name_of(relation)?]),
            [_] => Some(vec![name_of(relation)?]),
            _ => None,
        };
        Ok(Some(Self { names, sides, depth: 0 }))
    }

    /// The name of such a column, if an expression is one.
    fn column(&self, expr: &Expr) -> Option<Ident> {
        let Expr::Identifier(name) = expr else { return None };
        self.names.iter().any(|column| is_same(column, name)).then(|| name.clone())
    }

    /// What is meant by one of the names.
    fn meant_by(&self, name: &Ident) -> Result<Expr> {
        let Some(sides) = &self.sides else {
            return refused(
                "a column of USING in a RIGHT or FULL JOIN beside others; name its table",
            );
        };
        let columns = sides.iter().map(|side| {
            let parts = side.iter().chain([name]);
            Expr::CompoundIdentifier(parts.cloned().collect())
        });
        let mut columns: Vec<Expr> = columns.collect();
        Ok(match columns.len() {
            1 => columns.remove(0),
            _ => call("coalesce", columns),
        })
    }

    fn write_out(mut self, select: &mut Select) -> ControlFlow<DataFusionError> {
        for item in &mut select.projection {
            match item {
                SelectItem::UnnamedExpr(expr) => {
                    if let Some(alias) = self.column(expr) {
                        let expr = found(self.meant_by(&alias))?;
                        *item = SelectItem::ExprWithAlias { expr, alias };
                    }
                }
                SelectItem::Wildcard(options) => {
                    let all = options
                        .opt_replace
                        .get_or_insert_with(|| ReplaceSelectItem { items: Vec::new() });
                    let is_replaced = |name: &Ident, all: &ReplaceSelectItem| {
                        all.items.iter().any(|item| is_same(&item.column_name, name))
                    };
                    for name in &self.names {
                        if !is_replaced(name, all) {
                            all.items.push(Box::new(ReplaceSelectElement {
                                expr: found(self.meant_by(name))?,
                                column_name: name.clone(),
                                as_keyword: true,
                            }));
                        }
                    }
                }
                _ => {}
            }
        }
        // What is joined has no columns of the join.
        let from = std::mem::take(&mut select.from);
        let visited = select.visit(&mut self);
        select.from = from;
        visited
    }
}

impl VisitorMut for Columns {
    type Break = DataFusionError;

    fn pre_visit_query(&mut self, _query: &mut Query) -> ControlFlow<DataFusionError> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _query: &mut Query) -> ControlFlow<DataFusionError> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<DataFusionError> {
        let Some(name) = self.column(expr) else { return ControlFlow::Continue(()) };
        if self.depth > 0 {
            let what = "a column of USING in a RIGHT or FULL JOIN in a subquery; name its table";
            return found(refused(what));
        }
        *expr = found(self.meant_by(&name))?;
        ControlFlow::Continue(())
    }
}

fn refused<T>(what: &str) -> Result<T> {
    Err(DataFusionError::NotImplemented(what.to_owned()))
}

/// By what a RIGHT or FULL join joins, if by columns of one name, and whether it is a FULL one.
const fn of_right_side(operator: &JoinOperator) -> Option<(&JoinConstraint, bool)> {
    let (constraint, is_full) = match operator {
        JoinOperator::Right(constraint) | JoinOperator::RightOuter(constraint) => {
            (constraint, false)
        }
        JoinOperator::FullOuter(constraint) => (constraint, true),
        _ => return None,
    };
    match constraint {
        JoinConstraint::Using(_) | JoinConstraint::Natural => Some((constraint, is_full)),
        _ => None,
    }
}

/// What stands in front of a table's columns.
fn name_of(table: &TableFactor) -> Result<Vec<Ident>> {
    let name = match table {
        TableFactor::Table { alias: Some(alias), .. }
        | TableFactor::Derived { alias: Some(alias), .. } => Some(vec![alias.name.clone()]),
        TableFactor::Table { name, alias: None, .. } => {
            Some(name.0.iter().filter_map(ObjectNamePart::as_ident).cloned().collect())
        }
        _ => None,
    };
    match name {
        Some(name) => Ok(name),
        None => refused("USING in a RIGHT or FULL JOIN of what has no name; give it one with AS"),
    }
}

fn last_name(name: &ObjectName) -> Option<&Ident> {
    name.0.last().and_then(ObjectNamePart::as_ident)
}

/// Whether two names are one; only those in quotes have capital letters.
fn is_same(one: &Ident, other: &Ident) -> bool {
    let normal = |name: &Ident| match name.quote_style {
        Some(_) => name.value.clone(),
        None => name.value.to_lowercase(),
    };
    normal(one) == normal(other)
}
