// SPDX-License-Identifier: Apache-2.0
//! Estimates the rows of a relation, and the values of its columns, from what scans state and from
//! the counts of different values that their files come with.
//!
//! A wrong estimate changes the order of joins and no row.

use std::{collections::BTreeMap, sync::Arc};

use arrow::datatypes::{DataType, Schema};
use datafusion::{
    common::{ColumnStatistics, ScalarValue, Statistics},
    logical_expr::Operator,
    physical_expr::{
        PhysicalExpr,
        expressions::{
            BinaryExpr, CastExpr, Column, InListExpr, IsNotNullExpr, IsNullExpr, LikeExpr, Literal,
            NotExpr,
        },
        split_conjunction,
    },
    physical_plan::{
        ExecutionPlan,
        aggregates::AggregateExec,
        filter::FilterExec,
        projection::ProjectionExec,
        statistics::{StatisticsArgs, StatisticsContext},
    },
};

use super::{
    counted::{self, Counted},
    distribution::Distribution,
    seen::{Stage, replaced},
};

/// Fractions of rows that conditions leave of which nothing is known.
const EQUAL: f64 = 0.1;
const RANGE: f64 = 0.3;
const LIKE: f64 = 0.05;
const NULL: f64 = 0.05;
const OTHER: f64 = 0.3;
/// Of a value that was computed, such as the sum of a group: HAVING leaves few groups.
const COMPUTED: f64 = 0.05;

/// Bytes that a value of variable length is taken to have.
const VARIABLE_BYTES: f64 = 24.0;

/// What a relation is estimated to have.
#[derive(Debug, Clone)]
pub(super) struct Estimate {
    pub(super) rows: f64,
    /// Rows before filters, which the columns are of.
    pub(super) rows_unfiltered: f64,
    columns: Vec<Values>,
}

/// The values of a column.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Values {
    /// How many are different.
    pub(super) distinct: f64,
    /// The least and the greatest one, if they are numbers.
    pub(super) range: Option<(f64, f64)>,
    /// How they are spread between these, if more is known.
    distribution: Option<Arc<Distribution>>,
    /// Whether the number of different ones is more than an upper bound.
    is_known: bool,
    /// Whether it is the state of a group.
    is_computed: bool,
}

impl Estimate {
    pub(super) fn column(&self, column: usize) -> Values {
        let unknown = || Values::unknown(self.rows_unfiltered);
        self.columns.get(column).cloned().unwrap_or_else(unknown)
    }
}

impl Values {
    const fn unknown(rows: f64) -> Self {
        let (range, distribution) = (None, None);
        Self { distinct: rows, range, distribution, is_known: false, is_computed: false }
    }

    /// The values once they are counted: no more than the bound that was known before.
    fn add(&mut self, counted: Counted, rows: f64) {
        if let Some(distinct) = counted.distinct {
            self.distinct = distinct.min(self.distinct).clamp(1.0, rows.max(1.0));
            self.is_known = true;
        }
        // Bounds in other units, such as those of a timestamp that was converted, are not the same.
        let spread = counted.distribution.filter(|it| self.range == Some(it.range()));
        self.distribution = spread.map(Arc::new);
    }

    /// The share of rows that are at least the first number and below the second one.
    fn share(&self, (from, to): (f64, f64)) -> f64 {
        match (&self.distribution, self.range) {
            (Some(distribution), _) => distribution.share((from, to)),
            (None, Some((first, last))) if last > first => {
                ((to.min(last) - from.max(first)) / (last - first)).clamp(0.0, 1.0)
            }
            _ => RANGE,
        }
    }
}

/// Estimates a plan, also one whose operators were replaced since; none if its rows are not known.
pub(super) fn of_plan(plan: &Arc<dyn ExecutionPlan>) -> Option<Estimate> {
    let plan = replaced(Stage::Planned.seen(plan));
    let estimate = unlimited(plan)?;
    // A limit that an operator was given after joins were ordered.
    let limit = plan.fetch().and_then(|fetch| u32::try_from(fetch).ok()).map(f64::from);
    let rows = limit.map_or(estimate.rows, |limit| estimate.rows.min(limit));
    Some(Estimate { rows, ..estimate })
}

/// The share of the rows of its scan that a plan of filters and projections is estimated to return.
pub(crate) fn share_kept(plan: &Arc<dyn ExecutionPlan>) -> Option<f64> {
    let estimate = of_plan(plan)?;
    Some((estimate.rows / estimate.rows_unfiltered.max(1.0)).min(1.0))
}

