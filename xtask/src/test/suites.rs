// SPDX-License-Identifier: Apache-2.0
//! Runs the test suites, and reads their output.
//!
//! A suite that is not a Rust test is a row of [`OTHER`]: the command, the tools without which it
//! is skipped, and how it says what it did.

use std::{
    io::{BufRead, BufReader, Read, Write},
    process::{Command, Stdio},
};

use anyhow::{Context, Result};

use super::{
    Program, Setting, python,
    tally::{Format, Reader, Tally},
};
use crate::project::{self, Project};

/// A program that runs tests.
pub(super) struct Suite {
    name: &'static str,
    /// Names of the tools (of `packages`) that it cannot do without.
    needs: &'static [&'static str],
    format: Format,
    command: fn(&Setting<'_>) -> Command,
}

/// All tests of all crates, with those in docs.
const CARGO_TEST: Suite =
    Suite { name: "cargo test", needs: &[], format: Format::Libtest, command: cargo_test };

/// The same in two, when nextest is there: it runs a test in its own process, but none in docs.
const NEXTEST: &[Suite] = &[
    Suite { name: "cargo nextest", needs: &[], format: Format::Nextest, command: nextest },
    Suite { name: "cargo test --doc", needs: &[], format: Format::Libtest, command: doc_test },
];

/// Suites that are not Rust tests.
const OTHER: &[Suite] = &[Suite {
    name: "rtl",
    needs: &["verilator", python::NAME],
    format: Format::ExitStatus,
    command: rtl,
}];

/// The suites for this machine. One that is not a Rust test runs if its own name is asked for.
pub(super) fn choose(project: &Project, filter: Option<&str>) -> Vec<&'static Suite> {
    let rust = if project.has_cargo_command("nextest") {
        NEXTEST
    } else {
        std::slice::from_ref(&CARGO_TEST)
    };
    let is_wanted = |suite: &&Suite| filter.is_none_or(|filter| suite.name.contains(filter));
    rust.iter().chain(OTHER.iter().filter(is_wanted)).collect()
}

fn cargo_test(setting: &Setting<'_>) -> Command {
    // Every binary runs, so that one failure does not hide another.
    let mut command = setting.project.cargo(&["test", "--workspace", "--locked", "--no-fail-fast"]);
    command.arg("--").args(setting.filter);
    command
}

fn nextest(setting: &Setting<'_>) -> Command {
    let arguments = ["nextest", "run", "--workspace", "--locked", "--no-fail-fast"];
    let mut command = setting.project.cargo(&arguments);
    command.args(["--color", "never", "--no-tests", "pass"]).args(setting.filter);
    command
}

fn doc_test(setting: &Setting<'_>) -> Command {
    let mut command = setting.project.cargo(&["test", "--workspace", "--locked", "--doc"]);
    command.arg("--no-fail-fast").arg("--").args(setting.filter);
    command
}

fn rtl(setting: &Setting<'_>) -> Command {
    setting.project.cargo(&["xtask", "rtl", "--check"])
}

/// Runs one suite, or skips it when a tool is missing.
///
/// # Errors
/// When it cannot be started.
pub(super) fn run(setting: &Setting<'_>, suite: &Suite) -> Result<Tally> {
    let is_missing = |tool: &&&str| {
        setting.missing.contains(*tool) || **tool == python::NAME && setting.python.is_none()
    };
    if let Some(tool) = suite.needs.iter().find(is_missing) {
        return Ok(Tally::of_skip(suite.name, format!("needs {tool}")));
    }
    let mut command = (suite.command)(setting);
    setting.announce(&mut command);
    println!("running {}", project::name(&command));
    execute(suite.name, suite.format, &mut command, &mut std::io::stdout())
}

/// Runs one program of libtest, as cargo would.
///
/// # Errors
/// When it cannot be started.
pub(super) fn run_program(setting: &Setting<'_>, program: &Program) -> Result<Tally> {
    let mut command = Command::new(&program.path);
    command.current_dir(&program.folder).arg("--quiet");
    command.args(program.skipped.iter().flat_map(|name| ["--skip", name]));
    setting.announce(&mut command);
    println!("running the tests of {}", program.name);
    execute(&program.name, Format::Libtest, &mut command, &mut std::io::stdout())
}

impl Setting<'_> {
    /// Says in the environment of a test program where skips are logged, which Python there is,
    /// and where azurite is.
    fn announce(&self, command: &mut Command) {
        command.env("NEARSCAN_SKIP_LOG", &self.skip_log);
        match &self.python {
            Some(python) => command.env("NEARSCAN_PYTHON", python),
            None => command.env_remove("NEARSCAN_PYTHON"),
        };
        match &self.azurite {
            Some(azurite) => command.env("NEARSCAN_AZURITE", azurite),
            None => command.env_remove("NEARSCAN_AZURITE"),
        };
    }
}

