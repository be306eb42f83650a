// SPDX-License-Identifier: Apache-2.0
//! The columns of a query's joins by USING, and what is meant by each.

use std::ops::ControlFlow;

use datafusion::{
    common::{DataFusionError, Result},
    sql::sqlparser::ast::{
        Expr, Ident, JoinConstraint, JoinOperator, ObjectName, ObjectNamePart, Query,
        ReplaceSelectElement, ReplaceSelectItem, Select, SelectItem, TableFactor, TableWithJoins,
        VisitMut, VisitorMut,
    },
};

use super::{super::call, found, is_same, is_shown};

/// The columns of a join, in the expressions of one query.
pub(super) struct Columns {
    columns: Vec<Column>,
    pub(super) joins: Joined,
    /// How many queries stand around what is looked at.
    depth: usize,
}

struct Column {
    name: Ident,
    /// What stands in front of it: the names of both sides, or of the one that has a value. Beside
    /// other joins it is not always known.
    sides: Option<Vec<Vec<Ident>>>,
}

/// What joins have the columns.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Joined {
    /// One that is RIGHT or FULL.
    Right,
    /// Others, in a subquery.
    Left,
    /// Others, in a subquery, and of a NATURAL one nobody knows the columns.
    Natural,
}

impl Columns {
    /// Those of the join of a query, if it is a RIGHT or FULL one and has some.
    pub(super) fn of_right_sides(select: &Select) -> Result<Option<Self>> {
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
        let sides = match tables.as_slice() {
            [TableWithJoins { relation: left, joins }] if joins.len() == 1 => Some(match is_full {
                true => vec![name_of(left)?, name_of(relation)?],
                false => vec![name_of(relation)?],
            }),
            _ => None,
        };
        let columns = columns.iter().filter_map(last_name);
        let columns =
            columns.map(|name| Column { name: name.clone(), sides: sides.clone() }).collect();
        Ok(Some(Self { columns, joins: Joined::Right, depth: 0 }))
    }

    /// Those of the other joins of a query, if there are some.
    pub(super) fn of_any(select: &Select) -> Option<Self> {
        let mut found = Self { columns: Vec::new(), joins: Joined::Left, depth: 0 };
        for table in &select.from {
            found.add(table, select.from.len() == 1);
        }
        (!found.columns.is_empty() || found.joins == Joined::Natural).then_some(found)
    }

    /// Adds those of the joins of a table; beside others it is not known which have a name.
    fn add(&mut self, table: &TableWithJoins, is_alone: bool) {
        let factors = table.joins.iter().map(|join| &join.relation).chain([&table.relation]);
        for factor in factors {
            if let TableFactor::NestedJoin { table_with_joins, .. } = factor {
                self.add(table_with_joins, is_alone && table.joins.is_empty());
            }
        }
        for (at, join) in table.joins.iter().enumerate() {
            let (is_inner, constraint) = match &join.join_operator {
                JoinOperator::Join(constraint) | JoinOperator::Inner(constraint) => {
                    (true, constraint)
                }
                JoinOperator::Left(constraint) | JoinOperator::LeftOuter(constraint) => {
                    (false, constraint)
                }
                _ => continue,
            };
            let names = match constraint {
                JoinConstraint::Using(names) => names,
                JoinConstraint::Natural => {
                    self.joins = Joined::Natural;
                    continue;
                }
                JoinConstraint::On(_) | JoinConstraint::None => continue,
            };
            // Which of the tables on the left has it is known of the first alone.
            let side = match at {
                0 => Some(&table.relation),
                _ => is_inner.then_some(&join.relation),
            };
            let side = side.filter(|_| is_alone).and_then(|side| name_of(side).ok());
            for name in names.iter().filter_map(last_name) {
                if !self.columns.iter().any(|column| is_same(&column.name, name)) {
                    let sides = side.clone().map(|side| vec![side]);
                    self.columns.push(Column { name: name.clone(), sides });
                }
            }
        }
    }

    /// The column that an expression is, if it is one, and how it is written there.
    fn column<'a>(&self, expr: &'a Expr) -> Option<(&Column, &'a Ident)> {
        let Expr::Identifier(name) = expr else { return None };
        let column = self.columns.iter().find(|column| is_same(&column.name, name))?;
        Some((column, name))
    }

    /// The column of one side that the output has under the name of one of both. An order is by
    /// what is in the output first.
    pub(super) fn shown_of_one_side(&self, select: &Select, key: &Expr) -> Option<Expr> {
        let (_, name) = self.column(key)?;
        let mut shown = select.projection.iter().filter_map(|item| match item {
            SelectItem::UnnamedExpr(expr @ Expr::CompoundIdentifier(parts)) => {
                parts.last().is_some_and(|part| is_same(part, name)).then_some(expr)
            }
            _ => None,
        });
        shown.next().filter(|_| shown.next().is_none() && !is_shown(select, name)).cloned()
    }

    /// What is meant by a column under a name.
    fn meant_by(&self, column: &Column, name: &Ident) -> Result<Expr> {
        let Some(sides) = &column.sides else {
            return refused(match self.joins {
                Joined::Right => {
                    "a column of USING in a RIGHT or FULL JOIN beside others; name its table"
                }
                _ => "a column of USING in a subquery, beside other joins; name its table",
            });
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

    /// Writes them out in a query, but for its order.
    pub(super) fn write_out(mut self, select: &mut Select) -> ControlFlow<DataFusionError> {
        for item in &mut select.projection {
            match item {
                SelectItem::UnnamedExpr(expr) => {
                    if let Some((column, alias)) = self.column(expr) {
                        let alias = alias.clone();
                        let expr = found(self.meant_by(column, &alias))?;
                        *item = SelectItem::ExprWithAlias { expr, alias };
                    }
                }
                SelectItem::Wildcard(options) if self.joins == Joined::Right => {
                    let all = options
                        .opt_replace
                        .get_or_insert_with(|| ReplaceSelectItem { items: Vec::new() });
                    let is_replaced = |name: &Ident, all: &ReplaceSelectItem| {
                        all.items.iter().any(|item| is_same(&item.column_name, name))
                    };
                    for column in &self.columns {
                        if !is_replaced(&column.name, all) {
                            all.items.push(Box::new(ReplaceSelectElement {
                                expr: found(self.meant_by(column, &column.name))?,
                                column_name: column.name.clone(),
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
        let Some((column, name)) = self.column(expr) else {
            return match (expr, self.joins) {
                (Expr::Identifier(_), Joined::Natural) if self.depth == 0 => found(refused(
                    "a name beside a NATURAL JOIN in a subquery; name the columns with USING",
                )),
                _ => ControlFlow::Continue(()),
            };
        };
        match (self.depth, self.joins) {
            (0, _) => *expr = found(self.meant_by(column, name))?,
            (_, Joined::Right) => found(refused(
                "a column of USING in a RIGHT or FULL JOIN in a subquery; name its table",
            ))?,
            // It is one of a query further inside, or ends in an error: DataFusion finds no column
            // in a query that is not the next one outside.
            (_, Joined::Left | Joined::Natural) => {}
        }
        ControlFlow::Continue(())
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
        TableFactor::Table { name, alias: None, args: None, .. } => {
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
