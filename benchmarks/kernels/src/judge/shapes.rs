// SPDX-License-Identifier: Apache-2.0
//! Checks the shapes of the study's curves, with the figures of each.

use nearscan_emulator::timing::study::Kernel;
use serde::Serialize;

use crate::{
    builds::{self, best, buffered, describe_bytes, pipelined, plain},
    runs::Runs,
    study::{BEST_BUFFER_BYTES, HOST_GHZ, PIPELINING_GAIN_MAX, SATURATED_UNITS, UNITS_MAX},
};

const LIGHT: [Kernel; 3] = [Kernel::Count, Kernel::Average, Kernel::VectorAddition];
/// Share of the most that a kernel reaches at which it counts as saturated.
const SATURATED: f64 = 0.95;

/// Something that the study says of a curve.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Shape {
    /// The statement of the study.
    pub name: &'static str,
    /// Whether ours is so.
    pub holds: bool,
    /// The shape of our curve.
    pub seen: String,
}

/// All shapes.
pub(super) fn of(runs: &Runs) -> Vec<Shape> {
    vec![
        peak(runs),
        decline(runs),
        pipelining(runs),
        single_arguments(runs),
        saturation(runs),
        merge_rises(runs),
        shares(runs),
        light_win(runs),
        merge_loses(runs),
    ]
}

/// The gains of the sweep; a build without a figure gains nothing that could be compared.
fn sweep(runs: &Runs) -> Vec<(u64, f64)> {
    let kernel = Kernel::VectorAddition;
    let gain = |bytes| runs.gain(plain(kernel), buffered(kernel, bytes)).unwrap_or(f64::NAN);
    builds::sweep_bytes().map(|bytes| (bytes, gain(bytes))).collect()
}

fn peak(runs: &Runs) -> Shape {
    let best = sweep(runs).into_iter().max_by(|(_, one), (_, other)| one.total_cmp(other));
    Shape {
        name: "the buffer of Vector Addition is best at 256 KiB",
        holds: best.is_some_and(|(bytes, gain)| bytes == BEST_BUFFER_BYTES && gain.is_finite()),
        seen: best.map_or_else(String::new, |(bytes, gain)| {
            format!("{gain:.2} at {}", describe_bytes(bytes))
        }),
    }
}

fn decline(runs: &Runs) -> Shape {
    let behind: Vec<f64> = sweep(runs)
        .into_iter()
        .filter(|(bytes, _)| *bytes >= BEST_BUFFER_BYTES)
        .map(|(_, gain)| gain)
        .collect();
    Shape {
        name: "beyond 256 KiB its gain declines",
        holds: behind.is_sorted_by(|one, next| one > next),
        seen: list(behind.iter().map(|gain| format!("{gain:.2}"))),
    }
}

fn pipelining(runs: &Runs) -> Shape {
    let forms = Kernel::ALL.into_iter().flat_map(|kernel| [plain(kernel), best(kernel, 1)]);
    let gains: Vec<f64> =
        forms.map(|form| runs.gain(form, pipelined(form)).unwrap_or(f64::NAN)).collect();
    let most = gains.iter().copied().max_by(f64::total_cmp).unwrap_or(f64::NAN);
    Shape {
        name: "the pragma for pipelines gains at most 1 %",
        holds: gains.iter().all(|gain| (1.0..=PIPELINING_GAIN_MAX).contains(gain)),
        seen: format!("at most {most:.3}"),
    }
}

fn single_arguments(runs: &Runs) -> Shape {
    let kernels = [Kernel::Count, Kernel::Average];
    let gain = |kernel| runs.gain(plain(kernel), buffered(kernel, BEST_BUFFER_BYTES));
    Shape {
        name: "a buffer slows Count and Average",
        holds: kernels.iter().all(|kernel| gain(*kernel).is_some_and(|gain| gain < 1.0)),
        seen: each(&kernels, |kernel| gain(kernel).map(|gain| format!("{gain:.2}"))),
    }
}

fn saturation(runs: &Runs) -> Shape {
    let units = |kernel| {
        let most = runs.units_gain(kernel, UNITS_MAX)?;
        (1..=UNITS_MAX).find(|units| {
            runs.units_gain(kernel, *units).is_some_and(|gain| gain >= SATURATED * most)
        })
    };
    let holds = |kernel| units(kernel).is_some_and(|units| SATURATED_UNITS.contains(&units));
    Shape {
        name: "light kernels are within 5 % of their best at 4 to 6 units",
        holds: LIGHT.into_iter().all(holds),
        seen: each(&LIGHT, |kernel| Some(units(kernel)?.to_string())),
    }
}

fn merge_rises(runs: &Runs) -> Shape {
    let gains: Vec<f64> = (1..=UNITS_MAX)
        .map(|units| runs.units_gain(Kernel::ArrayMerge, units).unwrap_or(f64::NAN))
        .collect();
    Shape {
        name: "Array Merge still rises at 15 units",
        holds: gains.is_sorted_by(|one, next| one < next),
        seen: list(gains.iter().rev().take(2).rev().map(|gain| format!("{gain:.4}"))),
    }
}

fn shares(runs: &Runs) -> Shape {
    let is_so = |kernel, units| {
        let share = |units| Some(runs.units_gain(kernel, units)? / f64::from(units));
        match (share(units), share(units - 1)) {
            (Some(one), Some(before)) => one < before && one > 1.0 / f64::from(units),
            _ => false,
        }
    };
    let last = |kernel| {
        let share = runs.units_gain(kernel, UNITS_MAX)? / f64::from(UNITS_MAX);
        Some(format!("{share:.3}"))
    };
    Shape {
        name: "a unit among N does less than among N - 1, and more than 1 / N of one alone",
        holds: Kernel::ALL
            .into_iter()
            .all(|kernel| (2..=UNITS_MAX).all(|units| is_so(kernel, units))),
        seen: format!("among 15: {}", each(&Kernel::ALL, last)),
    }
}

fn light_win(runs: &Runs) -> Shape {
    let fastest = HOST_GHZ[HOST_GHZ.len() - 1];
    let ratio = |kernel| runs.against_host(best(kernel, UNITS_MAX), fastest);
    Shape {
        name: "light kernels are ahead of the study's host at 4.7 GHz",
        holds: LIGHT.into_iter().all(|kernel| ratio(kernel).is_some_and(|ratio| ratio > 1.0)),
        seen: each(&LIGHT, |kernel| Some(format!("{:.2}", ratio(kernel)?))),
    }
}

fn merge_loses(runs: &Runs) -> Shape {
    let ratios: Vec<f64> = HOST_GHZ
        .into_iter()
        .map(|ghz| runs.against_host(best(Kernel::ArrayMerge, UNITS_MAX), ghz).unwrap_or(f64::NAN))
        .collect();
    Shape {
        name: "Array Merge is behind it at every clock",
        holds: ratios.iter().all(|ratio| *ratio < 1.0),
        seen: list(ratios.iter().map(|ratio| format!("{ratio:.2}"))),
    }
}

fn each(kernels: &[Kernel], seen: impl Fn(Kernel) -> Option<String>) -> String {
    let one = |kernel: &Kernel| {
        format!("{kernel} {}", seen(*kernel).unwrap_or_else(|| "nothing".to_owned()))
    };
    list(kernels.iter().map(one))
}

fn list(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(", ")
}
