// SPDX-License-Identifier: Apache-2.0
//! Collects the keys of a join's build side while the join reads it, for scans below its probe
//! side.
//!
//! The join reads its probe side when all of its build side is read, so the keys are complete when
//! a scan starts. If they are not, the scan keeps every row.

use std::{
    collections::BTreeMap,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
};

use arrow::{
    array::{Array, ArrayRef, AsArray},
    buffer::NullBuffer,
    compute::cast,
    datatypes::{DataType, Int64Type, SchemaRef},
    record_batch::RecordBatch,
};
use datafusion::{
    common::tree_node::{TreeNode, TreeNodeRecursion},
    error::Result,
    execution::{
        RecordBatchStream, SendableRecordBatchStream, TaskContext,
        memory_pool::{MemoryConsumer, MemoryReservation},
    },
    physical_expr::{PhysicalExpr, expressions::DynamicFilterPhysicalExpr},
    physical_plan::{
        ExecutionPlan, coalesce_partitions::CoalescePartitionsExec,
        stream::RecordBatchStreamAdapter,
    },
};
use futures::{Stream, StreamExt, TryStreamExt, stream};
use nearscan_corrections::pass_through::{PassThrough, PassThroughExec};
use nearscan_cpu::fused::{JoinKeys, key_tuples};

/// Keys of a join above a scan.
#[derive(Debug, Clone)]
pub(super) struct LinkedKeys {
    /// The identity of the join's dynamic filter.
    pub(super) join: u64,
    /// The filter, over the join's probe side, if the scan has to say that it has it.
    pub(super) announced: Option<Arc<dyn PhysicalExpr>>,
    /// The columns of the fragment that the join compares with them; of several the keys are the
    /// [`key_tuples`].
    pub(super) columns: Vec<usize>,
    pub(super) keys: SharedKeys,
}

/// Keys that the partitions of a build side collect.
#[derive(Debug, Clone)]
pub(super) enum SharedKeys {
    /// All together, for every partition of a scan.
    Together(Arc<JoinKeys>),
    /// Each by itself, for the partition of a scan with the same number: they are windows.
    ByWindow(Arc<[Arc<JoinKeys>]>),
}

impl SharedKeys {
    /// The keys of a partition, and its number among the partitions that collect them.
    pub(super) fn of(&self, partition: usize) -> Option<(&Arc<JoinKeys>, usize)> {
        match self {
            Self::Together(keys) => Some((keys, partition)),
            Self::ByWindow(keys) => keys.get(partition).map(|keys| (keys, 0)),
        }
    }
}

/// Keys that one partition of a scan looks up.
#[derive(Debug, Clone)]
pub(super) struct PartitionKeys {
    /// The columns of the fragment.
    pub(super) columns: Vec<usize>,
    pub(super) keys: Arc<JoinKeys>,
}

impl LinkedKeys {
    /// The keys that a partition looks up.
    pub(super) fn of(&self, partition: usize) -> Option<PartitionKeys> {
        let (keys, _) = self.keys.of(partition)?;
        Some(PartitionKeys { columns: self.columns.clone(), keys: Arc::clone(keys) })
    }
}

/// The identities of the dynamic filters in an expression.
pub(crate) fn dynamic_ids(expr: &Arc<dyn PhysicalExpr>) -> Vec<u64> {
    let mut ids = Vec::new();
    let visited = expr.apply(|node| {
        if node.downcast_ref::<DynamicFilterPhysicalExpr>().is_some() {
            ids.extend(node.expression_id());
        }
        Ok(TreeNodeRecursion::Continue)
    });
    debug_assert!(visited.is_ok(), "the visitor does not fail");
    ids
}

/// Whether keys of a type can be collected: those that are numbers of 64 bits.
pub(super) const fn is_key_type(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Int8
            | DataType::Int16
            | DataType::Int32
            | DataType::Int64
            | DataType::UInt8
            | DataType::UInt16
            | DataType::UInt32
            | DataType::Date32
    )
}

/// Collects keys of the rows that pass.
#[derive(Debug, Clone)]
pub(super) struct Collector {
    keys: Vec<BuildKeys>,
    memory: SharedMemory,
}

/// Keys of a build side.
#[derive(Debug, Clone)]
pub(super) struct BuildKeys {
    /// The expressions over its rows, one at least.
    pub(super) columns: Vec<Arc<dyn PhysicalExpr>>,
    /// The keys that they make.
    pub(super) keys: SharedKeys,
}

/// The memory of the keys, in the pool of the first execution; of each window by itself.
type SharedMemory = Arc<Mutex<BTreeMap<usize, MemoryReservation>>>;

impl Collector {
    /// The operator over the build side of a join.
    pub(super) fn over_build_side(
        keys: Vec<BuildKeys>,
        build: Arc<dyn ExecutionPlan>,
    ) -> Arc<dyn ExecutionPlan> {
        Arc::new(PassThroughExec::new(Self { keys, memory: Arc::default() }, build))
    }

    fn is_by_window(&self) -> bool {
        self.keys.iter().any(|it| matches!(it.keys, SharedKeys::ByWindow(_)))
    }
}

