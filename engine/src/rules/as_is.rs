// SPDX-License-Identifier: Apache-2.0
//! The functions `as_is` and `may_be_null`, which give their first argument, and through which
//! DataFusion does not see.
//!
//! Users cannot call them. In a physical plan `as_is` stands where [`casts`](super::casts) and
//! [`compared`](super::compared) put it, and `may_be_null` around
//! [scalar subqueries](super::subqueries).

use std::sync::{Arc, LazyLock};

use datafusion::{
    arrow::datatypes::{DataType, FieldRef},
    common::{Result, internal_err, tree_node::Transformed},
    logical_expr::{
        ColumnarValue, Expr, LogicalPlan, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF,
        ScalarUDFImpl, Signature, Volatility, expr::ScalarFunction,
    },
};

use super::plans::map_expressions;

/// A call of `as_is`.
pub(super) fn call(argument: Expr) -> Expr {
    AS_IS.call(vec![argument])
}

/// A call with another argument, which is not used. What is constant but for that is not worked out
/// while the plan is optimized.
pub(super) fn call_beside(argument: Expr, other: Expr) -> Expr {
    AS_IS.call(vec![argument, other])
}

/// An expression that may be NULL, whatever its columns say.
pub(super) fn may_be_null(argument: Expr) -> Expr {
    MAY_BE_NULL.call(vec![argument])
}

/// A plan without calls of `as_is`.
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

pub(super) fn is_call(expr: &Expr) -> bool {
    matches!(expr, Expr::ScalarFunction(ScalarFunction { func, .. }) if *func == *AS_IS)
}

static AS_IS: LazyLock<Arc<ScalarUDF>> =
    LazyLock::new(|| Arc::new(AsIs::named("as_is", false).into()));

static MAY_BE_NULL: LazyLock<Arc<ScalarUDF>> =
    LazyLock::new(|| Arc::new(AsIs::named("may_be_null", true).into()));

#[derive(Debug, PartialEq, Eq, Hash)]
struct AsIs {
    name: &'static str,
    may_be_null: bool,
    signature: Signature,
}

impl AsIs {
    fn named(name: &'static str, may_be_null: bool) -> Self {
        Self { name, may_be_null, signature: Signature::variadic_any(Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for AsIs {
    fn name(&self) -> &'static str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        match arguments {
            [argument, ..] => Ok(argument.clone()),
            [] => internal_err!("as_is has an argument"),
        }
    }

    fn return_field_from_args(&self, arguments: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        match arguments.arg_fields {
            [argument, ..] if self.may_be_null => {
                Ok(Arc::new(argument.as_ref().clone().with_nullable(true)))
            }
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
