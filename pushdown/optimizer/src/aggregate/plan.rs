// SPDX-License-Identifier: Apache-2.0
//! Decides which aggregates are replaced, and what is computed for them.
//!
//! | function | states | output |
//! |---|---|---|
//! | count(*), count(literal) | count of rows | count |
//! | count(x) | count of x | count |
//! | sum(x), min(x), max(x) | itself; count of x if x may be NULL | NULL if the count is 0 |
//! | avg(x) | count of x, sum | DataFusion's accumulator of both |
//!
//! Equal states are shared. Minimums and maximums of floats and texts, aggregates with DISTINCT,
//! FILTER or ORDER BY, and whatever else there is, are DataFusion's. Sums of floats depend on the
//! order of rows, which several partitions do not have.

use std::{fmt, sync::Arc};

use arrow::datatypes::{DataType, Schema};
use datafusion::{
    common::tree_node::TreeNodeRecursion,
    error::Result,
    functions_aggregate::{average::avg_udaf, count::count_udaf, sum::sum_udaf},
    physical_expr::{
        Partitioning, PhysicalExpr,
        aggregate::AggregateFunctionExpr,
        expressions::{Column, Literal},
    },
    physical_plan::{
        ExecutionPlan, ExecutionPlanProperties, InputOrderMode,
        aggregates::{AggregateExec, AggregateMode},
        repartition::RepartitionExec,
    },
};
use nearscan_aggregate::{Fold, KeyLayout, Shape, State, Values};

use crate::settings::FloatOrder;

/// An aggregate that is replaced.
#[derive(Debug, Clone)]
pub(super) struct Planned {
    /// The input of the first phase.
    pub(super) input: Arc<dyn ExecutionPlan>,
    pub(super) computed: Arc<Computed>,
    /// The keys that are hashed for the partition, in this order.
    pub(super) hashed: Vec<usize>,
    /// Partitions of the output.
    pub(super) partitions: usize,
}

/// What is computed of rows.
#[derive(Debug)]
pub(super) struct Computed {
    /// The keys, over the input.
    pub(super) keys: Vec<Arc<dyn PhysicalExpr>>,
    /// The arguments of the states, over the input.
    pub(super) arguments: Vec<Arc<dyn PhysicalExpr>>,
    /// The aggregates, in the order of the output.
    pub(super) outputs: Vec<Output>,
    pub(super) shape: Arc<Shape>,
}

/// What an aggregate's column is made of: places of states.
#[derive(Debug, Clone)]
pub(super) enum Output {
    /// A state; NULL where the count is 0.
    State { state: usize, count: Option<usize> },
    /// The average, of a count and a sum of these types.
    Average {
        aggregate: Arc<AggregateFunctionExpr>,
        count: usize,
        sum: usize,
        types: [DataType; 2],
    },
}

impl Planned {
    /// What replaces a final aggregate with its first phase below; nothing if it stays.
    pub(super) fn of(node: &Arc<dyn ExecutionPlan>, order: FloatOrder) -> Option<Self> {
        let last = aggregate_of(node, AggregateMode::FinalPartitioned)?;
        let repartition = last.input().downcast_ref::<RepartitionExec>()?;
        let Partitioning::Hash(hashed, outputs) = repartition.partitioning() else { return None };
        let first = aggregate_of(repartition.input(), AggregateMode::Partial)?;
        let input = first.input();
        if repartition.preserve_order()
            || !(1..=1 << 16).contains(outputs)
            || input.boundedness().is_unbounded()
        {
            return None;
        }
        let keys = first.group_expr().expr().len();
        let place = |expr: &Arc<dyn PhysicalExpr>| {
            let column = expr.downcast_ref::<Column>()?.index();
            (column < keys).then_some(column)
        };
        let hashed = hashed.iter().map(place).collect::<Option<Vec<_>>>()?;
        let order = match input.output_partitioning().partition_count() {
            1 => order,
            // Rows come in no fixed order.
            _ => FloatOrder::Free,
        };
        let computed = Arc::new(Computed::of(first, last.aggr_expr(), order, *outputs)?);
        Some(Self { input: Arc::clone(input), computed, hashed, partitions: *outputs })
    }
}