/// Starts `command`, passes its output on to `out` while it comes, and counts.
fn execute(
    name: &str,
    format: Format,
    command: &mut Command,
    out: &mut dyn Write,
) -> Result<Tally> {
    // Nextest reports on standard error, libtest on standard output.
    match format {
        Format::Nextest => command.stderr(Stdio::piped()),
        Format::Libtest | Format::ExitStatus => command.stdout(Stdio::piped()),
    };
    let mut child = command.spawn().with_context(|| format!("cannot start {name}"))?;
    let piped: Option<Box<dyn Read>> = match format {
        Format::Nextest => child.stderr.take().map(|pipe| Box::new(pipe) as Box<dyn Read>),
        Format::Libtest | Format::ExitStatus => {
            child.stdout.take().map(|pipe| Box::new(pipe) as Box<dyn Read>)
        }
    };
    let mut reader = Reader::new(format);
    let shown = show(piped.context("no pipe to read from")?, &mut reader, out);
    let status = child.wait().with_context(|| format!("cannot wait for {name}"))?;
    shown.with_context(|| format!("cannot read the output of {name}"))?;

    if format == Format::ExitStatus {
        return Ok(Tally::of_exit(name, status.success()));
    }
    let mut tally = reader.finish();
    if !status.success() && tally.failed_count() == 0 {
        // A build that failed, or a test that took its whole binary down.
        tally.add(Tally::of_failure(format!("{name} ended with {status}")));
    }
    Ok(tally)
}

/// Passes the output on as it comes; what is not UTF-8 is shown as it is and read with
/// replacements.
fn show(pipe: impl Read, reader: &mut Reader, out: &mut dyn Write) -> std::io::Result<()> {
    let mut pipe = BufReader::new(pipe);
    let mut line = Vec::new();
    while pipe.read_until(b'\n', &mut line)? > 0 {
        out.write_all(&line)?;
        out.flush()?;
        reader.line(&String::from_utf8_lossy(&line));
        line.clear();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn report(format: Format, script: &str) -> String {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        // Not to standard output: a run of these tests is itself read for such lines.
        let mut out = Vec::new();
        execute("sample", format, &mut command, &mut out).unwrap().report()
    }

    #[test]
    fn counts_what_a_program_prints() {
        let line = "test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured";
        assert_eq!(
            report(Format::Libtest, &format!("echo '{line}'; exit 101")),
            "failed: a test of libtest\n2 passed, 1 failed, 0 skipped"
        );
        let line = "    Summary [ 0.1s] 3 tests run: 2 passed, 1 failed, 0 skipped";
        assert_eq!(
            report(Format::Nextest, &format!("echo '{line}' >&2; exit 100")),
            "failed: a test of nextest\n2 passed, 1 failed, 0 skipped"
        );
    }

    #[test]
    fn program_that_dies_without_a_result_is_a_failure() {
        for (format, script, expected) in [
            (Format::Libtest, "exit 101", "0 passed, 1 failed, 0 skipped"),
            (Format::Libtest, "kill -9 $$", "0 passed, 1 failed, 0 skipped"),
            (Format::ExitStatus, "exit 3", "0 passed, 1 failed, 0 skipped"),
            (Format::ExitStatus, "exit 0", "1 passed, 0 failed, 0 skipped"),
        ] {
            let report = report(format, script);
            assert_eq!(report.lines().last(), Some(expected), "{script}");
        }
    }

    #[test]
    fn suite_whose_tool_is_missing_is_skipped() {
        let project = Project::open().unwrap();
        let setting = Setting {
            project: &project,
            filter: None,
            missing: vec!["clang"],
            python: None,
            azurite: None,
            skip_log: PathBuf::from("unused"),
        };
        let suite = Suite {
            name: "sample",
            needs: &["g++", "clang"],
            format: Format::ExitStatus,
            command: |setting| setting.project.command("no-such-program"),
        };
        let tally = run(&setting, &suite).unwrap();
        assert_eq!(tally, Tally::of_skip("sample", "needs clang".to_owned()));
    }

    #[test]
    fn suites_need_only_tools_that_are_known() {
        for suite in NEXTEST.iter().chain(OTHER).chain([&CARGO_TEST]) {
            for tool in suite.needs {
                let is_known = super::super::packages::is_known(tool) || *tool == python::NAME;
                assert!(is_known, "{} needs {tool}", suite.name);
            }
        }
    }
}
