// SPDX-License-Identifier: Apache-2.0
//! Rejects clauses that the planner ignores.
//!
//! The parser accepts clauses of many dialects, and the planner ignores some of them. A query
//! without its `PREWHERE a = 2` or `GROUP BY a WITH ROLLUP` returns other rows, and so does a table
//! without its `a INT GENERATED ALWAYS AS (b + 1)`. An ignored clause that has a meaning is
//! refused; hints, locks and comments are accepted, because rows do not depend on them. `FROM t`
//! without SELECT, which would have no columns, gets all.

use std::ops::ControlFlow;

use datafusion::{
    common::{DataFusionError, not_impl_err},
    sql::sqlparser::ast::{
        ColumnDef, ColumnOption, GroupByExpr, Query, Select, SelectFlavor, SelectItem, Statement,
        TableFactor, VisitMut, VisitorMut, WildcardAdditionalOptions,
    },
};

/// Rejects ignored clauses, and adds `*` to FROM without SELECT.
///
/// # Errors
/// `NotImplemented` if there is a clause that would be ignored.
pub(super) fn reject(syntax: &mut impl VisitMut) -> Result<(), DataFusionError> {
    all_of(syntax.visit(&mut Clauses))
}

/// # Errors
/// `NotImplemented` if `columns` of a new table have an option that would be ignored.
pub(super) fn reject_in_columns(columns: &[ColumnDef]) -> Result<(), DataFusionError> {
    all_of(columns.iter().try_for_each(options))
}

fn all_of(found: ControlFlow<&'static str>) -> Result<(), DataFusionError> {
    match found {
        ControlFlow::Break(clause) => not_impl_err!("{clause}"),
        ControlFlow::Continue(()) => Ok(()),
    }
}

/// Breaks at the first clause that would be ignored.
struct Clauses;

impl VisitorMut for Clauses {
    type Break = &'static str;

    fn pre_visit_statement(&mut self, statement: &mut Statement) -> ControlFlow<&'static str> {
        match statement {
            Statement::CreateTable(table) => table.columns.iter().try_for_each(options),
            _ => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<&'static str> {
        first(&[
            ("FOR XML or FOR JSON", query.for_clause.is_some()),
            ("SETTINGS", query.settings.is_some()),
            ("FORMAT", query.format_clause.is_some()),
        ])
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<&'static str> {
        if select.flavor == SelectFlavor::FromFirstNoSelect {
            let all = WildcardAdditionalOptions::default();
            select.projection = vec![SelectItem::Wildcard(all)];
        }
        let modifiers = match &select.group_by {
            GroupByExpr::All(modifiers) | GroupByExpr::Expressions(_, modifiers) => modifiers,
        };
        first(&[
            ("ILIKE after *", select.projection.iter().any(has_ilike)),
            ("EXCLUDE after the select list", select.exclude.is_some()),
            ("SELECT AS STRUCT or AS VALUE", select.value_table_mode.is_some()),
            ("PREWHERE", select.prewhere.is_some()),
            ("CONNECT BY", !select.connect_by.is_empty()),
            ("GROUP BY .. WITH; write GROUP BY ROLLUP (..) or CUBE (..)", !modifiers.is_empty()),
        ])
    }

    fn pre_visit_table_factor(&mut self, table: &mut TableFactor) -> ControlFlow<&'static str> {
        match table {
            TableFactor::Table { version, with_ordinality, partitions, sample, .. } => first(&[
                ("a table version", version.is_some()),
                ("WITH ORDINALITY", *with_ordinality),
                ("a PARTITION clause on a table", !partitions.is_empty()),
                ("TABLESAMPLE", sample.is_some()),
            ]),
            TableFactor::Derived { sample, .. } => first(&[("TABLESAMPLE", sample.is_some())]),
            // The planner would show their syntax trees.
            TableFactor::MatchRecognize { .. } => ControlFlow::Break("MATCH_RECOGNIZE"),
            TableFactor::JsonTable { .. } => ControlFlow::Break("JSON_TABLE"),
            TableFactor::OpenJsonTable { .. } => ControlFlow::Break("OPENJSON"),
            TableFactor::XmlTable { .. } => ControlFlow::Break("XMLTABLE"),
            TableFactor::SemanticView { .. } => ControlFlow::Break("SEMANTIC_VIEW"),
            _ => ControlFlow::Continue(()),
        }
    }
}

/// Breaks at an option that changes the values of a column, their comparison, or whether `*`
/// includes it.
fn options(column: &ColumnDef) -> ControlFlow<&'static str> {
    column.options.iter().try_for_each(|option| {
        ControlFlow::Break(match option.option {
            ColumnOption::Generated { .. } => "GENERATED columns",
            ColumnOption::Identity(_) => "IDENTITY columns",
            ColumnOption::DialectSpecific(_) => {
                "AUTO_INCREMENT or another vendor option on a column"
            }
            ColumnOption::Collation(_) => "COLLATE on a column",
            ColumnOption::OnUpdate(_) => "ON UPDATE on a column",
            ColumnOption::Materialized(_) => "MATERIALIZED columns",
            ColumnOption::Ephemeral(_) => "EPHEMERAL columns",
            ColumnOption::Alias(_) => "ALIAS columns",
            ColumnOption::Policy(_) => "a policy on a column",
            ColumnOption::Invisible => "INVISIBLE columns",
            _ => return ControlFlow::Continue(()),
        })
    })
}

fn has_ilike(item: &SelectItem) -> bool {
    match item {
        SelectItem::Wildcard(options) | SelectItem::QualifiedWildcard(_, options) => {
            options.opt_ilike.is_some()
        }
        _ => false,
    }
}

/// Breaks with the name of the first clause that is present.
fn first(clauses: &[(&'static str, bool)]) -> ControlFlow<&'static str> {
    match clauses.iter().find(|(_, is_there)| *is_there) {
        Some((clause, _)) => ControlFlow::Break(clause),
        None => ControlFlow::Continue(()),
    }
}
