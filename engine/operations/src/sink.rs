// SPDX-License-Identifier: Apache-2.0
//! Implements [`ParquetSink`]: makes a Parquet object of the batches that an application sends.

use std::{
    fmt, mem,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream;
use nearscan::{
    arrow::{array::RecordBatch, datatypes::SchemaRef},
    datafusion::{
        catalog::streaming::StreamingTable,
        common::DataFusionError,
        execution::TaskContext,
        physical_plan::{
            SendableRecordBatchStream, stream::RecordBatchStreamAdapter, streaming::PartitionStream,
        },
    },
    ipc::ForeignStream,
};
use nearscan_applications::{Refusal, Sink, Target};
use nearscan_store::ObjectInfo;
use tokio::sync::mpsc::{self, Receiver, Sender};

use crate::{Operations, statement, task::AbortOnDrop};

/// Batches that wait for the writer.
const BATCHES_WAITING: usize = 4;

/// What comes from the application. Without an end the rows are not all there.
enum Incoming {
    Batch(RecordBatch),
    End,
}

/// A Parquet object that is made of batches. Dropping it leaves nothing.
#[derive(Debug)]
pub(crate) struct ParquetSink {
    operations: Operations,
    decoder: ForeignStream,
    state: State,
}

enum State {
    /// The schema is not known.
    Waiting(Box<Target>),
    Writing {
        batches: Sender<Incoming>,
        object: AbortOnDrop<ObjectInfo>,
    },
    Failed,
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Waiting(_) => "Waiting",
            Self::Writing { .. } => "Writing",
            Self::Failed => "Failed",
        })
    }
}

impl ParquetSink {
    pub(crate) fn new(operations: Operations, target: Target) -> Self {
        let state = State::Waiting(Box::new(target));
        Self { operations, decoder: ForeignStream::new(), state }
    }

    /// Begins to write once the schema is known.
    fn begin(&mut self, schema: SchemaRef) -> Result<(), Refusal> {
        let State::Waiting(target) = mem::replace(&mut self.state, State::Failed) else {
            return Err(Refusal::Invalid("the sink has failed before".to_owned()));
        };
        let (batches, receiver) = mpsc::channel(BATCHES_WAITING);
        let part =
            Arc::new(Part { schema: Arc::clone(&schema), batches: Mutex::new(Some(receiver)) });
        let table = StreamingTable::try_new(schema, vec![part]);
        let table = table.map_err(|error| Refusal::Invalid(error.to_string()))?;
        let operations = self.operations.clone();
        let object = AbortOnDrop::new(tokio::spawn(async move {
            let session = operations.session();
            let statement = statement::sorted(&target.layout);
            let planned = Operations::plan(&session, &statement, Arc::new(table)).await?;
            operations.write(planned, *target, |_| Ok(())).await
        }));
        self.state = State::Writing { batches, object };
        Ok(())
    }

    /// Why the writer takes no more batches.
    async fn failure(&mut self) -> Refusal {
        match mem::replace(&mut self.state, State::Failed) {
            State::Writing { object, .. } => match object.join().await {
                Err(refusal) => refusal,
                Ok(_) => Refusal::Unavailable("the object was made before its end".to_owned()),
            },
            State::Waiting(_) | State::Failed => {
                Refusal::Invalid("the sink has failed before".to_owned())
            }
        }
    }
}

fn no_stream(reason: &dyn fmt::Display) -> Refusal {
    Refusal::Invalid(format!("no Arrow IPC stream: {reason}"))
}

#[async_trait]
impl Sink for ParquetSink {
    async fn write(&mut self, piece: Bytes) -> Result<(), Refusal> {
        let batches = self.decoder.push(&piece);
        if batches.is_err() {
            self.state = State::Failed;
        }
        let batches = batches.map_err(|error| no_stream(&error))?;
        if let (State::Waiting(_), Some(schema)) = (&self.state, self.decoder.schema()) {
            self.begin(schema)?;
        }
        for batch in batches {
            let sent = match &self.state {
                State::Writing { batches, .. } => {
                    batches.send(Incoming::Batch(batch)).await.is_ok()
                }
                State::Waiting(_) | State::Failed => false,
            };
            if !sent {
                return Err(self.failure().await);
            }
        }
        Ok(())
    }

    async fn commit(mut self: Box<Self>) -> Result<ObjectInfo, Refusal> {
        self.decoder.finish().map_err(|error| no_stream(&error))?;
        match mem::replace(&mut self.state, State::Failed) {
            State::Writing { batches, object } => {
                // The object's task says why it takes no more.
                drop(batches.send(Incoming::End).await);
                object.join().await
            }
            State::Waiting(_) => Err(Refusal::Invalid("the stream has no schema".to_owned())),
            State::Failed => Err(Refusal::Invalid("the sink has failed before".to_owned())),
        }
    }
}

/// The batches of a sink as the one partition of a table.
#[derive(Debug)]
struct Part {
    schema: SchemaRef,
    batches: Mutex<Option<Receiver<Incoming>>>,
}

impl PartitionStream for Part {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let taken = self.batches.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(receiver) = taken else {
            let twice = "the batches of an application are read once".to_owned();
            let error = stream::once(async { Err(DataFusionError::Internal(twice)) });
            return Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), error));
        };
        let batches = stream::unfold(Some(receiver), |receiver| async {
            let mut receiver = receiver?;
            match receiver.recv().await {
                Some(Incoming::Batch(batch)) => Some((Ok(batch), Some(receiver))),
                Some(Incoming::End) => None,
                None => {
                    let left = "the application has left".to_owned();
                    Some((Err(DataFusionError::Execution(left)), None))
                }
            }
        });
        Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), batches))
    }
}