impl Computed {
    /// What is computed for aggregates over the input and the keys of `first`, in so many
    /// partitions; nothing if DataFusion has to compute one of them.
    pub(super) fn of(
        first: &AggregateExec,
        aggregates: &[Arc<AggregateFunctionExpr>],
        order: FloatOrder,
        partitions: usize,
    ) -> Option<Self> {
        let schema = first.input().schema();
        let keys: Vec<_> =
            first.group_expr().expr().iter().map(|(key, _)| Arc::clone(key)).collect();
        let types = keys
            .iter()
            .map(|key| Some((key.data_type(&schema).ok()?, key.nullable(&schema).ok()?)));
        let layout = KeyLayout::new(types.collect::<Option<Vec<_>>>()?)?;
        let is_order_free = order == FloatOrder::Free;
        let mut states =
            States { schema: &schema, is_order_free, all: Vec::new(), arguments: Vec::new() };
        let outputs = aggregates.iter().map(|aggregate| states.output(aggregate));
        let outputs = outputs.collect::<Option<Vec<_>>>()?;
        let (all, arguments) = (states.all, states.arguments);
        let shape = Arc::new(Shape::new(layout, all, partitions));
        Some(Self { keys, arguments, outputs, shape })
    }

    /// Calls a function with each expression, until it stops.
    pub(super) fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        for expr in self.keys.iter().chain(&self.arguments) {
            if f(expr)? == TreeNodeRecursion::Stop {
                return Ok(TreeNodeRecursion::Stop);
            }
        }
        Ok(TreeNodeRecursion::Continue)
    }

    /// Writes keys and aggregates as EXPLAIN shows them; `replaced` has their names.
    pub(super) fn write_names(
        &self,
        replaced: &Arc<dyn ExecutionPlan>,
        f: &mut fmt::Formatter<'_>,
    ) -> fmt::Result {
        let Some(last) = replaced.downcast_ref::<AggregateExec>() else { return Ok(()) };
        let schema = replaced.schema();
        let keys = self.keys.iter().zip(schema.fields());
        let keys: Vec<String> =
            keys.map(|(key, field)| format!("{key} as {}", field.name())).collect();
        let aggregates: Vec<&str> =
            last.aggr_expr().iter().map(|aggregate| aggregate.name()).collect();
        write!(f, "gby=[{}], aggr=[{}]", keys.join(", "), aggregates.join(", "))
    }
}

/// The node as a grouped aggregate of a mode, without anything special.
pub(super) fn aggregate_of(
    node: &Arc<dyn ExecutionPlan>,
    mode: AggregateMode,
) -> Option<&AggregateExec> {
    let aggregate = node.downcast_ref::<AggregateExec>()?;
    let is_plain = *aggregate.mode() == mode
        && aggregate.limit_options().is_none()
        && *aggregate.input_order_mode() == InputOrderMode::Linear
        && aggregate.group_expr().is_single()
        && !aggregate.group_expr().is_empty()
        && aggregate.filter_expr().iter().all(Option::is_none);
    is_plain.then_some(aggregate)
}

/// The states of all aggregates.
struct States<'a> {
    /// Of the input.
    schema: &'a Schema,
    is_order_free: bool,
    all: Vec<State>,
    arguments: Vec<Arc<dyn PhysicalExpr>>,
}

