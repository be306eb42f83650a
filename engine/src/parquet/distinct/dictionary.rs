// SPDX-License-Identifier: Apache-2.0
//! Counts different values by the entries of dictionaries, which their page headers state.
//!
//! A dictionary has every value of its chunk once if all data pages of the chunk refer to it. The
//! footer says so; of a file whose footer does not, nothing is counted here.

use std::ops::Range;

use datafusion::parquet::{basic::Encoding, file::metadata::ColumnChunkMetaData};
use nearscan_cpu::PageHeader;
use nearscan_optimizer::distinct::{Part, values_of};

use super::column::{Column, spread};

/// Row groups whose dictionaries are looked at, spread over the file: one read each.
const CHUNKS_MAX: usize = 64;

/// Bytes that are read for the header of a dictionary page, which has some twenty.
const HEADER_BYTES: u64 = 256;

/// Returns the counts of row groups; none if not all pages of the column refer to dictionaries, or
/// a header is not what it should be.
pub(super) async fn parts(column: &Column<'_>) -> Option<Vec<Part>> {
    let chunks: Vec<&ColumnChunkMetaData> = column.chunks().map(|(_, chunk)| chunk).collect();
    if !chunks.iter().all(|chunk| is_in_dictionary(chunk)) {
        return None;
    }
    let chosen: Vec<&ColumnChunkMetaData> =
        spread(chunks.len(), CHUNKS_MAX).map(|at| chunks[at]).collect();
    let ranges: Vec<Range<u64>> = chosen.iter().map(|chunk| header_of(chunk)).collect();
    let headers = column.file.read(&ranges).await?;
    let parts = chosen.iter().zip(&headers).map(|(chunk, bytes)| {
        let values = values_of(chunk);
        let distinct = entries(bytes).filter(|entries| u64::from(*entries) <= values)?;
        Some(part(column, chunk, distinct))
    });
    parts.collect()
}

#[expect(clippy::cast_precision_loss, reason = "it is an estimate")]
fn part(column: &Column<'_>, chunk: &ColumnChunkMetaData, distinct: u32) -> Part {
    Part {
        values: values_of(chunk) as f64,
        distinct: f64::from(distinct),
        range: column.scale.and_then(|scale| scale.range(chunk)),
    }
}

/// Whether every data page refers to the dictionary.
fn is_in_dictionary(chunk: &ColumnChunkMetaData) -> bool {
    let is_code = |encoding: Encoding| {
        matches!(encoding, Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY)
    };
    chunk.page_encoding_stats_mask().is_some_and(|mask| {
        let mut encodings = mask.encodings().peekable();
        encodings.peek().is_some() && encodings.all(is_code)
    })
}

/// The first bytes of a chunk, where its dictionary is.
fn header_of(chunk: &ColumnChunkMetaData) -> Range<u64> {
    let (start, length) = chunk.byte_range();
    start..start + length.min(HEADER_BYTES)
}

/// The entries of the dictionary that a page header begins.
fn entries(bytes: &[u8]) -> Option<u32> {
    let (header, _) = PageHeader::read(bytes).ok()?;
    (header.is_dictionary() && header.entries() > 0).then(|| header.entries())
}
