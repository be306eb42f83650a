// SPDX-License-Identifier: Apache-2.0
//! Applies mutants one at a time: the committed tests have to detect each.
//!
//! The list is `fuzz/mutants.toml` ([`list`]). A mutant is written into its file, the tests that
//! should catch it are built and run, and the file is put back ([`applied`]), whatever happens.
//! A test that fails has caught the mutant, provided that none fails without it: tests are run once
//! as they are before the first mutant that they should catch.
//!
//! Mutants of crates that need DataFusion take as long as those crates take to build, so names, or
//! components, choose what is run.

mod applied;
mod list;
mod trial;

use std::{collections::BTreeSet, process::ExitCode};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use self::{
    applied::Applied,
    list::{Mutant, PATH},
    trial::{Outcome, Trial},
};
use crate::project::{self, Project};

/// Options of the command.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Mutants, or components whose mutants are meant; all of them without a name
    names: Vec<String>,
    /// Only show which there are
    #[arg(long)]
    list: bool,
}

/// Applies each mutant that is chosen; fails when one of them is not caught, or cannot be applied.
///
/// # Errors
/// When the list is wrong, or a name is of no mutant and no component.
pub(crate) fn run(project: &Project, options: &Options) -> Result<ExitCode> {
    let mutants = list::read(project)?;
    let chosen = choose(&mutants, &options.names)?;
    if options.list {
        for mutant in chosen {
            println!("{:<32} {:<24} {}", mutant.name, mutant.component, mutant.class);
        }
        return Ok(ExitCode::SUCCESS);
    }
    let (mut caught_count, mut error_count) = (0_usize, 0_usize);
    let mut passing = BTreeSet::new();
    for mutant in &chosen {
        match try_out(project, mutant, &mut passing) {
            Ok(trial) => {
                println!("{:<32} {} ({:.0} s)", mutant.name, trial.outcome, trial.seconds);
                caught_count += usize::from(trial.outcome != Outcome::Missed);
            }
            Err(error) => {
                println!("{:<32} error: {error:#}", mutant.name);
                error_count += 1;
            }
        }
    }
    let missed_count = chosen.len() - caught_count - error_count;
    println!("{caught_count} caught, {missed_count} NOT caught, {error_count} not applied");
    let is_success = caught_count == chosen.len();
    Ok(if is_success { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The mutants that `names` are of, in the order of the list.
fn choose<'a>(mutants: &'a [Mutant], names: &[String]) -> Result<Vec<&'a Mutant>> {
    let is_of = |name: &str, mutant: &Mutant| mutant.name == name || mutant.component == name;
    for name in names {
        ensure!(
            mutants.iter().any(|mutant| is_of(name, mutant)),
            "{name} is neither a mutant nor a component of {PATH}"
        );
    }
    let is_chosen =
        |mutant: &&Mutant| names.is_empty() || names.iter().any(|name| is_of(name, mutant));
    Ok(mutants.iter().filter(is_chosen).collect())
}

/// Applies one mutant, runs its tests and puts the file back. `passing` are tests that are known to
/// pass without a mutant.
fn try_out<'a>(
    project: &Project,
    mutant: &'a Mutant,
    passing: &mut BTreeSet<&'a [String]>,
) -> Result<Trial> {
    let status = ["status", "--porcelain", "--", mutant.file.as_str()];
    let changes = project::output(project.command("git").args(status))?;
    if !changes.trim().is_empty() {
        bail!("{} has changes that are not committed", mutant.file);
    }
    let path = project.root().join(&mutant.file);
    let text =
        std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", mutant.file))?;
    let broken = mutant.apply_to(&text)?;
    if !passing.contains(mutant.tests.as_slice()) {
        let outcome = trial::run(project, mutant).context("without the mutant")?.outcome;
        ensure!(outcome == Outcome::Missed, "without the mutant, too, the tests fail: {outcome}");
        passing.insert(&mutant.tests);
    }
    let applied = Applied::new(&path, text.into_bytes(), &broken, &project.target_folder())?;
    let trial = trial::run(project, mutant);
    applied.restore()?;
    trial
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mutant(name: &str, component: &str) -> Mutant {
        let [file, find, replace] = ["a.rs", "a", "b"].map(str::to_owned);
        let tests = vec!["test".to_owned()];
        let class = "something is wrong".to_owned();
        let (name, component) = (name.to_owned(), component.to_owned());
        Mutant { name, component, class, file, find, replace, tests, caught_by: None }
    }

    #[test]
    fn names_are_of_mutants_or_of_components() {
        let mutants = [mutant("one", "cpu"), mutant("two", "drive"), mutant("three", "cpu")];
        let of = |names: &[&str]| -> Option<Vec<String>> {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            let chosen = choose(&mutants, &names).ok()?;
            Some(chosen.iter().map(|mutant| mutant.name.clone()).collect())
        };
        assert_eq!(of(&[]).unwrap(), ["one", "two", "three"]);
        assert_eq!(of(&["cpu"]).unwrap(), ["one", "three"]);
        assert_eq!(of(&["three", "drive"]).unwrap(), ["two", "three"]);
        assert_eq!(of(&["three", "four"]), None);
    }
}
