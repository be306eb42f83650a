// SPDX-License-Identifier: Apache-2.0
//! `cargo xtask fuzz lies`: walks files that lie, and ends with 1 if any query over one is wrong.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "a command-line program: its findings are its output")]

use std::num::NonZeroUsize;
use std::process::ExitCode;

use clap::Parser;
use nearscan_targets::{Every, Walk};

/// Run queries over Parquet files in which one number lies, or which end early
#[derive(Debug, Parser)]
#[command(name = "cargo xtask fuzz lies")]
struct Options {
    /// Try one lie in so many
    #[arg(long, default_value = "1")]
    lies: NonZeroUsize,
    /// Try one length in so many
    #[arg(long, default_value = "1")]
    ends: NonZeroUsize,
}

fn main() -> ExitCode {
    let Options { lies, ends } = Options::parse();
    // What panics in a library is an error with its place, and would be thousands of lines here.
    std::panic::set_hook(Box::new(|_| ()));
    let walk =
        Walk::of(Every { lies: lies.get(), ends: ends.get() }, &mut |wrong| println!("{wrong}"));
    println!(
        "{} queries: {} with rows, {} with an error, {} wrong",
        walk.queries(),
        walk.rows,
        walk.errors,
        walk.wrong.len()
    );
    if walk.wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
