// SPDX-License-Identifier: Apache-2.0
//! Makes one engine and one emulated drive, for one run; the drive may be behind a link.

use std::{sync::Arc, time::Duration};

use anyhow::{Context, Result};
use nearscan::{
    Engine, PushdownContext, PushdownProfile, Query, QueryResult, QueryStream,
    arrow::array::RecordBatch, drive::Drive,
};
use nearscan_emulator::{Config, Emulator};

use crate::{
    cases::Case,
    data::Data,
    served::{Remote, Served},
    waiting::{PATIENCE, remains},
};

/// The name of the drive.
const DRIVE: &str = "emulated";

/// The place where work runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placing {
    /// On the host.
    Off,
    /// On the drive, whatever it is able to run.
    Force,
}

/// The configuration of the engine, its drive and the faults of a run.
#[derive(Debug, Clone)]
pub struct Setting {
    /// The fault plan, as in a drive's URL.
    pub faults: String,
    /// Seed of the fault plan.
    pub seed: u64,
    /// The place where work runs.
    pub placing: Placing,
    /// Partitions of a query.
    pub threads: usize,
    /// Memory for queries, if it is limited.
    pub memory_bytes: Option<u64>,
    /// Rows of a batch, if they are not as many as usual.
    pub batch_rows: Option<usize>,
    /// Time for a unit. A drive that hangs is waited for as long as this, once for each unit; one
    /// that does not is given what it needs on a machine that is busy.
    pub timeout: Duration,
    /// The link to the drive, if it is served.
    pub remote: Option<Remote>,
}

impl Setting {
    /// Everything on a drive that has these faults.
    #[must_use]
    pub fn forced(faults: impl Into<String>) -> Self {
        let faults = faults.into();
        let timeout = match faults.contains("hang") {
            true => Duration::from_millis(150),
            false => Duration::from_secs(30),
        };
        Self {
            faults,
            seed: 0,
            placing: Placing::Force,
            threads: 2,
            memory_bytes: None,
            batch_rows: None,
            timeout,
            remote: None,
        }
    }

    /// Everything on a drive without faults, behind a link that breaks.
    #[must_use]
    pub fn behind(remote: Remote) -> Self {
        Self { remote: Some(remote), ..Self::forced("") }
    }

    /// Everything on the host.
    #[must_use]
    pub fn off() -> Self {
        Self { placing: Placing::Off, ..Self::forced("") }
    }
}

/// The result of a query.
#[derive(Debug)]
pub struct Answer {
    /// The rows, in one batch at least.
    pub batches: Vec<RecordBatch>,
    /// The outcome of its units.
    pub pushdown: PushdownProfile,
}

/// The counters of a drive since it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counted {
    /// Commands that were submitted.
    pub submitted: u64,
    /// Faults that struck.
    pub struck: u64,
}

/// An engine with its drive.
#[derive(Debug)]
pub struct Bench {
    engine: Engine,
    context: Arc<PushdownContext>,
    drive: Arc<Emulator>,
    // Behind the engine, which is its client.
    served: Option<Served>,
}

