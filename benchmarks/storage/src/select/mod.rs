// SPDX-License-Identifier: Apache-2.0
//! Measures a SELECT over a table on a server behind a narrow link: pushed to the server, and on
//! the host, which reads the columns over the link. It is the experiment of a study of in-storage
//! processing, by which a SELECT took 52.7 % less time.
//!
//! The table is {account, name, age, sex, balance}, and its rows are in no order of the predicate,
//! `balance < x`, so that every row group and every page has rows of the answer. It is one Parquet
//! object in row groups of 262,144 rows, read out of the page cache.
//!
//! Both ways take turns, and the one that begins changes from pair to pair. Each answer is compared
//! with the rows that were written, outside of the time that is measured.

mod report;
mod table;

use std::{num::NonZeroU64, ops::ControlFlow, path::PathBuf, sync::Arc, time::Duration};

use futures::TryStreamExt;
use nearscan::{Engine, Session, arrow::array::RecordBatch};
use nearscan_drive::clock::Stopwatch;
use nearscan_remote::{Options, RemoteDrive};
use tokio::runtime::Builder;

use crate::{
    Progress,
    accounts::Sum,
    error::Error,
    folder_in,
    processors::Processors,
    program::{OURS, Program},
};
pub use report::{Pair, Report, Row, Run};
pub use table::Codec;
use table::{COLLECTION, NAME, Table};

/// What is measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Rows of the tables.
    pub rows: Vec<u64>,
    /// Shares of the rows that the SELECT returns.
    pub selectivities: Vec<f64>,
    /// The links.
    pub links: Vec<LinkRate>,
    /// The compression of the table's pages.
    pub codec: Codec,
    /// Pairs of turns.
    pub rounds: u32,
    /// What serves the store.
    pub server: Program,
    /// Where the tables are made; what is made there is removed.
    pub folder: PathBuf,
}

impl Plan {
    /// Default rows of the tables: those of the study.
    pub const ROWS: [u64; 3] = [1_000_000, 10_000_000, 50_000_000];
    /// Default selectivities.
    pub const SELECTIVITIES: [f64; 5] = [0.001, 0.01, 0.05, 0.2, 0.5];
}

/// The rate of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkRate {
    /// So many bytes a second.
    Fixed(NonZeroU64),
    /// A half of the rate at which the table's file is read past the page cache, measured before.
    HalfOfMedia,
}

impl LinkRate {
    /// The link of the study: 3 Gbit/s.
    pub const STUDY: Self = Self::Fixed(NonZeroU64::new(375_000_000).expect("more than nothing"));
}

