// SPDX-License-Identifier: Apache-2.0
//! Makes the tables of the study's figures beside ours.
//!
//! Each function makes one table from what the runs came to; [`all`] is their order. Everything of
//! ours is modelled but for columns that say *measured*.

mod fast;

use nearscan_emulator::timing::{
    fast::Job,
    study::{Build, Kernel},
};

use crate::{
    builds::{best, buffered, describe_bytes, pipelined, plain, sweep_bytes},
    fast::{Fast, describe},
    host::Host,
    judge::{Figure, Judgement, TOLERANCE},
    runs::Runs,
    study::{self, BEST_BUFFER_BYTES, HOST_GHZ, UNITS_MAX},
    table::{Cell, Column, Table},
};

/// The tables, in the order in which they are shown.
#[must_use]
pub fn all(runs: &Runs, fast: &Fast, host: Option<&Host>) -> Vec<Table> {
    let mut tables = vec![
        sweep(runs),
        buffers(runs),
        pipelines(runs),
        units(runs, Share::Total),
        units(runs, Share::OfOne),
        whole(runs),
        study_host(runs),
        fast_set(runs, fast),
        fast::units(fast),
    ];
    tables.extend(host.map(|host| measured_host(runs, host)));
    tables.extend(host.map(|host| measured_fast(fast, host)));
    tables
}

/// The fast set on as few units as are enough.
#[must_use]
pub fn fast_set(runs: &Runs, fast: &Fast) -> Table {
    fast::enough(runs, fast)
}

/// The figures of a judgement: what was set, what is compared, the shapes, the targets.
#[must_use]
pub fn judged(judgement: &Judgement) -> [Table; 4] {
    let columns =
        [("figure", "figure"), ("study", "study"), ("modelled", "modelled"), ("error", "error")];
    let places = |study: f64| if study < 1.0 { 3 } else { 2 };
    let row = |figure: &Figure| {
        vec![
            Cell::text(&figure.name),
            Cell::Number(figure.study, if figure.study < 1.0 { 2 } else { 1 }),
            Cell::number(figure.modelled, places(figure.study)),
            Cell::error(figure.modelled, Some(figure.study)),
        ]
    };
    let mut set =
        Table::new("calibrated", "Calibrated on: shows that the setting was done", &columns);
    set.rows.extend(judgement.calibrated.iter().map(row));
    let mut compared = Table::new(
        "compared",
        format!("Compared: consistent with the study within {:.0} %", 100.0 * TOLERANCE),
        &[&columns[..], &[("holds", "holds")]].concat(),
    );
    for figure in &judgement.compared {
        let holds = Cell::text(yes(figure.holds()));
        compared.rows.push(row(figure).into_iter().chain([holds]).collect());
    }
    let columns = [("shape", "shape"), ("holds", "holds"), ("seen", "modelled")];
    let mut shapes = Table::new("shapes", "Shapes", &columns);
    for shape in &judgement.shapes {
        let cells = [Cell::text(shape.name), Cell::text(yes(shape.holds)), Cell::text(&shape.seen)];
        shapes.rows.push(cells.to_vec());
    }
    let columns = [("target", "target"), ("holds", "holds"), ("seen", "modelled")];
    let mut targets = Table::new("targets", "Targets of the fast set", &columns);
    for target in &judgement.targets {
        let holds = Cell::text(yes(target.holds));
        targets.rows.push(vec![Cell::text(&target.name), holds, Cell::text(&target.seen)]);
    }
    [set, compared, shapes, targets]
}

fn yes(holds: bool) -> &'static str {
    if holds { "yes" } else { "no" }
}

fn sweep(runs: &Runs) -> Table {
    let kernel = Kernel::VectorAddition;
    let columns = [
        ("buffer", "buffer"),
        ("study", "study"),
        ("modelled", "modelled"),
        ("error", "error"),
        ("clock_mhz", "clock, MHz"),
        ("modelled_15_units", "15 units, modelled"),
    ];
    let title = format!("{kernel}: gain of a buffer over none");
    let mut table = Table::new("buffer_sweep", title, &columns);
    for bytes in sweep_bytes() {
        let (one, all) =
            (buffered(kernel, bytes), Build { units: UNITS_MAX, ..buffered(kernel, bytes) });
        let (study, gain) = (study::sweep_gain(bytes), runs.gain(plain(kernel), one));
        table.rows.push(vec![
            Cell::text(describe_bytes(bytes)),
            Cell::number(study, 1),
            gain_of(runs, plain(kernel), one, 2),
            Cell::error(gain, study),
            Cell::number(runs.run(one).map(|run| run.clock_hz / 1e6), 0),
            gain_of(runs, plain(kernel), all, 1),
        ]);
    }
    table.notes.push("refused: the part has too little memory on chip for so many".to_owned());
    table
}

