// SPDX-License-Identifier: Apache-2.0
//! Makes the six charts, from the same figures as the tables.
//!
//! The colours are those of Okabe and Ito, which are distinguishable with red-green colour
//! blindness. Count and Average touch the same bytes, so their lines coincide; one is dashed.

use nearscan_emulator::timing::{fast::Job, study::Kernel};
use nearscan_models::fast::Form;

use super::chart::{Axis, Bars, Chart, Line, Points, RGBColor, Scale, SeriesLabelPosition, Stroke};
use crate::{
    builds::{best, buffered, plain, sweep_bytes},
    fast::Fast,
    runs::Runs,
    study::{self, HOST_GHZ, UNITS_MAX},
};

const BLUE: RGBColor = RGBColor(0, 114, 178);
const ORANGE: RGBColor = RGBColor(230, 159, 0);
const GREEN: RGBColor = RGBColor(0, 158, 115);
const VERMILION: RGBColor = RGBColor(213, 94, 0);
const GREY: RGBColor = RGBColor(165, 165, 165);

/// All charts.
pub(super) fn all(runs: &Runs, fast: &Fast) -> [Chart; 6] {
    [sweep(runs), units(runs), units_each(runs), whole(runs), host(runs), fast_units(runs, fast)]
}

fn colour(kernel: Kernel) -> RGBColor {
    match kernel {
        Kernel::Count => BLUE,
        Kernel::Average => ORANGE,
        Kernel::VectorAddition => GREEN,
        Kernel::ArrayMerge => VERMILION,
    }
}

/// A line of a kernel through the points for which there is a figure.
fn line(kernel: Kernel, points: impl Iterator<Item = (f64, Option<f64>)>) -> Line {
    Line {
        label: kernel.to_string(),
        colour: colour(kernel),
        stroke: if kernel == Kernel::Average { Stroke::Dashed } else { Stroke::Solid },
        points: points.filter_map(|(x, y)| Some((x, y?))).collect(),
    }
}

fn study_points(kernel: Kernel, points: Vec<(f64, f64)>) -> Points {
    Points { colour: colour(kernel), points }
}

fn sweep(runs: &Runs) -> Chart {
    let kernel = Kernel::VectorAddition;
    let kib = |bytes: u64| bytes as f64 / 1024.0;
    let gain = |bytes| (kib(bytes), runs.gain(plain(kernel), buffered(kernel, bytes)));
    let study = sweep_bytes().filter_map(|bytes| Some((kib(bytes), study::sweep_gain(bytes)?)));
    let ours = Line { label: "modelled".to_owned(), ..line(kernel, sweep_bytes().map(gain)) };
    Chart {
        name: "buffer_sweep".to_owned(),
        title: format!("{kernel}: gain of a buffer over none (modelled)"),
        x: Axis {
            title: "buffer of a unit",
            scale: Scale::Log,
            ends: (0.85, 1200.0),
            ticks: sweep_bytes().map(kib).collect(),
            describe: |kib| if kib < 1024.0 { format!("{kib} KiB") } else { "1 MiB".to_owned() },
        },
        y: gain_axis((8.0, 12.0), (8..=12).map(f64::from).collect()),
        bars: Vec::new(),
        lines: vec![ours],
        study: vec![study_points(kernel, study.collect())],
        legend: SeriesLabelPosition::LowerMiddle,
    }
}

fn units_axis() -> Axis {
    Axis {
        title: "compute units",
        scale: Scale::Linear,
        ends: (0.5, 15.5),
        ticks: (1..=UNITS_MAX).map(f64::from).collect(),
        describe: |units| format!("{units:.0}"),
    }
}

fn gain_axis(ends: (f64, f64), ticks: Vec<f64>) -> Axis {
    let describe = |gain| format!("{gain:.0}");
    Axis { title: "times as fast", scale: Scale::Linear, ends, ticks, describe }
}

fn units(runs: &Runs) -> Chart {
    let ours = |kernel| {
        let gain = |units| (f64::from(units), runs.units_gain(kernel, units));
        line(kernel, (1..=UNITS_MAX).map(gain))
    };
    let study = |kernel| {
        let point = (f64::from(study::units_of_gain(kernel)), study::units_gain(kernel));
        study_points(kernel, vec![point])
    };
    Chart {
        name: "units".to_owned(),
        title: "Gain of compute units over one (modelled; study: best)".to_owned(),
        x: units_axis(),
        y: gain_axis((0.8, 5.4), (1..=5).map(f64::from).collect()),
        bars: Vec::new(),
        lines: Kernel::ALL.map(ours).into(),
        study: Kernel::ALL.map(study).into(),
        legend: SeriesLabelPosition::UpperRight,
    }
}

fn units_each(runs: &Runs) -> Chart {
    let each = |kernel| {
        let share = |units| {
            let count = f64::from(units);
            (count, runs.units_gain(kernel, units).map(|gain| gain / count))
        };
        line(kernel, (1..=UNITS_MAX).map(share))
    };
    let bound = Line {
        label: "1 / N, study: all stay above".to_owned(),
        colour: GREY,
        stroke: Stroke::Dashed,
        points: (1..=UNITS_MAX).map(f64::from).map(|units| (units, 1.0 / units)).collect(),
    };
    Chart {
        name: "units_each".to_owned(),
        title: "What a unit among N does of one alone (modelled)".to_owned(),
        x: units_axis(),
        y: Axis {
            title: "share of one unit alone",
            scale: Scale::Linear,
            ends: (0.0, 1.05),
            ticks: (0..=5).map(|fifth| f64::from(fifth) / 5.0).collect(),
            describe: |share| format!("{share:.1}"),
        },
        bars: Vec::new(),
        lines: std::iter::once(bound).chain(Kernel::ALL.map(each)).collect(),
        study: Vec::new(),
        legend: SeriesLabelPosition::UpperRight,
    }
}

