// SPDX-License-Identifier: Apache-2.0
//! `cargo xtask fuzz corruption`: runs queries over corrupt files, and exits with 1 if the outcome
//! of one is wrong.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "a command-line program: its findings are its output")]

use std::{num::NonZeroUsize, process::ExitCode};

use clap::Parser;
use nearscan_targets::{Every, Walk};

/// Run queries over Parquet files in which one number is wrong, or which end early
#[derive(Debug, Parser)]
#[command(name = "cargo xtask fuzz corruption")]
struct Options {
    /// Try one corrupt number in so many
    #[arg(long, default_value = "1")]
    corruptions: NonZeroUsize,
    /// Try one length in so many
    #[arg(long, default_value = "1")]
    ends: NonZeroUsize,
}

fn main() -> ExitCode {
    let Options { corruptions, ends } = Options::parse();
    // A panic of a library is an error with its place, and would be thousands of lines here.
    std::panic::set_hook(Box::new(|_| ()));
    let walk = Walk::of(Every { corruptions: corruptions.get(), ends: ends.get() }, &mut |wrong| {
        println!("{wrong}")
    });
    println!(
        "{} queries: {} with rows, {} with an error, {} wrong",
        walk.queries(),
        walk.rows,
        walk.errors,
        walk.wrong.len()
    );
    if walk.wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
