// SPDX-License-Identifier: Apache-2.0
//! Runs every build, checks its answer, and computes its time from the counters of its units.
//!
//! A build that does not fit the part is not run: it is refused, as the tool would refuse it.

use std::{collections::HashMap, ops::ControlFlow};

use nearscan_emulator::timing::{
    Parameters,
    study::{Build, Kernel, Performed, Pipelining, Run, Unbuildable},
};
use nearscan_models::study::{self as kernels, Steps, Variant};

use crate::{
    builds::{best, describe, plain},
    data::{Data, Golden, SOUGHT},
    error::{Error, Result},
};

/// The results of the builds.
#[derive(Debug, Clone)]
pub struct Runs {
    /// The parameters of the time model.
    pub parameters: Parameters,
    /// Elements of each job.
    pub elements: usize,
    outcomes: HashMap<Build, Result<Run, Unbuildable>>,
}

impl Runs {
    /// Runs builds on arrays, calling `watch` with a name before each.
    ///
    /// # Errors
    /// When an answer is wrong or a kernel fails, and when `watch` breaks.
    pub fn new(
        (data, golden): (&Data, &Golden),
        parameters: &Parameters,
        builds: &[Build],
        watch: &mut dyn FnMut(&str) -> ControlFlow<()>,
    ) -> Result<Self> {
        let mut outcomes = HashMap::new();
        for build in builds {
            if watch(&describe(*build)).is_break() {
                return Err(Error::Stopped);
            }
            let outcome = match parameters.study_clock_hz(*build) {
                Err(refused) => Err(refused),
                Ok(_) => {
                    let counted = run(data, golden, *build)?;
                    let performed =
                        Performed { units: &counted.units, join: counted.join.as_ref() };
                    parameters.study(*build, performed)
                }
            };
            outcomes.insert(*build, outcome);
        }
        Ok(Self { parameters: parameters.clone(), elements: data.a.len(), outcomes })
    }

    /// Returns the number of builds that were run.
    #[must_use]
    pub fn run_count(&self) -> usize {
        self.outcomes.values().filter(|outcome| outcome.is_ok()).count()
    }

    /// Returns the run of a build; none if it was refused, or not requested.
    #[must_use]
    pub fn run(&self, build: Build) -> Option<Run> {
        self.outcomes.get(&build)?.as_ref().ok().copied()
    }

    /// The reason why a build was refused, if it was.
    #[must_use]
    pub fn refusal(&self, build: Build) -> Option<Unbuildable> {
        self.outcomes.get(&build)?.as_ref().err().copied()
    }

    /// Returns the ratio of the speed of `to` to that of `from`.
    #[must_use]
    pub fn gain(&self, from: Build, to: Build) -> Option<f64> {
        Some(self.run(from)?.seconds() / self.run(to)?.seconds())
    }

    /// Gain of so many units over one.
    #[must_use]
    pub fn units_gain(&self, kernel: Kernel, units: u32) -> Option<f64> {
        self.gain(best(kernel, 1), best(kernel, units))
    }

    /// Gain of all that helps over nothing.
    #[must_use]
    pub fn whole_gain(&self, kernel: Kernel, units: u32) -> Option<f64> {
        self.gain(plain(kernel), best(kernel, units))
    }

    /// Elements a second of a build.
    #[must_use]
    pub fn elements_per_s(&self, build: Build) -> Option<f64> {
        Some(self.elements as f64 / self.run(build)?.seconds())
    }

    /// A build against the study's host at a clock.
    #[must_use]
    pub fn against_host(&self, build: Build, host_ghz: f64) -> Option<f64> {
        let host = self.parameters.host_elements_per_s(build.kernel, host_ghz * 1e9);
        Some(self.elements_per_s(build)? / host)
    }

    /// Seconds of the shortest run.
    #[must_use]
    pub fn shortest_seconds(&self) -> Option<f64> {
        let runs = self.outcomes.values().filter_map(|outcome| outcome.as_ref().ok());
        runs.map(Run::seconds).min_by(f64::total_cmp)
    }
}

/// The counts of the units of a build, once its answer was found to be right.
struct Counted {
    units: Vec<Steps>,
    join: Option<Steps>,
}

