// SPDX-License-Identifier: Apache-2.0
//! The kernels against plain Rust, for arrays, variants and numbers of units by chance.

use std::collections::BTreeSet;

use proptest::{collection::vec, prelude::*};
use rstest::rstest;

use super::*;

const PLAIN: Variant = Variant { buffer_bytes: None, pipelined: false };

/// Buffers up to a KiB, so that short arrays are several blocks.
fn variants() -> impl Strategy<Value = Variant> {
    let buffers = prop_oneof![Just(None), (BUFFER_BYTES_MIN..=1024).prop_map(Some)];
    (buffers, any::<bool>())
        .prop_map(|(buffer_bytes, pipelined)| Variant { buffer_bytes, pipelined })
}

/// Numbers of any size, or few enough different ones for duplicates.
fn arrays() -> impl Strategy<Value = Vec<i32>> {
    prop_oneof![vec(any::<i32>(), 0..400), vec(-20..20, 0..400)]
}

fn sorted_arrays() -> impl Strategy<Value = Vec<i32>> {
    arrays().prop_map(|mut array| {
        array.sort_unstable();
        array
    })
}

/// Elements that were read of or written to an array, by either way.
fn moved(run: &[Steps], array: impl Fn(&Steps) -> Accesses) -> u64 {
    run.iter().map(|steps| array(steps).singles + array(steps).beats).sum()
}

proptest! {
    #[test]
    fn count_is_that_of_an_iterator(
        a in arrays(),
        value in -20..20,
        variant in variants(),
        units in 1..=UNITS_MAX,
    ) {
        let run = count(&a, value, variant, units).unwrap();
        prop_assert_eq!(run.answer, a.iter().filter(|element| **element == value).count() as u64);
        prop_assert_eq!(moved(&run.units, |steps| steps.a), a.len() as u64);
        prop_assert_eq!(run.units.len(), units as usize);
    }

    #[test]
    fn average_is_the_sum_in_64_bits(
        a in arrays(),
        variant in variants(),
        units in 1..=UNITS_MAX,
    ) {
        let run = average(&a, variant, units).unwrap();
        let sum = a.iter().map(|element| i64::from(*element)).sum();
        prop_assert_eq!(run.answer, Average { sum, count: a.len() as u64 });
        prop_assert_eq!(moved(&run.units, |steps| steps.a), a.len() as u64);
    }

    #[test]
    fn addition_wraps_like_rust(
        pairs in vec(any::<(i32, i32)>(), 0..400),
        variant in variants(),
        units in 1..=UNITS_MAX,
    ) {
        let (a, b): (Vec<i32>, Vec<i32>) = pairs.iter().copied().unzip();
        let run = add(&a, &b, variant, units).unwrap();
        let expected: Vec<i32> = pairs.iter().map(|(a, b)| a.wrapping_add(*b)).collect();
        prop_assert_eq!(run.answer, expected);
        prop_assert_eq!(moved(&run.units, |steps| steps.b), a.len() as u64);
        prop_assert_eq!(moved(&run.units, |steps| steps.c), a.len() as u64);
    }

    #[test]
    fn merge_is_the_set_of_both(
        a in sorted_arrays(),
        b in sorted_arrays(),
        variant in variants(),
        units in 1..=UNITS_MAX,
    ) {
        let run = merge(&a, &b, variant, units).unwrap();
        let set: BTreeSet<i32> = a.iter().chain(&b).copied().collect();
        let expected: Vec<i32> = set.into_iter().collect();
        let join = run.join.unwrap();
        prop_assert_eq!(join.joined, expected.len() as u64);
        prop_assert_eq!(join.a.singles, expected.len() as u64);
        prop_assert_eq!(moved(&run.units, |steps| steps.c), expected.len() as u64);
        let iterations: u64 = run.units.iter().map(|steps| steps.iterations).sum();
        prop_assert_eq!(iterations, (a.len() + b.len()) as u64);
        prop_assert_eq!(run.answer, expected);
    }
}

#[test]
fn limits_and_records_are_the_same_on_both_sides() {
    let limits = [
        u64::from(UNITS_MAX),
        ELEMENTS_MAX,
        u64::from(BUFFER_BYTES_MIN),
        u64::from(BUFFER_BYTES_MAX),
        (size_of::<Record>() / 8) as u64,
    ];
    for (index, limit) in (0..).zip(limits) {
        assert_eq!(ffi::limit(index), limit, "limit {index}");
    }
    assert_eq!(ffi::limit(5), 0);
}

