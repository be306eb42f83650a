// SPDX-License-Identifier: Apache-2.0
//! Finds the columns of tables by planning queries.
//!
//! A probe is a query `WITH .. SELECT * FROM table`. It is collected while a statement is walked,
//! and planned afterwards. At most one probe is open at a time: what encloses an unknown table
//! cannot be planned yet.

use std::{collections::HashMap, future::Future, pin::Pin};

use datafusion::{
    arrow::datatypes::DataType,
    common::{DFSchemaRef, Result, internal_datafusion_err},
    sql::{
        parser::Statement as Parsed,
        sqlparser::ast::{
            Cte, Expr, Ident, Query, SelectItem, Statement, TableFactor, TableWithJoins, With,
            helpers::attached_token::AttachedToken,
        },
    },
};

use crate::syntax::{self, quoted};

/// The columns of a query that is being planned.
pub type Planning<'a> = Pin<Box<dyn Future<Output = Result<DFSchemaRef>> + Send + 'a>>;

/// What the dialect has to know of the session.
pub trait Catalog: Send + Sync {
    /// Plans a query, and returns its columns.
    fn plan(&self, statement: Parsed) -> Planning<'_>;

    /// Whether a function, in lower case, is an aggregate.
    fn is_aggregate(&self, function: &str) -> bool;

    /// Whether names without quotes are folded to lower case.
    fn folds_names(&self) -> bool;
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Found {
    /// The parts of the table's name.
    table: Vec<String>,
    pub(super) name: String,
    pub(super) kind: DataType,
    /// Whether another column of the same tables has the name.
    is_ambiguous: bool,
}

impl Found {
    /// Returns an expression for the column.
    pub(super) fn expr(&self) -> Expr {
        match self.is_ambiguous {
            false => Expr::Identifier(quoted(&self.name)),
            true => Expr::CompoundIdentifier(self.parts().collect()),
        }
    }

    /// Returns the column as one of `all` columns, whose names may be the same.
    pub(super) fn among(mut self, all: &[Self]) -> Self {
        self.is_ambiguous =
            !self.table.is_empty() && all.iter().filter(|it| it.name == self.name).count() > 1;
        self
    }

    fn parts(&self) -> impl Iterator<Item = Ident> {
        self.table.iter().chain([&self.name]).map(|part| quoted(part))
    }
}

/// The pending probe, and the results of the others.
#[derive(Debug, Default)]
pub(super) struct Probes {
    /// By the text of the query; none of an optional probe that failed.
    answers: HashMap<String, Option<DFSchemaRef>>,
    open: Option<Open>,
    /// Whether the planner knows what the probes are for, so that they may fail: a recursive or
    /// correlated query has tables that a probe does not see.
    pub(super) are_optional: bool,
}

/// A probe that is to be planned.
#[derive(Debug)]
struct Open {
    text: String,
    query: Query,
    is_optional: bool,
}

impl Probes {
    /// Returns the columns of `SELECT item FROM from`, in order; nothing while they are unknown.
    pub(super) fn columns(
        &mut self,
        item: SelectItem,
        from: Vec<TableWithJoins>,
        visible: &[(bool, Cte)],
    ) -> Result<Option<Vec<Found>>> {
        let mut query = *syntax::query("SELECT 1", &no_table())?;
        let select = syntax::select_of(&mut query)
            .ok_or_else(|| internal_datafusion_err!("a probe is no SELECT"))?;
        select.projection = vec![item];
        select.from = from;
        self.columns_of_query(query, visible)
    }

    /// Returns the columns of a query below WITH.
    pub(super) fn columns_of_query(
        &mut self,
        mut query: Query,
        visible: &[(bool, Cte)],
    ) -> Result<Option<Vec<Found>>> {
        query.with = (!visible.is_empty()).then(|| With {
            with_token: AttachedToken::empty(),
            recursive: visible.iter().any(|(recursive, _)| *recursive),
            cte_tables: visible.iter().map(|(_, table)| table.clone()).collect(),
        });
        if self.open.is_some() {
            return Ok(None);
        }
        let text = query.to_string();
        let schema = match self.answers.get(&text) {
            Some(Some(schema)) => schema,
            Some(None) => return Ok(None),
            None => {
                self.open = Some(Open { text, query, is_optional: self.are_optional });
                return Ok(None);
            }
        };
        let count = |name: &str| schema.fields().iter().filter(|it| it.name() == name).count();
        let found = schema.iter().map(|(table, field)| Found {
            table: table.map(|table| table.to_vec()).unwrap_or_default(),
            name: field.name().clone(),
            kind: field.data_type().clone(),
            is_ambiguous: table.is_some() && count(field.name()) > 1,
        });
        Ok(Some(found.collect()))
    }

    /// Plans the pending probe; returns false if there is none.
    pub(super) async fn ask(&mut self, catalog: &dyn Catalog) -> Result<bool> {
        let Some(open) = self.open.take() else { return Ok(false) };
        let statement = Parsed::Statement(Box::new(Statement::Query(Box::new(open.query))));
        let schema = match catalog.plan(statement).await {
            Ok(schema) => Some(schema),
            Err(_) if open.is_optional => None,
            Err(error) => return Err(error),
        };
        self.answers.insert(open.text, schema);
        Ok(true)
    }
}

/// A table that no template of this file refers to.
fn no_table() -> TableFactor {
    TableFactor::TableFunction { expr: Expr::Identifier(Ident::new("none")), alias: None }
}
