// SPDX-License-Identifier: Apache-2.0
//! Decides which faults strike where, one run after the other.
//!
//! Singly: `KIND@0`, `KIND@1`, and so on until a run that had no such command. In mixtures: every
//! kind with the same probability, each run with its own seed. Into quarantine and out of it: a
//! drive whose kernels all fail, until it is reset. Between an engine and a drive that is served: a
//! message that is the last, or late.

use std::{collections::BTreeMap, panic::AssertUnwindSafe, time::Duration};

use anyhow::{Result, bail};
use futures::FutureExt;
use nearscan::drive::{Drive, clock::Stopwatch};
use nearscan_emulator::faults::Fault;
use nearscan_links::{After, Direction, Fault as LinkFault, Place, Strike};
use nearscan_store::Store;
use serde::Serialize;

use crate::{
    bench::{Bench, Counted, Setting},
    data::Data,
    leaks::{Baseline, Leak},
    oracle::Oracle,
    served::Remote,
};

/// Commands of a query, at most: a walk that meets more does not end.
const PLACES_MAX: u64 = 1000;

/// Messages of a query, at most, in one direction.
const MESSAGES_MAX: u64 = 1 << 20;

/// Probability of each kind in the mixtures, in turn.
const PROBABILITIES: [&str; 3] = ["0.02", "0.1", "0.3"];

/// Queries of one scan, which has as many units as a table has row groups: more than it takes until
/// a fragment is in quarantine.
const OF_ONE_SCAN: [&str; 2] = ["q01", "q06"];

/// Runs until everything of a query is in quarantine: its aggregate, the rows with what is computed
/// of them, the filter alone, the bare columns, and one that finds nothing left.
const SMALLER_MAX: usize = 4;

/// For how long a fragment is in quarantine at least: the first cooling time.
const QUARANTINE_TIME_MIN: Duration = Duration::from_secs(10);

/// Time after which a query counts as one that never ends: many times what the slowest takes in
/// which every unit hangs.
pub const QUERY_TIME_MAX: Duration = Duration::from_secs(120);

/// The outcome of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The rows are right.
    Right,
    /// They are others.
    Wrong(String),
    /// The query failed.
    Failed(String),
    /// It failed as it may: its objects are at a server that is gone, which the error names.
    ServerGone(String),
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
    /// Commands that were submitted since the drive was opened.
    pub submitted: u64,
    /// Faults that struck since then.
    pub struck: u64,
    /// Units that the drive has delivered.
    pub units_drive: u64,
    /// Units that the host has done.
    pub units_cpu: u64,
    /// Units that came back, by reason.
    pub pushed_back: BTreeMap<String, u64>,
    /// Fragments that were in quarantine afterwards.
    pub quarantined: usize,
    /// The outcome.
    pub verdict: Verdict,
    /// The leaks that it left.
    pub leaks: Vec<String>,
}

