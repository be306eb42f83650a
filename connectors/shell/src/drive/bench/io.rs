// SPDX-License-Identifier: Apache-2.0
//! Implements `nearscan drive bench io`: it measures direct reads of a file (`O_DIRECT`),
//! synchronous and asynchronous, beside `fio` with the same sizes, and prints the rates.

mod chart;
mod report;

use std::{
    fs,
    io::{self, ErrorKind},
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::{Arc, Weak},
};

use clap::{Args, ValueHint, value_parser};
use indicatif::ProgressStyle;
use nearscan::{drive::clock::Stopwatch, units::format_bytes};
use nearscan_io::{
    BLOCK, Error, QUEUE_DEPTH_MAX, REQUEST_BYTES_MAX,
    bench::{self, Case, Order, Peer, Plan, Progress},
    memory_bytes,
};
use nearscan_kernels::plot;
use tokio::runtime::Handle;

use crate::{
    engine_args::ProgressWhen,
    failure::{Failure, Result, in_parts, print},
    progress::bar,
};
use report::Report;

/// Options of the benchmark of reads.
#[derive(Debug, Clone, Args)]
pub(crate) struct IoArgs {
    /// The file to read; one of several gigabytes, so that a disk's own cache holds little of it
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: PathBuf,

    /// Sizes of blocks, each read at random and in sequence [default: 64 KiB at random, 1 MiB both]
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = block_bytes)]
    block_bytes: Vec<u32>,

    /// Numbers of requests in flight, of the asynchronous modes [default: 1,4,8,16,32]
    #[arg(
        long,
        value_name = "N",
        value_delimiter = ',',
        value_parser = value_parser!(u32).range(1..=i64::from(QUEUE_DEPTH_MAX))
    )]
    depth: Vec<u32>,

    /// Rounds, in each of which every mode has its turn
    #[arg(
        long,
        value_name = "N",
        default_value_t = Plan::default().rounds,
        value_parser = value_parser!(u32).range(1..=1000)
    )]
    rounds: u32,

    /// Bytes that a mode reads in its turn [default: 64 MiB of blocks below 1 MiB, else 256 MiB]
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..))]
    round_bytes: Option<u64>,

    /// Do not run fio
    #[arg(long)]
    no_fio: bool,

    /// Also write the figures to a file, as JSON
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    json: Option<PathBuf>,

    /// Also draw the figures, as SVG and PNG
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    plot: Option<PathBuf>,
}

fn block_bytes(text: &str) -> Result<u32, String> {
    let bytes: u32 = text.parse().map_err(|error| format!("{error}"))?;
    let block = u32::try_from(BLOCK).unwrap_or(u32::MAX);
    match bytes.is_multiple_of(block) && (block..=REQUEST_BYTES_MAX).contains(&bytes) {
        true => Ok(bytes),
        false => Err(format!("a multiple of {block} up to {REQUEST_BYTES_MAX} is needed")),
    }
}

/// A block from which on a round is longer by default.
const LARGE_BLOCK_BYTES: u32 = 1 << 20;

impl IoArgs {
    fn plan(&self) -> Plan {
        let default = Plan::default();
        let mut cases = default.cases.clone();
        if !self.block_bytes.is_empty() {
            let both = |bytes: &u32| {
                [Order::Random, Order::Sequential].map(|order| Case {
                    block_bytes: *bytes,
                    order,
                    round_bytes: if *bytes < LARGE_BLOCK_BYTES { 64 << 20 } else { 256 << 20 },
                })
            };
            cases = self.block_bytes.iter().flat_map(both).collect();
        }
        for case in &mut cases {
            case.round_bytes = self.round_bytes.unwrap_or(case.round_bytes);
        }
        let mut depths = if self.depth.is_empty() { default.depths } else { self.depth.clone() };
        depths.sort_unstable();
        depths.dedup();
        let fio = if self.no_fio { Peer::Never } else { Peer::IfThere };
        Plan { cases, depths, rounds: self.rounds, fio }
    }
}

