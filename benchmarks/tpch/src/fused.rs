// SPDX-License-Identifier: Apache-2.0
//! Measures what scans that ran on a drive take on the cores of this machine, with fused scans.
//!
//! Only the scans count, on either side: the time of what stands above them is left out. It is the
//! sum over all cores, of copying out of the page cache, decoding, filtering and folding. It has no
//! wait for a device, which the time of a drive has, and not the making of batches of kept rows.

use std::{collections::BTreeMap, time::Duration};

use nearscan::{Engine, OperatorProfile, QueryProfile, Session};

use crate::{queries::Query, statements::run_statements};

/// Runs; the median counts.
const RUNS: usize = 3;

/// The operator of a fused scan.
const FUSED: &str = "FusedScanExec";

/// What its time consists of.
const TIMES: [&str; 2] = ["elapsed_compute", "read_time"];

/// Measures the scans of a query that a drive has run, as its profile says: the time of all cores,
/// in seconds. Nothing if a table was scanned on both sides, or is not scanned by as many fused
/// scans, or if any row group was scanned in another way.
pub(crate) async fn seconds(
    engine: &Engine,
    query: &Query,
    on_drive: &QueryProfile,
) -> Option<f64> {
    let scans = scans_of(on_drive, |operator| operator.modelled.is_some());
    let kept = scans_of(on_drive, |operator| operator.modelled.is_none());
    let is_kept = |table: &String| kept.contains_key(table);
    if scans.keys().any(is_kept) || on_drive.pushdown().units_cpu > 0 {
        return None;
    }
    let session = engine.session();
    session.set("nearscan.pushdown.mode", "off").await.ok()?;
    session.set("nearscan.scan", "fused").await.ok()?;
    let mut runs = Vec::new();
    for _ in 0..RUNS {
        runs.push(once(&session, query, &scans).await?);
    }
    runs.sort_by(f64::total_cmp);
    runs.get(RUNS / 2).copied()
}

async fn once(session: &Session, query: &Query, scans: &Scans) -> Option<f64> {
    let delivered = run_statements(session, query.sql).await.ok()?;
    let profile = delivered.result?.profile;
    let is_fused = |operator: &OperatorProfile| operator.name == FUSED;
    let fused = scans_of(&profile, is_fused);
    let is_as_often = |(table, count): (&String, &usize)| fused.get(table) == Some(count);
    let is_read_otherwise = profile.total("row_groups_datafusion") > Some(0);
    if is_read_otherwise || !scans.iter().all(is_as_often) {
        return None;
    }
    let mut ns = 0;
    profile.root.visit(&mut |operator| {
        let is_of = table_of(operator).is_some_and(|table| scans.contains_key(table));
        if is_of && is_fused(operator) {
            let times = TIMES.iter().filter_map(|name| operator.metrics.get(*name));
            ns += times.map(|metric| metric.value).sum::<u64>();
        }
    });
    Some(Duration::from_nanos(ns).as_secs_f64())
}

/// How often each table is scanned.
type Scans = BTreeMap<String, usize>;

/// The scans by some operators.
fn scans_of(profile: &QueryProfile, is_meant: impl Fn(&OperatorProfile) -> bool) -> Scans {
    let mut scans = Scans::new();
    profile.root.visit(&mut |operator| {
        if let Some(table) = table_of(operator).filter(|_| is_meant(operator)) {
            *scans.entry(table.to_owned()).or_default() += 1;
        }
    });
    scans
}

/// The table that an operator scans.
fn table_of(operator: &OperatorProfile) -> Option<&str> {
    let (_, behind) = operator.line.split_once(" table=")?;
    behind.split(',').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_is_what_the_line_of_an_operator_says() {
        let operator = |line: &str| OperatorProfile {
            name: FUSED.to_owned(),
            line: line.to_owned(),
            metrics: BTreeMap::new(),
            modelled: None,
            children: Vec::new(),
        };
        let line = "PushdownExec: drive=emulated, table=lineitem, columns=[l_tax], units=53";
        assert_eq!(table_of(&operator(line)), Some("lineitem"));
        let line = "FusedScanExec: table=part, columns=[p_size], row_groups=2";
        assert_eq!(table_of(&operator(line)), Some("part"));
        assert_eq!(table_of(&operator("FilterExec: table@0 = 3")), None);
    }
}
