// SPDX-License-Identifier: Apache-2.0
//! Random tests that run as long as one likes: each is a program of its own, built and started
//! here. In [`coverage`] the inputs are guided by the code that they reach.

mod coverage;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Subcommand;

use crate::project::{self, Project};
use crate::test::{Install, python};

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
    /// Queries over Parquet files in which one number lies, each number in turn
    #[command(disable_help_flag = true)]
    Lies {
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
        Fuzz::Faults { options } => FAULTS.start(project, options),
        Fuzz::Lies { options } => LIES.start(project, options),
        Fuzz::Coverage(options) => coverage::run(project, options),
    }
}

fn sql(project: &Project, options: &[String]) -> Result<ExitCode> {
    let python = python::provide(project, Install::Allowed)
        .context("random queries need Python, see above")?;
    let describe = ["describe", "--always", "--dirty"];
    let commit = project::output(project.command("git").args(describe))?;
    let known = known_options(commit.trim(), &python.to_string_lossy(), &project.target_folder());
    QUERIES.start(project, &[&known, options].concat())
}

/// What random queries are told whatever the user says, who stands behind it and so overrides it:
/// what differs is kept where nothing is committed.
fn known_options(commit: &str, python: &str, target: &Path) -> [String; 6] {
    let keep = target.join("differing-queries");
    let keep = keep.to_string_lossy();
    ["--commit", commit, "--python", python, "--keep", &keep].map(str::to_owned)
}

/// A program of a package of the workspace.
struct Program {
    name: &'static str,
    package: &'static str,
    features: Option<&'static str>,
}

const QUERIES: Program =
    Program { name: "nearscan-queries", package: "nearscan-queries", features: None };

const FAULTS: Program =
    Program { name: "nearscan-faults", package: "nearscan-faults", features: None };

const LIES: Program = Program {
    name: "nearscan-lies",
    package: "nearscan-targets",
    features: Some("nearscan-targets/sql"),
};

impl Program {
    /// Builds it for speed, and runs it.
    fn start(&self, project: &Project, options: &[String]) -> Result<ExitCode> {
        project::run(&mut project.cargo(&self.build()))?;
        let program = project.target_folder().join("release").join(self.name);
        let mut command = project.command(&program.to_string_lossy());
        let status = command.args(options).status();
        let status = status.with_context(|| format!("cannot start {}", self.name))?;
        Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// What cargo is told: with the program that users have, so that both are built with the same
    /// features.
    fn build(&self) -> Vec<&'static str> {
        let own = ["-p", self.package, "--bin", self.name];
        let mut arguments = vec!["build", "--release", "--locked", "-p", "nearscan-shell"];
        arguments.extend(own);
        arguments.extend(self.features.into_iter().flat_map(|features| ["--features", features]));
        arguments
    }
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

    #[test]
    fn programs_are_those_of_packages_that_there_are() {
        for program in [QUERIES, FAULTS, LIES] {
            let arguments = program.build();
            let package = arguments.iter().rposition(|it| *it == "-p").unwrap() + 1;
            assert_eq!(arguments[package..=package + 2], [program.package, "--bin", program.name]);
            let metadata = Project::open()
                .unwrap()
                .cargo(&["metadata", "--no-deps", "--offline"])
                .args(["--format-version", "1"])
                .output()
                .unwrap();
            let metadata = String::from_utf8(metadata.stdout).unwrap();
            assert!(metadata.contains(&format!("\"name\":\"{}\"", program.package)));
            assert!(metadata.contains(&format!("\"name\":\"{}\"", program.name)));
        }
    }
}
