// SPDX-License-Identifier: Apache-2.0
//! Fits rates by least squares over running sums: `ns = setup + a * media_bytes + b * rows + ..`,
//! with a rate for each amount of a [`Load`].
//!
//! It minimises the relative error: the sum of `(1 - estimate / ns)^2`. Estimates are compared with
//! one another, so relative errors matter. And a command that was delayed a hundredfold has an
//! error of 1 at most, so that a few of them do not distort the rates.
//!
//! No rate is negative. A drive's own rates are changed as little as what was observed allows
//! (ridge regression), so that those of amounts that did not vary, or were not there, remain.
//! Without own rates amounts are chosen one after the other (forward selection), as long as each
//! explains more: two that are always proportional cannot be distinguished.
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
const AMOUNTS: usize = Load::AMOUNTS;

/// The place of the number of commands, whose rate says nothing of larger commands.
const COMMANDS: usize = 0;

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
        let rates = match own {
            Some(own) => observed.anchored(own).best(&amounts_of(own)),
            None => observed.best(&[]),
        };
        let rates = rates.filter(|_| self.observations > 0)?;
        let residual = observed.residual(&rates);
        let fit = Some(FitQuality { observations: self.observations, residual });
        Some(KernelRates::of_coefficients(rates, source, fit))
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

    /// The sums with what the drive's own rates say of each amount by itself, as a small part of an
    /// observation. If all commands were alike, say row groups of one size, this keeps the rates of
    /// what did not vary from taking any value that happens to fit.
    fn anchored(mut self, own: &KernelRates) -> Self {
        for (at, rate) in own.coefficients().into_iter().enumerate().filter(|(_, rate)| *rate > 0.0)
        {
            let amount = 1.0 / rate;
            self.weight += ANCHOR_WEIGHT;
            self.amounts[at] += ANCHOR_WEIGHT * amount;
            self.products[at][at] += ANCHOR_WEIGHT * amount * amount;
        }
        self
    }

    /// The best rates of these amounts, but for those that would be negative, and of others that
    /// explain more.
    fn best(&self, amounts: &[usize]) -> Option<[f64; AMOUNTS]> {
        let mut chosen = amounts.to_vec();
        let mut best = None;
        while !chosen.is_empty() && best.is_none() {
            match self.solve(&chosen) {
                Ok(rates) => best = Some((rates, self.residual(&rates))),
                Err(unfit) => chosen.retain(|at| *at != unfit),
            }
        }
        while let Some((next, rates, residual)) = self.next(&chosen) {
            if best.is_some_and(|(_, least)| residual >= least - GAIN_MIN) {
                break;
            }
            chosen.push(next);
            best = Some((rates, residual));
        }
        best.map(|(rates, _)| rates)
    }

    /// The amount that explains most beside those that are chosen, with the rates and the residual
    /// of all of them.
    fn next(&self, chosen: &[usize]) -> Option<(usize, [f64; AMOUNTS], f64)> {
        // Commands that are all alike say nothing of larger ones: the first rate is of an amount
        // that grows with the work.
        let is_candidate =
            |at: &usize| !chosen.contains(at) && (*at != COMMANDS || !chosen.is_empty());
        let with = |at: usize| {
            let rates = self.solve(&[chosen, &[at]].concat()).ok()?;
            Some((at, rates, self.residual(&rates)))
        };
        let tried = PREFERRED.into_iter().filter(is_candidate).filter_map(with);
        tried.min_by(|(_, _, one), (_, _, other)| one.total_cmp(other))
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

    /// The best rates of the chosen amounts, the others 0.
    ///
    /// # Errors
    /// With an amount that was not there, follows from the others, or would have a negative rate.
    fn solve(&self, chosen: &[usize]) -> Result<[f64; AMOUNTS], usize> {
        // Scaled so that the diagonal is 1: amounts differ by many orders of magnitude.
        let norm = |at: usize| self.products[at][at].sqrt();
        if let Some(absent) = chosen.iter().find(|at| norm(**at) <= 0.0) {
            return Err(*absent);
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
        for (pivot, at) in chosen.iter().enumerate() {
            let divisor = rows[pivot][pivot];
            if divisor < PIVOT_MIN {
                return Err(*at);
            }
            rows[pivot].iter_mut().for_each(|cell| *cell /= divisor);
            let reduced = rows[pivot].clone();
            for (_, row) in rows.iter_mut().enumerate().filter(|(at, _)| *at != pivot) {
                let factor = row[pivot];
                row.iter_mut().zip(&reduced).for_each(|(cell, other)| *cell -= factor * other);
            }
        }
        let solved = |(row, at): (&Vec<f64>, &usize)| (*at, row[chosen.len()] / norm(*at));
        let solved: Vec<(usize, f64)> = rows.iter().zip(chosen).map(solved).collect();
        // The one that is furthest below 0, by what it would take off.
        let off = |(at, rate): &(usize, f64)| rate * norm(*at);
        let least = solved.iter().min_by(|one, other| off(one).total_cmp(&off(other)));
        if let Some((at, _)) = least.filter(|(_, rate)| *rate < 0.0) {
            return Err(*at);
        }
        let mut rates = [0.0; AMOUNTS];
        solved.into_iter().for_each(|(at, rate)| rates[at] = rate);
        Ok(rates)
    }
}

/// The amounts of which a drive has rates.
fn amounts_of(own: &KernelRates) -> Vec<usize> {
    let rates = own.coefficients().into_iter().enumerate();
    rates.filter(|(_, rate)| *rate > 0.0).map(|(at, _)| at).collect()
}

/// A pivot below this share of what it was means that an amount follows from the others.
const PIVOT_MIN: f64 = 1e-6;

/// Weight of an anchor: twenty observations that say otherwise outweigh it.
const ANCHOR_WEIGHT: f64 = 0.05;

/// The order in which amounts are tried; the first of those that explain as much is taken. Rows
/// come first, since every command has them.
const PREFERRED: [usize; AMOUNTS] = [3, 1, 0, 6, 2, 4, 5];

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
            ..Load::default()
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
        let own = own();
        let equal = Load { commands: 1, media_bytes: 1_100_000, rows: 115_000, ..Load::default() };
        // Row groups of one size that take twice as long as the drive says; their results differ by
        // a few bytes, and by as many percent what they take.
        let mut sums = Sums::default();
        for number in 0..160 {
            let link_bytes = 300 + number % 7 * 100;
            let load = Load { link_bytes, ..equal };
            sums.add(&load, 1_700_000 + link_bytes * 40);
        }
        let rates = sums.trusted(RateSource::Modelled, Some(&own)).unwrap();
        assert!(rates.setup_ns < 200_000.0 && rates.ns_per_link_byte < 1.0, "{rates:?}");
        let load = Load { link_bytes: 600, ..equal };
        assert!((rates.busy_ns(&load) / 1_724_000.0 - 1.0).abs() < 0.05, "{rates:?}");
        assert!(rates.fit.unwrap().residual < 0.05, "{rates:?}");
    }

    /// Rates of a drive whose decoders look large dictionaries up in a slow memory.
    fn own() -> KernelRates {
        KernelRates {
            setup_ns: 100_000.0,
            ns_per_media_byte: 0.4,
            ns_per_row: 3.0,
            ns_per_look_up: 36.0,
            ..KernelRates::zero(RateSource::Modelled)
        }
    }

    #[test]
    fn rates_of_amounts_that_were_not_observed_are_those_of_the_drive() {
        let mut sums = Sums::default();
        for number in 0..2000 {
            sums.add(&load(number), time(&load(number)));
        }
        let rates = sums.trusted(RateSource::Modelled, Some(&own())).unwrap();
        near(rates.ns_per_look_up, 36.0);
        near(rates.ns_per_media_byte, 0.25);
        near(rates.ns_per_link_byte, 0.5);
    }

    #[test]
    fn fit_tells_rates_of_encodings_apart() {
        let mut sums = Sums::default();
        for number in 0..400_u64 {
            let mix = |factor: u64, limit: u64| number.wrapping_mul(factor) % limit;
            let load = Load {
                dictionary_bytes: mix(15_485_863, 700) * 1000,
                look_ups: mix(32_452_843, 90) * 1000,
                string_bytes: mix(49_979_687, 400) * 1000,
                link_bytes: 0,
                ..load(number)
            };
            let encoded_ns =
                load.dictionary_bytes * 4 / 5 + load.look_ups * 20 + load.string_bytes * 7 / 2;
            sums.add(&load, time(&load) + encoded_ns);
        }
        for drive in [Some(own()), None] {
            let rates = sums.trusted(RateSource::Modelled, drive.as_ref()).unwrap();
            near(rates.ns_per_dictionary_byte, 0.8);
            near(rates.ns_per_look_up, 20.0);
            near(rates.ns_per_string_byte, 3.5);
        }
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
