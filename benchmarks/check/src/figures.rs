// SPDX-License-Identifier: Apache-2.0
//! Figures: what is made of times, and what the model has for it.
//!
//! ```text
//! setup   alone(nothing) - queued(nothing) x units            a start that nothing hides
//! start   queued(nothing) x units                             a start between two others
//! media   bytes / (alone(bytes) - alone(nothing))             one request
//!         bytes / queued(bytes)                               requests in flight
//! link    bytes / (hidden(result) - hidden(count)), hidden = alone - queued x units
//! kernel  turns / (queued(filter) - queued(nothing)) / units
//! ```
//!
//! A batch takes as long as what is busiest in it. For the media that is at least what the figure
//! says. For the link it is the kernel that is to be the busiest, as in the model, which writes a
//! result more slowly than the link takes it: what the link takes is then hidden by other commands.
//! What times hold beside a parameter is subtracted as the model has it; `how` names it.

use std::path::Path;

use nearscan_command::requests::REQUEST_BYTES_MAX;
use nearscan_command::{Counters, ResultHeader};
use nearscan_drive::{Drive, Modelled};
use nearscan_emulator::Build;
use nearscan_emulator::timing::Parameters;

use crate::Watch;
use crate::bench::{Alone, Bench, Queued, to_f64};
use crate::error::Result;
use crate::job::{FILTER_ROWS, Job};
use crate::observed::Observed;
use crate::report::Left;

/// Bytes of a result that is one count: its header, a block's, validity and 16 bytes.
const COUNT_BYTES: u64 = ResultHeader::BYTES + 16 + 8 + 16;

/// Whether a figure can be put into the model as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It is a parameter of the model.
    Parameter,
    /// It is what the model expects of the same commands.
    Expectation,
}

/// A figure of a drive beside the model's.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Name, the unit last; of a parameter its name in the model.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// Whether it is a parameter.
    pub role: Role,
    /// What the model has.
    pub model: f64,
    /// What was found.
    pub found: Observed,
    /// How.
    pub how: &'static str,
}

/// A size of reads.
struct Size {
    bytes: u64,
    /// Commands of the smaller batch.
    commands: u32,
    alone: &'static str,
    overlapped: &'static str,
}

const SIZES: [Size; 4] = [
    Size {
        bytes: 4 << 10,
        commands: 32,
        alone: "p2p_4_kib_bytes_per_s",
        overlapped: "overlapped_4_kib_bytes_per_s",
    },
    Size {
        bytes: 64 << 10,
        commands: 32,
        alone: "p2p_64_kib_bytes_per_s",
        overlapped: "overlapped_64_kib_bytes_per_s",
    },
    Size {
        bytes: 1 << 20,
        commands: 16,
        alone: "p2p_1_mib_bytes_per_s",
        overlapped: "overlapped_1_mib_bytes_per_s",
    },
    Size {
        bytes: 4 << 20,
        commands: 8,
        alone: "alone_4_mib_bytes_per_s",
        overlapped: "media_bytes_per_s",
    },
];

/// Commands of the smaller batch of empty scans.
const EMPTY_COMMANDS: u32 = 64;

/// Commands of the smaller batch of results and of filters.
const HEAVY_COMMANDS: u32 = 4;

/// What the micro-benchmarks found so far.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// The figures.
    pub(crate) figures: Vec<Figure>,
    /// Those that had to be left out.
    pub(crate) left: Vec<Left>,
}

