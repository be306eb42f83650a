// SPDX-License-Identifier: Apache-2.0
//! Collects the keys of a join's build side while the join reads it, for scans below its probe
//! side.
//!
//! The join reads its probe side when all of its build side is read, so the keys are complete when
//! a scan starts. If they are not, the scan keeps every row.

use std::{
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
    pub(super) keys: Arc<JoinKeys>,
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
    pub(super) keys: Arc<JoinKeys>,
}

/// The memory of the keys, in the pool of the first execution.
type SharedMemory = Arc<Mutex<Option<MemoryReservation>>>;

impl Collector {
    /// The operator over the build side of a join.
    pub(super) fn over_build_side(
        keys: Vec<BuildKeys>,
        build: Arc<dyn ExecutionPlan>,
    ) -> Arc<dyn ExecutionPlan> {
        Arc::new(PassThroughExec::new(Self { keys, memory: Arc::default() }, build))
    }
}

/// Whether an operator collects keys.
pub(crate) fn collects_keys(node: &Arc<dyn ExecutionPlan>) -> bool {
    input_of_collector(node).is_some()
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
        self.memory.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(reserve);
        self.keys.iter().for_each(|it| it.keys.begin(partition));
        let rows = executed_when_polled(Arc::clone(input), partition, context)?;
        let (keys, memory) = (self.keys.clone(), Arc::clone(&self.memory));
        Ok(Box::pin(Collecting { rows, keys, memory }))
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
    keys: Vec<BuildKeys>,
    memory: SharedMemory,
}

impl Collecting {
    fn take_keys(&self, batch: &RecordBatch) -> Result<()> {
        let mut bytes = 0;
        for it in &self.keys {
            it.add(batch)?;
            bytes += it.keys.bytes();
        }
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        if memory.as_mut().is_some_and(|memory| memory.try_resize(bytes).is_err()) {
            self.keys.iter().for_each(|it| it.keys.give_up());
        }
        Ok(())
    }
}

impl BuildKeys {
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
