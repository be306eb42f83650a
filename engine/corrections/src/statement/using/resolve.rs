// SPDX-License-Identifier: Apache-2.0
//! Replaces names that refer to columns of USING and NATURAL joins.
//!
//! Outer queries are walked before inner ones, each below the scopes that it may refer to. A bare
//! name is resolved in the innermost scope that has it. While some tables are unknown, the walk
//! continues with the known ones, to collect all probes; its result is then discarded.

use std::ops::ControlFlow;

use datafusion::{
    common::{DataFusionError, Result, not_impl_err, plan_datafusion_err},
    execution::SessionState,
    sql::sqlparser::ast::{
        Cte, ExcludeSelectItem, Expr, Ident, IdentWithAlias, JoinConstraint, ObjectName,
        ObjectNamePart, OrderByKind, Query, RenameSelectItem, Select, SelectItem, SetExpr,
        TableAlias, TableFactor, TableWithJoins, VisitMut, VisitorMut, WildcardAdditionalOptions,
    },
};

use super::{
    probe::Probes,
    scope::{self, Column, Meaning, Scope, normal},
};

/// Walks a statement.
pub(super) struct Resolver<'a> {
    probes: &'a mut Probes,
    /// Whether names without quotes are folded to lower case.
    normalizes: bool,
    /// Scopes of the outer queries, the innermost last.
    scopes: Vec<Scope>,
    /// Visible common table expressions, and whether their WITH is recursive.
    visible: Vec<(bool, Cte)>,
    /// Number of tables that were given a name.
    named: usize,
    /// Number of enclosing queries that have been walked separately.
    walked: usize,
}

/// The treatment of USING and NATURAL.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Joins {
    /// Joins are rewritten with ON.
    WrittenOut,
    AsTheyAre,
}

impl<'a> Resolver<'a> {
    pub(super) fn new(probes: &'a mut Probes, state: &SessionState) -> Self {
        let normalizes = state.config_options().sql_parser.enable_ident_normalization;
        let (scopes, visible) = (Vec::new(), Vec::new());
        Self { probes, normalizes, scopes, visible, named: 0, walked: 0 }
    }

    /// Replaces the names in all queries of a syntax tree.
    pub(super) fn resolve(mut self, syntax: &mut impl VisitMut) -> Result<()> {
        ended(syntax.visit(&mut self))
    }

    fn query(&mut self, query: &mut Query) -> Result<()> {
        let visible = self.visible.len();
        if let Some(with) = &mut query.with {
            for table in &mut with.cte_tables {
                let scopes = std::mem::take(&mut self.scopes);
                if with.recursive {
                    self.visible.push((true, table.clone()));
                }
                let walked = self.query(&mut table.query);
                self.scopes = scopes;
                walked?;
                if with.recursive {
                    self.visible.pop();
                }
                self.visible.push((with.recursive, table.clone()));
            }
        }
        self.body(&mut query.body, &mut query.order_by)?;
        self.visible.truncate(visible);
        Ok(())
    }

    fn body(
        &mut self,
        body: &mut SetExpr,
        order: &mut Option<datafusion::sql::sqlparser::ast::OrderBy>,
    ) -> Result<()> {
        match body {
            SetExpr::Select(select) => self.select(select, order),
            SetExpr::Query(query) => self.query(query),
            SetExpr::SetOperation { left, right, .. } => {
                self.body(left, &mut None)?;
                self.body(right, &mut None)
            }
            _ => Ok(()),
        }
    }

    fn select(
        &mut self,
        select: &mut Select,
        order: &mut Option<datafusion::sql::sqlparser::ast::OrderBy>,
    ) -> Result<()> {
        let scope = self.from(select)?;
        let shown: Vec<SelectItem> = select.projection.clone();
        if scope.is_rewritten {
            self.expand_wildcards(select, &scope)?;
        }
        self.scopes.push(scope);
        let from = std::mem::take(&mut select.from);
        let walked = self.projection(select).and_then(|()| ended(select.visit(self)));
        select.from = from;
        let ordered = walked.and_then(|()| match order.as_mut().map(|order| &mut order.kind) {
            Some(OrderByKind::Expressions(keys)) => {
                keys.iter_mut().try_for_each(|key| self.order_key(&mut key.expr, &shown))
            }
            _ => Ok(()),
        });
        self.scopes.pop();
        ordered
    }

