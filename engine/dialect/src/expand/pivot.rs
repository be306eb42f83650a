// SPDX-License-Identifier: Apache-2.0
//! Replaces PIVOT by a group with an aggregate of each value.
//!
//! ```text
//! t PIVOT (sum(x) FOR c IN ('a', 'b'))
//!   =>  (SELECT "g", sum(x) FILTER (WHERE c = 'a') AS "a", sum(x) FILTER (WHERE c = 'b') AS "b"
//!        FROM t GROUP BY "g")
//! ```
//!
//! The keys are those of GROUP BY, which the statement PIVOT may have, otherwise all columns that
//! PIVOT does not name. A column is called by its value, and by its aggregate too if there are
//! several or it has an alias.

use std::ops::ControlFlow;

use datafusion::{
    common::{DataFusionError, Result, internal_datafusion_err, not_impl_err},
    sql::sqlparser::ast::{
        BinaryOperator, Expr, ExprWithAlias, GroupByExpr, PivotValueSource, Select, SelectItem,
        TableFactor, TableWithJoins, Value, VisitMut, VisitorMut,
    },
};

use super::{Expander, probe::Catalog};
use crate::{
    error::DialectError,
    statements::PIVOT_COLUMNS_MAX,
    syntax::{self, INPUT, columns_in, derived, function_name, name_sql, quoted},
};

/// Replaces `SELECT * FROM t PIVOT (..) GROUP BY g`, which stands for a statement PIVOT.
pub(super) fn replace_grouped(select: &mut Select, walk: &Expander<'_>) -> Result<()> {
    let [TableWithJoins { relation: table @ TableFactor::Pivot { .. }, joins }] =
        select.from.as_mut_slice()
    else {
        return Ok(());
    };
    let GroupByExpr::Expressions(groups, modifiers) = &mut select.group_by else { return Ok(()) };
    let is_all = matches!(select.projection.as_slice(), [SelectItem::Wildcard(_)]);
    if groups.is_empty() || !modifiers.is_empty() || !joins.is_empty() || !is_all {
        return Ok(());
    }
    let groups = std::mem::take(groups);
    *table = grouped(table, groups, walk.catalog)?;
    Ok(())
}

/// Replaces one table.
pub(super) fn replace(table: &mut TableFactor, walk: &mut Expander<'_>) -> Result<()> {
    let TableFactor::Pivot { table: input, aggregate_functions, value_column, .. } = &*table else {
        return Ok(());
    };
    let used: Vec<String> = aggregate_functions
        .iter()
        .map(|aggregate| &aggregate.expr)
        .chain(value_column)
        .flat_map(columns_in)
        .map(|ident| walk.normal(&ident))
        .collect();
    // An error of PIVOT itself comes before one of its table.
    grouped(table, Vec::new(), walk.catalog)?;
    let Some(columns) = walk.columns_of_table(input)? else { return Ok(()) };
    if let Some(missing) = used.iter().find(|name| !columns.iter().any(|it| it.name == **name)) {
        return Err(super::not_found(missing, &columns));
    }
    let keys = columns.iter().filter(|column| !used.contains(&column.name));
    let keys = keys.map(|column| column.expr()).collect();
    *table = grouped(table, keys, walk.catalog)?;
    Ok(())
}

