// SPDX-License-Identifier: Apache-2.0
//! Runs statements one after the other and writes their results.
//!
//! Rows are written as they come; nothing here holds a whole result. A statement that fails is
//! reported at once, and ends the text it is in unless the user said otherwise.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use futures::StreamExt;
use nearscan::{
    Engine, QueryStream, Statement,
    arrow::{array::RecordBatch, datatypes::SchemaRef},
    datafusion::physical_plan::ExecutionPlan,
    drive::clock::Stopwatch,
};
use tokio::{
    runtime::Handle,
    sync::mpsc::{self, Receiver, Sender},
    task::JoinSet,
};

use crate::{
    engine_args::ProgressWhen,
    failure::{Failure, Result, say},
    output::{Format, Output, Target},
    progress::QueryProgress,
};

/// Batches that a query may be ahead of what is written.
const BATCHES_AHEAD: usize = 2;

/// Whether a text goes on after a statement that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnError {
    Stop,
    Continue,
}

/// Whether the time of each statement is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Timer {
    On,
    Off,
}

/// An engine, and how its results are shown.
pub(crate) struct Session {
    pub(crate) engine: Engine,
    pub(crate) output: Output,
    pub(crate) timer: Timer,
    pub(crate) on_error: OnError,
    progress: ProgressWhen,
    /// The threads that queries run on.
    pub(crate) queries: Handle,
    has_failed: bool,
}

impl Session {
    /// A session over an engine, without timer, that stops at errors.
    pub(crate) fn over(
        engine: Engine,
        output: Output,
        progress: ProgressWhen,
        queries: &Handle,
    ) -> Self {
        Self {
            engine,
            output,
            timer: Timer::Off,
            on_error: OnError::Stop,
            progress,
            queries: queries.clone(),
            has_failed: false,
        }
    }

    /// Runs a script.
    pub(crate) async fn run_file(&mut self, path: &Path) -> Result<()> {
        let text = read_script(path)?;
        self.run_text(&text).await
    }

    /// Runs all statements of a text.
    pub(crate) async fn run_text(&mut self, text: &str) -> Result<()> {
        for statement in self.engine.statements(text) {
            let result = match statement {
                Ok(statement) => self.run_statement(statement).await,
                Err(error) => Err(Failure::statement(&error)),
            };
            match (result, self.on_error) {
                (Ok(()), _) => {}
                (Err(failure @ Failure::Statement(_)), OnError::Continue) => {
                    failure.print();
                    self.has_failed = true;
                }
                (Err(failure @ Failure::Statement(_)), OnError::Stop) => {
                    failure.print();
                    return Err(Failure::Reported);
                }
                (Err(failure), _) => return Err(failure),
            }
        }
        Ok(())
    }

    /// Ends a run that is not interactive: says whether any statement failed.
    pub(crate) fn finish(&self) -> Result<()> {
        if self.has_failed { Err(Failure::Reported) } else { Ok(()) }
    }

    /// Runs one statement and writes its rows.
    async fn run_statement(&mut self, statement: Statement) -> Result<()> {
        let stopwatch = Stopwatch::start();
        let running = Running::start(&self.engine, &self.queries, statement).await?;
        let rows = self.write_rows(running).await?;
        if self.timer == Timer::On {
            let seconds = stopwatch.elapsed().as_secs_f64();
            let noun = if rows == 1 { "row" } else { "rows" };
            say(&format!("time: {seconds:.3} s, {rows} {noun}"));
        }
        Ok(())
    }

    /// Writes all rows of a query and returns their number.
    async fn write_rows(&mut self, mut running: Running) -> Result<u64> {
        let mut progress = QueryProgress::new(self.progress, &running.plan);
        let mut rows = 0;
        // A statement without columns only changes the session; there is nothing to show.
        let mut writer = match running.schema.fields().is_empty() {
            true => None,
            false => Some(self.output.begin(&running.schema)?),
        };
        while let Some(batch) = progress.watch(running.next()).await? {
            rows += batch.num_rows() as u64;
            if let Some(writer) = &mut writer {
                progress.hide();
                self.output.write(writer, &batch)?;
            }
        }
        progress.hide();
        if let Some(writer) = writer {
            self.output.end(writer)?;
        }
        Ok(rows)
    }

    /// Sends the results that follow to a file, or back to standard output.
    pub(crate) fn redirect(&mut self, path: Option<PathBuf>) -> Result<()> {
        self.output.redirect(match path {
            Some(path) => Target::file(&path)?,
            None => Target::stdout(),
        });
        Ok(())
    }

    /// Chooses the form of the results that follow.
    pub(crate) fn set_format(&mut self, format: Format) -> Result<()> {
        self.output.set_format(format)
    }
}

/// A query on its own task, so that this thread stays free for Ctrl-C and progress however long the
/// query is busy with one batch. Dropping it ends the task.
struct Running {
    schema: SchemaRef,
    plan: Arc<dyn ExecutionPlan>,
    batches: Receiver<nearscan::Result<RecordBatch>>,
    tasks: JoinSet<()>,
}

impl Running {
    /// Plans a statement and starts it.
    async fn start(engine: &Engine, queries: &Handle, statement: Statement) -> Result<Self> {
        let engine = engine.clone();
        let mut planning = JoinSet::new();
        planning.spawn_on(async move { engine.plan(statement).await?.stream().await }, queries);
        let stream = match planning.join_next().await {
            Some(Ok(planned)) => planned.map_err(|error| Failure::statement(&error))?,
            Some(Err(error)) => return Err(Failure::panicked(&error)),
            None => return Err(Failure::Interrupted),
        };
        let (schema, plan) = (stream.schema(), Arc::clone(stream.plan()));
        let (sender, batches) = mpsc::channel(BATCHES_AHEAD);
        let mut tasks = JoinSet::new();
        tasks.spawn_on(pump(stream, sender), queries);
        Ok(Self { schema, plan, batches, tasks })
    }

    /// Waits for the next rows.
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        match self.batches.recv().await {
            Some(batch) => batch.map(Some).map_err(|error| Failure::statement(&error)),
            None => match self.tasks.join_next().await {
                Some(Err(error)) => Err(Failure::panicked(&error)),
                Some(Ok(())) | None => Ok(None),
            },
        }
    }
}

/// Sends the rows of a query until there are none, or the receiver is gone.
async fn pump(mut stream: QueryStream, sender: Sender<nearscan::Result<RecordBatch>>) {
    while let Some(batch) = stream.next().await {
        if sender.send(batch).await.is_err() {
            return;
        }
    }
}

fn read_script(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(|error| Failure::input(&path.to_string_lossy(), &error))
}
