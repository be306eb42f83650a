// SPDX-License-Identifier: Apache-2.0
//! Judges whether the model reproduces the study, and the fast set reaches its targets.
//!
//! Two groups of figures. Parameters were set on those of the first, so they show no more than that
//! the setting was done. Those of the second are compared: each has to be within a tenth of the
//! study's. So are the shapes of its curves, each of which holds or does not. The judgement of the
//! model rests on the second group alone.
//!
//! The study has no fast set. Of that it is judged whether it comes to what it was made for.

mod shapes;
mod targets;

use nearscan_emulator::timing::study::Kernel;

pub use shapes::Shape;
pub use targets::Target;

use crate::{
    builds::{best, buffered, plain},
    fast::Fast,
    runs::Runs,
    study::{self, BEST_BUFFER_BYTES, UNITS_MAX},
};

/// The largest relative difference allowed between a compared figure and the study's.
pub const TOLERANCE: f64 = 0.1;

/// A figure of the study, and the model's.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// The name of the figure.
    pub name: String,
    /// The study's.
    pub study: f64,
    /// Ours; none if a build that it needs does not fit the part.
    pub modelled: Option<f64>,
}

impl Figure {
    /// The relative difference of our figure from the study's; none without a modelled figure.
    #[must_use]
    pub fn error(&self) -> Option<f64> {
        Some(self.modelled? / self.study - 1.0)
    }

    /// Whether ours is within [`TOLERANCE`].
    #[must_use]
    pub fn holds(&self) -> bool {
        self.error().is_some_and(|error| error.abs() <= TOLERANCE)
    }
}

/// The judgement, and what it rests on.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// Figures that parameters were set on.
    pub calibrated: Vec<Figure>,
    /// Figures that are compared, on which no parameter was set directly.
    pub compared: Vec<Figure>,
    /// Shapes of the study's curves.
    pub shapes: Vec<Shape>,
    /// The targets of the fast set.
    pub targets: Vec<Target>,
}

impl Judgement {
    /// Judges runs.
    #[must_use]
    pub fn new(runs: &Runs, fast: &Fast) -> Self {
        Self {
            calibrated: calibrated(runs),
            compared: compared(runs),
            shapes: shapes::of(runs),
            targets: targets::of(runs, fast),
        }
    }

    /// Whether every figure that is compared is within a tenth, every shape holds and every target
    /// is reached.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.compared.iter().all(Figure::holds)
            && self.shapes.iter().all(|shape| shape.holds)
            && self.targets.iter().all(|target| target.holds)
    }
}

fn figure(name: impl Into<String>, study: f64, modelled: Option<f64>) -> Figure {
    Figure { name: name.into(), study, modelled }
}

fn calibrated(runs: &Runs) -> Vec<Figure> {
    let addition = Kernel::VectorAddition;
    let mut figures = Vec::new();
    for (bytes, size) in [(1 << 10, "1 KiB"), (BEST_BUFFER_BYTES, "256 KiB")] {
        let gain = runs.gain(plain(addition), buffered(addition, bytes));
        let study = study::sweep_gain(bytes).unwrap_or_default();
        figures.push(figure(format!("{addition}, buffer of {size}"), study, gain));
    }
    for kernel in [Kernel::Count, Kernel::Average, addition] {
        let gain = runs.units_gain(kernel, UNITS_MAX);
        figures.push(figure(format!("{kernel}, units"), study::units_gain(kernel), gain));
    }
    figures.extend(against_host(runs, Kernel::Average, 0.8));
    figures.extend(against_host(runs, Kernel::ArrayMerge, 0.8));
    figures
}

fn compared(runs: &Runs) -> Vec<Figure> {
    let (addition, merge) = (Kernel::VectorAddition, Kernel::ArrayMerge);
    let gain = runs.gain(plain(merge), buffered(merge, BEST_BUFFER_BYTES));
    let study = study::buffer_gain(merge).unwrap_or_default();
    let mut figures = vec![figure(format!("{merge}, buffer of 256 KiB"), study, gain)];
    let gain = runs.units_gain(merge, UNITS_MAX);
    figures.push(figure(format!("{merge}, 15 units"), study::units_gain(merge), gain));
    for kernel in [addition, merge] {
        let gain = runs.whole_gain(kernel, UNITS_MAX);
        figures.push(figure(format!("{kernel}, all"), study::whole_gain(kernel), gain));
    }
    figures.extend(against_host(runs, merge, 4.7));
    figures
}

/// The study's figure for a kernel against the host at this clock, if there is one.
fn against_host(runs: &Runs, kernel: Kernel, ghz: f64) -> Option<Figure> {
    let (_, study) = study::against_host(kernel).iter().find(|(at, _)| *at == ghz)?;
    let modelled = runs.against_host(best(kernel, UNITS_MAX), ghz);
    Some(figure(format!("{kernel}, host at {ghz} GHz"), *study, modelled))
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use nearscan_emulator::timing::Parameters;

    use super::*;
    use crate::data::Data;

    fn judgement(modelled: Option<f64>, shape_holds: bool) -> Judgement {
        Judgement {
            calibrated: vec![figure("set", 2.0, Some(7.0))],
            compared: vec![figure("one", 2.0, Some(2.0)), figure("other", 5.0, modelled)],
            shapes: vec![Shape { name: "shape", holds: shape_holds, seen: String::new() }],
            targets: vec![target(true), target(true)],
        }
    }

    fn target(holds: bool) -> Target {
        Target { name: "target".to_owned(), holds, seen: String::new() }
    }

    #[test]
    fn figure_may_differ_by_a_tenth() {
        assert!(judgement(Some(5.45), true).holds());
        assert!(judgement(Some(4.55), true).holds());
        assert!(!judgement(Some(5.55), true).holds());
        assert!(!judgement(Some(4.45), true).holds());
        assert!(!judgement(Some(f64::NAN), true).holds());
        assert!(!judgement(None, true).holds());
    }

    #[test]
    fn missing_shape_fails() {
        assert!(!judgement(Some(5.0), false).holds());
    }

    #[test]
    fn missed_target_fails() {
        let mut judgement = judgement(Some(5.0), true);
        assert!(judgement.holds());
        judgement.targets[1] = target(false);
        assert!(!judgement.holds());
    }

    #[test]
    fn targets_are_judged_by_the_counters_of_kernels() {
        let parameters = Parameters::default();
        let judged = |elements, parameters: &Parameters| {
            let data = Data::new(elements, 1);
            let golden = data.golden();
            let go_on = &mut |_: &str| ControlFlow::Continue(());
            let runs = Runs::new((&data, &golden), parameters, &[], go_on).unwrap();
            let fast = Fast::new((&data, &golden), parameters, go_on).unwrap();
            targets::of(&runs, &fast).iter().map(|target| target.holds).collect::<Vec<_>>()
        };
        assert_eq!(judged(1 << 20, &parameters), [true; 7]);
        // In a short merge the search for the cuts takes more than a fifth, in both passes.
        assert_eq!(judged(1 << 18, &parameters), [true, true, true, true, false, true, true]);
        // A host that is so much faster.
        let fast_host = Parameters { host_merge_cycles: 4.0, ..parameters };
        assert_eq!(judged(1 << 20, &fast_host), [true, true, true, true, true, true, false]);
    }

    #[test]
    fn figure_used_for_calibration_does_not_count() {
        let judgement = judgement(Some(5.0), true);
        assert!(!judgement.calibrated[0].holds());
        assert!(judgement.holds());
    }
}