/// Makes the group of a PIVOT.
fn grouped(table: &TableFactor, keys: Vec<Expr>, catalog: &dyn Catalog) -> Result<TableFactor> {
    let TableFactor::Pivot {
        table: input,
        aggregate_functions,
        value_column,
        value_source,
        default_on_null,
        alias,
    } = table
    else {
        return Err(internal_datafusion_err!("not a PIVOT"));
    };
    if default_on_null.is_some() {
        return not_impl_err!("DEFAULT ON NULL in PIVOT");
    }
    let PivotValueSource::List(values) = value_source else {
        let column: Vec<String> = value_column.iter().map(ToString::to_string).collect();
        return Err(DialectError::PivotWithoutList { column: column.join(", ") }.into());
    };
    if values.len().saturating_mul(aggregate_functions.len()) > PIVOT_COLUMNS_MAX {
        return Err(DialectError::PivotColumns.into());
    }
    let mut items: Vec<SelectItem> = keys.iter().cloned().map(SelectItem::UnnamedExpr).collect();
    let names_aggregates =
        aggregate_functions.len() > 1 || aggregate_functions.iter().any(|it| it.alias.is_some());
    for value in values {
        let condition = condition(value_column, value)?;
        for aggregate in aggregate_functions {
            let name = match names_aggregates {
                true => format!("{}_{}", name_of(value), name_of(aggregate)),
                false => name_of(value),
            };
            let expr = filtered(&aggregate.expr, &condition, catalog)?;
            items.push(SelectItem::ExprWithAlias { expr, alias: quoted(&name) });
        }
    }
    let mut query = syntax::query(&format!("SELECT 1 FROM {}", name_sql(INPUT)), input)?;
    let select = syntax::select_of(&mut query)
        .ok_or_else(|| internal_datafusion_err!("a group is no SELECT"))?;
    select.projection = items;
    select.group_by = GroupByExpr::Expressions(keys, Vec::new());
    Ok(derived(query, alias.clone()))
}

/// Returns the name of a value or of an aggregate.
fn name_of(item: &ExprWithAlias) -> String {
    match (&item.alias, &item.expr) {
        (Some(alias), _) => alias.value.clone(),
        (None, Expr::Tuple(parts)) => {
            let parts: Vec<String> = parts.iter().map(text).collect();
            parts.join("_")
        }
        (None, expr) => text(expr),
    }
}

fn text(expr: &Expr) -> String {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => text.clone(),
            other => other.to_string(),
        },
        Expr::TypedString(typed) => match &typed.value.value {
            Value::SingleQuotedString(text) => text.clone(),
            other => other.to_string(),
        },
        other => other.to_string(),
    }
}

/// Makes the condition that the columns have a value.
fn condition(columns: &[Expr], value: &ExprWithAlias) -> Result<Expr> {
    let parts = match &value.expr {
        Expr::Tuple(parts) => parts.as_slice(),
        other => std::slice::from_ref(other),
    };
    if parts.len() != columns.len() {
        return Err(DialectError::PivotValue { found: value.to_string() }.into());
    }
    let equal = columns.iter().zip(parts).map(|(column, part)| {
        let column = Box::new(Expr::Nested(Box::new(column.clone())));
        match part {
            Expr::Value(value) if value.value == Value::Null => Expr::IsNull(column),
            part => binary(*column, BinaryOperator::Eq, part.clone()),
        }
    });
    equal
        .reduce(|left, right| binary(left, BinaryOperator::And, right))
        .ok_or_else(|| internal_datafusion_err!("PIVOT has no column"))
}

fn binary(left: Expr, op: BinaryOperator, right: Expr) -> Expr {
    Expr::BinaryOp { left: Box::new(left), op, right: Box::new(right) }
}

/// Lets the aggregates of an expression see only rows that meet a condition.
fn filtered(expr: &Expr, condition: &Expr, catalog: &dyn Catalog) -> Result<Expr> {
    let mut expr = expr.clone();
    let mut filters = Filters { condition, catalog, count: 0 };
    if let ControlFlow::Break(error) = VisitMut::visit(&mut expr, &mut filters) {
        return Err(error);
    }
    match filters.count {
        0 => Err(DialectError::PivotAggregate { found: expr.to_string() }.into()),
        _ => Ok(expr),
    }
}

struct Filters<'a> {
    condition: &'a Expr,
    catalog: &'a dyn Catalog,
    count: usize,
}

impl VisitorMut for Filters<'_> {
    type Break = DataFusionError;

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<DataFusionError> {
        if let Expr::Function(call) = expr
            && function_name(call)
                .is_some_and(|name| self.catalog.is_aggregate(&name.to_lowercase()))
            && call.over.is_none()
        {
            let condition = self.condition.clone();
            let filter = match call.filter.take() {
                None => condition,
                Some(own) => binary(Expr::Nested(own), BinaryOperator::And, condition),
            };
            call.filter = Some(Box::new(filter));
            self.count += 1;
        }
        ControlFlow::Continue(())
    }
}
