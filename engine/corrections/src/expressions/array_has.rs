// SPDX-License-Identifier: Apache-2.0
//! Protects `array_has` over arrays with NULL.
//!
//! `array_has([1, NULL], x)` is false if `x` is another value. DataFusion rewrites it to
//! `x IN (1, NULL)`, which is unknown then.

use datafusion::{
    arrow::array::Array,
    common::{DFSchema, Result, tree_node::Transformed},
    logical_expr::{Expr, ExprSchemable, expr::ScalarFunction},
    scalar::ScalarValue,
};

use super::Context;
use crate::barrier;

/// Hides an array that may have a NULL.
pub(super) fn protect(expr: Expr, context: &Context<'_>) -> Result<Transformed<Expr>> {
    match expr {
        Expr::ScalarFunction(ScalarFunction { func, mut args })
            if func.name() == SEARCH
                && args.len() == 2
                && may_have_null(&args[0], context.schema)? =>
        {
            args[0] = barrier::transient_beside(args[0].clone(), args[1].clone());
            Ok(Transformed::yes(Expr::ScalarFunction(ScalarFunction { func, args })))
        }
        other => Ok(Transformed::no(other)),
    }
}

/// The function that searches an array.
const SEARCH: &str = "array_has";

/// The function that makes an array of values.
const ARRAY: &str = "make_array";

/// Whether an expression searches an array.
pub(super) fn is_suspect(expr: &Expr) -> bool {
    matches!(expr, Expr::ScalarFunction(ScalarFunction { func, .. }) if func.name() == SEARCH)
}

/// Whether an expression is an array literal, or the call that makes one, with a NULL in it.
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
