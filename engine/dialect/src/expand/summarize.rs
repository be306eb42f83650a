// SPDX-License-Identifier: Apache-2.0
//! Replaces SUMMARIZE by one aggregate over all columns, whose results become rows.
//!
//! The columns are those of DuckDB, with its names of types. The extremes are texts. Averages,
//! deviations and quantiles are those of numbers; quantiles are also those of dates and times,
//! computed from their numbers. What is not defined for a type is NULL. Quantiles and counts of
//! different values are estimates.

use datafusion::{
    arrow::datatypes::{DataType, TimeUnit},
    common::{Result, not_impl_err},
    sql::sqlparser::ast::{Expr, FunctionArguments, Query, TableFactor},
};

use super::{Expander, probe::Found};
use crate::{
    error::DialectError,
    statements::SUMMARIZE,
    syntax::{self, INPUT, derived, function_name, name_sql, text_sql},
    types::type_name,
};

/// Returns the query that is summarized, if a table stands for one.
fn query_of(table: &TableFactor) -> Option<&Query> {
    let TableFactor::TableFunction { expr: Expr::Function(call), .. } = table else { return None };
    let name = function_name(call)?;
    match &call.args {
        FunctionArguments::Subquery(query) if name.eq_ignore_ascii_case(SUMMARIZE) => Some(query),
        _ => None,
    }
}

/// Replaces one table.
pub(super) fn replace(table: &mut TableFactor, walk: &mut Expander<'_>) -> Result<()> {
    let TableFactor::TableFunction { expr, .. } = &*table else { return Ok(()) };
    let Some(query) = query_of(table) else {
        // The planner would show the syntax tree.
        return not_impl_err!("TABLE({expr}) in FROM; write the function without TABLE");
    };
    let input = derived(Box::new(query.clone()), None);
    let Some(columns) = walk.columns_of_table(&input)? else { return Ok(()) };
    if columns.is_empty() {
        return Err(DialectError::NoColumns.into());
    }
    let summary = syntax::query(&template(&columns), &input)?;
    let TableFactor::TableFunction { alias, .. } = table else { return Ok(()) };
    *table = derived(summary, alias.take());
    Ok(())
}

/// Returns an aggregate of a column of a type; nothing if it has none.
type Aggregate = fn(&str, &DataType) -> Option<String>;

/// The columns of a summary that are aggregates, in order.
const AGGREGATES: [(&str, Aggregate); 8] = [
    ("min", |column, kind| extreme("min", column, kind)),
    ("max", |column, kind| extreme("max", column, kind)),
    ("approx_unique", unique),
    ("avg", average),
    ("std", |column, kind| of_number("stddev", column, kind)),
    ("q25", |column, kind| quantile(0.25, column, kind)),
    ("q50", |column, kind| quantile(0.5, column, kind)),
    ("q75", |column, kind| quantile(0.75, column, kind)),
];

/// Makes `SELECT unnest([..]) AS min, .. FROM (SELECT min(a), .. FROM input)`.
fn template(columns: &[Found]) -> String {
    let mut inner = vec!["count(*) AS \"rows\"".to_owned()];
    let mut outer = vec![
        list(columns, "column_name", |_, column| text_sql(&column.name)),
        list(columns, "column_type", |_, column| text_sql(&type_name(&column.kind))),
    ];
    for (name, aggregate) in AGGREGATES {
        outer.push(list(columns, name, |place, column| {
            let input = column.expr().to_string();
            let kind = if name == "approx_unique" { "BIGINT" } else { "VARCHAR" };
            match aggregate(&input, &column.kind) {
                None => format!("CAST(NULL AS {kind})"),
                Some(value) => {
                    inner.push(format!("CAST({value} AS {kind}) AS \"{name} {place}\""));
                    format!("\"{name} {place}\"")
                }
            }
        }));
    }
    outer.push(list(columns, "count", |_, _| "\"rows\"".to_owned()));
    outer.push(list(columns, "null_percentage", |place, column| {
        inner.push(format!("count({}) AS \"values {place}\"", column.expr()));
        format!(
            "CAST(100.0 * (\"rows\" - \"values {place}\") / nullif(\"rows\", 0) AS DECIMAL(9, 2))"
        )
    }));
    let (outer, inner) = (outer.join(", "), inner.join(", "));
    format!("SELECT {outer} FROM (SELECT {inner} FROM {})", name_sql(INPUT))
}