impl Bench {
    /// An engine over `data`.
    ///
    /// # Errors
    /// When the fault plan is none, or a table is missing.
    pub async fn open(data: &Data, setting: &Setting) -> Result<Self> {
        let (mode, scan, aggregate) = match setting.placing {
            Placing::Off => ("off", "datafusion", "datafusion"),
            Placing::Force => ("force", "fused", "partitioned"),
        };
        let seed = setting.seed.to_string();
        let parameters = [("profile", "unlimited"), ("faults", &*setting.faults), ("seed", &*seed)];
        let drive = Arc::new(Emulator::open(Config::from_parameters(parameters)?));
        let served = match &setting.remote {
            Some(remote) => {
                let drive: Arc<dyn Drive> = Arc::<Emulator>::clone(&drive);
                Some(Served::start(drive, remote.objects.clone())?)
            }
            None => None,
        };
        let mut builder = Engine::builder()
            .drive(&format!("{DRIVE}:"))?
            .threads(setting.threads)
            .set("nearscan.pushdown.mode", mode)
            .set("nearscan.scan", scan)
            .set("nearscan.aggregate", aggregate)
            .set("nearscan.pushdown.timeout", format!("{}ms", setting.timeout.as_millis()));
        if let Some(bytes) = setting.memory_bytes {
            builder = builder.memory_limit(bytes);
        }
        if let Some(rows) = setting.batch_rows {
            builder = builder.set("datafusion.execution.batch_size", rows.to_string());
        }
        let engine = builder.build().await?;
        let context =
            engine.uncorrected_context().copied_config().get_extension::<PushdownContext>();
        let context = context.context("an engine with a drive has a context")?;
        // In the place of the one that the engine has opened: of this one the faults are counted.
        let of_engine: Arc<dyn Drive> = match (&served, &setting.remote) {
            (Some(served), Some(Remote { strike, objects: None })) => {
                Arc::new(served.connect(strike.fault)?)
            }
            _ => Arc::<Emulator>::clone(&drive),
        };
        drop(context.drives.attach(DRIVE, of_engine));
        match (&served, &setting.remote) {
            // Its drive is attached when the first of its objects is read.
            (Some(served), Some(Remote { objects: Some(_), .. })) => {
                data.register_objects(&engine, &served.address()).await?;
            }
            _ => data.register(&engine).await?,
        }
        if let (Some(served), Some(remote)) = (&served, &setting.remote) {
            served.strike(remote.strike);
        }
        Ok(Self { engine, context, drive, served })
    }

    /// The engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The drive.
    pub fn drive(&self) -> &Emulator {
        &self.drive
    }

    /// Fragments that are in quarantine on the drive.
    pub fn quarantined(&self) -> usize {
        self.context.quarantined().len()
    }

    /// Bytes that queries have reserved and not released.
    pub fn reserved_bytes(&self) -> usize {
        self.engine.uncorrected_context().runtime_env().memory_pool.reserved()
    }

    /// Commands that the drive has taken and not ended.
    pub fn in_flight(&self) -> u32 {
        self.drive.in_flight()
    }

    /// The server of the drive, if it is served.
    pub fn served(&self) -> Option<&Served> {
        self.served.as_ref()
    }

    /// Ends all but the server of the drive, if it is served.
    pub(crate) fn leave(self) -> Option<Served> {
        self.served
    }

    /// Returns the counters of the drive, once nothing is in flight: work that a query does not
    /// wait for is struck too, but later.
    pub async fn counted(&self) -> Counted {
        // A command that does not end is a leak, and is reported.
        let _ = remains(PATIENCE, || self.in_flight()).await;
        let of_link = u64::from(self.served().is_some_and(Served::has_struck));
        let struck = self.drive.faults_struck() + of_link;
        Counted { submitted: self.drive.commands_submitted(), struck }
    }

    /// Runs all statements of a case; gives the rows of the one that delivers some.
    ///
    /// # Errors
    /// The error of the first statement that fails; those behind it have run.
    pub async fn run(&self, case: &Case) -> nearscan::Result<Answer> {
        let mut answer = None;
        let mut failed = None;
        for statement in self.engine.statements(case.sql) {
            let ended = async { self.engine.plan(statement?).await?.collect().await };
            match Box::pin(ended).await {
                Ok(result) if result.schema.fields().is_empty() => {}
                Ok(result) => answer = Some(result),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        match (failed, answer) {
            (Some(error), _) => Err(error),
            (None, Some(result)) => Ok(Answer::of(result)),
            (None, None) => Err(nearscan::Error::StatementCount { found: 0 }),
        }
    }

    /// The stream of a case of one statement.
    ///
    /// # Errors
    /// When it cannot be planned.
    pub async fn stream(&self, case: &Case) -> nearscan::Result<QueryStream> {
        let query: Query = self.engine.sql(case.sql).await?;
        query.stream().await
    }
}

impl Answer {
    fn of(result: QueryResult) -> Self {
        let QueryResult { schema, mut batches, profile } = result;
        if batches.is_empty() {
            batches.push(RecordBatch::new_empty(schema));
        }
        Self { batches, pushdown: profile.pushdown() }
    }
}
