// SPDX-License-Identifier: Apache-2.0
//! Tests that the model's mechanisms reproduce the figures of the SmartSSD study.
//!
//! Two groups. Those that parameters were set on show no more than that the setting was done; the
//! others are compared, and one of them at most is independent of what was set. Then,
//! for each mechanism, what is lost without it.

use nearscan_emulator::timing::{
    Parameters,
    study::{Build, Kernel, Performed, Pipelining},
};
use nearscan_models::study::{Accesses, Steps};
use rstest::rstest;

const LIGHT: [Kernel; 3] = [Kernel::Count, Kernel::Average, Kernel::VectorAddition];

/// Long enough for what happens once not to count; the study does not say how long its arrays were.
const ELEMENTS: u64 = 1 << 26;

const KIB: u64 = 1024;
const BEST_BUFFER: u64 = 256 * KIB;

/// A plain loop on one unit.
fn plain(kernel: Kernel) -> Build {
    Build { kernel, buffer_bytes: None, units: 1, pipelining: Pipelining::Default }
}

fn buffered(kernel: Kernel, bytes: u64) -> Build {
    Build { buffer_bytes: Some(bytes), ..plain(kernel) }
}

/// The form whose compute units the study counts up: with a buffer where that helps. Which it was
/// is assumed; 11.2 x 2.5 and 5.2 x 1.7 come close to the 28.6 and 9.0 of everything together.
fn best(kernel: Kernel, units: u32) -> Build {
    let form = match kernel {
        Kernel::Count | Kernel::Average => plain(kernel),
        Kernel::VectorAddition | Kernel::ArrayMerge => buffered(kernel, BEST_BUFFER),
    };
    Build { units, ..form }
}

/// Counters of one unit with an even share of the elements, no two of which are equal.
fn steps(build: Build, elements: u64) -> Steps {
    let elements = elements / u64::from(build.units);
    let array = |elements| match build.buffer_bytes {
        None => Accesses { singles: elements, ..Accesses::default() },
        Some(_) => Accesses { beats: elements, ..Accesses::default() },
    };
    let one = Steps {
        a: array(elements),
        iterations: elements,
        blocks: build.buffer_bytes.map_or(0, |bytes| (4 * elements).div_ceil(bytes)),
        ..Steps::default()
    };
    match build.kernel {
        Kernel::Count | Kernel::Average => one,
        Kernel::VectorAddition => Steps { b: one.a, c: one.a, ..one },
        // Half of them from either array, through a third of the buffer each.
        Kernel::ArrayMerge => Steps {
            a: array(elements / 2),
            b: array(elements / 2),
            c: array(elements),
            blocks: 3 * one.blocks,
            ..one
        },
    }
}

fn seconds(parameters: &Parameters, build: Build) -> f64 {
    let units = vec![steps(build, ELEMENTS); build.units as usize];
    let join = Steps { joined: ELEMENTS, ..Steps::default() };
    let join = (build.kernel == Kernel::ArrayMerge).then_some(&join);
    parameters.study(build, Performed { units: &units, join }).unwrap().seconds()
}

/// The speed of `to` as a multiple of that of `from`.
fn gain(parameters: &Parameters, from: Build, to: Build) -> f64 {
    seconds(parameters, from) / seconds(parameters, to)
}

/// Gain of a buffer of so many bytes.
fn buffer_gain(parameters: &Parameters, kernel: Kernel, bytes: u64) -> f64 {
    gain(parameters, plain(kernel), buffered(kernel, bytes))
}

/// Gain of so many units.
fn units_gain(parameters: &Parameters, kernel: Kernel, units: u32) -> f64 {
    gain(parameters, best(kernel, 1), best(kernel, units))
}

/// All that helps against nothing.
fn whole_gain(parameters: &Parameters, kernel: Kernel) -> f64 {
    gain(parameters, plain(kernel), best(kernel, 15))
}

/// The drive against the study's host at this clock.
fn against_host(parameters: &Parameters, kernel: Kernel, host_ghz: f64) -> f64 {
    let drive = ELEMENTS as f64 / seconds(parameters, best(kernel, 15));
    drive / parameters.host_elements_per_s(kernel, host_ghz * 1e9)
}