/// Makes a column of a summary.
fn list(columns: &[Found], name: &str, mut value: impl FnMut(usize, &Found) -> String) -> String {
    let values: Vec<String> =
        columns.iter().enumerate().map(|(place, column)| value(place, column)).collect();
    format!("unnest([{}]) AS {}", values.join(", "), name_sql(name))
}

/// Least or greatest value.
fn extreme(aggregate: &str, column: &str, kind: &DataType) -> Option<String> {
    let is_bytes = matches!(
        kind,
        DataType::Binary
            | DataType::LargeBinary
            | DataType::BinaryView
            | DataType::FixedSizeBinary(_)
    );
    (!kind.is_nested() && !is_bytes && !kind.is_null())
        .then(|| text(&format!("{aggregate}({column})"), kind))
}

/// Writes a value as text, as DuckDB does.
fn text(value: &str, kind: &DataType) -> String {
    match kind {
        DataType::Timestamp(_, None) => format!("replace(CAST({value} AS VARCHAR), 'T', ' ')"),
        _ => value.to_owned(),
    }
}

/// The average of numbers as a floating-point number, of dates and times as a time.
fn average(column: &str, kind: &DataType) -> Option<String> {
    let (number, unit) = match kind {
        DataType::Date32 => (format!("86400 * CAST({column} AS INT)"), TimeUnit::Second),
        DataType::Timestamp(unit, None) => (format!("CAST({column} AS BIGINT)"), *unit),
        _ => return of_number("avg", column, kind),
    };
    let value = format!("avg(CAST({number} AS DOUBLE))");
    let value = format!("arrow_cast(CAST({value} AS BIGINT), '{}')", timestamp(unit));
    Some(text(&value, &DataType::Timestamp(unit, None)))
}

/// Returns the name of a type in DataFusion.
const fn timestamp(unit: TimeUnit) -> &'static str {
    match unit {
        TimeUnit::Second => "Timestamp(s)",
        TimeUnit::Millisecond => "Timestamp(ms)",
        TimeUnit::Microsecond => "Timestamp(µs)",
        TimeUnit::Nanosecond => "Timestamp(ns)",
    }
}

/// Estimated number of different values.
fn unique(column: &str, kind: &DataType) -> Option<String> {
    let input = match kind {
        DataType::Null => return None,
        DataType::Float16 | DataType::Float32 | DataType::Float64 => {
            format!("CAST({column} AS VARCHAR)")
        }
        DataType::Dictionary(_, values) => return unique(column, values),
        _ => column.to_owned(),
    };
    Some(format!("approx_distinct({input})"))
}

/// An aggregate of numbers, as a floating-point number.
fn of_number(aggregate: &str, column: &str, kind: &DataType) -> Option<String> {
    kind.is_numeric().then(|| format!("{aggregate}(CAST({column} AS DOUBLE))"))
}

/// A quantile, in the type of the column.
fn quantile(share: f64, column: &str, kind: &DataType) -> Option<String> {
    let of = |input: &str| format!("approx_percentile_cont({input}, {share})");
    Some(match kind {
        DataType::Decimal32(..) | DataType::Decimal64(..) => {
            of(&format!("CAST({column} AS DOUBLE)"))
        }
        DataType::Decimal128(_, scale) | DataType::Decimal256(_, scale) => {
            let value = of(&format!("CAST({column} AS DOUBLE)"));
            format!("CAST({value} AS DECIMAL(38, {scale}))")
        }
        DataType::Date32 => {
            let value = of(&format!("CAST(CAST({column} AS INT) AS DOUBLE)"));
            format!("CAST(CAST({value} AS INT) AS DATE)")
        }
        DataType::Timestamp(unit, None) => {
            let value = of(&format!("CAST(CAST({column} AS BIGINT) AS DOUBLE)"));
            let value = format!("arrow_cast(CAST({value} AS BIGINT), '{}')", timestamp(*unit));
            text(&value, kind)
        }
        DataType::UInt64 => format!("TRY_CAST(round({}) AS BIGINT UNSIGNED)", of(column)),
        kind if kind.is_integer() => format!("TRY_CAST(round({}) AS BIGINT)", of(column)),
        kind if kind.is_numeric() => of(column),
        _ => return None,
    })
}
