// SPDX-License-Identifier: Apache-2.0
//! Validates Parquet metadata before allocating from it: footers here, page headers in `pages`.
//!
//! The reader of the `parquet` crate trusts lengths: a chunk of 2^62 declared bytes aborts the
//! process, a negative length causes a panic, and a page that declares 2 GiB of uncompressed data
//! allocates as much. A range outside of the file, and an impossible number, are therefore errors.
//! A page index that is inconsistent with its chunk is not an error: some writers produce such
//! indexes, and scans do not need them.

pub(super) mod pages;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use datafusion::parquet::{
    basic::{ConvertedType, LogicalType},
    errors::Result as ParquetResult,
    file::{
        metadata::{ColumnChunkMetaData, ParquetMetaData},
        page_index::{column_index::ColumnIndexMetaData, offset_index::OffsetIndexMetaData},
    },
    schema::types::ColumnDescriptor,
};

use crate::corruption::Corruption;

/// Bytes of a file that are not data: the magic words at both ends and the length of the footer.
const FRAME_BYTES: u64 = 12;

/// Validates a footer, and returns it without its page indexes if one of them is inconsistent;
/// otherwise returns the same footer.
///
/// # Errors
/// If the footer is corrupt.
pub(super) fn validate(
    metadata: Arc<ParquetMetaData>,
    file: &str,
    file_bytes: u64,
) -> ParquetResult<Arc<ParquetMetaData>> {
    check_footer(&metadata, file, file_bytes)?;
    without_inconsistent_indexes(metadata)
}

/// Checks the offsets, lengths and counts of a footer against the length of its file.
///
/// # Errors
/// If one of them is impossible.
pub(super) fn check_footer(
    metadata: &ParquetMetaData,
    file: &str,
    file_bytes: u64,
) -> Result<(), Corruption> {
    let wrong = |chunk, what| Corruption { file: file.to_owned(), chunk, offset: None, what };
    let data = 4..file_bytes.saturating_sub(FRAME_BYTES - 4);
    let mut rows = 0i64;
    for (number, group) in metadata.row_groups().iter().enumerate() {
        if group.num_rows() < 0 {
            let what = format!("row group {number} declares {} rows", group.num_rows());
            return Err(wrong(None, what));
        }
        rows = rows.saturating_add(group.num_rows());
        for column in group.columns() {
            let wrong = |what| wrong(Some((number, column.column_path().string())), what);
            let start =
                column.dictionary_page_offset().unwrap_or_else(|| column.data_page_offset());
            let end = start.checked_add(column.compressed_size());
            let range = match (u64::try_from(start), end.map(u64::try_from)) {
                (Ok(start), Some(Ok(end))) if start <= end => start..end,
                _ => {
                    let bytes = column.compressed_size();
                    return Err(wrong(format!("it declares {bytes} bytes from byte {start} on")));
                }
            };
            if !range.is_empty() && (range.start < data.start || range.end > data.end) {
                return Err(wrong(format!(
                    "it declares bytes {} to {} of a file of {file_bytes}",
                    range.start, range.end
                )));
            }
            // A chunk without values may have a dictionary, and then declares the offset 0.
            let is_inside = match u64::try_from(column.data_page_offset()) {
                Ok(at) => column.num_values() <= 0 || range.contains(&at),
                Err(_) => false,
            };
            if !is_inside {
                let at = column.data_page_offset();
                return Err(wrong(format!("the first data page is declared at byte {at}")));
            }
            // Old writers do not count NULLs.
            let is_flat = column.column_descr().max_rep_level() == 0;
            if is_flat && column.num_values() > group.num_rows() {
                return Err(wrong(format!(
                    "it declares {} values in {} rows",
                    column.num_values(),
                    group.num_rows()
                )));
            }
            if column.num_values() < 0 || column.uncompressed_size() < 0 {
                return Err(wrong("a count in the footer is negative".to_owned()));
            }
        }
    }
    let said = metadata.file_metadata().num_rows();
    if said != rows {
        let what = format!("the footer declares {said} rows, and its row groups {rows}");
        return Err(wrong(None, what));
    }
    Ok(())
}

