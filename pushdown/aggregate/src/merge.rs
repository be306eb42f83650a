// SPDX-License-Identifier: Apache-2.0
//! Merges the blocks of all collectors, some partitions at a time.

use std::{ops::Range, sync::Arc};

use arrow::{array::ArrayRef, buffer::NullBuffer, datatypes::DataType};

use crate::{
    block::Block,
    column::Column,
    error::Result,
    fold::{fold, grow},
    keys::{AnyKeys, ByteKeys, Keys, Kind, TextKeys, Words, with_keys},
    shape::{Shape, State},
    spill::Spilled,
    table::Table,
};

/// Rows from which partitions are merged on their own: fewer are merged together with the next,
/// since each table costs some microseconds.
const ROWS_MIN: usize = 1 << 16;

/// Bytes of the slots of a table for a group, at most: it is an eighth full after it has grown.
const SLOT_BYTES: usize = 32;

/// The blocks of all collectors, of which each partition of the output takes its rows.
#[derive(Debug)]
pub struct Blocks {
    shape: Arc<Shape>,
    blocks: Vec<Block>,
    spilled: Vec<Spilled>,
    /// Rows of each partition, `[partitions]`.
    rows: Vec<usize>,
    /// Rows from which partitions are merged on their own.
    rows_min: usize,
}

impl Blocks {
    /// Blocks in memory, and in files.
    #[must_use]
    pub fn new(shape: Arc<Shape>, blocks: Vec<Block>, spilled: Vec<Spilled>) -> Self {
        let kinds = || {
            let spilled = spilled.iter().map(Spilled::kind);
            blocks.iter().map(|block| block.keys.kind()).chain(spilled)
        };
        let is_mixed =
            kinds().any(|kind| kind == Kind::Wide) && kinds().any(|kind| kind == Kind::Word);
        let widened = |block: Block| if is_mixed { block.widened() } else { block };
        let blocks: Vec<Block> = blocks.into_iter().map(widened).collect();
        let rows_of = |partition: usize| {
            let partitions = partition..partition + 1;
            let in_memory = blocks.iter().map(|block| block.rows_of(partitions.clone()).len());
            let in_files = spilled.iter().map(|spilled| spilled.rows_of(partition));
            in_memory.chain(in_files).sum()
        };
        let rows = (0..shape.partitions()).map(rows_of).collect();
        Self { shape, blocks, spilled, rows, rows_min: ROWS_MIN }
    }

    /// Merges each partition on its own, which takes more time and less memory.
    #[must_use]
    pub fn with_least_memory(self) -> Self {
        Self { rows_min: 1, ..self }
    }

    /// The blocks in memory, and in files.
    #[must_use]
    pub fn into_parts(self) -> (Vec<Block>, Vec<Spilled>) {
        (self.blocks, self.spilled)
    }

    /// Bytes of memory, about, that merging the largest range of partitions may take beside the
    /// blocks, if no two rows are of one group.
    #[must_use]
    pub fn merging_bytes(&self) -> usize {
        let states: usize = self.shape.states.iter().map(State::memory_bytes).sum();
        let in_memory: usize = self.blocks.iter().map(Block::memory_bytes).sum();
        let rows_in_memory = self.blocks.iter().map(Block::row_count).sum::<usize>().max(1);
        let of_partition = |partition: usize| {
            let in_files: usize = self.spilled.iter().map(|it| it.bytes_of(partition)).sum();
            let rows_in_files: usize = self.spilled.iter().map(|it| it.rows_of(partition)).sum();
            let rows = self.rows[partition];
            let keys = (rows - rows_in_files) * in_memory.div_ceil(rows_in_memory);
            // Vectors that grow have up to twice the length; what is read of a file is there twice.
            2 * (keys + in_files + rows * states) + 2 * in_files + rows * SLOT_BYTES
        };
        let ranges = (0..self.shape.partitions() / self.shape.radix()).flat_map(|output| {
            let mut left = self.partitions_of(output);
            std::iter::from_fn(move || {
                let range = self.next_range(&left);
                left.start = range.end;
                (!range.is_empty()).then_some(range)
            })
        });
        ranges.map(|range| range.map(of_partition).sum()).max().unwrap_or(0)
    }

    /// The partitions of a partition of the output.
    fn partitions_of(&self, output: usize) -> Range<usize> {
        let radix = self.shape.radix();
        output * radix..(output + 1) * radix
    }

    /// The partitions that are merged next: until there are enough rows.
    fn next_range(&self, left: &Range<usize>) -> Range<usize> {
        let mut rows = 0;
        let mut end = left.start;
        while end < left.end && rows < self.rows_min {
            rows += self.rows[end];
            end += 1;
        }
        left.start..end
    }

