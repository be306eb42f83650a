// SPDX-License-Identifier: Apache-2.0
//! The kernels against plain Rust, for arrays and numbers of units by chance.

use std::collections::BTreeSet;

use proptest::{collection::vec, prelude::*};
use rstest::rstest;

use super::{
    super::study::{Accesses, UNITS_MAX},
    *,
};

/// Numbers of any size, or few enough different ones for duplicates.
fn arrays() -> impl Strategy<Value = Vec<i32>> {
    prop_oneof![vec(any::<i32>(), 0..2000), vec(-20..20, 0..400)]
}

fn sorted_arrays() -> impl Strategy<Value = Vec<i32>> {
    arrays().prop_map(|mut array| {
        array.sort_unstable();
        array
    })
}

/// Lines that the units of a pass moved of an array.
fn moved(pass: &[Steps], array: impl Fn(&Steps) -> Accesses) -> u64 {
    pass.iter().map(|steps| array(steps).beats).sum()
}

proptest! {
    #[test]
    fn count_is_that_of_an_iterator(a in arrays(), value in -20..20, units in 1..=UNITS_MAX) {
        let run = count(&a, value, units).unwrap();
        prop_assert_eq!(run.answer, a.iter().filter(|element| **element == value).count() as u64);
        prop_assert_eq!(run.passes.len(), 1);
        prop_assert_eq!(moved(&run.passes[0], |steps| steps.a), a.len().div_ceil(16) as u64);
        prop_assert_eq!(run.passes[0].len(), units as usize);
    }

    #[test]
    fn average_is_the_sum_in_64_bits(a in arrays(), units in 1..=UNITS_MAX) {
        let run = average(&a, units).unwrap();
        let sum = a.iter().map(|element| i64::from(*element)).sum();
        prop_assert_eq!(run.answer, Average { sum, count: a.len() as u64 });
    }

    #[test]
    fn addition_wraps_like_rust(
        pairs in vec(any::<(i32, i32)>(), 0..2000),
        units in 1..=UNITS_MAX,
    ) {
        let (a, b): (Vec<i32>, Vec<i32>) = pairs.iter().copied().unzip();
        let run = add(&a, &b, units).unwrap();
        let expected: Vec<i32> = pairs.iter().map(|(a, b)| a.wrapping_add(*b)).collect();
        prop_assert_eq!(run.answer, expected);
        let lines = a.len().div_ceil(16) as u64;
        prop_assert_eq!(moved(&run.passes[0], |steps| steps.b), lines);
        prop_assert_eq!(moved(&run.passes[0], |steps| steps.c), lines);
    }

    #[test]
    fn merge_is_the_set_of_both_in_both_forms(
        a in sorted_arrays(),
        b in sorted_arrays(),
        units in 1..=UNITS_MAX,
    ) {
        let set: BTreeSet<i32> = a.iter().chain(&b).copied().collect();
        let expected: Vec<i32> = set.into_iter().collect();
        let segments = merge(&a, &b, Form::Segments, units).unwrap();
        prop_assert_eq!(segments.answer.len(), units as usize);
        prop_assert_eq!(segments.answer.concat(), expected.clone());
        prop_assert_eq!(segments.passes.len(), 1);
        let one = merge(&a, &b, Form::OneArray, units).unwrap();
        prop_assert_eq!(one.answer, vec![expected]);
        prop_assert_eq!(one.passes.len(), 2);
        for pass in segments.passes.iter().chain(&one.passes) {
            let iterations: u64 = pass.iter().map(|steps| steps.iterations).sum();
            prop_assert_eq!(iterations, (a.len() + b.len()) as u64);
        }
        prop_assert_eq!(moved(&one.passes[0], |steps| steps.c), 0);
    }
}

#[test]
fn every_counter_stands_where_the_kernel_puts_it() {
    // 300 elements are 19 lines: a burst of 16 and one of 3.
    let lines = Accesses { singles: 0, bursts: 2, beats: 19 };
    let run = add(&[1; 300], &[2; 300], 1).unwrap();
    let expected = Steps { a: lines, b: lines, c: lines, iterations: 19, ..Steps::default() };
    assert_eq!(run.passes, [[expected]]);
    let run = count(&[1; 300], 1, 1).unwrap();
    let expected = Steps { a: lines, iterations: 19, comparisons: 300, ..Steps::default() };
    assert_eq!(run.passes, [[expected]]);
    // 1 to 20: a line and four elements, by 40 iterations.
    let array: Vec<i32> = (1..=20).collect();
    let run = merge(&array, &array, Form::Segments, 1).unwrap();
    let steps = run.passes[0][0];
    assert_eq!((steps.a.beats, steps.b.beats, steps.iterations), (2, 2, 40));
    assert_eq!(steps.c, Accesses { singles: 4, bursts: 1, beats: 1 });
    assert_eq!(steps.comparisons, 39 + 39);
}

#[rstest]
#[case::none(0)]
#[case::more_than_ports(16)]
fn refuses_units_that_cannot_be(#[case] units: u32) {
    assert_eq!(count(&[], 0, units).unwrap_err(), Error::Units { units });
    assert_eq!(average(&[], units).unwrap_err(), Error::Units { units });
    assert_eq!(add(&[], &[], units).unwrap_err(), Error::Units { units });
    assert_eq!(merge(&[], &[], Form::OneArray, units).unwrap_err(), Error::Units { units });
}

#[test]
fn refuses_arrays_that_do_not_fit_each_other() {
    assert_eq!(add(&[1], &[], 1).unwrap_err(), Error::Lengths { a: 1, b: 0 });
    assert_eq!(merge(&[2, 1], &[], Form::Segments, 1).unwrap_err(), Error::NotSorted);
    assert_eq!(merge(&[], &[2, 1], Form::Segments, 1).unwrap_err(), Error::NotSorted);
}
