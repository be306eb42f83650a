// SPDX-License-Identifier: Apache-2.0
//! Implements the inner loop: formatting, lints, and the tests of changed crates.
//!
//! A crate has changed when a file of its folder differs from a commit, `HEAD` unless another is
//! named. Its tests run, and those of the crates that import it directly. Lints are those of the
//! whole workspace, of which cargo checks only what changed. A build of single crates would have
//! other features than the workspace, and build DataFusion anew, so the crates of
//! [`WITH_ALL_FEATURES`] are always built too.
//!
//! Left to `cargo xtask test` are the tests in docs and the tests of [`SLOW`].

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result};
use clap::Args;
use serde_json::Value;

use crate::{
    ci, layers,
    metadata::{self, Workspace},
    project::{self, Project},
    test::{self, Program, Tally},
    tidy,
};

/// Packages that together need every feature of every library that the workspace needs.
const WITH_ALL_FEATURES: [&str; 5] = [
    "nearscan-applications",
    "nearscan-remote",
    "nearscan-optimizer",
    "nearscan-shell",
    "nearscan-sqllogictest",
];

/// Tests that take more than four seconds of a debug build, as parts of their names, by package.
const SLOW: &[(&str, &[&str])] = &[
    (
        "nearscan",
        &[
            "every_cell_of_the_table",
            "run_up_to_a_limit",
            "row_group_of_three_million_rows",
            "chain_of_terms_runs_at_any_length",
        ],
    ),
    ("nearscan-optimizer", &["table_of_functions_matches"]),
    (
        "nearscan-shell",
        &[
            "card::",
            "check::",
            "fuzzed::",
            "program::tpch_",
            "figures_are_drawn",
            "reports_of_runs_are_compared",
            "server_that_does_not_answer",
        ],
    ),
    (
        "nearscan-tpch",
        &[
            "copies::",
            "file_does_not_depend_on_the_number_of_threads",
            "generation_that_is_ended",
            "overhead_of_each_query",
        ],
    ),
    ("nearscan-applications", &["template_in_python_", "no_event_is_lost_"]),
    ("nearscan-peers", &["engines_agree_on"]),
    ("nearscan-queries", &["random_queries_"]),
    (
        "nearscan-faults",
        &["every_fault_at_the_first_units", "query_may_be_dropped_", "with_little_memory"],
    ),
    // The SQL tests of a setting take minutes together; their rules are checked.
    (
        "nearscan-sqllogictest",
        &[
            "cpu::",
            "fused::",
            "emulated",
            "xrt::",
            "are_those_of_duckdb",
            "is_what_make_data_writes",
            "file_that_does_not_end",
            "process_that_dies",
            "process_that_is_late",
        ],
    ),
];

/// Options of the command.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Check what differs from this commit
    #[arg(long, value_name = "COMMIT", default_value = "HEAD")]
    since: String,
}

/// Checks what changed; the last line is the tally.
///
/// # Errors
/// When a check fails, or git or cargo cannot be asked.
pub(crate) fn run(project: &Project, options: &Options) -> Result<ExitCode> {
    let workspace = metadata::read(project)?;
    let files = changed_files(project, &options.since)?;
    let packages = concerned(&workspace, &files);
    if packages.is_empty() {
        println!("no crate differs from {}", options.since);
    }
    ci::format(project)?;
    layers::run(project)?;
    tidy::run(project)?;
    if packages.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    ci::clippy(project)?;
    println!("tests of {}", packages.iter().copied().collect::<Vec<_>>().join(", "));
    let programs = build(project, &packages)?;
    let tally: Tally = test::run_programs(project, &programs)?;
    Ok(tally.close())
}

/// Files that differ from a commit, or are new, relative to the top folder.
fn changed_files(project: &Project, since: &str) -> Result<Vec<String>> {
    let list = |arguments: &[&str]| project::output(project.command("git").args(arguments));
    let changed = list(&["diff", "--name-only", "-z", since])?;
    let new = list(&["ls-files", "-z", "--others", "--exclude-standard"])?;
    let files = changed.split('\0').chain(new.split('\0'));
    Ok(files.filter(|file| !file.is_empty()).map(str::to_owned).collect())
}

/// The packages with a changed file, and those that import one of them.
fn concerned<'a>(workspace: &'a Workspace, files: &[String]) -> BTreeSet<&'a str> {
    let packages = &workspace.packages;
    let owner = |file: &str| {
        let holds = |folder: &str| file.strip_prefix(folder).is_some_and(|it| it.starts_with('/'));
        let owners = packages.iter().filter(|package| holds(&package.folder));
        owners.max_by_key(|package| package.folder.len())
    };
    let changed: Vec<_> = files.iter().filter_map(|file| owner(file)).collect();
    let is_changed = |folder: &str| changed.iter().any(|package| package.folder == folder);
    let imports = packages.iter().filter(|package| {
        package.dependencies.iter().filter_map(|it| it.folder.as_deref()).any(is_changed)
    });
    imports.chain(changed.iter().copied()).map(|package| package.name.as_str()).collect()
}

