// SPDX-License-Identifier: Apache-2.0
//! Estimates the share of a column's values below a place, from the quantiles of a sample.
//!
//! Bounds alone say little of a skewed column: of the inhabitants of all towns the greatest number
//! is ten million, and nine towns of ten have fewer than two thousand. Between neighbouring
//! quantiles there are equally many values, and they are taken to be spread evenly there.

/// The parts of equal size that quantiles divide a sample into.
const PARTS: usize = 32;

/// Values that are sorted to find the quantiles; more would make the estimate no better, since the
/// error of 8,192 is half a percent of the rows.
const VALUES_MAX: usize = 8 << 10;

/// The places that divide the values of a column into parts of equal size, ascending, from the
/// least value to the greatest.
#[derive(Debug, Clone, PartialEq)]
pub struct Quantiles(Vec<f64>);

impl Quantiles {
    /// Returns the quantiles of a sample of places in any order; none of no values.
    pub fn of_sample(places: &[f64]) -> Option<Self> {
        let step = places.len().div_ceil(VALUES_MAX).max(1);
        let mut chosen: Vec<f64> = places.iter().copied().step_by(step).collect();
        chosen.sort_by(f64::total_cmp);
        let last = chosen.len().checked_sub(1)?;
        Self::new((0..=PARTS).map(|part| chosen[part * last / PARTS]).collect())
    }

    /// Returns quantiles that are these places; none if there are fewer than two, or they do not
    /// ascend.
    pub fn new(places: Vec<f64>) -> Option<Self> {
        let is_valid =
            places.len() >= 2 && places.is_sorted() && places.iter().all(|it| it.is_finite());
        is_valid.then_some(Self(places))
    }

    /// The places.
    pub fn places(&self) -> &[f64] {
        &self.0
    }

    /// Moves the ends outwards to bounds that all values of the column are known to have.
    #[must_use]
    pub fn within(mut self, (least, greatest): (f64, f64)) -> Self {
        if let [first, .., last] = self.0.as_mut_slice() {
            *first = first.min(least);
            *last = last.max(greatest);
        }
        self
    }

    /// The share of values below a place.
    #[expect(clippy::cast_precision_loss, reason = "there are few parts")]
    pub fn share_below(&self, place: f64) -> f64 {
        let below = self.0.partition_point(|quantile| *quantile < place);
        let parts = (self.0.len() - 1) as f64;
        match (below.checked_sub(1), self.0.get(below)) {
            (None, _) => 0.0,
            (Some(_), None) => 1.0,
            (Some(before), Some(behind)) => {
                let least = self.0[before];
                (before as f64 + (place - least) / (behind - least)) / parts
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    /// Squares: most values are far below the greatest.
    fn squares() -> Vec<f64> {
        (0..1000).map(|number| f64::from(number * 7 % 1000).powi(2)).collect()
    }

    #[rstest]
    #[case::below_all(0.0, 0.0)]
    #[case::a_tenth(10_000.0, 0.1)]
    #[case::a_half(250_000.0, 0.5)]
    #[case::above_all(1e6, 1.0)]
    fn share_of_a_skewed_column_is_near_the_true_one(#[case] place: f64, #[case] expected: f64) {
        let share = Quantiles::of_sample(&squares()).unwrap().share_below(place);
        assert!((share - expected).abs() < 0.01, "{share}");
    }

    #[test]
    fn value_that_many_rows_have_is_not_below_itself() {
        let places: Vec<f64> = (0..1000).map(|row| if row < 600 { 5.0 } else { 9.0 }).collect();
        let quantiles = Quantiles::of_sample(&places).unwrap();
        assert!(quantiles.share_below(5.0) < 1e-9);
        let share = quantiles.share_below(5.0_f64.next_up());
        assert!((share - 0.6).abs() < 0.04, "{share}");
    }

    #[test]
    fn sample_that_is_larger_than_needed_gives_the_same_shares() {
        let places: Vec<f64> = (0..100_000).map(|row| f64::from(row * 7_919 % 100_000)).collect();
        let share = Quantiles::of_sample(&places).unwrap().share_below(30_000.0);
        assert!((share - 0.3).abs() < 0.02, "{share}");
    }

    #[test]
    fn ends_move_outwards_only() {
        let quantiles = || Quantiles::new(vec![2.0, 3.0, 4.0]).unwrap();
        assert_eq!(quantiles().within((1.0, 9.0)).places(), [1.0, 3.0, 9.0]);
        assert_eq!(quantiles().within((2.5, 3.5)), quantiles());
    }

    #[rstest]
    #[case::one(&[1.0])]
    #[case::descending(&[2.0, 1.0])]
    #[case::not_finite(&[1.0, f64::INFINITY])]
    fn other_places_are_refused(#[case] places: &[f64]) {
        assert_eq!(Quantiles::new(places.to_vec()), None);
        assert_eq!(Quantiles::of_sample(&[]), None);
    }
}