fn gain_of(runs: &Runs, from: Build, to: Build, places: usize) -> Cell {
    match runs.refusal(to) {
        Some(_) => Cell::Refused,
        None => Cell::number(runs.gain(from, to), places),
    }
}

fn buffers(runs: &Runs) -> Table {
    let columns =
        [("kernel", "kernel"), ("study", "study"), ("modelled", "modelled"), ("error", "error")];
    let mut table =
        Table::new("buffer", "Gain of a buffer of 256 KiB over none, on one unit", &columns);
    for kernel in Kernel::ALL {
        let study = study::buffer_gain(kernel);
        let gain = runs.gain(plain(kernel), buffered(kernel, BEST_BUFFER_BYTES));
        table.rows.push(vec![
            Cell::text(kernel),
            study.map_or_else(|| Cell::text("< 1"), |study| Cell::Number(study, 1)),
            Cell::number(gain, 2),
            Cell::error(gain, study),
        ]);
    }
    table
}

fn pipelines(runs: &Runs) -> Table {
    let columns = [
        ("kernel", "kernel"),
        ("study", "study"),
        ("modelled_plain", "plain loop, modelled"),
        ("modelled_best", "best form, modelled"),
    ];
    let mut table = Table::new("pipelining", "Gain of the pragma for pipelines alone", &columns);
    for kernel in Kernel::ALL {
        let study = if kernel == Kernel::VectorAddition { "<= 1.01" } else { "~ 1" };
        let gain = |form| runs.gain(form, pipelined(form));
        table.rows.push(vec![
            Cell::text(kernel),
            Cell::text(study),
            Cell::number(gain(plain(kernel)), 3),
            Cell::number(gain(best(kernel, 1)), 3),
        ]);
    }
    table
}

/// The gain that a table of compute units shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Share {
    /// All units against one.
    Total,
    /// One of them against one alone.
    OfOne,
}

fn units(runs: &Runs, share: Share) -> Table {
    let (name, title) = match share {
        Share::Total => ("units", "Gain of compute units over one, best form, modelled"),
        Share::OfOne => ("units_each", "What a unit among N does of one alone, modelled"),
    };
    let mut table = Table::new(name, title, &[("units", "units")]);
    table.columns.extend(Kernel::ALL.map(by_kernel));
    if share == Share::OfOne {
        table.columns.push(Column { name: "one_by_n".to_owned(), heading: "1 / N".to_owned() });
    }
    for units in 1..=UNITS_MAX {
        let mut row = vec![Cell::text(units)];
        for kernel in Kernel::ALL {
            let gain = runs.units_gain(kernel, units);
            row.push(match share {
                Share::Total => Cell::number(gain, 2),
                Share::OfOne => Cell::number(gain.map(|gain| gain / f64::from(units)), 3),
            });
        }
        if share == Share::OfOne {
            row.push(Cell::Number(1.0 / f64::from(units), 3));
        }
        table.rows.push(row);
    }
    match share {
        Share::Total => {
            let mut study = vec![Cell::text("study, best")];
            study.extend(Kernel::ALL.map(|kernel| Cell::Number(study::units_gain(kernel), 1)));
            let mut errors = vec![Cell::text("error at 15")];
            errors.extend(Kernel::ALL.map(|kernel| {
                Cell::error(runs.units_gain(kernel, UNITS_MAX), Some(study::units_gain(kernel)))
            }));
            table.rows.extend([study, errors]);
            table.notes.push(
                "study: about five units for the light kernels, 15 for Array Merge".to_owned(),
            );
        }
        Share::OfOne => table.notes.push("study: falls with N, and stays above 1 / N".to_owned()),
    }
    table
}

fn by_kernel(kernel: Kernel) -> Column {
    let name = kernel.to_string().to_lowercase().replace(' ', "_");
    Column { name, heading: kernel.to_string() }
}

fn whole(runs: &Runs) -> Table {
    let columns = [
        ("kernel", "kernel"),
        ("form", "form"),
        ("study", "study"),
        ("modelled", "modelled"),
        ("error", "error"),
    ];
    let mut table = Table::new("all", "All that helps, over a plain loop on one unit", &columns);
    for kernel in Kernel::ALL {
        let study = study::whole_gain(kernel);
        let gain = runs.whole_gain(kernel, UNITS_MAX);
        let form = match best(kernel, UNITS_MAX).buffer_bytes {
            None => "15 units",
            Some(_) => "buffer, 15 units",
        };
        table.rows.push(vec![
            Cell::text(kernel),
            Cell::text(form),
            Cell::Number(study, 1),
            Cell::number(gain, 2),
            Cell::error(gain, Some(study)),
        ]);
    }
    table
}