impl States<'_> {
    /// Plans an aggregate; nothing if DataFusion has to compute it.
    fn output(&mut self, aggregate: &Arc<AggregateFunctionExpr>) -> Option<Output> {
        let arguments = aggregate.expressions();
        let [argument] = arguments.as_slice() else { return None };
        if aggregate.is_distinct() || aggregate.ignore_nulls() || !aggregate.order_bys().is_empty()
        {
            return None;
        }
        let function = aggregate.fun();
        if *function == *count_udaf() {
            return Some(Output::State { state: self.count(argument)?, count: None });
        }
        let values = self.values_of(argument)?;
        if *function == *avg_udaf() {
            return self.average(aggregate, argument, values);
        }
        let fold = match function.name() {
            "min" if values != Values::F64 => Fold::Min,
            "max" if values != Values::F64 => Fold::Max,
            _ if *function == *sum_udaf() => self.sum_of(argument)?,
            _ => return None,
        };
        let state = self.state(fold, argument, values);
        let count = match argument.nullable(self.schema).ok()? {
            true => Some(self.count(argument)?),
            false => None,
        };
        Some(Output::State { state, count })
    }

    fn average(
        &mut self,
        aggregate: &Arc<AggregateFunctionExpr>,
        argument: &Arc<dyn PhysicalExpr>,
        values: Values,
    ) -> Option<Output> {
        let fields = aggregate.state_fields().ok()?;
        let [count, sum] = fields.as_slice() else { return None };
        let types = [count.data_type().clone(), sum.data_type().clone()];
        let argument_type = argument.data_type(self.schema).ok()?;
        let is_sum = match (&argument_type, &types[1]) {
            (DataType::Decimal128(_, scale), DataType::Decimal128(_, of_sum)) => scale == of_sum,
            (DataType::Float64, DataType::Float64) => self.is_order_free,
            _ => false,
        };
        if types[0] != DataType::UInt64 || !is_sum || !aggregate.groups_accumulator_supported() {
            return None;
        }
        let count = self.count(argument)?;
        let sum = self.state(Fold::Sum, argument, values);
        Some(Output::Average { aggregate: Arc::clone(aggregate), count, sum, types })
    }

    /// The fold of a sum, of types that are summed up as they are.
    fn sum_of(&self, argument: &Arc<dyn PhysicalExpr>) -> Option<Fold> {
        let is_sum = match argument.data_type(self.schema).ok()? {
            DataType::Int64 | DataType::UInt64 | DataType::Decimal128(..) => true,
            DataType::Float64 => self.is_order_free,
            _ => false,
        };
        is_sum.then_some(Fold::Sum)
    }

    /// The numbers that values of an argument are computed as.
    fn values_of(&self, argument: &Arc<dyn PhysicalExpr>) -> Option<Values> {
        Some(match argument.data_type(self.schema).ok()? {
            DataType::Int8
            | DataType::Int16
            | DataType::Int32
            | DataType::Int64
            | DataType::Date32
            | DataType::Date64
            | DataType::Timestamp(..) => Values::I64,
            DataType::UInt8 | DataType::UInt16 | DataType::UInt32 | DataType::UInt64 => Values::U64,
            DataType::Float64 => Values::F64,
            DataType::Decimal128(..) => Values::I128,
            _ => return None,
        })
    }

    /// The state that counts the values of an argument.
    fn count(&mut self, argument: &Arc<dyn PhysicalExpr>) -> Option<usize> {
        let is_null = |literal: &Literal| literal.value().is_null();
        if argument.downcast_ref::<Literal>().is_some_and(is_null) {
            return None;
        }
        Some(match argument.nullable(self.schema).ok()? {
            true => self.state(Fold::Count, argument, Values::I64),
            false => self.push(State { fold: Fold::CountRows, argument: 0, values: Values::I64 }),
        })
    }

    fn state(&mut self, fold: Fold, argument: &Arc<dyn PhysicalExpr>, values: Values) -> usize {
        let argument = match self.arguments.iter().position(|other| other == argument) {
            Some(place) => place,
            None => {
                self.arguments.push(Arc::clone(argument));
                self.arguments.len() - 1
            }
        };
        self.push(State { fold, argument, values })
    }

    fn push(&mut self, state: State) -> usize {
        match self.all.iter().position(|other| *other == state) {
            Some(place) => place,
            None => {
                self.all.push(state);
                self.all.len() - 1
            }
        }
    }
}