fn run(data: &Data, golden: &Golden, build: Build) -> Result<Counted> {
    let bytes = build.buffer_bytes.map(|bytes| u32::try_from(bytes).unwrap_or(u32::MAX));
    let pipelined = match build.pipelining {
        Pipelining::Default => false,
        Pipelining::Requested => true,
    };
    let variant = Variant { buffer_bytes: bytes, pipelined };
    let failed = |source| Error::Kernel { build: describe(build), source };
    let Data { a, b, sorted_a, sorted_b } = data;
    match build.kernel {
        Kernel::Count => {
            let run = kernels::count(a, SOUGHT, variant, build.units).map_err(failed)?;
            check(build, run, &golden.count)
        }
        Kernel::Average => {
            let run = kernels::average(a, variant, build.units).map_err(failed)?;
            check(build, run, &golden.average)
        }
        Kernel::VectorAddition => {
            let run = kernels::add(a, b, variant, build.units).map_err(failed)?;
            check(build, run, &golden.added)
        }
        Kernel::ArrayMerge => {
            let run = kernels::merge(sorted_a, sorted_b, variant, build.units).map_err(failed)?;
            check(build, run, &golden.merged)
        }
    }
}

fn check<T: PartialEq>(build: Build, run: kernels::Run<T>, golden: &T) -> Result<Counted> {
    if run.answer != *golden {
        return Err(Error::WrongAnswer { build: describe(build) });
    }
    Ok(Counted { units: run.units, join: run.join })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::{builds, study::UNITS_MAX};

    const GO_ON: fn(&str) -> ControlFlow<()> = |_| ControlFlow::Continue(());

    fn runs_of(data: &Data, golden: &Golden, builds: &[Build]) -> Result<Runs> {
        Runs::new((data, golden), &Parameters::default(), builds, &mut { GO_ON })
    }

    #[rstest]
    #[case(Kernel::Count, |golden: &mut Golden| golden.count += 1)]
    #[case(Kernel::Average, |golden: &mut Golden| golden.average.sum -= 1)]
    #[case(Kernel::VectorAddition, |golden: &mut Golden| golden.added[999] ^= 1)]
    #[case(Kernel::ArrayMerge, |golden: &mut Golden| { golden.merged.pop(); })]
    fn wrong_answer_ends_the_run(#[case] kernel: Kernel, #[case] spoil: fn(&mut Golden)) {
        let data = Data::new(1000, 1);
        let mut golden = data.golden();
        assert!(runs_of(&data, &golden, &[best(kernel, 3)]).is_ok());
        spoil(&mut golden);
        let error = runs_of(&data, &golden, &[best(kernel, 3)]).unwrap_err();
        let expected = format!("wrong answer of {}", describe(best(kernel, 3)));
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn build_that_does_not_fit_is_refused_and_not_run() {
        let data = Data::new(1000, 1);
        let large = builds::buffered(Kernel::VectorAddition, 1 << 20);
        let build = Build { units: UNITS_MAX, ..large };
        let runs = runs_of(&data, &data.golden(), &[build, large]).unwrap();
        let bytes = 1 << 20;
        assert_eq!(runs.refusal(build), Some(Unbuildable::LocalMemory { bytes, units: 15 }));
        assert_eq!((runs.run(build), runs.refusal(large), runs.run_count()), (None, None, 1));
    }

    #[test]
    fn times_are_computed_from_the_counters_of_units() {
        // Few values, so that the cuts of the merge leave all of the work to one unit.
        let mut data = Data::new(60_000, 1);
        let even = runs_of(&data, &data.golden(), &[best(Kernel::ArrayMerge, 4)]).unwrap();
        data.sorted_a.fill(7);
        data.sorted_b.fill(7);
        let uneven = runs_of(&data, &data.golden(), &[best(Kernel::ArrayMerge, 4)]).unwrap();
        let cycles = |runs: &Runs| runs.run(best(Kernel::ArrayMerge, 4)).unwrap().cycles;
        // Without a join, 6 cycles for each of all elements; with one, 6 for a quarter and 7.25.
        assert!((cycles(&uneven) / 60_000.0 - 6.0).abs() < 0.3, "{}", cycles(&uneven));
        assert!((cycles(&even) / 60_000.0 - 8.75).abs() < 0.3, "{}", cycles(&even));
    }

    #[test]
    fn progress_callback_can_end_the_run() {
        let data = Data::new(10, 1);
        let mut left = 2;
        let stopped = Runs::new(
            (&data, &data.golden()),
            &Parameters::default(),
            &builds::all(),
            &mut |_: &str| {
                left -= 1;
                if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            },
        );
        assert!(matches!(stopped, Err(Error::Stopped)));
        assert_eq!(left, 0);
    }
}
