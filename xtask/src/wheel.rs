// SPDX-License-Identifier: Apache-2.0
//! Builds the Python package as a wheel, and tests it in environments that have nothing else.
//!
//! The wheel shares profile, features and target folder with the program, so that the engine is
//! built once. maturin builds the extension module alone, and cargo builds a crate with the
//! features that the packages of one call ask for: those of crates that both have are compared
//! first. The gate does not run this, because it would be its only optimised build.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::{
    project::{self, Project},
    test::{Install, python},
};

/// Of the Python package, relative to the root.
const MANIFEST: &str = "connectors/python/Cargo.toml";

/// Runs in an environment that has the wheel alone, relative to the root.
const SMOKE_TEST: &str = "connectors/python/tests/smoke.py";

/// Packages that are built together: each by itself, and the programs as `cargo xtask` builds them.
const BUILDS: &[&[&str]] =
    &[&["nearscan-shell"], &["nearscan-python"], &["nearscan-shell", "nearscan-peers"]];

/// Options of the command.
#[derive(Debug, Default, Args)]
pub(crate) struct Options {
    /// Test the wheel with this interpreter instead of `python3`; may be repeated
    #[arg(long = "python", value_name = "PATH")]
    interpreters: Vec<PathBuf>,
}

/// Builds the wheel and tests it with each interpreter; prints where it is and its size.
///
/// # Errors
/// When features differ, it cannot be built or installed, or its test fails.
pub(crate) fn run(project: &Project, options: &Options) -> Result<()> {
    let differences = differences(project)?;
    ensure!(differences.is_empty(), "features differ, see Cargo.toml: {}", differences.join("; "));
    let python = python::provide(project, Install::Allowed)
        .context("the wheel is built with a package of Python")?;
    let folder = project.target_folder().join("wheels");
    let wheel = build(project, &python, &folder)?;
    let system = [PathBuf::from("python3")];
    let given = options.interpreters.as_slice();
    for interpreter in if given.is_empty() { &system } else { given } {
        test(project, interpreter, &wheel, &folder)?;
    }
    println!("{}: {:.1} MB", wheel.display(), std::fs::metadata(&wheel)?.len() as f64 / 1e6);
    Ok(())
}

/// Lets maturin build the wheel into `folder`, in place of one that is there.
///
/// # Errors
/// When it cannot be built.
pub(crate) fn build(project: &Project, python: &Path, folder: &Path) -> Result<PathBuf> {
    for old in wheels(folder)? {
        std::fs::remove_file(old).context("cannot remove the old wheel")?;
    }
    let mut command = project.command(&python.to_string_lossy());
    command.args(["-m", "maturin", "build", "--release", "--locked", "--manifest-path", MANIFEST]);
    command.arg("--interpreter").arg(python).arg("--out").arg(folder);
    command.env("CARGO_TARGET_DIR", project.target_folder());
    // It calls cargo, so what the project's own calls must not hand on, it must not either.
    for (name, value) in project.cargo(&[]).get_envs() {
        if value.is_none() {
            command.env_remove(name);
        }
    }
    project::run(&mut command)?;
    wheels(folder)?.pop().with_context(|| format!("maturin left no wheel in {}", folder.display()))
}

/// The wheels of the package in a folder, which need not exist.
fn wheels(folder: &Path) -> Result<Vec<PathBuf>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for entry in folder.read_dir().context("cannot list the folder of wheels")? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with("nearscan-") && name.ends_with(".whl") {
            found.push(path);
        }
    }
    Ok(found)
}

/// Installs the wheel into an empty environment of `interpreter`, and runs the test there.
fn test(project: &Project, interpreter: &Path, wheel: &Path, folder: &Path) -> Result<()> {
    let environment = folder.join("environment");
    if environment.exists() {
        std::fs::remove_dir_all(&environment).context("cannot remove the old environment")?;
    }
    project::run(isolated(&mut project.command(&interpreter.to_string_lossy())).args([
        "-m".as_ref(),
        "venv".as_ref(),
        environment.as_os_str(),
    ]))?;
    let python = environment.join("bin/python");
    let mut pip = project.command(&python.to_string_lossy());
    pip.args(["-I", "-m", "pip", "install", "--no-deps", "--no-index", "--quiet"]);
    project::run(isolated(&mut pip).arg("--disable-pip-version-check").arg(wheel))?;
    let mut smoke = project.command(&python.to_string_lossy());
    smoke.arg("-I").arg(project.root().join(SMOKE_TEST));
    project::run(isolated(&mut smoke).current_dir(&environment))
}