fn whole(runs: &Runs) -> Chart {
    const WIDTH: f64 = 0.36;
    let middles = || (0..).map(f64::from).zip(Kernel::ALL);
    let study = middles().map(|(x, kernel)| (x - WIDTH / 2.0, study::whole_gain(kernel)));
    let ours = middles()
        .filter_map(|(x, kernel)| Some((x + WIDTH / 2.0, runs.whole_gain(kernel, UNITS_MAX)?)));
    let bars =
        |label: &str, colour, bars| Bars { label: label.to_owned(), colour, width: WIDTH, bars };
    Chart {
        name: "combined".to_owned(),
        title: "All that helps, over a plain loop on one unit (modelled)".to_owned(),
        x: Axis {
            title: "kernel",
            scale: Scale::Linear,
            ends: (-0.6, 3.6),
            ticks: middles().map(|(x, _)| x).collect(),
            describe: |place| {
                let nearest = (0..).map(f64::from).zip(Kernel::ALL);
                let mut named = nearest.filter(|(x, _)| (x - place).abs() < 0.5);
                named.next().map_or_else(String::new, |(_, kernel)| kernel.to_string())
            },
        },
        y: gain_axis((0.0, 32.0), (0..=6).map(|tick| f64::from(tick) * 5.0).collect()),
        bars: vec![bars("study", GREY, study.collect()), bars("modelled", BLUE, ours.collect())],
        lines: Vec::new(),
        study: Vec::new(),
        legend: SeriesLabelPosition::UpperLeft,
    }
}

fn host(runs: &Runs) -> Chart {
    let ours = |kernel| {
        let ratio = |ghz| (ghz, runs.against_host(best(kernel, UNITS_MAX), ghz));
        line(kernel, HOST_GHZ.into_iter().map(ratio))
    };
    let even = Line {
        label: "as fast as the host".to_owned(),
        colour: GREY,
        stroke: Stroke::Dashed,
        points: vec![(HOST_GHZ[0], 1.0), (HOST_GHZ[HOST_GHZ.len() - 1], 1.0)],
    };
    let with_points =
        Kernel::ALL.into_iter().filter(|kernel| !study::against_host(*kernel).is_empty());
    let study = |kernel| study_points(kernel, study::against_host(kernel).to_vec());
    Chart {
        name: "host_clock".to_owned(),
        title: "The drive against one core of the study's host (modelled)".to_owned(),
        x: Axis {
            title: "clock of the host, GHz",
            scale: Scale::Log,
            ends: (0.72, 5.2),
            ticks: HOST_GHZ.to_vec(),
            describe: |ghz| format!("{ghz:.1}"),
        },
        y: Axis {
            title: "drive / host, times as fast",
            scale: Scale::Log,
            ends: (0.04, 60.0),
            ticks: vec![0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0],
            describe: |ratio| format!("{}", (ratio * 100.0).round() / 100.0),
        },
        bars: Vec::new(),
        lines: std::iter::once(even).chain(Kernel::ALL.map(ours)).collect(),
        study: with_points.map(study).collect(),
        legend: SeriesLabelPosition::UpperRight,
    }
}

fn fast_units(runs: &Runs, fast: &Fast) -> Chart {
    let merges = [
        (Form::Segments, GREEN, "a segment of each unit"),
        (Form::OneArray, VERMILION, "one array"),
    ];
    let places = || (1..=UNITS_MAX).map(|units| (f64::from(units), units));
    let mut lines = Vec::new();
    for (form, colour, label) in merges {
        let profile = |units| fast.profile(Job::ArrayMerge(form), units);
        let rate = |(x, units)| Some((x, profile(units)?.elements_per_s / 1e9));
        lines.push(Line {
            label: label.to_owned(),
            colour,
            stroke: Stroke::Solid,
            points: places().filter_map(rate).collect(),
        });
        let limit = |(x, units)| {
            let profile = profile(units)?;
            Some((x, profile.elements_per_s / profile.bank_share() / 1e9))
        };
        lines.push(Line {
            label: format!("the bank's limit, {label}"),
            colour,
            stroke: Stroke::Dashed,
            points: places().filter_map(limit).collect(),
        });
    }
    let fastest = HOST_GHZ[HOST_GHZ.len() - 1];
    let host = runs.parameters.host_elements_per_s(Kernel::ArrayMerge, fastest * 1e9) / 1e9;
    lines.push(Line {
        label: format!("the study's host at {fastest} GHz"),
        colour: GREY,
        stroke: Stroke::Dashed,
        points: places().map(|(x, _)| (x, host)).collect(),
    });
    Chart {
        name: "fast_units".to_owned(),
        title: "The fast set's Array Merge over compute units (modelled)".to_owned(),
        x: units_axis(),
        y: Axis {
            title: "G elements/s of both inputs",
            scale: Scale::Linear,
            ends: (0.0, 2.6),
            ticks: (0..=5).map(|half| f64::from(half) / 2.0).collect(),
            describe: |rate| format!("{rate:.1}"),
        },
        bars: Vec::new(),
        lines,
        study: Vec::new(),
        legend: SeriesLabelPosition::UpperLeft,
    }
}