/// Builds the tests of some packages; gives their programs.
fn build(project: &Project, packages: &BTreeSet<&str>) -> Result<Vec<Program>> {
    let mut arguments =
        vec!["test", "--locked", "--no-run", "--message-format=json", "--lib", "--bins", "--tests"];
    let built = packages.iter().copied().chain(WITH_ALL_FEATURES);
    arguments.extend(built.flat_map(|package| ["--package", package]));
    let messages = project::output(&mut project.cargo(&arguments))?;
    let programs = messages.lines().map(|line| program(line, packages));
    Ok(programs.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
}

/// The test program that a message of cargo tells of, if it is of one of the packages.
fn program(line: &str, packages: &BTreeSet<&str>) -> Result<Option<Program>> {
    let message: Value = serde_json::from_str(line).context("cargo printed no JSON")?;
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let is_test = message["profile"]["test"] == true;
    let (Some(path), true) = (text(&message["executable"]), is_test) else { return Ok(None) };
    let manifest = text(&message["manifest_path"]).context("a program without a manifest")?;
    let folder = Path::new(&manifest).parent().context("a manifest without a folder")?;
    // `path+file:///folder#name@version`, or `..#version` where the folder has the name.
    let id = text(&message["package_id"]).context("a program without a package")?;
    let last = id.rsplit('#').next().unwrap_or_default();
    let package = match last.split_once('@') {
        Some((name, _)) => name,
        None => folder.file_name().and_then(|name| name.to_str()).unwrap_or_default(),
    };
    if !packages.contains(package) {
        return Ok(None);
    }
    let target = text(&message["target"]["name"]).unwrap_or_default();
    let name = format!("{package} ({target})");
    let slow = SLOW.iter().find(|(other, _)| *other == package);
    let skipped = slow.map_or(&[][..], |(_, tests)| tests);
    Ok(Some(Program { name, folder: folder.to_owned(), path: PathBuf::from(path), skipped }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::{Dependency, Kind, Package};

    fn package(name: &str, folder: &str, imports: &[&str]) -> Package {
        let import = |folder: &&str| Dependency {
            name: (*folder).to_owned(),
            kind: Kind::Normal,
            folder: Some((*folder).to_owned()),
        };
        Package {
            name: name.to_owned(),
            folder: folder.to_owned(),
            dependencies: imports.iter().map(import).collect(),
            programs: Vec::new(),
        }
    }

    #[test]
    fn changed_file_concerns_the_innermost_crate_and_its_direct_dependents() {
        let packages = vec![
            package("inner", "engine/inner", &[]),
            package("engine", "engine", &["engine/inner"]),
            package("shell", "shell", &["engine"]),
        ];
        let workspace = Workspace { listed: Vec::new(), packages };
        let of = |file: &str| -> Vec<&str> {
            concerned(&workspace, &[file.to_owned()]).into_iter().collect()
        };
        assert_eq!(of("engine/inner/src/lib.rs"), ["engine", "inner"]);
        assert_eq!(of("engine/src/lib.rs"), ["engine", "shell"]);
        assert_eq!(of("engine.md"), Vec::<&str>::new());
    }

    /// Lists the libraries of packages, each with its features.
    fn libraries(packages: &[&str]) -> BTreeSet<String> {
        let project = Project::open().unwrap();
        let format = ["tree", "--locked", "--prefix=none", "--edges=normal,build,dev"];
        let mut command = project.cargo(&format);
        command.args(["--format={p} [{f}]"]).args(packages);
        let listed = project::output(&mut command).unwrap();
        let lines = listed.lines().map(|line| line.trim_end_matches(" (*)").to_owned());
        lines.filter(|line| !line.is_empty()).collect()
    }

    #[test]
    fn packages_with_all_features_have_those_of_the_workspace() {
        let options = WITH_ALL_FEATURES.map(|package| ["--package", package]);
        let some = libraries(options.as_flattened());
        let all = libraries(&["--workspace"]);
        let other: Vec<_> = some.difference(&all).collect();
        assert!(!some.is_empty() && other.is_empty(), "they have other features: {other:?}");
    }

    #[test]
    fn test_program_is_read_from_the_message_of_cargo() {
        let packages = BTreeSet::from(["nearscan"]);
        let message = |id: &str, is_test: bool| {
            format!(
                r#"{{"package_id":"{id}","manifest_path":"/p/engine/Cargo.toml",
                   "target":{{"name":"it"}},"profile":{{"test":{is_test}}},"executable":"/t/it"}}"#
            )
            .replace('\n', "")
        };
        let found = |line: &str| program(line, &packages).unwrap().map(|it| it.name);
        let id = "path+file:///p/engine#nearscan@0.1.0";
        assert_eq!(found(&message(id, true)), Some("nearscan (it)".to_owned()));
        assert_eq!(found(&message(id, false)), None);
        assert_eq!(found(&message("path+file:///p/engine#0.1.0", true)), None);
    }
}
