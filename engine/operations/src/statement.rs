// SPDX-License-Identifier: Apache-2.0
//! Writes the statement of a [`Query`], whose expressions are an application's.
//!
//! # Invariants
//!
//! - A part of a statement is one expression without a subquery, or it is refused: so the statement
//!   reads the table of its request and no other. The plan is checked for that once more.

use std::ops::ControlFlow;

use nearscan::{
    Session,
    datafusion::{
        common::tree_node::TreeNodeRecursion,
        logical_expr::LogicalPlan,
        sql::{
            parser::DFParserBuilder,
            sqlparser::{
                ast::{Expr, Query as Subquery, Visit, Visitor},
                dialect::dialect_from_str,
            },
        },
    },
};
use nearscan_applications::{Layout, Query, Refusal};

/// The name of the table in statements.
pub(crate) const TABLE: &str = "objects";

/// Writes the statement of a scan.
///
/// # Errors
/// [`Refusal::Invalid`] if a part is no expression, or has a subquery.
pub(crate) fn scan(session: &Session, query: &Query) -> Result<String, Refusal> {
    let Query { columns, aggregates, group_by, filter, limit, .. } = query;
    if !aggregates.is_empty() && !columns.is_empty() {
        let text = "columns beside aggregates have to be those of group-by";
        return Err(Refusal::Invalid(text.to_owned()));
    }
    if aggregates.is_empty() && !group_by.is_empty() {
        return Err(Refusal::Invalid("group-by is for aggregates".to_owned()));
    }
    for part in aggregates.iter().chain(filter) {
        check_expression(session, part)?;
    }
    let aggregates = aggregates.iter().cloned();
    let mut selected: Vec<String> = group_by.iter().map(|name| quoted(name)).collect();
    selected.extend(aggregates.chain(columns.iter().map(|name| quoted(name))));
    if selected.is_empty() {
        selected.push("*".to_owned());
    }
    // A part may end in a comment, which ends with its line.
    let mut statement = format!("SELECT {}\nFROM {TABLE}", selected.join("\n, "));
    if let Some(filter) = filter {
        statement += &format!(" WHERE ({filter}\n)");
    }
    if !group_by.is_empty() {
        let names: Vec<String> = group_by.iter().map(|name| quoted(name)).collect();
        statement += &format!(" GROUP BY {}", names.join(", "));
    }
    if let Some(limit) = limit {
        statement += &format!(" LIMIT {limit}");
    }
    Ok(statement)
}

/// Writes the statement that reads all rows in the order of a layout.
pub(crate) fn sorted(layout: &Layout) -> String {
    let mut statement = format!("SELECT * FROM {TABLE}");
    if !layout.sort_by.is_empty() {
        let names: Vec<String> = layout.sort_by.iter().map(|name| quoted(name)).collect();
        statement += &format!(" ORDER BY {}", names.join(", "));
    }
    statement
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Checks that a text is one expression without subqueries, in the dialect of a session.
fn check_expression(session: &Session, text: &str) -> Result<(), Refusal> {
    let invalid = |reason: String| Refusal::Invalid(format!("{text}: {reason}"));
    let config = session.uncorrected_context().copied_config();
    let options = &config.options().sql_parser;
    let dialect = dialect_from_str(options.dialect);
    let dialect = dialect.ok_or_else(|| invalid("there is no dialect".to_owned()))?;
    let parser = DFParserBuilder::new(text)
        .with_dialect(dialect.as_ref())
        .with_recursion_limit(options.recursion_limit.into())
        .build();
    let parsed = parser.and_then(|mut parser| parser.parse_into_expr());
    let parsed = parsed.map_err(|error| invalid(error.to_string()))?;
    if has_subquery(&parsed.expr) {
        return Err(invalid("a subquery could read other tables".to_owned()));
    }
    Ok(())
}

fn has_subquery(expression: &Expr) -> bool {
    struct Subqueries;
    impl Visitor for Subqueries {
        type Break = ();
        fn pre_visit_query(&mut self, _: &Subquery) -> ControlFlow<()> {
            ControlFlow::Break(())
        }
    }
    expression.visit(&mut Subqueries).is_break()
}

/// Checks that a plan reads the table of its statement and nothing else.
///
/// # Errors
/// [`Refusal::Denied`].
pub(crate) fn check_plan(plan: &LogicalPlan) -> Result<(), Refusal> {
    let mut others = Vec::new();
    let walked = plan.apply_with_subqueries(|node| {
        if let LogicalPlan::TableScan(scan) = node
            && scan.table_name.table() != TABLE
        {
            others.push(scan.table_name.to_string());
        }
        Ok(TreeNodeRecursion::Continue)
    });
    walked.map_err(|error| Refusal::Invalid(error.to_string()))?;
    match others.first() {
        None => Ok(()),
        Some(other) => Err(Refusal::Denied(format!("the statement reads {other}"))),
    }
}
