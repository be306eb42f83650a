// SPDX-License-Identifier: Apache-2.0
//! Implements `nearscan explain-json`: it prints the plan of a statement, the decision about each
//! scan, and, if it is run, the profile, as one JSON object.
//!
//! Measured and modelled time have separate fields. Fields may be added, but never removed.

use std::{
    collections::BTreeMap,
    io::{self, Write},
    path::{Path, PathBuf},
};

use clap::{Args, ValueHint};
use futures::StreamExt;
use nearscan::{
    Candidate, Costs, Decision, Engine, Kept, OperatorProfile, PushdownProfile, QueryProfile,
};
use serde::Serialize;

use crate::{
    data,
    engine_args::EngineArgs,
    failure::{Failure, Result},
};

/// Options of explain-json.
#[derive(Debug, Clone, Args)]
pub(crate) struct ExplainArgs {
    /// The statement
    #[arg(value_name = "SQL")]
    statement: String,

    /// Files, folders or URLs that it queries, named as on the program's own command line
    #[arg(value_hint = ValueHint::AnyPath)]
    data: Vec<PathBuf>,

    /// Run the statement, drop its rows, and tell what it did
    #[arg(long)]
    analyze: bool,
}

#[derive(Debug, Serialize)]
struct Explained<'a> {
    statement: &'a str,
    decisions: Vec<Decided<'a>>,
    plan: Operator<'a>,
    /// Measured.
    planning_seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<Run>,
}

#[derive(Debug, Serialize)]
struct Decided<'a> {
    table: &'a str,
    drive: Option<String>,
    kept: Option<Reason<'a>>,
    /// The part above an offloaded scan that stays on the host, with the reason.
    above: Option<Reason<'a>>,
    /// Row groups of an offloaded scan that stay on the host.
    row_groups_kept: Option<RowGroupsKept<'a>>,
    costs: Option<Estimates>,
    /// Of the merge on the drive that it is part of.
    merge_costs: Option<Estimates>,
}

#[derive(Debug, Serialize)]
struct RowGroupsKept<'a> {
    count: usize,
    /// The reason of the first of them.
    first: Reason<'a>,
}

#[derive(Debug, Serialize)]
struct Reason<'a> {
    reason: &'static str,
    detail: &'a str,
}

#[derive(Debug, Serialize)]
struct Estimates {
    drive_ns: f64,
    host_ns: f64,
    snapshot: u64,
}

#[derive(Debug, Serialize)]
struct Operator<'a> {
    name: &'a str,
    line: &'a str,
    metrics: BTreeMap<&'a str, u64>,
    children: Vec<Operator<'a>>,
}

#[derive(Debug, Serialize)]
struct Run {
    /// Measured.
    seconds: f64,
    rows: u64,
    units_drive: u64,
    units_cpu: u64,
    media_bytes: u64,
    link_bytes: u64,
    host_bytes: u64,
    drive_seconds_measured: Option<f64>,
    drive_seconds_modelled: Option<f64>,
    /// The resource that most of the modelled time went to.
    drive_limit_modelled: Option<String>,
    /// The source of the schedules of that stage of the kernel, if it is one.
    drive_schedule_modelled: Option<&'static str>,
    pushback: BTreeMap<String, u64>,
}

/// Explains a statement on standard output.
pub(crate) async fn run(engine: EngineArgs, arguments: ExplainArgs) -> Result<()> {
    let engine = engine.open().await.map_err(|error| Failure::usage(&error))?;
    data::register(&engine, &arguments.data).await?;
    let explained = explain(&engine, &arguments).await;
    let (profile, was_run) = explained.map_err(|error| Failure::statement(&error))?;
    let explained = Explained {
        statement: &arguments.statement,
        decisions: profile.decisions.iter().map(Decided::of).collect(),
        plan: Operator::of(&profile.root),
        planning_seconds: profile.planning.as_secs_f64(),
        run: was_run.then(|| Run::of(&profile)),
    };
    // Numbers, strings, lists and maps with strings for keys: there is nothing it cannot write.
    let text = serde_json::to_string_pretty(&explained).unwrap_or_default();
    let mut stdout = io::stdout();
    writeln!(stdout, "{text}").map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::OutputClosed,
        _ => Failure::output(Path::new("-"), &error),
    })
}

/// The profile, and whether the statement was run for it.
async fn explain(
    engine: &Engine,
    arguments: &ExplainArgs,
) -> nearscan::Result<(QueryProfile, bool)> {
    let query = engine.sql(&arguments.statement).await?;
    let planned = query.profile().await?;
    if !arguments.analyze {
        return Ok((planned, false));
    }
    let mut stream = query.stream().await?;
    while let Some(batch) = stream.next().await {
        batch?;
    }
    // If no drive is attached, only the planning alone has noted why scans are kept.
    Ok((QueryProfile { decisions: planned.decisions, ..stream.profile() }, true))
}

impl<'a> Decided<'a> {
    fn of(candidate: &'a Candidate) -> Self {
        let (drive, kept) = match &candidate.decision {
            Decision::Offload { drives } => (Some(drives.join(", ")), None),
            Decision::Keep(kept) => (None, Some(Reason::of(kept))),
        };
        let estimates = |Costs { drive_ns, host_ns, snapshot }: Costs| Estimates {
            drive_ns,
            host_ns,
            snapshot,
        };
        Self {
            table: &candidate.table,
            drive,
            kept,
            above: candidate.above.as_ref().map(Reason::of),
            row_groups_kept: candidate.units_kept.as_ref().map(RowGroupsKept::of),
            costs: candidate.costs.map(estimates),
            merge_costs: candidate.merge.map(estimates),
        }
    }
}

impl<'a> RowGroupsKept<'a> {
    fn of((count, kept): &'a (usize, Kept)) -> Self {
        Self { count: *count, first: Reason::of(kept) }
    }
}

impl<'a> Reason<'a> {
    fn of(kept: &'a Kept) -> Self {
        Self { reason: kept.reason.word(), detail: &kept.detail }
    }
}

impl<'a> Operator<'a> {
    fn of(operator: &'a OperatorProfile) -> Self {
        let metrics = operator.metrics.iter();
        Self {
            name: &operator.name,
            line: &operator.line,
            metrics: metrics.map(|(name, metric)| (name.as_str(), metric.value)).collect(),
            children: operator.children.iter().map(Self::of).collect(),
        }
    }
}

impl Run {
    fn of(profile: &QueryProfile) -> Self {
        let PushdownProfile {
            units_drive,
            units_cpu,
            media_bytes,
            values_in: _,
            link_bytes,
            host_bytes,
            drive_time_measured,
            drive_time_modelled,
            modelled,
            pushback,
        } = profile.pushdown();
        Self {
            seconds: profile.elapsed.as_secs_f64(),
            rows: profile.rows,
            units_drive,
            units_cpu,
            media_bytes,
            link_bytes,
            host_bytes,
            drive_seconds_measured: drive_time_measured.map(|time| time.as_secs_f64()),
            drive_seconds_modelled: drive_time_modelled.map(|time| time.as_secs_f64()),
            drive_limit_modelled: modelled.map(|modelled| modelled.limit().to_string()),
            drive_schedule_modelled: modelled
                .and_then(|modelled| modelled.limit_schedule())
                .map(|schedule| schedule.name()),
            pushback: pushback.into_iter().filter(|(_, units)| *units > 0).collect(),
        }
    }
}
