// SPDX-License-Identifier: Apache-2.0
//! Runs queries, checks their answers and reports.
//!
//! A run of a query is all its statements, from text to last row: planning is part of the time. The
//! answer of every run is checked, outside the time. A query that fails is reported and the next
//! one runs.

use std::{collections::BTreeMap, num::NonZero, path::Path};

use nearscan::{DriveScheme, Engine, HostRates, arrow::array::RecordBatch, settings::SETTINGS};

use crate::{
    answers,
    error::Result,
    fused, generate,
    machine::{Checkout, Machine},
    queries::Query,
    report::{Checked, QueryReport, RunReport, TimeSource},
    scale::ScaleFactor,
    statements::{Delivered, run_statements},
    tables::Table,
    versus::{Scanned, Versus},
};

/// The plan of a run.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Scale factor of the data, which chooses the answers.
    pub scale: ScaleFactor,
    /// The queries, in this order.
    pub queries: Vec<&'static Query>,
    /// The number of runs of each query.
    pub runs: NonZero<u32>,
}

/// Makes the tables of the TPC-H files in `folder`.
///
/// # Errors
/// If a file is missing or a name is taken.
pub async fn register(engine: &Engine, folder: &Path) -> Result<()> {
    for table in Table::ALL {
        let file = generate::file(folder, table);
        engine.register(table.name(), &file.to_string_lossy()).await?;
    }
    Ok(())
}

/// Describes a run before it begins; the report has no queries yet.
#[must_use]
pub fn begin(engine: &Engine, scale: &ScaleFactor) -> RunReport {
    let checkout = Checkout::read();
    let drives: Vec<String> = engine.drive_specs().iter().map(ToString::to_string).collect();
    let is_emulated = |scheme| scheme == DriveScheme::Emulated;
    let time_source = match engine.drive_specs().iter().any(|spec| is_emulated(spec.scheme)) {
        true => TimeSource::Composed,
        false => TimeSource::Measured,
    };
    RunReport {
        commit: checkout.commit,
        dirty: checkout.dirty,
        machine: Machine::read(),
        scale_factor: scale.value(),
        drive: (!drives.is_empty()).then(|| drives.join(", ")),
        time_source,
        settings: settings(engine),
        queries: Vec::new(),
    }
}

/// Runs the queries of a plan over tables that are there already, and calls `seen` after each.
pub async fn run(
    engine: &Engine,
    plan: &Plan,
    seen: &mut (dyn FnMut(&QueryReport) + Send),
) -> RunReport {
    let mut report = begin(engine, &plan.scale);
    for query in &plan.queries {
        let answer = answers::find(&plan.scale, query.number);
        let query_report = run_query(engine, query, answer, plan.runs).await;
        seen(&query_report);
        report.queries.push(query_report);
    }
    report
}

/// Runs one query as often as asked and checks its answers against `answer`, if there is one.
pub async fn run_query(
    engine: &Engine,
    query: &Query,
    answer: Option<&str>,
    runs: NonZero<u32>,
) -> QueryReport {
    let mut report = QueryReport {
        query: query.number,
        seconds: Vec::new(),
        rows: 0,
        answer: if answer.is_some() { Checked::Ok } else { Checked::Unchecked },
        units_drive: 0,
        units_cpu: 0,
        media_bytes: 0,
        link_bytes: 0,
        modelled_seconds: None,
        versus: None,
    };
    let host = engine.host_rates().await;
    let mut last = None;
    for _ in 0..runs.get() {
        match run_statements(engine, query.sql).await {
            Ok(delivered) => {
                note(&mut report, query, answer, &host, &delivered);
                last = delivered.result;
            }
            Err(error) => {
                report.answer = Checked::Failed(error.render());
                break;
            }
        }
    }
    if let (Some(versus), Some(last)) = (&mut report.versus, last) {
        let of_cores = fused::seconds(engine, query, &last.profile).await;
        versus.fused_measured_seconds = of_cores.map(|seconds| seconds / host.cores);
    }
    report
}

fn note(
    report: &mut QueryReport,
    query: &Query,
    answer: Option<&str>,
    host: &HostRates,
    delivered: &Delivered,
) {
    report.seconds.push(delivered.seconds);
    let Some(result) = &delivered.result else { return };
    report.rows = result.profile.rows;
    let pushdown = result.profile.pushdown();
    report.units_drive = pushdown.units_drive;
    report.units_cpu = pushdown.units_cpu;
    report.media_bytes = pushdown.media_bytes;
    report.link_bytes = pushdown.link_bytes;
    report.modelled_seconds = pushdown.drive_time_modelled.map(|time| time.as_secs_f64());
    let scanned = Scanned {
        media_bytes: pushdown.media_bytes,
        values: pushdown.values_in,
        link_bytes: pushdown.link_bytes,
    };
    report.versus = pushdown.modelled.map(|modelled| Versus::new(&modelled, &scanned, host));
    // A wrong answer stays wrong, whatever later runs deliver.
    if let (Some(answer), Checked::Ok) = (answer, &report.answer) {
        let empty = [RecordBatch::new_empty(std::sync::Arc::clone(&result.schema))];
        let batches = if result.batches.is_empty() { &empty[..] } else { &result.batches };
        if let Err(difference) = answers::check(query, batches, answer) {
            report.answer = Checked::Wrong(difference);
        }
    }
}

/// Settings that change figures: ours, and DataFusion's where they are not the default.
fn settings(engine: &Engine) -> BTreeMap<String, String> {
    let options = engine.options();
    let mut settings: BTreeMap<String, String> =
        SETTINGS.iter().map(|setting| (setting.key.to_owned(), setting.value(&options))).collect();
    let config = engine.uncorrected_context().copied_config();
    let defaults = nearscan::datafusion::config::ConfigOptions::new().entries();
    for entry in config.options().entries() {
        // The names of catalogs change no figure.
        if entry.key.starts_with("datafusion.catalog.") {
            continue;
        }
        let default = defaults.iter().find(|default| default.key == entry.key);
        if default.is_some_and(|default| default.value != entry.value) {
            settings.insert(entry.key, entry.value.unwrap_or_default());
        }
    }
    settings
}