#[track_caller]
fn check(modelled: f64, study: f64, share: f64) {
    let error = modelled / study - 1.0;
    assert!(error.abs() <= share, "{modelled:.3} for {study}: {:+.1} %", 100.0 * error);
}

mod calibrated {
    use super::*;

    const WITHIN: f64 = 0.05;

    #[rstest]
    #[case(KIB, 8.8)]
    #[case(BEST_BUFFER, 11.2)]
    fn vector_addition_gains_by_a_buffer(#[case] bytes: u64, #[case] study: f64) {
        check(buffer_gain(&Parameters::default(), Kernel::VectorAddition, bytes), study, WITHIN);
    }

    #[rstest]
    #[case(Kernel::Count, 3.5)]
    #[case(Kernel::Average, 3.8)]
    #[case(Kernel::VectorAddition, 2.5)]
    fn light_kernels_gain_by_units(#[case] kernel: Kernel, #[case] study: f64) {
        check(units_gain(&Parameters::default(), kernel, 15), study, WITHIN);
    }

    #[rstest]
    #[case(Kernel::Average, 10.1)]
    #[case(Kernel::ArrayMerge, 0.36)]
    fn slowest_host_is_that_of_the_study(#[case] kernel: Kernel, #[case] study: f64) {
        check(against_host(&Parameters::default(), kernel, 0.8), study, WITHIN);
    }
}

mod compared {
    use super::*;

    const WITHIN: f64 = 0.1;

    #[test]
    fn array_merge_gains_by_a_buffer() {
        check(buffer_gain(&Parameters::default(), Kernel::ArrayMerge, BEST_BUFFER), 5.2, WITHIN);
    }

    #[test]
    fn array_merge_gains_by_units() {
        check(units_gain(&Parameters::default(), Kernel::ArrayMerge, 15), 1.7, WITHIN);
    }

    // Of Count and Average only the units help, and on those the bank was set.
    #[rstest]
    #[case(Kernel::VectorAddition, 28.6)]
    #[case(Kernel::ArrayMerge, 9.0)]
    fn everything_together(#[case] kernel: Kernel, #[case] study: f64) {
        check(whole_gain(&Parameters::default(), kernel), study, WITHIN);
    }

    #[test]
    fn array_merge_loses_against_the_fastest_host() {
        check(against_host(&Parameters::default(), Kernel::ArrayMerge, 4.7), 0.06, WITHIN);
        assert!(against_host(&Parameters::default(), Kernel::ArrayMerge, 0.8) < 1.0);
    }

    #[test]
    fn light_kernels_win_against_the_fastest_host() {
        for kernel in LIGHT {
            let ahead = against_host(&Parameters::default(), kernel, 4.7);
            assert!(ahead > 1.0, "{kernel:?}: {ahead}");
        }
    }

    #[test]
    fn asking_for_a_pipeline_gains_nothing() {
        for form in Kernel::ALL.into_iter().flat_map(|kernel| [plain(kernel), best(kernel, 1)]) {
            let asked = Build { pipelining: Pipelining::Requested, ..form };
            let gain = gain(&Parameters::default(), form, asked);
            assert!((1.0..=1.01).contains(&gain), "{form:?}: {gain}");
        }
    }

    #[test]
    fn buffer_slows_kernels_of_one_argument() {
        for kernel in [Kernel::Count, Kernel::Average] {
            assert!(buffer_gain(&Parameters::default(), kernel, BEST_BUFFER) < 1.0);
        }
    }

    #[test]
    fn buffer_is_best_at_256_kib() {
        let gain = |kib| buffer_gain(&Parameters::default(), Kernel::VectorAddition, kib * KIB);
        let rising = [1, 2, 4, 8, 16, 32, 64, 128, 256].map(gain);
        assert!(rising.is_sorted_by(|one, next| one < next), "{rising:?}");
        let falling = [256, 512, 1024, 2048].map(gain);
        assert!(falling.is_sorted_by(|one, next| one > next), "{falling:?}");
    }