    /// Returns the columns of FROM, whose tables have been walked and named. Joins are rewritten
    /// with ON if a column is not that of the left side; otherwise DataFusion is right.
    fn from(&mut self, select: &mut Select) -> Result<Scope> {
        let mut written_out = select.from.clone();
        let scope = self.tables(&mut written_out, Joins::WrittenOut)?;
        match scope.is_rewritten {
            true => select.from = written_out,
            false => return self.tables(&mut select.from, Joins::AsTheyAre),
        }
        Ok(scope)
    }

    fn tables(&mut self, from: &mut [TableWithJoins], joins: Joins) -> Result<Scope> {
        let mut all = Scope::default();
        for at in 0..from.len() {
            let (before, rest) = from.split_at_mut(at);
            let table = self.table_with_joins(&mut rest[0], joins, before, &all)?;
            all.add(table);
        }
        Ok(all)
    }

    fn table_with_joins(
        &mut self,
        table: &mut TableWithJoins,
        joins: Joins,
        before: &[TableWithJoins],
        outer: &Scope,
    ) -> Result<Scope> {
        let mut scope = self.table(&mut table.relation, joins, before, outer)?;
        for at in 0..table.joins.len() {
            let (joined, rest) = table.joins.split_at_mut(at);
            let left = TableWithJoins { relation: table.relation.clone(), joins: joined.to_vec() };
            let before: Vec<TableWithJoins> = before.iter().cloned().chain([left]).collect();
            let mut seen = outer.clone();
            seen.add(scope.clone());
            let right = self.table(&mut rest[0].relation, joins, &before, &seen)?;
            let condition = scope.join(&rest[0], right)?;
            let constraint = scope::constraint_mut(&mut rest[0].join_operator);
            match (condition, constraint) {
                (Some(condition), Some(constraint)) if joins == Joins::WrittenOut => {
                    *constraint = JoinConstraint::On(condition);
                }
                (None, Some(constraint)) => {
                    self.scopes.push(scope.clone());
                    let walked = ended(constraint.visit(self));
                    self.scopes.pop();
                    walked?;
                }
                _ => {}
            }
        }
        Ok(scope)
    }

    fn table(
        &mut self,
        table: &mut TableFactor,
        joins: Joins,
        before: &[TableWithJoins],
        outer: &Scope,
    ) -> Result<Scope> {
        if let TableFactor::NestedJoin { table_with_joins, alias: None } = table {
            return self.table_with_joins(table_with_joins, joins, before, outer);
        }
        self.inside(table, outer)?;
        let columns = self.probes.columns(table, before, &self.visible);
        let qualifier = match scope::qualifier(table) {
            Some(qualifier) => qualifier,
            None => self.give_name(table)?,
        };
        let column = |name: String| {
            let parts = qualifier.iter().cloned().chain([Ident::with_quote('"', &name)]);
            let expr = Expr::CompoundIdentifier(parts.collect());
            Column { name, expr, is_merged: false }
        };
        let columns = columns.unwrap_or_default().into_iter().map(column).collect();
        Ok(Scope { columns, is_rewritten: false })
    }

    /// Walks the queries in a table. A LATERAL one sees the columns in front of it.
    fn inside(&mut self, table: &mut TableFactor, outer: &Scope) -> Result<()> {
        match table {
            TableFactor::Derived { lateral: true, subquery, .. } => {
                self.scopes.push(outer.clone());
                let walked = self.query(subquery);
                self.scopes.pop();
                walked
            }
            TableFactor::Derived { subquery, .. } => self.query(subquery),
            TableFactor::NestedJoin { .. } => {
                not_impl_err!("an alias of joins in parentheses in a query with USING or NATURAL")
            }
            other => ended(other.visit(self)),
        }
    }

