// SPDX-License-Identifier: Apache-2.0
//! Fits rates by least squares over running sums:
//! `ns = setup + a * media_bytes + b * rows + c * link_bytes`.
//!
//! It minimises the relative error: the sum of `(1 - estimate / ns)^2`. Estimates are compared with
//! one another, so relative errors matter. And a command that was delayed a hundredfold has an
//! error of 1 at most, so that a few of them do not distort the rates.
//!
//! No rate is negative. If two amounts are always proportional, their rates cannot be
//! distinguished; then fewer rates are fitted, or the drive's own rates are used.
//!
//! # Invariants
//!
//! - Memory does not grow with what was observed: there are sums only.
//! - Sums are integers, so they do not depend on the order in which commands ended.

use crate::cost::{FitQuality, KernelRates, Load, RateSource, to_f64};

/// Fewer observations are no fit.
pub const OBSERVATIONS_MIN: u64 = 8;

/// A larger residual says that the rates do not describe what was observed.
pub const RESIDUAL_MAX: f64 = 0.25;

/// Another rate has to lower the residual by this much.
const GAIN_MIN: f64 = 0.005;

/// Amounts of a load.
const AMOUNTS: usize = 4;

/// Fractional bits of an amount in ns: one command in 10 s still has seven.
const SCALE_BITS: u32 = 40;

/// The largest scaled amount, 256 a ns; 2^32 of their squares fit in a sum.
const SCALED_MAX: u128 = 1 << 48;

/// Running sums over what was observed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sums {
    observations: u64,
    /// Of each scaled amount.
    amounts: [u128; AMOUNTS],
    /// Of each product of two.
    products: [[u128; AMOUNTS]; AMOUNTS],
}

impl Sums {
    /// Adds what a load took.
    pub fn add(&mut self, load: &Load, ns: u64) {
        let scaled = load.amounts().map(|amount| {
            ((u128::from(amount) << SCALE_BITS) / u128::from(ns.max(1))).min(SCALED_MAX)
        });
        self.observations += 1;
        for (row, left) in scaled.iter().enumerate() {
            self.amounts[row] = self.amounts[row].saturating_add(*left);
            for (column, right) in scaled.iter().enumerate() {
                let sum = &mut self.products[row][column];
                *sum = sum.saturating_add(left * right);
            }
        }
    }

    /// Makes all that was observed so far count half.
    pub fn fade(&mut self) {
        self.observations /= 2;
        let sums = self.amounts.iter_mut().chain(self.products.iter_mut().flatten());
        for sum in sums {
            *sum /= 2;
        }
    }

    /// Number of observations that were added.
    pub fn observations(&self) -> u64 {
        self.observations
    }

    /// The rates that fit best, however badly; nothing before anything was observed. Rates that the
    /// drive has of its own hold where nothing was observed.
    pub fn fit(&self, source: RateSource, own: Option<&KernelRates>) -> Option<KernelRates> {
        let observed = Normal::of(self);
        let mut normal = observed;
        if let Some(own) = own {
            normal.anchor(own);
        }
        let mut best: Option<([f64; AMOUNTS], f64)> = None;
        for chosen in CHOICES {
            let Some(rates) = normal.solve(chosen) else { continue };
            let residual = normal.residual(&rates);
            if best.is_none_or(|(_, least)| residual < least - GAIN_MIN) {
                best = Some((rates, residual));
            }
        }
        let (rates, _) = best.filter(|_| self.observations > 0)?;
        let [setup_ns, ns_per_media_byte, ns_per_row, ns_per_link_byte] = rates;
        let residual = observed.residual(&rates);
        let fit = Some(FitQuality { observations: self.observations, residual });
        Some(KernelRates { setup_ns, ns_per_media_byte, ns_per_row, ns_per_link_byte, source, fit })
    }

    /// The rates that fit best, if there is enough to go by and they describe it.
    pub fn trusted(&self, source: RateSource, own: Option<&KernelRates>) -> Option<KernelRates> {
        let is_trusted =
            |fit: &FitQuality| fit.observations >= OBSERVATIONS_MIN && fit.residual <= RESIDUAL_MAX;
        self.fit(source, own).filter(|rates| rates.fit.as_ref().is_some_and(is_trusted))
    }
}

/// The sums as numbers to solve with, of amounts in each ns.
#[derive(Debug, Clone, Copy)]
struct Normal {
    weight: f64,
    amounts: [f64; AMOUNTS],
    products: [[f64; AMOUNTS]; AMOUNTS],
}

impl Normal {
    fn of(sums: &Sums) -> Self {
        let scale = to_f64(1 << SCALE_BITS);
        Self {
            weight: to_f64(sums.observations),
            amounts: sums.amounts.map(|sum| wide_f64(sum) / scale),
            products: sums.products.map(|row| row.map(|sum| wide_f64(sum) / scale / scale)),
        }
    }

