// SPDX-License-Identifier: Apache-2.0
//! Aggregates rows and groups of blocks, and defines [`Groups`], the result.

use std::{fmt, ops::Range, sync::Arc};

use arrow::{array::ArrayRef, buffer::NullBuffer, datatypes::DataType};

use crate::{
    block::{Block, Contents},
    column::Column,
    error::Result,
    fold::{fold, grow},
    keys::{AnyKeys, ByteKeys, Keys, Kind, TextKeys, Words, with_keys},
    shape::Shape,
    table::Table,
};

/// Groups of which a share may be taken: those with hashes in a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Share {
    first: u64,
    length: u64,
}

/// The smallest shares that there are.
const SHARES: u64 = 1 << 12;

impl Share {
    /// All groups.
    pub(crate) const ALL: Self = Self { first: 0, length: SHARES };

    /// The first half of it, if it can be divided.
    pub(crate) const fn first_half(self) -> Option<Self> {
        match self.length {
            1 => None,
            length => Some(Self { first: self.first, length: length / 2 }),
        }
    }

    /// The share behind it, if there is one.
    pub(crate) fn next(self) -> Option<Self> {
        let next = Self { first: self.first + self.length, ..self };
        (next.first < SHARES).then_some(next)
    }

    /// The first share of this length.
    pub(crate) const fn restarted(self) -> Self {
        Self { first: 0, ..self }
    }

    /// Whether it has a key of this hash. Tables use the bits above, as long as they have fewer
    /// than a million slots.
    #[inline]
    const fn has(self, hash: u64) -> bool {
        let place = (hash >> 32) % SHARES;
        self.first <= place && place < self.first + self.length
    }
}

/// Groups while rows are added to them.
pub(crate) trait Merging: fmt::Debug + Send {
    /// Adds those rows of a range that are in the share.
    fn add(&mut self, shape: &Shape, block: &Block, rows: Range<usize>, share: Share);

    /// Bytes of memory.
    fn memory_bytes(&self) -> usize;

    /// The keys of the groups, and their states.
    fn into_parts(self: Box<Self>) -> (AnyKeys, Vec<Column>);
}

/// No groups yet, with keys of this kind.
pub(crate) fn merging(shape: &Shape, kind: Kind) -> Box<dyn Merging> {
    match kind {
        Kind::Word => Box::new(MergingKeys::<Words<u64>>::new(shape)),
        Kind::Wide => Box::new(MergingKeys::<Words<u128>>::new(shape)),
        Kind::Text => Box::new(MergingKeys::<TextKeys>::new(shape)),
        Kind::Bytes => Box::new(MergingKeys::<ByteKeys>::new(shape)),
    }
}

#[derive(Debug)]
struct MergingKeys<K> {
    table: Table<K>,
    states: Vec<Column>,
    groups: Vec<u32>,
}

impl<K: Keys> MergingKeys<K> {
    fn new(shape: &Shape) -> Self {
        let states = shape.states.iter().map(Column::of_groups).collect();
        Self { table: Table::default(), states, groups: Vec::new() }
    }

    /// Adds rows, whose keys are at `key_rows` and whose values are at `rows`.
    fn add_rows(
        &mut self,
        shape: &Shape,
        (keys, key_rows): (&K, Range<usize>),
        contents: Contents,
        (columns, rows): (&[Column], Range<usize>),
    ) {
        self.table.groups_of(keys, key_rows, &mut self.groups);
        let count = self.table.keys().len();
        for ((state, states), values) in shape.states.iter().zip(&mut self.states).zip(columns) {
            grow(state, states, count);
            fold(state, states, contents, values, rows.clone(), &self.groups);
        }
    }
}

impl<K: Keys + fmt::Debug> Merging for MergingKeys<K> {
    #[expect(clippy::cast_possible_truncation, reason = "a block has fewer than 2^32 rows")]
    fn add(&mut self, shape: &Shape, block: &Block, rows: Range<usize>, share: Share) {
        let Some((keys, key_rows)) = K::slice_of_any(&block.keys, rows.clone()) else {
            debug_assert!(false, "all blocks have keys of one kind");
            return;
        };
        if share == Share::ALL {
            self.add_rows(shape, (&keys, key_rows), block.contents, (&block.columns, rows));
            return;
        }
        let places = key_rows.zip(rows).filter(|(key, _)| share.has(keys.hash(*key)));
        let (key_rows, rows): (Vec<u32>, Vec<u32>) =
            places.map(|(key, row)| (key as u32, row as u32)).unzip();
        if rows.is_empty() {
            return;
        }
        let all = || 0..rows.len();
        let columns: Vec<Column> =
            block.columns.iter().map(|column| column.gather(&rows)).collect();
        let keys = keys.gather(&key_rows);
        self.add_rows(shape, (&keys, all()), block.contents, (&columns, all()));
    }

    fn memory_bytes(&self) -> usize {
        let states: usize = self.states.iter().map(Column::memory_bytes).sum();
        self.table.memory_bytes() + states + self.groups.capacity() * size_of::<u32>()
    }

    fn into_parts(self: Box<Self>) -> (AnyKeys, Vec<Column>) {
        (self.table.into_keys().into_any(), self.states)
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
    pub(crate) fn new(shape: &Arc<Shape>, merged: Box<dyn Merging>) -> Self {
        let (keys, states) = merged.into_parts();
        Self { shape: Arc::clone(shape), keys, states }
    }

    /// Groups with these keys and states.
    pub(crate) const fn of_parts(shape: Arc<Shape>, keys: AnyKeys, states: Vec<Column>) -> Self {
        Self { shape, keys, states }
    }

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