impl Found {
    fn leave(&mut self, names: &[&'static str], reason: &str) {
        self.left.extend(names.iter().map(|name| Left::new(name, reason)));
    }
}

/// Runs the micro-benchmarks of a drive. What was found before an error stays in `found`.
pub(crate) fn measure(
    drive: &dyn Drive,
    folder: &Path,
    found: &mut Found,
    watch: &mut Watch<'_>,
) -> Result<()> {
    let formulas = Formulas::new(drive.snapshot().lanes);
    let mut bench = Bench::open(drive, watch)?;
    let nothing = Job::nothing()?;
    let empty = (bench.alone(&nothing)?, bench.queued(&nothing, EMPTY_COMMANDS)?);
    found.figures.extend([formulas.setup(&empty), formulas.start(&empty.1)]);
    media(&mut bench, &formulas, (folder, &empty.0), found)?;
    link(&mut bench, &formulas, folder, found)?;
    kernel(&mut bench, &formulas, (folder, &empty.1), found)
}

fn media(
    bench: &mut Bench<'_, '_>,
    formulas: &Formulas,
    (folder, empty): (&Path, &Alone),
    found: &mut Found,
) -> Result<()> {
    let mut overlapped = Vec::new();
    for size in &SIZES {
        let names = [size.alone, size.overlapped];
        let job = Job::reading(bench.drive, folder, size.bytes)?;
        if let Some(reason) = job.refused_by(bench.drive) {
            found.leave(&names, &reason);
            continue;
        }
        let alone = bench.alone(&job)?;
        if alone.told.traffic.media_bytes < size.bytes {
            found.leave(&names, "the drive reads no more of its input than the column");
            continue;
        }
        found.figures.push(formulas.read_alone(size, &alone, empty));
        overlapped.push(formulas.read_overlapped(size, &bench.queued(&job, size.commands)?));
    }
    found.figures.append(&mut overlapped);
    let cut = "a drive cuts its reads into requests of at most 1 MiB";
    found.leave(&["p2p_4_mib_bytes_per_s"], cut);
    Ok(())
}

fn link(
    bench: &mut Bench<'_, '_>,
    formulas: &Formulas,
    folder: &Path,
    found: &mut Found,
) -> Result<()> {
    const NAME: &str = "link_bytes_per_s";
    let [rows, count] = Job::sending(bench.drive, folder)?;
    if let Some(reason) = rows.refused_by(bench.drive) {
        found.leave(&[NAME], &reason);
        return Ok(());
    }
    let rows = (bench.alone(&rows)?, bench.queued(&rows, HEAVY_COMMANDS)?);
    if rows.1.told.traffic.link_bytes == 0 {
        found.leave(&[NAME], "the drive sends nothing over a link");
        return Ok(());
    }
    let count = (bench.alone(&count)?, bench.queued(&count, HEAVY_COMMANDS)?);
    found.figures.push(formulas.link(NAME, &rows, &count));
    Ok(())
}

fn kernel(
    bench: &mut Bench<'_, '_>,
    formulas: &Formulas,
    (folder, empty): (&Path, &Queued),
    found: &mut Found,
) -> Result<()> {
    const NAMES: [&str; 2] = ["filter_rows_per_s", "clock_hz"];
    let job = Job::filtering(bench.drive, folder)?;
    if let Some(reason) = job.refused_by(bench.drive) {
        found.leave(&NAMES, &reason);
        return Ok(());
    }
    let queued = bench.queued(&job, HEAVY_COMMANDS)?;
    if busiest_turns(&queued.told.counters) == 0 {
        found.leave(&NAMES, "the drive counts no turns of a kernel");
        return Ok(());
    }
    found.figures.extend(formulas.kernel(NAMES, &queued, empty));
    Ok(())
}

/// Turns of the loop of a kernel that made most of them while rows flowed.
fn busiest_turns(counters: &Counters) -> u32 {
    let Counters { decode_turns_lane_max, filter_turns, project_turns, .. } = *counters;
    let turns = [decode_turns_lane_max, filter_turns, project_turns];
    turns.into_iter().chain([counters.aggregate_turns, counters.write_turns]).fold(0, u32::max)
}

/// Makes figures of times, for a drive with so many compute units.
struct Formulas {
    model: Parameters,
    units: u32,
}

impl Formulas {
    fn new(units: u32) -> Self {
        Self { model: Parameters::default(), units: units.max(1) }
    }

    fn setup(&self, (alone, queued): &(Alone, Queued)) -> Figure {
        let (units, latency_ns) = (f64::from(self.units), self.model.link_latency_ns);
        let rest = |alone: f64, [each]: [f64; 1]| alone - each * units - latency_ns;
        Figure {
            name: "setup_ns",
            unit: "ns",
            role: Role::Parameter,
            model: self.model.setup_ns,
            found: alone.here.with([&queued.each], rest),
            how: "an empty scan alone, less one of many in flight and link_latency_ns",
        }
    }

    fn start(&self, queued: &Queued) -> Figure {
        let fill_ns = self.model.fill_cycles / self.model.clock_hz * 1e9;
        Figure {
            name: "start_ns",
            unit: "ns",
            role: Role::Parameter,
            model: self.model.start_ns,
            found: queued.each.map(|each| each * f64::from(self.units) - fill_ns),
            how: "each of many empty scans in flight, less fill_cycles",
        }
    }