    /// Adds what the drive's own rates say of a few loads, each as a small part of an observation.
    /// If all commands were alike, say row groups of one size, this keeps the rates of what did
    /// not vary from taking any value that happens to fit.
    fn anchor(&mut self, own: &KernelRates) {
        for load in ANCHORS {
            let ns = own.busy_ns(&load).max(1.0);
            let amounts = load.amounts().map(|amount| to_f64(amount) / ns);
            self.weight += ANCHOR_WEIGHT;
            for (row, left) in amounts.iter().enumerate() {
                self.amounts[row] += ANCHOR_WEIGHT * left;
                for (column, right) in amounts.iter().enumerate() {
                    self.products[row][column] += ANCHOR_WEIGHT * left * right;
                }
            }
        }
    }

    /// The root of the mean square of relative errors.
    fn residual(&self, rates: &[f64; AMOUNTS]) -> f64 {
        let linear: f64 = rates.iter().zip(self.amounts).map(|(rate, sum)| rate * sum).sum();
        let square: f64 = rates
            .iter()
            .zip(self.products)
            .map(|(left, row)| {
                left * row.iter().zip(rates).map(|(sum, right)| sum * right).sum::<f64>()
            })
            .sum();
        ((self.weight - 2.0 * linear + square) / self.weight).max(0.0).sqrt()
    }

    /// The best rates of the chosen amounts, the others 0; nothing when they can not be
    /// distinguished or one would be negative.
    fn solve(&self, chosen: &[usize]) -> Option<[f64; AMOUNTS]> {
        // Scaled so that the diagonal is 1: amounts differ by many orders of magnitude.
        let norm = |at: usize| self.products[at][at].sqrt();
        if chosen.iter().any(|at| norm(*at) <= 0.0) {
            return None;
        }
        let mut rows: Vec<Vec<f64>> = chosen
            .iter()
            .map(|row| {
                let left = chosen
                    .iter()
                    .map(|column| self.products[*row][*column] / norm(*row) / norm(*column));
                left.chain([self.amounts[*row] / norm(*row)]).collect()
            })
            .collect();
        let size = rows.len();
        for pivot in 0..size {
            let divisor = rows[pivot][pivot];
            if divisor < PIVOT_MIN {
                return None;
            }
            rows[pivot].iter_mut().for_each(|cell| *cell /= divisor);
            let reduced = rows[pivot].clone();
            for (_, row) in rows.iter_mut().enumerate().filter(|(at, _)| *at != pivot) {
                let factor = row[pivot];
                row.iter_mut().zip(&reduced).for_each(|(cell, other)| *cell -= factor * other);
            }
        }
        let mut rates = [0.0; AMOUNTS];
        for (row, at) in rows.iter().zip(chosen) {
            let rate = row[size] / norm(*at);
            if rate < 0.0 {
                return None;
            }
            rates[*at] = rate;
        }
        Some(rates)
    }
}

/// A pivot below this share of what it was means that an amount follows from the others.
const PIVOT_MIN: f64 = 1e-6;

/// Weight of an anchor: twenty observations that say otherwise outweigh it.
const ANCHOR_WEIGHT: f64 = 0.05;

/// A start; a mean command; one of few rows, of few bytes, and of a large result.
const ANCHORS: [Load; 5] = [
    Load { commands: 1, media_bytes: 0, rows: 0, link_bytes: 0 },
    Load { commands: 1, media_bytes: 1 << 20, rows: 1 << 16, link_bytes: 1 << 10 },
    Load { commands: 1, media_bytes: 1 << 20, rows: 1 << 12, link_bytes: 1 << 10 },
    Load { commands: 1, media_bytes: 1 << 16, rows: 1 << 16, link_bytes: 1 << 10 },
    Load { commands: 1, media_bytes: 1 << 20, rows: 1 << 16, link_bytes: 1 << 20 },
];

/// Amounts whose rates are tried: few before many, and always one that grows with the work, since
/// commands that are all alike say nothing of larger ones.
const CHOICES: [&[usize]; 12] = [
    &[2],
    &[1],
    &[1, 2],
    &[0, 2],
    &[0, 1],
    &[2, 3],
    &[1, 3],
    &[0, 1, 2],
    &[0, 2, 3],
    &[0, 1, 3],
    &[1, 2, 3],
    &[0, 1, 2, 3],
];

