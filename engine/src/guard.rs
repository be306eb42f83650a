// SPDX-License-Identifier: Apache-2.0
//! What a Parquet file says is held against what it is, before anything is allocated or looped over
//! because of it.
//!
//! The reader of the `parquet` crate trusts lengths: a chunk that is said to have 2^62 bytes ends
//! the process, a negative one is a panic, and a page that is said to unpack to 2 GiB takes that
//! much. So every scan reads through [`guard`]. Footers are checked when they are read, headers of
//! pages when the bytes of their chunk are. What does not fit is a [`Damage`], which says where.
//!
//! What the bytes of a page *mean* is not looked at here: a page that cannot be decoded is found by
//! the scan, and where it is, by `locate`. Footers also lose the bounds that nobody may believe
//! ([`bounds`]).
//!
//! # Invariants
//!
//! - No chunk that is read ends behind the file.
//! - No page unpacks to more than its chunk says, or to more than [`PAGE_BYTES_FREE`], or has more
//!   values than its chunk.
//! - No page has codes of a dictionary that is not there.

use std::{
    collections::HashMap,
    ops::Range,
    sync::{Arc, Mutex, PoisonError},
};

use bytes::Bytes;
use datafusion::{
    common,
    datasource::{
        listing::PartitionedFile,
        physical_plan::{
            FileScanConfig, FileScanConfigBuilder, ParquetFileReaderFactory, ParquetSource,
        },
    },
    parquet::{
        arrow::{arrow_reader::ArrowReaderOptions, async_reader::AsyncFileReader},
        basic::Type,
        errors::Result as ParquetResult,
        file::{metadata::ParquetMetaData, page_index::offset_index::OffsetIndexMetaData},
        schema::types::ColumnDescriptor,
    },
    physical_plan::metrics::ExecutionPlanMetricsSet,
};
use futures::{FutureExt, future::BoxFuture};
use nearscan_cpu::PageHeader;

use crate::{bounds, damage::Damage};

/// Bytes that a page may have whatever its chunk says: some writers count dictionaries apart.
const PAGE_BYTES_FREE: u64 = 16 << 20;

/// Bytes of a file that are no data: the magic words at both ends and the length of the footer.
const FRAME_BYTES: u64 = 12;

/// `scan` with a guard in front of its files.
pub(crate) fn guard(scan: FileScanConfig) -> FileScanConfig {
    let source = scan.file_source.downcast_ref::<ParquetSource>().cloned();
    let Some(source) = source else { return scan };
    let Some(factory) = source.parquet_file_reader_factory().cloned() else { return scan };
    let factory = Arc::new(Guarded { inner: factory, files: Arc::default() });
    let source = source.with_parquet_file_reader_factory(factory);
    FileScanConfigBuilder::from(scan).with_source(Arc::new(source)).build()
}

/// Holds a footer against the length of its file.
///
/// # Errors
/// Where it says what cannot be.
pub(crate) fn check_footer(
    metadata: &ParquetMetaData,
    file: &str,
    file_bytes: u64,
) -> Result<(), Damage> {
    let wrong = |chunk, what| Damage { file: file.to_owned(), chunk, offset: None, what };
    let data = 4..file_bytes.saturating_sub(FRAME_BYTES - 4);
    let mut rows = 0i64;
    let indexes = metadata.offset_index();
    for (number, group) in metadata.row_groups().iter().enumerate() {
        if group.num_rows() < 0 {
            let what = format!("row group {number} is said to have {} rows", group.num_rows());
            return Err(wrong(None, what));
        }
        rows = rows.saturating_add(group.num_rows());
        for (leaf, column) in group.columns().iter().enumerate() {
            let wrong = |what| wrong(Some((number, column.column_path().string())), what);
            let start =
                column.dictionary_page_offset().unwrap_or_else(|| column.data_page_offset());
            let end = start.checked_add(column.compressed_size());
            let range = match (u64::try_from(start), end.map(u64::try_from)) {
                (Ok(start), Some(Ok(end))) if start <= end => start..end,
                _ => {
                    let bytes = column.compressed_size();
                    return Err(wrong(format!("it is said to be {bytes} bytes from {start} on")));
                }
            };
            if !range.is_empty() && (range.start < data.start || range.end > data.end) {
                return Err(wrong(format!(
                    "it is said to be bytes {} to {} of a file of {file_bytes}",
                    range.start, range.end
                )));
            }
            let first_data = u64::try_from(column.data_page_offset()).ok();
            if !range.is_empty() && !first_data.is_some_and(|at| range.contains(&at)) {
                let at = column.data_page_offset();
                return Err(wrong(format!("its values are said to start at byte {at}")));
            }
            let is_flat = column.column_descr().max_rep_level() == 0;
            if is_flat && column.num_values() != group.num_rows() {
                return Err(wrong(format!(
                    "it is said to have {} values in {} rows",
                    column.num_values(),
                    group.num_rows()
                )));
            }
            if column.num_values() < 0 || column.uncompressed_size() < 0 {
                return Err(wrong("a count in the footer is negative".to_owned()));
            }
            let index = indexes.and_then(|indexes| indexes.get(number)?.get(leaf));
            if let Some(index) = index
                && let Err((offset, what)) = check_pages_of_index(index, &range, group.num_rows())
            {
                return Err(Damage { offset: Some(offset), ..wrong(what) });
            }
        }
    }
    let said = metadata.file_metadata().num_rows();
    if said != rows {
        let what = format!("the footer says {said} rows, and {rows} of the row groups");
        return Err(wrong(None, what));
    }
    Ok(())
}

