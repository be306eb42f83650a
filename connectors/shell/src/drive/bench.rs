// SPDX-License-Identifier: Apache-2.0
//! Implements `nearscan drive bench`: it runs the kernels and prints the report of
//! `nearscan-kernels`, or measures reads of a file ([`io`]) or a storage server: reads of objects
//! ([`objects`]), a SELECT ([`select`]) and ingest ([`ingest`]).

mod ingest;
mod io;
mod objects;
mod select;
mod storage;

use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::{Arc, Weak},
};

use clap::{Args, Subcommand, ValueHint, value_parser};
use indicatif::{ProgressBar, ProgressStyle};
use nearscan_kernels::{
    Error, plot,
    report::{DEFAULT_ELEMENTS, DEFAULT_SEED, ELEMENTS_MAX, HostLoops, Options, Report, run_count},
};
use tokio::runtime::Handle;

use crate::{
    engine_args::ProgressWhen,
    failure::{Failure, Result, print},
    progress::bar,
};
use ingest::IngestArgs;
use io::IoArgs;
use objects::ObjectsArgs;
use select::SelectArgs;

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum BenchCommand {
    /// Run the kernels of the SmartSSD study, and set the time model's figures beside the study's
    ///
    /// Every answer is checked. Times are modelled from what the kernels counted. Exit status 0
    /// says that all figures that are compared are within a tenth of the study, all shapes of its
    /// curves hold, and the fast set of kernels reaches its targets.
    Kernels(KernelsArgs),
    /// Measure direct reads of a file (O_DIRECT), beside fio with the same sizes if it is there
    ///
    /// Synchronous reads, and asynchronous ones through io_uring: into any buffer, into registered
    /// buffers, and through a reader that threads share. The modes take turns in each round, and
    /// the figure of a mode is its median.
    Io(IoArgs),
    /// Measure reads of whole objects from `nearscan drive serve`, beside nginx with the same files
    ///
    /// Both servers read out of the page cache, each on one processor, and the client reads through
    /// object_store on another. The servers take turns in pairs; the figure is the median of the
    /// ratios of the pairs. nginx and taskset are needed.
    Objects(ObjectsArgs),
    /// Measure a SELECT on `nearscan drive serve` behind a narrow link, pushed and on the host
    ///
    /// It is the experiment of a study of in-storage processing: a table {account, name, age, sex,
    /// balance}, a predicate in whose order the rows are not, and a link that is narrower than the
    /// media. Server and client have one processor each. Exit status 0 says that all pushed
    /// SELECTs took at most 1.2 times their bound, the longer of the server's scan and of the
    /// answer's time on the link, and that 90 % was saved wherever that bound allows it.
    Select(SelectArgs),
    /// Measure how long CSV objects on `nearscan drive serve` take to become tables
    ///
    /// An application that is installed as a handler, such as the example `ingest`, makes a Parquet
    /// object of each CSV object that is written. In the middle the server is killed and started
    /// again. Exit status 0 says that no object was lost, and each was a table within 5 s.
    Ingest(IngestArgs),
}

/// Options of the benchmark of the kernels.
#[derive(Debug, Clone, Args)]
pub(crate) struct KernelsArgs {
    /// Elements of each job; as many as the default keep the start of a kernel below 1 %
    #[arg(
        long,
        value_name = "N",
        default_value_t = DEFAULT_ELEMENTS,
        value_parser = value_parser!(u64).range(1..=ELEMENTS_MAX)
    )]
    elements: u64,

    /// Seed of the arrays
    #[arg(long, value_name = "S", default_value_t = DEFAULT_SEED)]
    seed: u64,

    /// Also draw the figures, as SVG and PNG
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    plot: Option<PathBuf>,

    /// Print one JSON document instead of tables
    #[arg(long)]
    json: bool,

    /// Do not measure loops of this machine's processor
    #[arg(long)]
    no_host: bool,
}

/// Runs a benchmark.
pub(super) async fn run(
    command: &BenchCommand,
    when: ProgressWhen,
    queries: &Handle,
) -> Result<()> {
    match command {
        BenchCommand::Kernels(arguments) => run_kernels(arguments, when, queries).await,
        BenchCommand::Io(arguments) => io::run(arguments, when, queries).await,
        BenchCommand::Objects(arguments) => objects::run(arguments, when, queries).await,
        BenchCommand::Select(arguments) => select::run(arguments, when, queries).await,
        BenchCommand::Ingest(arguments) => ingest::run(arguments, when, queries).await,
    }
}

/// Runs the kernels away from this thread, which waits for signals.
async fn run_kernels(arguments: &KernelsArgs, when: ProgressWhen, queries: &Handle) -> Result<()> {
    let host = if arguments.no_host { HostLoops::Omitted } else { HostLoops::Measured };
    let options = Options { elements: arguments.elements, seed: arguments.seed, host };
    // Dropped with this future at Ctrl-C, which the work sees at the next build.
    let is_wanted = Arc::new(());
    let watched = Arc::downgrade(&is_wanted);
    let folder = arguments.plot.clone();
    let work = move || make(options, folder.as_deref(), when, &watched);
    let made = queries.spawn_blocking(work).await;
    drop(is_wanted);
    let report = match made {
        Ok(result) => result.map_err(|error| failed(&error))?,
        Err(error) => return Err(Failure::panicked(&error)),
    };
    if arguments.json {
        print(&format!("{:#}", report.to_json()))?;
    } else {
        print(report.to_text().trim_end())?;
    }
    if report.holds() { Ok(()) } else { Err(Failure::Reported) }
}

fn make(
    options: Options,
    folder: Option<&Path>,
    when: ProgressWhen,
    is_wanted: &Weak<()>,
) -> nearscan_kernels::Result<Report> {
    let bar = start_bar(when);
    let report = Report::new(options, &mut |name| {
        bar.set_message(name.to_owned());
        bar.inc(1);
        match is_wanted.strong_count() {
            0 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    })?;
    bar.finish_and_clear();
    if let Some(folder) = folder {
        plot::save(&report.runs, &report.fast, folder)?;
    }
    Ok(report)
}

fn start_bar(when: ProgressWhen) -> ProgressBar {
    let bar = bar(when, run_count() as u64);
    if let Ok(style) = ProgressStyle::with_template("[{bar:30}] {pos}/{len} {msg}") {
        bar.set_style(style.progress_chars("=> "));
    }
    bar
}

fn failed(error: &Error) -> Failure {
    match error {
        Error::Write { path, source } => Failure::output(path, source),
        _ => Failure::work(error),
    }
}
