// SPDX-License-Identifier: Apache-2.0
//! Tests a small part of the matrix, cancellation, and memory limits, as far as is feasible in a
//! debug build.
//!
//! Open files, tasks and threads are counted in the whole process, so one test runs at a time.

#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "helpers of tests: a panic shows where")]

mod cancel;
mod limits;
mod links;
mod matrix;
mod unreadable;

use std::{
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
};

use nearscan_faults::{Baseline, Case, Data, Setting, cases, oracle::Oracle, walk};

/// Holds off the other tests of this process until it is dropped.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for `future` on a runtime like the shell's, with the process to itself.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    let _alone = alone();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(future)
}

/// The data of scale factor 0.01, made unless an earlier test has.
async fn data() -> Data {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("faults");
    Data::make("0.01".parse().unwrap(), &folder).await.unwrap()
}

/// Cases of a list.
fn cases(list: &str) -> Vec<Case> {
    cases::parse_list(list).unwrap()
}

/// The rows of a case, and what the process has after it has run once.
async fn prepare(data: &Data, case: Case) -> (Oracle, Baseline) {
    let oracle = Oracle::ask(data, case).await.unwrap();
    let first = Baseline::take();
    let warm = walk::run(data, &first, &oracle, &Setting::forced("")).await.unwrap();
    assert!(warm.units_drive > 0, "{} does not run on the drive", case.name);
    (oracle, Baseline::take())
}
