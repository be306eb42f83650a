// SPDX-License-Identifier: Apache-2.0
//! Tests the estimate on columns that are drawn at random, against their true counts.

use std::collections::HashSet;

use rstest::rstest;

use super::*;

/// Values of a column, and of each of its parts.
const VALUES: usize = 200_000;
const PART: usize = 5_000;

/// Numbers that follow from a seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: u32) -> i64 {
        i64::try_from(self.next() % u64::from(end)).unwrap()
    }

    /// A number from 0 to 1.
    fn share(&mut self) -> f64 {
        f64::from(u32::try_from(self.next() >> 32).unwrap()) / f64::from(u32::MAX)
    }
}

fn uniform(domain: u32) -> Vec<i64> {
    let mut random = Random(u64::from(domain));
    (0..VALUES).map(|_| random.below(domain)).collect()
}

fn sorted(mut values: Vec<i64>) -> Vec<i64> {
    values.sort_unstable();
    values
}

/// Every part has a range of its own, in which values are in random order.
fn clustered(domain: u32) -> Vec<i64> {
    let mut random = Random(9);
    (0..VALUES)
        .map(|at| i64::try_from(at / PART).unwrap() * 1_000_000 + random.below(domain))
        .collect()
}

/// Windows of values that move on by a fifth of their length: each value is in five parts.
fn sliding() -> Vec<i64> {
    let mut random = Random(5);
    (0..VALUES).map(|at| i64::try_from(at / PART).unwrap() * 200 + random.below(1000)).collect()
}

/// Each value twice, in random order.
fn pairs() -> Vec<i64> {
    let mut values: Vec<i64> = (0..i64::try_from(VALUES).unwrap()).map(|at| at / 2).collect();
    let mut random = Random(3);
    for at in (1..values.len()).rev() {
        let end = u32::try_from(at + 1).unwrap();
        values.swap(at, usize::try_from(random.below(end)).unwrap());
    }
    values
}

/// The frequency of a value falls with its rank (Zipf, exponent 1).
fn skewed(domain: u32) -> Vec<i64> {
    let mut random = Random(1);
    let log = f64::from(domain).ln();
    #[expect(clippy::cast_possible_truncation, reason = "it is within the domain")]
    let draw = |share: f64| (share * log).exp() as i64;
    (0..VALUES).map(|_| draw(random.share())).collect()
}

fn count(values: &[i64]) -> f64 {
    f64::from(u32::try_from(values.iter().collect::<HashSet<_>>().len()).unwrap())
}

fn length(values: &[i64]) -> f64 {
    f64::from(u32::try_from(values.len()).unwrap())
}

#[expect(clippy::cast_precision_loss, reason = "they are small")]
fn range(values: &[i64]) -> (f64, f64) {
    (*values.iter().min().unwrap() as f64, *values.iter().max().unwrap() as f64)
}

/// The estimate from every `one_in`th part over the true count.
fn ratio(values: &[i64], one_in: usize, has_ranges: bool) -> f64 {
    let parts = values.chunks(PART);
    let whole = Whole {
        values: length(values),
        ranges: parts.clone().map(range).filter(|_| has_ranges).collect(),
        step: if has_ranges { 1.0 } else { 0.0 },
    };
    let counted = parts.step_by(one_in).map(|part| Part {
        values: length(part),
        distinct: count(part),
        range: has_ranges.then(|| range(part)),
    });
    whole.distinct(&counted.collect::<Vec<_>>()).unwrap() / count(values)
}

#[rstest]
#[case::few(uniform(7))]
#[case::some(uniform(3_000))]
#[case::many(uniform(90_000))]
#[case::few_sorted(sorted(uniform(7)))]
#[case::many_sorted(sorted(uniform(90_000)))]
#[case::clustered(clustered(900))]
#[case::clustered_sparse(clustered(900_000))]
#[case::sliding(sliding())]
#[case::unique((0..200_000).collect())]
#[case::unique_descending((0..200_000).rev().collect())]
#[case::pairs(pairs())]
fn estimate_is_within_a_quarter_of_the_count(
    #[case] values: Vec<i64>,
    #[values(1, 10)] one_in: usize,
) {
    let ratio = ratio(&values, one_in, true);
    assert!((0.75..=1.25).contains(&ratio), "{ratio}");
}

/// Without ranges, parts are taken for parts of the same values.
#[rstest]
#[case::uniform(uniform(3_000), 0.95, 1.05)]
#[case::unique((0..200_000).collect(), 1.0, 1.0)]
#[case::clustered(clustered(900), 0.02, 0.03)]
fn estimate_without_ranges_is_of_values_in_random_order(
    #[case] values: Vec<i64>,
    #[case] least: f64,
    #[case] most: f64,
) {
    let ratio = ratio(&values, 10, false);
    assert!((least..=most).contains(&ratio), "{ratio}");
}

/// Rare values are not in the parts: too few are estimated, but never fewer than were seen.
#[rstest]
#[case::small(skewed(1_000), 0.6, 1.0)]
#[case::large(skewed(1_000_000), 0.05, 0.15)]
fn estimate_of_skewed_values_is_too_low(
    #[case] values: Vec<i64>,
    #[case] least: f64,
    #[case] most: f64,
) {
    let ratio = ratio(&values, 10, true);
    assert!((least..=most).contains(&ratio), "{ratio}");
}

#[test]
fn domain_is_the_inverse_of_draws() {
    for domain_size in [2.0, 10.0, 1e3, 1e6] {
        let seen = drawn_from(domain_size, 2e3);
        let found = domain(seen, 2e3).unwrap();
        assert!(found <= domain_size * 1.001, "{found} {domain_size}");
        assert!((drawn_from(found, 2e3) - seen).abs() < 1e-3 * seen);
    }
    assert_eq!(domain(2e3, 2e3), None);
}

#[rstest]
#[case::nothing(&[])]
#[case::no_values(&[Part { values: 0.0, distinct: 0.0, range: None }])]
fn column_without_counted_values_has_no_estimate(#[case] parts: &[Part]) {
    let whole = Whole { values: 10.0, ranges: Vec::new(), step: 1.0 };
    assert_eq!(whole.distinct(parts), None);
}

#[rstest]
#[case::zero(0.0, 1.0)]
#[case::more_than_values(1e30, 100.0)]
#[case::more_than_values_seen(90.0, 100.0)]
fn wrong_count_is_brought_between_one_and_all(#[case] distinct: f64, #[case] expected: f64) {
    let whole = Whole { values: 100.0, ranges: Vec::new(), step: 0.0 };
    let part = Part { values: 10.0, distinct, range: Some((f64::MAX, f64::MIN)) };
    assert!((whole.distinct(&[part]).unwrap() - expected).abs() < 1e-6);
}

#[test]
fn whole_numbers_have_no_more_values_than_places() {
    let whole = Whole { values: 1e6, ranges: vec![(0.0, 9.0), (5.0, 19.0)], step: 1.0 };
    let part = Part { values: 1e3, distinct: 1e3, range: None };
    assert_eq!(whole.distinct(&[part]), Some(20.0));
}
