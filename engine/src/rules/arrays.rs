// SPDX-License-Identifier: Apache-2.0
//! Arrays that are searched for a value.
//!
//! `array_has([1, NULL], x)` is false where `x` is another value. DataFusion makes `x IN (1, NULL)`
//! of it, which is unknown there. Arrays that may have a NULL are hidden, see [`as_is`].

use datafusion::{
    arrow::array::Array,
    common::{DFSchema, Result, tree_node::Transformed},
    logical_expr::{Expr, ExprSchemable, LogicalPlan, expr::ScalarFunction},
    scalar::ScalarValue,
};

use super::{as_is, plans::map_expressions};

/// Hides them.
pub(super) fn hide(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    map_expressions(plan, is_search, |expr, schema| match expr {
        Expr::ScalarFunction(ScalarFunction { func, mut args })
            if func.name() == SEARCH && args.len() == 2 && may_have_null(&args[0], schema)? =>
        {
            args[0] = as_is::call_beside(args[0].clone(), args[1].clone());
            Ok(Transformed::yes(Expr::ScalarFunction(ScalarFunction { func, args })))
        }
        other => Ok(Transformed::no(other)),
    })
}

/// The function that looks for a value.
const SEARCH: &str = "array_has";

/// The function that makes an array of values.
const ARRAY: &str = "make_array";

fn is_search(expr: &Expr) -> bool {
    matches!(expr, Expr::ScalarFunction(ScalarFunction { func, .. }) if func.name() == SEARCH)
}

/// Whether it is an array of values in the query, one of which may be NULL.
fn may_have_null(array: &Expr, schema: &DFSchema) -> Result<bool> {
    match array {
        Expr::ScalarFunction(ScalarFunction { func, args }) if func.name() == ARRAY => {
            args.iter().try_fold(false, |found, item| Ok(found || item.nullable(schema)?))
        }
        Expr::Cast(cast) => may_have_null(&cast.expr, schema),
        Expr::Literal(ScalarValue::List(list), _) => Ok(list.values().null_count() > 0),
        Expr::Literal(ScalarValue::LargeList(list), _) => Ok(list.values().null_count() > 0),
        Expr::Literal(ScalarValue::FixedSizeList(list), _) => Ok(list.values().null_count() > 0),
        _ => Ok(false),
    }
}
