// SPDX-License-Identifier: Apache-2.0
//! Implements [`Collector`]: takes rows of one thread, and makes blocks of them.
//!
//! As long as groups repeat, rows are aggregated at once, in a table that stays in the cache; when
//! it is full it becomes a block of groups. If too few rows of a table shared a group, the next
//! rows are only sorted by partition, in blocks of rows, and then it is tried again.

use std::sync::Arc;

use arrow::array::ArrayRef;

use crate::{
    block::{Block, Contents},
    column::Column,
    error::Result,
    fold::{fold, grow},
    keys::{ByteKeys, Keys, Kind, TextKeys, Words},
    shape::Shape,
    table::Table,
};

/// Bytes of the table at which it becomes a block.
const TABLE_BYTES_MAX: usize = 8 << 20;

/// Rows a group that are worth the table.
const ROWS_PER_GROUP: usize = 2;

/// Bytes of a block of rows, about.
const BLOCK_BYTES: usize = 8 << 20;

/// Takes the rows of one thread.
#[derive(Debug)]
pub struct Collector {
    shape: Arc<Shape>,
    rows: Rows,
    blocks: Vec<Block>,
    /// Bytes of the blocks.
    bytes: usize,
}

/// The rows that are in no block yet.
#[derive(Debug)]
enum Rows {
    Word(Box<Collecting<Words<u64>>>),
    Wide(Box<Collecting<Words<u128>>>),
    Text(Box<Collecting<TextKeys>>),
    Bytes(Box<Collecting<ByteKeys>>),
}

/// Evaluates an expression over the rows, whatever the kind of their keys is.
macro_rules! with_rows {
    ($rows:expr, $collecting:ident => $body:expr) => {
        match $rows {
            Rows::Word($collecting) => $body,
            Rows::Wide($collecting) => $body,
            Rows::Text($collecting) => $body,
            Rows::Bytes($collecting) => $body,
        }
    };
}

impl Collector {
    /// A collector without rows.
    #[must_use]
    pub fn new(shape: Arc<Shape>) -> Self {
        let rows = match shape.keys.first_kind() {
            Kind::Word => Rows::Word(Box::new(Collecting::new(&shape))),
            Kind::Wide => Rows::Wide(Box::new(Collecting::new(&shape))),
            Kind::Text => Rows::Text(Box::new(Collecting::new(&shape))),
            Kind::Bytes => Rows::Bytes(Box::new(Collecting::new(&shape))),
        };
        Self { shape, rows, blocks: Vec::new(), bytes: 0 }
    }

    /// Takes rows: their keys, the hashes of these, and their arguments, a column each.
    ///
    /// # Errors
    /// [`Error::Type`](crate::Error::Type) if a column is not of the type that was planned; the
    /// rows are then lost, so the collector is of no use any more.
    pub fn push(
        &mut self,
        keys: &[ArrayRef],
        hashes: &[u64],
        arguments: &[ArrayRef],
    ) -> Result<()> {
        if matches!(self.rows, Rows::Word(_)) && self.shape.keys.needs_wide(keys) {
            self.flush();
            self.rows = Rows::Wide(Box::new(Collecting::new(&self.shape)));
        }
        let (shape, blocks) = (&*self.shape, &mut self.blocks);
        let before = blocks.len();
        with_rows!(&mut self.rows, rows => rows.push(shape, keys, hashes, arguments, blocks)?);
        self.bytes += blocks[before..].iter().map(Block::memory_bytes).sum::<usize>();
        Ok(())
    }

    /// Bytes of memory of all rows.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.bytes + with_rows!(&self.rows, rows => rows.memory_bytes())
    }

    /// Takes all blocks, in which the rows that were pushed are; the collector is as new.
    pub fn take_blocks(&mut self) -> Vec<Block> {
        self.flush();
        let new = Self::new(Arc::clone(&self.shape));
        std::mem::replace(self, new).blocks
    }

    fn flush(&mut self) {
        let (shape, blocks) = (&*self.shape, &mut self.blocks);
        let before = blocks.len();
        with_rows!(&mut self.rows, rows => {
            rows.flush_table(shape, blocks);
            rows.flush_rows(shape, blocks);
        });
        self.bytes += blocks[before..].iter().map(Block::memory_bytes).sum::<usize>();
    }
}

