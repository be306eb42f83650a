// SPDX-License-Identifier: Apache-2.0
//! Which faults strike where: one run after the other.
//!
//! Singly: `KIND@0`, `KIND@1`, and so on until a run in which nothing struck, which had fewer
//! commands than that. In mixtures: every kind with the same probability, each run with a seed of
//! its own. Into quarantine and out of it: a drive whose kernels all fail, until it is reset.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use anyhow::{Result, bail};
use futures::FutureExt;
use nearscan::drive::Drive;
use nearscan_emulator::faults::Fault;
use serde::Serialize;

use crate::bench::{Bench, Setting};
use crate::data::Data;
use crate::leaks::{Baseline, Leak};
use crate::oracle::Oracle;

/// Commands of a query, at most: a walk that meets more does not end.
const PLACES_MAX: u64 = 1000;

/// Probability of each kind in the mixtures, in turn.
const PROBABILITIES: [&str; 3] = ["0.02", "0.1", "0.3"];

/// Time after which a query counts as one that never ends: many times what the slowest takes in
/// which every unit hangs.
pub const QUERY_TIME_MAX: Duration = Duration::from_secs(120);

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The rows are right.
    Right,
    /// They are others.
    Wrong(String),
    /// The query failed.
    Failed(String),
    /// It did not end, or ended in a panic.
    Broken(&'static str),
}

/// One run.
#[derive(Debug, Clone, Serialize)]
pub struct Run {
    /// The query.
    pub case: &'static str,
    /// The fault plan.
    pub faults: String,
    /// Its seed.
    pub seed: u64,
    /// Faults that struck.
    pub struck: u64,
    /// Units that the drive has delivered.
    pub units_drive: u64,
    /// Units that the host has done.
    pub units_cpu: u64,
    /// Units that came back, by reason.
    pub pushed_back: BTreeMap<String, u64>,
    /// Fragments that were in quarantine afterwards.
    pub quarantined: usize,
    /// How it ended.
    pub verdict: Verdict,
    /// What it left behind.
    pub leaks: Vec<String>,
}

impl Run {
    /// Whether rows and leavings are as they must be.
    pub fn is_good(&self) -> bool {
        self.verdict == Verdict::Right && self.leaks.is_empty()
    }

    fn left(self, leaks: Vec<Leak>) -> Self {
        Self { leaks: leaks.iter().map(ToString::to_string).collect(), ..self }
    }
}

/// Runs an oracle's case once with a setting.
///
/// # Errors
/// When no engine can be made; what becomes of the query is in the run.
pub async fn run(
    data: &Data,
    baseline: &Baseline,
    oracle: &Oracle,
    setting: &Setting,
) -> Result<Run> {
    let bench = Bench::open(data, setting).await?;
    let run = run_on(&bench, oracle, setting).await;
    Ok(run.left(baseline.after(bench).await))
}

/// Runs a case on a drive whose kernels all fail, again on the same, and again after a reset. A
/// fragment must be in quarantine from its third failure until the reset, and rows are right in
/// every run. Gives the first run that is not as it must be, else the first.
///
/// # Errors
/// As [`run`].
pub async fn quarantine(data: &Data, baseline: &Baseline, oracle: &Oracle) -> Result<Run> {
    let setting = Setting::forced("kernel_error:1");
    let bench = Bench::open(data, &setting).await?;
    let first = run_on(&bench, oracle, &setting).await;
    let mut runs = vec![run_on(&bench, oracle, &setting).await];
    bench.drive().reset()?;
    let mut released = run_on(&bench, oracle, &setting).await;
    let again = released.pushed_back.get("fault").copied().unwrap_or_default();
    if first.quarantined > 0 && again == 0 {
        released.verdict = Verdict::Wrong("a reset does not release".to_owned());
    }
    runs.push(released);
    let bad = runs.into_iter().find(|run| run.verdict != Verdict::Right);
    Ok(bad.unwrap_or(first).left(baseline.after(bench).await))
}

async fn run_on(bench: &Bench, oracle: &Oracle, setting: &Setting) -> Run {
    let case = oracle.case();
    let caught = AssertUnwindSafe(bench.run(case)).catch_unwind();
    let ended = tokio::time::timeout(QUERY_TIME_MAX, caught).await;
    let mut run = Run {
        case: case.name,
        faults: setting.faults.clone(),
        seed: setting.seed,
        struck: bench.drive().faults_struck(),
        units_drive: 0,
        units_cpu: 0,
        pushed_back: BTreeMap::new(),
        quarantined: bench.quarantined(),
        verdict: Verdict::Right,
        leaks: Vec::new(),
    };
    match ended {
        Err(_elapsed) => run.verdict = Verdict::Broken("did not end"),
        Ok(Err(_panic)) => run.verdict = Verdict::Broken("panicked"),
        Ok(Ok(Err(error))) => run.verdict = Verdict::Failed(error.render()),
        Ok(Ok(Ok(answer))) => {
            run.units_drive = answer.pushdown.units_drive;
            run.units_cpu = answer.pushdown.units_cpu;
            let counted = answer.pushdown.pushback.iter().filter(|(_, count)| **count > 0);
            run.pushed_back = counted.map(|(word, count)| (word.clone(), *count)).collect();
            if let Some(difference) = oracle.difference(&answer.batches) {
                run.verdict = Verdict::Wrong(difference);
            }
        }
    }
    run
}

/// Strikes each command of a case once with one kind of fault, up to `places` of them; gives the
/// runs in which it struck.
///
/// # Errors
/// As [`run`].
pub async fn singly(
    data: &Data,
    baseline: &Baseline,
    oracle: &Oracle,
    kind: &str,
    places: Option<u64>,
) -> Result<Vec<Run>> {
    let mut runs = Vec::new();
    for place in 0..places.unwrap_or(PLACES_MAX) {
        let setting = Setting::forced(format!("{kind}@{place}"));
        let run = run(data, baseline, oracle, &setting).await?;
        // One that is not good is told of, whether something struck or not.
        if run.struck == 0 && run.is_good() {
            return Ok(runs);
        }
        runs.push(run);
    }
    match places {
        Some(_) => Ok(runs),
        None => bail!("{} has more than {PLACES_MAX} commands", oracle.case().name),
    }
}

/// Runs a case with all kinds of faults at once; `number` says how probable they are.
///
/// # Errors
/// As [`run`].
pub async fn mixture(
    data: &Data,
    baseline: &Baseline,
    oracle: &Oracle,
    (seed, number): (u64, u64),
) -> Result<Run> {
    let turn = usize::try_from(number % PROBABILITIES.len() as u64).unwrap_or_default();
    let probability = PROBABILITIES[turn];
    let kinds = Fault::ALL.iter().map(|(_, name)| format!("{name}:{probability}"));
    let faults = kinds.collect::<Vec<_>>().join(",");
    let setting = Setting { seed: seed.wrapping_add(number), ..Setting::forced(faults) };
    run(data, baseline, oracle, &setting).await
}
