// SPDX-License-Identifier: Apache-2.0
//! The rows of a running query, batch by batch.
//!
//! A task on the connection's threads runs the query up to two batches ahead of Python, and ends
//! when the stream is closed, dropped or interrupted.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::StreamExt;
use nearscan::{
    Error, Progress, QueryProfile, QueryStream,
    arrow::{array::RecordBatch, datatypes::SchemaRef, error::ArrowError},
};
use pyo3::{
    exceptions::PyKeyboardInterrupt,
    prelude::*,
    sync::MutexExt,
    types::{PyCapsule, PyDict},
};
use tokio::{
    sync::mpsc::{self, Receiver, Sender},
    task::{AbortHandle, JoinHandle},
};

use crate::{
    batches::{Batches, export},
    error::{exception, panicked},
    process::OfProcess,
    profile::profile,
    wait::{self, Threads},
};

/// Batches that a query may be ahead of Python.
const BATCHES_AHEAD: usize = 2;

/// The rows of a running query.
#[pyclass(frozen, module = "nearscan._nearscan")]
pub(crate) struct Stream(Arc<OfProcess<Shared>>);

struct Shared {
    schema: SchemaRef,
    progress: Progress,
    threads: Arc<Threads>,
    /// Ends the task without its state, which a thread that waits has.
    abort: AbortHandle,
    state: Mutex<State>,
}

/// What has become of a query.
enum State {
    Running {
        batches: Receiver<nearscan::Result<RecordBatch>>,
        task: Task,
    },
    Ended(Box<QueryProfile>),
    /// By an error, a signal, or `close`.
    Stopped,
}

/// The task of a query, which ends when it is dropped.
struct Task(JoinHandle<QueryProfile>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Stream {
    pub(crate) fn new(
        py: Python<'_>,
        stream: QueryStream,
        threads: Arc<Threads>,
    ) -> PyResult<Self> {
        let handle = threads.handle(py)?;
        let (schema, progress) = (stream.schema(), Progress::of(stream.plan()));
        let (sender, batches) = mpsc::channel(BATCHES_AHEAD);
        let task = Task(handle.spawn(pump(stream, sender)));
        let abort = task.0.abort_handle();
        let state = Mutex::new(State::Running { batches, task });
        let shared = Shared { schema, progress, threads, abort, state };
        Ok(Self(Arc::new(OfProcess::new(shared))))
    }
}

/// Sends the rows of a query until there are none, or the receiver is gone.
async fn pump(
    mut stream: QueryStream,
    sender: Sender<nearscan::Result<RecordBatch>>,
) -> QueryProfile {
    while let Some(batch) = stream.next().await {
        if sender.send(batch).await.is_err() {
            break;
        }
    }
    stream.profile()
}

impl Shared {
    /// Another thread that waits for this stream has its state and not the interpreter lock.
    fn state(&self, py: Python<'_>) -> MutexGuard<'_, State> {
        self.state.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the next batch; none at the end.
    fn next(&self, py: Python<'_>) -> PyResult<Option<RecordBatch>> {
        let mut state = self.state(py);
        let State::Running { batches, task } = &mut *state else { return Ok(None) };
        let received = wait::until(py, &self.threads, batches.recv());
        let ended = match received {
            Ok(Some(Ok(batch))) => return Ok(Some(batch)),
            Ok(None) => wait::until(py, &self.threads, &mut task.0),
            Ok(Some(Err(error))) => {
                *state = State::Stopped;
                return Err(exception(py, &error));
            }
            Err(interrupted) => Err(interrupted),
        };
        match ended {
            Ok(Ok(profile)) => {
                *state = State::Ended(Box::new(profile));
                Ok(None)
            }
            Ok(Err(error)) => {
                *state = State::Stopped;
                match error.is_cancelled() {
                    true => Err(exception(py, &Error::Cancelled)),
                    false => Err(panicked(py)),
                }
            }
            Err(interrupted) => {
                *state = State::Stopped;
                Err(interrupted)
            }
        }
    }
}

#[pymethods]
impl Stream {
    /// Returns the next batch; none at the end.
    fn next(&self, py: Python<'_>) -> PyResult<Option<Batches>> {
        let shared = self.0.get(py)?;
        let batch = shared.next(py)?;
        Ok(batch.map(|batch| Batches::new(Arc::clone(&shared.schema), vec![batch])))
    }

    /// Returns all rows that are left.
    fn collect(&self, py: Python<'_>) -> PyResult<Batches> {
        let shared = self.0.get(py)?;
        let mut batches = Vec::new();
        while let Some(batch) = shared.next(py)? {
            batches.push(batch);
        }
        Ok(Batches::new(Arc::clone(&shared.schema), batches))
    }

    /// Ends the query.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let shared = self.0.get(py)?;
        let mut state = shared.state(py);
        if let State::Running { .. } = *state {
            *state = State::Stopped;
        }
        Ok(())
    }

    /// Ends the query from another thread than the one that waits for its rows.
    fn cancel(&self, py: Python<'_>) -> PyResult<()> {
        self.0.get(py)?.abort.abort();
        Ok(())
    }

    /// Returns the profile of the run; none until its last batch was taken.
    fn profile<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let shared = self.0.get(py)?;
        let state = shared.state(py);
        match &*state {
            State::Ended(of_run) => profile(py, of_run).map(Some),
            State::Running { .. } | State::Stopped => Ok(None),
        }
    }

    /// Returns the rows and bytes that were read, and the rows that there are to read if known.
    fn progress(&self, py: Python<'_>) -> PyResult<(u64, u64, Option<u64>)> {
        let shared = self.0.get(py)?;
        let read = shared.progress.read();
        Ok((read.rows, read.bytes, shared.progress.rows_total()))
    }

    /// Returns a capsule with a C stream of the rows that are left.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let shared = Arc::clone(&self.0);
        let schema = Arc::clone(&shared.get(py)?.schema);
        let next = move || Python::try_attach(|py| next_for_consumer(py, &shared)).flatten();
        export(py, &schema, std::iter::from_fn(next), requested_schema)
    }
}

/// The next batch for a consumer of the C stream, who gets errors as text.
fn next_for_consumer(
    py: Python<'_>,
    shared: &OfProcess<Shared>,
) -> Option<Result<RecordBatch, ArrowError>> {
    let batch = shared.get(py).and_then(|shared| shared.next(py));
    let batch = batch.map_err(|error| {
        let text = error.to_string();
        if error.is_instance_of::<PyKeyboardInterrupt>(py) {
            // The consumer has an exception of its own; the interrupt is raised behind it.
            let raised = py.import("_thread").and_then(|it| it.call_method0("interrupt_main"));
            drop(raised);
        }
        ArrowError::ExternalError(text.into())
    });
    batch.transpose()
}
