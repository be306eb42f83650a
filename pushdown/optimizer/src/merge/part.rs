// SPDX-License-Identifier: Apache-2.0
//! Expresses a part of a unit as a predicate: the rows whose first key is in a span.

use std::sync::Arc;

use arrow::{
    array::{ArrayData, make_array},
    buffer::Buffer,
    datatypes::DataType,
};
use datafusion::{
    common::ScalarValue,
    logical_expr::Operator,
    physical_expr::{
        PhysicalExpr, PhysicalSortExpr, conjunction,
        expressions::{BinaryExpr, IsNotNullExpr, IsNullExpr, Literal},
    },
};

use crate::merge::windows::{NULLS_FIRST, NULLS_LAST, Rank, Span};

/// Returns the rank of the NULLs of a key.
pub(crate) fn rank_of_nulls(key: &PhysicalSortExpr) -> Rank {
    if key.options.nulls_first { NULLS_FIRST } else { NULLS_LAST }
}

/// Returns the predicate that `key`, of `data_type`, is in `span`; nothing if a bound is not a
/// value of the type.
pub(crate) fn predicate(
    key: &PhysicalSortExpr,
    data_type: &DataType,
    span: Span,
) -> Option<Arc<dyn PhysicalExpr>> {
    let (at_least, at_most) = match key.options.descending {
        false => (Operator::GtEq, Operator::LtEq),
        true => (Operator::LtEq, Operator::GtEq),
    };
    let bound = |operator, number: Option<i64>| -> Option<Arc<dyn PhysicalExpr>> {
        let literal = Arc::new(Literal::new(scalar(data_type, number?)?));
        Some(Arc::new(BinaryExpr::new(Arc::clone(&key.expr), operator, literal)))
    };
    let mut bounds = Vec::new();
    let numbers = Span::of_numbers();
    if numbers.first < span.first && span.first <= numbers.last {
        bounds.push(bound(at_least, number_at(span.first, key))?);
    }
    if numbers.first <= span.last && span.last < numbers.last {
        bounds.push(bound(at_most, number_at(span.last, key))?);
    }
    let nulls = rank_of_nulls(key);
    let has_nulls = span.overlaps(Span { first: nulls, last: nulls });
    let has_numbers = span.overlaps(numbers);
    let is_null = || Arc::new(IsNullExpr::new(Arc::clone(&key.expr)));
    Some(match (has_nulls, has_numbers) {
        (true, true) => Arc::new(BinaryExpr::new(conjunction(bounds), Operator::Or, is_null())),
        (true, false) => is_null(),
        (false, _) if bounds.is_empty() => Arc::new(IsNotNullExpr::new(Arc::clone(&key.expr))),
        (false, _) => conjunction(bounds),
    })
}

/// The number of a rank, if it is one of a number.
fn number_at(rank: Rank, key: &PhysicalSortExpr) -> Option<i64> {
    i64::try_from(if key.options.descending { -rank } else { rank }).ok()
}

/// The value of a type that is stored as `number`.
fn scalar(data_type: &DataType, number: i64) -> Option<ScalarValue> {
    let width = data_type.primitive_width()?;
    let bytes = i128::from(number).to_le_bytes();
    let data = ArrayData::builder(data_type.clone())
        .len(1)
        .add_buffer(Buffer::from(bytes.get(..width)?))
        .build()
        .ok()?;
    ScalarValue::try_from_array(&make_array(data), 0).ok()
}

#[cfg(test)]
mod tests {
    use arrow::compute::SortOptions;
    use arrow::datatypes::TimeUnit;
    use datafusion::physical_expr::expressions::Column;
    use rstest::rstest;

    use super::*;

    fn shown(descending: bool, nulls_first: bool, first: Rank, last: Rank) -> String {
        let options = SortOptions { descending, nulls_first };
        let key = PhysicalSortExpr::new(Arc::new(Column::new("k", 0)), options);
        predicate(&key, &DataType::Int64, Span { first, last }).unwrap().to_string()
    }

    #[rstest]
    #[case(false, true, 3, 9, "k@0 >= 3 AND k@0 <= 9")]
    #[case(true, true, -9, -3, "k@0 <= 9 AND k@0 >= 3")]
    #[case(false, true, NULLS_FIRST, 9, "k@0 <= 9 OR k@0 IS NULL")]
    #[case(false, true, 3, NULLS_LAST, "k@0 >= 3")]
    #[case(false, false, 3, NULLS_LAST, "k@0 >= 3 OR k@0 IS NULL")]
    #[case(true, false, -9, NULLS_LAST, "k@0 <= 9 OR k@0 IS NULL")]
    #[case(false, true, NULLS_FIRST, NULLS_FIRST, "k@0 IS NULL")]
    #[case(true, false, NULLS_LAST, NULLS_LAST, "k@0 IS NULL")]
    #[case(false, true, NULLS_FIRST + 1, 9, "k@0 <= 9")]
    #[case(true, true, NULLS_FIRST + 1, NULLS_LAST, "k@0 IS NOT NULL")]
    #[case(false, false, 3, NULLS_LAST - 1, "k@0 >= 3")]
    fn span_becomes_a_range_predicate(
        #[case] descending: bool,
        #[case] nulls_first: bool,
        #[case] first: Rank,
        #[case] last: Rank,
        #[case] expected: &str,
    ) {
        assert_eq!(shown(descending, nulls_first, first, last), expected);
    }

    #[rstest]
    #[case(DataType::Int8, -5, ScalarValue::Int8(Some(-5)))]
    #[case(DataType::UInt32, 4_000_000_000, ScalarValue::UInt32(Some(4_000_000_000)))]
    #[case(DataType::Date32, 9_000, ScalarValue::Date32(Some(9_000)))]
    #[case(
        DataType::Timestamp(TimeUnit::Second, Some("UTC".into())),
        7,
        ScalarValue::TimestampSecond(Some(7), Some("UTC".into()))
    )]
    #[case(DataType::Decimal128(9, 2), -123, ScalarValue::Decimal128(Some(-123), 9, 2))]
    fn stored_number_becomes_a_value_of_its_type(
        #[case] data_type: DataType,
        #[case] number: i64,
        #[case] expected: ScalarValue,
    ) {
        assert_eq!(scalar(&data_type, number), Some(expected));
    }
}
