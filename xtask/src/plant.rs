// SPDX-License-Identifier: Apache-2.0
//! Deliberate bugs, planted one at a time: each has to be caught by the tests that are committed.
//!
//! The list is `fuzz/planted.toml` ([`list`]). A bug is written into its file, the tests that
//! should catch it are built and run, and the file is put back ([`garden`]), whatever happens.
//! A test that fails has caught the bug, provided that none fails without it: tests are run once as
//! they are before the first bug that they should catch.
//!
//! Bugs of crates that need DataFusion take as long as those crates take to build, so names, or
//! rooms, choose what is run.

mod garden;
mod list;
mod trial;

use std::collections::BTreeSet;
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use self::garden::Planted;
use self::list::{Bug, PATH};
use self::trial::{Outcome, Trial};
use crate::project::{self, Project};

/// What may be chosen.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Bugs, or rooms whose bugs are meant; all of them without a name
    names: Vec<String>,
    /// Only show which there are
    #[arg(long)]
    list: bool,
}

/// Plants each bug that is chosen; fails when one of them is not caught, or cannot be planted.
///
/// # Errors
/// When the list is wrong, or a name is of no bug and no room.
pub(crate) fn run(project: &Project, options: &Options) -> Result<ExitCode> {
    let bugs = list::read(project)?;
    let chosen = choose(&bugs, &options.names)?;
    if options.list {
        for bug in chosen {
            println!("{:<32} {:<24} {}", bug.name, bug.room, bug.class);
        }
        return Ok(ExitCode::SUCCESS);
    }
    let (mut caught_count, mut error_count) = (0_usize, 0_usize);
    let mut passing = BTreeSet::new();
    for bug in &chosen {
        match plant(project, bug, &mut passing) {
            Ok(trial) => {
                println!("{:<32} {} ({:.0} s)", bug.name, trial.outcome, trial.seconds);
                caught_count += usize::from(trial.outcome != Outcome::Missed);
            }
            Err(error) => {
                println!("{:<32} error: {error:#}", bug.name);
                error_count += 1;
            }
        }
    }
    let missed_count = chosen.len() - caught_count - error_count;
    println!("{caught_count} caught, {missed_count} NOT caught, {error_count} not planted");
    let is_success = caught_count == chosen.len();
    Ok(if is_success { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The bugs that `names` are of, in the order of the list.
fn choose<'a>(bugs: &'a [Bug], names: &[String]) -> Result<Vec<&'a Bug>> {
    let is_of = |name: &str, bug: &Bug| bug.name == name || bug.room == name;
    for name in names {
        ensure!(
            bugs.iter().any(|bug| is_of(name, bug)),
            "{name} is neither a bug nor a room of {PATH}"
        );
    }
    let is_chosen = |bug: &&Bug| names.is_empty() || names.iter().any(|name| is_of(name, bug));
    Ok(bugs.iter().filter(is_chosen).collect())
}

/// Plants one bug, runs its tests and puts the file back. `passing` are the tests that are known to
/// pass without a bug.
fn plant<'a>(
    project: &Project,
    bug: &'a Bug,
    passing: &mut BTreeSet<&'a [String]>,
) -> Result<Trial> {
    let status = ["status", "--porcelain", "--", bug.file.as_str()];
    let changes = project::output(project.command("git").args(status))?;
    if !changes.trim().is_empty() {
        bail!("{} has changes that are not committed", bug.file);
    }
    let path = project.root().join(&bug.file);
    let text =
        std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", bug.file))?;
    let broken = bug.plant_in(&text)?;
    if !passing.contains(bug.tests.as_slice()) {
        let outcome = trial::run(project, bug).context("without the bug")?.outcome;
        ensure!(outcome == Outcome::Missed, "without the bug, too, the tests fail: {outcome}");
        passing.insert(&bug.tests);
    }
    let planted = Planted::new(&path, text.into_bytes(), &broken, &project.target_folder())?;
    let trial = trial::run(project, bug);
    planted.restore()?;
    trial
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bug(name: &str, room: &str) -> Bug {
        let [file, find, replace] = ["a.rs", "a", "b"].map(str::to_owned);
        let tests = vec!["test".to_owned()];
        let class = "something is wrong".to_owned();
        let (name, room) = (name.to_owned(), room.to_owned());
        Bug { name, room, class, file, find, replace, tests, caught_by: None }
    }

    #[test]
    fn names_are_of_bugs_or_of_rooms() {
        let bugs = [bug("one", "cpu"), bug("two", "drive"), bug("three", "cpu")];
        let of = |names: &[&str]| -> Option<Vec<String>> {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            let chosen = choose(&bugs, &names).ok()?;
            Some(chosen.iter().map(|bug| bug.name.clone()).collect())
        };
        assert_eq!(of(&[]).unwrap(), ["one", "two", "three"]);
        assert_eq!(of(&["cpu"]).unwrap(), ["one", "three"]);
        assert_eq!(of(&["three", "drive"]).unwrap(), ["two", "three"]);
        assert_eq!(of(&["three", "four"]), None);
    }
}
