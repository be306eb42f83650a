// SPDX-License-Identifier: Apache-2.0
//! Locates the project and its files, and calls other programs.
//!
//! The only module that reads the environment.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail, ensure};

/// A checkout of the project.
#[derive(Debug)]
pub(crate) struct Project {
    root: PathBuf,
}

/// A text file of the project.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    /// Relative to the root, with `/` between its parts.
    pub(crate) path: String,
    /// The whole text.
    pub(crate) text: String,
}

impl Project {
    /// The checkout that this program was started in, or else built from.
    pub(crate) fn open() -> Result<Self> {
        let xtask = environment("CARGO_MANIFEST_DIR")
            .unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").to_owned());
        let root = Path::new(&xtask).parent().context("the folder of xtask has no parent")?;
        ensure!(
            root.join("xtask/Cargo.toml").is_file(),
            "{} is not a checkout of the project",
            root.display()
        );
        Ok(Self { root: root.to_owned() })
    }

    /// The top folder, absolute.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the folder that cargo builds in, absolute.
    pub(crate) fn target_folder(&self) -> PathBuf {
        // Joining an absolute path replaces the root.
        self.root.join(environment("CARGO_TARGET_DIR").unwrap_or_else(|| "target".to_owned()))
    }

    /// A command that runs in the top folder.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.root);
        command
    }

    /// The cargo that runs this program, with `arguments`.
    pub(crate) fn cargo(&self, arguments: &[&str]) -> Command {
        let program = environment("CARGO").unwrap_or_else(|| "cargo".to_owned());
        let mut command = self.command(&program);
        command.args(arguments);
        // They describe the package xtask: build scripts that depend on their own would see a
        // change, and all that depends on those would be built anew.
        for (name, _) in std::env::vars_os() {
            let is_of_xtask = |prefix| name.to_string_lossy().starts_with(prefix);
            if is_of_xtask("CARGO_MANIFEST_") || is_of_xtask("CARGO_PKG_") {
                command.env_remove(name);
            }
        }
        command
    }

    /// Whether `cargo NAME` exists.
    pub(crate) fn has_cargo_command(&self, name: &str) -> bool {
        succeeds(self.cargo(&[name, "--version"]))
    }

    /// Every file that is in the repository or about to be: tracked, or neither tracked nor
    /// ignored. Files that are not UTF-8 are left out, for no check here could read them.
    pub(crate) fn sources(&self) -> Result<Vec<Source>> {
        let listed = output(self.command("git").args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ]))?;
        let paths: BTreeSet<&str> = listed.split('\0').filter(|path| !path.is_empty()).collect();
        let mut sources = Vec::with_capacity(paths.len());
        for path in paths {
            let file = self.root.join(path);
            if !file.is_file() {
                continue;
            }
            let bytes = std::fs::read(&file).with_context(|| format!("cannot read {path}"))?;
            if let Ok(text) = String::from_utf8(bytes) {
                sources.push(Source { path: path.to_owned(), text });
            }
        }
        ensure!(!sources.is_empty(), "git lists no files in {}", self.root.display());
        Ok(sources)
    }
}

/// An environment variable, if it is set, not empty and UTF-8.
pub(crate) fn environment(name: &str) -> Option<String> {
    #[expect(
        clippy::disallowed_methods,
        reason = "cargo and CI speak to a task through the environment; there is no engine here"
    )]
    let value = std::env::var(name);
    value.ok().filter(|value| !value.is_empty())
}

/// Whether this run is CI's, where nothing that could run may be skipped.
pub(crate) fn is_ci() -> bool {
    environment("CI").is_some_and(|value| value == "true" || value == "1")
}

/// Runs `command` with its output shown; anything but success is an error that names it.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {}", name(command)))?;
    ensure!(status.success(), "{} ended with {status}", name(command));
    Ok(())
}

/// Returns the output of `command`; anything but success is an error that holds its standard error.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot start {}", name(command)))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{} ended with {}: {}", name(command), output.status, said.trim());
    }
    String::from_utf8(output.stdout)
        .with_context(|| format!("the output of {} is not UTF-8", name(command)))
}

/// Whether `command` can be started and succeeds; its output is thrown away.
pub(crate) fn succeeds(mut command: Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

/// Program and arguments as one would type them.
pub(crate) fn name(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let program = program.file_name().unwrap_or_else(|| command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