/// Returns a footer without its page indexes if one of them is inconsistent.
fn without_inconsistent_indexes(
    metadata: Arc<ParquetMetaData>,
) -> ParquetResult<Arc<ParquetMetaData>> {
    let (Some(offsets), bounds) = (metadata.offset_index(), metadata.column_index()) else {
        return Ok(metadata);
    };
    let mut groups = metadata.row_groups().iter().zip(offsets).enumerate();
    let all_fit = groups.all(|(number, (group, of_group))| {
        let bounds = bounds.and_then(|bounds| bounds.get(number));
        let mut columns = group.columns().iter().zip(of_group).enumerate();
        group.columns().len() == of_group.len()
            && columns.all(|(leaf, (column, index))| {
                let bounds = bounds.and_then(|bounds| bounds.get(leaf));
                let bounds = bounds.filter(|bounds| !matches!(bounds, ColumnIndexMetaData::NONE));
                let pages = index.page_locations().len() as u64;
                bounds.is_none_or(|bounds| {
                    bounds.num_pages() == pages && are_readable(bounds, column.column_descr())
                }) && fits(index, column, group.num_rows())
            })
    });
    if all_fit && metadata.row_groups().len() == offsets.len() {
        return Ok(metadata);
    }
    let mut builder = ParquetMetaData::clone(&metadata).into_builder();
    let mut groups = Vec::with_capacity(metadata.num_row_groups());
    for group in builder.take_row_groups() {
        let chunks = group.columns().iter().map(|chunk| {
            // A later reader must not load the index.
            let builder = chunk.clone().into_builder();
            let builder = builder.set_column_index_offset(None).set_column_index_length(None);
            builder.set_offset_index_offset(None).set_offset_index_length(None).build()
        });
        let chunks = chunks.collect::<ParquetResult<_>>()?;
        groups.push(group.into_builder().set_column_metadata(chunks).build()?);
    }
    let builder = builder.set_row_groups(groups).set_column_index(None).set_offset_index(None);
    Ok(Arc::new(builder.build()))
}

/// Whether the bounds of decimals in bytes are as long as one of their precision can be.
fn are_readable(bounds: &ColumnIndexMetaData, column: &ColumnDescriptor) -> bool {
    let is_decimal = matches!(column.logical_type_ref(), Some(LogicalType::Decimal { .. }))
        || column.converted_type() == ConvertedType::DECIMAL;
    let index = match bounds {
        ColumnIndexMetaData::BYTE_ARRAY(index)
        | ColumnIndexMetaData::FIXED_LEN_BYTE_ARRAY(index) => index,
        _ => return true,
    };
    let longest = if column.type_precision() > 38 { 32 } else { 16 };
    let mut values = index.min_values_iter().chain(index.max_values_iter()).flatten();
    !is_decimal || values.all(|value| (1..=longest).contains(&value.len()))
}

/// Whether the pages of an index are all pages of a chunk, without gaps.
fn fits(index: &OffsetIndexMetaData, column: &ColumnChunkMetaData, rows: i64) -> bool {
    let pages = index.page_locations();
    let Some(first) = pages.first() else { return rows == 0 };
    let (start, length) = column.byte_range();
    let end = i64::try_from(start + length).unwrap_or(0);
    // Some writers do not declare the dictionary in front.
    let is_first = match column.dictionary_page_offset() {
        Some(_) => first.offset == column.data_page_offset(),
        None => (column.data_page_offset()..end).contains(&first.offset),
    };
    let (mut next, mut row) = (first.offset, 0);
    let follow = pages.iter().enumerate().all(|(number, page)| {
        let is_next = page.offset == next
            && page.compressed_page_size > 0
            && (row..rows).contains(&page.first_row_index)
            && (number > 0 || page.first_row_index == 0);
        next = page.offset.saturating_add(i64::from(page.compressed_page_size));
        row = page.first_row_index;
        is_next
    });
    is_first && follow && next == end
}
