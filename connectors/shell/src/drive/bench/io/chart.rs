// SPDX-License-Identifier: Apache-2.0
//! Makes a chart of each case: the rate of every way over the requests in flight. What has one
//! request in flight is a level line; `fio` is dashed.

use nearscan_io::bench::{Case, Mode};
use nearscan_kernels::plot::chart::{
    Axis, Chart, Line, RGBColor, Scale, SeriesLabelPosition, Stroke,
};

use super::report::{MODES, Report, megabytes, name, order};

/// Steps between the labels of the upward axis, in GB/s, from which the first that leads to at most
/// [`TICKS_MAX`] is taken.
const STEPS: [f64; 8] = [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0];
const TICKS_MAX: f64 = 8.0;

/// The charts of all cases.
pub(super) fn all(report: &Report) -> Vec<Chart> {
    report.plan.cases.iter().map(|case| of(report, *case)).collect()
}

/// The colours are those of Okabe and Ito, as in the other charts of the program.
fn colour(mode: Mode) -> RGBColor {
    match mode {
        Mode::Sync | Mode::FioSync => RGBColor(230, 159, 0),
        Mode::SyncPool => RGBColor(204, 121, 167),
        Mode::Async => RGBColor(0, 158, 115),
        Mode::AsyncRegistered => RGBColor(213, 94, 0),
        Mode::AsyncShared | Mode::FioAsync => RGBColor(0, 114, 178),
    }
}

fn of(report: &Report, case: Case) -> Chart {
    let depths = &report.plan.depths;
    let first = depths.first().copied().unwrap_or(1);
    let last = depths.last().copied().unwrap_or(1);
    let ends = (f64::from(first) * 0.9, f64::from(last) * 1.1);
    let lines: Vec<Line> =
        MODES.into_iter().filter_map(|mode| line(report, case, mode, ends)).collect();
    let most = lines.iter().flat_map(|line| &line.points).map(|(_, rate)| *rate);
    let most = most.fold(0.1, f64::max) * 1.1;
    let is_enough = |step: &&f64| most / **step <= TICKS_MAX;
    let step = STEPS.iter().find(is_enough).copied().unwrap_or(most / TICKS_MAX);
    let kib = case.block_bytes / 1024;
    Chart {
        name: format!("reads_{}_{kib}_kib", order(case.order)),
        title: format!("Reads of {kib} KiB, {} (measured)", order(case.order)),
        x: Axis {
            title: "requests in flight",
            scale: Scale::Log,
            ends,
            ticks: depths.iter().copied().map(f64::from).collect(),
            describe: |depth| format!("{depth:.0}"),
        },
        y: Axis {
            title: "GB/s",
            scale: Scale::Linear,
            ends: (0.0, most),
            ticks: (0..).map(|tick| f64::from(tick) * step).take_while(|at| *at <= most).collect(),
            describe: |rate| format!("{rate:.1}"),
        },
        bars: Vec::new(),
        lines,
        study: Vec::new(),
        legend: SeriesLabelPosition::LowerRight,
    }
}

/// The line of a way, if it was measured.
fn line(report: &Report, case: Case, mode: Mode, ends: (f64, f64)) -> Option<Line> {
    let gigabytes = |rate| megabytes(rate) / 1000.0;
    let at = |depth: &u32| {
        let rate = report.rate(case, mode, *depth)?;
        Some((f64::from(*depth), gigabytes(rate)))
    };
    let level = |rate: f64| vec![(ends.0, rate), (ends.1, rate)];
    let points = match mode {
        Mode::Sync | Mode::SyncPool | Mode::FioSync => {
            level(gigabytes(report.rate(case, mode, 1)?))
        }
        Mode::Async | Mode::AsyncRegistered | Mode::AsyncShared | Mode::FioAsync => {
            let points: Vec<(f64, f64)> = report.plan.depths.iter().filter_map(at).collect();
            match points[..] {
                [] => return None,
                [(_, rate)] => level(rate),
                _ => points,
            }
        }
    };
    let stroke = match mode {
        Mode::FioSync | Mode::FioAsync => Stroke::Dashed,
        Mode::Sync | Mode::SyncPool | Mode::Async | Mode::AsyncRegistered | Mode::AsyncShared => {
            Stroke::Solid
        }
    };
    Some(Line { label: name(mode).to_owned(), colour: colour(mode), stroke, points })
}

#[cfg(test)]
mod tests {
    use super::super::report::tests::sample;
    use super::*;

    #[test]
    fn every_way_is_a_line_within_the_axes() {
        let charts = all(&sample());
        assert_eq!(charts.len(), 1);
        let chart = &charts[0];
        assert_eq!(chart.name, "reads_random_64_kib");
        assert!(chart.title.contains("measured"));
        assert_eq!(chart.lines.len(), 6);
        for (x, y) in chart.lines.iter().flat_map(|line| &line.points) {
            assert!((chart.x.ends.0..=chart.x.ends.1).contains(x), "{x}");
            assert!((chart.y.ends.0..=chart.y.ends.1).contains(y), "{y}");
        }
        assert!(chart.y.ticks.len() >= 3, "{:?}", chart.y.ticks);
    }
}
