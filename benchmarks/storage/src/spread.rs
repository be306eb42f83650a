// SPDX-License-Identifier: Apache-2.0
//! Sums up the values of several turns.

/// A median and the quartiles around it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// A quarter of the values are below it.
    pub lower: f64,
    /// The median.
    pub median: f64,
    /// A quarter of the values are above it.
    pub upper: f64,
}

impl Spread {
    /// Of these values; zeros if there are none.
    pub(crate) fn of(values: impl Iterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.collect();
        values.sort_unstable_by(f64::total_cmp);
        let at = |numerator: usize| {
            let index = (values.len().saturating_sub(1) * numerator).div_ceil(4);
            values.get(index).copied().unwrap_or_default()
        };
        Self { lower: at(1), median: at(2), upper: at(3) }
    }
}
