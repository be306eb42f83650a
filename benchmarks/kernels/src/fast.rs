// SPDX-License-Identifier: Apache-2.0
//! Runs the fast set: the same four jobs on kernels that are made for the bank.
//!
//! Each job is run on every number of units, its answer is checked, and the model says from what
//! the units counted how fast that was, and how many units are enough. Elements of a merge are
//! those of both inputs, as in the study's builds, so that rates can be compared.

use std::{collections::HashMap, ops::ControlFlow};

use nearscan_emulator::timing::{
    Parameters,
    fast::{Job, Performed, Profile},
    study::Unbuildable,
};
use nearscan_models::fast::{self as kernels, Form};

use crate::{
    builds::describe_units,
    data::{Data, Golden, SOUGHT},
    error::{Error, Result},
    study::UNITS_MAX,
};

/// The speed of the fast set.
#[derive(Debug, Clone)]
pub struct Fast {
    profiles: HashMap<(Job, u32), Profile>,
    enough: HashMap<Job, Profile>,
}

/// The number of runs.
pub const RUN_COUNT: usize = Job::ALL.len() * UNITS_MAX as usize;

impl Fast {
    /// Runs every job on every number of units, calling `watch` with a name before each.
    ///
    /// # Errors
    /// When an answer is wrong or a kernel fails, and when `watch` breaks.
    pub fn new(
        (data, golden): (&Data, &Golden),
        parameters: &Parameters,
        watch: &mut dyn FnMut(&str) -> ControlFlow<()>,
    ) -> Result<Self> {
        let (mut profiles, mut enough) = (HashMap::new(), HashMap::new());
        for job in Job::ALL {
            let mut performed = HashMap::new();
            for units in 1..=UNITS_MAX {
                if watch(&describe_run(job, units)).is_break() {
                    return Err(Error::Stopped);
                }
                performed.insert(units, run(data, golden, job, units)?);
            }
            // A job that the bank has no ports for has no profile.
            for (units, performed) in &performed {
                if let Ok(profile) = parameters.fast(job, performed) {
                    profiles.insert((job, *units), profile);
                }
            }
            let perform =
                |units| performed.get(&units).cloned().ok_or(Unbuildable::Ports { units });
            if let Ok(profile) = parameters.fast_enough(job, perform) {
                enough.insert(job, profile);
            }
        }
        Ok(Self { profiles, enough })
    }

    /// A job on so many units; none if there are no ports for them.
    #[must_use]
    pub fn profile(&self, job: Job, units: u32) -> Option<Profile> {
        self.profiles.get(&(job, units)).copied()
    }

    /// A job on as few units as are enough, or on all; none if there are no ports for so many.
    #[must_use]
    pub fn enough(&self, job: Job) -> Option<Profile> {
        self.enough.get(&job).copied()
    }

    /// Returns the number of runs that have rates: each gave the right answer.
    #[must_use]
    pub fn run_count(&self) -> usize {
        self.profiles.len()
    }
}

/// Returns the name of a job and of its form.
#[must_use]
pub fn describe(job: Job) -> String {
    let form = match job {
        Job::Count | Job::Average | Job::VectorAddition => "",
        Job::ArrayMerge(Form::Segments) => ", segments",
        Job::ArrayMerge(Form::OneArray) => ", one array",
    };
    format!("{}{form}", job.kernel())
}

fn describe_run(job: Job, units: u32) -> String {
    format!("fast set: {}, {}", describe(job), describe_units(units))
}