    /// Names a table that has no name, so that its columns can be qualified.
    fn give_name(&mut self, table: &mut TableFactor) -> Result<Vec<Ident>> {
        self.named += 1;
        let name = Ident::with_quote('"', format!("table {} without a name", self.named));
        match scope::alias_mut(table) {
            Some(alias) => {
                *alias = Some(TableAlias {
                    explicit: true,
                    name: name.clone(),
                    columns: Vec::new(),
                    at: None,
                });
                Ok(vec![name])
            }
            None => {
                not_impl_err!("USING or NATURAL with a table expression that cannot have an alias")
            }
        }
    }

    /// Expands `*`: a column of a join is not a column of its tables.
    fn expand_wildcards(&self, select: &mut Select, scope: &Scope) -> Result<()> {
        let mut projection = Vec::with_capacity(select.projection.len());
        for item in std::mem::take(&mut select.projection) {
            match item {
                SelectItem::Wildcard(options) => projection.extend(expanded(options, scope)?),
                other => projection.push(other),
            }
        }
        select.projection = projection;
        Ok(())
    }

    /// Adds aliases to outputs that are columns of joins.
    fn projection(&self, select: &mut Select) -> Result<()> {
        for item in &mut select.projection {
            if let SelectItem::UnnamedExpr(Expr::Identifier(name)) = item
                && let Some(expr) = self.meant(name)?
            {
                *item = SelectItem::ExprWithAlias { expr, alias: name.clone() };
            }
        }
        Ok(())
    }

    /// Resolves a key of ORDER BY: names of the output are not looked up in FROM.
    fn order_key(&mut self, key: &mut Expr, shown: &[SelectItem]) -> Result<()> {
        if let Expr::Identifier(name) = bare(key) {
            // In a subquery, DataFusion may resolve the name of an output in the outer query.
            let is_found = match self.scopes.len() {
                0 | 1 => is_shown(shown, name),
                _ => is_alias(shown, name),
            };
            if is_found {
                return Ok(());
            }
            let is_merged = self.scopes.last().is_some_and(|scope| {
                matches!(scope.meaning(&self.normal(name)), Meaning::Merged(_))
            });
            if let (true, Some(column)) = (is_merged, shown_of_one_side(shown, name)) {
                *key = column;
                return Ok(());
            }
        }
        ended(key.visit(self))
    }

    fn normal(&self, name: &Ident) -> String {
        if self.normalizes { normal(name) } else { name.value.clone() }
    }

    /// Returns the expression for a bare name, if it is the column of a join.
    fn meant(&self, name: &Ident) -> Result<Option<Expr>> {
        let text = self.normal(name);
        let innermost = self.scopes.len().saturating_sub(1);
        for (depth, scope) in self.scopes.iter().enumerate().rev() {
            // DataFusion resolves names in the outermost query.
            let is_resolved = depth == 0 && depth == innermost && !scope.is_rewritten;
            match scope.meaning(&text) {
                Meaning::Unknown => {}
                Meaning::Plain => return Ok(None),
                Meaning::Merged(_) | Meaning::Ambiguous if is_resolved => return Ok(None),
                Meaning::Merged(column) => return Ok(Some(column.expr.clone())),
                Meaning::Ambiguous => {
                    return Err(plan_datafusion_err!("column reference '{text}' is ambiguous"));
                }
            }
        }
        Ok(None)
    }
}

impl VisitorMut for Resolver<'_> {
    type Break = DataFusionError;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<DataFusionError> {
        if self.walked == 0 {
            found(self.query(query))?;
        }
        self.walked += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _query: &mut Query) -> ControlFlow<DataFusionError> {
        self.walked -= 1;
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<DataFusionError> {
        if self.walked == 0
            && let Expr::Identifier(name) = expr
            && let Some(meant) = found(self.meant(name))?
        {
            *expr = meant;
        }
        ControlFlow::Continue(())
    }
}

