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

use std::{
    cell::RefCell, collections::VecDeque, ffi::OsString, fs, ops::ControlFlow, path::PathBuf,
    rc::Rc, time::Duration,
};

use nearscan_drive::clock::Stopwatch;
use nearscan_remote::applications::Package;
use tokio::runtime::Builder;

use crate::{
    Progress,
    accounts::{Accounts, Totals},
    error::Error,
    processors::Processors,
    program::Program,
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
    /// The connection to the server that runs now.
    client: RefCell<Rc<Client>>,
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
    let folder = tempfile::tempdir_in(&plan.folder);
    let folder = folder.map_err(|error| Error::file("make a folder in", &plan.folder, &error))?;
    let store = folder.path().join("store");
    fs::create_dir(&store).map_err(|error| Error::file("make", &store, &error))?;
    let start = || {
        let no_arguments: [OsString; 0] = [];
        plan.server.start(&store, "localhost:0", &no_arguments, &processors)
    };
    runtime.block_on(async {
        let client = Client::connect(start()?).await?;
        client.install(&plan.package).await?;
        let shared = Shared {
            plan,
            stopwatch: Stopwatch::start(),
            client: RefCell::new(Rc::new(client)),
            written: RefCell::default(),
        };
        let (bytes, ingested) =
            futures::try_join!(write_all(&shared, start), see_all(&shared, watch))?;
        Ok(Report { bytes, kill: plan.kill, ingested })
    })
}

/// Writes all objects; returns their bytes.
async fn write_all(
    shared: &Shared<'_>,
    start: impl Fn() -> Result<client::Started, Error>,
) -> Result<u64, Error> {
    let Plan { objects, object_rows, kill, .. } = *shared.plan;
    let accounts = Accounts { rows: objects * object_rows };
    let mut bytes = 0;
    for number in 0..objects {
        let rows = number * object_rows..(number + 1) * object_rows;
        let (csv, totals) = accounts.csv(rows)?;
        bytes += csv.len() as u64;
        let is_killed = kill == Kill::InTheMiddle && number == objects / 2;
        let client = Rc::clone(&shared.client.borrow());
        let is_acknowledged = if is_killed {
            let writing = client.write(number, csv.clone());
            let killing = async {
                tokio::time::sleep(KILL_AFTER).await;
                client.kill();
            };
            let (written, ()) = futures::join!(writing, killing);
            let again = Client::connect(start()?).await?;
            shared.client.replace(Rc::new(again));
            written.is_ok()
        } else {
            false
        };
        if !is_acknowledged {
            let client = Rc::clone(&shared.client.borrow());
            client.write(number, csv).await?;
        }
        let acknowledged = shared.stopwatch.elapsed();
        shared.written.borrow_mut().push_back(Written { number, acknowledged, totals });
    }
    Ok(bytes)
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
            let client = Rc::clone(&shared.client.borrow());
            let found = client.totals(number).await;
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
