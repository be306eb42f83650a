// SPDX-License-Identifier: Apache-2.0
//! Runs DataFusion's hash join over rows that are at hand.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use arrow::{array::RecordBatch, datatypes::SchemaRef};
use datafusion::{
    datasource::memory::MemorySourceConfig,
    error::Result,
    execution::{
        SendableRecordBatchStream, TaskContext, memory_pool::UnboundedMemoryPool,
        runtime_env::RuntimeEnv,
    },
    physical_plan::{
        EmptyRecordBatchStream, ExecutionPlan,
        joins::{HashJoinExec, PartitionMode},
        streaming::{PartitionStream, StreamingTableExec},
    },
};

/// The rows of one side of a join.
pub(super) enum Rows {
    Held(Vec<RecordBatch>),
    Stream(SendableRecordBatchStream),
}

/// A join, of which each run is over other rows.
pub(super) struct Inner {
    join: Arc<HashJoinExec>,
    /// What is held was charged before, so this one's pool charges nothing.
    task: Arc<TaskContext>,
}

impl Inner {
    pub(super) fn new(join: Arc<HashJoinExec>, task: &TaskContext) -> Self {
        let runtime = task.runtime_env();
        let runtime = RuntimeEnv {
            memory_pool: Arc::new(UnboundedMemoryPool::default()),
            ..RuntimeEnv::clone(&runtime)
        };
        let task = TaskContext::new(
            task.task_id(),
            task.session_id(),
            task.session_config().clone(),
            task.scalar_functions().clone(),
            task.higher_order_functions().clone(),
            task.aggregate_functions().clone(),
            task.window_functions().clone(),
            Arc::new(runtime),
        );
        Self { join, task: Arc::new(task) }
    }

    /// Joins rows; the hash table is over `build`.
    pub(super) fn join(&self, build: Rows, probe: Rows) -> Result<SendableRecordBatchStream> {
        self.over(build, probe)?.execute(0, Arc::clone(&self.task))
    }

    /// Joins rows; the hash table is over `probe`.
    pub(super) fn join_swapped(
        &self,
        build: Rows,
        probe: Rows,
    ) -> Result<SendableRecordBatchStream> {
        let join = self.over(build, probe)?.swap_inputs(PartitionMode::Partitioned)?;
        join.execute(0, Arc::clone(&self.task))
    }

    /// The join over other inputs, without a dynamic filter: the filter would be of some rows only.
    fn over(&self, build: Rows, probe: Rows) -> Result<HashJoinExec> {
        let build = source(self.join.left().schema(), build)?;
        let probe = source(self.join.right().schema(), probe)?;
        let builder = self.join.builder().reset_state().with_fetch(None);
        let builder = builder.with_new_children(vec![build, probe])?;
        builder.with_partition_mode(PartitionMode::Partitioned).build()
    }
}

fn source(schema: SchemaRef, rows: Rows) -> Result<Arc<dyn ExecutionPlan>> {
    Ok(match rows {
        Rows::Held(batches) => MemorySourceConfig::try_new_exec(&[batches], schema, None)?,
        Rows::Stream(rows) => {
            let once = Once { schema: Arc::clone(&schema), rows: Mutex::new(Some(rows)) };
            let partitions = vec![Arc::new(once) as Arc<dyn PartitionStream>];
            Arc::new(StreamingTableExec::try_new(schema, partitions, None, None, false, None)?)
        }
    })
}

/// A stream that is taken once.
struct Once {
    schema: SchemaRef,
    rows: Mutex<Option<SendableRecordBatchStream>>,
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Once").field("schema", &self.schema).finish_non_exhaustive()
    }
}

impl PartitionStream for Once {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner).take();
        rows.unwrap_or_else(|| Box::pin(EmptyRecordBatchStream::new(Arc::clone(&self.schema))))
    }
}
