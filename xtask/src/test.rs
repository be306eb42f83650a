// SPDX-License-Identifier: Apache-2.0
//! Runs every test of the project, on a machine that may lack half of the tools.
//!
//! In order: system packages are installed, or the line that would is printed; a Python environment
//! with pinned packages is made, and its interpreter handed to the tests in `NEARSCAN_PYTHON`; the
//! emulator of blob storage is installed, and handed to them in `NEARSCAN_AZURITE`; the suites of
//! [`suites`] run; each skipped test is printed with its reason; the last line is the tally.
//!
//! A test that finds out only while it runs that it cannot (no interpreter, no card) appends a line
//! `name<TAB>reason` to the file in `NEARSCAN_SKIP_LOG`, if that is set, and returns. It is then
//! counted as skipped, not as passed. A reason that installation could remove begins with `needs
//! NAME`, where NAME is that of a system package in [`packages`], `python` or `azurite`; in CI such
//! a skip is a failure.

mod azurite;
pub(crate) mod packages;
pub(crate) mod python;
mod suites;
mod tally;

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;

use crate::project::{self, Project};
use tally::Skip;
pub(crate) use tally::{Format, Reader, Tally};

/// Options of the command.
#[derive(Debug, Default, Args)]
pub(crate) struct Options {
    /// Run only tests whose name contains this
    #[arg(long, value_name = "NAME")]
    filter: Option<String>,
    /// Install nothing, neither system nor Python packages
    #[arg(long)]
    no_install: bool,
}

/// The programs and options that the suites run with.
#[derive(Debug)]
struct Setting<'a> {
    project: &'a Project,
    filter: Option<&'a str>,
    /// Names of system packages that are still missing.
    missing: Vec<&'static str>,
    /// The interpreter that has the pinned packages, if there is one.
    python: Option<PathBuf>,
    /// The emulator of blob storage, if it is there.
    azurite: Option<PathBuf>,
    /// The file in which tests report that they skipped themselves.
    skip_log: PathBuf,
}

/// Runs everything. The caller prints the tally, so that it is the last line.
///
/// # Errors
/// When a suite cannot be started at all; a test that fails is in the tally.
pub(crate) fn run(project: &Project, options: &Options) -> Result<Tally> {
    let mut setting = prepare(project, install(options))?;
    setting.filter = options.filter.as_deref();
    let mut tally = Tally::default();
    for suite in suites::choose(project, setting.filter) {
        tally.add(suites::run(&setting, suite)?);
    }
    tally.reclassify(setting.logged_skips()?);
    if project::is_ci() {
        tally.refuse_skips(is_avoidable);
    }
    Ok(tally)
}

/// Runs test programs that were built, with what is installed.
///
/// # Errors
/// When a program cannot be started.
pub(crate) fn run_programs(project: &Project, programs: &[Program]) -> Result<Tally> {
    let setting = prepare(project, Install::Forbidden)?;
    let mut tally = Tally::default();
    for program in programs {
        tally.add(suites::run_program(&setting, program)?);
    }
    tally.reclassify(setting.logged_skips()?);
    Ok(tally)
}

/// A test program that was built.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Program {
    /// The package, and what of it the program tests.
    pub(crate) name: String,
    /// Folder of the package, absolute, in which it runs.
    pub(crate) folder: PathBuf,
    pub(crate) path: PathBuf,
    /// Parts of the names of tests that are left out.
    pub(crate) skipped: &'static [&'static str],
}

fn prepare(project: &Project, install: Install) -> Result<Setting<'_>> {
    let missing = packages::provide(project, install)?;
    let python = python::provide(project, install);
    let azurite = azurite::provide(project, install);
    let skip_log = project.target_folder().join("skipped-tests.tsv");
    std::fs::create_dir_all(project.target_folder()).context("cannot create the target folder")?;
    std::fs::write(&skip_log, "").context("cannot write the log of skipped tests")?;
    Ok(Setting { project, filter: None, missing, python, azurite, skip_log })
}

impl Setting<'_> {
    /// Returns the skips that tests reported of themselves.
    fn logged_skips(&self) -> Result<Vec<Skip>> {
        let logged = std::fs::read_to_string(&self.skip_log);
        Ok(Skip::parse_log(&logged.context("cannot read the log of skipped tests")?))
    }
}

/// The changes that a step of preparation may make to the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Install {
    Allowed,
    Forbidden,
}

fn install(options: &Options) -> Install {
    if options.no_install { Install::Forbidden } else { Install::Allowed }
}

/// Whether installing something that we know how to install would have let the test run.
fn is_avoidable(skip: &Skip) -> bool {
    let Some(needed) = skip.reason.strip_prefix("needs ") else {
        return false;
    };
    let name = needed.split([' ', ',', '(']).next().unwrap_or_default();
    [python::NAME, azurite::NAME].contains(&name) || packages::is_known(name)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("needs clang", true)]
    #[case("needs g++ (package g++)", true)]
    #[case("needs python, see above", true)]
    #[case("needs azurite (x)", true)]
    #[case("needs a card", false)]
    #[case("needs clanger", false)]
    #[case("takes an hour", false)]
    fn knows_what_installation_could_avoid(#[case] reason: &str, #[case] expected: bool) {
        let skip = Skip { name: "a".to_owned(), reason: reason.to_owned() };
        assert_eq!(is_avoidable(&skip), expected);
    }
}
