// SPDX-License-Identifier: Apache-2.0
//! Replaces `ORDER BY ALL` by the places of all columns: `ORDER BY 1, 2, 3`.
//!
//! The planner knows it for a select list of columns only, not of expressions.

use datafusion::{
    common::Result,
    sql::sqlparser::ast::{
        Expr, OrderBy, OrderByExpr, OrderByKind, Query, SelectItem, SetExpr, Value,
    },
};

use super::{Expander, columns};

/// Replaces it in one query, whose select list has no COLUMNS any more.
pub(super) fn replace(query: &mut Query, walk: &mut Expander<'_>) -> Result<()> {
    let Some(OrderBy { kind: OrderByKind::All(options), .. }) = &query.order_by else {
        return Ok(());
    };
    let options = *options;
    let count = match listed(&query.body) {
        Some(count) => count,
        None => {
            let mut all = query.clone();
            all.order_by = None;
            all.limit_clause = None;
            all.fetch = None;
            match walk.probes.columns_of_query(all, &walk.visible)? {
                Some(columns) => columns.len(),
                None => return Ok(()),
            }
        }
    };
    let key = |place: usize| OrderByExpr {
        expr: Expr::Value(Value::Number(place.to_string(), false).into()),
        options,
        with_fill: None,
    };
    let kind = OrderByKind::Expressions((1..=count).map(key).collect());
    query.order_by = Some(OrderBy { kind, interpolate: None });
    Ok(())
}

/// Returns the number of columns if the select list tells it.
fn listed(body: &SetExpr) -> Option<usize> {
    let SetExpr::Select(select) = body else { return None };
    let is_one = |item: &SelectItem| {
        matches!(item, SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. })
            && !columns::may_be_several(item)
    };
    select.projection.iter().all(is_one).then_some(select.projection.len())
}
