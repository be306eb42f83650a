// SPDX-License-Identifier: Apache-2.0
//! Replaces UNPIVOT by the elements of two arrays: of the names and of the values of columns.
//!
//! ```text
//! t UNPIVOT (v FOR n IN (a, b))
//!   =>  (SELECT * FROM (SELECT "k", unnest(['a', 'b']) AS "n", unnest([a, b]) AS "v" FROM t)
//!        WHERE "v" IS NOT NULL)
//! ```
//!
//! The other columns are those that UNPIVOT does not name. Rows without a value are left out,
//! unless the user says INCLUDE NULLS.

use std::ops::ControlFlow;

use datafusion::{
    common::{Result, internal_datafusion_err},
    sql::sqlparser::ast::{
        Array, Expr, ExprWithAlias, NullInclusion, SelectItem, TableFactor, TableWithJoins,
        VisitMut, VisitorMut,
    },
};

use super::{Expander, columns, not_found, probe::Found};
use crate::{
    error::DialectError,
    syntax::{self, INPUT, columns_in, derived, name_sql, text_sql},
};

/// The column of values in templates.
const VALUE: &str = "nearscan values";

/// Replaces one table.
pub(super) fn replace(table: &mut TableFactor, walk: &mut Expander<'_>) -> Result<()> {
    let TableFactor::Unpivot { table: input, value, name, columns, null_inclusion, alias } =
        &*table
    else {
        return Ok(());
    };
    let Some(known) = walk.columns_of_table(input)? else { return Ok(()) };
    let Some(sources) = sources(columns, input, walk)? else { return Ok(()) };
    let used: Vec<String> = sources
        .iter()
        .flat_map(|source| columns_in(&source.expr))
        .map(|ident| walk.normal(&ident))
        .collect();
    if let Some(missing) = used.iter().find(|name| !known.iter().any(|it| it.name == **name)) {
        return Err(not_found(missing, &known));
    }
    let value = match value {
        Expr::Identifier(ident) => walk.normal(ident),
        other => return Err(DialectError::UnpivotColumn { found: other.to_string() }.into()),
    };
    let keys: Vec<&Found> = known.iter().filter(|it| !used.contains(&it.name)).collect();
    let names: Vec<String> =
        sources.iter().map(|source| text_sql(&name_of(source, walk))).collect();
    let template = format!(
        "SELECT * FROM (SELECT {keys} unnest([{names}]) AS {name}, unnest({values}) AS {value} \
         FROM {input}){condition}",
        keys = keys.iter().map(|key| format!("{}, ", key.expr())).collect::<String>(),
        names = names.join(", "),
        name = name_sql(&walk.normal(name)),
        values = name_sql(VALUE),
        value = name_sql(&value),
        input = name_sql(INPUT),
        condition = match null_inclusion {
            Some(NullInclusion::IncludeNulls) => String::new(),
            Some(NullInclusion::ExcludeNulls) | None => {
                format!(" WHERE {} IS NOT NULL", name_sql(&value))
            }
        },
    );
    let mut query = syntax::query(&template, input)?;
    let elem = sources.into_iter().map(|source| source.expr).collect();
    let values = Expr::Array(Array { elem, named: false });
    let _ = VisitMut::visit(query.as_mut(), &mut Values(values));
    let replaced = derived(query, alias.clone());
    *table = replaced;
    Ok(())
}

/// Replaces the column of values in a template.
struct Values(Expr);

impl VisitorMut for Values {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if matches!(expr, Expr::Identifier(ident) if ident.value == VALUE) {
            *expr = self.0.clone();
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

/// Returns the columns that become rows, without COLUMNS; nothing while they are unknown.
fn sources(
    listed: &[ExprWithAlias],
    input: &TableFactor,
    walk: &mut Expander<'_>,
) -> Result<Option<Vec<ExprWithAlias>>> {
    let mut select = syntax::query(&format!("SELECT 1 FROM {}", name_sql(INPUT)), input)?;
    let select = syntax::select_of(&mut select)
        .ok_or_else(|| internal_datafusion_err!("a template is no SELECT"))?;
    select.from = vec![TableWithJoins { relation: input.clone(), joins: Vec::new() }];
    select.projection = listed
        .iter()
        .map(|source| match &source.alias {
            None => SelectItem::UnnamedExpr(source.expr.clone()),
            Some(alias) => {
                SelectItem::ExprWithAlias { expr: source.expr.clone(), alias: alias.clone() }
            }
        })
        .collect();
    columns::replace(select, walk)?;
    let mut sources = Vec::with_capacity(select.projection.len());
    for item in std::mem::take(&mut select.projection) {
        let source = match item {
            SelectItem::UnnamedExpr(expr) => ExprWithAlias { expr, alias: None },
            SelectItem::ExprWithAlias { expr, alias } => ExprWithAlias { expr, alias: Some(alias) },
            other => return Err(DialectError::UnpivotColumn { found: other.to_string() }.into()),
        };
        match source.expr {
            Expr::Tuple(_) => {
                return Err(DialectError::UnpivotColumn { found: source.to_string() }.into());
            }
            // Its columns are unknown yet.
            _ if columns::call_of(&source.expr).is_some() => return Ok(None),
            _ => sources.push(source),
        }
    }
    Ok(Some(sources))
}

fn name_of(source: &ExprWithAlias, walk: &Expander<'_>) -> String {
    match (&source.alias, &source.expr) {
        (Some(alias), _) => walk.normal(alias),
        (None, Expr::Identifier(ident)) => walk.normal(ident),
        (None, Expr::CompoundIdentifier(parts)) => {
            parts.last().map(|ident| walk.normal(ident)).unwrap_or_default()
        }
        (None, other) => other.to_string(),
    }
}