    fn kind(&self) -> Kind {
        let spilled = self.spilled.iter().map(Spilled::kind);
        let kinds = self.blocks.iter().map(|block| block.keys.kind()).chain(spilled);
        kinds.max().unwrap_or(Kind::Word)
    }
}

/// Merges the blocks of one partition of the output.
#[derive(Debug)]
pub struct Merger {
    blocks: Arc<Blocks>,
    /// Partitions that are still to be merged.
    left: Range<usize>,
}

impl Merger {
    /// Merges the blocks of a partition of the output.
    #[must_use]
    pub fn new(blocks: Arc<Blocks>, output: usize) -> Self {
        let left = blocks.partitions_of(output);
        Self { blocks, left }
    }

    /// The groups of the next partitions; none if nothing is left.
    ///
    /// # Errors
    /// If spilled blocks cannot be read.
    pub fn next_groups(&mut self) -> Result<Option<Groups>> {
        let partitions = self.blocks.next_range(&self.left);
        if partitions.is_empty() {
            return Ok(None);
        }
        self.left.start = partitions.end;
        let groups = match self.blocks.kind() {
            Kind::Word => self.merged::<Words<u64>>(partitions),
            Kind::Wide => self.merged::<Words<u128>>(partitions),
            Kind::Text => self.merged::<TextKeys>(partitions),
            Kind::Bytes => self.merged::<ByteKeys>(partitions),
        };
        groups.map(Some)
    }

    fn merged<K: Keys>(&self, partitions: Range<usize>) -> Result<Groups> {
        let shape = &self.blocks.shape;
        let mut merging = Merging::<K>::new(shape);
        for block in &self.blocks.blocks {
            merging.add(shape, block, block.rows_of(partitions.clone()));
        }
        for spilled in &self.blocks.spilled {
            for block in spilled.read(shape, partitions.clone())? {
                let block = if self.blocks.kind() == Kind::Wide { block.widened() } else { block };
                merging.add(shape, &block, block.rows());
            }
        }
        Ok(Groups {
            shape: Arc::clone(shape),
            keys: merging.table.into_keys().into_any(),
            states: merging.states,
        })
    }
}

/// Groups while rows are added to them.
struct Merging<K> {
    table: Table<K>,
    states: Vec<Column>,
    groups: Vec<u32>,
}

impl<K: Keys> Merging<K> {
    fn new(shape: &Shape) -> Self {
        let states = shape.states.iter().map(Column::of_groups).collect();
        Self { table: Table::default(), states, groups: Vec::new() }
    }

    fn add(&mut self, shape: &Shape, block: &Block, rows: Range<usize>) {
        let Some(keys) = K::of_any(&block.keys) else {
            debug_assert!(false, "all blocks have keys of one kind");
            return;
        };
        self.table.groups_of(keys, rows.clone(), &mut self.groups);
        let count = self.table.keys().len();
        let states = shape.states.iter().zip(&mut self.states).zip(&block.columns);
        for ((state, states), values) in states {
            grow(state, states, count);
            fold(state, states, block.contents, values, rows.clone(), &self.groups);
        }
    }
}

/// Groups with their states.
#[derive(Debug)]
pub struct Groups {
    shape: Arc<Shape>,
    keys: AnyKeys,
    states: Vec<Column>,
}

impl Groups {
    /// Number of groups.
    #[must_use]
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there are no groups.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The key columns of a range of groups.
    ///
    /// # Errors
    /// If the arrays cannot be made.
    pub fn keys(&self, range: Range<usize>) -> Result<Vec<ArrayRef>> {
        with_keys!(&self.keys, keys => keys.to_arrays(&self.shape.keys, range))
    }

    /// One state of a range of groups, as an array of a type; if `count` is given, it is the place
    /// of the state that counts the argument's values, and the groups that have none are NULL.
    ///
    /// # Errors
    /// If the array cannot be made.
    pub fn state(
        &self,
        place: usize,
        count: Option<usize>,
        range: Range<usize>,
        data_type: &DataType,
    ) -> Result<ArrayRef> {
        let nulls = count.and_then(|count| match &self.states[count] {
            Column::I64(counts) => {
                Some(counts[range.clone()].iter().map(|count| *count > 0).collect::<NullBuffer>())
            }
            _ => None,
        });
        let nulls = nulls.filter(|nulls| nulls.null_count() > 0);
        self.states[place].to_array(range, data_type, nulls)
    }
}
