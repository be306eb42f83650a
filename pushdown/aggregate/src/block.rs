// SPDX-License-Identifier: Apache-2.0
//! Defines [`Block`]: rows, or groups, that are sorted by partition.

use std::ops::Range;

use crate::{
    column::Column,
    keys::{AnyKeys, Keys, with_keys},
    shape::Shape,
};

/// What a block consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Contents {
    /// Rows, with the values of the arguments.
    Rows,
    /// Groups, with their states.
    Groups,
}

/// Rows or groups that are sorted by partition.
#[derive(Debug, Clone)]
pub struct Block {
    pub(crate) contents: Contents,
    pub(crate) keys: AnyKeys,
    /// A column for each state.
    pub(crate) columns: Vec<Column>,
    /// Where each partition ends, `[partitions]`.
    ends: Vec<u32>,
}

impl Block {
    /// Sorts rows by their partitions; there are fewer than 2^32.
    #[expect(clippy::cast_possible_truncation, reason = "see the contract")]
    pub(crate) fn sorted<K: Keys>(
        contents: Contents,
        shape: &Shape,
        keys: &K,
        columns: &[Column],
        partitions: &[u16],
    ) -> Self {
        let mut ends = vec![0_u32; shape.partitions() + 1];
        partitions.iter().for_each(|partition| ends[usize::from(*partition) + 1] += 1);
        let mut end = 0;
        for count in &mut ends {
            end += *count;
            *count = end;
        }
        // The start of each partition moves to its end while rows are put in order.
        let mut order = vec![0_u32; partitions.len()];
        for (row, partition) in partitions.iter().enumerate() {
            let place = &mut ends[usize::from(*partition)];
            order[*place as usize] = row as u32;
            *place += 1;
        }
        ends.pop();
        let columns = columns.iter().map(|column| column.gather(&order)).collect();
        Self { contents, keys: keys.gather(&order).into_any(), columns, ends }
    }

    /// A block whose rows are all of one partition, which is the only one.
    pub(crate) fn of_one_partition(
        contents: Contents,
        keys: AnyKeys,
        columns: Vec<Column>,
    ) -> Self {
        Self { contents, keys, columns, ends: Vec::new() }
    }

    /// Number of rows, or groups.
    #[must_use]
    pub fn row_count(&self) -> usize {
        self.rows().len()
    }

    /// Bytes of memory.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let columns: usize = self.columns.iter().map(Column::memory_bytes).sum();
        self.keys.memory_bytes() + columns + size_of_val(&self.ends[..])
    }

    /// The rows of a range of partitions.
    pub(crate) fn rows_of(&self, partitions: Range<usize>) -> Range<usize> {
        let end = |partitions: usize| match partitions {
            0 => 0,
            _ => self.ends[partitions - 1] as usize,
        };
        end(partitions.start)..end(partitions.end)
    }

    /// All rows.
    pub(crate) fn rows(&self) -> Range<usize> {
        0..with_keys!(&self.keys, keys => keys.len())
    }
}
