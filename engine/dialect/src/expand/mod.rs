// SPDX-License-Identifier: Apache-2.0
//! Replaces what needs the columns of a table.
//!
//! The columns are those of a query `WITH .. SELECT * FROM table`, which the caller plans below the
//! common table expressions that are visible to the table ([`probe`]). Planning may have to wait,
//! so a statement is walked, all open probes are planned, and it is walked again, until none is
//! left. Inner queries are replaced before outer ones, so that probes are plain SQL. Statements
//! that need no columns are not walked.
//!
//! - [`probe`] finds the columns of tables.
//! - [`columns`] replaces `COLUMNS`, and `*` with EXCLUDE, REPLACE or RENAME.
//! - [`order`] replaces `ORDER BY ALL`.
//! - [`pivot`], [`unpivot`] and [`summarize`] replace tables.

mod columns;
mod order;
mod pivot;
mod probe;
mod summarize;
mod unpivot;

use std::ops::ControlFlow;

use datafusion::{
    common::{Column, DataFusionError, Result, SchemaError},
    sql::{
        parser::Statement as Parsed,
        sqlparser::ast::{
            Cte, Expr, Ident, OrderByKind, Query, Select, SelectItem, TableFactor, TableWithJoins,
            VisitMut, Visitor, VisitorMut, With,
        },
    },
};

use crate::syntax;
use probe::{Found, Probes};

pub use probe::{Catalog, Planning};

/// Replaces all that needs the columns of a table in a statement.
///
/// # Errors
/// [`DialectError`](crate::DialectError), the error of a table that cannot be planned, or a column
/// that does not exist.
pub async fn expand(statement: &mut Parsed, catalog: &dyn Catalog) -> Result<()> {
    if syntax::visit(statement, &mut Needs).is_continue() {
        return Ok(());
    }
    let mut probes = Probes::default();
    loop {
        let mut expanded = statement.clone();
        let mut walk =
            Expander { probes: &mut probes, catalog, visible: Vec::new(), withs: Vec::new() };
        let walked = syntax::visit_mut(&mut expanded, &mut walk);
        // While columns are unknown, the result of a walk is discarded, also its errors.
        if probes.ask(catalog).await? {
            continue;
        }
        return match walked {
            ControlFlow::Break(error) => Err(error),
            ControlFlow::Continue(()) => {
                *statement = expanded;
                Ok(())
            }
        };
    }
}

/// Breaks at the first thing that is replaced.
struct Needs;

impl Visitor for Needs {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        let kind = query.order_by.as_ref().map(|order| &order.kind);
        found(matches!(kind, Some(OrderByKind::All(_))))
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        found(select.projection.iter().any(columns::is_listed))
    }

    fn pre_visit_table_factor(&mut self, table: &TableFactor) -> ControlFlow<()> {
        found(matches!(
            table,
            TableFactor::Pivot { .. }
                | TableFactor::Unpivot { .. }
                | TableFactor::TableFunction { .. }
        ))
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        found(columns::call_of(expr).is_some())
    }
}

const fn found(is_found: bool) -> ControlFlow<()> {
    match is_found {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    }
}

/// Walks a statement.
struct Expander<'a> {
    probes: &'a mut Probes,
    catalog: &'a dyn Catalog,
    /// Common table expressions that are visible, and whether their WITH is recursive.
    visible: Vec<(bool, Cte)>,
    /// The WITH of each enclosing query, and the number of tables that are visible outside of it.
    withs: Vec<(Option<With>, usize)>,
}

impl VisitorMut for Expander<'_> {
    type Break = DataFusionError;

    /// Takes WITH from the query, because its tables are visible one after the other.
    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<DataFusionError> {
        let outside = self.visible.len();
        let mut with = query.with.take();
        if let Some(with) = &mut with {
            for table in &mut with.cte_tables {
                VisitMut::visit(table.query.as_mut(), self)?;
                self.visible.push((with.recursive, table.clone()));
            }
        }
        self.withs.push((with, outside));
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<DataFusionError> {
        ended(order::replace(query, self))?;
        if let Some((with, outside)) = self.withs.pop() {
            self.visible.truncate(outside);
            query.with = with;
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<DataFusionError> {
        ended(pivot::replace_grouped(select, self))
    }

    fn post_visit_select(&mut self, select: &mut Select) -> ControlFlow<DataFusionError> {
        ended(columns::replace(select, self))
    }

    fn post_visit_table_factor(&mut self, table: &mut TableFactor) -> ControlFlow<DataFusionError> {
        let replaced = match table {
            TableFactor::Pivot { .. } => pivot::replace(table, self),
            TableFactor::Unpivot { .. } => unpivot::replace(table, self),
            _ => summarize::replace(table, self),
        };
        ended(replaced)
    }
}

impl Expander<'_> {
    /// Returns the columns of FROM; nothing while they are unknown.
    fn columns_of(&mut self, from: Vec<TableWithJoins>) -> Result<Option<Vec<Found>>> {
        self.probes.columns(SelectItem::Wildcard(Default::default()), from, &self.visible)
    }

    /// Returns the columns of one table.
    fn columns_of_table(&mut self, table: &TableFactor) -> Result<Option<Vec<Found>>> {
        let table = TableWithJoins { relation: table.clone(), joins: Vec::new() };
        self.columns_of(vec![table])
    }

    /// Returns the name that an identifier refers to.
    fn normal(&self, ident: &Ident) -> String {
        match ident.quote_style.is_none() && self.catalog.folds_names() {
            true => ident.value.to_lowercase(),
            false => ident.value.clone(),
        }
    }
}

fn ended(result: Result<()>) -> ControlFlow<DataFusionError> {
    match result {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => ControlFlow::Break(error),
    }
}

/// The error of a column that does not exist.
fn not_found(name: &str, known: &[Found]) -> DataFusionError {
    let valid_fields = known.iter().map(|found| Column::from_name(&found.name)).collect();
    let field = Box::new(Column::from_name(name));
    DataFusionError::SchemaError(
        Box::new(SchemaError::FieldNotFound { field, valid_fields }),
        Box::new(None),
    )
}
