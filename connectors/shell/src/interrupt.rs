// SPDX-License-Identifier: Apache-2.0
//! Ctrl-C ends the work by dropping it: a query that is dropped stops at its next batch and gives
//! back its files and memory.

use tokio::{runtime::Runtime, signal};

use crate::failure::{Failure, Result};

/// Runs `work` on this thread, or drops it at Ctrl-C.
pub(crate) fn run_to_end<T>(runtime: &Runtime, work: impl Future<Output = Result<T>>) -> Result<T> {
    runtime.block_on(async {
        tokio::select! {
            result = Box::pin(work) => result,
            _ = signal::ctrl_c() => Err(Failure::Interrupted),
        }
    })
}
