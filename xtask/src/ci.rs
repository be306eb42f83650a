// SPDX-License-Identifier: Apache-2.0
//! Implements the whole gate, which `.ci/run` runs; cheap steps are first.
//!
//! The first step that fails ends the run. The times of the steps are printed either way, and the
//! last line is always the tally of tests: where a step before the tests fails, the step counts as
//! the one failure.

use std::{
    process::ExitCode,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};

use crate::{
    codegen, layers,
    project::{self, Project},
    test::{self, Options, Tally},
    tidy,
};

/// One step before the tests.
struct Step {
    name: &'static str,
    run: fn(&Project) -> Result<()>,
}

const STEPS: &[Step] = &[
    Step { name: "fmt", run: format },
    Step { name: "layers", run: layers::run },
    Step { name: "tidy", run: tidy::run },
    Step { name: "codegen", run: codegen::check },
    Step { name: "deny", run: deny },
    Step { name: "clippy", run: clippy },
    Step { name: "doc", run: doc },
    Step { name: "program", run: program },
];

/// Runs every step; prints the times and the tally.
pub(crate) fn run(project: &Project) -> ExitCode {
    let mut times = Vec::new();
    let tally = run_steps(project, &mut times);
    let total: Duration = times.iter().map(|(_, time)| *time).sum();
    println!("\nwall time");
    for (name, time) in &times {
        println!("  {name:<10} {}", seconds(*time));
    }
    println!("  {:<10} {}", "total", seconds(total));
    tally.close()
}

fn run_steps(project: &Project, times: &mut Vec<(&'static str, Duration)>) -> Tally {
    for step in STEPS {
        println!("== {}", step.name);
        let (result, time) = timed(|| (step.run)(project));
        times.push((step.name, time));
        if let Err(error) = result {
            return Tally::of_failure(format!("step {}: {error:#}", step.name));
        }
    }
    println!("== test");
    let (result, time) = timed(|| test::run(project, &Options::default()));
    times.push(("test", time));
    result.unwrap_or_else(|error| Tally::of_failure(format!("step test: {error:#}")))
}

pub(crate) fn format(project: &Project) -> Result<()> {
    ensure!(
        project.has_cargo_command("fmt"),
        "rustfmt is not installed; it is a component of the Rust toolchain"
    );
    project::run(&mut project.cargo(&["fmt", "--all", "--", "--check"]))
}

pub(crate) fn clippy(project: &Project) -> Result<()> {
    ensure!(
        project.has_cargo_command("clippy"),
        "clippy is not installed; it is a component of the Rust toolchain"
    );
    let arguments = ["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"];
    project::run(&mut project.cargo(&arguments))
}

fn doc(project: &Project) -> Result<()> {
    let mut command = project.cargo(&["doc", "--workspace", "--no-deps", "--locked"]);
    project::run(command.env("RUSTDOCFLAGS", "-D warnings"))
}

/// Checks the program as its users build it: with the features of the whole workspace and of its
/// tests, it could use what it does not ask for.
fn program(project: &Project) -> Result<()> {
    project::run(&mut project.cargo(&["check", "--package", "nearscan-shell", "--locked"]))
}

fn deny(project: &Project) -> Result<()> {
    if !project.has_cargo_command("deny") {
        println!("skipped: deny (cargo-deny is not installed)");
        return Ok(());
    }
    project::run(&mut project.cargo(&["deny", "check"]))
}

#[expect(
    clippy::disallowed_methods,
    reason = "the time that a person waits for CI; xtask imports no clock of ours"
)]
fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let result = work();
    (result, start.elapsed())
}

fn seconds(time: Duration) -> String {
    format!("{:>7.1} s", time.as_secs_f64())
}
