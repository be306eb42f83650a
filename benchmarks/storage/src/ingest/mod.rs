// SPDX-License-Identifier: Apache-2.0
//! Measures how long it takes from the write of a CSV object until it is a table: a handler that is
//! installed on the server makes a Parquet object of each CSV object, and the host is told nothing.
//! In the middle the server is killed (SIGKILL) while an object is on its way to it, and started
//! again over the same store.
//!
//! A client writes one object after the other. Another task asks for each table in turn, by
//! `SELECT count(*), sum(account), sum(balance)`, until its answer is that of the rows that were
//! written; the delay is the time from the acknowledgement of the write to that answer. An object
//! whose write was not acknowledged is written again.

mod client;
mod report;

use std::{cell::RefCell, collections::VecDeque, ops::ControlFlow, path::PathBuf, time::Duration};

use nearscan_drive::clock::Stopwatch;
use nearscan_remote::{Address, applications::Package};
use tokio::runtime::Builder;

use crate::{
    Progress,
    accounts::{Accounts, Totals},
    error::Error,
    folder_in,
    processors::Processors,
    program::{Process, Program},
};
use client::Client;
pub use report::{Ingested, Report};

/// What is measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Objects that are written.
    pub objects: u64,
    /// Rows of each.
    pub object_rows: u64,
    /// Whether the server is killed in the middle.
    pub kill: Kill,
    /// The application that makes tables, which is called for each object in the collection `raw`
    /// whose name ends with `.csv`, and writes `tables/NAME.parquet`.
    pub package: Package,
    /// What serves the store.
    pub server: Program,
    /// Where the store is made, and removed.
    pub folder: PathBuf,
}

/// Whether the server is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kill {
    /// When half of the objects are written and the next one is on its way.
    InTheMiddle,
    /// It is not.
    Never,
}

impl Plan {
    /// Default number of objects.
    pub const OBJECTS: u64 = 100;

    /// Default number of rows of an object, which makes about 10 MB of CSV.
    pub const OBJECT_ROWS: u64 = 240_000;
}

/// The longest wait for a table.
const PATIENCE: Duration = Duration::from_secs(120);

/// The pause between two questions for a table.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The time after which the server is killed within a write.
const KILL_AFTER: Duration = Duration::from_millis(8);

/// An object that is acknowledged, and not yet seen as a table.
struct Written {
    number: u64,
    acknowledged: Duration,
    totals: Totals,
}

/// What the tasks share.
struct Shared<'a> {
    plan: &'a Plan,
    stopwatch: Stopwatch,
    client: Client,
    written: RefCell<VecDeque<Written>>,
}

/// Measures. This process is bound to one processor until it returns.
///
/// # Errors
/// [`Error::Binding`] where there is one processor only, or what keeps the server from serving;
/// [`Error::Lost`] if an object that was written is no table in time, [`Error::Cancelled`] if
/// `watch` breaks.
pub fn run(
    plan: &Plan,
    watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Report, Error> {
    let processors = Processors::of_process()?;
    let _bound = processors.bind_client()?;
    let runtime = Builder::new_current_thread().enable_all().build().map_err(Error::prepare)?;
    let folder = folder_in(&plan.folder)?;
    let store = folder.path().join("store");
    let start = |listen: &str| plan.server.start(&store, listen, &[], &processors);
    runtime.block_on(async {
        let (process, address) = start("localhost:0")?;
        let client = Client::connect(address).await?;
        client.install(&plan.package).await?;
        let stopwatch = Stopwatch::start();
        let shared = Shared { plan, stopwatch, client, written: RefCell::default() };
        let writing = write_all(&shared, process, start);
        let ((bytes, _process), ingested) = futures::try_join!(writing, see_all(&shared, watch))?;
        Ok(Report { bytes, kill: plan.kill, ingested })
    })
}

/// Writes all objects to the server of a process, which is killed and started again at the same
/// address; returns their bytes, and the process that serves now.
async fn write_all(
    shared: &Shared<'_>,
    mut process: Process,
    start: impl Fn(&str) -> Result<(Process, Address), Error>,
) -> Result<(u64, Process), Error> {
    let Plan { objects, object_rows, kill, .. } = *shared.plan;
    let accounts = Accounts { rows: objects * object_rows };
    let mut bytes = 0;
    for number in 0..objects {
        let rows = number * object_rows..(number + 1) * object_rows;
        let (csv, totals) = accounts.csv(rows)?;
        bytes += csv.len() as u64;
        let mut is_acknowledged = false;
        if kill == Kill::InTheMiddle && number == objects / 2 {
            let writing = shared.client.write(number, csv.clone());
            let killing = async {
                tokio::time::sleep(KILL_AFTER).await;
                process.kill();
            };
            let (written, ()) = futures::join!(writing, killing);
            is_acknowledged = written.is_ok();
            (process, _) = start(&shared.client.address().to_string())?;
        }
        let since = shared.stopwatch.elapsed();
        while !is_acknowledged {
            match shared.client.write(number, csv.clone()).await {
                Ok(()) => is_acknowledged = true,
                // The client is connecting to the server again.
                Err(error) if shared.stopwatch.elapsed() - since > PATIENCE => return Err(error),
                Err(_) => tokio::time::sleep(POLL_INTERVAL).await,
            }
        }
        let acknowledged = shared.stopwatch.elapsed();
        shared.written.borrow_mut().push_back(Written { number, acknowledged, totals });
    }
    Ok((bytes, process))
}

/// Waits for all tables, in the order in which their objects are written.
async fn see_all(
    shared: &Shared<'_>,
    watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Vec<Ingested>, Error> {
    let all = shared.plan.objects;
    let mut ingested = Vec::new();
    while (ingested.len() as u64) < all {
        let next = shared.written.borrow_mut().pop_front();
        let Some(Written { number, acknowledged, totals }) = next else {
            tokio::time::sleep(POLL_INTERVAL).await;
            continue;
        };
        let delay = loop {
            let found = shared.client.totals(number).await;
            let delay = shared.stopwatch.elapsed().saturating_sub(acknowledged);
            match found {
                Ok(found) if found == totals => break delay,
                Ok(found) => {
                    return Err(Error::Answer { expected: totals.rows, found: found.rows });
                }
                // It is no table yet, or the server is being started again.
                Err(reason) if delay > PATIENCE => return Err(Error::Lost { number, reason }),
                Err(_) => tokio::time::sleep(POLL_INTERVAL).await,
            }
        };
        ingested.push(Ingested { number, acknowledged, delay });
        if watch(Progress { done: ingested.len() as u64, all }).is_break() {
            return Err(Error::Cancelled);
        }
    }
    Ok(ingested)
}
