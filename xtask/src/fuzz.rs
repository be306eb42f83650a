// SPDX-License-Identifier: Apache-2.0
//! Runs random tests of any length: each is a separate program, built and started here. In
//! [`coverage`] the inputs are guided by the code that they reach.

mod coverage;

use std::{path::Path, process::ExitCode};

use anyhow::{Context, Result};
use clap::Subcommand;

use crate::{
    program::Program,
    project::{self, Project},
    test::{Install, python},
};

/// Which tests.
#[derive(Debug, Subcommand)]
pub(crate) enum Fuzz {
    /// Random queries over random files, in every way, against DuckDB
    #[command(disable_help_flag = true)]
    Sql {
        /// Options of the program; --help shows them
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        options: Vec<String>,
    },
    /// Each unit of work of each TPC-H query, struck with each kind of fault
    #[command(disable_help_flag = true)]
    Faults {
        /// Options of the program; --help shows them
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        options: Vec<String>,
    },
    /// Queries over Parquet files in which one number is wrong, each number in turn
    #[command(disable_help_flag = true)]
    Corruption {
        /// Options of the program; --help shows them
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        options: Vec<String>,
    },
    /// Random bytes for the targets of `fuzz/targets`, under libFuzzer, the kernels with sanitizers
    Coverage(coverage::Options),
}

/// Builds and runs it.
///
/// # Errors
/// When it cannot be built or started.
pub(crate) fn run(project: &Project, fuzz: &Fuzz) -> Result<ExitCode> {
    match fuzz {
        Fuzz::Sql { options } => sql(project, options),
        Fuzz::Faults { options } => start(project, &FAULTS, options),
        Fuzz::Corruption { options } => start(project, &CORRUPTION, options),
        Fuzz::Coverage(options) => coverage::run(project, options),
    }
}

fn sql(project: &Project, options: &[String]) -> Result<ExitCode> {
    let python = python::provide(project, Install::Allowed)
        .context("random queries need Python, see above")?;
    let describe = ["describe", "--always", "--dirty"];
    let commit = project::output(project.command("git").args(describe))?;
    let known = known_options(commit.trim(), &python.to_string_lossy(), &project.target_folder());
    start(project, &QUERIES, &[&known, options].concat())
}

/// Returns options for random queries; the user's options follow and override them. Differing
/// queries are kept in a folder that is not committed.
fn known_options(commit: &str, python: &str, target: &Path) -> [String; 6] {
    let keep = target.join("differing-queries");
    let keep = keep.to_string_lossy();
    ["--commit", commit, "--python", python, "--keep", &keep].map(str::to_owned)
}

/// Random queries.
pub(crate) const QUERIES: Program =
    Program { name: "nearscan-queries", package: "nearscan-queries", features: None };

/// Faults at each unit of work.
pub(crate) const FAULTS: Program =
    Program { name: "nearscan-faults", package: "nearscan-faults", features: None };

/// Files with one wrong number.
pub(crate) const CORRUPTION: Program = Program {
    name: "nearscan-corruption",
    package: "nearscan-targets",
    features: Some("nearscan-targets/sql"),
};

/// Builds it and runs it in the top folder.
fn start(project: &Project, program: &Program, options: &[String]) -> Result<ExitCode> {
    let path = program.build(project)?;
    let status = project.command(&path.to_string_lossy()).args(options).status();
    let status = status.with_context(|| format!("cannot start {}", program.name))?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_that_differ_are_kept_below_the_target_folder() {
        let options = known_options("abc", "python3", Path::new("/made"));
        let expected =
            ["--commit", "abc", "--python", "python3", "--keep", "/made/differing-queries"];
        assert_eq!(options, expected);
    }
}
