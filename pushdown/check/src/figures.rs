// SPDX-License-Identifier: Apache-2.0
//! Derives figures from times, with the model's value for each.
//!
//! ```text
//! busy    (queued(small filter) - its rows x ns a row) x units    a unit with an empty scan
//! trip    alone(nothing)                                          a command that scans no column
//! setup   alone(nothing) - busy                                   a start that nothing hides
//! start   busy                                                    a start between two others
//! kernel  iterations / (queued(large filter) - queued(small filter)) / units
//! media   bytes / (alone(bytes) - alone(nothing))                 one request
//!         bytes / queued(bytes)                                   requests in flight
//! link    bytes / (alone(result) - alone(count) - iterations / clock)
//! ```
//!
//! The time of a batch is that of its busiest resource. For filters that is the kernel; empty scans
//! would wait for the link. For the media the figure is a lower limit. Other parts of a time are
//! subtracted with the model's values; `how` names them.

use std::path::Path;

use nearscan_command::{Counters, ResultHeader, requests::REQUEST_BYTES_MAX};
use nearscan_drive::{Drive, Modelled};
use nearscan_emulator::{Build, timing::Parameters};

use crate::{
    bench::{Alone, Bench, Queued, Watch, to_f64},
    error::Result,
    job::{FILTER_ROWS, Job},
    observed::Observed,
};

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
    /// The model's value.
    pub model: f64,
    /// The value that was found.
    pub found: Observed,
    /// How.
    pub how: &'static str,
}

/// A figure that could not be found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// Its name.
    pub name: &'static str,
    /// The reason.
    pub reason: String,
}