/// Refuses what is no file or too short, and what needs more memory than there is.
fn check(file: &Path, plan: &Plan) -> Result<()> {
    let shown = file.display().to_string();
    let metadata = fs::metadata(file).map_err(|error| Failure::input(&shown, &error))?;
    if !metadata.is_file() {
        let error = io::Error::new(ErrorKind::InvalidInput, "it is no file");
        return Err(Failure::input(&shown, &error));
    }
    let largest = plan.cases.iter().map(|case| u64::from(case.block_bytes)).max().unwrap_or(0);
    if metadata.len() < largest {
        return Err(Failure::Usage(format!(
            "error: '{shown}' is shorter than a block\n  \
             detail: it has {} bytes, and the largest block has {largest}\n  \
             hint: choose a longer file, or a smaller --block-bytes",
            metadata.len()
        )));
    }
    let needed = bench::memory_bytes(plan);
    let free = memory_bytes() / 2;
    if needed > free {
        return Err(Failure::Usage(format!(
            "error: blocks and requests in flight need too much memory\n  \
             detail: {}, and half of the machine's is {}\n  \
             hint: choose a smaller --depth or --block-bytes",
            format_bytes(needed),
            format_bytes(free)
        )));
    }
    Ok(())
}

/// Measures away from this thread, which waits for signals.
pub(super) async fn run(arguments: &IoArgs, when: ProgressWhen, queries: &Handle) -> Result<()> {
    let plan = arguments.plan();
    check(&arguments.file, &plan)?;
    // Dropped with this future at Ctrl-C, which the work sees at the next turn.
    let is_wanted = Arc::new(());
    let watched = Arc::downgrade(&is_wanted);
    let file = arguments.file.clone();
    let made = queries.spawn_blocking(move || measure(&file, plan, when, &watched)).await;
    drop(is_wanted);
    let report = made.map_err(|error| Failure::panicked(&error))??;
    print(report.to_text().trim_end())?;
    if let Some(path) = &arguments.json {
        let text = format!("{:#}\n", report.to_json());
        fs::write(path, text).map_err(|error| Failure::output(path, &error))?;
    }
    if let Some(folder) = &arguments.plot {
        plot::save_charts(&chart::all(&report), folder).map_err(|error| super::failed(&error))?;
    }
    Ok(())
}

fn measure(file: &Path, plan: Plan, when: ProgressWhen, is_wanted: &Weak<()>) -> Result<Report> {
    let bar = bar(when, 0);
    if let Ok(style) = ProgressStyle::with_template("[{bar:30}] {pos}/{len} turns") {
        bar.set_style(style.progress_chars("=> "));
    }
    let stopwatch = Stopwatch::start();
    let watch = &mut |Progress { done, all }| {
        bar.set_length(all);
        bar.set_position(done);
        match is_wanted.strong_count() {
            0 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    };
    let table = bench::run(file, &plan, &|| stopwatch.elapsed(), watch);
    bar.finish_and_clear();
    let table = table.map_err(|error| failed(&error))?;
    Report::new(file, plan, table).map_err(|error| failed(&error))
}

/// A file that cannot be used is bad usage; anything else is a failure of the work.
fn failed(error: &Error) -> Failure {
    let text = in_parts(error, error.detail(), error.hint());
    match error {
        Error::Open { .. } => Failure::Usage(text),
        _ => Failure::Statement(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        io: IoArgs,
    }

    fn plan(arguments: &[&str]) -> Plan {
        Line::parse_from([&["io", "f"], arguments].concat()).io.plan()
    }

    #[test]
    fn plan_is_the_default_but_for_what_was_asked() {
        assert_eq!(plan(&[]), Plan::default());
        let asked = plan(&["--block-bytes", "4096,1048576", "--depth", "8,2,8", "--rounds", "3"]);
        let of = |case: &Case| (case.block_bytes, case.order, case.round_bytes);
        let expected = [
            (4096, Order::Random, 64 << 20),
            (4096, Order::Sequential, 64 << 20),
            (1 << 20, Order::Random, 256 << 20),
            (1 << 20, Order::Sequential, 256 << 20),
        ];
        assert_eq!(asked.cases.iter().map(of).collect::<Vec<_>>(), expected);
        assert_eq!((asked.depths, asked.rounds), (vec![2, 8], 3));
        let short = plan(&["--round-bytes", "5", "--no-fio"]);
        assert!(short.cases.iter().all(|case| case.round_bytes == 5));
        assert_eq!(short.fio, Peer::Never);
    }
}
