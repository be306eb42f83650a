// SPDX-License-Identifier: Apache-2.0
//! Runs third-party SQL tests on the emulated drive: `nearscan-slt FOLDER`.
//!
//! The exit status is 1 if pushdown changed anything: a query that gives other rows than with
//! pushdown off, or a file that ends early with it alone. What differs from the suite in both ways
//! is reported, and is no failure of this program. The status is 2 if nothing was run.

#![forbid(unsafe_code)]
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line program: its findings are its output"
)]

use std::{
    io,
    num::NonZero,
    path::{Path, PathBuf},
    process::{self, ExitCode},
    thread,
    time::Duration,
};

use anyhow::{Context, Result, bail};
use clap::{Parser, ValueEnum};
use nearscan_sqllogictest::third_party::{
    report::Report,
    runner,
    supervisor::{self, Plan},
    worker,
};
use tokio::runtime::Runtime;

/// Run the files of any sqllogictest suite on the emulated drive, over Parquet copies of the tables
/// that they make.
#[derive(Debug, Parser)]
#[command(name = "nearscan-slt")]
struct Arguments {
    /// Folder with files that end in .slt, .test or .test_slow, at any depth
    folder: PathBuf,
    /// Only paths below FOLDER that fit; `*` matches any text
    #[arg(long, value_name = "GLOB")]
    filter: Option<String>,
    /// Files that run at the same time [default: the number of cores]
    #[arg(long, value_name = "N")]
    threads: Option<NonZero<usize>>,
    /// Place where queries run
    #[arg(long, value_enum, default_value_t = Mode::Force)]
    mode: Mode,
    /// Write everything that was found to FILE
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Seconds that a file may take
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    time_limit: u64,
    /// MiB of address space that the process of a file may have
    #[arg(long, value_name = "MIB")]
    memory_limit: Option<u64>,
    /// Folder that paths in the files start from [default: FOLDER]
    #[arg(long, value_name = "FOLDER")]
    directory: Option<PathBuf>,
    /// FOLDER is one file: run it in this process and say what becomes of it, in lines of JSON
    #[arg(long, hide = true)]
    worker: bool,
    /// Folder of the copies that a worker writes of its tables
    #[arg(long, hide = true, requires = "worker", default_value = ".")]
    scratch: PathBuf,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Mode {
    /// On the emulated drive, wherever it can, and each such query with pushdown off too
    Force,
    /// Without a drive
    Off,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = match arguments.worker {
        true => work(&arguments).map(|()| ExitCode::SUCCESS),
        false => supervise(&arguments),
    };
    done.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::from(2)
    })
}

fn work(arguments: &Arguments) -> Result<()> {
    // The parent process has its other end, and is gone once that is closed.
    thread::spawn(|| {
        let _read = io::copy(&mut io::stdin().lock(), &mut io::sink());
        process::exit(2);
    });
    let runtime = Runtime::new().context("cannot start threads")?;
    let (path, scratch) = (&arguments.folder, &arguments.scratch);
    let mut output = io::stdout();
    let run = worker::run(path, arguments.mode.into(), scratch, &mut output);
    Ok(runtime.block_on(Box::pin(run))?)
}

fn supervise(arguments: &Arguments) -> Result<ExitCode> {
    let absolute = |path: &Path| {
        path.canonicalize().with_context(|| format!("cannot use '{}'", path.display()))
    };
    let folder = absolute(&arguments.folder)?;
    if !folder.is_dir() {
        bail!("'{}' is not a folder; --filter chooses files", folder.display());
    }
    let directory = arguments.directory.as_deref().unwrap_or(&folder);
    let plan = Plan {
        program: std::env::current_exe().context("cannot find this program")?,
        directory: absolute(directory)?,
        folder,
        filter: arguments.filter.clone(),
        threads: arguments
            .threads
            .or_else(|| thread::available_parallelism().ok())
            .unwrap_or(NonZero::<usize>::MIN),
        mode: arguments.mode.into(),
        time_limit: Duration::from_secs(arguments.time_limit),
        memory_limit_kib: arguments.memory_limit.map(|mib| mib.saturating_mul(1024)),
    };
    let report = supervisor::run(&plan, &|file| println!("{file}"))?;
    println!("{report}");
    if let Some(path) = &arguments.json {
        write(&report, path)?;
    }
    if !report.is_sound() {
        return Ok(ExitCode::FAILURE);
    }
    if !report.has_run() {
        bail!("nothing was run");
    }
    Ok(ExitCode::SUCCESS)
}

fn write(report: &Report, path: &Path) -> Result<()> {
    let text = serde_json::to_string_pretty(report).context("cannot write JSON")?;
    std::fs::write(path, text).with_context(|| format!("cannot write '{}'", path.display()))
}

impl From<Mode> for runner::Mode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Force => Self::Force,
            Mode::Off => Self::Off,
        }
    }
}
