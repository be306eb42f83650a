// SPDX-License-Identifier: Apache-2.0
//! Filters by which DataFusion takes a column for a constant.
//!
//! A filter says of its rows which columns have one value, and what stands above leaves these out
//! of sorts and keys. DataFusion works that out with intervals: where an expression must be one
//! value, so must the column in it. That is wrong when several values give the same: with
//! `id / 2 = 10` the column is 20 or 21, and with `CAST(ts AS DATE) = d` it is any time of a day.
//! Sorts by such a column were left out, and groups came several times.
//!
//! Such expressions are cast to the type that they have already, by `TRY_CAST`, through which
//! intervals do not see. The cast costs nothing, and what a filter says of `column = constant`
//! stays.

use std::sync::Arc;

use datafusion::{
    arrow::datatypes::{DataType, Schema},
    common::{
        Result,
        config::ConfigOptions,
        tree_node::{Transformed, TreeNode, TreeNodeRecursion},
    },
    logical_expr::Operator,
    physical_expr::{
        PhysicalExpr,
        expressions::{BinaryExpr, CastExpr, TryCastExpr},
        intervals::utils::check_support,
    },
    physical_optimizer::PhysicalOptimizerRule,
    physical_plan::{
        ExecutionPlan, ExecutionPlanProperties,
        filter::{FilterExec, FilterExecBuilder},
    },
};

/// The rule. Belongs in front of those that ask for orders, and behind those that hand a filter's
/// predicate to a scan.
#[derive(Debug)]
pub(super) struct Intervals;

impl PhysicalOptimizerRule for Intervals {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        // What stands above a filter is built anew, and then by what the filter says now.
        let plan = plan.transform_up(|node| {
            let Some(filter) = node.downcast_ref::<FilterExec>() else {
                return Ok(Transformed::no(node));
            };
            if node.equivalence_properties().constants().is_empty() {
                return Ok(Transformed::no(node));
            }
            let predicate = hidden(filter.predicate(), &filter.input().schema())?;
            if !predicate.transformed {
                return Ok(Transformed::no(node));
            }
            let rebuilt = FilterExecBuilder::from(filter).with_predicate(predicate.data).build()?;
            Ok(Transformed::yes(Arc::new(rebuilt) as Arc<dyn ExecutionPlan>))
        })?;
        Ok(plan.data)
    }

    fn name(&self) -> &'static str {
        "Intervals"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// A predicate with every expression cast that gives the same for several values.
fn hidden(
    predicate: &Arc<dyn PhysicalExpr>,
    schema: &Arc<Schema>,
) -> Result<Transformed<Arc<dyn PhysicalExpr>>> {
    if !check_support(predicate, schema) {
        return Ok(Transformed::no(Arc::clone(predicate)));
    }
    Arc::clone(predicate).transform_down(|expr| {
        if !is_many_to_one(&expr, schema)? {
            return Ok(Transformed::no(expr));
        }
        let same = expr.data_type(schema)?;
        let cast: Arc<dyn PhysicalExpr> = Arc::new(TryCastExpr::new(expr, same));
        Ok(Transformed::new(cast, true, TreeNodeRecursion::Jump))
    })
}

/// Whether several values of an operand may give the same, the others being what they are.
fn is_many_to_one(expr: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Result<bool> {
    if let Some(cast) = expr.downcast_ref::<CastExpr>() {
        return Ok(!keeps_values(&cast.expr().data_type(schema)?, cast.cast_type()));
    }
    let Some(binary) = expr.downcast_ref::<BinaryExpr>() else { return Ok(false) };
    Ok(match binary.op() {
        // Products wrap: twice 2^62 is nothing.
        Operator::Divide | Operator::Multiply => true,
        Operator::Plus | Operator::Minus => expr.data_type(schema)?.is_floating(),
        _ => false,
    })
}

/// Whether a cast gives different values for different values, as far as this is needed: casts
/// that it does not know may be one to one as well.
fn keeps_values(from: &DataType, to: &DataType) -> bool {
    if from == to {
        return true;
    }
    match (from, to) {
        (DataType::Float32, DataType::Float64)
        | (DataType::Date32, DataType::Date64 | DataType::Timestamp(_, None)) => true,
        (DataType::Timestamp(coarse, one_zone), DataType::Timestamp(fine, other_zone)) => {
            coarse <= fine && one_zone == other_zone
        }
        _ => match (integer_bits(from), to) {
            (Some((bits, _)), DataType::Float32) => bits <= 16,
            (Some((bits, _)), DataType::Float64) => bits <= 32,
            (Some((bits, signed)), _) => integer_bits(to)
                .is_some_and(|(to_bits, to_signed)| to_bits > bits && (to_signed || !signed)),
            (None, _) => false,
        },
    }
}

/// The width of an integer and whether it has a sign.
fn integer_bits(of: &DataType) -> Option<(usize, bool)> {
    let bits = of.is_integer().then(|| of.primitive_width())??;
    Some((bits * 8, of.is_signed_integer()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::{
        arrow::datatypes::{DataType::*, Field, TimeUnit},
        physical_expr::expressions::{binary, col},
    };
    use rstest::rstest;

    #[rstest]
    #[case(Operator::Divide, Int64, true)]
    #[case(Operator::Multiply, Int64, true)]
    #[case(Operator::Plus, Int64, false)]
    #[case(Operator::Minus, Int64, false)]
    #[case(Operator::Plus, Float64, true)]
    #[case(Operator::Minus, Float32, true)]
    #[case(Operator::Eq, Float64, false)]
    fn operations(#[case] operator: Operator, #[case] of: DataType, #[case] expected: bool) {
        let schema = Schema::new(vec![Field::new("a", of, true)]);
        let a = || col("a", &schema).unwrap();
        let expr = binary(a(), operator, a(), &schema).unwrap();
        assert_eq!(is_many_to_one(&expr, &schema).unwrap(), expected);
    }

    #[rstest]
    #[case(Int32, Int64)]
    #[case(UInt32, Int64)]
    #[case(UInt8, UInt16)]
    #[case(Int32, Float64)]
    #[case(Int16, Float32)]
    #[case(Float32, Float64)]
    #[case(Date32, Timestamp(TimeUnit::Second, None))]
    #[case(Timestamp(TimeUnit::Second, None), Timestamp(TimeUnit::Nanosecond, None))]
    fn widening_casts_keep_values(#[case] from: DataType, #[case] to: DataType) {
        assert!(keeps_values(&from, &to));
        assert!(!keeps_values(&to, &from));
    }

    #[rstest]
    #[case(Int64, Float64)]
    #[case(Int32, Float32)]
    #[case(Int32, UInt32)]
    #[case(Int32, UInt64)]
    #[case(Timestamp(TimeUnit::Second, None), Date32)]
    #[case(Timestamp(TimeUnit::Second, None), Timestamp(TimeUnit::Second, Some("UTC".into())))]
    fn other_casts_may_not(#[case] from: DataType, #[case] to: DataType) {
        assert!(!keeps_values(&from, &to));
    }
}
