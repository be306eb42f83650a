// SPDX-License-Identifier: Apache-2.0
//! Implements MIN and MAX of floating-point numbers in groups.
//!
//! DataFusion starts from the greatest and the least finite number, so that MAX of negative
//! infinities is finite, and it takes any number that follows a NaN. Here the numbers of a group
//! are compared as in ORDER BY and in aggregates without groups: `-0.0` before `0.0`, and NaN last.
//! Everything else is delegated to DataFusion's functions.

use std::sync::Arc;

use datafusion::{
    arrow::{
        array::{ArrowNativeTypeOp, ArrowPrimitiveType},
        datatypes::{DataType, FieldRef, Float16Type, Float32Type, Float64Type},
    },
    common::{
        Result,
        tree_node::{Transformed, TransformedResult},
    },
    functions_aggregate::min_max::{max_udaf, min_udaf},
    logical_expr::{
        Accumulator, AggregateUDF, AggregateUDFImpl, Documentation, Expr, GroupsAccumulator,
        LogicalPlan, ReversedUDAF, SetMonotonicity, Signature, StatisticsArgs,
        WindowFunctionDefinition,
        expr::AggregateFunction,
        function::{AccumulatorArgs, StateFieldsArgs},
        utils::AggregateOrderSensitivity,
    },
    scalar::ScalarValue,
};
use datafusion_functions_aggregate_common::aggregate::groups_accumulator::prim_op;

use crate::walk::map_expressions;

/// Returns both functions.
pub(crate) fn functions() -> [Arc<AggregateUDF>; 2] {
    [(min_udaf(), Extreme::Least), (max_udaf(), Extreme::Greatest)]
        .map(|(theirs, extreme)| Arc::new(MinMax { theirs, extreme }.into()))
}

/// Replaces our functions in a plan by DataFusion's, if the correction is off.
pub(crate) fn revert(plan: LogicalPlan) -> Result<LogicalPlan> {
    let is_ours = |part: &Expr| theirs_of(part).is_some();
    let reverted = plan.transform_up_with_subqueries(|node| {
        map_expressions(node, is_ours, |part, _| match (theirs_of(&part), part) {
            (Some(theirs), Expr::AggregateFunction(call)) => {
                let call = AggregateFunction { func: theirs, ..call };
                Ok(Transformed::yes(Expr::AggregateFunction(call)))
            }
            (Some(theirs), Expr::WindowFunction(mut call)) => {
                call.fun = WindowFunctionDefinition::AggregateUDF(theirs);
                Ok(Transformed::yes(Expr::WindowFunction(call)))
            }
            (_, other) => Ok(Transformed::no(other)),
        })
    });
    reverted.data()
}

/// Returns DataFusion's function for a call of ours.
fn theirs_of(expr: &Expr) -> Option<Arc<AggregateUDF>> {
    let function = match expr {
        Expr::AggregateFunction(call) => &call.func,
        Expr::WindowFunction(call) => match &call.fun {
            WindowFunctionDefinition::AggregateUDF(function) => function,
            WindowFunctionDefinition::WindowUDF(_) => return None,
        },
        _ => return None,
    };
    let ours = function.inner().downcast_ref::<MinMax>()?;
    Some(Arc::clone(&ours.theirs))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Extreme {
    Least,
    Greatest,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct MinMax {
    theirs: Arc<AggregateUDF>,
    extreme: Extreme,
}

impl MinMax {
    fn groups<T: ArrowPrimitiveType + Send>(&self, of: &DataType) -> Box<dyn GroupsAccumulator> {
        match self.extreme {
            Extreme::Least => {
                let least = |found: &mut T::Native, next: T::Native| {
                    if next.is_lt(*found) {
                        *found = next;
                    }
                };
                let groups = prim_op::PrimitiveGroupsAccumulator::<T, _>::new(of, least);
                Box::new(groups.with_starting_value(T::Native::MAX_TOTAL_ORDER))
            }
            Extreme::Greatest => {
                let greatest = |found: &mut T::Native, next: T::Native| {
                    if next.is_gt(*found) {
                        *found = next;
                    }
                };
                let groups = prim_op::PrimitiveGroupsAccumulator::<T, _>::new(of, greatest);
                Box::new(groups.with_starting_value(T::Native::MIN_TOTAL_ORDER))
            }
        }
    }

    fn theirs(&self) -> &dyn AggregateUDFImpl {
        self.theirs.inner().as_ref()
    }
}

impl AggregateUDFImpl for MinMax {
    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs<'_>,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        match args.return_field.data_type() {
            of @ DataType::Float16 => Ok(self.groups::<Float16Type>(of)),
            of @ DataType::Float32 => Ok(self.groups::<Float32Type>(of)),
            of @ DataType::Float64 => Ok(self.groups::<Float64Type>(of)),
            _ => self.theirs().create_groups_accumulator(args),
        }
    }

    fn name(&self) -> &str {
        self.theirs().name()
    }

    fn signature(&self) -> &Signature {
        self.theirs().signature()
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        self.theirs().return_type(arguments)
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        self.theirs().accumulator(args)
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        self.theirs().state_fields(args)
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs<'_>) -> bool {
        self.theirs().groups_accumulator_supported(args)
    }

    fn create_sliding_accumulator(
        &self,
        args: AccumulatorArgs<'_>,
    ) -> Result<Box<dyn Accumulator>> {
        self.theirs().create_sliding_accumulator(args)
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        self.theirs().order_sensitivity()
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        self.theirs().reverse_expr()
    }

    fn coerce_types(&self, arguments: &[DataType]) -> Result<Vec<DataType>> {
        self.theirs().coerce_types(arguments)
    }

    fn is_descending(&self) -> Option<bool> {
        self.theirs().is_descending()
    }

    fn value_from_stats(&self, args: &StatisticsArgs<'_>) -> Option<ScalarValue> {
        self.theirs().value_from_stats(args)
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.theirs().documentation()
    }

    fn set_monotonicity(&self, data_type: &DataType) -> SetMonotonicity {
        self.theirs().set_monotonicity(data_type)
    }
}
