// SPDX-License-Identifier: Apache-2.0
//! The function `as_is`, which gives its first argument, and through which DataFusion does not see.
//!
//! Users cannot call it. In a physical plan it stands where [`casts`](super::casts) put it.

use std::sync::{Arc, LazyLock};

use datafusion::{
    arrow::datatypes::{DataType, FieldRef},
    common::{Result, internal_err, tree_node::Transformed},
    logical_expr::{
        ColumnarValue, Expr, LogicalPlan, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF,
        ScalarUDFImpl, Signature, Volatility, expr::ScalarFunction,
    },
};

use super::map_expressions;

/// A call of the function.
pub(super) fn call(argument: Expr) -> Expr {
    AS_IS.call(vec![argument])
}

/// A call with another argument, which is not used. What is constant but for that is not worked out
/// while the plan is optimized.
pub(super) fn call_beside(argument: Expr, other: Expr) -> Expr {
    AS_IS.call(vec![argument, other])
}

/// A plan without calls of the function.
pub(super) fn remove(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    map_expressions(plan, is_call, |expr, _| {
        Ok(match expr {
            Expr::ScalarFunction(ScalarFunction { func, args }) if func == *AS_IS => {
                match args.into_iter().next() {
                    Some(argument) => Transformed::yes(argument),
                    None => return internal_err!("as_is has an argument"),
                }
            }
            other => Transformed::no(other),
        })
    })
}

fn is_call(expr: &Expr) -> bool {
    matches!(expr, Expr::ScalarFunction(ScalarFunction { func, .. }) if *func == *AS_IS)
}

static AS_IS: LazyLock<Arc<ScalarUDF>> =
    LazyLock::new(|| Arc::new(AsIs(Signature::variadic_any(Volatility::Immutable)).into()));

#[derive(Debug, PartialEq, Eq, Hash)]
struct AsIs(Signature);

impl ScalarUDFImpl for AsIs {
    fn name(&self) -> &'static str {
        "as_is"
    }

    fn signature(&self) -> &Signature {
        &self.0
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        match arguments {
            [argument, ..] => Ok(argument.clone()),
            [] => internal_err!("as_is has an argument"),
        }
    }

    fn return_field_from_args(&self, arguments: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        match arguments.arg_fields {
            [argument, ..] => Ok(Arc::clone(argument)),
            [] => internal_err!("as_is has an argument"),
        }
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match arguments.args.into_iter().next() {
            Some(argument) => Ok(argument),
            None => internal_err!("as_is has an argument"),
        }
    }
}
