// SPDX-License-Identifier: Apache-2.0
//! Lets the bounds of floating-point columns prune row groups by equality.
//!
//! The bounds of a FLOAT or DOUBLE column leave NaN out, so they are not bounds of all rows. But a
//! row with NaN is equal to no number: for `x = c` with a number `c`, both bounds are sound. For no
//! other comparison they are. In Arrow's total order NaN is less than every number where its sign
//! is set, and greater where not, so `<` and `<=` would lose rows by the minimum, and `>` and `>=`
//! by the maximum.
//!
//! The reader of a file returns one footer, whatever the predicate is. So a rule
//! ([`marks`](super::marks)) attaches the [`EqualityColumns`] of a scan's predicate to its files:
//! those that the predicate compares with numbers by `=`, `<>` and IN, and uses in no other way.
//! The reader keeps [`bounds`] of these columns only.
//!
//! ```text
//! x = 5 AND (y > 3 OR x IN (6, 7))     x: bounds, y: none
//! x = 5 AND x < 7                      x: none
//! x = 'NaN'                            x: none
//! ```
//!
//! The lower and the upper bound are each one step wider than in the file, so that they always
//! differ. Otherwise `x <> 5` would prune a row group with the bounds 5 and 5, which may have NaN;
//! and DataFusion, which negates `x = 5` to find row groups where every row satisfies it, would
//! assume that for all of its rows. The wider bounds also cover both zeros where a bound is zero.
//! MIN, MAX and constant folding use the statistics of files, which have no such bounds.

use std::{collections::BTreeSet, sync::Arc};

use datafusion::{
    arrow::datatypes::{DataType, Schema},
    common::ScalarValue,
    logical_expr::Operator,
    parquet::file::{
        metadata::ColumnChunkMetaData,
        statistics::{Statistics as ChunkStatistics, ValueStatistics},
    },
    physical_expr::{
        PhysicalExpr,
        expressions::{
            BinaryExpr, CastExpr, Column, InListExpr, IsNotNullExpr, IsNullExpr, Literal,
        },
        utils::collect_columns,
    },
};

/// Floating-point columns of a scan that its predicate uses only for equality with numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct EqualityColumns(Arc<BTreeSet<String>>);

impl EqualityColumns {
    /// The columns of a predicate over `schema`.
    pub(super) fn of(predicate: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Self {
        let mut uses = Uses { schema, equality: BTreeSet::new(), other: BTreeSet::new() };
        uses.collect(predicate);
        Self(Arc::new(uses.equality.difference(&uses.other).cloned().collect()))
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a column chunk belongs to one of the columns.
    pub(super) fn contains(&self, chunk: &ColumnChunkMetaData) -> bool {
        match chunk.column_path().parts() {
            [name] => self.0.contains(name),
            _ => false,
        }
    }
}

/// Returns the bounds of a floating-point chunk, wide enough for equality; nothing if it has none.
pub(super) fn bounds(stated: &ChunkStatistics) -> Option<ChunkStatistics> {
    let (distinct, nulls) = (stated.distinct_count_opt(), stated.null_count_opt());
    // A writer may state NaN as a bound, which then says nothing about the other values.
    macro_rules! wider {
        ($kind:ident, $stated:ident) => {{
            let (least, greatest) = (*$stated.min_opt()?, *$stated.max_opt()?);
            let (least, greatest) = (least <= greatest).then_some((least, greatest))?;
            let bounds = (Some(least.next_down()), Some(greatest.next_up()));
            let wider = ValueStatistics::new(bounds.0, bounds.1, distinct, nulls, false);
            let wider = wider.with_min_is_exact(false).with_max_is_exact(false);
            Some(ChunkStatistics::$kind(wider))
        }};
    }
    match stated {
        ChunkStatistics::Float(stated) => wider!(Float, stated),
        ChunkStatistics::Double(stated) => wider!(Double, stated),
        _ => None,
    }
}

/// The columns of a predicate, by their uses.
struct Uses<'a> {
    schema: &'a Schema,
    equality: BTreeSet<String>,
    other: BTreeSet<String>,
}

impl Uses<'_> {
    fn collect(&mut self, predicate: &Arc<dyn PhysicalExpr>) {
        if let Some(both) = predicate.downcast_ref::<BinaryExpr>()
            && matches!(both.op(), Operator::And | Operator::Or)
        {
            self.collect(both.left());
            self.collect(both.right());
        } else if let Some(column) = self.compared(predicate) {
            self.equality.insert(column);
        } else if !is_null_check(predicate) {
            let columns = collect_columns(predicate).into_iter();
            self.other.extend(columns.map(|column| column.name().to_owned()));
        }
    }

    /// Returns the floating-point column that an expression compares with numbers by `=`, `<>` or
    /// IN.
    fn compared(&self, expr: &Arc<dyn PhysicalExpr>) -> Option<String> {
        if let Some(list) = expr.downcast_ref::<InListExpr>() {
            let column = self.float_column(list.expr())?;
            return list.list().iter().all(is_number).then_some(column);
        }
        let comparison = expr.downcast_ref::<BinaryExpr>()?;
        if !matches!(comparison.op(), Operator::Eq | Operator::NotEq) {
            return None;
        }
        let (left, right) = (comparison.left(), comparison.right());
        match (is_number(left), is_number(right)) {
            (false, true) => self.float_column(left),
            (true, false) => self.float_column(right),
            _ => None,
        }
    }