/// Holds the index of the pages of a chunk against the chunk.
fn check_pages_of_index(
    index: &OffsetIndexMetaData,
    chunk: &Range<u64>,
    rows: i64,
) -> Result<(), (u64, String)> {
    let (mut end, mut first_row) = (chunk.start, 0);
    for (number, page) in index.page_locations().iter().enumerate() {
        let start = u64::try_from(page.offset).ok().filter(|start| *start >= end);
        let bytes = u64::try_from(page.compressed_page_size).ok();
        let page_end = start.zip(bytes).and_then(|(start, bytes)| start.checked_add(bytes));
        let is_next = match number {
            0 => page.first_row_index == 0,
            _ => page.first_row_index > first_row && page.first_row_index < rows,
        };
        match page_end.filter(|page_end| is_next && *page_end <= chunk.end) {
            Some(page_end) => (end, first_row) = (page_end, page.first_row_index),
            None => {
                let what = format!("the index has page {number} where it cannot be");
                return Err((chunk.start, what));
            }
        }
    }
    Ok(())
}

/// Where the chunks of a file are.
#[derive(Debug)]
pub(crate) struct Chunks {
    file: String,
    /// In the order of their first bytes.
    chunks: Vec<ChunkPlace>,
}

#[derive(Debug)]
struct ChunkPlace {
    bytes: Range<u64>,
    row_group: usize,
    column: String,
    uncompressed_bytes: u64,
    /// Values, NULLs included.
    values: u64,
    /// Bytes that an entry of a dictionary has at least.
    entry_bytes_min: u64,
    /// Whether the footer knows of a dictionary.
    has_dictionary: bool,
}

impl Chunks {
    /// The chunks of a footer that was checked.
    fn of(metadata: &ParquetMetaData, file: String) -> Self {
        let mut chunks = Vec::new();
        for (row_group, group) in metadata.row_groups().iter().enumerate() {
            for column in group.columns() {
                let (start, length) = column.byte_range();
                chunks.push(ChunkPlace {
                    bytes: start..start + length,
                    row_group,
                    column: column.column_path().string(),
                    uncompressed_bytes: u64::try_from(column.uncompressed_size()).unwrap_or(0),
                    values: u64::try_from(column.num_values()).unwrap_or(0),
                    entry_bytes_min: plain_bytes_min(column.column_descr()),
                    has_dictionary: column.dictionary_page_offset().is_some(),
                });
            }
        }
        chunks.sort_by_key(|chunk| chunk.bytes.start);
        Self { file, chunks }
    }

