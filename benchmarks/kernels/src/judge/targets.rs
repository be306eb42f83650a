// SPDX-License-Identifier: Apache-2.0
//! Checks the targets of the fast set, with the figures of each.
//!
//! The study has no figures for these; the reference is its host, by the model.

use nearscan_emulator::timing::{
    fast::{Job, SHARE_ENOUGH},
    study::Kernel,
};
use serde::Serialize;

use crate::{
    builds::describe_units,
    fast::{Fast, describe},
    runs::Runs,
    study::HOST_GHZ,
};

/// Something that the fast set was made to reach.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Target {
    /// The name of the target.
    pub name: String,
    /// Whether it is reached.
    pub holds: bool,
    /// The figures that were reached.
    pub seen: String,
}

/// All targets.
pub(super) fn of(runs: &Runs, fast: &Fast) -> Vec<Target> {
    let merges = Job::ALL.into_iter().filter(|job| job.kernel() == Kernel::ArrayMerge);
    let ahead = merges.map(|job| ahead_of_host(runs, fast, job));
    Job::ALL.into_iter().map(|job| share_of_bank(fast, job)).chain(ahead).collect()
}

fn share_of_bank(fast: &Fast, job: Job) -> Target {
    let enough = fast.enough(job);
    Target {
        name: format!(
            "{} comes to {:.0} % of the bank's limit",
            describe(job),
            100.0 * SHARE_ENOUGH
        ),
        holds: enough.is_some_and(|enough| enough.bank_share() >= SHARE_ENOUGH),
        seen: enough.map_or_else(String::new, |enough| {
            format!("{:.0} % on {}", 100.0 * enough.bank_share(), describe_units(enough.units))
        }),
    }
}

fn ahead_of_host(runs: &Runs, fast: &Fast, job: Job) -> Target {
    let rate = fast.enough(job).map_or(f64::NAN, |enough| enough.elements_per_s);
    let host = |ghz: f64| runs.parameters.host_elements_per_s(job.kernel(), ghz * 1e9);
    let ratios = HOST_GHZ.map(|ghz| rate / host(ghz));
    Target {
        name: format!("{} is ahead of the study's host at every clock", describe(job)),
        holds: ratios.iter().all(|ratio| *ratio > 1.0),
        seen: ratios.map(|ratio| format!("{ratio:.1}")).join(", "),
    }
}