/// Runs a job and returns the counts of its units, once its answer was found to be right.
fn run(data: &Data, golden: &Golden, job: Job, units: u32) -> Result<Performed> {
    let Data { a, b, sorted_a, sorted_b } = data;
    let failed = |source| Error::Kernel { build: describe_run(job, units), source };
    let (is_right, passes) = match job {
        Job::Count => {
            let run = kernels::count(a, SOUGHT, units).map_err(failed)?;
            (run.answer == golden.count, run.passes)
        }
        Job::Average => {
            let run = kernels::average(a, units).map_err(failed)?;
            (run.answer == golden.average, run.passes)
        }
        Job::VectorAddition => {
            let run = kernels::add(a, b, units).map_err(failed)?;
            (run.answer == golden.added, run.passes)
        }
        Job::ArrayMerge(form) => {
            let run = kernels::merge(sorted_a, sorted_b, form, units).map_err(failed)?;
            (run.answer.iter().flatten().eq(&golden.merged), run.passes)
        }
    };
    if !is_right {
        return Err(Error::WrongAnswer { build: describe_run(job, units) });
    }
    Ok(Performed { elements: a.len() as u64, passes })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const GO_ON: fn(&str) -> ControlFlow<()> = |_| ControlFlow::Continue(());

    fn fast_of(data: &Data, golden: &Golden) -> Result<Fast> {
        Fast::new((data, golden), &Parameters::default(), &mut { GO_ON })
    }

    #[rstest]
    #[case("Count", |golden: &mut Golden| golden.count += 1)]
    #[case("Average", |golden: &mut Golden| golden.average.count -= 1)]
    #[case("Vector Addition", |golden: &mut Golden| golden.added[999] ^= 1)]
    #[case("Array Merge, segments", |golden: &mut Golden| { golden.merged.pop(); })]
    fn wrong_answer_ends_the_run(#[case] job: &str, #[case] spoil: fn(&mut Golden)) {
        let data = Data::new(1000, 1);
        let mut golden = data.golden();
        assert!(fast_of(&data, &golden).is_ok());
        spoil(&mut golden);
        let error = fast_of(&data, &golden).unwrap_err();
        assert_eq!(error.to_string(), format!("wrong answer of fast set: {job}, 1 unit"));
    }

    #[test]
    fn both_forms_of_a_merge_are_checked() {
        let data = Data::new(1000, 1);
        let mut golden = data.golden();
        golden.merged[0] ^= 1;
        for form in [Form::Segments, Form::OneArray] {
            assert!(run(&data, &golden, Job::ArrayMerge(form), 3).is_err(), "{form:?}");
        }
    }

    #[test]
    fn enough_units_is_the_least_sufficient_number() {
        let data = Data::new(1 << 20, 1);
        let fast = fast_of(&data, &data.golden()).unwrap();
        assert_eq!(fast.run_count(), RUN_COUNT);
        for job in Job::ALL {
            let enough = fast.enough(job).unwrap();
            assert_eq!(fast.profile(job, enough.units), Some(enough));
            let fewer = (1..enough.units).filter_map(|units| fast.profile(job, units));
            let most = fewer.map(|profile| profile.bank_share()).fold(0.0, f64::max);
            assert!(most < 0.8 && enough.bank_share() >= 0.8, "{enough:?}, {most}");
        }
    }

    #[test]
    fn build_beyond_the_ports_of_the_bank_has_no_profile() {
        let parameters = Parameters { bank_ports: 2.0, ..Parameters::default() };
        let data = Data::new(1 << 16, 1);
        let fast = Fast::new((&data, &data.golden()), &parameters, &mut { GO_ON }).unwrap();
        let job = Job::ArrayMerge(Form::Segments);
        assert_eq!(fast.profile(job, 3), None);
        assert_eq!(fast.enough(job).unwrap().units, 2);
    }

    #[test]
    fn progress_callback_can_end_the_runs() {
        let data = Data::new(10, 1);
        let mut names = Vec::new();
        let parameters = Parameters::default();
        let stopped = Fast::new((&data, &data.golden()), &parameters, &mut |name| {
            names.push(name.to_owned());
            if names.len() == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert!(matches!(stopped, Err(Error::Stopped)));
        assert_eq!(names, ["fast set: Count, 1 unit", "fast set: Count, 2 units"]);
    }
}