fn unlimited(plan: &Arc<dyn ExecutionPlan>) -> Option<Estimate> {
    if let Some(filter) = plan.downcast_ref::<FilterExec>() {
        let input = of_plan(filter.input())?;
        let rows = input.rows * selectivity(filter.predicate(), &input);
        let columns = match filter.projection().as_deref() {
            Some(kept) => kept.iter().map(|column| input.column(*column)).collect(),
            None => input.columns,
        };
        return Some(Estimate { rows, columns, ..input });
    }
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        let input = of_plan(projection.input())?;
        let columns = projection.expr().iter().map(|it| of_expr(&it.expr, &input)).collect();
        return Some(Estimate { columns, ..input });
    }
    if let Some(aggregate) = plan.downcast_ref::<AggregateExec>() {
        return Some(of_aggregate(aggregate, &of_plan(aggregate.input())?));
    }
    let statistics = StatisticsContext::new().compute(plan.as_ref(), &StatisticsArgs::new());
    let mut estimate = of_statistics(&*statistics.ok()?)?;
    let rows = estimate.rows;
    let counts = counted::of_scan(plan, rows).unwrap_or_default();
    for (column, counted) in estimate.columns.iter_mut().zip(counts) {
        column.add(counted, rows);
    }
    Some(estimate)
}

/// Bytes of a row.
pub(super) fn row_bytes(schema: &Schema) -> f64 {
    let bytes = schema.fields().iter().map(|field| match field.data_type().primitive_width() {
        Some(width) => f64::from(u32::try_from(width).unwrap_or(u32::MAX)),
        None if *field.data_type() == DataType::Boolean => 1.0,
        None => VARIABLE_BYTES,
    });
    bytes.sum::<f64>().max(1.0)
}

#[expect(clippy::cast_precision_loss, reason = "it is an estimate")]
fn of_statistics(statistics: &Statistics) -> Option<Estimate> {
    let rows = *statistics.num_rows.get_value()? as f64;
    let columns = statistics.column_statistics.iter();
    let columns = columns.map(|column| of_column(column, rows)).collect();
    Some(Estimate { rows, rows_unfiltered: rows, columns })
}

#[expect(clippy::cast_precision_loss, reason = "it is an estimate")]
fn of_column(column: &ColumnStatistics, rows: f64) -> Values {
    let bound = |value: Option<&ScalarValue>| value.and_then(number);
    let range = bound(column.min_value.get_value()).zip(bound(column.max_value.get_value()));
    let stated = column.distinct_count.get_value().map(|count| *count as f64);
    // There are no more integers than the range has.
    let step = column.min_value.get_value().and_then(step);
    let places = range.zip(step).map(|((least, greatest), step)| (greatest - least) / step + 1.0);
    match stated.or(places) {
        Some(distinct) => {
            let distinct = distinct.clamp(1.0, rows.max(1.0));
            Values { distinct, range, is_known: true, ..Values::unknown(rows) }
        }
        None => Values { range, ..Values::unknown(rows) },
    }
}

fn of_expr(expr: &Arc<dyn PhysicalExpr>, input: &Estimate) -> Values {
    match expr.downcast_ref::<Column>() {
        Some(column) => input.column(column.index()),
        None => Values::unknown(input.rows_unfiltered),
    }
}

/// Groups are as many as there are combinations of keys, but no more than rows.
fn of_aggregate(aggregate: &AggregateExec, input: &Estimate) -> Estimate {
    let keys = aggregate.group_expr().expr().iter();
    let keys: Vec<Values> = keys.map(|(key, _)| of_expr(key, input)).collect();
    let groups = keys.iter().map(|key| key.distinct).product::<f64>();
    let rows = groups.min(input.rows).max(1.0);
    let states = aggregate.schema().fields().len().saturating_sub(keys.len());
    // The rows of groups are spread in another way than those that they are of.
    let columns = keys.into_iter().map(|key| {
        let distinct = key.distinct.min(rows);
        Values { distinct, distribution: None, ..key }
    });
    let state = Values { is_computed: true, ..Values::unknown(rows) };
    let columns = columns.chain(std::iter::repeat_n(state, states)).collect();
    Estimate { rows, rows_unfiltered: rows, columns }
}

/// The fraction of rows for which a condition is true.
fn selectivity(condition: &Arc<dyn PhysicalExpr>, input: &Estimate) -> f64 {
    let mut fractions = Vec::new();
    let mut ranges: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
    for conjunct in split_conjunction(condition) {
        match bound(conjunct, input) {
            Some((column, (from, to))) => {
                let range = ranges.entry(column).or_insert((f64::NEG_INFINITY, f64::INFINITY));
                *range = (range.0.max(from), range.1.min(to));
            }
            None => fractions.push(of_conjunct(conjunct, input)),
        }
    }
    fractions.extend(ranges.iter().map(|(column, range)| input.column(*column).share(*range)));
    damped(fractions).clamp(1.0 / input.rows.max(1.0), 1.0)
}

/// Conditions on one table are seldom independent: the second counts by its square root, the third
/// by its fourth root, and so on, the strictest first.
fn damped(mut fractions: Vec<f64>) -> f64 {
    fractions.sort_by(f64::total_cmp);
    let mut exponent = 1.0;
    fractions.into_iter().fold(1.0, |all, fraction| {
        let all = all * fraction.powf(exponent);
        exponent /= 2.0;
        all
    })
}

