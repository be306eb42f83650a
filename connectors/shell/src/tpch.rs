// SPDX-License-Identifier: Apache-2.0
//! Implements `nearscan tpch`: it makes TPC-H data, runs the queries and prints the report.

use std::{
    fs,
    io::{self, IsTerminal},
    num::NonZero,
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::{Arc, Weak},
};

use clap::{Args, Subcommand, ValueHint};
use indicatif::{ProgressBar, ProgressStyle};
use nearscan_tpch::{
    Layout, QueryReport, ScaleFactor, Table,
    compare::{self, RecordedRun},
    generate::{self, Progress},
    queries::{self, Query},
    run::{self, Plan},
};

use crate::{
    engine_args::{EngineArgs, ProgressWhen},
    failure::{Failure, Result, print},
    progress::bar,
};

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum TpchCommand {
    /// Make the data that is not yet there
    Generate(DataArgs),
    /// Make the data that is not yet there, run queries and check their answers
    Run(RunArgs),
    /// Show two runs side by side
    Compare {
        /// File that --json of the first run wrote
        #[arg(value_hint = ValueHint::FilePath)]
        first: PathBuf,

        /// File that --json of the second run wrote
        #[arg(value_hint = ValueHint::FilePath)]
        second: PathBuf,
    },
}

/// Which data.
#[derive(Debug, Clone, Args)]
pub(crate) struct DataArgs {
    /// Size of the data: 1 is about 1 GB of text
    #[arg(long, short = 's', value_name = "SF", default_value = "1")]
    scale_factor: ScaleFactor,

    /// Folder for the data; each scale factor and layout has its own folder in it
    #[arg(long, value_name = "DIR", default_value = "data/tpch", value_hint = ValueHint::DirPath)]
    data: PathBuf,

    /// The layout of the files: usual, or pushdown, which a drive reads faster
    #[arg(long, value_name = "NAME", default_value_t)]
    layout: Layout,
}

/// Options of a run.
#[derive(Debug, Clone, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    data: DataArgs,

    /// Queries to run, such as 1,6,12-14
    #[arg(long, value_name = "LIST", default_value = "1-22", value_parser = parse_queries)]
    queries: Queries,

    /// Number of runs of each query; the table shows the median
    #[arg(long, value_name = "N", default_value = "1")]
    runs: NonZero<u32>,

    /// Also write the results as JSON
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    json: Option<PathBuf>,
}

/// A list of queries; a separate type because clap takes a plain list for repeated values.
#[derive(Debug, Clone)]
struct Queries(Vec<&'static Query>);

/// Runs a subcommand.
pub(crate) async fn run(engine: EngineArgs, command: TpchCommand) -> Result<()> {
    match command {
        TpchCommand::Generate(data) => {
            let folder = make(&data, engine.progress).await?;
            print(&format!("TPC-H scale factor {} is in {}", data.scale_factor, folder.display()))
        }
        TpchCommand::Run(arguments) => run_queries(&engine, &arguments).await,
        TpchCommand::Compare { first, second } => {
            let (first, second) = (read_report(&first)?, read_report(&second)?);
            let table = compare::compare(&first, &second).map_err(|error| {
                Failure::Usage(format!("error: the runs cannot be compared\n  detail: {error}"))
            })?;
            print(&table)
        }
    }
}

fn read_report(path: &Path) -> Result<RecordedRun> {
    let shown = path.display();
    let text = fs::read_to_string(path)
        .map_err(|error| Failure::input(&path.to_string_lossy(), &error))?;
    RecordedRun::from_json(&text).map_err(|error| {
        let hint = "tpch run --json FILE writes one";
        Failure::Usage(format!("error: cannot use '{shown}'\n  detail: {error}\n  hint: {hint}"))
    })
}

async fn run_queries(engine: &EngineArgs, arguments: &RunArgs) -> Result<()> {
    let engine_options = engine;
    let engine = engine.open().await.map_err(|error| Failure::usage(&error))?;
    let folder = make(&arguments.data, engine_options.progress).await?;
    run::register(&engine, &folder).await.map_err(|error| failed(&error))?;
    let scale = &arguments.data.scale_factor;
    print(&run::begin(&engine, scale).banner())?;
    print(&QueryReport::heading())?;
    let plan =
        Plan { scale: scale.clone(), queries: arguments.queries.0.clone(), runs: arguments.runs };
    let mut printed = Ok(());
    let report = run::run(&engine, &plan, &mut |query| {
        let line = print(&query.row());
        printed = std::mem::replace(&mut printed, Ok(())).and(line);
    })
    .await;
    printed?;
    print(&report.summary())?;
    if let Some(note) = report.note_on_unused_drive() {
        print(&note)?;
    }
    if let Some(table) = report.versus_table(&engine.host_rates().await) {
        print(&format!("\n{table}"))?;
    }
    if let Some(path) = &arguments.json {
        fs::write(path, report.to_json() + "\n").map_err(|error| Failure::output(path, &error))?;
    }
    if report.is_right() { Ok(()) } else { Err(Failure::Reported) }
}

/// Makes the data that is not there, away from the threads that wait for signals.
async fn make(data: &DataArgs, when: ProgressWhen) -> Result<PathBuf> {
    let layout = data.layout;
    let folder = data.data.join(data.scale_factor.folder() + layout.suffix());
    if generate::is_complete(&folder) {
        return Ok(folder);
    }
    let (scale, path) = (data.scale_factor.clone(), folder.clone());
    // Dropped with this future at Ctrl-C, which the bars see at the next part.
    let is_wanted = Arc::new(());
    let mut bars = Bars::new(when, Arc::downgrade(&is_wanted));
    let work =
        tokio::task::spawn_blocking(move || generate::generate(&scale, layout, &path, &mut bars));
    let made = work.await;
    drop(is_wanted);
    match made {
        Ok(result) => result.map_err(|error| failed(&error)).map(|()| folder),
        Err(error) => Err(Failure::Statement(format!("error: {error}"))),
    }
}

/// A progress bar for each table.
struct Bars {
    when: ProgressWhen,
    bar: ProgressBar,
    table: Option<Table>,
    is_wanted: Weak<()>,
}

impl Bars {
    fn new(when: ProgressWhen, is_wanted: Weak<()>) -> Self {
        Self { when, bar: ProgressBar::hidden(), table: None, is_wanted }
    }
}

impl Progress for Bars {
    fn begin(&mut self, table: Table, part_count: u64) {
        self.bar = bar(self.when, part_count);
        self.table = Some(table);
        let style = "making {msg:<9} [{bar:30}] {pos}/{len} row groups, {eta} left";
        if let Ok(style) = ProgressStyle::with_template(style) {
            self.bar.set_style(style.progress_chars("=> "));
        }
        self.bar.set_message(table.name());
        // Draws the bar before the first part is done.
        self.bar.tick();
    }

    fn advance(&mut self) -> ControlFlow<()> {
        self.bar.inc(1);
        match self.is_wanted.strong_count() {
            0 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }

    fn finish(&mut self) {
        self.bar.finish_and_clear();
        // Without a terminal, a line a table is what a log can show.
        if self.when == ProgressWhen::On
            && !io::stderr().is_terminal()
            && let Some(table) = self.table
        {
            crate::failure::say(&format!("made {}", table.name()));
        }
    }
}

fn parse_queries(text: &str) -> Result<Queries, nearscan_tpch::Error> {
    queries::parse_list(text).map(Queries)
}

fn failed(error: &nearscan_tpch::Error) -> Failure {
    if let nearscan_tpch::Error::Engine(error) = error {
        return Failure::statement(error);
    }
    Failure::work(error)
}