    #[test]
    fn light_kernels_saturate_at_about_five_units() {
        for kernel in LIGHT {
            let gains = |units| units_gain(&Parameters::default(), kernel, units);
            let most = gains(15);
            let first = (1..=15).find(|units| gains(*units) >= 0.95 * most).unwrap();
            assert!((4..=6).contains(&first), "{kernel:?}: {first}");
        }
    }

    #[test]
    fn array_merge_still_rises_at_fifteen_units() {
        let gains = |units| units_gain(&Parameters::default(), Kernel::ArrayMerge, units);
        assert!((2..=15).all(|units| gains(units) > gains(units - 1)));
    }

    #[test]
    fn unit_among_many_does_less_but_more_than_its_share_of_one() {
        for kernel in Kernel::ALL {
            let of_one =
                |units| units_gain(&Parameters::default(), kernel, units) / f64::from(units);
            for units in 2..=15 {
                assert!(of_one(units) < of_one(units - 1), "{kernel:?}, {units}");
                assert!(of_one(units) > 1.0 / f64::from(units), "{kernel:?}, {units}");
            }
        }
    }
}

/// Each mechanism is turned off alone; what it explains must go with it.
mod without {
    use super::*;

    #[test]
    fn shared_port_buffer_of_vector_addition_gains_nothing() {
        let apart = Parameters { unit_ports: 3.0, ..Parameters::default() };
        assert!(buffer_gain(&apart, Kernel::VectorAddition, BEST_BUFFER) <= 1.0);
        assert!(buffer_gain(&Parameters::default(), Kernel::VectorAddition, BEST_BUFFER) > 10.0);
    }

    #[test]
    fn round_trip_small_buffer_is_as_good_as_large_one() {
        // As many requests in flight as hide it, so that single beats cost what they did.
        let near = Parameters {
            port_round_trip_cycles: 58.0 / 16.0,
            port_outstanding: 1.0,
            ..Parameters::default()
        };
        let step = |parameters: &Parameters| {
            buffer_gain(parameters, Kernel::VectorAddition, BEST_BUFFER)
                / buffer_gain(parameters, Kernel::VectorAddition, KIB)
        };
        assert!(step(&near) < 1.02, "{}", step(&near));
        assert!(step(&Parameters::default()) > 1.2);
        assert!(buffer_gain(&near, Kernel::ArrayMerge, BEST_BUFFER) < 2.0);
    }

    #[test]
    fn requests_in_flight_a_plain_vector_addition_is_slower_still() {
        let one = Parameters { port_outstanding: 1.0, ..Parameters::default() };
        assert!(buffer_gain(&one, Kernel::VectorAddition, BEST_BUFFER) > 100.0);
    }

    #[test]
    fn overhead_and_peak_of_the_bank_units_add_up() {
        let no_overhead = Parameters {
            bank_burst_overhead_ns: 0.0,
            bank_turnaround_ns: 0.0,
            ..Parameters::default()
        };
        // What is left is the peak, of which one unit takes a sixteenth.
        assert!(units_gain(&no_overhead, Kernel::Count, 5) > 4.6);
        assert!(units_gain(&no_overhead, Kernel::Count, 15) > 10.0);
        let no_peak = Parameters { bank_bytes_per_s: f64::INFINITY, ..no_overhead };
        for kernel in LIGHT {
            check(units_gain(&no_peak, kernel, 15), 15.0, 1e-3);
        }
    }

    #[test]
    fn turnaround_vector_addition_misses_its_figure() {
        let none = Parameters { bank_turnaround_ns: 0.0, ..Parameters::default() };
        assert!(units_gain(&none, Kernel::VectorAddition, 15) > 1.1 * 2.5);
        check(units_gain(&none, Kernel::Count, 15), 3.65, 0.01);
    }

    #[test]
    fn slower_clock_nothing_declines_beyond_256_kib() {
        let steady = Parameters { clock_row_delay_ns: 0.0, ..Parameters::default() };
        let gain = |kib| buffer_gain(&steady, Kernel::VectorAddition, kib * KIB);
        assert!(gain(512) > gain(256) && gain(1024) > gain(512));
    }