/// Whether an operator collects keys of all its partitions together, so that scans have to wait for
/// all of them.
pub(crate) fn collects_keys_together(node: &Arc<dyn ExecutionPlan>) -> bool {
    let collector = node.downcast_ref::<PassThroughExec<Collector>>();
    collector.is_some_and(|collector| !collector.special().is_by_window())
}

/// The input of an operator that collects keys; none for any other.
pub(crate) fn input_of_collector(node: &Arc<dyn ExecutionPlan>) -> Option<&Arc<dyn ExecutionPlan>> {
    node.downcast_ref::<PassThroughExec<Collector>>().map(PassThroughExec::input)
}

impl PassThrough for Collector {
    const NAME: &'static str = "JoinKeysExec";

    fn over(&self, input: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(PassThroughExec::new(self.clone(), input)))
    }

    fn details(&self) -> String {
        let keys = self.keys.iter().map(|keys| match keys.columns.as_slice() {
            [column] => column.to_string(),
            several => {
                let several: Vec<String> = several.iter().map(ToString::to_string).collect();
                format!("({})", several.join(", "))
            }
        });
        format!("keys=[{}]", keys.collect::<Vec<_>>().join(", "))
    }

    /// The scan forgets the keys too, so nothing is left to do.
    fn reset(&self, input: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(input)
    }

    fn execute(
        &self,
        input: &Arc<dyn ExecutionPlan>,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let pool = context.memory_pool();
        let reserve = || MemoryConsumer::new(Self::NAME).register(pool);
        let slot = if self.is_by_window() { partition } else { 0 };
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        memory.entry(slot).or_insert_with(reserve);
        drop(memory);
        let keys = self.keys.iter().filter_map(|it| {
            let (keys, number) = it.keys.of(partition)?;
            keys.begin(number);
            Some(Collected { columns: it.columns.clone(), keys: Arc::clone(keys) })
        });
        let (keys, memory) = (keys.collect(), Arc::clone(&self.memory));
        let rows = executed_when_polled(Arc::clone(input), partition, context)?;
        Ok(Box::pin(Collecting { rows, keys, memory, slot }))
    }
}

/// The rows of a partition of a build side, which begins when the join asks for its first row.
///
/// `CoalescePartitionsExec` reads its inputs from the moment on that it is executed. The scans
/// below would run before the builds of the joins above are complete, and not see their keys.
fn executed_when_polled(
    input: Arc<dyn ExecutionPlan>,
    partition: usize,
    context: Arc<TaskContext>,
) -> Result<SendableRecordBatchStream> {
    if !input.is::<CoalescePartitionsExec>() {
        return input.execute(partition, context);
    }
    let schema = input.schema();
    let rows = stream::once(async move { input.execute(partition, context) }).try_flatten();
    Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
}

/// The rows of one partition, whose keys are collected.
struct Collecting {
    rows: SendableRecordBatchStream,
    keys: Vec<Collected>,
    memory: SharedMemory,
    /// Which memory.
    slot: usize,
}

/// Keys that one partition collects.
struct Collected {
    /// The expressions over its rows, one at least.
    columns: Vec<Arc<dyn PhysicalExpr>>,
    keys: Arc<JoinKeys>,
}

impl Collecting {
    fn take_keys(&self, batch: &RecordBatch) -> Result<()> {
        let mut bytes = 0;
        for it in &self.keys {
            it.add(batch)?;
            bytes += it.keys.bytes();
        }
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        let memory = memory.get_mut(&self.slot);
        if memory.is_some_and(|memory| memory.try_resize(bytes).is_err()) {
            self.keys.iter().for_each(|it| it.keys.give_up());
        }
        Ok(())
    }
}

impl Collected {
    /// Adds the keys of rows that have no NULL in them.
    fn add(&self, batch: &RecordBatch) -> Result<()> {
        let columns = self.columns.iter().map(|column| {
            let array = column.evaluate(batch)?.into_array(batch.num_rows())?;
            Ok(match array.data_type() {
                DataType::Int64 => array,
                _ => cast(&array, &DataType::Int64)?,
            })
        });
        let columns = columns.collect::<Result<Vec<ArrayRef>>>()?;
        let columns: Vec<_> = columns.iter().map(|it| it.as_primitive::<Int64Type>()).collect();
        let nulls = columns
            .iter()
            .fold(None, |nulls, column| NullBuffer::union(nulls.as_ref(), column.nulls()));
        let tuples;
        let values = match columns.as_slice() {
            [column] => column.values(),
            several => {
                tuples = key_tuples(several.iter().map(|column| &**column.values()));
                tuples.as_slice()
            }
        };
        match nulls.filter(|nulls| nulls.null_count() > 0) {
            None => self.keys.add(values.iter().copied()),
            Some(nulls) => self.keys.add(nulls.valid_indices().map(|row| values[row])),
        }
        Ok(())
    }
}

impl Stream for Collecting {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let polled = self.rows.poll_next_unpin(context);
        Poll::Ready(match std::task::ready!(polled) {
            Some(Ok(batch)) => Some(self.take_keys(&batch).map(|()| batch)),
            None => {
                self.keys.drain(..).for_each(|it| it.keys.end());
                None
            }
            error => error,
        })
    }
}

impl RecordBatchStream for Collecting {
    fn schema(&self) -> SchemaRef {
        self.rows.schema()
    }
}