/// Rows with keys of one kind.
#[derive(Debug)]
struct Collecting<K> {
    /// Rows that were not looked up, their partitions and the values of their arguments.
    keys: K,
    partitions: Vec<u16>,
    values: Vec<Column>,
    table: Table<K>,
    /// The partitions and states of the table's groups.
    table_partitions: Vec<u16>,
    states: Vec<Column>,
    /// Rows that were aggregated into the table.
    table_rows: usize,
    /// Rows to go until the table is tried again; it is used if there are none.
    untried: usize,
    /// The groups of the rows of a batch.
    groups: Vec<u32>,
}

impl<K: Keys> Collecting<K> {
    fn new(shape: &Shape) -> Self {
        Self {
            keys: K::default(),
            partitions: Vec::new(),
            values: shape.states.iter().map(Column::of_rows).collect(),
            table: Table::default(),
            table_partitions: Vec::new(),
            states: shape.states.iter().map(Column::of_groups).collect(),
            table_rows: 0,
            untried: 0,
            groups: Vec::new(),
        }
    }

    fn memory_bytes(&self) -> usize {
        let columns =
            self.values.iter().chain(&self.states).map(Column::memory_bytes).sum::<usize>();
        let partitions = self.partitions.capacity() + self.table_partitions.capacity();
        self.keys.memory_bytes()
            + self.table.memory_bytes()
            + columns
            + partitions * size_of::<u16>()
            + self.groups.capacity() * size_of::<u32>()
    }

    fn push(
        &mut self,
        shape: &Shape,
        keys: &[ArrayRef],
        hashes: &[u64],
        arguments: &[ArrayRef],
        blocks: &mut Vec<Block>,
    ) -> Result<()> {
        self.keys.push_rows(&shape.keys, keys, hashes)?;
        shape.partitions_of(hashes, &mut self.partitions);
        for (state, values) in shape.states.iter().zip(&mut self.values) {
            match (values, arguments.get(state.argument)) {
                (Column::None, _) => {}
                (values, Some(argument)) => values.push(state, argument)?,
                (_, None) => debug_assert!(false, "every argument is given"),
            }
        }
        if self.untried == 0 {
            self.aggregate(shape);
            let is_full = self.table.keys().len() >= shape.limits.table_groups
                || self.table.keys().used_bytes() >= TABLE_BYTES_MAX;
            if is_full {
                if self.table_rows < self.table.keys().len() * ROWS_PER_GROUP {
                    self.untried = shape.limits.untried_rows;
                }
                self.flush_table(shape, blocks);
            }
        } else {
            self.untried = self.untried.saturating_sub(hashes.len());
            let is_full = self.partitions.len() >= shape.limits.block_rows
                || self.keys.used_bytes() >= BLOCK_BYTES;
            if is_full || self.untried == 0 {
                self.flush_rows(shape, blocks);
            }
        }
        Ok(())
    }

    /// Aggregates the rows into the table.
    fn aggregate(&mut self, shape: &Shape) {
        let rows = 0..self.keys.len();
        self.table.groups_of(&self.keys, rows.clone(), &mut self.groups);
        let count = self.table.keys().len();
        // Groups are numbered as they are found, so new ones come in the order of their first rows.
        for (group, partition) in self.groups.iter().zip(&self.partitions) {
            if *group as usize == self.table_partitions.len() {
                self.table_partitions.push(*partition);
            }
        }
        for ((state, states), values) in shape.states.iter().zip(&mut self.states).zip(&self.values)
        {
            grow(state, states, count);
            fold(state, states, Contents::Rows, values, rows.clone(), &self.groups);
        }
        self.table_rows += rows.len();
        self.clear_rows();
    }

    fn clear_rows(&mut self) {
        self.keys.clear();
        self.partitions.clear();
        self.values.iter_mut().for_each(Column::clear);
    }

    fn flush_rows(&mut self, shape: &Shape, blocks: &mut Vec<Block>) {
        if self.partitions.is_empty() {
            return;
        }
        let (keys, values) = (&self.keys, &self.values);
        blocks.push(Block::sorted(Contents::Rows, shape, keys, values, &self.partitions));
        self.clear_rows();
    }

    fn flush_table(&mut self, shape: &Shape, blocks: &mut Vec<Block>) {
        if self.table_partitions.is_empty() {
            return;
        }
        let (keys, states) = (self.table.keys(), &self.states);
        let partitions = &self.table_partitions;
        blocks.push(Block::sorted(Contents::Groups, shape, keys, states, partitions));
        self.table.clear();
        self.table_partitions.clear();
        self.states.iter_mut().for_each(Column::clear);
        self.table_rows = 0;
    }
}
