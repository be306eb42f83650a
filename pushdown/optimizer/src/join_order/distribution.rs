// SPDX-License-Identifier: Apache-2.0
//! Estimates the share of a scan's rows of which a column is in an interval.
//!
//! Files whose values were sampled have quantiles; of the others each row group has bounds, between
//! which its values are taken to be spread evenly.

use crate::quantiles::Quantiles;

/// How the values of a column are spread over a scan. Numbers are those of the column's type.
#[derive(Debug, PartialEq)]
pub(super) struct Distribution {
    parts: Vec<Part>,
}

/// Some of the values.
#[derive(Debug, PartialEq)]
pub(super) struct Part {
    pub(super) values: f64,
    pub(super) quantiles: Quantiles,
}

impl Distribution {
    /// Makes a distribution of parts; none if they have no values.
    pub(super) fn of(parts: Vec<Part>) -> Option<Self> {
        (parts.iter().map(|part| part.values).sum::<f64>() >= 1.0).then_some(Self { parts })
    }

    /// The share of values that are at least the first number, and below the second one.
    pub(super) fn share(&self, (from, to): (f64, f64)) -> f64 {
        let values: f64 = self.parts.iter().map(|part| part.values).sum();
        let inside = self.parts.iter().map(|Part { values, quantiles }| {
            (quantiles.share_below(to) - quantiles.share_below(from)).max(0.0) * values
        });
        inside.sum::<f64>() / values
    }

    /// The least and the greatest value.
    pub(super) fn range(&self) -> (f64, f64) {
        let ends = self.parts.iter().filter_map(|part| {
            let places = part.quantiles.places();
            Some((*places.first()?, *places.last()?))
        });
        ends.fold((f64::INFINITY, f64::NEG_INFINITY), |all, ends| {
            (all.0.min(ends.0), all.1.max(ends.1))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(values: f64, places: &[f64]) -> Part {
        Part { values, quantiles: Quantiles::new(places.to_vec()).unwrap() }
    }

    #[test]
    fn share_is_that_of_all_parts_by_their_values() {
        let parts = vec![part(300.0, &[0.0, 1.0, 100.0]), part(100.0, &[100.0, 200.0])];
        let distribution = Distribution::of(parts).unwrap();
        assert_eq!(distribution.range(), (0.0, 200.0));
        let share = |from, to| distribution.share((from, to));
        assert!((share(f64::NEG_INFINITY, 1.0) - 150.0 / 400.0).abs() < 1e-9);
        assert!((share(150.0, f64::INFINITY) - 50.0 / 400.0).abs() < 1e-9);
        assert!((share(1.0, 150.0) - 200.0 / 400.0).abs() < 1e-9);
        assert!(share(200.0, 100.0).abs() < 1e-9);
    }

    #[test]
    fn parts_without_values_are_no_distribution() {
        assert_eq!(Distribution::of(Vec::new()), None);
        assert_eq!(Distribution::of(vec![part(0.0, &[0.0, 1.0])]), None);
    }
}
