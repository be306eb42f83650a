// SPDX-License-Identifier: Apache-2.0
//! Defines what is known of a file: its identity, and the estimates of its columns.

use std::collections::BTreeMap;

use datafusion::{object_store::ObjectMeta, parquet::file::metadata::ParquetMetaData};
use nearscan_optimizer::{ColumnEstimates, quantiles::Quantiles};

/// Where a count comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// The numbers of entries in the dictionaries of row groups.
    Dictionary,
    /// A sample of rows.
    Sample,
}

impl Source {
    const ALL: [Self; 2] = [Self::Dictionary, Self::Sample];

    /// The word for it.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Dictionary => "dictionary",
            Self::Sample => "sample",
        }
    }

    pub(super) fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|source| source.word() == word)
    }
}

/// The different values of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counted {
    /// The estimate.
    pub(crate) distinct: u64,
    /// Where it comes from.
    pub(crate) source: Source,
    /// When it was made, in seconds since 1970.
    pub(crate) made_at_s: u64,
}

/// The estimates of a file's columns by name; of a column of which one cannot be made, nothing.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Columns {
    pub(super) counts: BTreeMap<String, Option<Counted>>,
    pub(super) quantiles: BTreeMap<String, Option<Quantiles>>,
}

impl Columns {
    /// Adds those of others, in place of the own ones.
    pub(super) fn extend(&mut self, others: Self) {
        self.counts.extend(others.counts);
        self.quantiles.extend(others.quantiles);
    }

    /// Whether there is no estimate.
    pub(super) fn is_empty(&self) -> bool {
        let has_count = self.counts.values().any(Option::is_some);
        !has_count && !self.quantiles.values().any(Option::is_some)
    }

    /// What a plan needs of them.
    pub(super) fn estimates(self) -> ColumnEstimates {
        let counts = self.counts.into_iter();
        let distinct = counts.filter_map(|(name, it)| Some((name, it?.distinct))).collect();
        ColumnEstimates { distinct, quantiles: self.quantiles }
    }
}

/// What distinguishes a file from the one that was at its place before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(super) size_bytes: u64,
    /// Since 1970, by the file system.
    pub(super) modified_ns: i64,
    /// A hash of the store's tag, which has the number of the file's inode, and of the places and
    /// sizes of all chunks.
    pub(super) hash: u64,
}

impl Identity {
    /// Returns the identity of a file with this footer.
    pub(crate) fn of(object: &ObjectMeta, footer: &ParquetMetaData) -> Self {
        let mut hash = Hash::default();
        hash.add_bytes(object.e_tag.as_deref().unwrap_or_default().as_bytes());
        for group in footer.row_groups() {
            hash.add(group.num_rows().cast_unsigned());
            for chunk in group.columns() {
                let (start, length) = chunk.byte_range();
                hash.add(start);
                hash.add(length);
                hash.add(chunk.num_values().cast_unsigned());
            }
        }
        let modified_ns = object.last_modified.timestamp_nanos_opt().unwrap_or(0);
        Self { size_bytes: object.size, modified_ns, hash: hash.0 }
    }
}

/// FNV-1a, by words: the same in every build, since files keep it.
pub(super) struct Hash(pub(super) u64);

impl Default for Hash {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hash {
    fn add(&mut self, word: u64) {
        // The rotation brings high bits to where the multiplication spreads them.
        self.0 = (self.0 ^ word).wrapping_mul(0x0100_0000_01b3).rotate_left(29);
    }

    pub(super) fn add_bytes(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.add(u64::from(*byte)));
    }
}
