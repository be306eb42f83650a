// SPDX-License-Identifier: Apache-2.0
//! Defines [`Shape`]: what rows are grouped by, what is computed of a group, and how many
//! partitions there are; and [`Limits`].

use crate::keys::KeyLayout;

/// Partitions in all, if the output has fewer: with a million groups each has a few thousand, whose
/// table stays in the second cache, and as many places are written to at a time as the first holds
/// lines of.
const PARTITIONS: usize = 256;

/// What is computed of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State {
    /// The operation.
    pub fold: Fold,
    /// The argument that it is computed over, as a place in those given.
    pub argument: usize,
    /// The numbers that it is computed in; of no meaning to counts.
    pub values: Values,
}

/// An operation over the rows of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fold {
    /// The number of rows; it has no argument.
    CountRows,
    /// The number of values that are not NULL.
    Count,
    /// The sum of the values, wrapping; 0 without any.
    Sum,
    /// The least value; the greatest number without any.
    Min,
    /// The greatest value; the least number without any.
    Max,
}

/// The numbers that values are stored and computed as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Values {
    /// Signed integers of up to 64 bits, dates and times.
    I64,
    /// Unsigned integers of up to 64 bits.
    U64,
    /// Floats of 64 bits, of which there are sums only.
    F64,
    /// Decimals.
    I128,
}

/// Sizes at which rows are moved on: time and memory depend on them, the groups do not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Groups at which the table of a collector becomes a block.
    pub table_groups: usize,
    /// Rows that a collector does not aggregate at once, after a table that was not worth it.
    pub untried_rows: usize,
    /// Rows of a block, about.
    pub block_rows: usize,
    /// Rows that are written to a file, and read, at a time.
    pub section_rows: usize,
    /// Rows from which partitions are merged on their own.
    pub merged_rows: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            table_groups: 1 << 14,
            untried_rows: 1 << 20,
            // Half a megabyte of keys of 64 bits.
            block_rows: 1 << 16,
            section_rows: 1 << 13,
            // Each table costs some microseconds.
            merged_rows: 1 << 16,
        }
    }
}

/// What rows are grouped by, and what is computed of each group.
#[derive(Debug, Clone)]
pub struct Shape {
    pub(crate) keys: KeyLayout,
    pub(crate) states: Vec<State>,
    pub(crate) limits: Limits,
    /// Partitions of the output.
    outputs: usize,
    /// Partitions of each of the output's: a power of two.
    radix: usize,
}

impl Shape {
    /// Groups by keys of a layout, with states, into a number of partitions of the output.
    ///
    /// # Panics
    /// If there are no partitions, or more than 65,536.
    #[must_use]
    pub fn new(keys: KeyLayout, states: Vec<State>, outputs: usize) -> Self {
        assert!((1..=1 << 16).contains(&outputs), "{outputs} partitions");
        let radix = (PARTITIONS / outputs).max(1).next_power_of_two();
        let radix = if radix * outputs > PARTITIONS { (radix / 2).max(1) } else { radix };
        Self { keys, states, limits: Limits::default(), outputs, radix }
    }

    /// The same with other limits, of which none is 0.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Number of partitions in all.
    pub(crate) const fn partitions(&self) -> usize {
        self.outputs * self.radix
    }

    /// Number of partitions of each partition of the output.
    pub(crate) const fn radix(&self) -> usize {
        self.radix
    }

    /// Appends the partitions of rows with these hashes.
    ///
    /// The remainder is the partition of the output, as those who hash to partitions elsewhere
    /// expect it; the partition within is of other bits.
    #[expect(clippy::cast_possible_truncation, reason = "there are at most 65,536 partitions")]
    pub(crate) fn partitions_of(&self, hashes: &[u64], partitions: &mut Vec<u16>) {
        let (outputs, radix) = (self.outputs as u64, self.radix as u64);
        let within = |hash: u64| (hash >> 40) & (radix - 1);
        if outputs.is_power_of_two() {
            let of = |hash: &u64| ((hash & (outputs - 1)) * radix + within(*hash)) as u16;
            partitions.extend(hashes.iter().map(of));
        } else {
            let of = |hash: &u64| ((hash % outputs) * radix + within(*hash)) as u16;
            partitions.extend(hashes.iter().map(of));
        }
    }
}
