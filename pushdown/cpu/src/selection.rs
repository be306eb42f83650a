// SPDX-License-Identifier: Apache-2.0
//! Represents the kept rows of a batch in a form for copying values.

use std::ops::Range;

use arrow::{array::BooleanBufferBuilder, buffer::BooleanBuffer};

/// Rows of a batch, in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Selection {
    /// Some here and there.
    Rows(Vec<u32>),
    /// Nearly all: the runs between the rows that are dropped.
    Runs { runs: Vec<Range<usize>>, count: usize },
}

/// Of ten rows so many are nearly all: runs are then five rows long or more, and copying one costs
/// what copying five rows one by one does.
const RUNS_FROM_TENTHS: usize = 8;

impl Selection {
    /// The first `count_max` rows of a bitmap, of which `count` are set.
    pub(crate) fn of(bits: &BooleanBuffer, count: usize, count_max: usize) -> Self {
        if count > count_max || count * 10 < bits.len() * RUNS_FROM_TENTHS {
            let rows = bits.set_indices_u32().take(count_max);
            return Self::Rows(rows.collect());
        }
        Self::Runs { runs: bits.set_slices().map(|(start, end)| start..end).collect(), count }
    }

    /// The first `count` rows.
    pub(crate) fn first(count: usize) -> Self {
        Self::Runs { runs: Vec::from([Range { start: 0, end: count }]), count }
    }

    /// These rows.
    pub(crate) fn rows(rows: &[u32]) -> Self {
        Self::Rows(rows.to_vec())
    }

    /// The places of the rows.
    pub(crate) fn places(&self) -> Vec<u32> {
        match self {
            Self::Rows(rows) => rows.clone(),
            Self::Runs { runs, .. } => {
                let place = |row| u32::try_from(row).unwrap_or(u32::MAX);
                runs.iter().flat_map(|run| run.clone().map(place)).collect()
            }
        }
    }

    /// The number of selected rows.
    pub(crate) const fn len(&self) -> usize {
        match self {
            Self::Rows(rows) => rows.len(),
            Self::Runs { count, .. } => *count,
        }
    }

    /// The values of these rows.
    pub(crate) fn pick<T: Copy>(&self, values: &[T]) -> Vec<T> {
        match self {
            Self::Rows(rows) => rows.iter().map(|row| values[*row as usize]).collect(),
            Self::Runs { runs, count } => {
                let mut out = Vec::with_capacity(*count);
                runs.iter().for_each(|run| out.extend_from_slice(&values[run.clone()]));
                out
            }
        }
    }

    /// The bits of these rows.
    pub(crate) fn pick_bits(&self, bits: &BooleanBuffer) -> BooleanBuffer {
        match self {
            Self::Rows(rows) => {
                BooleanBuffer::collect_bool(rows.len(), |index| bits.value(rows[index] as usize))
            }
            Self::Runs { runs, count } => {
                let mut out = BooleanBufferBuilder::new(*count);
                for run in runs {
                    out.append_buffer(&bits.slice(run.start, run.len()));
                }
                out.finish()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_and_indexes_copy_the_same_rows() {
        let values: Vec<usize> = (0..100).collect();
        let odd = BooleanBuffer::collect_bool(100, |row| row % 2 == 1);
        for step in [2, 3, 7, 50] {
            let bits = BooleanBuffer::collect_bool(100, |row| row % step != 1);
            let expected: Vec<usize> = (0..100).filter(|row| row % step != 1).collect();
            let selection = Selection::of(&bits, expected.len(), usize::MAX);
            assert_eq!(matches!(selection, Selection::Runs { .. }), step >= 7, "{step}");
            assert_eq!(selection.len(), expected.len());
            assert_eq!(selection.pick(&values), expected);
            let picked: Vec<bool> = selection.pick_bits(&odd).iter().collect();
            assert_eq!(picked, expected.iter().map(|row| row % 2 == 1).collect::<Vec<_>>());
            let cut = Selection::of(&bits, expected.len(), 10);
            assert_eq!(cut.pick(&values), expected[..10]);
        }
        assert_eq!(Selection::first(3).pick(&values), [0, 1, 2]);
    }
}
