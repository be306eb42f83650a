// SPDX-License-Identifier: Apache-2.0
//! The pages of a file, held against its footer and its indexes before they are unpacked.

use std::sync::Arc;

use datafusion::parquet::{
    basic::Type,
    file::{
        metadata::{ColumnChunkMetaData, ParquetMetaData},
        page_index::offset_index::PageLocation,
    },
    schema::types::ColumnDescriptor,
};
use nearscan_cpu::PageHeader;

use crate::corruption::Corruption;

/// Bytes that a page may have whatever its chunk says: some writers count dictionaries apart.
const PAGE_BYTES_FREE: u64 = 16 << 20;

/// How much less than what it unpacks to a chunk may have, where the footer does not say to how
/// much.
const RATIO_MAX: u64 = 1024;

/// Where the chunks of a file are.
#[derive(Debug)]
pub(in crate::parquet) struct Chunks {
    file: String,
    metadata: Arc<ParquetMetaData>,
    /// First byte, row group and leaf, in the order of the file.
    places: Vec<(u64, usize, usize)>,
}

impl Chunks {
    /// The chunks of a footer that was checked.
    pub(in crate::parquet) fn of(metadata: &Arc<ParquetMetaData>, file: String) -> Self {
        let groups = metadata.row_groups().iter().enumerate();
        let places = groups.flat_map(|(row_group, group)| {
            let columns = group.columns().iter().enumerate();
            columns.map(move |(leaf, column)| (column.byte_range().0, row_group, leaf))
        });
        let mut places: Vec<_> = places.collect();
        places.sort_unstable();
        Self { file, metadata: Arc::clone(metadata), places }
    }

    /// Holds the headers of the pages in `bytes`, which begin at `offset` and are whole, against
    /// their chunk. What is in no chunk is no page.
    pub(in crate::parquet) fn check(&self, offset: u64, bytes: &[u8]) -> Result<(), Corruption> {
        let after = self.places.partition_point(|(start, ..)| *start <= offset);
        let place = after.checked_sub(1).map(|before| self.places[before]);
        let Some((start, row_group, leaf)) = place else { return Ok(()) };
        let column = self.metadata.row_group(row_group).column(leaf);
        let left = column.byte_range().1.saturating_sub(offset - start);
        let length = bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let mut rest = &bytes[..length];
        let index = self.index(row_group, leaf);
        // Whoever reads some pages only reads the dictionary first, where the footer says it is, or
        // else in front of the first page of the index.
        let mut has_dictionary = column.dictionary_page_offset().is_some()
            || index.first().is_some_and(|page| u64::try_from(page.offset) != Ok(start));
        let mut values = 0;
        while !rest.is_empty() {
            let at = offset + (length - rest.len()) as u64;
            let read = PageHeader::read(rest)
                .map_err(|_| "there is no page header, or it is encrypted".to_owned());
            let checked = read.and_then(|(header, header_bytes)| {
                if at == start {
                    has_dictionary = header.is_dictionary();
                }
                let rows = self.metadata.row_group(row_group).num_rows();
                check_page(&header, column, rows, rest.len() - header_bytes)?;
                if is_flat(column) && !header.is_dictionary() {
                    check_rows(&header, at, index, rows)?;
                }
                values += i64::from(header.values());
                if header.has_codes() && !has_dictionary {
                    return Err("a page refers to a dictionary, and there is none".to_owned());
                }
                Ok(header_bytes + header.compressed_bytes)
            });
            match checked {
                Ok(bytes) => rest = &rest[bytes..],
                Err(what) => return Err(self.corruption(row_group, leaf, at, what)),
            }
        }
        let is_whole = offset == start && length as u64 == column.byte_range().1;
        let said = values_max(column, self.metadata.row_group(row_group).num_rows());
        if is_whole && values != said {
            let what = format!("its pages have {values} values, and it is said to have {said}");
            return Err(self.corruption(row_group, leaf, start, what));
        }
        Ok(())
    }