#[expect(clippy::cast_precision_loss, reason = "a sum needs no more digits than a rate")]
fn wide_f64(sum: u128) -> f64 {
    sum as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Loads of many shapes, by number.
    fn load(number: u64) -> Load {
        let mix = |factor: u64, limit: u64| number.wrapping_mul(factor) % limit;
        Load {
            commands: 1,
            media_bytes: 100_000 + mix(7_919, 900) * 1000,
            rows: 1000 + mix(104_729, 100) * 1000,
            link_bytes: 300 + mix(1_299_709, 500) * 100,
        }
    }

    fn time(load: &Load) -> u64 {
        100_000 + load.media_bytes / 4 + load.rows * 3 + load.link_bytes / 2
    }

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() <= expected.abs() * 0.01 + 1e-6, "{found} {expected}");
    }

    #[test]
    fn fit_recovers_the_rates_of_exact_times() {
        let mut sums = Sums::default();
        for number in 0..200 {
            sums.add(&load(number), time(&load(number)));
        }
        let rates = sums.trusted(RateSource::Measured, None).unwrap();
        near(rates.setup_ns, 100_000.0);
        near(rates.ns_per_media_byte, 0.25);
        near(rates.ns_per_row, 3.0);
        near(rates.ns_per_link_byte, 0.5);
        assert!(rates.fit.unwrap().residual < 1e-3);
    }

    #[test]
    fn sums_do_not_depend_on_the_order_of_completions() {
        let (mut forth, mut back) = (Sums::default(), Sums::default());
        for number in 0..100 {
            forth.add(&load(number), time(&load(number)));
            back.add(&load(99 - number), time(&load(99 - number)));
        }
        assert_eq!(forth, back);
    }

    #[test]
    fn few_delayed_commands_do_not_distort_the_rates() {
        let mut sums = Sums::default();
        for number in 0..200 {
            let held_up = if number % 25 == 0 { 100 } else { 1 };
            sums.add(&load(number), time(&load(number)) * held_up);
        }
        let rates = sums.trusted(RateSource::Measured, None).unwrap();
        let estimate = rates.busy_ns(&load(3));
        assert!((estimate / to_f64(time(&load(3))) - 1.0).abs() < 0.06, "{estimate}");
    }

    #[test]
    fn random_times_have_no_fit() {
        let mut sums = Sums::default();
        for number in 0..200 {
            sums.add(&load(number), 1000 * 10_u64.pow(u32::try_from(number % 7).unwrap()));
        }
        let rates = sums.fit(RateSource::Measured, None).unwrap();
        assert!(rates.fit.unwrap().residual > RESIDUAL_MAX);
        assert_eq!(sums.trusted(RateSource::Measured, None), None);
    }

    #[test]
    fn few_observations_have_no_fit() {
        let mut sums = Sums::default();
        assert_eq!(sums.fit(RateSource::Measured, None), None);
        for number in 0..OBSERVATIONS_MIN - 1 {
            sums.add(&load(number), time(&load(number)));
            assert_eq!(sums.trusted(RateSource::Measured, None), None);
        }
        sums.add(&load(77), time(&load(77)));
        assert!(sums.trusted(RateSource::Measured, None).is_some());
    }

    #[test]
    fn equal_commands_give_a_rate_that_grows_with_the_work() {
        let mut sums = Sums::default();
        let one = load(5);
        for _ in 0..20 {
            sums.add(&one, 1_000_000);
        }
        let rates = sums.trusted(RateSource::Measured, None).unwrap();
        near(rates.busy_ns(&one), 1e6);
        assert!(rates.setup_ns == 0.0 && rates.ns_per_row > 0.0, "{rates:?}");
    }

    #[test]
    fn equal_commands_keep_the_rates_of_the_drive() {
        let own = KernelRates {
            setup_ns: 100_000.0,
            ns_per_media_byte: 0.4,
            ns_per_row: 3.0,
            ns_per_link_byte: 0.0,
            source: RateSource::Modelled,
            fit: None,
        };
        // Row groups of one size that take twice as long as the drive says; their results differ by
        // a few bytes, and by as many percent what they take.
        let mut sums = Sums::default();
        for number in 0..160 {
            let link_bytes = 300 + number % 7 * 100;
            let load = Load { commands: 1, media_bytes: 1_100_000, rows: 115_000, link_bytes };
            sums.add(&load, 1_700_000 + link_bytes * 40);
        }
        let rates = sums.trusted(RateSource::Modelled, Some(&own)).unwrap();
        assert!(rates.setup_ns < 200_000.0 && rates.ns_per_link_byte < 1.0, "{rates:?}");
        let load = Load { commands: 1, media_bytes: 1_100_000, rows: 115_000, link_bytes: 600 };
        assert!((rates.busy_ns(&load) / 1_724_000.0 - 1.0).abs() < 0.05, "{rates:?}");
        assert!(rates.fit.unwrap().residual < 0.05, "{rates:?}");
    }

    #[test]
    fn no_rate_is_negative() {
        let mut sums = Sums::default();
        for number in 0..100 {
            // Larger results go with shorter times.
            let load = load(number);
            sums.add(&load, 1_000_000 + load.rows * 10 - load.link_bytes * 5);
        }
        let rates = sums.fit(RateSource::Measured, None).unwrap();
        assert!(rates.coefficients().iter().all(|rate| *rate >= 0.0), "{rates:?}");
    }

    #[test]
    fn faded_observations_count_half() {
        let mut sums = Sums::default();
        for number in 0..100 {
            sums.add(&load(number), time(&load(number)));
        }
        let before = sums.fit(RateSource::Measured, None).unwrap();
        sums.fade();
        let after = sums.fit(RateSource::Measured, None).unwrap();
        assert_eq!(sums.observations(), 50);
        near(after.ns_per_row, before.ns_per_row);
    }
}