fn study_host(runs: &Runs) -> Table {
    let title =
        "The drive against one core of the study's host: times as fast, modelled by modelled";
    let columns = [("kernel", "kernel"), ("host_cycles", "host cycles an element")];
    let mut table = Table::new("study_host", title, &columns);
    table.columns.extend(
        HOST_GHZ.map(|ghz| Column { name: format!("ghz_{ghz}"), heading: format!("{ghz:.1} GHz") }),
    );
    for kernel in Kernel::ALL {
        let cycles = 1.0 / runs.parameters.host_elements_per_s(kernel, 1.0);
        let mut row = vec![Cell::text(kernel), Cell::Number(cycles, 1)];
        row.extend(
            HOST_GHZ.map(|ghz| Cell::number(runs.against_host(best(kernel, UNITS_MAX), ghz), 2)),
        );
        table.rows.push(row);
        let study = study::against_host(kernel);
        if study.is_empty() {
            continue;
        }
        let at = |ghz| study.iter().find(|(at, _)| *at == ghz).map(|(_, ratio)| *ratio);
        let mut row = vec![Cell::text(format!("{kernel}, study")), Cell::Nothing];
        row.extend(HOST_GHZ.map(|ghz| Cell::number(at(ghz), 2)));
        table.rows.push(row);
    }
    table.notes.push(
        "cycles are those that the study's figures imply: its host ran unoptimised code".to_owned(),
    );
    table
}

/// One that does a measured job as well.
struct Contender {
    name: String,
    kernel: Kernel,
    elements_per_s: Option<f64>,
}

fn measured_host(runs: &Runs, host: &Host) -> Table {
    let contender = |kernel: Kernel| Contender {
        name: kernel.to_string(),
        kernel,
        elements_per_s: runs.elements_per_s(best(kernel, UNITS_MAX)),
    };
    let contenders = Kernel::ALL.map(contender);
    against_measured(("measured_host", "The study's drive"), host, &contenders)
}

fn measured_fast(fast: &Fast, host: &Host) -> Table {
    let contender = |job: Job| Contender {
        name: describe(job),
        kernel: job.kernel(),
        elements_per_s: fast.enough(job).map(|enough| enough.elements_per_s),
    };
    let contenders = Job::ALL.map(contender);
    let mut table = against_measured(("measured_fast", "The fast set"), host, &contenders);
    table.notes.push("the loop of Array Merge leaves one array".to_owned());
    table
}

fn against_measured(
    (name, who): (&'static str, &str),
    host: &Host,
    contenders: &[Contender],
) -> Table {
    let columns = [
        ("kernel", "kernel"),
        ("host_elements_per_s_measured", "this host, measured, M/s"),
        ("host_elements_per_s_measured_max", "fastest sample, M/s"),
        ("drive_elements_per_s_modelled", "the drive, modelled, M/s"),
        ("modelled_by_measured", "modelled by measured"),
        ("drive_is", "the drive is"),
    ];
    let title = format!(
        "{who} against the best loop of one core of this machine ({}), median of {}",
        host.processor, host.samples
    );
    let mut table = Table::new(name, title, &columns);
    let mut lost = Vec::new();
    for Contender { name, kernel, elements_per_s } in contenders {
        let Some(measured) = host.loops.iter().find(|measured| measured.kernel == *kernel) else {
            continue;
        };
        let ratio = elements_per_s.map(|drive| drive / measured.elements_per_s());
        let is_ahead = ratio.is_some_and(|ratio| ratio > 1.0);
        if !is_ahead {
            lost.push(name.as_str());
        }
        table.rows.push(vec![
            Cell::text(name),
            Cell::Number(measured.elements_per_s() / 1e6, 0),
            Cell::Number(measured.elements_per_s_max() / 1e6, 0),
            Cell::number(elements_per_s.map(|drive| drive / 1e6), 0),
            Cell::number(ratio, 2),
            Cell::text(if is_ahead { "ahead" } else { "behind" }),
        ]);
    }
    if host.was_busy() {
        let note = "the machine was busy with something else: its figures are too low";
        table.notes.push(note.to_owned());
    }
    table.notes.push(match lost.as_slice() {
        [] => format!("{who} loses to this host in none of them"),
        _ => format!("{who} loses to this host in: {}", lost.join("; ")),
    });
    table.notes.push(
        "arrays are in the memory of either; the way of the data there is not counted".to_owned(),
    );
    table
}

#[cfg(test)]
mod tests;
