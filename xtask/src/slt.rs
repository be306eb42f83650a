// SPDX-License-Identifier: Apache-2.0
//! Runs third-party SQL tests on the emulated drive: it builds the optimised program, and runs it
//! in the folder that the task was called from.

use std::{
    ffi::OsString,
    process::{Command, ExitCode},
};

use anyhow::{Context, Result};
use clap::Args;

use crate::{program::Program, project::Project};

/// The program.
pub(crate) const PROGRAM: Program =
    Program { name: "nearscan-slt", package: "nearscan-sqllogictest", features: None };

/// Arguments that are passed to the program.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Options {
    /// FOLDER and options; --help lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    arguments: Vec<OsString>,
}

/// Builds and runs the program; its exit status is the task's.
///
/// # Errors
/// If it cannot be built or started.
pub(crate) fn run(project: &Project, options: &Options) -> Result<ExitCode> {
    let program = PROGRAM.build(project)?;
    let status = Command::new(&program)
        .args(&options.arguments)
        .status()
        .with_context(|| format!("cannot start {}", program.display()))?;
    // A program that a signal ended has no code.
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Task {
        #[command(flatten)]
        options: Options,
    }

    #[test]
    fn options_of_the_program_are_passed_on() {
        let words = ["slt", "suites/a", "--mode", "off", "--filter", "*.test", "--help"];
        let task = Task::try_parse_from(words).unwrap();
        assert_eq!(task.options.arguments, words[1..]);
    }

    #[test]
    fn folder_is_required() {
        assert!(Task::try_parse_from(["slt"]).is_err());
    }
}
