// SPDX-License-Identifier: Apache-2.0
//! Detects leaks of a run.
//!
//! A command that is cancelled ends a little later, and so do tasks and threads: each is waited
//! for, with a bound.

use std::{fmt, fs, time::Duration};

use tokio::runtime::Handle;

use crate::{
    bench::Bench,
    served::Served,
    waiting::{PATIENCE, remains},
};

/// Threads of drives by the beginnings of their names, of which the system keeps 15 bytes.
const THREADS: [&str; 5] =
    ["emulated drive", "nearscan-cpu", "remote drive", "served drive", "faulty link"];

/// Something that is still there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Leak {
    /// Commands in flight.
    InFlight(u32),
    /// Device memory.
    DeviceMemory,
    /// Requests at the server of the drive.
    Requests,
    /// Bytes of the memory pool of queries.
    Pool(usize),
    /// Tasks of the runtime.
    Tasks(usize),
    /// Threads of drives.
    Threads(usize),
    /// Open files, more than before.
    Files(usize),
}

impl fmt::Display for Leak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InFlight(count) => write!(f, "{count} commands in flight"),
            Self::DeviceMemory => write!(f, "device memory"),
            Self::Requests => write!(f, "requests at the server"),
            Self::Pool(bytes) => write!(f, "{bytes} bytes of the memory pool"),
            Self::Tasks(count) => write!(f, "{count} tasks"),
            Self::Threads(count) => write!(f, "{count} threads"),
            Self::Files(count) => write!(f, "{count} open files"),
        }
    }
}

/// The counts of tasks and files of the process before a run. Only those beyond them are leaks, so
/// nothing else may run beside.
#[derive(Debug, Clone, Copy)]
pub struct Baseline {
    tasks: usize,
    files: usize,
    patience: Duration,
}

impl Baseline {
    /// Looks at the process now. One run has to be over: the first one opens what stays open.
    #[must_use]
    pub fn take() -> Self {
        Self { tasks: tasks(), files: files(), patience: PATIENCE }
    }

    /// The same, but nothing is waited for longer than this.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Returns the leaks of queries that have ended or were dropped.
    pub async fn after_query(&self, bench: &Bench) -> Vec<Leak> {
        let mut leaks = Vec::new();
        let patience = self.patience;
        if let Some(count) = remains(patience, || bench.in_flight()).await {
            leaks.push(Leak::InFlight(count));
        }
        if remains(patience, || u32::from(!bench.drive().memory_is_whole())).await.is_some() {
            leaks.push(Leak::DeviceMemory);
        }
        if let Some(bytes) = remains(patience, || bench.reserved_bytes()).await {
            leaks.push(Leak::Pool(bytes));
        }
        if let Some(count) = remains(patience, || tasks().saturating_sub(self.tasks)).await {
            leaks.push(Leak::Tasks(count));
        }
        leaks
    }

    /// Returns the leaks of an engine, its drive and its queries; ends the bench.
    pub async fn after(&self, bench: Bench) -> Vec<Leak> {
        let mut leaks = self.after_query(&bench).await;
        let served = bench.leave();
        let is_busy = || u32::from(served.as_ref().is_some_and(Served::is_busy));
        if remains(self.patience, is_busy).await.is_some() {
            leaks.push(Leak::Requests);
        }
        drop(served);
        if let Some(count) = remains(self.patience, threads).await {
            leaks.push(Leak::Threads(count));
        }
        if let Some(count) = remains(self.patience, || files().saturating_sub(self.files)).await {
            leaks.push(Leak::Files(count));
        }
        leaks
    }
}

fn tasks() -> usize {
    Handle::current().metrics().num_alive_tasks()
}

fn files() -> usize {
    fs::read_dir("/proc/self/fd").map_or(0, Iterator::count)
}

fn threads() -> usize {
    let Ok(tasks) = fs::read_dir("/proc/self/task") else { return 0 };
    let names =
        tasks.flatten().filter_map(|task| fs::read_to_string(task.path().join("comm")).ok());
    names.filter(|name| THREADS.iter().any(|start| name.starts_with(start))).count()
}
