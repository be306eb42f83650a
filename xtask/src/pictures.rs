// SPDX-License-Identifier: Apache-2.0
//! Draws the pictures of the shell and of a notebook, which are in the folder `docs`.
//!
//! A script runs the program at a pseudo-terminal and asks the Python package for what a notebook
//! shows; so the pictures are what users see. They differ from run to run by the times in them, so
//! nothing compares them.

use anyhow::{Context, Result};

use crate::{
    peers::SHELL,
    project::{self, Project},
    test::{Install, python},
    wheel,
};

/// Draws the pictures, relative to the root.
const SCRIPT: &str = "xtask/pictures/pictures.py";

/// Draws both pictures anew.
///
/// # Errors
/// If the program or the package cannot be built, or the script fails.
pub(crate) fn run(project: &Project) -> Result<()> {
    let python = python::provide(project, Install::Allowed)
        .context("the pictures are drawn with packages of Python")?;
    let program = SHELL.build(project)?;
    let folder = project.target_folder().join("wheels");
    let wheel = wheel::build(project, &python, &folder)?;
    let package = folder.join("package");
    if package.exists() {
        std::fs::remove_dir_all(&package).context("cannot remove the old package")?;
    }
    let mut pip = project.command(&python.to_string_lossy());
    pip.args(["-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target"]);
    project::run(pip.arg(&package).arg(wheel))?;
    let mut script = project.command(&python.to_string_lossy());
    script.arg(project.root().join(SCRIPT)).arg(program).arg(project.root().join("docs"));
    project::run(script.env("PYTHONPATH", &package))
}
