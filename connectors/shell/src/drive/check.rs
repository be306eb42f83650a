// SPDX-License-Identifier: Apache-2.0
//! Implements `nearscan drive check`: it runs the conformance suite and the micro-benchmarks of
//! `nearscan-check` on one drive, and prints the report.

use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::{Arc, Weak},
};

use clap::{Args, ValueEnum, ValueHint};
use indicatif::ProgressStyle;
use nearscan::{DriveSpec, serving::attach_drive};
use nearscan_check::{Error, Extent, Options, Report, check};
use tokio::runtime::Handle;

use crate::{
    engine_args::EngineArgs,
    failure::{Failure, Result, print},
    progress::bar,
};

/// Which drive, and how much of it is checked.
#[derive(Debug, Clone, Args)]
pub(crate) struct CheckArgs {
    /// The drive
    #[arg(value_name = "[NAME=]URL")]
    url: String,

    /// Extent of the conformance suite
    #[arg(long, value_enum, default_value_t = Conformance::Quick)]
    conformance: Conformance,

    /// Seed of the random cases of the suite [default: always the same]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// Also write what was found to a file, as JSON
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    json: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Conformance {
    /// All written cases, and a tenth of the random ones
    Quick,
    /// All of it
    Whole,
    /// Nothing
    None,
}

impl From<Conformance> for Extent {
    fn from(conformance: Conformance) -> Self {
        match conformance {
            Conformance::Quick => Self::Quick,
            Conformance::Whole => Self::Whole,
            Conformance::None => Self::None,
        }
    }
}

/// Checks a drive away from this thread, which waits for signals.
pub(super) async fn run(
    engine: &EngineArgs,
    arguments: &CheckArgs,
    queries: &Handle,
) -> Result<()> {
    // Dropped with this future at Ctrl-C, which the work sees at the next case.
    let is_wanted = Arc::new(());
    let watched = Arc::downgrade(&is_wanted);
    let work = {
        let (engine, arguments) = (engine.clone(), arguments.clone());
        move || make(&engine, &arguments, &watched)
    };
    let made = queries.spawn_blocking(work).await;
    drop(is_wanted);
    let report = made.map_err(|error| Failure::panicked(&error))??;
    print(report.to_string().trim_end())?;
    if let Some(path) = &arguments.json {
        write(path, &report)?;
    }
    if report.is_clean() { Ok(()) } else { Err(Failure::Reported) }
}

fn make(engine: &EngineArgs, arguments: &CheckArgs, is_wanted: &Weak<()>) -> Result<Report> {
    let usage = |error: nearscan::Error| Failure::usage(&error);
    let spec = DriveSpec::parse(&arguments.url).map_err(|error| usage(error.into()))?;
    let threads = engine.threads.map(std::num::NonZero::get);
    let drive = attach_drive(&arguments.url, threads).map_err(usage)?;
    let options = Options {
        conformance: arguments.conformance.into(),
        seed: arguments.seed,
        folder: spec.param("root").map(PathBuf::from),
    };
    let bar = bar(engine.progress, 0);
    if let Ok(style) = ProgressStyle::with_template("{elapsed} {wide_msg}") {
        bar.set_style(style);
    }
    let report = check(drive.as_ref(), &options, &mut |what| {
        bar.set_message(what.to_owned());
        bar.tick();
        match is_wanted.strong_count() {
            0 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    });
    bar.finish_and_clear();
    drive.shutdown();
    report.map_err(|error| match error {
        Error::Stopped => Failure::Interrupted,
        _ => Failure::work(&error),
    })
}

fn write(path: &Path, report: &Report) -> Result<()> {
    let text = format!("{:#}\n", report.to_json());
    std::fs::write(path, text).map_err(|error| Failure::output(path, &error))
}
