// SPDX-License-Identifier: Apache-2.0
//! Provides identity functions that act as optimization barriers.
//!
//! A call returns its first argument and has that argument's type. DataFusion's optimizer does not
//! know the function, so it does not look through a call. No registry has the functions, so users
//! cannot call them.
//!
//! | function | is put | until |
//! |---|---|---|
//! | [`transient`], [`transient_beside`] | around what `simplify_expressions` would rewrite unsoundly | the rule has run on the operator |
//! | [`hold`], [`hold_beside`] | around what the whole logical optimizer must not see through | physical planning begins |
//! | [`nullable`] | around scalar subqueries that may have no row | the query ends |
//!
//! After the logical optimizer, a [`transient`] barrier is put around what physical planning would
//! misread, and stays there. It costs a clone of an `Arc` for each batch. Table providers see no
//! barriers: [`filter pushdown`](crate::logical) removes them, or does not push the conditions that
//! need one.

use std::sync::{Arc, LazyLock};

use datafusion::{
    arrow::datatypes::{DataType, FieldRef},
    common::{
        Result, internal_err,
        tree_node::{Transformed, TreeNode},
    },
    logical_expr::{
        ColumnarValue, Expr, LogicalPlan, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF,
        ScalarUDFImpl, Signature, Volatility, expr::ScalarFunction,
    },
    physical_expr::{PhysicalExpr, ScalarFunctionExpr},
};

use crate::walk::map_expressions;

/// Puts an expression behind a barrier for `simplify_expressions`.
pub(crate) fn transient(argument: Expr) -> Expr {
    TRANSIENT.call(vec![argument])
}

/// Does the same with a second, unused argument: a constant beside a column is not folded.
pub(crate) fn transient_beside(argument: Expr, other: Expr) -> Expr {
    TRANSIENT.call(vec![argument, other])
}

/// Puts an expression behind a barrier for all rules for logical plans.
pub(crate) fn hold(argument: Expr) -> Expr {
    HOLD.call(vec![argument])
}

/// Does the same with a second argument, as [`transient_beside`].
pub(crate) fn hold_beside(argument: Expr, other: Expr) -> Expr {
    HOLD.call(vec![argument, other])
}

/// Declares that an expression may be NULL, whatever the nullability of its columns.
pub(crate) fn nullable(argument: Expr) -> Expr {
    NULLABLE.call(vec![argument])
}

/// Whether an expression is a call of [`hold`].
pub(crate) fn is_held(expr: &Expr) -> bool {
    is_call(expr, &HOLD)
}

/// Whether a barrier is around a column.
pub(crate) fn is_of_column(expr: &Expr) -> bool {
    let Expr::ScalarFunction(ScalarFunction { args, .. }) = expr else { return false };
    matches!(args.first(), Some(Expr::Column(_)))
}

/// Whether an expression is a call of [`nullable`].
pub(crate) fn is_marked_nullable(expr: &Expr) -> bool {
    is_call(expr, &NULLABLE)
}

/// Returns the expression behind an `as_is` barrier of a physical plan, for code that evaluates
/// expressions as written; none if the expression is not such a barrier.
#[must_use]
pub fn behind_barrier(expr: &Arc<dyn PhysicalExpr>) -> Option<&Arc<dyn PhysicalExpr>> {
    let call = expr.downcast_ref::<ScalarFunctionExpr>()?;
    if *call.fun() == **TRANSIENT { call.args().first() } else { None }
}

/// Removes calls of [`transient`] from an operator.
pub(crate) fn remove_transient(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    remove(plan, &TRANSIENT)
}

/// Removes calls of [`hold`] from an operator.
pub(crate) fn remove_held(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    remove(plan, &HOLD)
}

/// Removes calls of [`hold`] from an expression.
pub(crate) fn without_held(expr: Expr) -> Result<Expr> {
    Ok(expr.transform_up(|part| without(part, &HOLD))?.data)
}

fn remove(plan: LogicalPlan, barrier: &Arc<ScalarUDF>) -> Result<Transformed<LogicalPlan>> {
    map_expressions(plan, |part| is_call(part, barrier), |part, _| without(part, barrier))
}

fn without(expr: Expr, barrier: &Arc<ScalarUDF>) -> Result<Transformed<Expr>> {
    Ok(match expr {
        Expr::ScalarFunction(ScalarFunction { func, args }) if func == *barrier => {
            match args.into_iter().next() {
                Some(argument) => Transformed::yes(argument),
                None => return internal_err!("a barrier was called without an argument"),
            }
        }
        other => Transformed::no(other),
    })
}

fn is_call(expr: &Expr, barrier: &Arc<ScalarUDF>) -> bool {
    matches!(expr, Expr::ScalarFunction(ScalarFunction { func, .. }) if func == barrier)
}

/// Returns the function of that name, for a deserialised plan.
#[cfg(feature = "proto")]
pub(crate) fn by_name(name: &str) -> Option<Arc<ScalarUDF>> {
    let barriers = [&TRANSIENT, &HOLD, &NULLABLE];
    barriers.into_iter().find(|barrier| barrier.name() == name).map(|barrier| Arc::clone(barrier))
}

static TRANSIENT: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| Barrier::named("as_is"));
static HOLD: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| Barrier::named("hold"));
static NULLABLE: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| Barrier::named("may_be_null"));

#[derive(Debug, PartialEq, Eq, Hash)]
struct Barrier {
    name: &'static str,
    signature: Signature,
}

impl Barrier {
    fn named(name: &'static str) -> Arc<ScalarUDF> {
        let signature = Signature::variadic_any(Volatility::Immutable);
        Arc::new(Self { name, signature }.into())
    }
}

impl ScalarUDFImpl for Barrier {
    fn name(&self) -> &'static str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        match arguments {
            [argument, ..] => Ok(argument.clone()),
            [] => internal_err!("a barrier was called without an argument"),
        }
    }

    fn return_field_from_args(&self, arguments: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        match arguments.arg_fields {
            [argument, ..] if self.name == "may_be_null" => {
                Ok(Arc::new(argument.as_ref().clone().with_nullable(true)))
            }
            [argument, ..] => Ok(Arc::clone(argument)),
            [] => internal_err!("a barrier was called without an argument"),
        }
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match arguments.args.into_iter().next() {
            Some(argument) => Ok(argument),
            None => internal_err!("a barrier was called without an argument"),
        }
    }
}