    /// Holds the headers of the pages in `bytes`, which begin at `offset` and are whole, against
    /// their chunk. What is in no chunk is no page.
    fn check(&self, offset: u64, bytes: &[u8]) -> Result<(), Damage> {
        let after = self.chunks.partition_point(|chunk| chunk.bytes.start <= offset);
        let chunk = after.checked_sub(1).map(|before| &self.chunks[before]);
        let Some(chunk) = chunk.filter(|chunk| offset < chunk.bytes.end) else { return Ok(()) };
        let length =
            bytes.len().min(usize::try_from(chunk.bytes.end - offset).unwrap_or(usize::MAX));
        let mut rest = &bytes[..length];
        // Whoever reads some pages only reads the dictionary first, where the footer says it is.
        let mut has_dictionary = chunk.has_dictionary;
        while !rest.is_empty() {
            let at = offset + (length - rest.len()) as u64;
            let read = PageHeader::read(rest)
                .map_err(|_| "there is no page header, or it is encrypted".to_owned());
            let checked = read.and_then(|(header, header_bytes)| {
                let body = rest.len() - header_bytes;
                if at == chunk.bytes.start {
                    has_dictionary = header.is_dictionary();
                }
                chunk.check(&header, body, has_dictionary)?;
                Ok(header_bytes + header.compressed_bytes)
            });
            match checked {
                Ok(bytes) => rest = &rest[bytes..],
                Err(what) => {
                    return Err(Damage {
                        file: self.file.clone(),
                        chunk: Some((chunk.row_group, chunk.column.clone())),
                        offset: Some(at),
                        what,
                    });
                }
            }
        }
        Ok(())
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

impl ChunkPlace {
    /// Holds the header of a page against the chunk, of which `left` bytes are behind it.
    fn check(&self, header: &PageHeader, left: usize, has_dictionary: bool) -> Result<(), String> {
        let (packed, unpacked) = (header.compressed_bytes, header.uncompressed_bytes as u64);
        if packed > left {
            return Err(format!("a page is said to have {packed} bytes where {left} are left"));
        }
        let all = self.uncompressed_bytes;
        if unpacked > all.max(PAGE_BYTES_FREE) {
            return Err(format!(
                "a page is said to unpack to {unpacked} bytes, and its chunk to {all}"
            ));
        }
        if u64::from(header.values()) > self.values {
            let (values, all) = (header.values(), self.values);
            return Err(format!("a page is said to have {values} values, and its chunk {all}"));
        }
        if u64::from(header.entries()) * self.entry_bytes_min > unpacked {
            let entries = header.entries();
            return Err(format!(
                "a dictionary is said to have {entries} entries in {unpacked} bytes"
            ));
        }
        let levels = header.level_bytes();
        if levels > packed || levels as u64 > unpacked {
            return Err(format!("a page is said to have {levels} bytes of levels in {packed}"));
        }
        if header.has_codes() && !has_dictionary {
            return Err("a page refers to a dictionary, and there is none".to_owned());
        }
        Ok(())
    }
}

/// Makes readers with a guard.
#[derive(Debug)]
struct Guarded {
    inner: Arc<dyn ParquetFileReaderFactory>,
    /// Of the files of the scan that were opened: a file may have several readers.
    files: Arc<Files>,
}

type Files = Mutex<HashMap<String, Arc<Chunks>>>;

impl ParquetFileReaderFactory for Guarded {
    fn create_reader(
        &self,
        partition_index: usize,
        file: PartitionedFile,
        metadata_size_hint: Option<usize>,
        metrics: &ExecutionPlanMetricsSet,
    ) -> common::Result<Box<dyn AsyncFileReader + Send>> {
        let path = format!("/{}", file.object_meta.location);
        let file_bytes = file.object_meta.size;
        let inner = self.inner.create_reader(partition_index, file, metadata_size_hint, metrics)?;
        Ok(Box::new(GuardedReader { inner, path, file_bytes, files: Arc::clone(&self.files) }))
    }
}

struct GuardedReader {
    inner: Box<dyn AsyncFileReader + Send>,
    path: String,
    file_bytes: u64,
    files: Arc<Files>,
}

impl GuardedReader {
    /// Where the chunks are, from a footer that some reader of this file has read.
    async fn chunks(&mut self) -> ParquetResult<Arc<Chunks>> {
        let known = self.known().get(&self.path).cloned();
        match known {
            Some(known) => Ok(known),
            None => {
                let metadata = self.inner.get_metadata(None).await?;
                self.learn(&metadata)
            }
        }
    }

    fn known(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<Chunks>>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn learn(&self, metadata: &ParquetMetaData) -> ParquetResult<Arc<Chunks>> {
        if let Some(known) = self.known().get(&self.path) {
            return Ok(Arc::clone(known));
        }
        check_footer(metadata, &self.path, self.file_bytes)?;
        let chunks = Arc::new(Chunks::of(metadata, self.path.clone()));
        self.known().insert(self.path.clone(), Arc::clone(&chunks));
        Ok(chunks)
    }
}

impl AsyncFileReader for GuardedReader {
    fn get_bytes(&mut self, range: Range<u64>) -> BoxFuture<'_, ParquetResult<Bytes>> {
        self.inner.get_bytes(range)
    }

    fn get_byte_ranges(
        &mut self,
        ranges: Vec<Range<u64>>,
    ) -> BoxFuture<'_, ParquetResult<Vec<Bytes>>> {
        async move {
            let chunks = self.chunks().await?;
            let offsets: Vec<u64> = ranges.iter().map(|range| range.start).collect();
            let read = self.inner.get_byte_ranges(ranges).await?;
            for (offset, bytes) in offsets.into_iter().zip(&read) {
                chunks.check(offset, bytes)?;
            }
            Ok(read)
        }
        .boxed()
    }

    fn get_metadata<'a>(
        &'a mut self,
        options: Option<&'a ArrowReaderOptions>,
    ) -> BoxFuture<'a, ParquetResult<Arc<ParquetMetaData>>> {
        async move {
            let metadata = self.inner.get_metadata(options).await?;
            self.learn(&metadata)?;
            bounds::without_float_bounds(metadata)
        }
        .boxed()
    }
}