/// Without what would lead an interpreter to packages elsewhere.
fn isolated(command: &mut Command) -> &mut Command {
    command.env_remove("PYTHONPATH").env_remove("PYTHONHOME").env_remove("VIRTUAL_ENV")
}

/// The crates that two builds share, but not with the same features.
fn differences(project: &Project) -> Result<Vec<String>> {
    let mut trees = Vec::new();
    for packages in BUILDS {
        let mut command = project.cargo(&["tree", "--locked", "--edges", "normal,build"]);
        command.args(["--prefix", "none", "--format", "{p}|{f}"]);
        command.args(packages.iter().flat_map(|package| ["--package", package]));
        trees.push((packages.join(" and "), project::output(&mut command)?));
    }
    Ok(compare(&trees))
}

/// The same of builds with their names and what `cargo tree` prints of them.
fn compare(trees: &[(String, String)]) -> Vec<String> {
    let mut found = Vec::new();
    for (at, (first, tree)) in trees.iter().enumerate() {
        let ours = features(tree);
        for (second, tree) in &trees[at + 1..] {
            let theirs = features(tree);
            for (name, list) in &ours {
                if let Some(other) = theirs.get(name).filter(|other| *other != list) {
                    found.push(format!("{name} has {list:?} in {first}, {other:?} in {second}"));
                }
            }
        }
    }
    found
}

/// The lists of features that each crate is built with, in what `cargo tree` prints: of a crate
/// that build scripts and macros use too there may be several.
fn features(tree: &str) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut found = BTreeMap::<&str, BTreeSet<&str>>::new();
    for line in tree.lines() {
        if let Some((package, features)) = line.split_once('|') {
            found.entry(package).or_default().insert(features.trim_end_matches(" (*)"));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn program_and_extension_module_share_one_build_of_the_engine() {
        let project = Project::open().unwrap();
        assert_eq!(differences(&project).unwrap(), [""; 0]);
    }

    #[test]
    fn crate_with_other_features_in_another_build_is_found() {
        let tree = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        let trees = [tree("p", "a v1|\nb v1|std\nc v1|x"), tree("q", "a v1|\nb v1|\nd v1|y")];
        assert_eq!(compare(&trees), [r#"b v1 has {"std"} in p, {""} in q"#]);
    }

    #[test]
    fn features_of_a_crate_are_read_with_those_of_build_scripts() {
        let tree = "a v1 (/x)|\nlibc v0.2|default,std\n\nlibc v0.2|std (*)\nlibc v0.2|std\n";
        let found = features(tree);
        assert_eq!(found["a v1 (/x)"], BTreeSet::from([""]));
        assert_eq!(found["libc v0.2"], BTreeSet::from(["default,std", "std"]));
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn only_wheels_of_the_package_are_replaced() {
        let folder = tempfile::tempdir().unwrap();
        assert!(wheels(&folder.path().join("none")).unwrap().is_empty());
        for name in ["nearscan-0.1.0-cp310-abi3-linux_x86_64.whl", "other-1.whl", "nearscan-0.gz"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let found = wheels(folder.path()).unwrap();
        let wheel = folder.path().join("nearscan-0.1.0-cp310-abi3-linux_x86_64.whl");
        assert_eq!(found, [wheel]);
    }

    #[test]
    fn smoke_test_and_manifest_are_where_they_are_looked_for() {
        let project = Project::open().unwrap();
        for path in [MANIFEST, SMOKE_TEST] {
            assert!(project.root().join(path).is_file(), "{path}");
        }
    }
}
