// SPDX-License-Identifier: Apache-2.0
//! Tests that the fast set reaches the bank's limit, with the counters of a run.
//!
//! The targets, the page's table, and for each mechanism what is lost without it.

use std::sync::OnceLock;

use nearscan_emulator::timing::{
    Parameters,
    fast::{Job, Limit, Performed, Profile, SHARE_ENOUGH},
    study::{Kernel, Unbuildable},
};
use nearscan_models::{
    fast::{self, Form},
    study::{self, UNITS_MAX},
};
use rstest::rstest;

const MERGES: [Form; 2] = [Form::Segments, Form::OneArray];

/// Elements of an array. What happens once, the search for the cuts, counts for some percent.
const ELEMENTS: usize = 1 << 20;

#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(transparent)]
    Kernel(#[from] study::Error),
    #[error(transparent)]
    Unbuildable(#[from] Unbuildable),
}

/// Two sorted arrays of numbers by chance, nearly without duplicates, the same in every run.
fn arrays() -> &'static [Vec<i32>; 2] {
    static ARRAYS: OnceLock<[Vec<i32>; 2]> = OnceLock::new();
    ARRAYS.get_or_init(|| {
        let mut state = 1_u64;
        [(); 2].map(|()| {
            let mut array: Vec<i32> = std::iter::repeat_with(|| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let [_, _, _, _, bytes @ ..] = state.to_le_bytes();
                i32::from_le_bytes(bytes)
            })
            .take(ELEMENTS)
            .collect();
            array.sort_unstable();
            array
        })
    })
}

fn perform(job: Job, arrays: &[Vec<i32>; 2], units: u32) -> Result<Performed, Error> {
    let [a, b] = arrays;
    let elements = a.len() as u64;
    Ok(match job {
        Job::Count => Performed { elements, passes: fast::count(a, 7, units)?.passes },
        Job::Average => Performed { elements, passes: fast::average(a, units)?.passes },
        Job::VectorAddition => Performed { elements, passes: fast::add(a, b, units)?.passes },
        Job::ArrayMerge(form) => {
            let elements = elements + b.len() as u64;
            Performed { elements, passes: fast::merge(a, b, form, units)?.passes }
        }
    })
}

fn profile(parameters: &Parameters, job: Job, units: u32) -> Profile {
    parameters.fast(job, &perform(job, arrays(), units).unwrap()).unwrap()
}

fn enough(parameters: &Parameters, job: Job) -> Profile {
    parameters.fast_enough(job, |units| perform(job, arrays(), units)).unwrap()
}

/// The rows of the page.
fn rows() -> Vec<String> {
    let row = |job| {
        let name = match job {
            Job::Count => "Count",
            Job::Average => "Average",
            Job::VectorAddition => "Vector Addition",
            Job::ArrayMerge(Form::Segments) => "Array Merge, segments",
            Job::ArrayMerge(Form::OneArray) => "Array Merge, one array",
        };
        let parameters = Parameters::default();
        let profile = enough(&parameters, job);
        let host = parameters.host_elements_per_s(job.kernel(), 4.7e9);
        format!(
            "| fast: {name} | {} | {:.2} | {:.1} | {:.1} | {:.0} % | {:?} | {:.1} |",
            profile.units,
            profile.elements_per_s / 1e9,
            profile.bytes_per_s / 1e9,
            profile.bank_bytes_per_s / 1e9,
            100.0 * profile.bank_share(),
            profile.limit,
            profile.elements_per_s / host,
        )
    };
    Job::ALL.map(row).to_vec()
}

#[test]
fn page_has_figures_of_fast_set() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/timing-model.md");
    let page = std::fs::read_to_string(path).unwrap();
    let shown: Vec<_> = page.lines().filter(|line| line.starts_with("| fast: ")).collect();
    let rows = rows();
    assert_eq!(shown, rows, "the table has to be\n{}", rows.join("\n"));
}

#[test]
fn every_job_reaches_its_share_of_the_bank() {
    for job in Job::ALL {
        let profile = enough(&Parameters::default(), job);
        assert!(profile.bank_share() >= SHARE_ENOUGH, "{profile:?}");
        assert!(profile.bank_share() <= 1.0, "{profile:?}");
        assert!(profile.units <= UNITS_MAX);
    }
}

#[test]
fn array_merge_is_ahead_of_the_host_at_any_clock() {
    let parameters = Parameters::default();
    for form in MERGES {
        let drive = enough(&parameters, Job::ArrayMerge(form)).elements_per_s;
        for host_ghz in [0.8, 1.6, 2.4, 3.2, 4.0, 4.7] {
            let host = parameters.host_elements_per_s(Kernel::ArrayMerge, host_ghz * 1e9);
            assert!(drive > host, "{form:?} at {host_ghz} GHz: {drive} to {host}");
        }
    }
}