/// Measures. This process is bound to one processor until it returns.
///
/// # Errors
/// [`Error::Binding`] where there is one processor only, or what keeps the server from serving;
/// [`Error::Answer`] for a wrong answer, [`Error::Cancelled`] if `watch` breaks.
pub fn run(
    plan: &Plan,
    watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Report, Error> {
    let processors = Processors::of_process()?;
    let _bound = processors.bind_client()?;
    let runtime = Builder::new_current_thread().enable_all().build().map_err(Error::prepare)?;
    let settings = plan.rows.len() * plan.links.len() * plan.selectivities.len();
    let mut progress = Progress { done: 0, all: settings as u64 * u64::from(plan.rounds) };
    let mut rows = Vec::new();
    for count in &plan.rows {
        let folder = folder_in(&plan.folder)?;
        let table = Table::make(folder.path(), *count, plan.codec, &plan.selectivities)?;
        for link in &plan.links {
            let rate = match link {
                LinkRate::Fixed(rate) => *rate,
                LinkRate::HalfOfMedia => table.half_of_media()?,
            };
            let arguments = ["--link-rate".into(), format!("{rate}B").into()];
            let started =
                plan.server.start(&table.store, "localhost:0", &arguments, &processors)?;
            let (_process, address) = started;
            let failed = |reason: String| Error::Server { server: OURS, reason };
            let drive = RemoteDrive::connect(&address, Options::default());
            let drive = Arc::new(drive.map_err(|error| failed(error.to_string()))?);
            let location = format!("drive://{address}/{COLLECTION}/{NAME}");
            let ways = runtime.block_on(Ways::new(drive, &location))?;
            for (selectivity, answer) in plan.selectivities.iter().zip(&table.answers) {
                let (cents, expected) = *answer;
                let statement = format!(
                    "SELECT account, name, age, sex, balance FROM accounts \
                     WHERE balance < CAST({}.{:02} AS DECIMAL(12, 2))",
                    cents / 100,
                    cents % 100,
                );
                let mut row = Row::new(*count, rate, *selectivity);
                for session in &ways.sessions {
                    // The first run reads the footer.
                    let (_, batches) = runtime.block_on(ways.time(session, &statement))?;
                    check(&batches, expected)?;
                }
                for round in 0..plan.rounds {
                    let mut pair = [Run::default(); 2];
                    for turn in 0..2 {
                        let which = if round.is_multiple_of(2) { turn } else { 1 - turn };
                        let timed = ways.time(&ways.sessions[which], &statement);
                        let (run, batches) = runtime.block_on(timed)?;
                        check(&batches, expected)?;
                        pair[which] = run;
                    }
                    let [host, pushed] = pair;
                    row.pairs.push(Pair { host, pushed });
                    progress.done += 1;
                    if watch(progress).is_break() {
                        return Err(Error::Cancelled);
                    }
                }
                rows.push(row);
            }
        }
    }
    Ok(Report { rounds: plan.rounds, codec: plan.codec, rows })
}

/// A connection to the server, with a session for each way.
struct Ways {
    drive: Arc<RemoteDrive>,
    /// On the host, then pushed.
    sessions: [Session; 2],
}

impl Ways {
    async fn new(drive: Arc<RemoteDrive>, location: &str) -> Result<Self, Error> {
        let engine = Engine::builder().threads(1).attach_server(Arc::clone(&drive));
        let engine = engine.map_err(Error::prepare)?.build().await.map_err(Error::prepare)?;
        let sessions = [engine.session(), engine.session()];
        for (session, mode) in sessions.iter().zip(["off", "force"]) {
            session.register("accounts", location).await.map_err(Error::prepare)?;
            session.set("nearscan.pushdown.mode", mode).await.map_err(Error::prepare)?;
        }
        Ok(Self { drive, sessions })
    }

    /// Runs a statement: the response time is that from the text to the last row.
    async fn time(
        &self,
        session: &Session,
        statement: &str,
    ) -> Result<(Run, Vec<RecordBatch>), Error> {
        let failed = |error: nearscan::Error| Error::Query { reason: error.render() };
        let before = self.drive.received_bytes();
        let stopwatch = Stopwatch::start();
        let query = session.sql(statement).await.map_err(failed)?;
        let mut stream = query.stream().await.map_err(failed)?;
        let mut batches = Vec::new();
        while let Some(batch) = stream.try_next().await.map_err(failed)? {
            batches.push(batch);
        }
        let response = stopwatch.elapsed();
        let received_bytes = self.drive.received_bytes() - before;
        let profile = stream.profile().pushdown();
        let scan = profile.drive_time_measured.unwrap_or(Duration::ZERO);
        if profile.units_cpu > 0 {
            return Err(Error::Query { reason: format!("not pushed: {:?}", profile.pushback) });
        }
        Ok((Run { response, received_bytes, scan }, batches))
    }
}

fn check(batches: &[RecordBatch], expected: Sum) -> Result<(), Error> {
    let mut found = Sum::default();
    for batch in batches {
        found.add(batch, u64::MAX)?;
    }
    match found == expected {
        true => Ok(()),
        false => Err(Error::Answer { expected: expected.rows, found: found.rows }),
    }
}