impl Run {
    /// Whether rows and leavings are as they must be.
    pub fn is_good(&self) -> bool {
        let is_right = matches!(self.verdict, Verdict::Right | Verdict::ServerGone(_));
        is_right && self.leaks.is_empty()
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

/// Runs a case on a drive whose kernels all fail, again and again on the same, and after a reset.
/// In place of a fragment that is in quarantine a smaller one is sent, as the filter without its
/// aggregate, and fails too; in the end nothing may be left to send but what is of too few units
/// to fail often enough. The run after the reset must try again, and rows are right in every run.
/// Gives the first run that is not as it must be, else the first.
///
/// # Errors
/// As [`run`].
pub async fn quarantine(data: &Data, baseline: &Baseline, oracle: &Oracle) -> Result<Run> {
    let setting = Setting::forced("kernel_error:1");
    let bench = Bench::open(data, &setting).await?;
    let begun = Stopwatch::start();
    let first = run_on(&bench, oracle, &setting).await;
    let mut runs: Vec<Run> = Vec::new();
    let is_kept_away = loop {
        let before = runs.last().map_or(first.struck, |run| run.struck);
        let run = run_on(&bench, oracle, &setting).await;
        let is_kept_away = is_kept_away(&first, before, &run);
        runs.push(run);
        if is_kept_away || runs.len() == SMALLER_MAX {
            break is_kept_away;
        }
    };
    // On a machine that slow there may have been probes.
    if !is_kept_away
        && begun.elapsed() < QUARANTINE_TIME_MIN
        && let Some(last) = runs.last_mut().filter(|run| run.verdict == Verdict::Right)
    {
        last.verdict = Verdict::Wrong("commands that fail are sent for ever".to_owned());
    }
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

/// Whether a run of a case on a drive whose kernels all fail sent no more than it may, when
/// `before` commands had been struck in the runs before it, the first among them.
fn is_kept_away(first: &Run, before: u64, run: &Run) -> bool {
    let again = run.struck - before;
    match OF_ONE_SCAN.contains(&run.case) {
        true => again == 0 && run.units_drive + run.units_cpu == 0,
        false => again < first.struck,
    }
}

async fn run_on(bench: &Bench, oracle: &Oracle, setting: &Setting) -> Run {
    let case = oracle.case();
    let caught = AssertUnwindSafe(bench.run(case)).catch_unwind();
    let ended = tokio::time::timeout(QUERY_TIME_MAX, caught).await;
    let Counted { submitted, struck } = bench.counted().await;
    let mut run = Run {
        case: case.name,
        faults: match &setting.remote {
            Some(remote) => remote.to_string(),
            None => setting.faults.clone(),
        },
        seed: setting.seed,
        submitted,
        struck,
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
        Ok(Ok(Err(error))) => run.verdict = failed(bench, setting, error.render()),
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

/// What an error of a query means.
fn failed(bench: &Bench, setting: &Setting, error: String) -> Verdict {
    let of_objects = setting.remote.as_ref().is_some_and(|remote| remote.objects.is_some());
    match bench.served() {
        Some(served) if of_objects && served.has_struck() && error.contains(&served.address()) => {
            Verdict::ServerGone(error)
        }
        _ => Verdict::Failed(error),
    }
}

/// Strikes messages between the engine and a drive that is served: the first ones, and then each
/// that is so much further on; gives the runs that had such a message. Whether the link recovers
/// takes turns.
///
/// # Errors
/// As [`run`], and when there is no end of messages.
pub async fn messages(
    data: &Data,
    baseline: &Baseline,
    oracle: &Oracle,
    (fault, direction, objects): (LinkFault, Direction, Option<&Store>),
    dense: u64,
) -> Result<Vec<Run>> {
    let mut runs = Vec::new();
    let mut number = 0;
    while number < MESSAGES_MAX {
        let after = if runs.len() % 2 == 0 { After::Recovers } else { After::StaysDown };
        let strike = Strike { fault, place: Place { direction, number }, after };
        let remote = Remote { strike, objects: objects.cloned() };
        let run = run(data, baseline, oracle, &Setting::behind(remote)).await?;
        let is_there = run.struck > 0;
        if is_there || !run.is_good() {
            runs.push(run);
        }
        if !is_there {
            return Ok(runs);
        }
        number = (number + 1).max(number + number.saturating_sub(dense));
    }
    bail!("{} has more than {MESSAGES_MAX} messages", oracle.case().name)
}

/// Strikes each command of a case once with one kind of fault; gives the runs that had such a
/// command.
///
/// # Errors
/// As [`at`], and when there is no end of commands.
pub async fn singly(
    data: &Data,
    baseline: &Baseline,
    oracle: &Oracle,
    kind: &str,
) -> Result<Vec<Run>> {
    let mut runs = Vec::new();
    for place in 0..PLACES_MAX {
        let run = at(data, baseline, oracle, (kind, place)).await?;
        let is_there = place < run.submitted;
        // One that is not good is told of, whether something struck or not.
        if is_there || !run.is_good() {
            runs.push(run);
        }
        if !is_there {
            return Ok(runs);
        }
    }
    bail!("{} has more than {PLACES_MAX} commands", oracle.case().name)
}

/// Strikes the command of a case at one place, if there is one.
///
/// # Errors
/// As [`run`], and when the fault did not strike though there was such a command.
pub async fn at(
    data: &Data,
    baseline: &Baseline,
    oracle: &Oracle,
    (kind, place): (&str, u64),
) -> Result<Run> {
    let setting = Setting::forced(format!("{kind}@{place}"));
    let run = run(data, baseline, oracle, &setting).await?;
    let expected = u64::from(place < run.submitted);
    if run.is_good() && run.struck != expected {
        bail!("{}: {kind}@{place} struck {} commands", run.case, run.struck);
    }
    Ok(run)
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

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn run(case: &'static str, struck: u64, [units_drive, units_cpu]: [u64; 2]) -> Run {
        Run {
            case,
            faults: "kernel_error:1".to_owned(),
            seed: 0,
            submitted: struck,
            struck,
            units_drive,
            units_cpu,
            pushed_back: BTreeMap::new(),
            quarantined: 0,
            verdict: Verdict::Right,
            leaks: Vec::new(),
        }
    }

    #[rstest]
    #[case::as_it_must_be("q06", 8, [0, 0], true)]
    #[case::planned_for_the_drive("q06", 8, [0, 4], false)]
    #[case::sent_once_more("q06", 9, [0, 0], false)]
    #[case::others_may_have_fragments_of_few_units("q03", 11, [0, 4], true)]
    #[case::but_not_only_those("q03", 12, [0, 4], false)]
    fn command_sent_in_spite_of_quarantine_is_detected(
        #[case] case: &'static str,
        #[case] struck: u64,
        #[case] units: [u64; 2],
        #[case] expected: bool,
    ) {
        let found = is_kept_away(&run(case, 4, [0, 4]), 8, &run(case, struck, units));
        assert_eq!(found, expected);
    }
}