    /// Returns the name of a floating-point column, also below a cast to a wider floating-point
    /// type.
    fn float_column(&self, expr: &Arc<dyn PhysicalExpr>) -> Option<String> {
        let (column, is_widened) = match expr.downcast_ref::<CastExpr>() {
            Some(cast) if *cast.cast_type() == DataType::Float64 => (cast.expr(), true),
            Some(_) => return None,
            None => (expr, false),
        };
        let name = column.downcast_ref::<Column>()?.name();
        let is_float = match self.schema.field_with_name(name).ok()?.data_type() {
            DataType::Float32 => true,
            DataType::Float64 => !is_widened,
            _ => false,
        };
        is_float.then(|| name.to_owned())
    }
}

fn is_null_check(expr: &Arc<dyn PhysicalExpr>) -> bool {
    let null = expr.downcast_ref::<IsNullExpr>().map(IsNullExpr::arg);
    let arg = null.or_else(|| expr.downcast_ref::<IsNotNullExpr>().map(IsNotNullExpr::arg));
    arg.is_some_and(|arg| arg.is::<Column>())
}

/// Whether an expression is a floating-point constant that is neither NULL nor NaN.
fn is_number(expr: &Arc<dyn PhysicalExpr>) -> bool {
    match expr.downcast_ref::<Literal>().map(Literal::value) {
        Some(ScalarValue::Float32(Some(number))) => !number.is_nan(),
        Some(ScalarValue::Float64(Some(number))) => !number.is_nan(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use datafusion::{
        arrow::datatypes::Field,
        physical_expr::expressions::{binary, col, in_list, is_null, lit},
    };
    use rstest::rstest;

    use super::*;

    fn schema() -> Schema {
        let field = |name: &str, data_type| Field::new(name, data_type, true);
        Schema::new(vec![
            field("x", DataType::Float64),
            field("y", DataType::Float64),
            field("n", DataType::Int64),
        ])
    }

    fn compare(column: &str, operator: Operator, number: f64) -> Arc<dyn PhysicalExpr> {
        let schema = schema();
        binary(col(column, &schema).unwrap(), operator, lit(number), &schema).unwrap()
    }

    fn both(
        left: Arc<dyn PhysicalExpr>,
        operator: Operator,
        right: Arc<dyn PhysicalExpr>,
    ) -> Arc<dyn PhysicalExpr> {
        binary(left, operator, right, &schema()).unwrap()
    }

    fn x() -> Arc<dyn PhysicalExpr> {
        col("x", &schema()).unwrap()
    }

    #[rstest]
    #[case::equality(compare("x", Operator::Eq, 5.0), "x")]
    #[case::inequality(compare("x", Operator::NotEq, 5.0), "x")]
    #[case::less(compare("x", Operator::Lt, 5.0), "")]
    #[case::nan(compare("x", Operator::Eq, f64::NAN), "")]
    #[case::each_of_two(
        both(compare("x", Operator::Eq, 5.0), Operator::Or, compare("y", Operator::Eq, 6.0)),
        "x y"
    )]
    #[case::one_of_two(
        both(compare("x", Operator::Eq, 5.0), Operator::And, compare("y", Operator::Gt, 6.0)),
        "x"
    )]
    #[case::equality_beside_another_use(
        both(compare("x", Operator::Eq, 5.0), Operator::And, compare("x", Operator::LtEq, 6.0)),
        ""
    )]
    #[case::null_check(
        both(compare("x", Operator::Eq, 5.0), Operator::Or, is_null(x()).unwrap()),
        "x"
    )]
    #[case::list(in_list(x(), vec![lit(1.0), lit(2.0)], &false, &schema()).unwrap(), "x")]
    #[case::list_with_nan(in_list(x(), vec![lit(f64::NAN)], &false, &schema()).unwrap(), "")]
    #[case::list_with_column(
        in_list(x(), vec![col("y", &schema()).unwrap()], &false, &schema()).unwrap(),
        ""
    )]
    #[case::two_columns(both(x(), Operator::Eq, col("y", &schema()).unwrap()), "")]
    #[case::below_another_operator(
        both(compare("x", Operator::Eq, 5.0), Operator::Eq, lit(false)),
        ""
    )]
    fn column_is_an_equality_column_if_compared_only_with_numbers(
        #[case] predicate: Arc<dyn PhysicalExpr>,
        #[case] expected: &str,
    ) {
        let schema = schema();
        let columns = EqualityColumns::of(&predicate, &schema);
        assert_eq!(columns.0.iter().map(String::as_str).collect::<Vec<_>>().join(" "), expected);
    }

    #[rstest]
    #[case::numbers(Some(1.0), Some(2.0), true)]
    #[case::one_number(Some(1.0), Some(1.0), true)]
    #[case::zeros_of_one_sign(Some(0.0), Some(0.0), true)]
    #[case::infinity(Some(f64::INFINITY), Some(f64::INFINITY), true)]
    #[case::nan_as_minimum(Some(f64::NAN), Some(2.0), false)]
    #[case::nan_as_maximum(Some(1.0), Some(f64::NAN), false)]
    #[case::wrong_way_round(Some(2.0), Some(1.0), false)]
    #[case::only_one(Some(2.0), None, false)]
    fn bounds_contain_both_zeros_and_differ(
        #[case] least: Option<f64>,
        #[case] greatest: Option<f64>,
        #[case] is_known: bool,
    ) {
        let stated = ChunkStatistics::double(least, greatest, None, Some(0), false);
        let found = bounds(&stated);
        assert_eq!(found.is_some(), is_known, "{found:?}");
        if let (Some(ChunkStatistics::Double(found)), Some(least)) = (found, least) {
            let (first, last) = (*found.min_opt().unwrap(), *found.max_opt().unwrap());
            assert!(first.total_cmp(&last).is_lt());
            assert!(first.total_cmp(&least).is_le() && last.total_cmp(&least).is_ge());
            assert!(first.total_cmp(&-least).is_le() || least != 0.0);
        }
    }
}