#[test]
fn more_units_than_enough_gain_little_and_lose_nothing() {
    for job in Job::ALL {
        let rates = [4, 8, 15].map(|units| profile(&Parameters::default(), job, units));
        for pair in rates.windows(2) {
            // The cuts are searched for by each unit, and the bank gives no more than it has.
            assert!(pair[1].elements_per_s > 0.99 * pair[0].elements_per_s, "{pair:?}");
        }
        assert!(rates.iter().all(|profile| profile.bank_share() <= 1.0));
    }
}

mod without {
    use super::*;

    /// Equal elements fall to one unit: what a merge without a merge path is.
    #[test]
    fn cut_merge_does_not_scale() {
        let equal = [vec![3; ELEMENTS / 8], vec![3; ELEMENTS / 8]];
        let parameters = Parameters::default();
        for job in MERGES.map(Job::ArrayMerge) {
            let rate = |arrays, units| {
                let performed = perform(job, arrays, units).unwrap();
                parameters.fast(job, &performed).unwrap().elements_per_s
            };
            assert!(rate(&equal, 15) <= rate(&equal, 1));
            assert!(rate(arrays(), 15) > 4.0 * rate(arrays(), 1));
        }
    }

    #[test]
    fn bank_limit_unit_is_as_fast_as_its_port() {
        let parameters = Parameters::default();
        let held = profile(&parameters, Job::Count, 1);
        assert_eq!(held.limit, Limit::Bank);
        assert!(held.bytes_per_s < 15.9e9, "{held:?}");
        let endless = Parameters {
            bank_bytes_per_s: f64::INFINITY,
            bank_burst_overhead_ns: 0.0,
            bank_turnaround_ns: 0.0,
            ..parameters
        };
        let free = profile(&endless, Job::Count, 1);
        // 64 bytes at 300 MHz.
        assert!((free.bytes_per_s / 19.2e9 - 1.0).abs() < 0.01, "{free:?}");
        // Two arrays in and one out at the same time: three lines in two cycles.
        let addition = profile(&endless, Job::VectorAddition, 1);
        assert_eq!(addition.limit, Limit::Port);
        assert!((addition.bytes_per_s / 28.8e9 - 1.0).abs() < 0.01, "{addition:?}");
    }

    #[test]
    fn bursts_the_bank_gives_less() {
        let parameters = Parameters::default();
        let single_lines = Parameters { port_burst_beats: 1.0, ..parameters.clone() };
        for job in Job::ALL {
            let bursts = profile(&parameters, job, 15).elements_per_s;
            let lines = profile(&single_lines, job, 15).elements_per_s;
            assert!(lines < 0.4 * bursts, "{job:?}: {lines} to {bursts}");
        }
    }

    #[test]
    fn round_trips_search_for_cuts_is_free() {
        let short = arrays().clone().map(|mut array| {
            array.truncate(1000);
            array
        });
        let job = Job::ArrayMerge(Form::Segments);
        let performed = perform(job, &short, 7).unwrap();
        let parameters = Parameters::default();
        let searched = parameters.fast(job, &performed).unwrap();
        assert_eq!(searched.limit, Limit::Search);
        let near = Parameters { port_round_trip_cycles: 0.0, ..parameters };
        let free = near.fast(job, &performed).unwrap();
        assert!(free.elements_per_s > 4.0 * searched.elements_per_s, "{free:?}, {searched:?}");
    }

    #[test]
    fn single_cycle_iterations_merge_needs_more_units() {
        let parameters = Parameters::default();
        let job = Job::ArrayMerge(Form::Segments);
        let alone = profile(&parameters, job, 1);
        assert_eq!(alone.limit, Limit::Lanes);
        assert!((alone.elements_per_s / 300e6 - 1.0).abs() < 0.01, "{alone:?}");
        let slow = Parameters { loop_interval_cycles: 2.0, ..parameters.clone() };
        assert!(enough(&slow, job).units > enough(&parameters, job).units);
    }

    #[test]
    fn turnaround_writes_cost_as_much_as_reads() {
        let parameters = Parameters::default();
        let none = Parameters { bank_turnaround_ns: 0.0, ..parameters.clone() };
        let limits = |job| {
            let limit = |parameters| profile(parameters, job, 15).bank_bytes_per_s;
            limit(&none) / limit(&parameters)
        };
        assert!((limits(Job::Count) - 1.0).abs() < 1e-9);
        assert!(limits(Job::VectorAddition) > 1.05);
    }
}

#[rstest]
#[case(0, Unbuildable::NoUnits)]
#[case(16, Unbuildable::Ports { units: 16 })]
fn refuses_units_that_find_no_port(#[case] units: usize, #[case] expected: Unbuildable) {
    let performed = Performed { elements: 0, passes: vec![vec![study::Steps::default(); units]] };
    let refused = Parameters::default().fast(Job::Count, &performed);
    assert_eq!(refused, Err(expected));
}