/// The column that a conjunct bounds, and the values that it leaves: from a number to below
/// another.
fn bound(conjunct: &Arc<dyn PhysicalExpr>, input: &Estimate) -> Option<(usize, (f64, f64))> {
    let binary = conjunct.downcast_ref::<BinaryExpr>()?;
    let (column, operator, literal) = match (column_of(binary.left()), column_of(binary.right())) {
        (Some(column), None) => (column, *binary.op(), binary.right()),
        (None, Some(column)) => (column, binary.op().swap()?, binary.left()),
        _ => return None,
    };
    input.column(column).range?;
    let value = number(literal.downcast_ref::<Literal>()?.value())?;
    match operator {
        Operator::Lt => Some((column, (f64::NEG_INFINITY, value))),
        Operator::LtEq => Some((column, (f64::NEG_INFINITY, value.next_up()))),
        Operator::Gt => Some((column, (value.next_up(), f64::INFINITY))),
        Operator::GtEq => Some((column, (value, f64::INFINITY))),
        _ => None,
    }
}

fn of_conjunct(conjunct: &Arc<dyn PhysicalExpr>, input: &Estimate) -> f64 {
    let equal = |column: Option<usize>| match column.map(|column| input.column(column)) {
        Some(values) if values.is_known => 1.0 / values.distinct.max(1.0),
        _ => EQUAL,
    };
    if let Some(binary) = conjunct.downcast_ref::<BinaryExpr>() {
        let column = column_of(binary.left()).or_else(|| column_of(binary.right()));
        return match binary.op() {
            Operator::Eq | Operator::IsNotDistinctFrom => equal(column),
            Operator::NotEq | Operator::IsDistinctFrom => 1.0 - equal(column),
            Operator::Or => {
                let [one, other] = [binary.left(), binary.right()].map(|it| selectivity(it, input));
                1.0 - (1.0 - one) * (1.0 - other)
            }
            _ if column.is_some_and(|column| input.column(column).is_computed) => COMPUTED,
            _ => RANGE,
        };
    }
    let negated = |is_negated: bool, fraction: f64| match is_negated {
        true => 1.0 - fraction,
        false => fraction,
    };
    if let Some(list) = conjunct.downcast_ref::<InListExpr>() {
        let values = u32::try_from(list.list().len()).map_or(f64::INFINITY, f64::from);
        let fraction = (values * equal(column_of(list.expr()))).min(1.0);
        return negated(list.negated(), fraction);
    }
    if let Some(like) = conjunct.downcast_ref::<LikeExpr>() {
        return negated(like.negated(), LIKE);
    }
    if let Some(not) = conjunct.downcast_ref::<NotExpr>() {
        return 1.0 - selectivity(not.arg(), input);
    }
    if conjunct.is::<IsNullExpr>() || conjunct.is::<IsNotNullExpr>() {
        return negated(conjunct.is::<IsNotNullExpr>(), NULL);
    }
    OTHER
}

/// The column that an expression is, perhaps in another type.
fn column_of(expr: &Arc<dyn PhysicalExpr>) -> Option<usize> {
    match expr.downcast_ref::<CastExpr>() {
        Some(cast) => column_of(cast.expr()),
        None => expr.downcast_ref::<Column>().map(Column::index),
    }
}

/// The difference of neighbouring values of a type.
fn step(value: &ScalarValue) -> Option<f64> {
    match value {
        ScalarValue::Decimal128(_, _, scale) => Some(10_f64.powi(-i32::from(*scale))),
        ScalarValue::Float16(_) | ScalarValue::Float32(_) | ScalarValue::Float64(_) => None,
        value => number(value).map(|_| 1.0),
    }
}

/// A value as a number.
#[expect(clippy::cast_precision_loss, reason = "it is an estimate")]
fn number(value: &ScalarValue) -> Option<f64> {
    match value {
        ScalarValue::Int8(value) => value.map(f64::from),
        ScalarValue::Int16(value) => value.map(f64::from),
        ScalarValue::Int32(value) | ScalarValue::Date32(value) => value.map(f64::from),
        ScalarValue::Int64(value)
        | ScalarValue::TimestampSecond(value, _)
        | ScalarValue::TimestampMillisecond(value, _)
        | ScalarValue::TimestampMicrosecond(value, _)
        | ScalarValue::TimestampNanosecond(value, _) => value.map(|value| value as f64),
        ScalarValue::UInt8(value) => value.map(f64::from),
        ScalarValue::UInt16(value) => value.map(f64::from),
        ScalarValue::UInt32(value) => value.map(f64::from),
        ScalarValue::UInt64(value) => value.map(|value| value as f64),
        ScalarValue::Float32(value) => value.map(f64::from),
        ScalarValue::Float64(value) => *value,
        ScalarValue::Decimal128(value, _, scale) => {
            value.map(|value| value as f64 / 10_f64.powi(i32::from(*scale)))
        }
        _ => None,
    }
}