fn found<T>(result: Result<T>) -> ControlFlow<DataFusionError, T> {
    match result {
        Ok(value) => ControlFlow::Continue(value),
        Err(error) => ControlFlow::Break(error),
    }
}

fn ended(flow: ControlFlow<DataFusionError>) -> Result<()> {
    match flow {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

/// Returns the columns of `*`, with its options applied.
fn expanded(options: WildcardAdditionalOptions, scope: &Scope) -> Result<Vec<SelectItem>> {
    let mut left_out: Vec<String> = match &options.opt_exclude {
        Some(ExcludeSelectItem::Single(name)) => last(name).into_iter().collect(),
        Some(ExcludeSelectItem::Multiple(names)) => names.iter().filter_map(last).collect(),
        None => Vec::new(),
    };
    if let Some(except) = &options.opt_except {
        left_out.push(normal(&except.first_element));
        left_out.extend(except.additional_elements.iter().map(normal));
    }
    let renamed: Vec<IdentWithAlias> = match options.opt_rename {
        Some(RenameSelectItem::Single(name)) => vec![name],
        Some(RenameSelectItem::Multiple(names)) => names,
        None => Vec::new(),
    };
    let replaced = options.opt_replace.map(|replace| replace.items).unwrap_or_default();
    let mut items = Vec::new();
    for column in scope.columns.iter().filter(|column| !left_out.contains(&column.name)) {
        let is_other = |other: &&Column| other.name == column.name && !other.is_merged;
        if column.is_merged && scope.columns.iter().any(|other| is_other(&other)) {
            return not_impl_err!(
                "* with two columns named '{}', one merged by USING or NATURAL; name the columns",
                column.name
            );
        }
        let replacing = replaced.iter().find(|item| normal(&item.column_name) == column.name);
        let expr = replacing.map_or_else(|| column.expr.clone(), |item| item.expr.clone());
        let renaming = renamed.iter().find(|name| normal(&name.ident) == column.name);
        let alias = match (renaming, replacing.is_some() || column.is_merged) {
            (Some(name), _) => Some(name.alias.clone()),
            (None, true) => Some(Ident::with_quote('"', &column.name)),
            (None, false) => None,
        };
        items.push(match alias {
            Some(alias) => SelectItem::ExprWithAlias { expr, alias },
            None => SelectItem::UnnamedExpr(expr),
        });
    }
    Ok(items)
}

fn last(name: &ObjectName) -> Option<String> {
    name.0.last().and_then(ObjectNamePart::as_ident).map(normal)
}

/// Returns an expression without parentheses around it.
fn bare(expr: &Expr) -> &Expr {
    match expr {
        Expr::Nested(inner) => bare(inner),
        other => other,
    }
}

/// Whether the output has a column of a name.
fn is_shown(shown: &[SelectItem], name: &Ident) -> bool {
    is_alias(shown, name)
        || shown.iter().any(|item| match item {
            SelectItem::UnnamedExpr(Expr::Identifier(shown)) => normal(shown) == normal(name),
            SelectItem::Wildcard(_) => true,
            _ => false,
        })
}

/// Whether the output has an expression with this alias.
fn is_alias(shown: &[SelectItem], name: &Ident) -> bool {
    shown.iter().any(|item| match item {
        SelectItem::ExprWithAlias { alias, .. } => normal(alias) == normal(name),
        _ => false,
    })
}

/// Returns the column of one side that the output has under the name of a column of a join: ORDER
/// BY prefers columns of the output.
fn shown_of_one_side(shown: &[SelectItem], name: &Ident) -> Option<Expr> {
    let mut sides = shown.iter().filter_map(|item| match item {
        SelectItem::UnnamedExpr(expr @ Expr::CompoundIdentifier(parts)) => {
            parts.last().is_some_and(|part| normal(part) == normal(name)).then_some(expr)
        }
        _ => None,
    });
    sides.next().filter(|_| sides.next().is_none()).cloned()
}
