// SPDX-License-Identifier: Apache-2.0
//! Holds one quantity as measured and as modelled: two types that do not convert into each other.
//!
//! A value of several quantities is computed separately for each of the two, by the same formula.
//! So a drive with modelled times shows how exact the formula is.

/// Samples of a clock of this machine or of the drive.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MeasuredSamples(Vec<f64>);

/// Samples of the model of an emulated drive.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ModelledSamples(Vec<f64>);

/// A quantity with its measured and modelled samples; both may be empty.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Observed {
    /// The measured samples.
    pub measured: MeasuredSamples,
    /// The modelled samples.
    pub modelled: ModelledSamples,
}

impl MeasuredSamples {
    /// These samples.
    pub fn new(samples: impl IntoIterator<Item = f64>) -> Self {
        Self(samples.into_iter().collect())
    }

    /// The median, if there is one above zero: quantities here are, and what is not cannot be told
    /// from what was subtracted.
    pub fn value(&self) -> Option<f64> {
        median(&self.0).filter(|value| *value > 0.0)
    }

    /// All of them.
    pub fn samples(&self) -> &[f64] {
        &self.0
    }
}

impl ModelledSamples {
    /// These samples.
    pub fn new(samples: impl IntoIterator<Item = f64>) -> Self {
        Self(samples.into_iter().collect())
    }

    /// As [`MeasuredSamples::value`].
    pub fn value(&self) -> Option<f64> {
        median(&self.0).filter(|value| *value > 0.0)
    }

    /// All of them.
    pub fn samples(&self) -> &[f64] {
        &self.0
    }
}

impl Observed {
    /// Applies a formula to each sample.
    pub(crate) fn map(&self, formula: impl Fn(f64) -> f64) -> Self {
        self.with([], |ns, []| formula(ns))
    }

    /// Applies a formula to each sample and the medians of other quantities. There is nothing
    /// where one of these is missing.
    pub(crate) fn with<const N: usize>(
        &self,
        others: [&Self; N],
        formula: impl Fn(f64, [f64; N]) -> f64,
    ) -> Self {
        let measured = others.map(|other| median(&other.measured.0));
        let modelled = others.map(|other| median(&other.modelled.0));
        Self {
            measured: MeasuredSamples(apply(&self.measured.0, measured, &formula)),
            modelled: ModelledSamples(apply(&self.modelled.0, modelled, &formula)),
        }
    }
}

fn apply<const N: usize>(
    samples: &[f64],
    others: [Option<f64>; N],
    formula: &impl Fn(f64, [f64; N]) -> f64,
) -> Vec<f64> {
    if others.iter().any(Option::is_none) {
        return Vec::new();
    }
    let others = others.map(|other| other.unwrap_or(f64::NAN));
    let made = samples.iter().map(|sample| formula(*sample, others));
    made.filter(|value| value.is_finite()).collect()
}

/// Of an even number the lower one of the middle.
fn median(samples: &[f64]) -> Option<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    sorted.get(last / 2).copied()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(&[], None)]
    #[case(&[7.0], Some(7.0))]
    #[case(&[9.0, 1.0, 5.0], Some(5.0))]
    #[case(&[9.0, 1.0, 5.0, 6.0], Some(5.0))]
    #[case(&[-9.0, -1.0, 5.0], None)]
    fn value_is_the_median_if_it_is_above_zero(
        #[case] samples: &[f64],
        #[case] expected: Option<f64>,
    ) {
        assert_eq!(MeasuredSamples::new(samples.iter().copied()).value(), expected);
        assert_eq!(ModelledSamples::new(samples.iter().copied()).value(), expected);
    }

    #[test]
    fn formulas_take_measured_and_modelled_apart() {
        let observed = |measured: &[f64], modelled: &[f64]| Observed {
            measured: MeasuredSamples::new(measured.iter().copied()),
            modelled: ModelledSamples::new(modelled.iter().copied()),
        };
        let long = observed(&[10.0, 12.0], &[100.0]);
        let short = observed(&[1.0, 2.0, 3.0], &[30.0]);
        let rest = long.with([&short], |long, [short]| long - short);
        assert_eq!(rest, observed(&[8.0, 10.0], &[70.0]));
        let unknown = long.with([&observed(&[1.0], &[])], |long, [short]| long - short);
        assert_eq!(unknown, observed(&[9.0, 11.0], &[]));
        assert_eq!(observed(&[0.0, 2.0], &[]).map(|ns| 1.0 / ns), observed(&[0.5], &[]));
    }
}
