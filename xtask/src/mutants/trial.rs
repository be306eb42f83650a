// SPDX-License-Identifier: Apache-2.0
//! Builds and runs the tests of an applied mutant.

use std::{
    fmt,
    io::{BufRead, BufReader},
    process::{Command, ExitStatus, Stdio},
    time::Instant,
};

use anyhow::{Context, Result, bail, ensure};

use super::list::Mutant;
use crate::{
    project::Project,
    test::{Format, Reader, Tally},
};

/// The time limit of the tests, in seconds: a mutant may make something never end.
const SECONDS_MAX: u32 = 900;

/// The exit statuses of `timeout` when it had to stop the program, and to kill it.
const STOPPED: [i32; 2] = [124, 137];

/// The outcome of a mutant.
#[derive(Debug)]
pub(super) struct Trial {
    pub(super) outcome: Outcome,
    pub(super) seconds: f64,
}

/// Whether a mutant was noticed, and by what.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// This test failed first.
    Caught(String),
    /// A test program ended without saying which test failed.
    Crashed(ExitStatus),
    /// The tests did not end.
    Hung,
    /// All tests passed.
    Missed,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Caught(test) => write!(f, "caught by {test}"),
            Self::Crashed(status) => write!(f, "caught: the tests ended with {status}"),
            Self::Hung => write!(f, "caught: the tests did not end in {SECONDS_MAX} s"),
            Self::Missed => write!(f, "NOT caught"),
        }
    }
}

/// Builds the tests of `mutant`, which is applied, and runs them.
///
/// # Errors
/// When they cannot be built: what does not compile is no mutant, for the compiler would catch it.
pub(super) fn run(project: &Project, mutant: &Mutant) -> Result<Trial> {
    #[expect(clippy::disallowed_methods, reason = "as in ci.rs: how long a person waits")]
    let watch = Instant::now();
    let mut build = project.cargo(&with_option(&mutant.tests, "--no-run"));
    let built = build.output().context("cannot start cargo")?;
    if !built.status.success() {
        let said = String::from_utf8_lossy(&built.stderr);
        bail!("it does not compile: {}", last_lines(&said));
    }
    let outcome = run_tests(project, &mutant.tests)
        .with_context(|| format!("cargo {}", mutant.tests.join(" ")))?;
    Ok(Trial { outcome, seconds: watch.elapsed().as_secs_f64() })
}

/// Runs tests that are built.
fn run_tests(project: &Project, tests: &[String]) -> Result<Outcome> {
    let words: Vec<&str> = tests.iter().map(String::as_str).collect();
    let mut command = bounded(project, &project.cargo(&words));
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().context("cannot start the tests")?;
    let output = child.stdout.take().context("the tests have no output")?;
    let mut reader = Reader::new(Format::Libtest);
    for line in BufReader::new(output).split(b'\n') {
        let line = line.context("cannot read what the tests print")?;
        reader.line(&String::from_utf8_lossy(&line));
    }
    let status = child.wait().context("cannot wait for the tests")?;
    outcome(&reader.finish(), status)
}

/// `command`, which is stopped when it takes too long.
fn bounded(project: &Project, command: &Command) -> Command {
    let mut bounded = project.command("timeout");
    bounded.args(["--kill-after=10", &SECONDS_MAX.to_string()]);
    bounded.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => bounded.env(name, value),
            None => bounded.env_remove(name),
        };
    }
    bounded
}

/// Returns the outcome that the tests of a mutant and their exit status show.
fn outcome(tally: &Tally, status: ExitStatus) -> Result<Outcome> {
    if status.success() {
        ensure!(tally.passed_count() > 0, "no test ran");
        return Ok(Outcome::Missed);
    }
    if status.code().is_some_and(|code| STOPPED.contains(&code)) {
        return Ok(Outcome::Hung);
    }
    Ok(match tally.first_failure() {
        Some(test) => Outcome::Caught(test.to_owned()),
        None => Outcome::Crashed(status),
    })
}

/// `test` and an option of cargo's, before the other arguments.
fn with_option<'a>(tests: &'a [String], option: &'a str) -> Vec<&'a str> {
    let mut words: Vec<&str> = tests.iter().map(String::as_str).collect();
    words.insert(words.len().min(1), option);
    words
}

/// The end of what a compiler said.
fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.trim().lines().collect();
    lines[lines.len().saturating_sub(LINES_SHOWN)..].join("\n")
}

const LINES_SHOWN: usize = 20;

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;
    use crate::project;

    fn ended(code: i32, text: &str) -> Result<Outcome> {
        let mut reader = Reader::new(Format::Libtest);
        text.lines().for_each(|line| reader.line(line));
        outcome(&reader.finish(), ExitStatus::from_raw(code << 8))
    }

    #[test]
    fn failed_test_detects_the_mutant() {
        let text = "test a ... ok\ntest b::c ... FAILED\ntest d ... FAILED\n\
                    test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured\n";
        assert_eq!(ended(101, text).unwrap(), Outcome::Caught("b::c".to_owned()));
        assert!(matches!(ended(101, "running 3 tests\n").unwrap(), Outcome::Crashed(_)));
        assert_eq!(ended(124, "running 3 tests\n").unwrap(), Outcome::Hung);
        assert_eq!(ended(137, "").unwrap(), Outcome::Hung);
    }

    #[test]
    fn mutant_is_missed_only_where_a_test_ran() {
        let result = |count| format!("test result: ok. {count} passed; 0 failed; 0 ignored\n");
        assert_eq!(ended(0, &(result(0) + &result(2))).unwrap(), Outcome::Missed);
        assert!(ended(0, &result(0)).is_err());
    }

    #[test]
    fn slow_test_is_stopped_and_keeps_its_environment() {
        let project = Project::open().unwrap();
        let mut command = project.command("sh");
        command.args(["-c", "exit $CODE"]).env("CODE", "7").env_remove("HOME");
        let mut command = bounded(&project, &command);
        assert_eq!(project::name(&command), "timeout --kill-after=10 900 sh -c exit $CODE");
        assert_eq!(command.status().unwrap().code(), Some(7));
    }

    #[test]
    fn options_of_cargo_stand_before_those_of_the_tests() {
        let tests = ["test", "-p", "x", "--", "y"].map(str::to_owned);
        assert_eq!(with_option(&tests, "--no-run"), ["test", "--no-run", "-p", "x", "--", "y"]);
    }

    #[test]
    fn end_of_a_long_text_is_shown() {
        let text = (0..30).map(|line| format!("{line}\n")).collect::<String>();
        assert_eq!(last_lines(&text).lines().next(), Some("10"));
        assert_eq!(last_lines("one\n"), "one");
    }
}