    fn read_alone(&self, size: &Size, alone: &Alone, empty: &Alone) -> Figure {
        let bytes = to_f64(size.bytes);
        let rate = |alone: f64, [empty]: [f64; 1]| bytes / (alone - empty) * 1e9;
        let expected = self.read(size.bytes);
        let media_ns = to_f64(expected.media_ns + expected.setup_ns) - self.model.setup_ns;
        let (role, model) = self.in_the_model(size.alone, bytes / media_ns * 1e9);
        Figure {
            name: size.alone,
            unit: "B/s",
            role,
            model,
            found: alone.drive.with([&empty.drive], rate),
            how: "a scan that reads as much, alone, less an empty one",
        }
    }

    fn read_overlapped(&self, size: &Size, queued: &Queued) -> Figure {
        let bytes = to_f64(size.bytes);
        let expected = bytes / self.busiest_ns(&self.read(size.bytes)) * 1e9;
        let (role, model) = self.in_the_model(size.overlapped, expected);
        Figure {
            name: size.overlapped,
            unit: "B/s",
            role,
            model,
            found: queued.each.map(|each| bytes / each * 1e9),
            how: match role {
                Role::Parameter => "scans that read 4 MiB, many in flight",
                Role::Expectation => "scans that read as much, many in flight",
            },
        }
    }

    /// The parameter of that name, or what the model expects if it has none.
    fn in_the_model(&self, name: &str, expected: f64) -> (Role, f64) {
        let table = self.model.table();
        match table.iter().find(|parameter| parameter.name == name) {
            Some(parameter) => (Role::Parameter, parameter.value),
            None => (Role::Expectation, expected),
        }
    }

    fn link(&self, name: &'static str, rows: &(Alone, Queued), count: &(Alone, Queued)) -> Figure {
        let sent = [rows, count].map(|(_, queued)| queued.told.traffic.link_bytes);
        let bytes = to_f64(sent[0].saturating_sub(sent[1]));
        let units = f64::from(self.units);
        let rate = |alone: f64, [each, alone_count, each_count]: [f64; 3]| {
            bytes / ((alone - each * units) - (alone_count - each_count * units)) * 1e9
        };
        let others = [&rows.1.each, &count.0.here, &count.1.each];
        Figure {
            name,
            unit: "B/s",
            role: Role::Parameter,
            model: self.model.link_bytes_per_s,
            found: rows.0.here.with(others, rate),
            how: "a result of 4 MiB alone, less one of several in flight, less the same of a count",
        }
    }