#[test]
fn every_counter_stands_where_the_kernel_puts_it() {
    // Buffer of four elements: of ten, 4 + 4 + 2.
    let variant = Variant { buffer_bytes: Some(16), pipelined: true };
    let block = Accesses { singles: 0, bursts: 3, beats: 10 };
    let run = add(&[1; 10], &[2; 10], variant, 1).unwrap();
    let expected =
        Steps { a: block, b: block, c: block, iterations: 10, blocks: 3, ..Steps::default() };
    assert_eq!(run.units, [expected]);
    let run = count(&[1; 10], 1, PLAIN, 1).unwrap();
    let one_by_one = Accesses { singles: 10, bursts: 0, beats: 0 };
    let expected = Steps { a: one_by_one, iterations: 10, comparisons: 10, ..Steps::default() };
    assert_eq!(run.units, [expected]);
    assert_eq!(run.join, None);
    // 1 2 3 3 with the duplicate left out: 3 + 1 comparisons of two that wait or of the last one.
    let run = merge(&[1, 3], &[2, 3], PLAIN, 1).unwrap();
    let steps = run.units[0];
    assert_eq!((steps.a.singles, steps.b.singles, steps.c.singles), (2, 2, 3));
    assert_eq!((steps.iterations, steps.comparisons, steps.blocks), (4, 3 + 3, 0));
    let join = run.join.unwrap();
    assert_eq!((join.a.singles, join.c.singles, join.joined), (3, 3, 3));
}

#[test]
fn mean_is_the_sum_by_the_count() {
    assert_eq!(average(&[1, 2, 4, -9], PLAIN, 3).unwrap().answer.mean(), Some(-0.5));
    assert_eq!(average(&[], PLAIN, 1).unwrap().answer.mean(), None);
    let sum = average(&[i32::MAX; 1000], PLAIN, 7).unwrap().answer.mean();
    assert_eq!(sum, Some(f64::from(i32::MAX)));
}

#[rstest]
#[case::none(0)]
#[case::more_than_ports(16)]
fn refuses_units_that_cannot_be(#[case] units: u32) {
    assert_eq!(count(&[], 0, PLAIN, units).unwrap_err(), Error::Units { units });
    assert_eq!(merge(&[], &[], PLAIN, units).unwrap_err(), Error::Units { units });
}

#[rstest]
#[case::nothing(0)]
#[case::no_room_for_three(11)]
#[case::more_than_there_is(BUFFER_BYTES_MAX + 1)]
fn refuses_buffers_that_cannot_be(#[case] bytes: u32) {
    let variant = Variant { buffer_bytes: Some(bytes), pipelined: true };
    assert_eq!(average(&[], variant, 1).unwrap_err(), Error::Buffer { bytes });
    assert_eq!(add(&[], &[], variant, 1).unwrap_err(), Error::Buffer { bytes });
}

#[test]
fn refuses_arrays_that_do_not_fit_each_other() {
    assert_eq!(add(&[1], &[], PLAIN, 1).unwrap_err(), Error::Lengths { a: 1, b: 0 });
    assert_eq!(merge(&[2, 1], &[], PLAIN, 1).unwrap_err(), Error::NotSorted);
    assert_eq!(merge(&[], &[2, 1], PLAIN, 1).unwrap_err(), Error::NotSorted);
}

#[rstest]
#[case(1024)]
#[case(256 * 1024)]
#[case(BUFFER_BYTES_MAX)]
fn buffer_of_the_study_changes_the_steps_alone(#[case] bytes: u32) {
    let a: Vec<i32> = (0..300_000).collect();
    let b: Vec<i32> = (100_000..400_000).collect();
    let buffered = Variant { buffer_bytes: Some(bytes), pipelined: true };
    let with = merge(&a, &b, buffered, 3).unwrap();
    let without = merge(&a, &b, PLAIN, 3).unwrap();
    assert_eq!(with.answer, without.answer);
    assert_eq!(with.join, without.join);
    let block = u64::from(bytes / 4 / 3);
    for (with, without) in with.units.iter().zip(&without.units) {
        assert_eq!(with.c.beats, without.c.singles);
        assert_eq!(with.c.bursts, without.c.singles.div_ceil(block));
        assert_eq!(with.comparisons, without.comparisons);
    }
}
