// SPDX-License-Identifier: Apache-2.0
//! Implements the project's tasks.
//!
//! - `layers`: checks the imports between crates against the table.
//! - `tidy`: checks the house style in the source text.
//! - `codegen`: files that are generated.
//! - `fuzz`: runs random tests.
//! - `mutants`: deliberate bugs, which the tests must detect.
//! - `test`: every test of the project, on a machine that may lack half of the tools.
//! - `rtl`: modules in SystemVerilog: their benches and their syntheses.
//! - `xclbin`: the image of an FPGA, or the one that XRT's software emulation loads.
//! - `slt`: runs third-party SQL tests on the emulated drive.
//! - `peers`: compares speed and memory with those of other engines.
//! - `check`: formatting, lints, and the tests of what changed.
//! - `dist`: builds the program for distribution.
//! - `wheel`: builds the Python package, and tests it in an empty environment.
//! - `pictures`: draws the pictures of the shell and of a notebook.
//! - `ci`: the whole gate, step by step, timed.
//!
//! Nothing here is needed to build or run the engine, and nothing of the engine is imported: a task
//! still works while a crate does not compile. `layers`, `tidy` and `codegen` are also tests of
//! this crate, so that `cargo test` alone is the gate for everything but formatting and lints.

#![forbid(unsafe_code)]
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line program: its findings are its output"
)]

mod check;
mod ci;
mod codegen;
mod dist;
mod fuzz;
mod layers;
mod metadata;
mod mutants;
mod peers;
mod pictures;
mod program;
mod project;
mod rtl;
mod slt;
mod test;
mod tidy;
mod wheel;
mod xclbin;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::project::Project;

/// Tasks of the Nearscan project.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Check the imports between crates against the layer table
    Layers,
    /// Check the house rules that can be read off the source text
    Tidy,
    /// Write the generated files
    Codegen {
        /// Only compare them with what is committed
        #[arg(long)]
        check: bool,
    },
    /// Install what the tests need and run all of them
    Test(test::Options),
    /// Check formatting and lints, and test the crates that changed and those that import them
    Check(check::Options),
    /// Build the program as it is handed out: stripped, and dynamic only against glibc
    Dist(dist::Options),
    /// Build the Python package as a wheel, and test it in an environment with nothing else
    Wheel(wheel::Options),
    /// Draw the pictures of the shell and of a notebook in the folder docs
    Pictures,
    /// Make the image of an FPGA, or the one that XRT's software emulation loads
    Xclbin(xclbin::Options),
    /// Test and synthesise the modules in SystemVerilog, and keep what is measured of them
    Rtl(rtl::Options),
    /// Run random tests, as long as you like
    #[command(subcommand)]
    Fuzz(fuzz::Fuzz),
    /// Run other people's SQL tests on the emulated drive
    Slt(slt::Options),
    /// Compare speed and memory with DuckDB, Polars and DataFusion on the same files
    Peers(peers::Options),
    /// Apply deliberate bugs, one at a time, and see whether the tests detect them
    Mutants(mutants::Options),
    /// Run what CI runs, in its order
    Ci,
}

fn main() -> ExitCode {
    match run(&Arguments::parse().task) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: &Task) -> Result<ExitCode> {
    let project = Project::open()?;
    match task {
        Task::Layers => layers::run(&project)?,
        Task::Tidy => tidy::run(&project)?,
        Task::Codegen { check: true } => codegen::check(&project)?,
        Task::Codegen { check: false } => codegen::write(&project)?,
        Task::Test(options) => return Ok(test::run(&project, options)?.close()),
        Task::Check(options) => return check::run(&project, options),
        Task::Dist(options) => dist::run(&project, options)?,
        Task::Wheel(options) => wheel::run(&project, options)?,
        Task::Pictures => pictures::run(&project)?,
        Task::Xclbin(options) => xclbin::run(&project, options)?,
        Task::Rtl(options) => return rtl::run(&project, options),
        Task::Fuzz(fuzz) => return fuzz::run(&project, fuzz),
        Task::Slt(options) => return slt::run(&project, options),
        Task::Peers(options) => return peers::run(&project, options),
        Task::Mutants(options) => return mutants::run(&project, options),
        Task::Ci => return Ok(ci::run(&project)),
    }
    Ok(ExitCode::SUCCESS)
}
