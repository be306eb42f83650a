// SPDX-License-Identifier: Apache-2.0
//! Defines a column of a file whose different values are to be counted, and reads bytes of it.

use std::{ops::Range, sync::Arc};

use bytes::Bytes;
use datafusion::{
    object_store::{ObjectMeta, ObjectStore, ObjectStoreExt},
    parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData},
};
use nearscan_optimizer::distinct::{Scale, Whole, values_of};

/// A file to be read.
#[derive(Debug, Clone, Copy)]
pub(in crate::parquet) struct File<'a> {
    pub(in crate::parquet) store: &'a Arc<dyn ObjectStore>,
    pub(in crate::parquet) object: &'a ObjectMeta,
    /// Its validated footer.
    pub(in crate::parquet) footer: &'a Arc<ParquetMetaData>,
}

impl File<'_> {
    /// Reads ranges of the file; nothing if one of them cannot be read.
    pub(super) async fn read(&self, ranges: &[Range<u64>]) -> Option<Vec<Bytes>> {
        let read = self.store.get_ranges(&self.object.location, ranges).await.ok()?;
        let lengths = || ranges.iter().map(|range| range.end - range.start);
        let is_whole = read.iter().map(|bytes| bytes.len() as u64).eq(lengths());
        is_whole.then_some(read)
    }

    /// Whether the file is still the one that the footer is of.
    pub(super) async fn is_unchanged(&self) -> bool {
        let now = self.store.head(&self.object.location).await;
        let of = |meta: &ObjectMeta| (meta.size, meta.last_modified, meta.e_tag.clone());
        // A listing may leave the tag out.
        now.is_ok_and(|now| match &self.object.e_tag {
            Some(_) => of(&now) == of(self.object),
            None => (now.size, now.last_modified) == (self.object.size, self.object.last_modified),
        })
    }
}

/// A column of a file.
#[derive(Debug)]
pub(super) struct Column<'a> {
    pub(super) file: File<'a>,
    pub(super) leaf: usize,
    pub(super) scale: Option<Scale>,
    pub(super) whole: Whole,
}

impl<'a> Column<'a> {
    #[expect(clippy::cast_precision_loss, reason = "it is an estimate")]
    pub(super) fn of(file: File<'a>, leaf: usize) -> Self {
        let chunks = || chunks_of(file.footer, leaf).map(|(_, chunk)| chunk);
        let scale = Scale::of(chunks());
        let ranges: Option<Vec<(f64, f64)>> = chunks().map(|it| scale?.range(it)).collect();
        let whole = Whole {
            values: chunks().map(values_of).sum::<u64>() as f64,
            ranges: ranges.unwrap_or_default(),
            step: scale.map_or(0.0, Scale::step),
        };
        Self { file, leaf, scale, whole }
    }

    /// The chunks that have values, with the numbers of their row groups.
    pub(super) fn chunks(&self) -> impl Iterator<Item = (usize, &'a ColumnChunkMetaData)> {
        chunks_of(self.file.footer, self.leaf)
    }
}

fn chunks_of(
    footer: &ParquetMetaData,
    leaf: usize,
) -> impl Iterator<Item = (usize, &ColumnChunkMetaData)> {
    let groups = footer.row_groups().iter().enumerate();
    let chunks = groups.map(move |(number, group)| (number, group.column(leaf)));
    chunks.filter(|(_, chunk)| values_of(chunk) > 0)
}

/// Numbers from 0 to `all`, at most so many, spread evenly.
pub(in crate::parquet) fn spread(all: usize, most: usize) -> impl Iterator<Item = usize> + Clone {
    let count = all.min(most);
    (0..count).map(move |number| number * all / count.max(1))
}
