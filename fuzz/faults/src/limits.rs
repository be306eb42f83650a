// SPDX-License-Identifier: Apache-2.0
//! Runs the same queries with little memory: each returns rows, or an error about memory.

use std::panic::AssertUnwindSafe;

use anyhow::Result;
use futures::FutureExt;
use nearscan::Error;
use serde::Serialize;

use crate::{
    bench::{Bench, Placing, Setting},
    data::Data,
    leaks::Baseline,
    oracle::Oracle,
    walk::QUERY_TIME_MAX,
};

/// Limits in MiB; none is no limit.
pub const LIMITS_MIB: [Option<u64>; 5] = [Some(1), Some(4), Some(16), Some(64), None];

/// The outcome of a query under a limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// With the right rows.
    Rows,
    /// With the error that says that memory is short, and what to do.
    Memory,
    /// In another way, none of which is right.
    Bad(String),
}

/// A query under one limit, on the host and on the drive.
#[derive(Debug, Clone, Serialize)]
pub struct Limited {
    /// The query.
    pub case: &'static str,
    /// The limit.
    pub limit_mib: Option<u64>,
    /// The outcome without the drive.
    pub off: End,
    /// The outcome on the drive.
    pub force: End,
    /// The leaks of both.
    pub leaks: Vec<String>,
}

impl Limited {
    /// Whether both ended well, the drive no worse than the host, and nothing is left.
    pub fn is_good(&self) -> bool {
        let is_bad = |end: &End| matches!(end, End::Bad(_));
        !is_bad(&self.off) && !is_bad(&self.force) && !self.is_worse() && self.leaks.is_empty()
    }

    /// Whether memory was enough for the host alone.
    pub fn is_worse(&self) -> bool {
        self.off == End::Rows && self.force == End::Memory
    }
}

/// Runs a case under one limit.
///
/// # Errors
/// When no engine can be made.
pub async fn limited(
    data: &Data,
    baseline: &Baseline,
    oracle: &Oracle,
    limit_mib: Option<u64>,
) -> Result<Limited> {
    let mut leaks = Vec::new();
    let mut end_of = async |placing| -> Result<End> {
        let memory_bytes = limit_mib.map(|mib| mib << 20);
        let setting = Setting { placing, memory_bytes, ..Setting::forced("") };
        let bench = Bench::open(data, &setting).await?;
        let caught = AssertUnwindSafe(bench.run(oracle.case())).catch_unwind();
        let end = match tokio::time::timeout(QUERY_TIME_MAX, caught).await {
            Err(_elapsed) => End::Bad("did not end".to_owned()),
            Ok(Err(_panic)) => End::Bad("panicked".to_owned()),
            Ok(Ok(Err(error))) if says_that_memory_is_short(&error) => End::Memory,
            Ok(Ok(Err(error))) => End::Bad(error.render()),
            Ok(Ok(Ok(answer))) => oracle.difference(&answer.batches).map_or(End::Rows, End::Bad),
        };
        leaks.extend(baseline.after(bench).await.iter().map(ToString::to_string));
        Ok(end)
    };
    let off = end_of(Placing::Off).await?;
    let force = end_of(Placing::Force).await?;
    Ok(Limited { case: oracle.case().name, limit_mib, off, force, leaks })
}

/// Whether an error has the three parts of one about memory.
fn says_that_memory_is_short(error: &Error) -> bool {
    matches!(error, Error::Memory(_)) && error.detail().is_some() && error.hint().is_some()
}
