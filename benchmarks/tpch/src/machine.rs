// SPDX-License-Identifier: Apache-2.0
//! Describes the machine and the commit of a measurement: processor, memory, commit.

use std::{fs, num::NonZero, path::Path, process::Command, thread};

use serde::Serialize;

/// The machine that measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Machine {
    /// Model name of the processor, or its architecture if the system does not tell.
    pub processor: String,
    /// Threads the system offers.
    pub threads: usize,
    /// Main memory; zero if the system does not tell.
    pub memory_bytes: u64,
    /// Operating system.
    pub system: String,
}

/// The checkout the program is run in.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Checkout {
    /// Commit, if it is a checkout of this project.
    pub(crate) commit: Option<String>,
    /// Whether files differ from the commit.
    pub(crate) dirty: Option<bool>,
}

impl Machine {
    /// Reads the description from the system.
    pub(crate) fn read() -> Self {
        let processor = field("/proc/cpuinfo", "model name");
        let memory_kib = field("/proc/meminfo", "MemTotal")
            .and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok());
        Self {
            processor: processor.unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
            threads: thread::available_parallelism().map_or(1, NonZero::get),
            memory_bytes: memory_kib.unwrap_or(0) * 1024,
            system: std::env::consts::OS.to_owned(),
        }
    }
}

impl Checkout {
    /// Reads the commit of the current folder from git; nothing outside of a checkout of this
    /// project.
    pub(crate) fn read() -> Self {
        let Some(root) = git(&["rev-parse", "--show-toplevel"]) else { return Self::default() };
        if !Path::new(&root).join("benchmarks/tpch/queries/q01.sql").is_file() {
            return Self::default();
        }
        let dirty = git(&["status", "--porcelain", "--untracked-files=no"]);
        Self { commit: git(&["rev-parse", "HEAD"]), dirty: dirty.map(|files| !files.is_empty()) }
    }
}

/// Returns the value after `name :` in a file of the system.
fn field(file: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = output.status.success().then_some(output.stdout)?;
    Some(String::from_utf8(text).ok()?.trim().to_owned())
}