    #[test]
    fn join_array_merge_scales_with_units() {
        let none = Parameters { join_accesses: 0.0, ..Parameters::default() };
        let gain = units_gain(&none, Kernel::ArrayMerge, 15);
        assert!(gain > 10.0, "{gain}");
    }

    #[test]
    fn pipelines_by_default_asking_for_one_gains() {
        let plainly = Parameters { pipelined_by_default: 0.0, ..Parameters::default() };
        let form = plain(Kernel::Count);
        let asked = Build { pipelining: Pipelining::Requested, ..form };
        assert!(gain(&plainly, form, asked) > 3.0);
    }
}

/// Shares of the units that are not even.
mod uneven {
    use super::*;

    fn seconds_of(build: Build, shares: &[u64]) -> f64 {
        let alone = Build { units: 1, ..build };
        let units: Vec<Steps> = shares.iter().map(|share| steps(alone, *share)).collect();
        let performed = Performed { units: &units, join: None };
        Parameters::default().study(build, performed).unwrap().seconds()
    }

    #[test]
    fn slowest_unit_decides() {
        let build = best(Kernel::VectorAddition, 4);
        let even = seconds_of(build, &[1 << 20; 4]);
        let uneven = seconds_of(build, &[1 << 21, 1 << 19, 1 << 20, 1 << 19]);
        check(uneven / even, 2.0, 1e-3);
        assert!(seconds_of(build, &[1 << 20, 1 << 20, 1 << 20, 1]) <= even);
    }

    #[test]
    fn unit_without_a_share_takes_no_time() {
        let build = best(Kernel::Count, 15);
        let mut shares = [0; 15];
        shares[6] = 1 << 20;
        let alone = seconds_of(Build { units: 1, ..build }, &[1 << 20]);
        check(seconds_of(build, &shares), alone, 1e-9);
        assert!(seconds_of(build, &[1 << 20; 15]) > 2.0 * alone);
    }

    #[test]
    fn search_for_share_is_charged_round_trip_read() {
        let build = best(Kernel::ArrayMerge, 1);
        let without = steps(build, 1 << 20);
        let mut with = without;
        with.b.singles += 1000;
        let cycles = |steps: &Steps| {
            let performed = Performed { units: std::slice::from_ref(steps), join: None };
            Parameters::default().study(build, performed).unwrap().cycles
        };
        check(cycles(&with) - cycles(&without), 58_000.0, 1e-6);
    }
}

mod refused {
    use nearscan_emulator::timing::study::Unbuildable;

    use super::*;

    fn end_of(parameters: &Parameters, build: Build) -> Option<Unbuildable> {
        parameters.study(build, Performed::default()).err()
    }

    #[test]
    fn build_that_does_not_fit_is_refused() {
        let parameters = Parameters::default();
        let build = best(Kernel::VectorAddition, 15);
        assert_eq!(end_of(&parameters, build), None);
        let bytes = 3 * BEST_BUFFER;
        assert_eq!(
            end_of(&parameters, Build { buffer_bytes: Some(bytes), ..build }),
            Some(Unbuildable::LocalMemory { bytes, units: 15 })
        );
        assert_eq!(
            end_of(&parameters, Build { units: 16, ..build }),
            Some(Unbuildable::Ports { units: 16 })
        );
        // A port for each argument leaves room for five units.
        let apart = Parameters { unit_ports: 3.0, ..parameters };
        assert_eq!(end_of(&apart, Build { units: 5, ..build }), None);
        assert_eq!(
            end_of(&apart, Build { units: 6, ..build }),
            Some(Unbuildable::Ports { units: 6 })
        );
    }

    #[test]
    fn build_without_units_is_refused() {
        let parameters = Parameters::default();
        let build = plain(Kernel::Count);
        assert_eq!(end_of(&parameters, Build { units: 0, ..build }), Some(Unbuildable::NoUnits));
        assert_eq!(
            end_of(&parameters, Build { buffer_bytes: Some(3), ..build }),
            Some(Unbuildable::NoBuffer { bytes: 3 })
        );
    }
}
