// SPDX-License-Identifier: Apache-2.0
//! Validates page headers against the footer and the page index before pages are decompressed.

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

/// Uncompressed bytes that a page may always have: some writers do not count dictionaries in the
/// size of their chunk.
const PAGE_BYTES_FREE: u64 = 16 << 20;

/// Largest compression ratio of a chunk whose uncompressed size the footer does not declare.
const RATIO_MAX: u64 = 1024;

/// The places of the chunks of a file.
#[derive(Debug)]
pub(in crate::parquet) struct Chunks {
    file: String,
    metadata: Arc<ParquetMetaData>,
    /// First byte, row group and leaf column, in the order of the file.
    places: Vec<(u64, usize, usize)>,
}

impl Chunks {
    /// Returns the chunks of a validated footer.
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

    /// Checks the headers of the complete pages in `bytes`, which begin at `offset`, against their
    /// chunk. Bytes outside of all chunks have no pages.
    pub(in crate::parquet) fn check(&self, offset: u64, bytes: &[u8]) -> Result<(), Corruption> {
        let after = self.places.partition_point(|(start, ..)| *start <= offset);
        let place = after.checked_sub(1).map(|before| self.places[before]);
        let Some((start, row_group, leaf)) = place else { return Ok(()) };
        let column = self.metadata.row_group(row_group).column(leaf);
        let left = column.byte_range().1.saturating_sub(offset - start);
        let length = bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let mut rest = &bytes[..length];
        let index = self.index(row_group, leaf);
        // A reader of some pages reads the dictionary first: at the offset in the footer, or else
        // in front of the first page of the index.
        let mut has_dictionary = column.dictionary_page_offset().is_some()
            || index.first().is_some_and(|page| u64::try_from(page.offset) != Ok(start));
        let mut values = 0;
        while !rest.is_empty() {
            let at = offset + (length - rest.len()) as u64;
            let read = PageHeader::read(rest)
                .map_err(|_| "the page header is invalid or encrypted".to_owned());
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
                    return Err("a page refers to a dictionary, but the chunk has none".to_owned());
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
            let what = format!("the pages have {values} values, but the chunk declares {said}");
            return Err(self.corruption(row_group, leaf, start, what));
        }
        Ok(())
    }

    fn corruption(&self, row_group: usize, leaf: usize, at: u64, what: String) -> Corruption {
        let column = self.metadata.row_group(row_group).column(leaf);
        let chunk = Some((row_group, column.column_path().string()));
        Corruption { file: self.file.clone(), chunk, offset: Some(at), what }
    }

    /// Returns the places of the data pages; empty if there is no page index.
    fn index(&self, row_group: usize, leaf: usize) -> &[PageLocation] {
        let offsets = self.metadata.offset_index();
        let index = offsets.and_then(|offsets| offsets.get(row_group)?.get(leaf));
        index.map_or(&[], |index| index.page_locations())
    }
}

/// Whether each value is a row.
fn is_flat(column: &ColumnChunkMetaData) -> bool {
    column.column_descr().max_rep_level() == 0
}

/// Returns the values of a chunk: its rows if the column is flat, since old writers do not count
/// NULLs.
fn values_max(column: &ColumnChunkMetaData, rows: i64) -> i64 {
    if is_flat(column) { rows } else { column.num_values() }
}

/// Checks the rows of a page at `at` against the page index, if there is one.
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
        return Err("the page index has no page here".to_owned());
    };
    let end = index.get(number + 1).map_or(rows, |next| next.first_row_index);
    match end - index[number].first_row_index {
        expected if expected == i64::from(header.values()) => Ok(()),
        expected => {
            Err(format!("a page declares {} rows, and the page index {expected}", header.values()))
        }
    }
}

/// Returns the least bytes of a value in PLAIN encoding.
fn plain_bytes_min(column: &ColumnDescriptor) -> u64 {
    match column.physical_type() {
        Type::BOOLEAN => 0,
        Type::INT32 | Type::FLOAT | Type::BYTE_ARRAY => 4,
        Type::INT64 | Type::DOUBLE => 8,
        Type::INT96 => 12,
        Type::FIXED_LEN_BYTE_ARRAY => u64::try_from(column.type_length()).unwrap_or(0),
    }
}

/// Checks the header of a page against its chunk, which has `left` bytes after the header, in a row
/// group of `rows` rows.
fn check_page(
    header: &PageHeader,
    column: &ColumnChunkMetaData,
    rows: i64,
    left: usize,
) -> Result<(), String> {
    let (packed, unpacked) = (header.compressed_bytes, header.uncompressed_bytes as u64);
    if packed > left {
        return Err(format!("a page declares {packed} bytes, but {left} are left in its chunk"));
    }
    let size = |bytes: i64| u64::try_from(bytes).unwrap_or(0);
    // Some writers do not declare the uncompressed size: a value below the compressed size counts
    // as none.
    let all = match (size(column.uncompressed_size()), size(column.compressed_size())) {
        (unknown, compressed) if unknown < compressed => compressed.saturating_mul(RATIO_MAX),
        (all, _) => all,
    };
    if unpacked > all.max(PAGE_BYTES_FREE) {
        return Err(format!("a page declares {unpacked} uncompressed bytes, and its chunk {all}"));
    }
    let (values, all) = (header.values(), values_max(column, rows));
    if i64::from(values) > all {
        return Err(format!("a page declares {values} values, and its chunk {all}"));
    }
    let entries = header.entries();
    if u64::from(entries) * plain_bytes_min(column.column_descr()) > unpacked {
        return Err(format!("a dictionary declares {entries} entries in {unpacked} bytes"));
    }
    let levels = header.level_bytes();
    if levels > packed || levels as u64 > unpacked {
        return Err(format!("a page declares {levels} bytes of levels in {packed}"));
    }
    Ok(())
}
