// SPDX-License-Identifier: Apache-2.0
//! Makes a Python environment for the tests, with pinned packages.
//!
//! It is in the target folder, and carries a copy of the list it was made from: while the list is
//! the same, nothing is installed. Without it, the tests that need it skip themselves.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::Install;
use crate::project::{self, Project};

/// The name in the skips of tests: `needs python`.
pub(super) const NAME: &str = "python";

/// The pinned packages, relative to the root.
const REQUIREMENTS: &str = "xtask/requirements.txt";

/// The interpreter of the environment, made or brought up to date if that is allowed.
pub(crate) fn provide(project: &Project, install: Install) -> Option<PathBuf> {
    let folder = project.target_folder().join("venv");
    match prepare(project, &folder, install) {
        Ok(python) => Some(python),
        Err(error) => {
            println!("no Python environment: {error:#}");
            println!("to make it: python3 -m venv DIR && DIR/bin/pip install -r {REQUIREMENTS}");
            None
        }
    }
}

fn prepare(project: &Project, folder: &Path, install: Install) -> Result<PathBuf> {
    let wanted = std::fs::read_to_string(project.root().join(REQUIREMENTS))
        .with_context(|| format!("cannot read {REQUIREMENTS}"))?;
    let python = folder.join("bin/python");
    let stamp = folder.join("installed-requirements.txt");
    if is_fresh(&stamp, &wanted) && python.is_file() {
        return Ok(python);
    }
    ensure!(install == Install::Allowed, "it is absent or stale, and installing is not allowed");
    println!("making a Python environment of {REQUIREMENTS}");
    if folder.exists() {
        std::fs::remove_dir_all(folder).context("cannot remove the stale environment")?;
    }
    project::run(project.command("python3").args(["-m", "venv"]).arg(folder))?;
    let mut pip = project.command(&python.to_string_lossy());
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"]);
    project::run(pip.arg(REQUIREMENTS))?;
    std::fs::write(&stamp, &wanted).context("cannot write the stamp of the environment")?;
    Ok(python)
}

fn is_fresh(stamp: &Path, wanted: &str) -> bool {
    std::fs::read_to_string(stamp).is_ok_and(|installed| installed == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn environment_is_fresh_while_the_list_is_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let stamp = folder.path().join("stamp");
        assert!(!is_fresh(&stamp, "a==1\n"));
        std::fs::write(&stamp, "a==1\n").unwrap();
        assert!(is_fresh(&stamp, "a==1\n"));
        assert!(!is_fresh(&stamp, "a==2\n"));
    }

    #[test]
    fn installs_nothing_when_that_is_forbidden() {
        let folder = tempfile::tempdir().unwrap();
        let venv = folder.path().join("venv");
        let project = Project::open().unwrap();
        let error = prepare(&project, &venv, Install::Forbidden).unwrap_err();
        assert_eq!(error.to_string(), "it is absent or stale, and installing is not allowed");
        assert!(!venv.exists());
    }

    #[test]
    fn every_package_is_pinned() {
        let project = Project::open().unwrap();
        let text = std::fs::read_to_string(project.root().join(REQUIREMENTS)).unwrap();
        let packages: Vec<&str> =
            text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).collect();
        assert!(!packages.is_empty());
        for package in packages {
            assert!(package.contains("=="), "{package} is not pinned");
        }
    }
}
