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
    Engine, QueryProfile, QueryStream, Statement,
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
    choices::{EditKeys, Next, OnError, Shape, Timer},
    engine_args::ProgressWhen,
    failure::{Failure, Result, say},
    output::{Format, Output, Paging, Target, Wants},
    progress::QueryProgress,
    script::{self, Part},
    timer::{self, Times},
};

/// Batches that a query may be ahead of what is written.
const BATCHES_AHEAD: usize = 2;

/// Scripts that may be read by one another.
const SCRIPTS_MAX: usize = 16;

/// An engine, and how its results are shown.
pub(crate) struct Session {
    pub(crate) engine: Engine,
    pub(crate) output: Output,
    pub(crate) timer: Timer,
    pub(crate) on_error: OnError,
    /// Used by the interactive loop only.
    pub(crate) keys: EditKeys,
    /// The profile of the statement that ran last.
    pub(crate) last_profile: Option<QueryProfile>,
    progress: ProgressWhen,
    /// The threads that queries run on.
    pub(crate) queries: Handle,
    has_failed: bool,
    /// Scripts that are being read, each by the one before.
    script_depth: usize,
    /// Set while a statement is being watched.
    pub(crate) paging_before_watch: Option<Paging>,
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
            keys: EditKeys::Emacs,
            last_profile: None,
            progress,
            queries: queries.clone(),
            has_failed: false,
            script_depth: 0,
            paging_before_watch: None,
        }
    }

    /// Runs a script.
    pub(crate) async fn run_file(&mut self, path: &Path) -> Result<Next> {
        if self.script_depth == SCRIPTS_MAX {
            let shown = path.display();
            return Err(Failure::Statement(format!(
                "error: scripts read scripts too deeply\n  detail: '{shown}' would be script \
                 {SCRIPTS_MAX} of those that wait for one another"
            )));
        }
        let text = read_script(path)?;
        self.script_depth += 1;
        let result = self.run_text(&text).await;
        self.script_depth -= 1;
        result
    }

    /// Forgets what an interrupted statement has left behind.
    pub(crate) fn recover(&mut self) {
        self.script_depth = 0;
        self.restore_paging();
    }

    /// Ends what watching a statement has changed.
    pub(crate) fn restore_paging(&mut self) {
        if let Some(paging) = self.paging_before_watch.take() {
            self.output.set_paging(paging);
        }
    }

    /// Runs all statements and commands of a text.
    pub(crate) async fn run_text(&mut self, text: &str) -> Result<Next> {
        let engine = self.engine.clone();
        for part in script::parts(&engine, text) {
            match part {
                Part::Statements(text) => self.run_statements(&text).await?,
                Part::Command(line) => {
                    let result = self.run_command(line).await.map_err(Failure::into_statement);
                    if self.reported(result)? == Some(Next::Leave) {
                        return Ok(Next::Leave);
                    }
                }
            }
        }
        Ok(Next::Continue)
    }

    /// Runs all statements of a text without commands.
    pub(crate) async fn run_statements(&mut self, text: &str) -> Result<()> {
        self.run_shaped(text, Shape::Rows).await
    }

    /// Runs a query of the shell's own, which leaves the profile of the user's.
    pub(crate) async fn run_own(&mut self, sql: &str) -> Result<()> {
        let profile = self.last_profile.take();
        let result = self.run_statements(sql).await;
        self.last_profile = profile;
        result
    }

    /// Runs all statements of a text, and writes their rows in a shape.
    pub(crate) async fn run_shaped(&mut self, text: &str, shape: Shape) -> Result<()> {
        for statement in self.engine.statements(text) {
            let result = match statement {
                Ok(statement) => self.run_statement(statement, shape).await,
                Err(error) => Err(Failure::statement(&error)),
            };
            self.reported(result)?;
        }
        Ok(())
    }

    /// Reports the failure of a statement, and passes it on if it ends the text.
    fn reported<T>(&mut self, result: Result<T>) -> Result<Option<T>> {
        match (result, self.on_error) {
            (Ok(value), _) => Ok(Some(value)),
            (Err(failure @ Failure::Statement(_)), OnError::Continue) => {
                failure.print();
                self.has_failed = true;
                Ok(None)
            }
            (Err(failure @ Failure::Statement(_)), OnError::Stop) => {
                failure.print();
                Err(Failure::Reported)
            }
            (Err(failure), _) => Err(failure),
        }
    }

    /// Ends a run that is not interactive: says whether any statement failed.
    pub(crate) fn finish(&self) -> Result<()> {
        if self.has_failed { Err(Failure::Reported) } else { Ok(()) }
    }

    /// Runs one statement and writes its rows.
    async fn run_statement(&mut self, statement: Statement, shape: Shape) -> Result<()> {
        self.last_profile = None;
        let stopwatch = Stopwatch::start();
        // Statements that make tables do their work here.
        let mut waiting = QueryProgress::of_planning(self.progress);
        let running = Running::start(&self.engine, &self.queries, statement);
        let mut running = waiting.watch(running).await?;
        drop(waiting);
        let planning = stopwatch.elapsed();
        let rows = self.write_rows(&mut running, shape).await?;
        self.last_profile = running.profile;
        if self.timer == Timer::On {
            let times = Times { planning, execution: stopwatch.elapsed().saturating_sub(planning) };
            say(&timer::describe(times, rows, self.last_profile.as_ref()));
        }
        Ok(())
    }

    /// Writes all rows of a query and returns their number.
    async fn write_rows(&mut self, running: &mut Running, shape: Shape) -> Result<u64> {
        let mut progress = QueryProgress::new(self.progress, &running.plan);
        let mut rows = 0;
        // A statement without columns only changes the session; there is nothing to show.
        let mut writer = match (running.schema.fields().is_empty(), shape) {
            (true, _) => None,
            (false, Shape::Rows) => Some(self.output.begin(&running.schema)?),
            (false, Shape::Bars) => Some(self.output.begin_bars(&running.schema)?),
        };
        loop {
            let next = running.next();
            // The pager has the screen from its first line to its last.
            let batch = match writer.as_ref().is_some_and(|writer| writer.has_screen()) {
                true => next.await?,
                false => progress.watch(next).await?,
            };
            let Some(batch) = batch else { break };
            rows += batch.num_rows() as u64;
            let Some(writer) = &mut writer else { continue };
            progress.hide();
            if self.output.write(writer, &batch)? == Wants::NoMore {
                running.stop().await;
                break;
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
    tasks: JoinSet<QueryProfile>,
    /// Set once all rows were returned.
    profile: Option<QueryProfile>,
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
        Ok(Self { schema, plan, batches, tasks, profile: None })
    }

    /// Ends the query before its last row.
    async fn stop(&mut self) {
        self.batches.close();
        while self.batches.try_recv().is_ok() {}
        self.profile = self.tasks.join_next().await.and_then(std::result::Result::ok);
    }

    /// Waits for the next rows.
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        match self.batches.recv().await {
            Some(batch) => batch.map(Some).map_err(|error| Failure::statement(&error)),
            None => match self.tasks.join_next().await {
                Some(Err(error)) => Err(Failure::panicked(&error)),
                Some(Ok(profile)) => {
                    self.profile = Some(profile);
                    Ok(None)
                }
                None => Ok(None),
            },
        }
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

fn read_script(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(|error| Failure::input(&path.to_string_lossy(), &error))
}
