// SPDX-License-Identifier: Apache-2.0
//! Marks the end of the keys that a query groups by.
//!
//! DataFusion appends to `GROUP BY a` the columns that `a` determines by functional dependencies.
//! Above `unnest` these dependencies do not hold, and added keys cannot be distinguished from those
//! of the query. So statements with `unnest` get a constant key between both, which
//! [`unnest_keys`](crate::logical::unnest_keys) removes.

use std::{convert::Infallible, ops::ControlFlow};

use datafusion::sql::sqlparser::ast::{
    Expr, Function, GroupByExpr, Select, TableFactor, Value, VisitMut, VisitorMut,
};

/// The constant key.
pub(crate) const END_OF_KEYS: &str = "end of the keys of GROUP BY";

/// Marks the end of the keys of each GROUP BY, if `unnest` is called somewhere.
pub(super) fn mark(syntax: &mut impl VisitMut) {
    if syntax.visit(&mut Unnests).is_break() {
        let _ = syntax.visit(&mut Groups);
    }
}

/// Returns the definition of a view as it was written.
pub(super) fn without_marks(definition: &str) -> String {
    definition.replace(&format!(", '{END_OF_KEYS}'"), "")
}

/// Breaks at the first call of `unnest`.
struct Unnests;

impl VisitorMut for Unnests {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::Function(Function { name, .. })
                if name.to_string().eq_ignore_ascii_case("unnest") =>
            {
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_table_factor(&mut self, table: &mut TableFactor) -> ControlFlow<()> {
        match table {
            // The dialect replaces UNPIVOT by `unnest`.
            TableFactor::UNNEST { .. } | TableFactor::Unpivot { .. } => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }
}

struct Groups;

impl VisitorMut for Groups {
    type Break = Infallible;

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Infallible> {
        if let GroupByExpr::Expressions(keys, modifiers) = &mut select.group_by
            && !keys.is_empty()
            && modifiers.is_empty()
            && !keys.iter().any(is_grouping_set)
        {
            keys.push(Expr::Value(Value::SingleQuotedString(END_OF_KEYS.to_owned()).into()));
        }
        ControlFlow::Continue(())
    }
}

const fn is_grouping_set(key: &Expr) -> bool {
    matches!(key, Expr::GroupingSets(_) | Expr::Cube(_) | Expr::Rollup(_))
}
