// SPDX-License-Identifier: Apache-2.0
//! Makes parts of a syntax tree, mostly from templates of SQL.
//!
//! A template is a query whose tables named [`INPUT`] are replaced by the user's table, so that
//! tables of the user never pass through text.

use std::{convert::Infallible, ops::ControlFlow};

use datafusion::sql::{
    parser::{CopyToSource, Statement as Parsed},
    sqlparser::{
        ast::{
            Expr, Function, Ident, ObjectName, ObjectNamePart, Query, Select, SetExpr, Statement,
            TableAlias, TableFactor, Visit, VisitMut, Visitor, VisitorMut,
        },
        dialect::GenericDialect,
        parser::{Parser, ParserError},
    },
};

/// The name of the user's table in a template.
pub(crate) const INPUT: &str = "nearscan input";

/// Makes a query of a template, whose tables named [`INPUT`] are `input`.
///
/// # Errors
/// If the template is no query, which is a defect.
pub(crate) fn query(template: &str, input: &TableFactor) -> Result<Box<Query>, ParserError> {
    let mut query = Parser::new(&GenericDialect {}).try_with_sql(template)?.parse_query()?;
    let _ = VisitMut::visit(query.as_mut(), &mut Inputs(input));
    Ok(query)
}

/// Makes an expression of a template.
///
/// # Errors
/// If the template is no expression, which is a defect.
pub(crate) fn expr(template: &str) -> Result<Expr, ParserError> {
    Parser::new(&GenericDialect {}).try_with_sql(template)?.parse_expr()
}

struct Inputs<'a>(&'a TableFactor);

impl VisitorMut for Inputs<'_> {
    type Break = Infallible;

    fn post_visit_table_factor(&mut self, table: &mut TableFactor) -> ControlFlow<Infallible> {
        if let TableFactor::Table { name, .. } = table
            && last_part(name).is_some_and(|ident| ident.value == INPUT)
        {
            *table = self.0.clone();
        }
        ControlFlow::Continue(())
    }
}

/// Returns the SELECT of a query that is neither a set operation nor VALUES.
pub(crate) fn select_of(query: &mut Query) -> Option<&mut Select> {
    match query.body.as_mut() {
        SetExpr::Select(select) => Some(select),
        _ => None,
    }
}

/// Makes a subquery in FROM.
pub(crate) fn derived(subquery: Box<Query>, alias: Option<TableAlias>) -> TableFactor {
    TableFactor::Derived { lateral: false, subquery, alias, sample: None }
}

/// Makes the name of a column, whatever its letters are.
pub(crate) fn quoted(name: &str) -> Ident {
    Ident::with_quote('"', name)
}

/// Makes an alias of a table.
pub(crate) fn alias(name: Ident) -> TableAlias {
    TableAlias { explicit: true, name, columns: Vec::new(), at: None }
}

/// Returns a name as SQL.
pub(crate) fn name_sql(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Returns a string literal as SQL.
pub(crate) fn text_sql(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Returns the last part of a name.
pub(crate) fn last_part(name: &ObjectName) -> Option<&Ident> {
    name.0.last().and_then(ObjectNamePart::as_ident)
}

/// Returns the name of a function that has one part and no quotes, as written.
pub(crate) fn function_name(function: &Function) -> Option<&str> {
    match function.name.0.as_slice() {
        [ObjectNamePart::Identifier(ident)] if ident.quote_style.is_none() => Some(&ident.value),
        _ => None,
    }
}

/// Returns the last names of all columns that an expression refers to.
pub(crate) fn columns_in(expr: &Expr) -> Vec<Ident> {
    struct Names(Vec<Ident>);
    impl Visitor for Names {
        type Break = Infallible;
        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Infallible> {
            match expr {
                Expr::Identifier(ident) => self.0.push(ident.clone()),
                Expr::CompoundIdentifier(parts) => self.0.extend(parts.last().cloned()),
                _ => {}
            }
            ControlFlow::Continue(())
        }
    }
    let mut names = Names(Vec::new());
    let _ = Visit::visit(expr, &mut names);
    names.0
}

/// The part of a statement that has queries.
pub(crate) enum Queries<'a> {
    Statement(&'a mut Statement),
    Query(&'a mut Query),
}

/// Returns the part of a statement that has queries.
pub(crate) fn queries(statement: &mut Parsed) -> Option<Queries<'_>> {
    match statement {
        Parsed::Statement(statement) => Some(Queries::Statement(statement)),
        Parsed::Explain(explained) => queries(&mut explained.statement),
        Parsed::CopyTo(copy) => match &mut copy.source {
            CopyToSource::Query(query) => Some(Queries::Query(query)),
            CopyToSource::Relation(_) => None,
        },
        Parsed::CreateExternalTable(_) | Parsed::Reset(_) => None,
    }
}

/// Visits all queries of a statement, to change them.
pub(crate) fn visit_mut<V: VisitorMut>(
    statement: &mut Parsed,
    visitor: &mut V,
) -> ControlFlow<V::Break> {
    match queries(statement) {
        Some(Queries::Statement(statement)) => VisitMut::visit(statement, visitor),
        Some(Queries::Query(query)) => VisitMut::visit(query, visitor),
        None => ControlFlow::Continue(()),
    }
}

/// Visits all queries of a statement.
pub(crate) fn visit<V: Visitor>(statement: &Parsed, visitor: &mut V) -> ControlFlow<V::Break> {
    match statement {
        Parsed::Statement(statement) => Visit::visit(statement.as_ref(), visitor),
        Parsed::Explain(explained) => visit(&explained.statement, visitor),
        Parsed::CopyTo(copy) => match &copy.source {
            CopyToSource::Query(query) => Visit::visit(query.as_ref(), visitor),
            CopyToSource::Relation(_) => ControlFlow::Continue(()),
        },
        Parsed::CreateExternalTable(_) | Parsed::Reset(_) => ControlFlow::Continue(()),
    }
}
