// SPDX-License-Identifier: Apache-2.0
//! Says how the columns of a result are shown.
//!
//! DataFusion calls a column without an alias by its planned expression: `avg(t.x)`,
//! `Int64(1) + Int64(2)`. Here it is called by the expression as written, without the names of
//! tables: `avg(x)`, `1 + 2`. Only what a user sees is renamed: subqueries, views and new tables
//! keep DataFusion's names, because other parts of a plan refer to them. An alias, and a column
//! itself, keep their names. Two columns may have one name.

use std::{convert::Infallible, ops::ControlFlow, sync::Arc};

use datafusion::{
    arrow::datatypes::{Field, Schema, SchemaRef},
    sql::{
        parser::Statement as Parsed,
        sqlparser::ast::{
            Expr, ObjectNamePart, Query, SelectItem, SetExpr, Statement, Value, Visit, VisitMut,
            Visitor, VisitorMut,
        },
    },
};

use crate::syntax::function_name;

/// Bytes of the longest name.
const NAME_MAX: usize = 200;

/// The names of the columns of a result.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DisplayNames {
    /// Those in front of `*`, or all.
    head: Vec<Option<String>>,
    /// Those behind `*`; nothing if there is none.
    tail: Option<Vec<Option<String>>>,
}

/// Returns the names of the columns that a statement returns.
#[must_use]
pub fn display_names(statement: &Parsed) -> DisplayNames {
    let Parsed::Statement(statement) = statement else { return DisplayNames::default() };
    let Statement::Query(query) = statement.as_ref() else { return DisplayNames::default() };
    let items = first_select(query).unwrap_or_default();
    let is_wildcard = |item: &SelectItem| {
        matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..))
    };
    let wildcards = items.iter().filter(|item| is_wildcard(item)).count();
    // A structure that is unnested becomes several columns.
    if wildcards > 1 || items.iter().any(|item| Visit::visit(item, &mut Unnests).is_break()) {
        return DisplayNames::default();
    }
    let names = |items: &[SelectItem]| items.iter().map(name_of).collect();
    match items.iter().position(is_wildcard) {
        None => DisplayNames { head: names(items), tail: None },
        Some(at) => DisplayNames { head: names(&items[..at]), tail: Some(names(&items[at + 1..])) },
    }
}

impl DisplayNames {
    /// Renames the fields of a result; nothing if no name changes.
    #[must_use]
    pub fn rename(&self, schema: &Schema) -> Option<SchemaRef> {
        let count = schema.fields().len();
        let tail = self.tail.as_deref().unwrap_or_default();
        let fits = match &self.tail {
            None => self.head.len() == count,
            Some(tail) => self.head.len() + tail.len() <= count,
        };
        let is_named = self.head.iter().chain(tail).any(Option::is_some);
        if !fits || !is_named {
            return None;
        }
        let kept = count - self.head.len() - tail.len();
        let names = self.head.iter().chain(std::iter::repeat_n(&None, kept)).chain(tail);
        let renamed = schema.fields().iter().zip(names).map(|(field, name)| match name {
            Some(name) if name != field.name() => {
                Arc::new(Field::clone(field).with_name(name.clone()))
            }
            _ => Arc::clone(field),
        });
        let fields: Vec<_> = renamed.collect();
        Some(Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone())))
    }
}

/// Returns the select list that names the columns: of a set operation the first one. Pipe operators
/// behind a query make other columns.
fn first_select(query: &Query) -> Option<&[SelectItem]> {
    let mut body = body_of(query)?;
    loop {
        match body {
            SetExpr::Select(select) => return Some(&select.projection),
            SetExpr::Query(query) => body = body_of(query)?,
            SetExpr::SetOperation { left, .. } => body = left.as_ref(),
            _ => return None,
        }
    }
}

fn body_of(query: &Query) -> Option<&SetExpr> {
    query.pipe_operators.is_empty().then_some(query.body.as_ref())
}

fn name_of(item: &SelectItem) -> Option<String> {
    let SelectItem::UnnamedExpr(expr) = item else { return None };
    if matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_)) {
        return None;
    }
    // The value of a parameter is not shown, and a text is called by itself.
    if let Expr::Value(value) = expr
        && matches!(value.value, Value::Placeholder(_))
    {
        return None;
    }
    let mut expr = expr.clone();
    let _ = VisitMut::visit(&mut expr, &mut Plain);
    let name = expr.to_string();
    (name.len() <= NAME_MAX).then_some(name)
}

/// Removes the names of tables, and writes functions in lower case.
struct Plain;

impl VisitorMut for Plain {
    type Break = Infallible;

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        match expr {
            Expr::CompoundIdentifier(parts) => {
                if let Some(mut last) = parts.pop() {
                    if is_plain(&last.value) {
                        last.quote_style = None;
                    }
                    *expr = Expr::Identifier(last);
                }
            }
            Expr::Identifier(ident) if is_plain(&ident.value) => ident.quote_style = None,
            Expr::Function(function) => {
                if let Some(name) = function_name(function).map(str::to_lowercase)
                    && let Some(ObjectNamePart::Identifier(ident)) = function.name.0.first_mut()
                {
                    ident.value = name;
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// Whether a name means the same with and without quotes.
fn is_plain(name: &str) -> bool {
    let is_letter = |sign: char| sign.is_ascii_lowercase() || sign == '_';
    name.starts_with(is_letter) && name.chars().all(|sign| is_letter(sign) || sign.is_ascii_digit())
}

struct Unnests;

impl Visitor for Unnests {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::Function(function)
                if function_name(function)
                    .is_some_and(|name| name.eq_ignore_ascii_case("unnest")) =>
            {
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        }
    }
}
