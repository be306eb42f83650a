// SPDX-License-Identifier: Apache-2.0
//! Binds the servers to one processor and the client, which is this process, to another, so that
//! neither takes time from the other. `taskset` does it: nothing here calls the system by itself.

use std::{
    ffi::OsStr,
    process::{self, Command, Stdio},
};

use crate::error::Error;

/// The processors of both sides.
#[derive(Debug)]
pub(crate) struct Processors {
    server: u32,
    client: u32,
    /// Those that this process may use.
    allowed: String,
}

/// This process, as long as it is bound.
#[derive(Debug)]
pub(crate) struct Bound<'a>(&'a Processors);

impl Drop for Bound<'_> {
    fn drop(&mut self) {
        // A process that stays bound is slower, and not wrong.
        drop(bind(&self.0.allowed));
    }
}

impl Processors {
    /// The first two processors that this process may use.
    pub(crate) fn of_process() -> Result<Self, Error> {
        let status = std::fs::read_to_string("/proc/self/status");
        let status = status.map_err(|error| Error::Binding { reason: error.to_string() })?;
        let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        let allowed = allowed.unwrap_or_default().trim().to_owned();
        match first_two(&allowed) {
            Some((server, client)) => Ok(Self { server, client, allowed }),
            None => {
                let reason = "this process may use one processor only".to_owned();
                Err(Error::Binding { reason })
            }
        }
    }

    /// Binds this process, with all of its threads and those that they start.
    pub(crate) fn bind_client(&self) -> Result<Bound<'_>, Error> {
        bind(&self.client.to_string())?;
        Ok(Bound(self))
    }

    /// A program that is bound to the processor of the servers.
    pub(crate) fn server(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("taskset");
        command.args(["--cpu-list", &self.server.to_string()]).arg(program);
        command
    }
}

/// Binds this process to a list of processors.
fn bind(processors: &str) -> Result<(), Error> {
    let mut command = Command::new("taskset");
    command.args(["--all-tasks", "--cpu-list", "--pid", processors]);
    let output = command.arg(process::id().to_string()).stdin(Stdio::null()).output();
    let output = output
        .map_err(|error| Error::Binding { reason: format!("taskset cannot be run: {error}") })?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        return Err(Error::Binding { reason: text.trim().to_owned() });
    }
    Ok(())
}

/// The first two of a list such as `0-3,8`.
fn first_two(list: &str) -> Option<(u32, u32)> {
    let mut processors = list.split(',').flat_map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        match (first.parse::<u32>(), last.parse::<u32>()) {
            (Ok(first), Ok(last)) => first..last.saturating_add(1),
            _ => 0..0,
        }
    });
    processors.next().zip(processors.next())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("0-1", Some((0, 1)))]
    #[case("3,8-9", Some((3, 8)))]
    #[case("5", None)]
    #[case("", None)]
    fn processors_are_the_first_two_of_the_list(
        #[case] list: &str,
        #[case] expected: Option<(u32, u32)>,
    ) {
        assert_eq!(first_two(list), expected);
    }
}