impl Left {
    fn new(name: &'static str, reason: &str) -> Self {
        Self { name, reason: reason.to_owned() }
    }
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

/// Commands of the smaller batch of filters, and of empty scans.
const FILTER_COMMANDS: u32 = 16;

/// The figures of the micro-benchmarks so far.
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

/// Runs the micro-benchmarks of a drive. Figures from before an error stay in `found`.
pub(crate) fn measure(
    drive: &dyn Drive,
    folder: &Path,
    found: &mut Found,
    watch: &mut Watch<'_>,
) -> Result<()> {
    let formulas = Formulas::new(drive.snapshot().lanes);
    let mut bench = Bench::open(drive, watch)?;
    let nothing = Job::nothing()?;
    let empty = bench.alone(&nothing)?;
    found.figures.push(formulas.round_trip(&empty));
    let queued = match formulas.start_shows() {
        true => Some(bench.queued(&nothing, FILTER_COMMANDS)?.each),
        false => None,
    };
    found.figures.push(formulas.setup(&empty, queued.as_ref()));
    match &queued {
        Some(each) => found.figures.push(formulas.start(each)),
        None => found.leave(&["start_ns"], "the link hides it: its results take longer"),
    }
    let clock = kernel(&mut bench, &formulas, folder, found)?;
    media(&mut bench, &formulas, (folder, &empty), found)?;
    link(&mut bench, &formulas, (folder, clock.as_ref()), found)
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

/// The figures of a kernel from filters; returns the clock, if they determine it.
fn kernel(
    bench: &mut Bench<'_, '_>,
    formulas: &Formulas,
    folder: &Path,
    found: &mut Found,
) -> Result<Option<Figure>> {
    const RATES: [&str; 2] = ["filter_rows_per_s", "clock_hz"];
    let [small, large] = FILTER_ROWS;
    let small = Job::filtering(bench.drive, folder, small)?;
    if let Some(reason) = small.refused_by(bench.drive) {
        found.leave(&RATES, &reason);
        return Ok(None);
    }
    let large = Job::filtering(bench.drive, folder, large)?;
    let small = bench.queued(&small, FILTER_COMMANDS)?;
    let large = bench.queued(&large, FILTER_COMMANDS)?;
    if busiest_iterations(&large.told.counters) == 0 {
        found.leave(&RATES, "the drive counts no iterations of a kernel");
        return Ok(None);
    }
    let [rows, clock] = formulas.kernel(&small, &large);
    found.figures.extend([rows, clock.clone()]);
    Ok(Some(clock))
}

fn link(
    bench: &mut Bench<'_, '_>,
    formulas: &Formulas,
    (folder, clock): (&Path, Option<&Figure>),
    found: &mut Found,
) -> Result<()> {
    const NAME: &str = "link_bytes_per_s";
    let [rows, count] = Job::sending(bench.drive, folder)?;
    if let Some(reason) = rows.refused_by(bench.drive) {
        found.leave(&[NAME], &reason);
        return Ok(());
    }
    let rows = bench.alone(&rows)?;
    match clock {
        _ if rows.told.traffic.link_bytes == 0 => {
            found.leave(&[NAME], "the drive sends nothing over a link");
        }
        None => found.leave(&[NAME], "clock_hz is left out"),
        Some(clock) => found.figures.push(formulas.link(&rows, &bench.alone(&count)?, clock)),
    }
    Ok(())
}

/// Iterations of the loop of a kernel that made most of them while rows flowed.
fn busiest_iterations(counters: &Counters) -> u32 {
    let Counters { decode_iterations_lane_max, filter_iterations, project_iterations, .. } =
        *counters;
    let iterations = [decode_iterations_lane_max, filter_iterations, project_iterations];
    iterations
        .into_iter()
        .chain([counters.aggregate_iterations, counters.write_iterations])
        .fold(0, u32::max)
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

    fn round_trip(&self, alone: &Alone) -> Figure {
        Figure {
            name: "round_trip_ns",
            unit: "ns",
            role: Role::Expectation,
            model: to_f64(self.read(0).serial_ns()),
            found: alone.here.clone(),
            how: "an empty scan alone, from its submission until its result is here",
        }
    }

    /// What a unit takes for filling its pipeline, in ns.
    fn fill_ns(&self) -> f64 {
        self.model.fill_cycles / self.model.clock_hz * 1e9
    }

    /// Whether empty scans in flight wait for units to start. A unit starts a command while the
    /// rows of the one before flow, so those of others hide it.
    fn start_shows(&self) -> bool {
        let empty = self.read(0);
        empty.kernel.interval_ns / u64::from(self.units) > empty.media_ns.max(empty.link_ns)
    }

    /// A unit takes of an empty scan what one of many in flight takes, or what the model says.
    fn setup(&self, alone: &Alone, each: Option<&Observed>) -> Figure {
        let (units, latency_ns) = (f64::from(self.units), self.model.link_latency_ns);
        let busy_ns = self.model.start_ns + self.fill_ns();
        Figure {
            name: "setup_ns",
            unit: "ns",
            role: Role::Parameter,
            model: self.model.setup_ns,
            found: match each {
                Some(each) => {
                    alone.here.with([each], |alone, [each]| alone - each * units - latency_ns)
                }
                None => alone.here.map(|alone| alone - busy_ns - latency_ns),
            },
            how: "an empty scan alone, less what it takes of a unit and link_latency_ns",
        }
    }

    fn start(&self, each: &Observed) -> Figure {
        let (units, fill_ns) = (f64::from(self.units), self.fill_ns());
        Figure {
            name: "start_ns",
            unit: "ns",
            role: Role::Parameter,
            model: self.model.start_ns,
            found: each.map(|each| each * units - fill_ns),
            how: "empty scans in flight, less fill_cycles",
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

    fn link(&self, rows: &Alone, count: &Alone, clock: &Figure) -> Figure {
        let more = |what: fn(&Alone) -> u64| to_f64(what(rows).saturating_sub(what(count)));
        let bytes = more(|alone| alone.told.traffic.link_bytes);
        let iterations = more(|alone| busiest_iterations(&alone.told.counters).into());
        let rate = |rows: f64, [count, clock_hz]: [f64; 2]| {
            bytes / (rows - count - iterations / clock_hz * 1e9) * 1e9
        };
        Figure {
            name: "link_bytes_per_s",
            unit: "B/s",
            role: Role::Parameter,
            model: self.model.link_bytes_per_s,
            found: rows.here.with([&count.here, &clock.found], rate),
            how: "a result of 4 MiB alone, less a count of its rows and iterations at clock_hz",
        }
    }

    fn kernel(&self, small: &Queued, large: &Queued) -> [Figure; 2] {
        let [small_rows, large_rows] = FILTER_ROWS.map(f64::from);
        let iterations = |queued: &Queued| f64::from(busiest_iterations(&queued.told.counters));
        let (rows, iterations) = (large_rows - small_rows, iterations(large) - iterations(small));
        let rate = |amount: f64| {
            let units = f64::from(self.units);
            let each = |large: f64, [small]: [f64; 1]| amount / (large - small) / units * 1e9;
            large.each.with([&small.each], each)
        };
        [
            Figure {
                name: "filter_rows_per_s",
                unit: "rows/s",
                role: Role::Expectation,
                model: rows * self.model.clock_hz / iterations,
                found: rate(rows),
                how: "rows that a large filter has more than a small one, of one unit",
            },
            Figure {
                name: "clock_hz",
                unit: "Hz",
                role: Role::Parameter,
                model: self.model.clock_hz,
                found: rate(iterations),
                how: "the same, by the iterations that the kernel counts",
            },
        ]
    }

    /// The modelled time of a read alone.
    fn read(&self, bytes: u64) -> Modelled {
        let requests = (0..bytes.div_ceil(REQUEST_BYTES_MAX))
            .map(|request| (bytes - request * REQUEST_BYTES_MAX).min(REQUEST_BYTES_MAX));
        let build =
            Build { scan_units: self.units, ..nearscan_emulator::Config::default().builds.first };
        let scan = self.model.scan(&build, requests, &Counters::default());
        Modelled { link_ns: self.model.link_ns(COUNT_BYTES), ..scan }
    }

    /// The time that one of many such commands takes of the busiest resource.
    fn busiest_ns(&self, command: &Modelled) -> f64 {
        let kernel_ns = command.kernel.interval_ns / u64::from(self.units);
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

    #[track_caller]
    fn assert_found(figure: &Figure, expected: f64) {
        let value = figure.found.measured.value().unwrap();
        assert!((value / expected - 1.0).abs() < 1e-9, "{value}, not {expected}");
        assert_eq!(figure.found.modelled.value(), None);
    }

    #[test]
    fn round_trip_is_an_empty_scan_with_its_overheads() {
        let figure = Formulas::new(1).round_trip(&alone(&[95e3, 90e3, 99e3], &[]));
        assert_found(&figure, 95e3);
        let parameters = Parameters::default();
        assert!(figure.model > parameters.setup_ns + parameters.start_ns, "{}", figure.model);
    }

    #[test]
    fn setup_is_the_rest_of_an_empty_scan() {
        let empty = alone(&[95e3, 90e3, 99e3], &[]);
        let figure = Formulas::new(1).setup(&empty, Some(&measured(&[30e3])));
        assert_found(&figure, 55e3);
        // 5 us to start, 2000 cycles of 3.3 ns, 10 us of latency.
        assert_found(&Formulas::new(2).setup(&empty, None), 80e3 - 2000.0 / 0.3);
    }

    #[test]
    fn start_excludes_the_filling_of_the_pipeline() {
        let each = measured(&[8e3, 10e3, 11e3]);
        assert_found(&Formulas::new(3).start(&each), 30e3 - 2000.0 / 0.3);
    }

    #[test]
    fn start_of_many_units_is_hidden_by_the_link() {
        assert!(Formulas::new(1).start_shows());
        assert!(!Formulas::new(2).start_shows());
    }

    #[rstest]
    #[case(0, 4096.0, Role::Parameter, 0.05e9)]
    #[case(1, 65_536.0, Role::Parameter, 0.87e9)]
    #[case(2, 1_048_576.0, Role::Parameter, 1.59e9)]
    // Four requests of 1 MiB, which together reach the peak.
    #[case(3, 4_194_304.0, Role::Expectation, 3.25e9)]
    fn single_read_is_timed_by_the_drives_clock(
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

    fn iterations(filter_iterations: u32, decode_iterations_lane_max: u32) -> Told {
        let counters =
            Counters { filter_iterations, decode_iterations_lane_max, ..Counters::default() };
        Told { counters, ..Told::default() }
    }

    #[test]
    fn clock_is_the_iterations_per_second_of_the_busiest_loop() {
        let small = queued(&[60e3], iterations(20_000, 16_384));
        let large = queued(&[160e3], iterations(80_000, 65_536));
        let [rows, clock] = Formulas::new(2).kernel(&small, &large);
        assert_found(&clock, 60_000.0 / 200e-6);
        assert_found(&rows, 98_304.0 / 200e-6);
        assert!((rows.model / (98_304.0 / 60_000.0 * 300e6) - 1.0).abs() < 1e-9);
        assert_eq!((rows.role, clock.role), (Role::Expectation, Role::Parameter));
    }

    #[test]
    fn link_bandwidth_excludes_kernel_time_of_a_large_result() {
        let sent = |link_bytes, told| {
            let traffic = nearscan_drive::Traffic { link_bytes, ..Default::default() };
            Told { traffic, ..told }
        };
        let rows = Alone { told: sent(4_000_300, iterations(400_000, 0)), ..alone(&[6e6], &[]) };
        let count = Alone { told: sent(300, iterations(0, 100_000)), ..alone(&[1e6], &[]) };
        let formulas = Formulas::new(2);
        let [_, clock] = formulas
            .kernel(&queued(&[1e5], iterations(0, 0)), &queued(&[2e5], iterations(20_000, 0)));
        // 300,000 iterations at 100 MHz are 3 of the 5 ms.
        assert_found(&formulas.link(&rows, &count, &clock), 4e6 / 2e-3);
    }
}
