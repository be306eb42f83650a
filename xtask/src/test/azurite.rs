// SPDX-License-Identifier: Apache-2.0
//! The emulator of Azure's blob storage that tests of object stores read from.
//!
//! It is a package of npm with a pinned version, in the target folder, installed once. Without it,
//! the tests that need it skip themselves.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::Install;
use crate::project::{self, Project};

/// The name in the skips of tests: `needs azurite`.
pub(super) const NAME: &str = "azurite";

/// The package, with the version that is installed.
const PACKAGE: &str = "azurite@3.35.0";

/// The program that serves blobs, installed if that is allowed.
pub(super) fn provide(project: &Project, install: Install) -> Option<PathBuf> {
    let folder = project.target_folder().join(PACKAGE);
    match prepare(project, &folder, install) {
        Ok(program) => Some(program),
        Err(error) => {
            println!("no azurite: {error:#}");
            println!("to install it: npm install --prefix DIR {PACKAGE}");
            None
        }
    }
}

fn prepare(project: &Project, folder: &Path, install: Install) -> Result<PathBuf> {
    let program = folder.join("node_modules/.bin/azurite-blob");
    // It is written last.
    let stamp = folder.join("installed");
    if stamp.is_file() && program.is_file() {
        return Ok(program);
    }
    ensure!(install == Install::Allowed, "it is absent, and installing is not allowed");
    println!("installing {PACKAGE}");
    std::fs::create_dir_all(folder).context("cannot make the folder of azurite")?;
    let mut npm = project.command("npm");
    npm.args(["install", "--silent", "--no-audit", "--no-fund", "--prefix"]).arg(folder);
    project::run(npm.arg(PACKAGE))?;
    std::fs::write(&stamp, "").context("cannot write the stamp of azurite")?;
    Ok(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn installs_nothing_when_that_is_forbidden() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("azurite");
        let project = Project::open().unwrap();
        let error = prepare(&project, &folder, Install::Forbidden).unwrap_err();
        assert_eq!(error.to_string(), "it is absent, and installing is not allowed");
        assert!(!folder.exists());
    }

    #[test]
    fn is_ready_once_all_of_it_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let project = Project::open().unwrap();
        let bin = folder.path().join("node_modules/.bin");
        std::fs::create_dir_all(&bin).unwrap();
        std::fs::write(bin.join("azurite-blob"), "").unwrap();
        assert!(prepare(&project, folder.path(), Install::Forbidden).is_err());
        std::fs::write(folder.path().join("installed"), "").unwrap();
        let program = prepare(&project, folder.path(), Install::Forbidden).unwrap();
        assert_eq!(program, bin.join("azurite-blob"));
    }
}
