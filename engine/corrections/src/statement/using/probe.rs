// SPDX-License-Identifier: Apache-2.0
//! Finds the columns of tables by planning queries.
//!
//! A probe is a query `WITH .. SELECT * FROM table`. It is collected while a statement is resolved,
//! and planned afterwards, because planning may have to wait for the catalog. The queries in it are
//! resolved already.

use std::collections::HashMap;

use datafusion::{
    common::Result,
    execution::SessionState,
    sql::{
        parser::Statement as Parsed,
        sqlparser::ast::{
            Cte, GroupByExpr, Query, Select, SelectFlavor, SelectItem, SetExpr, Statement,
            TableFactor, TableWithJoins, With, helpers::attached_token::AttachedToken,
        },
    },
};

use crate::{registry::Correction, set::CorrectionSet, statement::plan_statement};

/// Pending probes, and the results of the others.
#[derive(Debug, Default)]
pub(super) struct Probes {
    /// Names of the columns of a query, by its text.
    answers: HashMap<String, Vec<String>>,
    open: Vec<(String, Query)>,
}

impl Probes {
    /// Returns the names of the columns of a table, in order; nothing while they are unknown.
    pub(super) fn columns(
        &mut self,
        table: &TableFactor,
        before: &[TableWithJoins],
        visible: &[(bool, Cte)],
    ) -> Option<Vec<String>> {
        let sees_others = is_lateral(table);
        let count_before = match sees_others && !before.is_empty() {
            true => self.ask_for(select_all(before.to_vec(), visible))?.len(),
            false => 0,
        };
        let own = TableWithJoins { relation: table.clone(), joins: Vec::new() };
        let from = match sees_others {
            true => before.iter().cloned().chain([own]).collect(),
            false => vec![own],
        };
        let columns = self.ask_for(select_all(from, visible))?;
        Some(columns[count_before.min(columns.len())..].to_vec())
    }

    fn ask_for(&mut self, query: Query) -> Option<Vec<String>> {
        let text = query.to_string();
        if let Some(columns) = self.answers.get(&text) {
            return Some(columns.clone());
        }
        if !self.open.iter().any(|(other, _)| *other == text) {
            self.open.push((text, query));
        }
        None
    }

    /// Plans the pending probes; returns false if there was none.
    ///
    /// # Errors
    /// If a table cannot be planned.
    pub(super) async fn ask(
        &mut self,
        state: &SessionState,
        enabled: CorrectionSet,
    ) -> Result<bool> {
        let open = std::mem::take(&mut self.open);
        let enabled = enabled.without(Correction::ResolveUsingColumns);
        let has_open = !open.is_empty();
        for (text, query) in open {
            let statement = Parsed::Statement(Box::new(Statement::Query(Box::new(query))));
            let plan = Box::pin(plan_statement(state, statement, enabled)).await?;
            let fields = plan.schema().fields().iter();
            self.answers.insert(text, fields.map(|field| field.name().clone()).collect());
        }
        Ok(has_open)
    }
}

/// Whether a table can refer to those in front of it.
const fn is_lateral(table: &TableFactor) -> bool {
    matches!(
        table,
        TableFactor::Derived { lateral: true, .. }
            | TableFactor::Function { .. }
            | TableFactor::UNNEST { .. }
    )
}

/// Makes the query `WITH visible SELECT * FROM from`.
fn select_all(from: Vec<TableWithJoins>, visible: &[(bool, Cte)]) -> Query {
    let with = (!visible.is_empty()).then(|| With {
        with_token: AttachedToken::empty(),
        recursive: visible.iter().any(|(recursive, _)| *recursive),
        cte_tables: visible.iter().map(|(_, table)| table.clone()).collect(),
    });
    let select = Select {
        select_token: AttachedToken::empty(),
        optimizer_hints: Vec::new(),
        distinct: None,
        select_modifiers: None,
        top: None,
        top_before_distinct: false,
        projection: vec![SelectItem::Wildcard(Default::default())],
        exclude: None,
        into: None,
        from,
        lateral_views: Vec::new(),
        prewhere: None,
        selection: None,
        connect_by: Vec::new(),
        group_by: GroupByExpr::Expressions(Vec::new(), Vec::new()),
        cluster_by: Vec::new(),
        distribute_by: Vec::new(),
        sort_by: Vec::new(),
        having: None,
        named_window: Vec::new(),
        qualify: None,
        window_before_qualify: false,
        value_table_mode: None,
        flavor: SelectFlavor::Standard,
    };
    Query {
        with,
        body: Box::new(SetExpr::Select(Box::new(select))),
        order_by: None,
        limit_clause: None,
        fetch: None,
        locks: Vec::new(),
        for_clause: None,
        settings: None,
        format_clause: None,
        pipe_operators: Vec::new(),
    }
}