    fn kernel(&self, names: [&'static str; 2], queued: &Queued, empty: &Queued) -> [Figure; 2] {
        let (rows, units) = (f64::from(FILTER_ROWS), f64::from(self.units));
        let turns = f64::from(busiest_turns(&queued.told.counters));
        let rate = |amount: f64| {
            let each = |each: f64, [empty]: [f64; 1]| amount / (each - empty) / units * 1e9;
            queued.each.with([&empty.each], each)
        };
        let [rows_name, clock_name] = names;
        [
            Figure {
                name: rows_name,
                unit: "rows/s",
                role: Role::Expectation,
                model: rows * self.model.clock_hz / turns,
                found: rate(rows),
                how: "a wide filter on one unit, several in flight, less empty scans",
            },
            Figure {
                name: clock_name,
                unit: "Hz",
                role: Role::Parameter,
                model: self.model.clock_hz,
                found: rate(turns),
                how: "the same, by the turns that the kernel counts",
            },
        ]
    }

    /// What the model expects of a read, alone.
    fn read(&self, bytes: u64) -> Modelled {
        let requests = (0..bytes.div_ceil(REQUEST_BYTES_MAX))
            .map(|request| (bytes - request * REQUEST_BYTES_MAX).min(REQUEST_BYTES_MAX));
        let build = Build { scan_units: self.units, ..nearscan_emulator::Config::default().build };
        let scan = self.model.scan(&build, requests, &Counters::default());
        Modelled { link_ns: self.model.link_ns(COUNT_BYTES), ..scan }
    }

    /// What one of many such commands takes of the busiest resource.
    fn busiest_ns(&self, command: &Modelled) -> f64 {
        let kernel_ns = command.kernel_ns / u64::from(self.units);
        to_f64(command.media_ns.max(kernel_ns).max(command.link_ns))
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::bench::Told;
    use crate::observed::MeasuredSamples;

    fn measured(samples: &[f64]) -> Observed {
        let measured = MeasuredSamples::new(samples.iter().copied());
        Observed { measured, ..Observed::default() }
    }

    fn alone(here: &[f64], drive: &[f64]) -> Alone {
        Alone { here: measured(here), drive: measured(drive), told: Told::default() }
    }

    fn queued(each: &[f64], told: Told) -> Queued {
        Queued { each: measured(each), told }
    }

    fn sent(link_bytes: u64) -> Told {
        let traffic = nearscan_drive::Traffic { link_bytes, ..Default::default() };
        Told { traffic, ..Told::default() }
    }

    #[track_caller]
    fn assert_found(figure: &Figure, expected: f64) {
        let value = figure.found.measured.value().unwrap();
        assert!((value / expected - 1.0).abs() < 1e-9, "{value}, not {expected}");
        assert_eq!(figure.found.modelled.value(), None);
    }

    #[test]
    fn setup_is_what_other_commands_hide() {
        let times = (alone(&[95e3, 90e3, 99e3], &[]), queued(&[15e3], Told::default()));
        // Two units take 30 us each, and the link 10.
        assert_found(&Formulas::new(2).setup(&times), 55e3);
    }

    #[test]
    fn start_is_what_a_unit_takes_without_filling_its_pipeline() {
        let times = queued(&[8e3, 10e3, 11e3], Told::default());
        assert_found(&Formulas::new(3).start(&times), 30e3 - 2000.0 / 0.3);
    }

    #[rstest]
    #[case(0, 4096.0, Role::Parameter, 0.05e9)]
    #[case(1, 65_536.0, Role::Parameter, 0.87e9)]
    #[case(2, 1_048_576.0, Role::Parameter, 1.59e9)]
    // Four requests of 1 MiB, which together reach the peak.
    #[case(3, 4_194_304.0, Role::Expectation, 3.25e9)]
    fn a_read_alone_is_told_by_the_drives_own_clock(
        #[case] size: usize,
        #[case] bytes: f64,
        #[case] role: Role,
        #[case] model: f64,
    ) {
        let (read, empty) = (alone(&[9e9], &[50e3, 54e3, 52e3]), alone(&[1e9], &[12e3]));
        let figure = Formulas::new(1).read_alone(&SIZES[size], &read, &empty);
        assert_found(&figure, bytes / 40e-6);
        assert_eq!(figure.role, role);
        assert!((figure.model / model - 1.0).abs() < 1e-4, "{}", figure.model);
    }

    #[rstest]
    // A unit takes 11667 ns to start.
    #[case(0, 4096.0, Role::Expectation, 4096.0 / 11_667e-9)]
    #[case(2, 1_048_576.0, Role::Expectation, 3.25e9)]
    #[case(3, 4_194_304.0, Role::Parameter, 3.25e9)]
    fn reads_in_flight_are_as_fast_as_their_batch(
        #[case] size: usize,
        #[case] bytes: f64,
        #[case] role: Role,
        #[case] model: f64,
    ) {
        let figure =
            Formulas::new(1).read_overlapped(&SIZES[size], &queued(&[2e6], Told::default()));
        assert_found(&figure, bytes / 2e-3);
        assert_eq!(figure.role, role);
        assert!((figure.model / model - 1.0).abs() < 1e-4, "{}", figure.model);
    }

    #[test]
    fn the_link_takes_what_other_commands_hide_of_a_large_result() {
        let rows = (alone(&[6e6], &[]), queued(&[2e6], sent(4_000_300)));
        let count = (alone(&[1.1e6], &[]), queued(&[0.5e6], sent(300)));
        // Hidden are 2 ms of the rows and 0.1 ms of the count.
        assert_found(&Formulas::new(2).link("link_bytes_per_s", &rows, &count), 4e6 / 1.9e-3);
    }

    #[test]
    fn the_clock_is_the_turns_of_the_busiest_loop_a_second() {
        let counters =
            Counters { filter_turns: 90_000, decode_turns_lane_max: 65_536, ..Counters::default() };
        let filter = queued(&[160e3], Told { counters, ..Told::default() });
        let empty = queued(&[10e3], Told::default());
        let [rows, clock] = Formulas::new(2).kernel(["rows", "clock"], &filter, &empty);
        assert_found(&clock, 90_000.0 / 300e-6);
        assert_found(&rows, 131_072.0 / 300e-6);
        assert!((rows.model / (131_072.0 / 90_000.0 * 300e6) - 1.0).abs() < 1e-9);
        assert_eq!((rows.role, clock.role), (Role::Expectation, Role::Parameter));
    }
}
