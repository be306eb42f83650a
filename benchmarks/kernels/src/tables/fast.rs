// SPDX-License-Identifier: Apache-2.0
//! Makes the tables of the fast set: the rate of each job, and the gain of further units for a
//! merge.

use nearscan_emulator::timing::{
    fast::{Job, SHARE_ENOUGH},
    study::Kernel,
};

use crate::{
    builds::best,
    fast::{Fast, describe},
    runs::Runs,
    study::{HOST_GHZ, UNITS_MAX},
    table::{Cell, Column, Table},
};

/// Each job on as few units as are enough.
pub(super) fn enough(runs: &Runs, fast: &Fast) -> Table {
    let columns = [
        ("job", "job"),
        ("units", "units"),
        ("giga_elements_per_s", "G elements/s"),
        ("gigabytes_per_s", "GB/s"),
        ("bank_gigabytes_per_s", "bank, GB/s"),
        ("bank_percent", "share, %"),
        ("limit", "limit"),
        ("by_study", "by study"),
        ("by_host", "by host"),
    ];
    let share = 100.0 * SHARE_ENOUGH;
    let title =
        format!("The fast set on so many units as reach {share:.0} % of the bank, modelled");
    let mut table = Table::new("fast", title, &columns);
    let fastest = HOST_GHZ[HOST_GHZ.len() - 1];
    for job in Job::ALL {
        let enough = fast.enough(job);
        let rate = enough.map(|enough| enough.elements_per_s);
        let study = runs.elements_per_s(best(job.kernel(), UNITS_MAX));
        let host = runs.parameters.host_elements_per_s(job.kernel(), fastest * 1e9);
        let giga = |value: f64| value / 1e9;
        table.rows.push(vec![
            Cell::text(describe(job)),
            Cell::number(enough.map(|enough| f64::from(enough.units)), 0),
            Cell::number(rate.map(giga), 2),
            Cell::number(enough.map(|enough| giga(enough.bytes_per_s)), 1),
            Cell::number(enough.map(|enough| giga(enough.bank_bytes_per_s)), 1),
            Cell::number(enough.map(|enough| 100.0 * enough.bank_share()), 0),
            enough.map_or(Cell::Nothing, |enough| Cell::text(format!("{:?}", enough.limit))),
            Cell::number(rate.zip(study).map(|(rate, study)| rate / study), 1),
            Cell::number(rate.map(|rate| rate / host), 1),
        ]);
    }
    let shortest = Job::ALL
        .into_iter()
        .filter_map(|job| Some(runs.elements as f64 / fast.enough(job)?.elements_per_s))
        .min_by(f64::total_cmp);
    table.notes.push("elements of a merge are those of both inputs".to_owned());
    table.notes.push("bank: what it gives for that mix of reads and writes".to_owned());
    table.notes.push(format!(
        "by study: to the study's kernel at its best, {UNITS_MAX} units; by host: to its host at \
         {fastest} GHz, modelled too"
    ));
    if let Some(shortest) = shortest {
        let percent = 100.0 * runs.parameters.setup_ns / 1e9 / shortest;
        table
            .notes
            .push(format!("a start is not counted; it would be {percent:.1} % of the shortest"));
    }
    table
}

/// Rates of the merges on every number of units.
pub(super) fn units(fast: &Fast) -> Table {
    let title = "The fast set's Array Merge: G elements/s of so many units, modelled";
    let mut table = Table::new("fast_units", title, &[("units", "units")]);
    let merges: Vec<Job> =
        Job::ALL.into_iter().filter(|job| job.kernel() == Kernel::ArrayMerge).collect();
    for job in &merges {
        let heading = describe(*job);
        let name = heading.to_lowercase().replace(", ", "_").replace(' ', "_");
        table.columns.push(Column { name: name.clone(), heading });
        let name = format!("{name}_bank_percent");
        table.columns.push(Column { name, heading: "share, %".to_owned() });
    }
    for units in 1..=UNITS_MAX {
        let mut row = vec![Cell::text(units)];
        for job in &merges {
            let profile = fast.profile(*job, units);
            row.push(Cell::number(profile.map(|profile| profile.elements_per_s / 1e9), 2));
            row.push(Cell::number(profile.map(|profile| 100.0 * profile.bank_share()), 0));
        }
        table.rows.push(row);
    }
    table
}