    fn corruption(&self, row_group: usize, leaf: usize, at: u64, what: String) -> Corruption {
        let column = self.metadata.row_group(row_group).column(leaf);
        let chunk = Some((row_group, column.column_path().string()));
        Corruption { file: self.file.clone(), chunk, offset: Some(at), what }
    }

    /// Where the pages with values are; nothing if that is not known.
    fn index(&self, row_group: usize, leaf: usize) -> &[PageLocation] {
        let offsets = self.metadata.offset_index();
        let index = offsets.and_then(|offsets| offsets.get(row_group)?.get(leaf));
        index.map_or(&[], |index| index.page_locations())
    }
}

/// Whether values are rows.
fn is_flat(column: &ColumnChunkMetaData) -> bool {
    column.column_descr().max_rep_level() == 0
}

/// Values of a chunk: of flat ones the rows, since old writers count no NULLs.
fn values_max(column: &ColumnChunkMetaData, rows: i64) -> i64 {
    if is_flat(column) { rows } else { column.num_values() }
}

/// Holds the rows of a page at `at` against the index of the pages, if there is one.
fn check_rows(
    header: &PageHeader,
    at: u64,
    index: &[PageLocation],
    rows: i64,
) -> Result<(), String> {
    if index.is_empty() || header.values() == 0 {
        return Ok(());
    }
    let found = index.binary_search_by_key(&Some(at), |page| u64::try_from(page.offset).ok());
    let Ok(number) = found else {
        return Err("the index of the pages has none here".to_owned());
    };
    let end = index.get(number + 1).map_or(rows, |next| next.first_row_index);
    match end - index[number].first_row_index {
        expected if expected == i64::from(header.values()) => Ok(()),
        expected => Err(format!(
            "a page is said to have {} rows, and {expected} by the index",
            header.values()
        )),
    }
}

/// Bytes that a value takes at least where it stands as it is.
fn plain_bytes_min(column: &ColumnDescriptor) -> u64 {
    match column.physical_type() {
        Type::BOOLEAN => 0,
        Type::INT32 | Type::FLOAT | Type::BYTE_ARRAY => 4,
        Type::INT64 | Type::DOUBLE => 8,
        Type::INT96 => 12,
        Type::FIXED_LEN_BYTE_ARRAY => u64::try_from(column.type_length()).unwrap_or(0),
    }
}

/// Holds the header of a page against its chunk, of which `left` bytes are behind it, in a row
/// group with so many rows.
fn check_page(
    header: &PageHeader,
    column: &ColumnChunkMetaData,
    rows: i64,
    left: usize,
) -> Result<(), String> {
    let (packed, unpacked) = (header.compressed_bytes, header.uncompressed_bytes as u64);
    if packed > left {
        return Err(format!("a page is said to have {packed} bytes where {left} are left"));
    }
    let size = |bytes: i64| u64::try_from(bytes).unwrap_or(0);
    // Some writers do not say to how much a chunk unpacks: less than what it has is none.
    let all = match (size(column.uncompressed_size()), size(column.compressed_size())) {
        (unknown, compressed) if unknown < compressed => compressed.saturating_mul(RATIO_MAX),
        (all, _) => all,
    };
    if unpacked > all.max(PAGE_BYTES_FREE) {
        return Err(format!(
            "a page is said to unpack to {unpacked} bytes, and its chunk to {all}"
        ));
    }
    let (values, all) = (header.values(), values_max(column, rows));
    if i64::from(values) > all {
        return Err(format!("a page is said to have {values} values, and its chunk {all}"));
    }
    let entries = header.entries();
    if u64::from(entries) * plain_bytes_min(column.column_descr()) > unpacked {
        return Err(format!("a dictionary is said to have {entries} entries in {unpacked} bytes"));
    }
    let levels = header.level_bytes();
    if levels > packed || levels as u64 > unpacked {
        return Err(format!("a page is said to have {levels} bytes of levels in {packed}"));
    }
    Ok(())
}
