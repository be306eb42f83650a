// SPDX-License-Identifier: Apache-2.0
//! Compares Nearscan with other engines: it builds the programs, makes the Python environment, and
//! runs the comparison of `benchmarks/peers` in the folder that the task was called from.

use std::{
    ffi::OsString,
    process::{Command, ExitCode},
};

use anyhow::{Context, Result};
use clap::Args;

use crate::{
    program::Program,
    project::Project,
    test::{Install, python},
};

/// The program that runs queries on Nearscan.
pub(crate) const WORKER: Program =
    Program { name: "nearscan-peer", package: "nearscan-peers", features: None };

/// The program that makes TPC-H data.
pub(crate) const SHELL: Program =
    Program { name: "nearscan", package: "nearscan-shell", features: None };

/// Arguments that are passed to the comparison.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Options {
    /// SUITE (tpch, tpcds, scan, layouts, clickbench or joins) and options; --help lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    arguments: Vec<OsString>,
}

/// Runs the comparison; its exit status is the task's.
///
/// # Errors
/// If a program cannot be built or started, or the environment cannot be made.
pub(crate) fn run(project: &Project, options: &Options) -> Result<ExitCode> {
    let python = python::provide(project, Install::Allowed)
        .context("the comparison needs the Python packages of the other engines")?;
    let worker = WORKER.build(project)?;
    let shell = SHELL.build(project)?;
    let status = Command::new(&python)
        .env("PYTHONPATH", project.root().join("benchmarks/peers"))
        .args(["-m", "peers"])
        .args(&options.arguments)
        .arg("--worker")
        .arg(worker)
        .arg("--nearscan")
        .arg(shell)
        .status()
        .with_context(|| format!("cannot start {}", python.display()))?;
    // A program that a signal ended has no code.
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}
